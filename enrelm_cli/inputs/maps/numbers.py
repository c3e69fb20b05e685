"""Numbers, and parts of dates, as inputs that no far value can upset: squashed, normal scores, indicators of values.

With z = (x - median) / spread, squashed is z / sqrt(1 + (z/3)^2), within -3 and 3. Normal scores are the inverse normal
distribution of a value's rank among the training rows, linear between knots and constant outside of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.weights import Weights, by_place, mean, quantile
from enrelm_cli.inputs import checks
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.inputs.maps.column_map import Folds
from enrelm_cli.inputs.maps.dates import PARTS, VALUE, part_of
from enrelm_cli.types import Array

KNOTS = 200
# Most different values of a number that are also taken for categories, and how many rows each must have on average.
FEW_VALUES = 24
_ROWS_PER_VALUE = 4
# One of more values that so many rows have is something else than a number near it: no basement, no absence, a limit.
SPIKE = 0.1
_ROWS_PER_SPIKE = 10
BEND = 3.0
_FAR = 1e100  # beyond it a square overflows
_LEAST = float(np.finfo(float).smallest_subnormal)  # a column's spread may be that small, as its cells may


def _name(column: Column, part: str) -> str:
    return column.name if part == VALUE else f"{column.name} ({part})"


def _check_part(column: Column, part: str) -> None:
    checks.must(column.levels is None, f"{column.name!r} is not a column of numbers")
    checks.must(part in PARTS and (part != VALUE) is column.is_date, f"{column.name!r} has no part {part!r}")


def squash(x: Array, centre: float | Array, unit: float | Array) -> Array:
    """z / sqrt(1 + (z/3)^2), z = (x - centre) / unit."""
    with np.errstate(over="ignore"):
        z = np.clip((x - centre) / unit, -_FAR, _FAR)
    squashed: Array = z / np.sqrt(1.0 + (z / BEND) ** 2)
    return squashed


@dataclass(frozen=True)
class Squashed:
    """z / sqrt(1 + (z/3)^2)."""

    column: int
    part: str
    centre: float
    unit: float
    fill: float  # for missing cells: the mean of the others
    width = 1
    shared = False
    by_fold = False
    least_spread = 0.0

    def names(self, column: Column) -> list[str]:
        return [f"{_name(column, self.part)}, squashed"]

    def of(self, x: Array) -> Array:
        """(t,) -> (t,), NaN where missing."""
        return squash(x, self.centre, self.unit)

    def write(self, raw: Array, fold: Folds | None, out: Array) -> None:
        squashed = self.of(part_of(raw, self.part))
        out[:, 0] = np.where(np.isnan(squashed), self.fill, squashed)

    def check(self, column: Column) -> None:
        _check_part(column, self.part)
        checks.number("centre", self.centre)
        checks.number("unit", self.unit, lowest=_LEAST)
        checks.number("fill", self.fill)

    def to_document(self) -> dict[str, Any]:
        return {"kind": "squashed", **vars(self)}


@dataclass(frozen=True)
class Scores:
    """Linear between knots, constant outside: normal scores, or 0 and 1 of a number with two values."""

    column: int
    part: str
    knots: Array  # (k,) ascending
    scores: Array  # (k,)
    fill: float  # for missing cells: the mean of the others
    width = 1
    shared = False
    by_fold = False

    @property
    def least_spread(self) -> float:
        return RARE if len(self.knots) == 2 else 0.0

    def names(self, column: Column) -> list[str]:
        name = _name(column, self.part)
        return [name if len(self.knots) == 2 else f"{name}, normal score"]

    def write(self, raw: Array, fold: Folds | None, out: Array) -> None:
        x = part_of(raw, self.part)
        # np.interp of NaN is NaN.
        score = np.interp(x, self.knots, self.scores)
        out[:, 0] = np.where(np.isnan(x), self.fill, score)

    def check(self, column: Column) -> None:
        _check_part(column, self.part)
        k = len(self.knots)
        checks.must(2 <= k <= KNOTS, "'knots' are too few or too many")
        checks.numbers("knots", self.knots, (k,))
        checks.must(bool(np.all(np.diff(self.knots) > 0.0)), "'knots' are not increasing")
        checks.numbers("scores", self.scores, (k,))
        checks.number("fill", self.fill)

    def to_document(self) -> dict[str, Any]:
        return {"kind": "scores", **vars(self)}


# A thing that fewer than one row in a hundred has is no further away than if one in a hundred had it.
RARE = 0.1


@dataclass(frozen=True)
class ValueIndicators:
    """An input of 0 and 1 for each of a few values; any other value, and a missing cell, is the average row."""

    column: int
    part: str
    values: Array  # (k,) ascending
    shares: Array  # (k,) of the training rows
    shared = True
    by_fold = False
    least_spread = RARE
    most: ClassVar[int] = FEW_VALUES

    @property
    def width(self) -> int:
        return len(self.values)

    def names(self, column: Column) -> list[str]:
        return [f"{_name(column, self.part)}={value:g}" for value in self.values]

    def write(self, raw: Array, fold: Folds | None, out: Array) -> None:
        known = self._mark(part_of(raw, self.part), out)
        out[~known] = self.shares

    def _mark(self, x: Array, out: Array) -> NDArray[np.bool_]:
        """Fill `out` (t, k) with 0 and 1; which x (t,) are one of the values."""
        place = np.minimum(np.searchsorted(self.values, x), self.width - 1)
        known: NDArray[np.bool_] = self.values[place] == x
        out[:] = 0.0
        out[np.flatnonzero(known), place[known]] = 1.0
        return known

    def check(self, column: Column) -> None:
        _check_part(column, self.part)
        k = len(self.values)
        checks.must(1 <= k <= self.most, "'values' are too few or too many")
        checks.numbers("values", self.values, (k,))
        checks.must(bool(np.all(np.diff(self.values) > 0.0)), "'values' are not increasing")
        checks.numbers("shares", self.shares, (k,), lowest=0.0)

    def to_document(self) -> dict[str, Any]:
        return {"kind": "value-indicators", **vars(self)}


@dataclass(frozen=True)
class Spikes(ValueIndicators):
    """The same of the values that many rows have, beside numbers in between; a missing cell is the average row."""

    def write(self, raw: Array, fold: Folds | None, out: Array) -> None:
        x = part_of(raw, self.part)
        self._mark(x, out)
        out[np.isnan(x)] = self.shares

    def to_document(self) -> dict[str, Any]:
        return {"kind": "spikes", **vars(self)}


# --------------------------------------------------------------------------------------------------------------- fit


class Form(Enum):
    """How a number of many values enters; which of these a table gets, left-out errors decide."""

    ROBUST = "squashed, and as a normal score"
    MARKED = "the same, and an indicator of each value that many rows have"


def number_maps(
    place: int, part: str, raw: Array, weight: Weights = None, form: Form = Form.ROBUST
) -> list[Squashed | Scores | ValueIndicators]:
    """The maps that the training rows' raw column (t,) asks for; none where it has one value or less."""
    x = part_of(raw, part)
    present = ~np.isnan(x)
    x, weight = x[present], None if weight is None else weight[present]
    if weight is None:
        x = np.sort(x)
    values, which = np.unique(x, return_inverse=True)
    counts = by_place(which, weight)
    rows = float(counts.sum())
    if len(values) < 2:
        return []
    if len(values) == 2:
        return [Scores(place, part, values, np.array([0.0, 1.0]), float(counts[1] / rows))]
    squashed, normal = _squashed(place, part, x, weight), _normal(place, part, values, counts)
    maps: list[Squashed | Scores | ValueIndicators] = [squashed, normal]
    if len(values) <= FEW_VALUES:
        few = rows >= _ROWS_PER_VALUE * len(values)
        return [*maps, ValueIndicators(place, part, values, counts / rows)] if few else maps
    often = counts >= max(SPIKE * rows, _ROWS_PER_SPIKE)
    marked = form is Form.MARKED and often.any()
    return [*maps, Spikes(place, part, values[often], counts[often] / rows)] if marked else maps


