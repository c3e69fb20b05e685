"""Numbers that are names, such as a person, a shop or a postcode, beside the inputs that take them as numbers.

Indicators of the values where few rows have another one, else what the target is on average at each, as for levels
(levels.py): out of fold for training rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from enrelm_cli.columns import wide
from enrelm_cli.inputs import checks
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.inputs.maps.column_map import EVERY_ROW, Folds
from enrelm_cli.inputs.maps.dates import VALUE
from enrelm_cli.inputs.maps.levels import (
    MOST_INDICATORS,
    MOST_POOLED,
    RARE_ROWS,
    LevelMeans,
    code_places,
    means,
)
from enrelm_cli.inputs.maps.numbers import FEW_VALUES, ValueIndicators
from enrelm_cli.types import Array

# Fewer rows of a value tell nothing of it; more values are no names.
_ROWS_PER_CODE = 3.0
MOST_CODES = 5000


@dataclass(frozen=True)
class Codes:
    """The values of a column that may be names."""

    values: Array  # (k,) ascending
    apart: bool  # each has an indicator of its own, else its mean target is an input


@dataclass(frozen=True)
class CodeIndicators(ValueIndicators):
    """An input of 0 and 1 for each of many values; any other value, and a missing cell, is the average row."""

    most: ClassVar[int] = MOST_INDICATORS

    def to_document(self) -> dict[str, Any]:
        return {**super().to_document(), "kind": "code-indicators"}


@dataclass(frozen=True)
class CodeMeans(LevelMeans):
    """The shrunken mean target of a value, and the logarithm of how often it was seen."""

    values: Array = field(default_factory=lambda: np.zeros(0))  # (k,) ascending; k is the L of `mean` and `size`

    def write(self, raw: Array, fold: Folds | None, out: Array) -> None:
        at = code_places(raw, self.values)
        without = EVERY_ROW if fold is None else fold
        out[:, :-1], out[:, -1] = wide(self.mean[at, without]), self.size[at, without]

    def check(self, column: Column) -> None:
        checks.must(column.levels is None and not column.is_date, f"{column.name!r} is no column of numbers")
        k = len(self.values)
        checks.must(1 <= k <= MOST_CODES, "'values' are too few or too many")
        checks.numbers("values", self.values, (k,))
        checks.must(bool(np.all(np.diff(self.values) > 0.0)), "'values' are not increasing")
        checks.numbers("mean", self.mean, (k + 2, 1))
        checks.numbers("size", self.size, (k + 2, 1), lowest=0.0)

    def to_document(self) -> dict[str, Any]:
        return {**super().to_document(), "kind": "code-means", "values": self.values}


# --------------------------------------------------------------------------------------------------------------- fit


def codes_in(raw: Array) -> Codes | None:
    """Of the training rows' raw column (t,): many whole numbers, each of several rows; None where it has others."""
    x = raw[~np.isnan(raw)]
    values, counts = np.unique(x, return_counts=True)
    few = len(values) <= FEW_VALUES or len(values) > MOST_CODES or len(x) < _ROWS_PER_CODE * len(values)
    if few or bool((values != np.floor(values)).any()):
        return None
    frequent = counts >= RARE_ROWS
    pooled = 1.0 - counts[frequent].sum() / len(x)
    apart = 2 <= np.count_nonzero(frequent) <= MOST_INDICATORS and pooled <= MOST_POOLED
    return Codes(values[frequent] if apart else values, bool(apart))


def code_map(place: int, codes: Codes, sums: Array) -> CodeIndicators | CodeMeans:
    """From counts and sums of the target by value and fold (`LevelSums`)."""
    if codes.apart:
        counts = sums[0].sum(axis=1)
        return CodeIndicators(place, VALUE, codes.values, counts[: len(codes.values)] / max(counts.sum(), 1.0))
    of = means(place, sums)
    return CodeMeans(place, of.mean, of.size, codes.values)


def codes_of(one: object) -> Codes | None:
    """Those that a map was made of."""
    if not isinstance(one, CodeIndicators | CodeMeans):
        return None
    return Codes(one.values, isinstance(one, CodeIndicators))
