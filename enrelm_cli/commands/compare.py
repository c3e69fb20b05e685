"""compare: every method on the same splits."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from enrelm_cli.commands.facts import (
    constant_note,
    data_facts,
    settings_facts,
)
from enrelm_cli.commands.steps import (
    afresh,
    check_rows,
    elm_band,
    fit_variant,
    paper_limit,
    refit_size,
    train,
    with_validation,
)
from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.dataset import Encoded, encode, open_dataset
from enrelm_cli.inputs.split import CountSides, Side
from enrelm_cli.inputs.training import Training, training
from enrelm_cli.judge import baselines, peers
from enrelm_cli.judge.baselines import RandomElm
from enrelm_cli.model.network import ErrorRows, Network, relative_errors
from enrelm_cli.phase_one.phase_one import PhaseOne
from enrelm_cli.report.reports import CompareReport, CompareRow, Curve, ElmBand
from enrelm_cli.settings import VARIANTS, DataSettings, ElmSettings, EngineSettings, MethodSettings, SplitSettings
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.types import Array

if TYPE_CHECKING:
    pass

OWN_METHODS = (*VARIANTS, "elm", "linear")
METHODS = (*OWN_METHODS, *peers.PEERS)


def default_methods() -> tuple[str, ...]:
    """Every method that can run here."""
    return METHODS if peers.installed() else OWN_METHODS


@dataclass(frozen=True)
class ComparePlan:
    """What is compared, and how it is judged."""

    methods: tuple[str, ...] = OWN_METHODS
    protocol: str = "test"
    repeats: int = 5
    test_size: float = 0.25

    def __post_init__(self) -> None:
        for name in self.methods:
            if name not in METHODS:
                raise UsageError(f"there is no method '{name}'", f"the methods are {', '.join(METHODS)}")
        if not 0.0 < self.test_size < 1.0 and self.protocol == "test":
            raise UsageError(
                f"--test-size {self.test_size} must lie between 0 and 1", "the default is --test-size 0.25"
            )


@dataclass(frozen=True)
class Judged:
    """One method on one split."""

    method: str
    neurons: float | None
    error: float
    spread: float | None  # over the ELM's realisations
    fit_seconds: float
    predict_seconds: float
    curve: Curve | None = None
    band: ElmBand | None = None


def compare(
    data: DataSettings,
    split: SplitSettings,
    method: MethodSettings,
    where: EngineSettings,
    elm: ElmSettings,
    plan: ComparePlan,
    engine: Engine,
) -> CompareReport:
    """Every method on the same splits.

    `test`: n is chosen on validation rows inside the training part, and the error is of test rows that chose nothing.
    `paper`: n is the minimum of the held-out curve, and that minimum is the error, as the paper reports it.
    """
    timer = Stopwatch()
    with timer("reading"):
        dataset = open_dataset(data, where, engine)
    if plan.protocol == "paper":
        split, plan = replace(split, kind="shuffle"), replace(plan, repeats=1, test_size=0.0)
    seeds = tuple(split.seed + repeat for repeat in range(plan.repeats))
    rounds: list[list[Judged]] = []
    first: tuple[Encoded, Training] | None = None
    for seed in seeds:
        encoded = encode(dataset, replace(split, seed=seed), plan.test_size)
        split_data = training(encoded.rows, encoded.split)
        first = first or (encoded, split_data)
        judge = _judge_paper if plan.protocol == "paper" else _judge_test
        rounds.append([judge(name, split_data, method, replace(elm, seed=seed)) for name in plan.methods])
    assert first is not None
    encoded, split_data = first
    rows = sorted((_row(list(of_one)) for of_one in zip(*rounds, strict=True)), key=lambda row: row.error)
    return CompareReport(
        data=data_facts(dataset, encoded, split_data),
        protocol=plan.protocol,
        rows=tuple(rows),
        repeats=plan.repeats,
        seeds=seeds,
        curves=tuple(one.curve for one in rounds[0] if one.curve is not None),
        elm=next((one.band for one in rounds[0] if one.band is not None), None),
        sizes=_sizes(split_data),
        timings=timer.report(),
        settings=settings_facts(data, split, method, where),
        notes=constant_note(split_data),
    )


def _judge_paper(name: str, data: Training, method: MethodSettings, elm: ElmSettings) -> Judged:
    timer = Stopwatch()
    if name in VARIANTS:
        fitted = fit_variant(name, PhaseOne(data, method, timer), method, timer)
        best, seconds = fitted.curve.choices.best, timer.total
        with timer("predicting"):
            data.fold(ErrorRows(data.view, (fitted.network.first(best.neurons),), Side.VALIDATION), "predicting")
        return Judged(name, best.neurons, best.error, None, seconds, timer.phases["predicting"], fitted.curve)
    if name == "elm":
        band = elm_band(data, elm, method.max_neurons or paper_limit(data))
        n = int(np.argmin(band.mean))
        error, spread = float(band.mean[n]), float(band.std[n])
        return Judged("elm", n + 1, error, spread, timer.total, 0.0, band=band)
    if name in peers.PEERS:
        return _judge_peer(name, data, elm.seed, Side.VALIDATION, timer)
    return _judge_linear(data, Side.VALIDATION, timer)


def _judge_test(name: str, data: Training, method: MethodSettings, elm: ElmSettings) -> Judged:
    timer = Stopwatch()
    if name in VARIANTS:
        phase_one = PhaseOne(data, method, timer)
        fitted = fit_variant(name, phase_one, method, timer)
        n = fitted.chosen.neurons
        final_phase = phase_one.refit() or afresh(phase_one, with_validation(data), timer)
        network = train(name, final_phase, method, at_most=refit_size(fitted))
        seconds = timer.total
        error, predicting = _test_errors(final_phase.data, (network,), Side.TEST)
        return Judged(name, n, float(error[0]), None, seconds, predicting, fitted.curve)
    if name == "elm":
        band = elm_band(data, elm, method.max_neurons or paper_limit(data))
        n = int(np.argmin(band.mean)) + 1
        final = with_validation(data)
        networks = baselines.elm_networks(final, RandomElm(n, elm.realizations, elm.seed, elm.weight_std))
        seconds = timer.total
        errors, predicting = _test_errors(final, networks, Side.TEST)
        each = predicting / len(networks)
        return Judged("elm", n, float(errors.mean()), float(errors.std()), seconds, each, band=band)
    if name in peers.PEERS:
        return _judge_peer(name, with_validation(data), elm.seed, Side.TEST, timer)
    return _judge_linear(with_validation(data), Side.TEST, timer)


def _judge_linear(data: Training, side: Side, timer: Stopwatch) -> Judged:
    network = baselines.linear_network(data)
    seconds = timer.total
    errors, predicting = _test_errors(data, (network,), side)
    return Judged("linear", None, float(errors[0]), None, seconds, predicting)


def _judge_peer(name: str, data: Training, seed: int, side: Side, timer: Stopwatch) -> Judged:
    predict = peers.fit_peer(name, data, seed)
    seconds = timer.total
    rows = data.fold(peers.SideRows(data.view, side), "gathering rows")
    X, y = rows.X, rows.y
    with timer("predicting"):
        gap = predict(X) - y
    error = relative_errors(np.array([gap @ gap]), float(y @ y))
    return Judged(name, None, float(error[0]), None, seconds, timer.phases["predicting"])


def _test_errors(data: Training, networks: tuple[Network, ...], side: Side) -> tuple[Array, float]:
    start = time.perf_counter()
    sums = data.fold(ErrorRows(data.view, networks, side), "predicting")
    seconds = time.perf_counter() - start
    check_rows(int(sums["rows"]), side)
    return relative_errors(sums["squares"], float(sums["total"])), seconds


def _row(judged: list[Judged]) -> CompareRow:
    errors = tuple(one.error for one in judged)
    spread = float(np.std(errors)) if len(errors) > 1 else judged[0].spread
    sizes = [one.neurons for one in judged if one.neurons is not None]
    return CompareRow(
        method=judged[0].method,
        neurons=float(np.mean(sizes)) if sizes else None,
        error=float(np.mean(errors)),
        error_std=spread,
        fit_seconds=float(np.median([one.fit_seconds for one in judged])),
        predict_seconds=float(np.median([one.predict_seconds for one in judged])),
        errors=errors,
    )


def _sizes(data: Training) -> dict[str, int]:
    counts = data.fold(CountSides(data.view.split), "counting rows")
    return {side.name.lower(): int(counts["sides"][side]) for side in Side}
