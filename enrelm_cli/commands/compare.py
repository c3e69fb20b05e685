"""compare: every method on the same splits.

`test`: n is chosen on validation rows inside the training part, and the error is of test rows that chose nothing.
`paper`: n is the minimum of the held-out curve, and that minimum is the error, as the paper reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from enrelm_cli.commands.facts import constant_note, data_facts, settings_facts
from enrelm_cli.commands.steps import Opened, Timed, afresh, phase_one, split_rows
from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import Engine
from enrelm_cli.fold.parts import part_of_run
from enrelm_cli.inputs.dataset import open_dataset
from enrelm_cli.inputs.split import CountSides, Cut, Side, TrainOnValidation
from enrelm_cli.inputs.training import Training, training
from enrelm_cli.judge.classes.fitting import metrics_of as class_metrics_of
from enrelm_cli.judge.classes.methods import class_methods
from enrelm_cli.judge.classes.metrics import Metrics as ClassMetrics
from enrelm_cli.judge.curve import Curve, ElmBand
from enrelm_cli.judge.doubts import warnings_of
from enrelm_cli.judge.losses import POWERS
from enrelm_cli.judge.methods import Method, Task, Trained, methods
from enrelm_cli.judge.metrics import (
    Judged,
    Metrics,
    as_good,
    judge_rows,
    mean_of,
    metrics_of,
    paired,
    relative_error_of,
)
from enrelm_cli.judge.trust import time_warning
from enrelm_cli.phase_one.phase_one import Basis, Start, refit
from enrelm_cli.report.reports import CompareReport, CompareRow
from enrelm_cli.settings import DataSettings, ElmSettings, EngineSettings, MethodSettings, SplitSettings
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.types import Array

METHODS = tuple(dict.fromkeys((*methods(), *class_methods())))


def default_methods() -> tuple[str, ...]:
    """Every method that can run here, whatever the target is."""
    every = {**class_methods(), **methods()}
    return tuple(name for name in METHODS if every[name].installed)


def _chosen_methods(plan: ComparePlan, data: Training) -> list[Method]:
    """The methods of the plan; of all of them, those that are for such a target."""
    known, other = (methods(), "numbers") if data.rows.classes is None else (class_methods(), "classes")
    if plan.methods == default_methods():
        return [known[name] for name in plan.methods if name in known]
    for name in plan.methods:
        if name not in known:
            raise UsageError(
                f"the method '{name}' is not for a target of {other}", f"those that are: {', '.join(known)}"
            )
    return [known[name] for name in plan.methods]


@dataclass(frozen=True)
class ComparePlan:
    """What is compared, and how it is judged."""

    methods: tuple[str, ...]
    protocol: str
    repeats: int
    test_size: float

    def __post_init__(self) -> None:
        for name in self.methods:
            if name not in METHODS:
                raise UsageError(f"there is no method '{name}'", f"the methods are {', '.join(METHODS)}")
        if not 0.0 < self.test_size < 1.0 and self.protocol == "test":
            raise UsageError(
                f"--test-size {self.test_size} must lie between 0 and 1", "the default is --test-size 0.25"
            )


@dataclass(frozen=True)
class MethodResult:
    """One method on one split."""

    method: str
    neurons: int | None
    error: float
    spread: float | None  # over random realisations
    fit_seconds: float
    predict_seconds: float
    curve: Curve | None
    band: ElmBand | None
    metrics: Metrics | None = None
    figures: tuple[ClassMetrics, ...] = ()  # of classes, whose error is the log-loss


def compare(
    data: DataSettings,
    split: SplitSettings,
    method: MethodSettings,
    where: EngineSettings,
    elm: ElmSettings,
    plan: ComparePlan,
    engine: Engine,
) -> CompareReport:
    """Every method on the same splits."""
    timer = Stopwatch()
    _check_protocol(data, plan.protocol)
    with timer("reading"):
        dataset = open_dataset(data, where, engine, "methods are compared on one at a time")
    asked = method
    if data.test:
        plan = replace(plan, repeats=1)
    if plan.protocol == "paper":
        split, plan = replace(split, kind="shuffle"), replace(plan, repeats=1, test_size=0.0)
        method = replace(method, neurons=None, select="best")
    seeds = tuple(split.seed + repeat for repeat in range(plan.repeats))
    rounds: list[list[MethodResult]] = []
    first: Opened | None = None
    for number, seed in enumerate(seeds):
        cut = Cut(number, plan.repeats, plan.test_size) if data.roles.time is not None else None
        opened = split_rows(dataset, replace(split, seed=seed), plan.test_size, cut)
        first = first or opened
        chosen = _chosen_methods(plan, opened.data)
        with part_of_run(engine.progress, f"split {number + 1} of {plan.repeats}"):
            rounds.append(_judged(chosen, opened.data, method, replace(elm, seed=seed), plan.protocol))
    assert first is not None
    results = list(zip(*rounds, strict=True))
    best = min(([one.error for one in of_one] for of_one in results), key=lambda errors: float(np.mean(errors)))
    rows = sorted((_row(of_one, best) for of_one in results), key=lambda row: row.error)
    return CompareReport(
        data=data_facts(first),
        protocol=plan.protocol,
        rows=tuple(rows),
        repeats=plan.repeats,
        seeds=seeds,
        curves=tuple(one.curve for one in rounds[0] if one.curve is not None),
        elm=next((one.band for one in rounds[0] if one.band is not None), None),
        sizes=_sizes(first.data),
        timings=timer.report(),
        settings=settings_facts(data, dataset.roles, split, asked, where),
        notes=(*constant_note(first.data), *time_warning(first.data.rows)),
        time=data.roles.time,
        task="regression" if first.data.rows.classes is None else "classification",
        recommended=_simplest(rows, chosen),
        warnings=warnings_of(dataset.rows, rows[0].metrics),
    )


def _check_protocol(data: DataSettings, protocol: str) -> None:
    """The paper's protocol has its own split."""
    said = [("--group", data.roles.group), ("--time", data.roles.time), ("--test", data.test)]
    for option, given in said:
        if given and protocol == "paper":
            raise UsageError(f"--protocol paper sets the split, and so does {option}", "use one of the two")


