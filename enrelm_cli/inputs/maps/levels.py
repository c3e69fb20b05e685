"""Levels as inputs: indicators of the frequent ones, and what the target is on average where there are many.

Of the L levels of a column, place L stands for a missing cell: a level like any other. A level unseen at fit is rare
where rare levels are pooled, else the average row.

    mean of level l:  sum (y - ybar) / (n_l + PRIOR),   size of level l:  log(1 + n_l)

For a training row both leave out the rows of its own fold, among them the row itself and its twins: what the column is
worth is then judged by rows that did not make it, and a level that is seen in one fold only counts there as unseen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.columns import wide
from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.fold.weights import by_place
from enrelm_cli.inputs import checks
from enrelm_cli.inputs.classes.scale import Scale
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.inputs.maps.column_map import EVERY_ROW, FOLDS, Folds, folds_of
from enrelm_cli.inputs.maps.numbers import RARE
from enrelm_cli.inputs.split import Side, Split
from enrelm_cli.types import Array

# Levels with fewer training rows are pooled, and so are those after this many, the most frequent first.
RARE_ROWS = 5
MOST_INDICATORS = 200
# With more than this share of the rows in pooled levels, the mean target of each level is worth an input. With less it
# is not: it lowers the left-out error more than the error of new rows.
MOST_POOLED = 0.05
PRIOR = 10.0
# With so many frequent levels a new one is to be expected.
MANY_LEVELS = 20
# Columns of coded classes whose mean is an input, at most.
MOST_MEANS = 5
_HIDDEN_FOLD = 0
_AVERAGE = -1  # the slot of a level that is the average row


def places(raw: Array, levels: int) -> NDArray[np.int64]:
    """(t,) the level of each row: `levels` where it is missing, `levels` + 1 where the fit never saw it."""
    missing = np.isnan(raw)
    known = np.where(missing, levels, raw).astype(np.int64)
    return np.where(known < 0, levels + 1, known)


def code_places(raw: Array, values: Array) -> NDArray[np.int64]:
    """(t,) the same where the levels are numbers, `values` (k,) ascending."""
    k = len(values)
    place = np.minimum(np.searchsorted(values, raw), k - 1)
    known = np.where(values[place] == raw, place, k + 1)
    return np.where(np.isnan(raw), k, known)


@dataclass(frozen=True)
class LevelIndicators:
    """An input of 0 and 1 for each slot: a frequent level, or the rare ones together."""

    column: int
    slot: NDArray[np.int64]  # (L + 2,) of each level, of a missing cell, of an unseen level; -1: the average row
    shares: Array  # (k,) of the training rows in each slot
    hidden: bool = False  # training rows of one fold pass for unseen: what that costs is then known
    shared = True
    least_spread = RARE

    @property
    def by_fold(self) -> bool:
        return self.hidden

    @property
    def width(self) -> int:
        """Of two slots, one says it all."""
        return 1 if len(self.shares) == 2 else len(self.shares)

    def names(self, column: Column) -> list[str]:
        levels = (*(column.levels or ()), None)
        members = [np.flatnonzero(self.slot[:-1] == k) for k in range(self.width)]
        return [_slot_name(column.name, [levels[i] for i in of]) for of in members]

    def write(self, raw: Array, fold: Folds | None, out: Array) -> None:
        slot = self.slot[places(raw, len(self.slot) - 2)]
        if self.hidden and fold is not None:
            slot = np.where(fold == _HIDDEN_FOLD, self.slot[-1], slot)
        out[:] = 0.0
        inside = np.flatnonzero((slot >= 0) & (slot < self.width))
        out[inside, slot[inside]] = 1.0
        out[slot == _AVERAGE] = self.shares[: self.width]

    def check(self, column: Column) -> None:
        checks.must(column.levels is not None, f"{column.name!r} has no levels")
        k = len(self.shares)
        checks.must(2 <= k <= MOST_INDICATORS + 1, "'shares' are too few or too many")
        checks.integers("slot", self.slot, (len(column.levels or ()) + 2,), _AVERAGE, k - 1)
        checks.numbers("shares", self.shares, (k,), lowest=0.0)
        checks.truth("hidden", self.hidden)

    def to_document(self) -> dict[str, Any]:
        return {"kind": "level-indicators", **vars(self)}


def _slot_name(name: str, levels: list[str | None]) -> str:
    if len(levels) != 1:
        return f"{name} is rare"
    return f"{name} is missing" if levels[0] is None else f"{name}={levels[0]}"


@dataclass(frozen=True)
class LevelMeans:
    """The shrunken mean target of a level, or means of several, and the logarithm of how often it was seen."""

    column: int
    # (L + 2, folds + 1, ...) of each level, of missing cells, of an unseen level; last fold: from all training rows
    mean: Array
    size: Array  # (L + 2, folds + 1)
    shared = False
    by_fold = True
    least_spread = 0.0

    @property
    def width(self) -> int:
        return 1 + (1 if self.mean.ndim == 2 else self.mean.shape[2])

    def names(self, column: Column) -> list[str]:
        means = [f"{column.name}, mean target"]
        if self.mean.ndim > 2:
            means = [f"{column.name}, mean of score {k + 1}" for k in range(self.mean.shape[2])]
        return [*means, f"{column.name}, rows"]

    def write(self, raw: Array, fold: Folds | None, out: Array) -> None:
        at = places(raw, len(self.mean) - 2)
        without = EVERY_ROW if fold is None else fold
        out[:, :-1], out[:, -1] = wide(self.mean[at, without]), self.size[at, without]

    def check(self, column: Column) -> None:
        checks.must(column.levels is not None, f"{column.name!r} has no levels")
        shape = (len(column.levels or ()) + 2, 1)
        checks.must(self.mean.ndim <= 3 and self.width <= MOST_MEANS + 1, "'mean' has too many columns")
        checks.numbers("mean", self.mean, (*shape, *self.mean.shape[2:]))
        checks.numbers("size", self.size, shape, lowest=0.0)

    def to_document(self) -> dict[str, Any]:
        """A saved model predicts: it needs no fold's values."""
        mean, size = (np.ascontiguousarray(table[:, -1:]) for table in (self.mean, self.size))
        return {"kind": "level-means", "column": self.column, "mean": mean, "size": size}


