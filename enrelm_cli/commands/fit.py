"""fit: choose n on the validation rows, then refit to every row. Read this first.

files - table - encoding - split -> rows -> phase 1 -> variant -> curve -> choice of n -> refit -> Model -> artifact
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from enrelm_cli.commands.facts import (
    about,
    activation_note,
    cap_note,
    constant_note,
    data_facts,
    kernel_facts,
    settings_facts,
    tuning_note,
)
from enrelm_cli.commands.steps import (
    fit_variant,
    refit,
    refit_size,
    train,
)
from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.dataset import encode, open_dataset
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.training import Training, training
from enrelm_cli.judge import baselines
from enrelm_cli.judge.relevance import shares
from enrelm_cli.model.model import Model, order_statistics
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import PhaseOne
from enrelm_cli.report.reports import Candidate, FitReport
from enrelm_cli.settings import VARIANTS, DataSettings, EngineSettings, MethodSettings, SplitSettings
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.types import Array
from enrelm_cli.variants import kernel as kernel_variant

if TYPE_CHECKING:
    pass


def fit(
    data: DataSettings,
    split: SplitSettings,
    method: MethodSettings,
    where: EngineSettings,
    variant: str,
    engine: Engine,
) -> tuple[FitReport, Model]:
    """Choose n on the validation rows, then refit on all rows at that n (unless told not to)."""
    timer = Stopwatch()
    with timer("reading"):
        dataset = open_dataset(data, where, engine)
        encoded = encode(dataset, split)
        split_data = training(encoded.rows, encoded.split)
    phase_one = PhaseOne(split_data, method, timer)
    names = VARIANTS if variant == "auto" else (variant,)
    fitted = [fit_variant(name, phase_one, method, timer) for name in names]
    winner = min(fitted, key=lambda one: one.chosen.error)
    linear_error = baselines.linear_error(split_data, Side.VALIDATION)
    n = winner.chosen.neurons
    if method.refit:
        with timer("refit"):
            final = refit(phase_one, encoded)
            network = train(winner.variant, final, method, at_most=refit_size(winner))
            n = network.size
    else:
        network, final = winner.network.first(n), phase_one
    is_kernel = winner.variant == "kernel"
    tuning = final.tuning if is_kernel else None
    left_out = _left_out(final, network) if is_kernel else np.zeros(0)
    facts = {**(network.facts or {}), **kernel_facts(final, winner.variant, tuning)}
    if is_kernel:
        facts["leave_one_out_error"] = float(np.sqrt(np.mean(left_out**2)))
    notes = (
        *constant_note(final.data),
        *cap_note(method, winner),
        *tuning_note(tuning),
        *activation_note(method, tuning),
    )
    report = FitReport(
        data=data_facts(dataset, encoded, split_data),
        variant=winner.variant,
        neurons=n,
        chosen_neurons=winner.chosen.neurons,
        selection=winner.selection,
        choices=winner.curve.choices,
        train_error=winner.train_error,
        validation_error=winner.chosen.error,
        linear_error=linear_error,
        training_rows=split_data.T,
        validation_rows=encoded.rows.total - split_data.T,
        refit=method.refit,
        candidates=tuple(
            Candidate(one.variant, one.chosen.neurons, one.train_error, one.chosen.error, one.seconds) for one in fitted
        ),
        stop=winner.network.stop,
        facts=facts,
        relevance=_relevance(network, final.data),
        timings={},
        model=None,
        settings=settings_facts(data, split, method, where),
        notes=notes,
    )
    view = final.data.view
    errors = order_statistics(left_out) * view.target_scale.scale
    model = Model(encoded.encoding, view.input_map, view.target_scale, network, about(report), errors)
    return replace(report, timings=timer.report()), model


def _relevance(network: Network, data: Training) -> tuple[tuple[str, float], ...]:
    names = [column.name for column in data.rows.columns]
    return shares(network, data.sample().X, data.view.input_map.groups, names)


def _left_out(phase_one: PhaseOne, network: Network) -> Array:
    """Standardised errors of training rows when each is left out, with its twins."""
    alpha = (network.facts or {})["alpha"]
    return kernel_variant.left_out_errors(phase_one.data, phase_one.kernel_basis, alpha, network.size)
