"""The cells of one column: what they hash to, and what is to be known about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from enrelm_cli.fold.hashing import hash_numbers, hash_texts
from enrelm_cli.table.cells import number_text
from enrelm_cli.table.table import Kind, numbers
from enrelm_cli.types import Array, Keys

# Beyond this many a column's levels are no longer collected: its texts are no categories.
MOST_LEVELS = 100_000

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class InputColumn:
    """How a column is to be looked at: as a number or as a category."""

    name: str
    kind: Kind
    categorical: bool  # the user said so; texts are categories anyway

    @property
    def has_levels(self) -> bool:
        return self.categorical or self.kind is Kind.TEXT

    def cells(self, array: Any) -> Cells:
        """The cells of a part of the column."""
        return LevelCells(*coded(array, self.kind)) if self.has_levels else NumberCells(numbers(array))


@dataclass(frozen=True)
class ColumnFacts:
    """What one pass learnt about a column, from the rows that have a target."""

    missing: int = 0
    infinite: int = 0
    lowest: float = np.inf
    highest: float = -np.inf
    levels: Mapping[str, int] | None = None  # with their counts; None where the column has none, or too many
    too_many: bool = False

    def merge(self, other: ColumnFacts, most: int) -> ColumnFacts:
        levels, too_many = _joined_levels(self, other, most)
        return ColumnFacts(
            self.missing + other.missing,
            self.infinite + other.infinite,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
            levels,
            too_many,
        )


def _joined_levels(first: ColumnFacts, second: ColumnFacts, most: int) -> tuple[Mapping[str, int] | None, bool]:
    if first.too_many or second.too_many:
        return None, True
    if first.levels is None or second.levels is None:
        return None, False
    joined = dict(first.levels)
    for level, count in second.levels.items():
        joined[level] = joined.get(level, 0) + count
    return (None, True) if len(joined) > most else (joined, False)


@dataclass(frozen=True)
class NumberCells:
    """Numbers, dates and booleans."""

    values: Array  # (t,) NaN where missing

    def missing(self) -> NDArray[np.bool_]:
        return np.isnan(self.values)

    def hashes(self) -> Keys:
        return hash_numbers(self.values)

    def facts(self) -> ColumnFacts:
        missing = int(np.count_nonzero(self.missing()))
        if missing == len(self.values):
            return ColumnFacts(missing)
        infinite = int(np.count_nonzero(np.isinf(self.values)))
        return ColumnFacts(missing, infinite, float(np.nanmin(self.values)), float(np.nanmax(self.values)))


@dataclass(frozen=True)
class LevelCells:
    """Categories."""

    codes: Codes  # (t,) -1 where missing
    levels: Sequence[str | None]  # of each code

    def missing(self) -> NDArray[np.bool_]:
        return self.codes < 0

    def hashes(self) -> Keys:
        """The last of the hashes is where code -1, a missing cell, looks itself up."""
        return hash_texts([*self.levels, None])[self.codes]

    def facts(self) -> ColumnFacts:
        missing = self.missing()
        counts = np.bincount(self.codes[~missing], minlength=len(self.levels))
        seen: dict[str, int] = {}
        for i in np.flatnonzero(counts).tolist():
            level = self.levels[i]
            if level is not None:
                seen[level] = seen.get(level, 0) + int(counts[i])
        too_many = len(seen) > MOST_LEVELS
        return ColumnFacts(int(missing.sum()), levels=None if too_many else seen, too_many=too_many)


Cells = NumberCells | LevelCells


# ------------------------------------------------------------------------------------------------ levels


def coded(array: Any, kind: Kind) -> tuple[Codes, list[str | None]]:
    """A column of categories as (codes (t,), -1 where missing; the level of each code).

    `kind` is what the column was at fit: the levels of numbers are written one way only, '70', not '70.0' or '7e1'.
    """
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    codes: Codes = array.indices.fill_null(-1).to_numpy().astype(np.int64)
    levels = [level_of(value, kind) for value in array.dictionary.to_pylist()]
    missing = np.array([level is None for level in levels] + [True])
    return np.where(missing[codes], -1, codes), levels


def level_of(value: Any, kind: Kind) -> str | None:
    """The level that a cell means, for a column that was of this kind at fit; None where it is missing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return None if np.isnan(value) else number_text(value)
    text = str(value)
    if kind is Kind.NUMBER:
        return _canonical_number(text)
    if kind is Kind.BOOLEAN:
        return {"1": "true", "0": "false"}.get(text.strip(), text.strip().lower())
    return text


def _canonical_number(text: str) -> str | None:
    for candidate in (text, text.replace(",", ".")):
        if "_" in candidate:
            break
        try:
            value = float(candidate)
        except ValueError:
            continue
        return None if np.isnan(value) else number_text(value)
    return text
