"""Groups, or the latest rows, left out of the local variant: a block of rows over all leaves at once.

With S^-1 = blockdiag(D_b^-1) - P P', P_b = D_b^-1 F_b L'^-1 (`_pic.py`), the errors of the rows of a block g without
it are (S^-1_gg)^-1 (S^-1 y)_g: each leaf tells of its rows of the block P and its part of D_b^-1, and they are put
together here. Rows that no leaf holds are not left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.folds import Chunk
from enrelm_cli.fold.hashing import rehash
from enrelm_cli.inputs.split import moment
from enrelm_cli.phase_one.left_out import LATEST, STAYS, block_of
from enrelm_cli.types import Array, Keys

# Rows that are left out with others at most: what the leaves tell of each is as wide as there are landmarks.
_ROWS = 4096
_SALT = 0x6C656166

# The key of rows that are never left out.
NO_BLOCK = np.uint64(0)


def merge_key(rows: Chunk) -> Keys:
    """(t,) rows with one key are one row of a leaf: equal inputs, in one group and at one time."""
    return rows.twins if rows.group is None and rows.time is None else rows.alike()


@dataclass(frozen=True)
class BlockKeys:
    """Which rows are left out together."""

    groups: Keys | None = None  # (g,) sorted: those that are; none where all are too large
    since: float | None = None  # rows from this time on are

    def __bool__(self) -> bool:
        return self.since is not None or self.groups is not None

    def marked(self, rows: Chunk) -> Chunk:
        """The rows as leaves want them: `twins` are those of one row of a leaf, `group` is the block."""
        return replace(rows, twins=merge_key(rows), group=self._keys(rows) if self else None, time=None)

    def _keys(self, rows: Chunk) -> Keys:
        if self.since is not None:
            assert rows.time is not None
            return (rows.time >= self.since).astype(np.uint64)
        if rows.group is None or self.groups is None:
            return np.zeros(rows.rows, np.uint64)
        return np.where(np.isin(rows.group, self.groups), rows.group, NO_BLOCK)


NO_BLOCKS = BlockKeys()


def block_keys(sample: Chunk, rows: float, most: int = _ROWS) -> BlockKeys:
    """Of a table with so many training rows: the latest ones, or an even choice of whole groups; not too many."""
    block = block_of(sample)
    if block is None:
        return BlockKeys()
    each = rows / sample.rows
    if sample.time is not None:
        if each * np.count_nonzero(block != STAYS) > most:
            return BlockKeys(groups=np.zeros(0, np.uint64))
        return BlockKeys(since=moment(sample.time, 1.0 - LATEST))
    assert sample.group is not None
    groups, count = np.unique(sample.group, return_counts=True)
    order = np.argsort(rehash(groups, _SALT))
    fits = np.cumsum(count[order]) * each <= most
    return BlockKeys(groups=np.sort(groups[order[fits]]))


@dataclass(frozen=True)
class BlockPart:
    """What a leaf tells of its rows that are left out with others. All times the root of their weights."""

    block: Keys  # (r,)
    places: NDArray[np.int64]  # (r,) among the inputs of the leaf
    P: Array  # (r, k + 1)
    inverse: Array  # (r, r) of D_b^-1
    a: Array  # (r, ...) of S^-1 y
    root: Array  # (r,)


def block_errors(parts: Sequence[BlockPart], rows: Sequence[int], shape: tuple[int, ...]) -> list[Array]:
    """For each leaf the errors (n, ...) of its inputs' mean targets when their block is left out; NaN where none is."""
    found = [np.full((n, *shape), np.nan) for n in rows]
    block = np.concatenate([part.block for part in parts])
    leaf = np.repeat(np.arange(len(parts)), [len(part.block) for part in parts])
    within = np.concatenate([np.arange(len(part.block)) for part in parts])
    order = np.argsort(block, kind="stable")
    starts = np.flatnonzero(np.diff(block[order], prepend=NO_BLOCK))
    for members in np.split(order, starts[1:]) if len(order) else ():
        mine = [(b, within[members[leaf[members] == b]]) for b in np.unique(leaf[members]).tolist()]
        P, a, root = (np.concatenate([getattr(parts[b], name)[at] for b, at in mine]) for name in ("P", "a", "root"))
        M, i = -(P @ P.T), 0
        for b, at in mine:
            M[i : i + len(at), i : i + len(at)] += parts[b].inverse[np.ix_(at, at)]
            i += len(at)
        errors = np.linalg.solve(M, a.reshape(len(a), -1)) / root[:, None]
        i = 0
        for b, at in mine:
            found[b][parts[b].places[at]] = errors[i : i + len(at)].reshape(len(at), *shape)
            i += len(at)
    return found