def _judged(
    chosen: Sequence[Method], data: Training, method: MethodSettings, elm: ElmSettings, protocol: str
) -> list[MethodResult]:
    """Every method on one split; phase 1 is computed once for all that start from it."""
    timer = Stopwatch()
    starts = phase_one(data, method, [one.start for one in chosen if one.start is not None], timer).starts
    final, final_starts, judged = data, starts, Side.VALIDATION
    if protocol == "test":
        final, judged = training(data.rows, TrainOnValidation(data.view.split)), Side.TEST
        final_starts = _each_once(starts, lambda timed: _refitted(timed, final, method))
    task = Task(data, _bases(starts), final, _bases(final_starts), judged, method, elm)
    results = []
    for one in chosen:
        with part_of_run(data.rows.engine.progress, one.name):
            results.append(_result(one, task, _seconds(one, starts) + _seconds(one, final_starts)))
    return results


def _bases(starts: dict[Start, Timed]) -> dict[Start, Basis]:
    return {start: timed.basis for start, timed in starts.items()}


def _each_once(starts: dict[Start, Timed], refitted: Callable[[Timed], Timed]) -> dict[Start, Timed]:
    """Two starts may share a basis."""
    done: dict[int, Timed] = {}
    for timed in starts.values():
        done[id(timed)] = done.get(id(timed)) or refitted(timed)
    return {start: done[id(timed)] for start, timed in starts.items()}


def _refitted(timed: Timed, data: Training, method: MethodSettings) -> Timed:
    timer = Stopwatch()
    basis = refit(timed.basis) or afresh(timed.basis, data, method)
    return Timed(basis, timer.total)


def _seconds(method: Method, starts: dict[Start, Timed]) -> float:
    return 0.0 if method.start is None else starts[method.start].seconds


def _result(method: Method, task: Task, before: float) -> MethodResult:
    """`before`: seconds of the phase 1 that it builds on, as if it had been alone."""
    timer = Stopwatch()
    chosen = method.choose(task)
    trained = chosen.train()
    fitting = timer.total
    figures: tuple[ClassMetrics, ...] = ()
    metrics: Metrics | None = None
    if trained.classifiers:
        figures = class_metrics_of(trained.data, trained.classifiers, task.judged)
        errors = np.array([one.log_loss for one in figures])
    else:
        errors, metrics = _errors(trained, task)
    predicting = (timer.total - fitting) / len(errors)
    spread = float(errors.std()) if len(errors) > 1 else None
    error, times = float(errors.mean()), (before + fitting, predicting)
    drawn = chosen.curve, chosen.band
    return MethodResult(method.name, chosen.neurons, error, spread, *times, *drawn, metrics, figures)


def _errors(trained: Trained, task: Task) -> tuple[Array, Metrics]:
    """The relative error of each predictor on the judged rows, and the metrics, means over several."""
    data, unit = trained.data, trained.data.view.target_scale
    judged = [Judged(data.view, network, unit, clipped=True) for network in trained.predictors]
    sums = judge_rows(lambda partial: data.fold(partial, "predicting"), judged, task.judged)
    power, places = POWERS[task.method.metric], range(len(judged))
    errors = np.array([relative_error_of(sums, k, power) for k in places])
    return errors, mean_of([metrics_of(sums, k, unit) for k in places])


def _row(results: tuple[MethodResult, ...], best: Sequence[float]) -> CompareRow:
    """One method over all splits. `best`: the errors of the best method on the same splits."""
    errors = tuple(one.error for one in results)
    sizes = [one.neurons for one in results if one.neurons is not None]
    return CompareRow(
        method=results[0].method,
        neurons=float(np.mean(sizes)) if sizes else None,
        error=float(np.mean(errors)),
        error_std=float(np.std(errors)) if len(errors) > 1 else results[0].spread,
        fit_seconds=float(np.median([one.fit_seconds for one in results])),
        predict_seconds=float(np.median([one.predict_seconds for one in results])),
        errors=errors,
        classes=_class_figures([figures for one in results for figures in one.figures]),
        metrics=None if results[0].metrics is None else mean_of([one.metrics for one in results if one.metrics]),
        as_good=as_good(*paired(errors, best)),
    )


def _class_figures(figures: Sequence[ClassMetrics]) -> dict[str, float] | None:
    """Means over splits, and over realisations."""
    if not figures:
        return None
    names = ("accuracy", "balanced_accuracy", "log_loss", "brier", "ece")
    means = {name: float(np.mean([getattr(one, name) for one in figures])) for name in names}
    areas = [one.auc for one in figures if one.auc is not None]
    return {**means, "auc": float(np.mean(areas))} if areas else means


def _simplest(rows: Sequence[CompareRow], chosen: Sequence[Method]) -> str:
    """Of the methods that are as good as the best."""
    complexity = {one.name: one.complexity for one in chosen}
    return min((row.method for row in rows if row.as_good), key=lambda name: complexity[name])


def _sizes(data: Training) -> dict[str, int]:
    counts = data.fold(CountSides(data.view.split), "counting rows")
    sizes = {side.name.lower(): int(counts["sides"][side]) for side in Side}
    return {name: rows for name, rows in sizes.items() if rows or name != Side.UNUSED.name.lower()}
