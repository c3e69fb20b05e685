"""The steps that fit, curve and compare share: a table's rows under a split, phase 1, the refit to more rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from enrelm_cli.inputs.classes.rare import keeping_classes
from enrelm_cli.inputs.dataset import Dataset, split_of
from enrelm_cli.inputs.split import Cut, Everything, Split
from enrelm_cli.inputs.training import Training, training
from enrelm_cli.judge.baselines import LinearRows
from enrelm_cli.kernels import activation
from enrelm_cli.phase_one.eigenbasis import SideSums
from enrelm_cli.phase_one.phase_one import (
    JOINED,
    Basis,
    Start,
    Tuned,
    bases_of,
    basis_of,
    restarted,
    tune,
    tune_again,
    with_layer,
)
from enrelm_cli.phase_one.phase_one import refit as joined
from enrelm_cli.settings import MethodSettings, SplitSettings
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
    # Leaves come last: what they need is made for the kernel variant, too.
    wanted = sorted(dict.fromkeys(starts), key=lambda one: one is Start.LEAVES)
    own = [one for one in wanted if one is not Start.LEAVES or Start.TUNED not in wanted]
    # One kernel for all of them where nothing is tuned.
    own = own if method.kernel.tune else own[:1]
    bases, linear = _bases(data, method, own, timer, near or {})
    for start in (one for one in wanted if one not in own):
        begin = timer.total
        if start is Start.LEAVES and Start.TUNED in bases:
            bases[start] = bases[Start.TUNED]
        else:
            bases[start] = Timed(restarted(bases[own[0]].basis, start), timer.total - begin)
    return PhaseOne(bases, linear)


def _bases(
    data: Training, method: MethodSettings, starts: Sequence[Start], timer: Stopwatch, near: Mapping[Start, Tuned]
) -> tuple[dict[Start, Timed], SideSums | None]:
    """Rows in memory are passed over for each start, which tells their seconds apart; a stream is read once for all."""
    tuned: dict[Start, Tuned] = {}
    seconds: dict[Start, float] = {}
    for start in starts:
        begin = timer.total
        tuned[start] = _tuned(data, method, start, timer, near.get(start))
        seconds[start] = timer.total - begin
    bases: dict[Start, Timed] = {}
    linear: SideSums | None = None
    groups = [[one] for one in starts] if data.rows.in_memory else [list(starts)]
    for group in filter(None, groups):
        begin = timer.total
        with timer("kernel and eigenvectors"):
            beside = () if linear else (LinearRows(data.view, JOINED),)
            made, sums = bases_of([tuned[start] for start in group], method, beside)
        linear = linear or sums[0]
        for start, basis in zip(group, made, strict=True):
            bases[start] = Timed(basis, seconds[start] + timer.total - begin)
    return bases, linear


def _tuned(data: Training, method: MethodSettings, start: Start, timer: Stopwatch, near: Tuned | None) -> Tuned:
    if start is Start.PAPER or not method.kernel.tune:
        return tune(data, method, start)
    with timer("tuning"):
        return tune(data, method, start, near=near)


def with_layers(
    phase: PhaseOne, variants: Sequence[Variant], targets: int, method: MethodSettings, timer: Stopwatch
) -> PhaseOne:
    """Hidden weights of every eigenvector, made once where several variants or targets need them."""
    each = [one.start for one in variants if one.hidden]
    starts = dict(phase.starts)
    for start in dict.fromkeys(each):
        if each.count(start) * targets > 1:
            begin = timer.total
            with timer("output weights"):
                basis = with_layer(starts[start].basis, activation.named(method.kernel.activation))
            starts[start] = Timed(basis, starts[start].seconds + timer.total - begin)
    return replace(phase, starts=starts)


def refit_everything(basis: Basis, method: MethodSettings, opened: Opened) -> Basis:
    """Every row trains. With landmarks the features stay as they are; a small table starts afresh with all rows."""
    return joined(basis) or afresh(basis, training(opened.dataset.rows, Everything()), method)


def afresh(basis: Basis, data: Training, method: MethodSettings) -> Basis:
    """Phase 1 of more rows, from the start."""
    return basis_of(tune_again(basis.tuned, data, method), method)
