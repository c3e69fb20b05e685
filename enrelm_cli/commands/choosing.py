"""What fit and curve choose, by one path: the size of every variant, and the variant.

One validation split, or K folds in which every row validates once (`--folds`). Each fold is tuned on its own training
rows; the target's scale and the prior of the kernel are the first fold's choice (`phase_one/explore.py`). What has the
smallest error over the validation rows of all folds is chosen. Variants within a standard error of the best are as
good: which of them is taken is in `taken`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from enrelm_cli.commands.steps import Opened, PhaseOne, phase_one, split_rows, with_layers
from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.folds import Sums
from enrelm_cli.fold.parts import part_of_run
from enrelm_cli.inputs.classes.rare import keeping_classes
from enrelm_cli.inputs.classes.scale import Scale
from enrelm_cli.inputs.dataset import Dataset
from enrelm_cli.inputs.folds import fold_count, fold_splits
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.training import Training, training
from enrelm_cli.judge.baselines import linear_error, linear_network
from enrelm_cli.judge.fitting import FittedVariant, choose_over_folds, train_variant
from enrelm_cli.judge.losses import POWERS, unit_of
from enrelm_cli.judge.metrics import (
    Judged,
    Metrics,
    judge_rows,
    metrics_of,
    relative_error_of,
    within_a_standard_error,
)
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import Start
from enrelm_cli.settings import MethodSettings, SplitSettings
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.variants import VARIANTS, named
from enrelm_cli.variants._variant import Variant


@dataclass(frozen=True)
class Chosen:
    """A variant with its size, and how good it is on the rows that chose."""

    fitted: FittedVariant
    seconds: float  # as if it had been alone
    metrics: Metrics | None  # None of classes, which have their own (commands/classes)
    as_good: bool  # within a standard error of the best variant, or the best


@dataclass(frozen=True)
class Selected:
    """What the validation rows chose."""

    opened_folds: tuple[Opened, ...]  # or the one split
    variants: tuple[Chosen, ...]
    winner: Chosen
    linear_error: float
    linear: Metrics | None

    @property
    def opened(self) -> Opened:
        """The first fold, or the one split."""
        return self.opened_folds[0]

    @property
    def folds(self) -> int:
        return len(self.opened_folds)

    @property
    def training_rows(self) -> int:
        """That a network which is judged has seen; with folds, those of the first."""
        return self.opened.data.T

    @property
    def validation_rows(self) -> int:
        """That judge: with folds all of them, each once (with `--time` those of the windows)."""
        own = sum(one.validation_rows for one in self.opened_folds)
        return own if self.linear is None else self.linear.rows


def select(
    dataset: Dataset, split: SplitSettings, method: MethodSettings, variants: Sequence[str], timer: Stopwatch
) -> Selected:
    """Size and variant. `variants`: their names, or none: those that pay on these rows."""
    folds, phases, wanted = begun(dataset, split, method, variants, timer)
    fitted = fitted_variants(wanted, phases, method, timer)
    with timer("error curves"):
        chosen, linear_error, linear = _judged(fitted, folds, phases, method)
    best = taken(chosen)
    return Selected(tuple(folds), chosen, best, linear_error, linear)


def begun(
    dataset: Dataset, split: SplitSettings, method: MethodSettings, variants: Sequence[str], timer: Stopwatch
) -> tuple[list[Opened], list[PhaseOne], list[Variant]]:
    """The folds, or the one split; phase 1 of each; and the variants to fit."""
    with timer("reading"):
        folds = open_folds(dataset, split, method)
    wanted = [named(name) for name in variants or VARIANTS]
    # One alone says itself what it is not for.
    wanted = [one for one in wanted if one.predicts(folds[0].data)] or wanted
    phases = phases_of([one.data for one in folds], method, [one.start for one in wanted], timer)
    if not variants:
        wanted = [one for one in wanted if one.pays(phases[0].starts[one.start].basis)]
    targets = len(dataset.rows.targets)
    return folds, [with_layers(phase, wanted, targets, method, timer) for phase in phases], wanted


def taken(chosen: Sequence[Chosen]) -> Chosen:
    """Of the variants that are as good as the best one with a tuned ridge, where there is one; the simplest of these.

    A few hundred rows with far values tell little apart, and there the ridge does better on fresh rows than nearly
    linear neurons that validate alike (machine_cpu, ten splits: 0.452 where ties went to the simplest of all).
    """
    tied = [one for one in chosen if one.as_good]
    tuned = [one for one in tied if one.fitted.variant.regularised]
    return min(tuned or tied, key=lambda one: one.fitted.variant.complexity)


def tie_note(selected: Selected) -> tuple[str, ...]:
    """Where another variant than the one that is taken has the smallest error."""
    best = min(selected.variants, key=lambda one: one.fitted.chosen.error)
    if best.fitted.chosen.error >= selected.winner.fitted.chosen.error or not selected.winner.as_good:
        return ()
    taken, lowest = (one.fitted.variant for one in (selected.winner, best))
    why = "its ridge is tuned" if taken.regularised and not lowest.regularised else "it is simpler"
    return (f"variant: {taken.name}, within a standard error of {lowest.name}, which validates better; {why}",)


def open_folds(dataset: Dataset, split: SplitSettings, method: MethodSettings) -> list[Opened]:
    count = fold_count(dataset.rows, split, single=not method.refit)
    if count == 1:
        return [split_rows(dataset, split)]
    if not method.refit:
        raise UsageError(
            "--no-refit saves the model of one split's training rows, and folds have several",
            "leave out --folds, or --no-refit",
        )
    splits = [keeping_classes(dataset.rows, one) for one in fold_splits(dataset.rows, split, count)]
    try:
        opened = [Opened(dataset, sides, training(dataset.rows, sides)) for sides in splits]
    except DataError:
        if split.folds is not None:
            raise
        # Without the one row that differs a fold has nothing to learn: nobody asked for folds.
        return [split_rows(dataset, split)]
    # Rows of a rare class train in every fold: of ten rows, some fold may have no others.
    none = split.folds is None and any(one.validation_rows == 0 for one in opened)
    return [split_rows(dataset, split)] if none else opened


def phases_of(
    folds: Sequence[Training],
    method: MethodSettings,
    starts: Iterable[Start],
    timer: Stopwatch,
) -> list[PhaseOne]:
    """Phase 1 of every fold. The first is tuned from the start, the others go on from where it stopped."""
    starts = list(starts)
    first = phase_one(folds[0], method, starts, timer)
    tuned = {start: timed.basis.tuned for start, timed in first.starts.items()}
    return [first, *(phase_one(data, method, starts, timer, tuned) for data in folds[1:])]


Fitted = tuple[FittedVariant, float]  # and seconds


def fitted_variants(
    variants: Sequence[Variant], phases: Sequence[PhaseOne], method: MethodSettings, timer: Stopwatch
) -> list[Fitted]:
    """Each variant with its size chosen, and its seconds as if it had been alone."""
    seconds = [0.0] * len(variants)
    folds = []
    for phase in phases:
        trained = []
        for v, variant in enumerate(variants):
            begin, start = timer.total, phase.starts[variant.start]
            with timer("output weights"), part_of_run(start.basis.data.rows.engine.progress, variant.name):
                trained.append(train_variant(variant, start.basis, method))
            seconds[v] += start.seconds + timer.total - begin
        folds.append(trained)
    begin = timer.total
    with timer("error curves"):
        fitted = choose_over_folds(folds, method)
    curves = timer.total - begin
    return [(one, own + curves) for one, own in zip(fitted, seconds, strict=True)]


def _judged(
    fitted: Sequence[Fitted], folds: Sequence[Opened], phases: Sequence[PhaseOne], method: MethodSettings
) -> tuple[tuple[Chosen, ...], float, Metrics | None]:
    """Metrics of the chosen sizes and of linear regression, over the same rows: one pass for each fold."""
    if folds[0].dataset.rows.classes is not None:
        return _judged_by_curves(fitted, folds, phases)
    linear = [linear_network(one.data, phase.linear) for one, phase in zip(folds, phases, strict=True)]
    found = validation_sums(fitted, folds, linear)
    _, as_good = within_a_standard_error([found.ours], POWERS[method.metric])
    return found.judged(as_good, POWERS[method.metric])


@dataclass(frozen=True)
class ValidationSums:
    """Of the chosen size of every variant and, last, of linear regression, over the rows that validate."""

    fitted: Sequence[Fitted]
    sums: Sums
    unit: Scale

    @property
    def ours(self) -> Sums:
        return Sums({name: value[:-1] for name, value in self.sums.values.items()})

    def judged(self, as_good: Sequence[bool], power: int) -> tuple[tuple[Chosen, ...], float, Metrics]:
        """Each variant with its metrics, and the error and metrics of linear regression."""
        chosen = tuple(
            Chosen(one, seconds, metrics_of(self.sums, k, self.unit), as_good[k])
            for k, (one, seconds) in enumerate(self.fitted)
        )
        at = len(self.fitted)
        return chosen, relative_error_of(self.sums, at, power), metrics_of(self.sums, at, self.unit)


def validation_sums(
    fitted: Sequence[Fitted], folds: Sequence[Opened], linear_networks: Sequence[Network]
) -> ValidationSums:
    """One pass over the rows for each fold."""
    # The largest: a fold without the one huge target is tiny beside it, and not the other way round.
    unit = max((one.data.view.target_scale for one in folds), key=unit_of)
    passes: list[Sums] = []
    for k, (opened, network) in enumerate(zip(folds, linear_networks, strict=True)):
        linear = Judged(opened.data.view, network, unit)
        networks = [one.judged[k] for one, _ in fitted]
        judged = [Judged(basis.data.view, network, unit) for basis, network in networks]
        passes.append(judge_rows(partial(opened.data.fold, label="errors"), (*judged, linear), Side.VALIDATION))
    return ValidationSums(fitted, reduce(Sums.merge, passes), unit)


def _judged_by_curves(
    fitted: Sequence[Fitted], folds: Sequence[Opened], phases: Sequence[PhaseOne]
) -> tuple[tuple[Chosen, ...], float, Metrics | None]:
    """Classes: their own figures decide afterwards."""
    least = min(one.chosen.error for one, _ in fitted)
    chosen = tuple(Chosen(one, seconds, None, one.chosen.error == least) for one, seconds in fitted)
    errors = [linear_error(one.data, Side.VALIDATION, each.linear) for one, each in zip(folds, phases, strict=True)]
    rows = [one.validation_rows for one in folds]
    squares = sum(count * error**2 for count, error in zip(rows, errors, strict=True))
    return chosen, float(np.sqrt(squares / sum(rows))), None
