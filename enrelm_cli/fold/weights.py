"""Weighted means, spreads and quantiles: whole weights are repeated rows, none are numpy's; an even choice of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.types import Array

# Of the sum of weights: a place that is whole but for rounding is whole.
_ROUNDING = 1e-12

Places = NDArray[np.int64]
Weights = Array | None  # (t,) above 0; None: every row counts once


def times(weight: Weights, A: Array) -> Array:
    """Row i of A (t, ...) times w_i."""
    return A if weight is None else A * weight.reshape(-1, *(1,) * (A.ndim - 1))


def total(weight: Weights, rows: int) -> float:
    return rows if weight is None else float(weight.sum())


def first(weight: Weights, rows: int) -> Weights:
    """Of the first rows."""
    return None if weight is None else weight[:rows]


def mean(A: Array, weight: Weights) -> Array:
    """Over rows: (t,) -> (), (t, k) -> (k,)."""
    of: Array = A.mean(axis=0) if weight is None else times(weight, A).sum(axis=0) / weight.sum()
    return of


def variance_of(a: Array, weight: Weights) -> float:
    """(t,) -> the mean squared distance from the mean."""
    return float(np.var(a)) if weight is None else float(mean((a - mean(a, weight)) ** 2, weight))


def std(a: Array, weight: Weights) -> float:
    return float(a.std()) if weight is None else float(np.sqrt(variance_of(a, weight)))


def quantile(a: Array, q: Array | float, weight: Weights) -> Array:
    """(t,), (k,) -> (k,). A row of weight w is w rows side by side: linear between the (N - 1) q-th and the next."""
    if weight is None:
        return np.asarray(np.quantile(a, q))
    order = np.argsort(a, kind="stable")
    a, ends = a[order], np.cumsum(weight[order])
    slack = _ROUNDING * ends[-1]
    place = np.maximum(ends[-1] - 1.0, 0.0) * np.asarray(q)
    below = np.floor(place + slack)
    low, high = (
        a[np.minimum(np.searchsorted(ends, at + slack, side="right"), len(a) - 1)] for at in (below, below + 1.0)
    )
    between: Array = low + (high - low) * np.maximum(place - below, 0.0)
    return between


def by_place(place: Places, weight: Weights, count: int = 0) -> Array:
    """How many rows are at each of `count` places, or the sum of their weights: (t,) -> (count,)."""
    sums: Array = np.bincount(place, weight, minlength=count).astype(float)
    return sums


def thinned(rows: int, most: int) -> NDArray[np.bool_]:
    """(rows,): at most so many of them, evenly. The first of a sample would be landmarks, which are not like others."""
    kept = np.zeros(rows, dtype=bool)
    kept[np.linspace(0, rows - 1, min(rows, most)).astype(np.int64)] = True
    return kept
