"""What one column alone tells of the target, from left-out rows.

    R2 = 1 - mean e_i^2 / var(r),   r the ranks of the target

e_i is what the rows nearest in the column leave of row i: the other rows with the same cell, else the mean of the two
neighbours in the order of the column. Both are scaled to be unbiased for pure noise (Gasser, Sroka and
Jennen-Steinmetz), so that a column that says nothing has R2 about 0. Ranks, because one far target would decide
everything; neighbours, because any smooth dependence counts, and nothing has to be fitted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from enrelm_cli.types import Array

_TWO_NEIGHBOURS = 2.0 / 3.0  # var(e - (a + b)/2) = 3/2 sigma^2

# Neighbours in time whose targets correlate as much are alike; by chance of n of them 1/sqrt(n) would.
ALIKE = 0.3
_FEW_MOMENTS, _BY_CHANCE = 30, 5.0


def ranks(values: Array) -> Array:
    """(t,) from 1; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    shared: Array = (np.cumsum(counts) - (counts - 1.0) / 2.0)[place]
    return shared


def explained(column: Array, y: Array, ordered: bool) -> float:
    """R2 of a raw column (t,), NaN a cell like any other; `ordered`: neighbours mean something."""
    r = ranks(y)
    total = float(np.var(r))
    if total == 0.0 or len(r) < 3:
        return 0.0
    order = np.argsort(column, kind="stable")
    x, r = column[order], r[order]
    begins = np.ones(len(x), dtype=bool)
    begins[1:] = (x[1:] != x[:-1]) & ~(np.isnan(x[1:]) & np.isnan(x[:-1]))
    group: NDArray[np.int64] = np.cumsum(begins) - 1
    size = np.bincount(group)
    mean = np.bincount(group, r) / size
    squares = np.empty(len(r))
    many = size[group] > 1
    n = size[group][many]
    squares[many] = (r[many] - mean[group][many]) ** 2 * n / (n - 1.0)
    squares[~many] = _single(mean, group[~many], r[~many]) if ordered and len(size) > 2 else total
    return float(1.0 - squares.mean() / total)


def _single(mean: Array, group: NDArray[np.int64], r: Array) -> Array:
    """(s,) squared errors of rows that share their cell with no other."""
    last = len(mean) - 1
    before, after = np.where(group > 0, group - 1, 1), np.where(group < last, group + 1, last - 1)
    squares: Array = (r - (mean[before] + mean[after]) / 2.0) ** 2 * _TWO_NEIGHBOURS
    return squares


def drift(time: Array, y: Array, parts: int = 10) -> tuple[float, float]:
    """(share of the ranks' variance between ten parts of the time, less what chance gives; its p-value)."""
    known = ~np.isnan(time)
    r = ranks(y[known])
    part = np.minimum(ranks(time[known]) / max(len(r), 1) * parts, parts - 1.0).astype(np.int64)
    size = np.bincount(part, minlength=parts)
    groups = int(np.count_nonzero(size))
    rest = len(r) - groups
    total = float(np.sum((r - r.mean()) ** 2)) if len(r) else 0.0
    if groups < 2 or rest < 1 or total == 0.0:
        return 0.0, 1.0
    mean = np.bincount(part, r, minlength=parts) / np.maximum(size, 1)
    between = float(size @ (mean - r.mean()) ** 2)
    within = total - between
    share = 1.0 - (within / rest) / (total / (len(r) - 1.0))
    ratio = (between / (groups - 1.0)) / max(within / rest, np.finfo(float).tiny)
    return share, float(fdtrc(groups - 1, rest, ratio))


def alike_in_time(time: Array, y: Array) -> float:
    """The correlation of the ranks of y of rows that follow each other in time; 0 where chance gives as much.

    Rows of one time are averaged first: they are no neighbours in time.
    """
    known = ~np.isnan(time)
    moments, place, count = np.unique(time[known], return_inverse=True, return_counts=True)
    if len(moments) < _FEW_MOMENTS:
        return 0.0
    r = np.bincount(place, ranks(y[known])) / count
    r = r - r.mean()
    total = float(r @ r)
    correlation = float(r[1:] @ r[:-1]) / total if total > 0.0 else 0.0
    return correlation if correlation > _BY_CHANCE / np.sqrt(len(r)) else 0.0
