"""The rows that a method may fold over, and phase 1 as a value of its own: computed once, shared by every variant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from enrelm_cli.eigenbasis import CountRows, EigenBasis, GramRows, full_basis, landmark_basis, landmark_projection
from enrelm_cli.folds import Chunk, Engine, LocalEngine, S
from enrelm_cli.hashing import SAMPLE_ROWS, SAMPLE_SALT, combine, hash_numbers, rehash
from enrelm_cli.kernel import ArcsineKernel, Array
from enrelm_cli.landmarks import Landmarks, check_all, choose
from enrelm_cli.settings import ALL_ROWS, KernelSettings, MethodSettings
from enrelm_cli.split import Side, Split
from enrelm_cli.standard import MomentsOf, Standard, View, exponents, standard_of

if TYPE_CHECKING:
    from enrelm_cli.tuning import Tuning

Timer = Callable[[str], AbstractContextManager[None]]

# Rows of a piece of an in-memory table: enough pieces for every thread, each large enough for BLAS.
PIECE_ROWS = 8192


@dataclass(frozen=True)
class Rows:
    """A table's rows with a known target, as pieces of chunks, and the even sample that the survey kept."""

    pieces: Sequence[Iterable[Chunk]]
    sample: Chunk  # sorted by hash; every row where `whole`
    whole: bool
    total: int
    names: tuple[str, ...]  # of the encoded inputs
    groups: tuple[int, ...]  # source column of each encoded input
    target: str
    engine: Engine
    in_memory: bool = True

    def fold(self, partial: Callable[[Chunk], S], label: str) -> S:
        return self.engine.fold(self.pieces, partial, label, self.total)


def even_sample(chunk: Chunk) -> Chunk:
    """The rows with the smallest hash of their inputs, sorted by it."""
    return chunk.take(np.argsort(rehash(chunk.key, SAMPLE_SALT), kind="stable")[:SAMPLE_ROWS])


def rows_of_arrays(X: Array, y: Array, engine: Engine | None = None, names: tuple[str, ...] | None = None) -> Rows:
    """Rows of arrays in memory: the library's way in where there is no file."""
    key = combine([hash_numbers(np.ascontiguousarray(column)) for column in X.T])
    chunk = Chunk(np.ascontiguousarray(X, dtype=float), np.asarray(y, dtype=float), key, 0)
    names = names or tuple(f"x{k + 1}" for k in range(X.shape[1]))
    sample = even_sample(chunk)
    groups = tuple(range(X.shape[1]))
    whole = sample.rows == chunk.rows
    return Rows(cut(chunk, PIECE_ROWS), sample, whole, chunk.rows, names, groups, "y", engine or LocalEngine())


def cut(chunk: Chunk, rows: int) -> list[list[Chunk]]:
    """A chunk as pieces of at most so many rows."""
    return [[chunk.take(slice(i, i + rows))] for i in range(0, max(chunk.rows, 1), rows)]


@dataclass(frozen=True)
class Training:
    """Rows with a side each, standardised by the training ones."""

    rows: Rows
    view: View

    @property
    def T(self) -> int:
        return self.view.standard.rows

    @property
    def d(self) -> int:
        return len(self.view.standard.keep)

    def fold(self, partial: Callable[[Chunk], S], label: str) -> S:
        return self.rows.fold(partial, label)

    def sample(self) -> Chunk:
        """The sample's training rows, standardised, in the order of their hash."""
        return self.view(self.rows.sample, Side.TRAIN)

    def fold_sample(self, partial: Callable[[Chunk], S]) -> S:
        """The same over the sample's training rows, here: they are in memory whatever the engine."""
        return LocalEngine().fold(cut(self.sample(), PIECE_ROWS // 8), partial, "sample")


def training(rows: Rows, split: Split) -> Training:
    """One pass: the moments of the training rows."""
    exponent = exponents(rows.sample)
    moments = rows.fold(MomentsOf(split, Side.TRAIN, exponent), "moments")
    standard: Standard = standard_of(moments, exponent, rows.names, rows.target)
    return Training(rows, View(split, standard))


def eigenbasis_of(data: Training, kernel: ArcsineKernel, landmarks: Landmarks, centred: bool) -> EigenBasis:
    """Phase 1: kernel and eigenvectors of the training rows."""
    if landmarks.complete:
        counts = data.fold(CountRows(data.view, np.sort(landmarks.key)), "counting rows")
        return full_basis(kernel, landmarks, counts, centred)
    R = landmark_projection(kernel, landmarks)
    gram = data.fold(GramRows(data.view, kernel.prepare(landmarks.Z), R), "Gram matrix")
    return landmark_basis(kernel, landmarks, R, gram, centred)


class PhaseOne:
    """Phase 1 of some training rows, each part computed when it is first asked for and shared by every variant."""

    def __init__(self, data: Training, method: MethodSettings, tuning: Tuning | None, timer: Timer) -> None:
        self.data = data
        self._method = method
        self._tuning = tuning
        self._timer = timer

    @cached_property
    def landmarks(self) -> Landmarks:
        wanted = self._method.landmarks
        if wanted == ALL_ROWS:
            wanted = check_all(self.data.T, self.data.rows.whole)
        return choose(self.data.sample(), self.data.T, wanted)

    @cached_property
    def paper_kernel(self) -> ArcsineKernel:
        """The kernel of the paper's variants: what the user fixed, else the paper's v = 1, b = 0, depth 1."""
        return fixed_kernel(self._method.kernel)

    @cached_property
    def tuning(self) -> Tuning | None:
        """What tuning found on the training rows; None where it was not asked for."""
        settings = self._method.kernel
        if self._tuning is not None or not settings.tune:
            return self._tuning
        from enrelm_cli.tuning import TuneSettings, tune

        with self._timer("tuning"):
            sample = self.data.sample()
            rows = min(sample.rows, settings.tune_rows)
            groups = [self.data.rows.groups[k] for k in self.data.view.standard.keep]
            asked = TuneSettings(
                rows, settings.tune_steps, settings.weight_variance, settings.bias_variance, settings.depth
            )
            return tune(sample.X[:rows], sample.y[:rows], groups, asked, lambda done: None)

    @cached_property
    def basis(self) -> EigenBasis:
        """Of the paper's variants."""
        with self._timer("kernel and eigenvectors"):
            return eigenbasis_of(self.data, self.paper_kernel, self.landmarks, centred=False)

    @cached_property
    def kernel_basis(self) -> EigenBasis:
        """Of the kernel variant: tuned and centred."""
        kernel = self.tuning.kernel if self.tuning else self.paper_kernel
        with self._timer("kernel and eigenvectors"):
            return eigenbasis_of(self.data, kernel, self.landmarks, centred=True)


def fixed_kernel(settings: KernelSettings) -> ArcsineKernel:
    """What the user fixed, else the paper's."""
    v, b, depth = settings.weight_variance, settings.bias_variance, settings.depth
    return ArcsineKernel(1.0 if v is None else v, 0.0 if b is None else b, depth or 1)