def _squashed(place: int, part: str, x: Array, weight: Weights) -> Squashed:
    """x of three values at least."""
    low, centre, high = quantile(x, np.array([0.25, 0.5, 0.75]), weight)
    # Halves first: the difference of two far values may be beyond the largest number.
    unit = (high / 2.0 - low / 2.0) * (2.0 / 1.349)
    if not unit > 0.0:
        unit = _median_distance(x, float(centre), weight)
    bare = Squashed(place, part, float(centre), max(float(unit), _LEAST), 0.0)
    return replace(bare, fill=float(mean(bare.of(x), weight)))


def _median_distance(x: Array, centre: float, weight: Weights) -> float:
    """Of a column more than half of whose values are equal: one far cell must not stretch the others' unit."""
    distance = np.abs(x / 2.0 - centre / 2.0)
    # Half of the smallest number is 0.
    apart = distance > 0.0
    if not apart.any():
        return 0.0
    if weight is None:
        # Halved again: the median of an even count adds two of them up.
        half = 2.0 * float(np.median(distance[apart] / 2.0))
    else:
        half = float(quantile(distance[apart], 0.5, weight[apart]))
    return min(2.0 * half, np.finfo(float).max)


def _normal(place: int, part: str, values: Array, counts: Array) -> Scores:
    """The inverse normal distribution of mid-ranks, at no more than KNOTS of the values, even by rank."""
    from scipy.special import ndtri

    rows = counts.sum()
    rank = (np.cumsum(counts) - 0.5 * counts) / rows
    score = ndtri(rank)
    if len(values) > KNOTS:
        at = np.unique(np.searchsorted(rank, np.linspace(rank[0], rank[-1], KNOTS)))
        knots, scores = values[at], score[at]
    else:
        knots, scores = values, score
    fill = float(np.interp(values, knots, scores) @ counts / rows)
    return Scores(place, part, knots, scores, fill)
