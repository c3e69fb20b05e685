"""Landmarks: the m training rows with the smallest hash of their inputs stand for all of them.

They are an even sample that is deterministic, the same in any row order, and mergeable over chunks. The survey of the
table already holds such a sample sorted by that hash, so choosing landmarks takes no pass over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import Chunk
from enrelm_cli.fold.resources import available_memory
from enrelm_cli.sizes import human_bytes
from enrelm_cli.types import Array, Keys

# Below this many distinct rows the whole eigenproblem costs less than a second (2,000: 0.7 s on two cores).
FULL = 2000
# The paper's variants keep every digit of its tables with this many.
PAPER_LANDMARKS = 500
# The kernel variant gains from more (cal_housing: 0.459 with 1,000, 0.443 with 2,000), at a cost of rows times their
# square: from LARGEST down to FEWEST so that the product stays at WORK (about ten seconds of two cores) as rows grow.
LARGEST, FEWEST, WORK = 2000, 1000, 4e11


def kernel_landmarks(rows: int) -> int:
    """How many landmarks the kernel variant takes of a table with so many training rows."""
    return int(np.clip((WORK / max(rows, 1)) ** 0.5, FEWEST, LARGEST))


@dataclass(frozen=True)
class Landmarks:
    """Distinct training rows, standardised, in the order of their hash."""

    Z: Array  # (m, d)
    key: Keys  # (m,)
    complete: bool  # every distinct training row is one


def choose(sample: Chunk, training_rows: int, wanted: int | None, many: int = LARGEST) -> Landmarks:
    """Landmarks from the sample's training rows (standardised, sorted by hash, all of them if the table is small).

    wanted None is `auto`: every row while the full eigenproblem is cheap, then `many`.
    """
    _, first = np.unique(sample.twins, return_index=True)
    first.sort()
    whole = training_rows == sample.rows
    if wanted is None:
        wanted = len(first) if whole and len(first) <= FULL else min(many, len(first))
    take = first[:wanted]
    return Landmarks(sample.X[take], sample.twins[take], complete=whole and len(take) == len(first))


def check_all(rows: int, in_sample: bool) -> int:
    """`--landmarks all`: how many landmarks that is, refused before it starts where its matrices would not fit."""
    needed = 4 * 8 * rows * rows
    free = available_memory()
    if needed > free or not in_sample:
        raise UsageError(
            f"--landmarks all needs about {human_bytes(needed)} for {rows:,} rows; {human_bytes(free)} are free",
            "use --landmarks auto, or a number such as --landmarks 2000",
        )
    return rows
