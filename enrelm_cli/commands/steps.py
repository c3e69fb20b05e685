"""The steps that fit, curve and compare share: a table's rows under a split, phase 1, the refit to more rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.dataset import Dataset, Encoded, encode, open_dataset
from enrelm_cli.inputs.split import Everything
from enrelm_cli.inputs.training import Training, training
from enrelm_cli.phase_one.phase_one import Basis, Start, Tuned, basis_of, restarted, tune, tune_again
from enrelm_cli.phase_one.phase_one import refit as joined
from enrelm_cli.settings import DataSettings, EngineSettings, MethodSettings, SplitSettings
from enrelm_cli.stopwatch import Stopwatch


@dataclass(frozen=True)
class Opened:
    """A table under one split."""

    dataset: Dataset
    encoded: Encoded
    data: Training

    @property
    def validation_rows(self) -> int:
        return self.encoded.rows.total - self.data.T


def open_rows(data: DataSettings, split: SplitSettings, where: EngineSettings, engine: Engine) -> Opened:
    dataset = open_dataset(data, where, engine)
    return split_rows(dataset, split)


def split_rows(dataset: Dataset, split: SplitSettings, test_size: float = 0.0) -> Opened:
    encoded = encode(dataset, split, test_size)
    return Opened(dataset, encoded, training(encoded.rows, encoded.split))


@dataclass(frozen=True)
class Timed:
    """A basis, and the seconds that it took with its kernel."""

    basis: Basis
    seconds: float


def phase_one(data: Training, method: MethodSettings, starts: Iterable[Start], timer: Stopwatch) -> dict[Start, Timed]:
    """Each start once, however many variants build on it."""
    bases: dict[Start, Timed] = {}
    for start in dict.fromkeys(starts):
        begin = timer.total
        if bases and not method.kernel.tune:
            basis = restarted(next(iter(bases.values())).basis, start)
        else:
            basis = _basis(_tuned(data, method, start, timer), method, timer)
        bases[start] = Timed(basis, timer.total - begin)
    return bases


def _tuned(data: Training, method: MethodSettings, start: Start, timer: Stopwatch) -> Tuned:
    if start is Start.PAPER or not method.kernel.tune:
        return tune(data, method, start)
    with timer("tuning"):
        return tune(data, method, start)


def _basis(tuned: Tuned, method: MethodSettings, timer: Stopwatch) -> Basis:
    with timer("kernel and eigenvectors"):
        return basis_of(tuned, method)


def refit_everything(basis: Basis, method: MethodSettings, opened: Opened) -> Basis:
    """Every row trains. With landmarks the features stay as they are; a small table starts afresh with all rows."""
    return joined(basis) or afresh(basis, training(opened.encoded.rows, Everything()), method)


def afresh(basis: Basis, data: Training, method: MethodSettings) -> Basis:
    """Phase 1 of more rows, from the start."""
    return basis_of(tune_again(basis.tuned, data, method), method)