# --------------------------------------------------------------------------------------------------------------- fit


@dataclass(frozen=True)
class LevelSums:
    """Partial: weights and sum of the scaled target of every level and fold, for some columns of the training rows."""

    split: Split
    target_scale: Scale
    levels: Mapping[int, int]  # column -> how many levels
    codes: Mapping[int, Array] = field(default_factory=dict)  # column -> its values, where these are levels

    def __call__(self, chunk: Chunk) -> Sums:
        chunk = chunk.where(self.split.sides(chunk) == Side.TRAIN)
        y, fold = self.target_scale.forward(chunk.y), folds_of(chunk.together)
        weight, wy = chunk.weight, chunk.weighted(y)
        placed = {k: (places(chunk.X[:, k], levels), levels) for k, levels in self.levels.items()}
        placed |= {k: (code_places(chunk.X[:, k], values), len(values)) for k, values in self.codes.items()}
        return Sums({str(k): self._of(place, levels, wy, fold, weight) for k, (place, levels) in placed.items()})

    def _of(self, place: NDArray[np.int64], levels: int, wy: Array, fold: Folds, weight: Array | None) -> Array:
        """(1 + targets, levels + 2, FOLDS): counts, sums of each target, or of the first where there are many."""
        at = place * FOLDS + fold
        size = (levels + 2) * FOLDS
        each = wide(wy).T[:MOST_MEANS]
        sums = [np.bincount(at, one, minlength=size) for one in each]
        return np.stack([by_place(at, weight, size), *sums]).reshape(1 + len(each), levels + 2, FOLDS)


def indicators(place: int, levels: int, counts: Array) -> LevelIndicators | None:
    """From the training rows of each level and of missing cells, (L + 1,); None where there is one slot only."""
    order = np.argsort(-counts, kind="stable")
    frequent = order[counts[order] >= RARE_ROWS][:MOST_INDICATORS]
    slot = np.full(levels + 2, _AVERAGE, dtype=np.int64)
    slot[frequent] = np.arange(len(frequent))
    sizes = counts[frequent]
    rest = float(counts.sum() - sizes.sum())
    hidden = len(frequent) >= MANY_LEVELS
    if hidden:
        rest, sizes = rest + float(sizes.sum()) / FOLDS, sizes * (1.0 - 1.0 / FOLDS)
    if rest > 0.0:
        others = np.ones(levels + 2, dtype=bool)
        others[frequent] = False
        slot[others] = len(frequent)
        sizes = np.append(sizes, rest)
    if len(sizes) < 2:
        return None
    return LevelIndicators(place, slot, sizes / sizes.sum(), hidden)


def pooled(counts: Array) -> float:
    """The share of the training rows in levels without an indicator of their own, from (L + 1,) rows of each."""
    frequent = np.sort(counts[counts >= RARE_ROWS])[::-1][:MOST_INDICATORS]
    return float(1.0 - frequent.sum() / max(counts.sum(), 1.0))


def means(place: int, sums: Array) -> LevelMeans:
    """From (1 + targets, L + 2, FOLDS) counts and sums of the target, which is centred."""
    count, *totals = (np.column_stack([one.sum(axis=1, keepdims=True) - one, one.sum(axis=1)]) for one in sums)
    # A training row sees its level without one fold of its rows: so does, on average, a row to predict.
    seen = np.column_stack([count[:, :-1], count[:, -1] * (1.0 - 1.0 / FOLDS)])
    means_of = [total / (count + PRIOR) for total in totals]
    return LevelMeans(place, means_of[0] if len(means_of) == 1 else np.stack(means_of, axis=2), np.log1p(seen))
