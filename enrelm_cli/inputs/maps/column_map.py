"""What every map of a column offers: some inputs from one raw column, the same at fit and at predict.

A raw column is one number per row: the value, microseconds since 1970 for a date, the place of its level for a text
(UNSEEN where the fit never saw it), NaN where the cell is missing.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.hashing import rehash
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.types import Array, Keys

# A standardised value beyond this carries no information; kept inside it, no product overflows.
FAR = 1e100

# Out-of-fold statistics leave out the rows of a row's own fold, among them its twins.
FOLDS = 10
_FOLD_SALT = 0x666F6C64
# The fold of a row that made nothing: it sees what all training rows gave.
EVERY_ROW = -1

Folds = NDArray[np.int64]


class ColumnMap(Protocol):
    """Some inputs of one column."""

    @property
    def column(self) -> int:
        """The column's place in the encoding."""

    @property
    def width(self) -> int:
        """How many inputs it makes."""

    @property
    def shared(self) -> bool:
        """Its inputs share one scale: they are indicators of one thing."""

    @property
    def by_fold(self) -> bool:
        """What a training row gets of it depends on the row's fold."""

    @property
    def least_spread(self) -> float:
        """Its inputs are never divided by less."""

    def names(self, column: Column) -> list[str]: ...

    def write(self, raw: Array, fold: Folds | None, out: Array) -> None:
        """Fill `out` (t, width) from the raw column (t,); `fold` (t,) of training rows, None: EVERY_ROW."""

    def check(self, column: Column) -> None:
        """ValueError unless it could have been fitted to this column."""

    def to_document(self) -> dict[str, Any]: ...


def folds_of(unit: Keys) -> Folds:
    """(t,) the fold of each row: rows of one unit share it."""
    folds: Folds = (rehash(unit, _FOLD_SALT) % np.uint64(FOLDS)).astype(np.int64)
    return folds
