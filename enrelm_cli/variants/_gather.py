"""Training rows by leaf: in memory where the table is, else in temporary files, one file per leaf."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.training import Training
from enrelm_cli.model.features import BLOCK
from enrelm_cli.model.leaves import Leaves
from enrelm_cli.types import Array, Keys
from enrelm_cli.variants._leaf_blocks import NO_BLOCKS, BlockKeys
from enrelm_cli.variants._leaves import LeafRows, leaf_rows
from enrelm_cli.variants._pic import Global

# Bytes of rows that wait in memory before they are written.
_WAITING = 64 << 20
_PREFIX = "enrelm-leaves-"
_SPAN = 2**64


@dataclass(frozen=True)
class LeafChunks:
    """A chunk's training rows by leaf."""

    leaves: dict[int, Chunk]
    rows: int


@dataclass(frozen=True)
class RowsByLeaf:
    """From a chunk of the table to its training rows by leaf; an even choice of them where the bound says so."""

    view: View
    leaves: Leaves
    below: int  # of 2^64: rows with a larger hash are left to the landmarks alone; equal inputs stay together
    blocks: BlockKeys = NO_BLOCKS

    def __call__(self, chunk: Chunk) -> LeafChunks:
        kept = self.blocks.marked(self.view(chosen(chunk, self.below), Side.TRAIN))
        return LeafChunks({b: kept.take(places) for b, places in self.leaves.groups(kept.X)}, chunk.rows)


@dataclass(frozen=True)
class OutsideRows:
    """Partial over chunks of the table: F'F and F'y of the training rows that are in no leaf."""

    view: View
    shared: Global
    below: int

    def __call__(self, chunk: Chunk) -> Sums:
        rows = self.view(chunk.where(~_inside(chunk, self.below)), Side.TRAIN)
        k = self.shared.size
        FF, Fy = np.zeros((k, k)), np.zeros((k, *rows.y.shape[1:]))
        for block in rows.blocks(BLOCK):
            F = self.shared.features(block.X, block.rooted(np.ones(block.rows)))
            FF += F.T @ F
            Fy += F.T @ block.rooted(block.y)
        return Sums({"FF": FF, "Fy": Fy})


def bound(T: int, most: int) -> int:
    """Of 2^64: about `most` of T rows have a smaller hash."""
    return _SPAN if most >= T else int(_SPAN * (most / T))


def chosen(rows: Chunk, below: int) -> Chunk:
    """The rows whose hash is below the bound."""
    return rows.where(_inside(rows, below))


def _inside(rows: Chunk, below: int) -> NDArray[np.bool_]:
    return np.ones(rows.rows, bool) if below >= _SPAN else rows.unit < np.uint64(below)


@dataclass(frozen=True)
class Leafed:
    """The rows of every leaf, a piece each."""

    pieces: Sequence[Iterable[LeafRows]]
    total: int
    complete: bool  # every training row is in one


@contextmanager
def gathered(data: Training, leaves: Leaves, below: int, blocks: BlockKeys = NO_BLOCKS) -> Iterator[Leafed]:
    """One pass over the rows with a hash below the bound. Files vanish at the end, also those of killed runs."""
    chunks = data.rows.engine.map(
        data.rows.pieces, RowsByLeaf(data.view, leaves, below, blocks), "rows by leaf", data.rows.total
    )
    if data.rows.in_memory:
        yield _in_memory(chunks, leaves.count, below >= _SPAN)
        return
    remove_stale()
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    try:
        yield _on_disk(chunks, leaves.count, below >= _SPAN, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _in_memory(chunks: Iterable[LeafChunks], count: int, complete: bool) -> Leafed:
    parts: list[list[Chunk]] = [[] for _ in range(count)]
    for chunk in chunks:
        for b, rows in chunk.leaves.items():
            parts[b].append(rows)
    leaves = [leaf_rows(part) for part in parts]
    return Leafed([[leaf] for leaf in leaves], sum(leaf.rows for leaf in leaves), complete)


# --- on disk ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeafFile:
    """A leaf's rows, read when they are needed: [X, y, twins' key, any weight, any block's key] a row."""

    path: Path
    inputs: int
    targets: tuple[int, ...]  # (), or (q,) of q targets
    weighted: bool
    blocked: bool = False

    def __iter__(self) -> Iterator[LeafRows]:
        d, q = self.inputs, int(np.prod(self.targets))
        # No leaf is empty: it was cut where the rows are.
        table: Array = np.fromfile(self.path).reshape(-1, d + q + 1 + self.weighted + self.blocked)
        twins: Keys = np.ascontiguousarray(table[:, d + q]).view(np.uint64)
        y = table[:, d : d + q].reshape(len(table), *self.targets)
        weight = table[:, d + q + 1].copy() if self.weighted else None
        block: Keys | None = np.ascontiguousarray(table[:, -1]).view(np.uint64) if self.blocked else None
        X = np.ascontiguousarray(table[:, :d])
        yield leaf_rows([Chunk(X, y.copy(), twins, twins, 0, weight=weight, group=block)])

    def __reduce__(self) -> tuple[type[list[LeafRows]], tuple[list[LeafRows]]]:
        """A worker elsewhere does not see the file: it is sent the rows."""
        return list, (list(self),)


def _on_disk(chunks: Iterable[LeafChunks], count: int, complete: bool, folder: Path) -> Leafed:
    waiting: dict[int, list[Chunk]] = {}
    size, total, weighted, blocked = 0, 0, False, False
    inputs, targets = 0, ()
    for chunk in chunks:
        for b, rows in chunk.leaves.items():
            waiting.setdefault(b, []).append(rows)
            size, total = size + rows.X.nbytes, total + rows.rows
            inputs, targets, weighted = rows.X.shape[1], rows.y.shape[1:], rows.weight is not None
            blocked = rows.group is not None
        if size > _WAITING:
            _write(waiting, folder)
            waiting, size = {}, 0
    _write(waiting, folder)
    files = [LeafFile(folder / f"{b}", inputs, targets, weighted, blocked) for b in range(count)]
    return Leafed(files, total, complete)


def _write(waiting: dict[int, list[Chunk]], folder: Path) -> None:
    for b, parts in waiting.items():
        with open(folder / f"{b}", "ab") as file:
            for rows in parts:
                more = () if rows.weight is None else (rows.weight,)
                more = more if rows.group is None else (*more, rows.group.view(np.float64))
                np.column_stack((rows.X, rows.y, rows.twins.view(np.float64), *more)).tofile(file)


def remove_stale() -> None:
    """Folders of runs that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not _alive(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True  # somebody else's
    return True
