"""From kept sums to a model: ridge, size, errors and intervals anew; landmarks, inputs and kernel as they were."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enrelm_cli.commands.facts import network_facts, versions
from enrelm_cli.commands.updating.sums import scale_of
from enrelm_cli.errors import DataError, ModelFileError, UserError
from enrelm_cli.fold.folds import Chunk, Engine
from enrelm_cli.inputs.encoding import Encoding
from enrelm_cli.inputs.maps.input_map import InputMap
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.inputs.training import Rows, Training
from enrelm_cli.judge.errors import relative_errors
from enrelm_cli.judge.fitting import FittedVariant, fit_variant, refit_variant, with_errors
from enrelm_cli.judge.intervals import intervals_of
from enrelm_cli.judge.relevance import shares
from enrelm_cli.kernels.arcsine import Kernel
from enrelm_cli.model.explanation.contributions import reference_of
from enrelm_cli.model.model import Model
from enrelm_cli.model.updating.kept import Kept, KeptRows
from enrelm_cli.phase_one.eigenbasis import Projection, SideSums
from enrelm_cli.phase_one.landmarks import Landmarks
from enrelm_cli.phase_one.least_squares import pseudo_solve
from enrelm_cli.phase_one.phase_one import Basis, Gram, Start, Tuned, refit
from enrelm_cli.settings import MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants import named

_OF_THE_KERNEL = ("weight_variance", "bias_variance", "depth", "tuning_evaluations")


@dataclass(frozen=True)
class Standardised(View):
    """Rows that have been through the map already."""

    def __call__(self, chunk: Chunk, side: Side) -> Chunk:
        return chunk.where(self.split.sides(chunk) == side)


@dataclass(frozen=True)
class Base:
    """What sums are of, and stays as it is."""

    encoding: Encoding
    input_map: InputMap
    target_scale: TargetScale
    kernel: Kernel


def base_of(model: Model, kernel: Kernel) -> Base:
    return Base(model.encoding, model.input_map, scale_of(model), kernel)


def basis_from(kept: Kept, base: Base, engine: Engine) -> Basis:
    """The basis of the training rows, whose sums are known and of which a sample is at hand."""
    sums = kept.sums
    if any(sums.rows(side) < 2 for side in (Side.TRAIN, Side.VALIDATION)):
        raise DataError("too few rows are left on a side of the split to fit anything", "add rows first")
    if base.target_scale.low is not None and base.target_scale.high is not None:
        scale = base.target_scale.ranged(min(base.target_scale.low, sums.low), max(base.target_scale.high, sums.high))
    else:
        scale = base.target_scale
    sample = _chunk(sums.sample)
    rows = Rows(
        pieces=[[sample]],
        sample=sample,
        whole=False,
        total=sums.rows(),
        columns=base.encoding.columns,
        target=base.encoding.target,
        engine=engine,
    )
    view = Standardised(kept.split, base.input_map, scale)
    train = sums.sides[Side.TRAIN]
    data = Training(rows, view, sums.rows(Side.TRAIN), (sums.low, sums.high), float(train["n"]))
    landmarks = Landmarks(kept.Z, np.arange(len(kept.Z), dtype=np.uint64), complete=False)
    gram = Gram(base.kernel, landmarks, Projection(kept.R, kept.triangular), SideSums(sums.sides))
    return Basis(Tuned(Start.TUNED, data, base.kernel, len(kept.Z)), gram, gram.eigenbasis(True))


def _chunk(rows: KeptRows) -> Chunk:
    return Chunk(rows.X, rows.z, rows.key, rows.key, -1, weight=rows.weight)


@dataclass(frozen=True)
class Finished:
    """A model from sums, and how its size was chosen."""

    model: Model
    fitted: FittedVariant
    intervals: dict[str, Any]  # what is known of them


def finish(model: Model, kept: Kept, base: Base, engine: Engine) -> Finished:
    """`model`: an earlier one of the same base, whose settings, columns and notes are taken over."""
    method = _method(model.card.settings)
    basis = basis_from(kept, base, engine)
    fitted = fit_variant(named(model.card.variant), basis, method)
    final = refit(basis) if method.refit else None
    network = fitted.network.first(fitted.chosen.neurons) if final is None else refit_variant(fitted, final, method)
    final = with_errors(fitted.variant, final or basis, network)
    view = final.data.view
    scale = view.target_scale
    assert isinstance(scale, TargetScale)
    sample = final.data.sample()
    errors = fitted.variant.left_out(final, network)
    own = scale.units(sample.y) - scale.predicted(sample.y - errors)
    names = [column.name for column in base.encoding.columns]
    facts = network_facts(network, final, own, sample.weight)
    kept_facts = {name: value for name, value in model.card.facts.items() if name in _OF_THE_KERNEL}
    card = replace(
        model.card,
        neurons=network.size,
        chosen_neurons=fitted.chosen.neurons,
        train_error=fitted.train_error,
        validation_error=fitted.chosen.error,
        linear_error=linear_error(kept),
        selection=fitted.selection,
        choices=fitted.curve.choices.to_json(),
        training_rows=kept.sums.rows(Side.TRAIN),
        validation_rows=kept.sums.rows(Side.VALIDATION),
        facts={**kept_facts, **facts},
        relevance=shares(network, sample.X, base.input_map.groups, names, sample.weight),
        data={**model.card.data, "rows": kept.sums.rows()},
        metrics=None,
        linear_metrics=None,
        folds=1,
        versions=versions(),
    )
    found = intervals_of(fitted, final, network, errors)
    made = replace(
        model,
        encoding=base.encoding,
        target_scale=scale,
        network=network,
        card=card,
        intervals=found.intervals,
        kept=kept,
    )
    raw = kept.sums.sample.raw
    return Finished(replace(made, reference=reference_of(made, raw)).profiled(raw), fitted, found.facts())


def linear_error(kept: Kept) -> float:
    """On the validation rows, of linear regression on the model's own inputs, fitted to the training rows."""
    train, held = kept.sums.sides[Side.TRAIN], kept.sums.sides[Side.VALIDATION]
    beta: Array = pseudo_solve(train["XX"].copy(), train["Xy"])
    squares = held["yy"] - 2.0 * beta @ held["Xy"] + beta @ held["XX"] @ beta
    return float(relative_errors(np.array([squares]), float(held["yy"]))[0])


def _method(settings: dict[str, Any]) -> MethodSettings:
    """What the first fit was asked for and still matters."""
    try:
        asked = settings["method"]
        return MethodSettings(
            neurons=asked["neurons"], select=asked["select"], max_neurons=asked["max_neurons"], refit=asked["refit"]
        )
    except (KeyError, TypeError, UserError) as problem:
        raise ModelFileError("the model file does not say how it was fitted", "fit the model again") from problem
