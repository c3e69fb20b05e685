"""Standardised inputs: (x - mean) / standard deviation of the training rows; inputs constant there are left out.

Moments are merged by Chan's rule, so that no large number is ever subtracted from another: the mean and the sum of
squared deviations of two sets of rows follow from those of each. Inputs are first multiplied by a power of two
(exact), so that squares of values such as 1e300 or 1e-300 neither overflow nor vanish.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Chunk
from enrelm_cli.inputs.split import Side, Split
from enrelm_cli.types import Array

# A standardised value beyond this carries no information; kept inside it, no product overflows.
_FAR = 1e100


@dataclass(frozen=True)
class Moments:
    """Count, mean, sum of squared deviations, smallest and largest; columns are the inputs and, last, the target."""

    count: int
    mean: Array  # (d + 1,)
    squares: Array  # (d + 1,)
    low: Array  # (d + 1,)
    high: Array  # (d + 1,)

    def merge(self, other: Moments) -> Moments:
        if not self.count or not other.count:
            return self if self.count else other
        count = self.count + other.count
        gap = other.mean - self.mean
        return Moments(
            count,
            self.mean + gap * (other.count / count),
            self.squares + other.squares + gap * gap * (self.count * other.count / count),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


@dataclass(frozen=True)
class MomentsOf:
    """Partial: the moments of one side's rows."""

    split: Split
    side: Side
    exponent: NDArray[np.int64]  # (d + 1,)

    def __call__(self, chunk: Chunk) -> Moments:
        chunk = chunk.where(self.split.sides(chunk) == self.side)
        d1 = chunk.X.shape[1] + 1
        if chunk.rows == 0:
            empty = np.zeros(d1)
            return Moments(0, empty, empty, empty, empty)
        table = np.ldexp(np.column_stack((chunk.X, chunk.y)), -self.exponent)
        mean = table.mean(axis=0)
        deviations = table - mean
        correction = deviations.mean(axis=0)
        squares = np.einsum("ij,ij->j", deviations, deviations) - chunk.rows * correction**2
        return Moments(chunk.rows, mean + correction, np.maximum(squares, 0.0), table.min(axis=0), table.max(axis=0))


@dataclass(frozen=True)
class Standard:
    """How an encoded row becomes a row of the paper's X, and a target becomes its y."""

    keep: NDArray[np.int64]  # (d,) which encoded inputs vary on the training rows
    exponent: NDArray[np.int64]  # (d,)
    mean: Array  # (d,) in units of 2^exponent
    scale: Array  # (d,) in units of 2^exponent
    y_mean: float
    y_scale: float  # standard deviation of the training target
    rows: int  # training rows

    def inputs(self, X: Array) -> Array:
        """(t, all encoded inputs) -> (t, d)."""
        kept = X if len(self.keep) == X.shape[1] else X[:, self.keep]
        Z = np.ldexp(kept, -self.exponent) if self.exponent.any() else kept - 0.0
        Z -= self.mean
        Z /= self.scale
        if Z.size and (Z.max() > _FAR or Z.min() < -_FAR):
            np.clip(Z, -_FAR, _FAR, out=Z)
        return Z

    def target(self, y: Array) -> Array:
        """(t,) -> (t,), in units of the training target's spread."""
        _, exponent = np.frexp(self.y_scale)
        shift = -int(exponent) if abs(int(exponent)) > 100 else 0
        # The difference of two targets near the end of the numbers is beyond it; so is a far one in a tiny unit.
        with np.errstate(over="ignore"):
            centred = np.ldexp(y, shift) - np.ldexp(self.y_mean, shift)
            scaled: Array = np.clip(centred / np.ldexp(self.y_scale, shift), -_FAR, _FAR)
        return scaled

    def to_document(self) -> dict[str, Any]:
        return {
            "keep": self.keep,
            "exponent": self.exponent,
            "mean": self.mean,
            "scale": self.scale,
            "y_mean": self.y_mean,
            "y_scale": self.y_scale,
            "rows": self.rows,
        }

    @staticmethod
    def from_document(document: dict[str, Any]) -> Standard:
        return Standard(**document)


def exponents(sample: Chunk) -> NDArray[np.int64]:
    """A power of two for each column that brings it near 1: zero unless the column is extreme."""
    table = np.column_stack((sample.X, sample.y))
    largest = np.max(np.abs(table), axis=0, initial=0.0)
    _, exponent = np.frexp(largest)
    return np.where(np.abs(exponent) > 100, exponent, 0).astype(np.int64)


def standard_of(moments: Moments, exponent: NDArray[np.int64], names: tuple[str, ...], target: str) -> Standard:
    """The standardisation that these moments of the training rows ask for."""
    spread = np.sqrt(moments.squares / max(moments.count, 1))
    varies = (moments.high > moments.low) & (spread > 0.0)
    for name, value in zip((*names, target), spread, strict=True):
        if not np.isfinite(value):
            raise DataError(
                f"column '{name}' has values too far apart to be scaled",
                f"drop the column with --drop '{name}', or remove its extreme values",
            )
    if not varies[-1]:
        raise DataError(
            f"the target '{target}' is constant on the {moments.count} training rows: there is nothing to predict",
            "choose another column with --target, or another split with --seed",
        )
    keep = np.flatnonzero(varies[:-1])
    if not len(keep):
        raise DataError(
            "every input is constant on the training rows: there is nothing to predict from",
            "add a column that varies, or check --drop and --inputs",
        )
    y_exponent = int(exponent[-1])
    return Standard(
        keep=keep,
        exponent=exponent[keep],
        mean=moments.mean[keep],
        scale=spread[keep],
        y_mean=float(np.ldexp(moments.mean[-1], y_exponent)),
        y_scale=float(np.ldexp(spread[-1], y_exponent)),
        rows=moments.count,
    )


@dataclass(frozen=True)
class View:
    """One side's rows as the method sees them: standardised inputs and target."""

    split: Split
    standard: Standard

    def __call__(self, chunk: Chunk, side: Side) -> Chunk:
        chunk = chunk.where(self.split.sides(chunk) == side)
        return replace(chunk, X=self.standard.inputs(chunk.X), y=self.standard.target(chunk.y))
