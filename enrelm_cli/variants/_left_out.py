"""The kernel variant's errors of rows that are left out with others: groups, or the latest of all (`left_out.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from enrelm_cli.columns import beside
from enrelm_cli.fold.folds import Chunk, LocalEngine, Sums, one_blas_thread
from enrelm_cli.inputs.training import Training
from enrelm_cli.phase_one.eigenbasis import EigenBasis
from enrelm_cli.phase_one.left_out import STAYS, Block, Smoother
from enrelm_cli.types import Array

# Rows of whole blocks that a thread takes at once.
_ROWS = 1024


@dataclass(frozen=True)
class BlockRows:
    """Whole blocks of the sample's training rows."""

    chunk: Chunk
    block: Block  # (t,)

    @property
    def rows(self) -> int:
        return self.chunk.rows


def block_places(block: Block) -> Iterator[Block]:
    """Places of the rows that are left out at some time, cut at the first start of a block after so many rows."""
    order = np.argsort(block, kind="stable")
    order = order[block[order] != STAYS]
    starts = np.flatnonzero(np.diff(block[order], prepend=STAYS))
    begin = 0
    for start in [*starts[1:].tolist(), len(order)]:
        if start - begin >= _ROWS or start == len(order):
            yield order[begin:start]
            begin = start


@dataclass(frozen=True)
class BlocksLeftOut:
    """Partial: the sum of squared left-out errors for each alpha. Exact where the sample is every training row.

    Where it is not, a row of the sample stands for `scale` rows with its inputs and its residual, as twins do.
    """

    basis: EigenBasis
    shrunk: Array  # (k, a): alpha / (lambda + alpha), 1 for a column that is left out
    scale: float

    def errors(self, rows: Chunk, block: Block) -> Array:
        """(t, a), or (t, a, q) of q targets."""
        basis, shrunk = self.basis, self.shrunk
        U = basis.of_sample(rows)
        residual = (rows.y - basis.y_mean - U @ basis.c)[:, None] + _products(U, basis.c, shrunk)
        root = np.sqrt(self.scale * np.ones(rows.rows) if rows.weight is None else self.scale * rows.weight)
        U = U * root[:, None]
        residual *= root.reshape(-1, *np.ones(residual.ndim - 1, int))
        lowest = None if self.scale < 1.0 + 1e-9 else shrunk.min(axis=0)
        return Smoother(U, root, float(basis.rows), 1.0 - shrunk, shrunk, lowest).left_out(residual, block)

    def __call__(self, item: BlockRows) -> Sums:
        errors = self.errors(item.chunk, item.block)
        weighted = errors * beside(item.chunk.weighted(np.ones(item.rows)), errors[:, 0])[:, None]
        return Sums({"squares": np.einsum("ij...,ij...->j...", weighted, errors), "rows": item.chunk.total})


def _products(U: Array, c: Array, shrunk: Array) -> Array:
    """U (c alpha/(lambda+alpha)) for every alpha: (t, a), or (t, a, q) of q targets."""
    if c.ndim == 1:
        return U @ (c[:, None] * shrunk)
    k, q = c.shape
    return (U @ (c[:, None, :] * shrunk[:, :, None]).reshape(k, -1)).reshape(len(U), -1, q)


def blocks_left_out(basis: EigenBasis, shrunk: Array, sample: Chunk) -> BlocksLeftOut:
    return BlocksLeftOut(basis, shrunk, max(1.0, basis.rows / sample.total))


def fold_blocks(data: Training, block: Block, partial: BlocksLeftOut) -> Sums:
    """Over the sample's training rows, here: they are in memory whatever the engine."""
    engine = LocalEngine(getattr(data.rows.engine, "threads", 0))
    sample = data.sample()
    pieces = [[BlockRows(sample.take(places), block[places])] for places in block_places(block)]
    return engine.fold(pieces, partial, "sample")


@one_blas_thread
def errors_of_blocks(sample: Chunk, block: Block, partial: BlocksLeftOut) -> Array:
    """The error of each row at the first alpha, in the order of the sample; NaN where a row is never left out."""
    errors = np.full(sample.y.shape, np.nan)
    for piece in block_places(block):
        errors[piece] = partial.errors(sample.take(piece), block[piece])[:, 0]
    return errors
