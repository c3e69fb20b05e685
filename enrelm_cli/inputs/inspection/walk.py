"""One pass over the rows in their order: whether a column goes up or down all the way, how many values it has, and how
alike the targets of neighbouring rows are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enrelm_cli.fold.folds import Engine
from enrelm_cli.fold.hashing import hash_numbers
from enrelm_cli.table.table import Batch, Table, numbers
from enrelm_cli.types import Array, Keys

_KEPT = 4096


@dataclass(frozen=True)
class Run:
    """The present cells of one column, in the order of the rows."""

    count: int
    first: float
    last: float
    rising: bool
    falling: bool
    squares: float  # sum of squared steps from cell to cell
    smallest: Keys  # the distinct hashes of cells, the smallest _KEPT of them

    @property
    def monotone(self) -> bool:
        return self.rising or self.falling

    @property
    def distinct(self) -> int:
        """Different cells; estimated beyond _KEPT: the k-th smallest of n uniform hashes is about k/n."""
        if len(self.smallest) < _KEPT:
            return len(self.smallest)
        return min(self.count, round((_KEPT - 1) / (float(self.smallest[-1]) / 2.0**64)))

    @property
    def is_exact(self) -> bool:
        return len(self.smallest) < _KEPT

    def merge(self, other: Run) -> Run:
        if not self.count or not other.count:
            return self if self.count else other
        step = other.first - self.last
        return Run(
            self.count + other.count,
            self.first,
            other.last,
            self.rising and other.rising and step >= 0.0,
            self.falling and other.falling and step <= 0.0,
            self.squares + other.squares + step * step,
            np.union1d(self.smallest, other.smallest)[:_KEPT],
        )


def run_of(values: Array) -> Run:
    values = values[np.isfinite(values)]
    if not len(values):
        return Run(0, 0.0, 0.0, True, True, 0.0, np.zeros(0, np.uint64))
    with np.errstate(over="ignore"):
        steps = np.diff(values)
        squares = float(steps @ steps)
    rising, falling = bool((steps >= 0.0).all()), bool((steps <= 0.0).all())
    smallest = np.unique(hash_numbers(values))[:_KEPT]
    return Run(len(values), float(values[0]), float(values[-1]), rising, falling, squares, smallest)


@dataclass(frozen=True)
class Walk:
    """Of every column of numbers, by name."""

    runs: dict[str, Run]
    rows: int

    def merge(self, other: Walk) -> Walk:
        return Walk({name: run.merge(other.runs[name]) for name, run in self.runs.items()}, self.rows + other.rows)


@dataclass(frozen=True)
class _Walker:
    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> Walk:
        return Walk({name: run_of(numbers(batch.columns.column(name))) for name in self.names}, batch.rows)


def walk(table: Table, names: tuple[str, ...], engine: Engine) -> Walk:
    """Over a loaded table; `names`: its columns of numbers, booleans and dates."""
    found: Walk = engine.fold(table.pieces, _Walker(names), "order", table.rows)
    return found
