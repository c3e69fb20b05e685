"""Plain inputs, the paper's: a number as it is, a date as days, a level as 0 and 1, missing cells filled and marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.weights import quantile
from enrelm_cli.inputs.checks import must, number, truth, whole
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.inputs.maps.column_map import ColumnMap, Folds
from enrelm_cli.inputs.maps.dates import DAY
from enrelm_cli.types import Array

# A text of more levels has too few rows of each for an input of its own, unless the user says that it is a category.
MOST_LEVELS = 100


@dataclass(frozen=True)
class Value:
    """The number itself, or days since the earliest date; a second input says where it was missing."""

    column: int
    origin: float  # microseconds since 1970 of day 0, for dates
    dated: bool
    fill: float  # for missing cells, as an input (days, for dates)
    marked: bool  # with an input that says where cells were missing
    shared = False
    by_fold = False
    least_spread = 0.0

    @property
    def width(self) -> int:
        return 1 + self.marked

    def names(self, column: Column) -> list[str]:
        return [column.name, f"{column.name} is missing"][: self.width]

    def write(self, raw: Array, fold: Folds | None, out: Array) -> None:
        missing = np.isnan(raw)
        out[:, 0] = (raw - self.origin) / DAY if self.dated else raw
        if missing.any():
            out[missing, 0] = self.fill
        if self.marked:
            out[:, 1] = missing

    def check(self, column: Column) -> None:
        must(column.levels is None and self.dated is column.is_date, f"{column.name!r} is not a column of such values")
        number("origin", self.origin)
        number("fill", self.fill)
        truth("marked", self.marked)

    def to_document(self) -> dict[str, Any]:
        return {"kind": "value", **vars(self)}


@dataclass(frozen=True)
class OneHot:
    """An input of 0 and 1 for every level; all 0 where the level was unseen at fit."""

    column: int
    levels: int
    marked: bool  # with an input that says where cells were missing
    shared = False
    by_fold = False
    least_spread = 0.0

    @property
    def width(self) -> int:
        return self.levels + self.marked

    def names(self, column: Column) -> list[str]:
        levels = [f"{column.name}={level}" for level in column.levels or ()]
        return [*levels, f"{column.name} is missing"] if self.marked else levels

    def write(self, raw: Array, fold: Folds | None, out: Array) -> None:
        out[:] = 0.0
        known = np.flatnonzero(raw >= 0.0)
        out[known, raw[known].astype(np.int64)] = 1.0
        if self.marked:
            out[np.isnan(raw), -1] = 1.0

    def check(self, column: Column) -> None:
        must(column.levels is not None, f"{column.name!r} has no levels")
        whole("levels", self.levels, 0, len(column.levels or ()))
        must(self.levels == len(column.levels or ()), f"{column.name!r} has other levels")
        truth("marked", self.marked)

    def to_document(self) -> dict[str, Any]:
        return {"kind": "one-hot", **vars(self)}


def plain_maps(
    columns: Sequence[Column],
    filled: bool,
    sample: Array,
    training: NDArray[np.bool_],
    weight: Array | None = None,
) -> tuple[ColumnMap, ...]:
    """A map for every column that is not a text of many levels; medians are of the sample's training rows."""
    narrow = [k for k, column in enumerate(columns) if column.categorical or len(column.levels or ()) <= MOST_LEVELS]
    used = narrow or range(len(columns))
    return tuple(_plain(k, columns[k], filled, sample[:, k], training, weight) for k in used)


def _plain(
    place: int, column: Column, filled: bool, raw: Array, training: NDArray[np.bool_], weight: Array | None
) -> ColumnMap:
    marked = filled and column.holes
    if column.levels is not None:
        return OneHot(place, len(column.levels), marked)
    origin = column.lowest if column.is_date else 0.0
    fill = median(raw, training, column.lowest, weight)
    return Value(place, origin, column.is_date, (fill - origin) / DAY if column.is_date else fill, marked)


def median(values: Array, training: NDArray[np.bool_], otherwise: float, weight: Array | None = None) -> float:
    """Of the training rows that have a value; else of any row of the sample; else the table's smallest value."""
    known = ~np.isnan(values)
    for present in (known & training, known):
        if present.any():
            if weight is None:
                return float(np.median(values[present]))
            return float(quantile(values[present], 0.5, weight[present]))
    return otherwise
