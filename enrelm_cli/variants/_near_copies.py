"""Near-copies: rows so near to others, as the kernel sees them, that their left-out errors tell nothing of new rows.

Three slightly different copies of each row fall on both sides of a split, and each tells the target of the others. A
row's near-copies are those before a gap in the distances to its neighbours. Left out with them, its error is that of a
new row; left out alone, it collapses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.folds import Chunk, one_blas_thread
from enrelm_cli.inputs.training import Training
from enrelm_cli.kernels.arcsine import Kernel
from enrelm_cli.phase_one.eigenbasis import EigenBasis
from enrelm_cli.types import Array
from enrelm_cli.variants._left_out import BlocksLeftOut, blocks_left_out

# Rows that are looked at, and rows among which their near-copies may be.
_LOOKED, _AMONG = 256, 8192
_NEIGHBOURS = 64
# The first rows beyond a gap are so many times as far. Of rows at random in two dimensions 6 % have such a neighbour,
# in five 0.1 %.
_GAP = 4.0
# Rows of a group beyond which nothing is looked for: they are left out together anyway.
_LARGE_GROUP = 200
# What is worth a warning: so many rows with near-copies, and errors so much smaller than without them.
_SHARE, _COLLAPSE, _MATTERS = 0.1, 0.7, 0.1


@dataclass(frozen=True)
class NearCopies:
    """How many rows have near-copies, and what leaving these out does to the left-out error of all rows."""

    share: float
    alone: float  # root mean square, in units of the target's spread
    together: float

    @property
    def misleads(self) -> bool:
        much = self.together - self.alone > _MATTERS * max(self.together, _MATTERS)
        return self.share >= _SHARE and much and self.alone <= _COLLAPSE * self.together


@one_blas_thread
def near_copies(data: Training, basis: EigenBasis, kernel: Kernel, alpha: float) -> NearCopies | None:
    """Of the sample's training rows; None where there are too few rows, or groups are too large to look."""
    sample = data.sample().between(0, _AMONG)
    if sample.rows < 2 * _NEIGHBOURS or sample.time is not None or not len(basis.values) or sample.y.ndim > 1:
        return None
    if sample.group is not None and np.max(np.unique(sample.group, return_counts=True)[1]) > _LARGE_GROUP:
        return None
    looked = np.arange(min(_LOOKED, sample.rows))
    own, near = _neighbourhoods(sample, kernel, looked)
    clustered = [i for i in looked.tolist() if len(near[i])]
    share = len(clustered) / len(looked)
    if share < _SHARE:
        return NearCopies(share, 0.0, 0.0)
    shrunk = (alpha / (basis.values + alpha))[:, None]
    partial = blocks_left_out(basis, shrunk, data.sample())
    alone = _errors(sample, own, partial)
    together = alone.copy()
    together[clustered] = _errors(sample, [np.concatenate([own[i], near[i]]) for i in clustered], partial)
    alone_rms, together_rms = (float(np.sqrt(np.mean(one**2))) for one in (alone, together))
    return NearCopies(share, alone_rms, together_rms)


Places = list[NDArray[np.int64]]


def _neighbourhoods(sample: Chunk, kernel: Kernel, looked: NDArray[np.int64]) -> tuple[Places, Places]:
    """For each row: the rows that are left out with it anyway, itself first; and its near-copies beside them."""
    Z = sample.X * np.sqrt(np.asarray(kernel.weight_variance))
    squares = np.einsum("ij,ij->i", Z, Z)
    distance = squares[looked, None] - 2.0 * (Z[looked] @ Z.T) + squares
    with_it = sample.alike() if sample.group is None else sample.group
    own, near = [], []
    for i in looked.tolist():
        same = with_it == with_it[i]
        distance[i, same] = np.inf
        own.append(np.concatenate([[i], np.setdiff1d(np.flatnonzero(same), [i])]))
        near.append(_before_gap(np.maximum(distance[i], 0.0)))
    return own, near


def _before_gap(squared: Array) -> NDArray[np.int64]:
    """Places of the neighbours before the widest gap among the nearest; none where no gap is wide enough."""
    nearest = np.argpartition(squared, _NEIGHBOURS)[: _NEIGHBOURS + 1]
    nearest = nearest[np.argsort(squared[nearest], kind="stable")]
    nearest = nearest[np.isfinite(squared[nearest])]
    if len(nearest) < 2:
        return nearest[:0]
    d = np.sqrt(squared[nearest])
    # Rounding leaves some 1e-8 of the distance of equal rows.
    ratio = d[1:] / np.maximum(d[:-1], 1e-7 * max(float(d[-1]), np.finfo(float).tiny))
    widest = int(np.argmax(ratio))
    return nearest[: widest + 1] if ratio[widest] >= _GAP else nearest[:0]


def _errors(sample: Chunk, blocks: Places, partial: BlocksLeftOut) -> Array:
    """The error of the first row of each block when the block is left out."""
    rows = np.concatenate(blocks)
    first = np.cumsum([0, *(len(block) for block in blocks)])[:-1]
    block = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    errors: Array = partial.errors(sample.take(rows), block)[first, 0]
    return errors
