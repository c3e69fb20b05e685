"""Sums of errors of every nested size, which folds add up: squares, or sizes alone where `--metric mae` chooses.

    Err(l) = ( sum_i |y_i - yhat_il|^p / sum_i |y_i - ybar|^p )^(1/p),   p = 2, or 1 for `mae`

The rows of K folds are held out once each, by K networks that have not seen them: their sums are added in the target's
own units, each fold's with its own training mean ybar, and Err is the error of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enrelm_cli.errors import DataError
from enrelm_cli.inputs.classes.scale import Scale
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.types import Array

# What `--metric` is; all but one rank sizes and variants by the sum of squares.
POWERS = {"normalised-rmse": 2, "rmse": 2, "r2": 2, "mae": 1}


def unit_of(scale: Scale) -> float:
    """The spread of the training target, in its own unit: 1 of a standardised error."""
    return scale.scale if isinstance(scale, TargetScale) else scale.spread


@dataclass(frozen=True)
class Losses:
    """Sums over one side's rows, in units of the training target's spread."""

    values: Array  # (n,) sum of |y - yhat_l|^p
    total: float  # sum of |y - ybar|^p
    rows: float
    power: int

    def relative(self, side: Side) -> Array:
        """Err(1..n). No rows have no error; nought would pass for a perfect one."""
        if not self.rows:
            raise DataError(
                f"the split left no {side.name.lower()} rows",
                "choose another split with --seed, or more rows with --validation-size",
            )
        return relative_losses(self.values, self.total, self.power)

    def in_unit(self, ratio: float) -> Losses:
        """The same in another unit, `ratio` of which are one of these."""
        by = ratio**self.power
        return Losses(self.values * by, self.total * by, self.rows, self.power)

    def extended(self, n: int) -> Losses:
        """A network with fewer neurons stays as it is: its last value goes on."""
        more = np.full(n - len(self.values), self.values[-1])
        return Losses(np.concatenate([self.values, more]), self.total, self.rows, self.power)


def relative_losses(values: Array, total: float, power: int) -> Array:
    """Where every target equals the training mean there is nothing to relate to: a perfect prediction has error 0, any
    other an infinite one.
    """
    # The sums come from differences that rounding may leave a hair below zero.
    values = np.maximum(values, 0.0)
    if total > 0.0:
        return np.sqrt(values / total) if power == 2 else values / total
    return np.where(values > 0.0, np.inf, 0.0)


def pooled(losses: Sequence[Losses], scales: Sequence[float]) -> Losses:
    """Of all folds together; `scales`: the spread of the target that is each fold's unit."""
    longest = max(len(one.values) for one in losses)
    largest = max(scales)
    same = [one.in_unit(scale / largest).extended(longest) for one, scale in zip(losses, scales, strict=True)]
    values: Array = np.sum([one.values for one in same], axis=0)
    return Losses(values, sum(one.total for one in same), sum(one.rows for one in same), losses[0].power)
