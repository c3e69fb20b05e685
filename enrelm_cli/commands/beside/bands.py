"""Intervals and quantiles beside predictions: their columns, and how many known targets are inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enrelm_cli.fields import check
from enrelm_cli.fold.folds import Sums
from enrelm_cli.fold.weights import Weights, times
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.model.model import Model
from enrelm_cli.report.beside import IntervalFacts, QuantileFacts
from enrelm_cli.types import Array

_LARGEST = float(np.finfo(float).max)


@dataclass(frozen=True)
class Bands:
    """Ends of intervals, then quantiles, in units of the spread at each row."""

    levels: tuple[float, ...]
    shares: tuple[float, ...]
    times: Array  # (2 levels + shares,): lower, upper, lower, upper, ..., quantiles

    @property
    def names(self) -> tuple[str, ...]:
        """`lower` and `upper` of one interval; of several, each with its level."""
        one = len(self.levels) == 1
        ends = [end if one else f"{end}_{level:g}" for level in self.levels for end in ("lower", "upper")]
        return (*ends, *(f"quantile_{share:g}" for share in self.shares))

    def sums(self, places: Array, y: Array, weight: Weights, scale: TargetScale) -> Sums:
        """Of rows with ends and quantiles (t, k), known targets (t,) and weights; widths in units of a spread, so that
        those of large or tiny targets stay in range.
        """
        k = 2 * len(self.levels)
        lower, upper = (np.clip(places[:, side:k:2], -_LARGEST, _LARGEST) for side in (0, 1))
        inside = (lower <= y[:, None]) & (y[:, None] <= upper)
        unit = scale.scale if scale.scale > 0.0 else 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            width = upper / unit - lower / unit
        columns = {"inside": inside.astype(float), "under": (y[:, None] <= places[:, k:]).astype(float), "width": width}
        return Sums({name: times(weight, values).sum(axis=0) for name, values in columns.items()})

    def interval_facts(self, sums: Sums, weight: float, scale: TargetScale) -> tuple[IntervalFacts, ...]:
        """`weight`: that of all rows with a known target."""
        coverage = [_share(total, weight) for total in sums["inside"]]
        width = [_share(total * scale.scale, weight) for total in sums["width"]]
        return tuple(map(IntervalFacts, self.levels, coverage, width))

    def quantile_facts(self, sums: Sums, weight: float) -> tuple[QuantileFacts, ...]:
        return tuple(
            QuantileFacts(*one) for one in zip(self.shares, (_share(t, weight) for t in sums["under"]), strict=True)
        )


def _share(total: float, weight: float) -> float | None:
    return float(total) / weight if weight > 0.0 else None


def bands_of(model: Model, levels: Sequence[float] = (), shares: Sequence[float] = ()) -> Bands:
    """What a model can say; a UsageError where it cannot, before any row is read."""
    levels, shares = tuple(dict.fromkeys(levels)), tuple(dict.fromkeys(shares))
    for flag, values in (("--interval", levels), ("--quantile", shares)):
        for value in values:
            check(0.0 < value < 1.0, f"{flag} {value:g} must lie between 0 and 1", f"try {flag} 0.9")
    if levels or shares:
        model.intervals.require(model.card.variant)
    ends = [end for level in levels for end in model.intervals.ends(level)]
    return Bands(levels, shares, np.array(ends + [model.intervals.quantile(share) for share in shares]))
