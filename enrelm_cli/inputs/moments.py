"""Mean and spread of expanded inputs and target over the training rows, and the standardisation that they ask for.

Moments are merged by Chan's rule, so that no large number is ever subtracted from another: the mean and the sum of
squared deviations of two sets of rows follow from those of each. Inputs are first multiplied by a power of two
(exact), so that squares of values such as 1e300 or 1e-300 neither overflow nor vanish.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.errors import DataError
from enrelm_cli.fold import weights
from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.inputs.maps.column_map import folds_of
from enrelm_cli.inputs.maps.input_map import Expansion, InputMap
from enrelm_cli.inputs.split import Side, Split
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.quoting import quoted
from enrelm_cli.types import Array


@dataclass(frozen=True)
class Moments:
    """Count, mean, sum of squared deviations, smallest and largest; columns are the inputs, then the targets."""

    count: int  # of rows
    weight: float  # of all of them; how many, where they have none
    mean: Array  # (d + q,)
    squares: Array  # (d + q,)
    low: Array  # (d + q,)
    high: Array  # (d + q,)

    def merge(self, other: Moments) -> Moments:
        if not self.count or not other.count:
            return self if self.count else other
        weight = self.weight + other.weight
        gap = other.mean - self.mean
        return Moments(
            self.count + other.count,
            weight,
            self.mean + gap * (other.weight / weight),
            self.squares + other.squares + gap * gap * (self.weight * other.weight / weight),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    @property
    def spread(self) -> Array:
        """(d + q,) standard deviations."""
        spread: Array = np.sqrt(self.squares / (self.weight or 1))
        return spread


@dataclass(frozen=True)
class MomentsOf:
    """Partial: the moments of one side's rows."""

    split: Split
    side: Side
    expansion: Expansion
    exponent: NDArray[np.int64]  # (d + q,)

    def __call__(self, chunk: Chunk) -> Moments:
        chunk = chunk.where(self.split.sides(chunk) == self.side)
        if chunk.rows == 0:
            empty = np.zeros(len(self.exponent))
            return Moments(0, 0, empty, empty, empty, empty)
        E = self.expansion(chunk.X, folds_of(chunk.together))
        table = np.ldexp(np.column_stack((E, chunk.y)), -self.exponent)
        mean = weights.mean(table, chunk.weight)
        deviations = table - mean
        correction = weights.mean(deviations, chunk.weight)
        squares = np.einsum("ij,ij->j", chunk.weighted(deviations), deviations) - chunk.total * correction**2
        ends = table.min(axis=0), table.max(axis=0)
        return Moments(chunk.rows, chunk.total, mean + correction, np.maximum(squares, 0.0), *ends)


def exponents(E: Array, y: Array) -> NDArray[np.int64]:
    """A power of two for each column, and for the target, that brings it near 1: zero unless it is extreme."""
    table = np.column_stack((E, y))
    largest = np.max(np.abs(table), axis=0, initial=0.0)
    _, exponent = np.frexp(largest)
    return np.where(np.abs(exponent) > 100, exponent, 0).astype(np.int64)


def input_map_of(
    expansion: Expansion, moments: Moments, exponent: NDArray[np.int64], names: tuple[str, ...]
) -> InputMap:
    """The scaling that these moments of the training rows ask for."""
    width = expansion.width
    spread = moments.spread[:width]
    for name, value in zip(names, spread, strict=True):
        _check_scale(name, float(value))
    keep = np.flatnonzero((moments.high > moments.low)[:width] & (spread > 0.0))
    if not len(keep):
        raise DataError(
            "every input is constant on the training rows: there is nothing to predict from",
            "add a column that varies, or check --drop and --inputs",
        )
    return InputMap(expansion, keep, exponent[keep], moments.mean[keep], spread[keep])


def target_scales_of(
    moments: Moments, exponent: NDArray[np.int64], targets: tuple[str, ...]
) -> tuple[TargetScale, ...]:
    """Mean and spread of each training target."""
    return tuple(_target_scale(moments, exponent, k - len(targets), name) for k, name in enumerate(targets))


def _target_scale(moments: Moments, exponent: NDArray[np.int64], at: int, target: str) -> TargetScale:
    spread = float(moments.spread[at])
    _check_scale(target, spread)
    if not (moments.high[at] > moments.low[at] and spread > 0.0):
        raise DataError(
            f"the target '{target}' is constant on the {moments.count} training rows: there is nothing to predict",
            "choose another column with --target, or another split with --seed",
        )
    mean, unit = float(moments.mean[at]), int(exponent[at])
    return TargetScale(float(np.ldexp(mean, unit)), float(np.ldexp(spread, unit)))


@dataclass(frozen=True)
class CountClasses:
    """Partial: how many rows of one side each class has, by their weights."""

    split: Split
    side: Side
    classes: int

    def __call__(self, chunk: Chunk) -> Sums:
        chunk = chunk.where(self.split.sides(chunk) == self.side)
        counts = np.bincount(chunk.y.astype(np.int64), chunk.weight, minlength=self.classes)
        return Sums({"counts": counts.astype(float)})


def class_scale_of(counts: Array, target: str) -> ClassScale:
    """From the training rows of each class (C,)."""
    if np.count_nonzero(counts) < 2:
        raise DataError(
            f"the target '{target}' has one class in all {int(counts.sum())} training rows: nothing to predict",
            "choose another column with --target, or another split with --seed",
        )
    return ClassScale(counts)


def _check_scale(name: str, spread: float) -> None:
    if not np.isfinite(spread):
        raise DataError(
            f"column '{name}' has values too far apart to be scaled",
            f"drop the column with --drop {quoted(name)}, or remove its extreme values",
        )
