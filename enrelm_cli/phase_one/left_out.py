"""Rows that are left out together, a group or the latest of all, and their exact errors.

Ridge regression with a free intercept on columns U has the smoother H = 11'/T + U D U'. Without the rows of a block g
their errors are exactly

    e_g = (I - H_gg)^-1 r_g,   r = y - H y,

the usual formula for one row. Rows with weights w: the same with rows of U, of 1 and of r times sqrt(w).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.columns import beside, sum_by
from enrelm_cli.fold.folds import Chunk
from enrelm_cli.fold.weights import Weights, by_place
from enrelm_cli.inputs.split import moment
from enrelm_cli.types import Array

# Of a table with a time, this share of the training rows, the latest, is left out at once.
LATEST = 0.25
# The block of a row that is never left out.
STAYS = -1
# Rows of many small blocks that are solved for at once.
_AT_ONCE = 4096

Block = NDArray[np.int64]
# Multiplications from which fewer ridges are tried.
_WORK, _EVERY = 5e10, 3


def block_of(rows: Chunk) -> Block | None:
    """(t,) the block of each row; None where rows are left out one by one, each with its twins."""
    if rows.time is not None:
        if len(np.unique(rows.time)) < 3 or rows.rows < 4:
            return None
        return np.where(rows.time >= moment(rows.time, 1.0 - LATEST), 0, STAYS)
    if rows.group is None:
        return None
    groups, block = np.unique(rows.group, return_inverse=True)
    # One group cannot be left out: nothing would be left to fit.
    alone = len(groups) == len(np.unique(rows.alike())) or len(groups) == 1
    return None if alone else block.astype(np.int64)


def places_of(block: Block) -> Iterator[NDArray[np.int64]]:
    """(g, n) of the rows in each of g blocks that have n rows: blocks of one size are solved for together."""
    order = np.argsort(block, kind="stable")
    order = order[block[order] != STAYS]
    _, first, count = np.unique(block[order], return_index=True, return_counts=True)
    for n in np.unique(count).tolist():
        starts = first[count == n]
        most = max(1, _AT_ONCE // n)
        for i in range(0, len(starts), most):
            yield order[starts[i : i + most, None] + np.arange(n)]


def tried(alphas: Array, block: Block | None, columns: int) -> Array:
    """The ridges, or some of them where blocks are so large that all would take long."""
    if block is None:
        return alphas
    sizes = np.minimum(np.bincount(block[block != STAYS]), columns).astype(float)
    return alphas if 2.0 * len(alphas) * columns * float(sizes @ sizes) < _WORK else alphas[::_EVERY]


@dataclass(frozen=True)
class LeftOutRows:
    """Every input once, with the mean target of its rows, and the block with which it is left out."""

    X: Array  # (t, d)
    y: Array  # (t, ...)
    weight: Weights = None  # (t,) of its rows
    block: Block | None = None  # (t,)

    def first(self, rows: int) -> LeftOutRows:
        return self.take(slice(rows))

    def take(self, places: NDArray[np.int64] | slice) -> LeftOutRows:
        weight = None if self.weight is None else self.weight[places]
        return LeftOutRows(self.X[places], self.y[places], weight, None if self.block is None else self.block[places])


def distinct_rows(sample: Chunk) -> LeftOutRows:
    """The sample as tuning sees it: held out, a row must not be told by its twin.

    Rows of one group are told apart by little, those of several by all that is to be learnt: the first rows are one of
    each group, then the second ones.
    """
    _, first, place = np.unique(sample.alike(), return_index=True, return_inverse=True)
    total = by_place(place, sample.weight)
    mean = sum_by(place, sample.weighted(sample.y), len(total)) / beside(total, sample.y)
    order = np.argsort(first)
    rows = sample.take(first[order])
    block = block_of(rows)
    distinct = LeftOutRows(rows.X, mean[order], None if sample.weight is None else total[order], block)
    return distinct if block is None or rows.group is None else distinct.take(np.argsort(_copies(block), kind="stable"))


def _copies(block: Block) -> NDArray[np.int64]:
    """(t,) how many rows of its block come before each row."""
    order = np.argsort(block, kind="stable")
    _, first, count = np.unique(block[order], return_index=True, return_counts=True)
    copies = np.empty(len(block), np.int64)
    copies[order] = np.arange(len(block)) - np.repeat(first, count)
    return copies


@dataclass(frozen=True)
class Smoother:
    """H of some rows, for several ridges: H = root root'/T + U D U'."""

    U: Array  # (t, k), times root
    root: Array  # (t,) sqrt of the rows' weights
    total: float  # T
    gain: Array  # (k, a) diagonals of D
    free: Array | None = None  # (k, a) I - D, where that is known better than D
    lowest: Array | None = None  # (a,) no eigenvalue of I - H is below; None: it is what rounding leaves

    def left_out(self, residual: Array, block: Block) -> Array:
        """The errors of rows when their blocks are left out: (t, a, ...) residuals times root -> the same / root.

        NaN where a row stays.
        """
        errors = np.full(residual.shape, np.nan)
        for places in places_of(block):
            U, root = self.U[places], self.root[places]
            solve = self._small(U, root) if places.shape[1] <= U.shape[2] else self._large(U, root)
            for a in range(self.gain.shape[1]):
                r = residual[places, a].reshape(*places.shape, -1)
                errors[places, a] = (solve(a, r) / root[..., None]).reshape(*places.shape, *residual.shape[2:])
        return errors

    def _small(self, U: Array, root: Array) -> Callable[[int, Array], Array]:
        """Blocks (g, n, k), (g, n): from a ridge and r (g, n, q) to (g, n, q), by matrices of the rows."""
        V = U.transpose(0, 2, 1)
        outside = np.eye(U.shape[1]) - root[:, :, None] * root[:, None, :] / self.total
        if self.free is None:
            return lambda a, r: self._solved(outside - (U * self.gain[:, a]) @ V, r, a)
        # I - D is not a difference of nearly equal numbers when the ridge is small.
        free, outside = self.free, outside - U @ V
        return lambda a, r: self._solved(outside + (U * free[:, a]) @ V, r, a)

    def _large(self, U: Array, root: Array) -> Callable[[int, Array], Array]:
        """The same by matrices of the columns: (I - Q D Q')^-1 = I + Q D^½ (I - D^½ Q'Q D^½)^-1 D^½ Q'."""
        Q = np.concatenate([root[:, :, None] / np.sqrt(self.total), U], axis=2)
        V = Q.transpose(0, 2, 1)
        G = V @ Q

        def solve(a: int, r: Array) -> Array:
            d = np.sqrt(np.concatenate([[1.0], self.gain[:, a]]))
            M = np.eye(len(d)) - d[:, None] * G * d
            e: Array = r + Q @ (d[:, None] * self._solved(M, d[:, None] * (V @ r), a, beside_one=True))
            return e

        return solve

    def _solved(self, M: Array, r: Array, a: int, beside_one: bool = False) -> Array:
        """M^-1 r. Some rows that stand for all (`lowest`) may leave M with eigenvalues that all rows would not.

        `beside_one`: for I + Q D^½ M^-1 D^½ Q', which is to have 1/lowest there: its eigenvector Q D^½ v, M v = m v,
        has the squared length 1 - m.
        """
        if self.lowest is None:
            return np.asarray(np.linalg.solve(M, r), dtype=np.float64)
        values, V = np.linalg.eigh(M)
        bounded = np.maximum(values, self.lowest[a])
        inverse = 1.0 / bounded
        if beside_one:
            below = values < bounded
            inverse[below] *= (1.0 - bounded[below]) / (1.0 - values[below])
        solved: Array = V @ ((V.transpose(0, 2, 1) @ r) * inverse[:, :, None])
        return solved
