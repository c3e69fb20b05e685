"""Classes with few rows: all of their rows train, whatever the split says, so that none is unknown to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.inputs.folds import FoldSplit
from enrelm_cli.inputs.split import HashSplit, RowSplit, Side, Sides, Split
from enrelm_cli.inputs.training import Rows
from enrelm_cli.types import Array

# A class with fewer rows is named.
HANDFUL = 5


@dataclass(frozen=True)
class KeptClasses:
    """A split whose rows of some classes train."""

    split: Split
    kept: tuple[int, ...]  # places of classes

    def sides(self, chunk: Chunk) -> Sides:
        return np.where(np.isin(chunk.y, self.kept), Side.TRAIN, self.split.sides(chunk)).astype(np.uint8)


@dataclass(frozen=True)
class CountBySide:
    """Partial: how many rows of each class are on each side."""

    split: Split
    classes: int

    def __call__(self, chunk: Chunk) -> Sums:
        place = chunk.y.astype(np.int64) * len(Side) + self.split.sides(chunk)
        counts = np.bincount(place, minlength=self.classes * len(Side))
        return Sums({"counts": counts.reshape(self.classes, len(Side)).astype(float)})


def keeping_classes(rows: Rows, split: Split) -> Split:
    """The split, with the rows of rare classes and of those that would have no training row among the training rows."""
    # Whom the user sent to a side by a column or a file stays there.
    if rows.classes is None or not isinstance(split, (HashSplit, RowSplit, FoldSplit)):
        return split
    counts: Array = rows.fold(CountBySide(split, len(rows.classes)), "counting classes")["counts"]
    if np.max(counts.sum(axis=1)) < HANDFUL:
        raise DataError(
            f"target {rows.target!r}: each of its {len(rows.classes)} classes has fewer than {HANDFUL} rows: "
            "none can be held out",
            "put similar classes together, or add rows",
        )
    kept = np.flatnonzero((counts.sum(axis=1) < HANDFUL) | (counts[:, Side.TRAIN] == 0.0))
    return KeptClasses(split, tuple(int(one) for one in kept)) if len(kept) else split


def rare_note(classes: Sequence[str], split: Split) -> tuple[str, ...]:
    """Which classes all train."""
    if not isinstance(split, KeptClasses):
        return ()
    names = [repr(classes[one]) for one in split.kept]
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
    return (f"class{'es' if len(names) > 1 else ''} with too few rows to hold any out; all of them train: {shown}",)
