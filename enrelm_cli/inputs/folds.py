"""K folds of the rows: each validates once, while the others train.

The rows, ordered by a seeded hash of their units (or of the user's groups), are cut into K parts of nearly equal size:
the order of the rows in the file means nothing, rows that stay together are in one fold, and a stream needs no
permutation. With `--time` the folds are windows that follow each other, and only what is earlier trains.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.folds import Chunk
from enrelm_cli.fold.hashing import rehash
from enrelm_cli.inputs.split import Cut, Side, Sides, Split, TimeSplit, time_split
from enrelm_cli.inputs.training import Rows
from enrelm_cli.settings import SplitSettings
from enrelm_cli.types import Array

# One quarter of fewer rows than this is too few to choose anything: `--folds auto` takes folds of them.
FOLDED_BELOW = 1000
_FOLDS = 5
# Which fold a row is in has nothing to do with its side in a single split.
_SALT = 0xF01D
_SPAN = 2**64


@dataclass(frozen=True)
class FoldSplit:
    """Rows whose seeded hash lies in [low, high) validate, all others train."""

    seed: int
    low: int
    high: int  # of 2^64

    def sides(self, chunk: Chunk) -> Sides:
        hashed = rehash(chunk.together, self.seed ^ _SALT)
        below = np.ones(len(hashed), bool) if self.high >= _SPAN else hashed < np.uint64(self.high)
        return np.where(below & (hashed >= np.uint64(self.low)), Side.VALIDATION, Side.TRAIN).astype(np.uint8)


def fold_count(rows: Rows, split: SplitSettings, single: bool) -> int:
    """How many folds choose; 1 is one validation split. `single`: what was asked for needs one."""
    if split.folds is not None:
        return split.folds
    usual = SplitSettings()
    said = split.kind != usual.kind or split.validation_size != usual.validation_size
    said = said or rows.sample.time is not None or rows.sample.held is not None
    distinct = len(np.unique(rows.sample.together)) if rows.total < FOLDED_BELOW else 0
    # Folds of three units would leave two to train on, or fewer.
    return 1 if single or said or distinct < 4 else min(_FOLDS, distinct)


def fold_splits(rows: Rows, split: SplitSettings, folds: int) -> tuple[Split, ...]:
    """`folds` splits, in which each row validates once at most; the first has every row on one of its two sides."""
    if split.kind == "shuffle":
        raise UsageError("--split shuffle is the paper's single split", "leave out --folds, or --split shuffle")
    if rows.sample.held is not None:
        raise UsageError("--validation says which rows choose, and so does --folds", "use one of the two")
    if rows.sample.time is not None:
        return time_folds(rows.sample.time, folds)
    hashed = np.sort(rehash(rows.sample.together, split.seed ^ _SALT))
    distinct, counts = np.unique(hashed, return_counts=True)
    if len(distinct) < max(folds, 3):
        kept = "groups" if rows.sample.group is not None else "different inputs"
        raise DataError(
            f"--folds {folds}: the rows have only {len(distinct)} {kept}, and rows of one stay together",
            "ask for fewer folds, or --folds 1 for one validation split",
        )
    if not rows.whole:
        bounds = [k * _SPAN // folds for k in range(folds + 1)]
    else:
        # The first key of each fold: where the rows before it come nearest to k/K of all; every fold has a key.
        before = np.cumsum(counts) - counts
        starts = [0]
        for k in range(1, folds):
            free = np.arange(starts[-1] + 1, len(distinct) - (folds - k) + 1)
            starts.append(int(free[np.argmin(np.abs(before[free] - k * len(hashed) / folds))]))
        bounds = [0, *(int(distinct[at]) for at in starts[1:]), _SPAN]
    return tuple(FoldSplit(split.seed, low, high) for low, high in pairwise(bounds))


def time_folds(time: Array, folds: int) -> tuple[TimeSplit, ...]:
    """Windows of the later half of the rows, the latest first; what is later than a window is not used."""
    cuts = [time_split(time, 0.25, Cut(k, folds, 1.0)) for k in reversed(range(folds))]
    return tuple(TimeSplit(cut.test, cut.end, cut.end) for cut in cuts)
