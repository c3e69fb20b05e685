"""The steps that fit, curve and compare share: a table's rows under a split, phase 1, the refit to more rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.classes.rare import keeping_classes
from enrelm_cli.inputs.dataset import Dataset, open_dataset, split_of
from enrelm_cli.inputs.split import Cut, Everything, Side, Split
from enrelm_cli.inputs.training import Training, training
from enrelm_cli.judge.baselines import LinearRows, linear_error
from enrelm_cli.judge.fitting import FittedVariant, choose_sizes, train_variant
from enrelm_cli.phase_one.eigenbasis import SideSums
from enrelm_cli.phase_one.phase_one import (
    JOINED,
    Basis,
    Start,
    Tuned,
    basis_beside,
    basis_of,
    no_sums,
    restarted,
    tune,
    tune_again,
)
from enrelm_cli.phase_one.phase_one import refit as joined
from enrelm_cli.settings import DataSettings, EngineSettings, MethodSettings, SplitSettings
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.variants._variant import Variant


@dataclass(frozen=True)
class Opened:
    """A table under one split."""

    dataset: Dataset
    split: Split
    data: Training

    @property
    def validation_rows(self) -> int:
        return self.dataset.rows.total - self.data.T


def open_rows(data: DataSettings, split: SplitSettings, where: EngineSettings, engine: Engine) -> Opened:
    dataset = open_dataset(data, where, engine)
    return split_rows(dataset, split)


def split_rows(dataset: Dataset, split: SplitSettings, test_size: float = 0.0, cut: Cut | None = None) -> Opened:
    sides = keeping_classes(dataset.rows, split_of(dataset.rows, split, test_size, cut))
    return Opened(dataset, sides, training(dataset.rows, sides))


@dataclass(frozen=True)
class Timed:
    """A basis, and the seconds that it took with its kernel."""

    basis: Basis
    seconds: float


@dataclass(frozen=True)
class PhaseOne:
    """What variants start from, and the sums of linear regression beside them."""

    starts: dict[Start, Timed]
    linear: SideSums | None  # None where nothing started

    def linear_error(self, data: Training) -> float:
        """On the validation rows."""
        return linear_error(data, Side.VALIDATION, self.linear)


def phase_one(data: Training, method: MethodSettings, starts: Iterable[Start], timer: Stopwatch) -> PhaseOne:
    """Each start once, however many variants build on it; linear regression's sums come with the first pass."""
    bases: dict[Start, Timed] = {}
    linear: SideSums | None = None
    # Leaves come last: what they need is made for the kernel variant, too.
    for start in sorted(dict.fromkeys(starts), key=lambda one: one is Start.LEAVES):
        if start is Start.LEAVES and Start.TUNED in bases:
            bases[start] = bases[Start.TUNED]
            continue
        begin = timer.total
        if bases and not method.kernel.tune:
            basis = restarted(next(iter(bases.values())).basis, start)
        else:
            tuned = _tuned(data, method, start, timer)
            with timer("kernel and eigenvectors"):
                beside = no_sums if linear else LinearRows(data.view, JOINED)
                basis, sums = basis_beside(tuned, method, beside)
            linear = linear or sums
        bases[start] = Timed(basis, timer.total - begin)
    return PhaseOne(bases, linear)


def _tuned(data: Training, method: MethodSettings, start: Start, timer: Stopwatch) -> Tuned:
    if start is Start.PAPER or not method.kernel.tune:
        return tune(data, method, start)
    with timer("tuning"):
        return tune(data, method, start)


def fit_variants(
    variants: Sequence[Variant], starts: Mapping[Start, Timed], method: MethodSettings, timer: Stopwatch
) -> list[tuple[FittedVariant, float]]:
    """Each variant with its size chosen, and its seconds as if it had been alone."""
    trained, seconds = [], []
    for variant in variants:
        begin, start = timer.total, starts[variant.start]
        with timer("output weights"):
            trained.append(train_variant(variant, start.basis, method))
        seconds.append(start.seconds + timer.total - begin)
    begin = timer.total
    with timer("error curves"):
        fitted = choose_sizes(trained, method)
    curves = timer.total - begin
    return [(one, own + curves) for one, own in zip(fitted, seconds, strict=True)]


def refit_everything(basis: Basis, method: MethodSettings, opened: Opened) -> Basis:
    """Every row trains. With landmarks the features stay as they are; a small table starts afresh with all rows."""
    return joined(basis) or afresh(basis, training(opened.dataset.rows, Everything()), method)


def afresh(basis: Basis, data: Training, method: MethodSettings) -> Basis:
    """Phase 1 of more rows, from the start."""
    return basis_of(tune_again(basis.tuned, data, method), method)
