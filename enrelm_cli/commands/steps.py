"""The steps that fit, curve and compare share: a table's rows under a split, phase 1, the refit to more rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from enrelm_cli.inputs.classes.rare import keeping_classes
from enrelm_cli.inputs.dataset import Dataset, split_of
from enrelm_cli.inputs.split import Cut, Everything, Split
from enrelm_cli.inputs.training import Training, training
from enrelm_cli.judge.baselines import LinearRows
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
from enrelm_cli.settings import MethodSettings, SplitSettings
from enrelm_cli.stopwatch import Stopwatch


@dataclass(frozen=True)
class Opened:
    """A table under one split."""

    dataset: Dataset
    split: Split
    data: Training

    @property
    def validation_rows(self) -> int:
        return self.dataset.rows.total - self.data.T


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


def phase_one(
    data: Training,
    method: MethodSettings,
    starts: Iterable[Start],
    timer: Stopwatch,
    near: Mapping[Start, Tuned] | None = None,
) -> PhaseOne:
    """Each start once, however many variants build on it; linear regression's sums come with the first pass.

    `near`: what another fold of the rows tuned.
    """
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
            tuned = _tuned(data, method, start, timer, (near or {}).get(start))
            with timer("kernel and eigenvectors"):
                beside = no_sums if linear else LinearRows(data.view, JOINED)
                basis, sums = basis_beside(tuned, method, beside)
            linear = linear or sums
        bases[start] = Timed(basis, timer.total - begin)
    return PhaseOne(bases, linear)


def _tuned(data: Training, method: MethodSettings, start: Start, timer: Stopwatch, near: Tuned | None) -> Tuned:
    if start is Start.PAPER or not method.kernel.tune:
        return tune(data, method, start)
    with timer("tuning"):
        return tune(data, method, start, near=near)


def refit_everything(basis: Basis, method: MethodSettings, opened: Opened) -> Basis:
    """Every row trains. With landmarks the features stay as they are; a small table starts afresh with all rows."""
    return joined(basis) or afresh(basis, training(opened.dataset.rows, Everything()), method)


def afresh(basis: Basis, data: Training, method: MethodSettings) -> Basis:
    """Phase 1 of more rows, from the start."""
    return basis_of(tune_again(basis.tuned, data, method), method)
