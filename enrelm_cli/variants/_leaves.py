"""Cutting the rows into leaves: balanced, deterministic, and the same in any order of the rows.

A leaf with too many rows is cut at the middle of the input whose cut lowers the variance of some quantity most: the
target's, or that of the inputs as the kernel scales them. The cost of a leaf is cubic in its rows, so the halves should
be equal. Cuts come from the even sample of the training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from enrelm_cli.columns import beside, sum_by
from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Chunk, joined, one_blas_thread
from enrelm_cli.fold.weights import by_place
from enrelm_cli.model.leaves import Integers, Leaves
from enrelm_cli.types import Array, Keys

# A cut leaves at least this share on each side, where some input has such a cut.
_BALANCED = 0.25
_ROUNDING = 1e-9
# Times the rows asked for: a leaf of rows with equal inputs may be as large as this.
LARGEST = 4


@dataclass
class _Growing:
    """The cuts so far: a cut's children come after it."""

    column: list[int] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    leaves: int = 0

    def leaf(self) -> int:
        self.leaves += 1
        return -self.leaves

    def cut(self, column: int, at: float) -> int:
        self.column.append(column)
        self.at.append(at)
        self.low.append(0)
        self.high.append(0)
        return len(self.at) - 1

    def grown(self) -> Leaves:
        columns, low, high = (np.array(one, np.int64) for one in (self.column, self.low, self.high))
        return Leaves(columns, np.array(self.at, float), low, high)


@one_blas_thread
def grow(sample: Chunk, T: int, most: int, parted: Array) -> Leaves:
    """Leaves of at most about `most` of the T training rows, cut where the even sample of them says.

    `parted` (t, q): what the leaves shall part, of every row of the sample.
    """
    growing = _Growing()
    each = T / max(sample.rows, 1)  # training rows that a row of the sample stands for

    def part(rows: Integers) -> int:
        best = best_cut(sample.X[rows], parted[rows]) if each * len(rows) > most else None
        if best is None:
            return growing.leaf()
        place = growing.cut(*best)
        low = sample.X[rows, best[0]] <= best[1]
        growing.low[place], growing.high[place] = part(rows[low]), part(rows[~low])
        return place

    part(np.arange(sample.rows))
    return growing.grown()


def check_leaves(leaves: Leaves, sample: Chunk, T: int, most: int) -> None:
    """A leaf that cannot be cut may be larger than asked for, but not so large that its factor never ends."""
    for _, places in leaves.groups(sample.X):
        rows = round(len(np.unique(sample.twins[places])) * T / sample.rows)
        if rows > LARGEST * most:
            raise DataError(
                f"about {rows:,} rows have the same inputs: no cut makes leaves of {most:,} rows of them (--leaf-rows)",
                "use --variant kernel, which is exact where inputs repeat so often",
            )


def best_cut(X: Array, parted: Array) -> tuple[int, float] | None:
    """(input, where): the middle cut that lowers the variance of `parted` (n, q) most; None where all rows are equal.

    With s the sum of y - ybar below a cut of n into l and n - l rows, the sum of squares falls by s²/l + s²/(n - l).
    """
    found = [(k, at) for k, x in enumerate(X.T) if (at := middle(x)) is not None]
    if not found:
        return None
    low = X[:, [k for k, _ in found]] <= np.array([at for _, at in found])
    n, count = len(X), np.count_nonzero(low, axis=0)
    s = low.T.astype(float) @ (parted - parted.mean(axis=0))
    gain = np.einsum("kq,kq->k", s, s) * (1.0 / count + 1.0 / (n - count))
    share = np.minimum(count, n - count) / n
    balanced = share >= _BALANCED
    # Where no input has a balanced cut, the most balanced one.
    merit = np.where(balanced, gain, -1.0) if balanced.any() else share
    # The first of those that are equal but for rounding: a column's inputs often part the rows alike.
    return found[int(np.argmax(merit >= merit.max() * (1.0 - _ROUNDING)))]


def middle(x: Array) -> float | None:
    """The number between two different values of x that leaves nearest to half of them below; None if there is none."""
    x = np.sort(x)
    steps = np.flatnonzero(x[1:] > x[:-1]) + 1
    if not len(steps):
        return None
    i = int(steps[np.argmin(np.abs(2 * steps - len(x)))])
    between = 0.5 * (x[i - 1] + x[i])
    return float(between) if x[i - 1] <= between < x[i] else float(x[i - 1])


# --- rows by leaf ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeafRows:
    """The rows of one leaf with every input once: rows that are equal are one, of a weight."""

    X: Array  # (n, d)
    key: Keys  # (n,) sorted
    y: Array  # (n, ...) the mean target of the rows with this input
    weight: Array  # (n,) how many there are, or the sum of their weights
    apart: Array  # (t, ...) every row's target less that mean
    input: Integers  # (t,) which input each row has
    row_weight: Array | None = None  # (t,) where rows have weights
    block: Keys | None = None  # (n,) inputs that are left out together, 0 where they never are (`_leaf_blocks.py`)

    @property
    def rows(self) -> int:
        return len(self.input)


def leaf_rows(chunks: Sequence[Chunk]) -> LeafRows:
    """Sorted by the hash of the inputs, and equal inputs by target: no bit depends on the order of the rows."""
    rows = joined(chunks, 0)
    tied = () if rows.weight is None else (rows.weight,)
    rows = rows.take(np.lexsort((*tied, *rows.y.reshape(rows.rows, -1).T, rows.twins)))
    key, first, place = np.unique(rows.twins, return_index=True, return_inverse=True)
    count = by_place(place, rows.weight, len(key))
    mean = sum_by(place, rows.weighted(rows.y), len(key)) / beside(count, rows.y)
    block = None if rows.group is None else rows.group[first]
    X, apart = np.ascontiguousarray(rows.X[first]), rows.y - mean[place]
    return LeafRows(X, key, mean, count, apart, place, rows.weight, block)
