"""Where a model errs: residuals (target minus prediction) along the prediction and along each column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enrelm_cli.types import Array

_BINS = 10
_LEVELS = 20
_LEAST = 5  # rows that a bin of a large sample has at least


@dataclass(frozen=True)
class ResidualBin:
    """Rows between two values, or of one level."""

    low: float
    high: float
    rows: int
    mean: float
    spread: float  # standard deviation


def binned(values: Array, residuals: Array, is_level: bool) -> tuple[ResidualBin, ...]:
    """(t,), (t,) -> by tenths of the values, or by level; missing values are left out."""
    known = ~np.isnan(values)
    values, residuals = values[known], residuals[known]
    if not len(values):
        return ()
    if is_level:
        distinct, count = np.unique(values, return_counts=True)
        kept = np.sort(np.argsort(-count, kind="stable")[:_LEVELS])
        return tuple(_bin(values, residuals, values == one) for one in distinct[kept])
    bins = max(1, min(_BINS, len(values) // _LEAST))
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, bins + 1), method="inverted_cdf"))
    place = np.maximum(np.searchsorted(edges, values) - 1, 0)
    return tuple(_bin(values, residuals, place == one) for one in np.unique(place))


def _bin(values: Array, residuals: Array, mask: Array) -> ResidualBin:
    inside, of = residuals[mask], values[mask]
    return ResidualBin(float(of.min()), float(of.max()), len(of), float(inside.mean()), float(inside.std()))
