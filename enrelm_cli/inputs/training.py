"""The rows that a method may fold over, each with a side, standardised by the training ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from enrelm_cli.fold.folds import Chunk, Engine, LocalEngine, S
from enrelm_cli.fold.hashing import SAMPLE_ROWS, combine, first_rows, hash_numbers
from enrelm_cli.inputs.split import Side, Split
from enrelm_cli.inputs.standard import MomentsOf, Standard, View, exponents, standard_of
from enrelm_cli.types import Array

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
    """The rows with the smallest hash of their inputs, sorted by it; equal inputs by the hash of their targets."""
    return chunk.take(first_rows(chunk.key, hash_numbers(chunk.y), SAMPLE_ROWS))


def rows_of_arrays(X: Array, y: Array, engine: Engine | None = None, names: tuple[str, ...] | None = None) -> Rows:
    """Rows of arrays in memory: the library's way in where there is no file."""
    key = combine([hash_numbers(np.ascontiguousarray(column)) for column in X.T])
    chunk = Chunk(np.ascontiguousarray(X, dtype=float), np.asarray(y, dtype=float), key, 0)
    names = names or tuple(f"x{k + 1}" for k in range(X.shape[1]))
    sample = even_sample(chunk)
    groups = tuple(range(X.shape[1]))
    whole = sample.rows == chunk.rows
    return Rows(
        cut(chunk, piece_rows(chunk.rows)), sample, whole, chunk.rows, names, groups, "y", engine or LocalEngine()
    )


def piece_rows(rows: int) -> int:
    """Rows of a piece of a table in memory: enough pieces for some threads, and few enough sums to add up.

    It depends on the table alone, never on the cores: the pieces decide how sums are rounded.
    """
    return min(max(rows // 8, 2048), PIECE_ROWS)


def cut(chunk: Chunk, rows: int) -> list[list[Chunk]]:
    """A chunk as pieces of at most so many rows."""
    return [[chunk.between(i, i + rows)] for i in range(0, max(chunk.rows, 1), rows)]


@dataclass(frozen=True)
class Training:
    """Rows with a side each, standardised by the training ones."""

    rows: Rows
    view: View
    T: int  # training rows

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
        return LocalEngine(getattr(self.rows.engine, "threads", 0)).fold(
            cut(self.sample(), PIECE_ROWS // 8), partial, "sample"
        )


def training(rows: Rows, split: Split) -> Training:
    """One pass: the moments of the training rows."""
    exponent = exponents(rows.sample)
    moments = rows.fold(MomentsOf(split, Side.TRAIN, exponent), "moments")
    standard: Standard = standard_of(moments, exponent, rows.names, rows.target)
    return Training(rows, View(split, standard), moments.count)
