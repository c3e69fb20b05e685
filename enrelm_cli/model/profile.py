"""What the columns of a table looked like at fit, as shares of a few bins: enough to tell when another one differs.

Numbers and dates are binned by their twenty-quantiles, texts by their most frequent levels, the others together; a
missing cell and a level unseen at fit have bins of their own. No cell of the table is kept, only these edges.

The population stability index of shares p at fit and q in a new table is sum (q - p) log(q / p). Of two samples of one
population, with m and n rows, it is about (1/m + 1/n) times a chi-square of bins - 1 degrees of freedom: its mean is
subtracted, and what is within its noise is no alarm, however few the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.inputs.checks import integers, must, number, numbers
from enrelm_cli.inputs.encoding import UNSEEN, Column
from enrelm_cli.types import Array

QUANTILES = 20
_LEVELS = 30  # that have a bin of their own
_LEAST_ROWS = 20  # fewer tell nothing
_EACH = 5.0  # cells of a bin, at least, on average: neighbours are joined until there are
_RISK = 0.01  # of an alarm for any column where nothing has changed
# Rows this far from every landmark were one in a hundred at fit.
FAR = 0.01

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class ColumnProfile:
    """One column: bins of its values, then one for unseen levels and one for missing cells."""

    edges: Array  # (b - 1,) ascending, of a number or date; () of levels
    bins: Counts | None  # (levels,) the bin of each level; None for a number or date
    counts: Counts  # (b + 2,) rows of the sample in each bin, with unseen levels (none) and missing cells

    @property
    def size(self) -> int:
        return len(self.counts)

    def of(self, raw: Array) -> Counts:
        """(t,) raw cells -> (b + 2,) how many are in each bin."""
        missing = np.isnan(raw)
        present, last = raw[~missing], self.size - 1
        if self.bins is None:
            place = np.searchsorted(self.edges, present, side="left")
        else:
            place = np.where(present == UNSEEN, last - 1, self.bins[present.astype(np.int64)])
        counts = np.bincount(place, minlength=self.size)
        counts[last] = np.count_nonzero(missing)
        return counts

    def check(self, column: Column) -> None:
        b = self.size - 2
        must(b >= 1, "a profile has no bins")
        integers("counts", self.counts, (b + 2,), 0, 1 << 40)
        must(int(self.counts.sum()) > 0, "a profile has no rows")
        if column.levels is None:
            must(self.bins is None, "a number has no levels")
            numbers("edges", self.edges, (b - 1,))
            must(bool(np.all(np.diff(self.edges) > 0.0)), "'edges' are not increasing")
        else:
            integers("bins", self.bins, (len(column.levels),), 0, b - 1)
            numbers("edges", self.edges, (0,))

    def to_document(self) -> dict[str, Any]:
        return {"edges": self.edges, "bins": self.bins, "counts": self.counts}


@dataclass(frozen=True)
class Stability:
    """How far a column is from what it was."""

    psi: float  # less what chance alone gives; not below 0
    noise: float  # what chance hardly exceeds
    raw: float  # as it is


@dataclass(frozen=True)
class Profile:
    """Of every column of the encoding, and how near the landmarks rows were."""

    columns: tuple[ColumnProfile, ...]
    near: float | None  # similarity to the nearest landmark that all but FAR of the rows exceed; None without landmarks

    @cached_property
    def first(self) -> Counts:
        """(columns + 1,) where the bins of each column start, one after the other."""
        return np.cumsum([0, *(one.size for one in self.columns)])

    def of(self, X: Array) -> Counts:
        """(t, columns) raw rows -> the counts of all bins, one column after the other."""
        return np.concatenate([one.of(X[:, k]) for k, one in enumerate(self.columns)])

    def stability(self, k: int, counts: Counts) -> Stability | None:
        """Of column k and the counts of its bins; None where there are too few rows to tell."""
        p, q = self.columns[k].counts, counts
        m, n = int(p.sum()), int(q.sum())
        if min(m, n) < _LEAST_ROWS:
            return None
        p, q = joined(p, q)
        b = len(p)
        old, new = (p + 0.5) / (m + 0.5 * b), (q + 0.5) / (n + 0.5 * b)
        raw, unit = float(np.sum((new - old) * np.log(new / old))), 1.0 / m + 1.0 / n
        risk = _RISK / len(self.columns)
        return Stability(max(0.0, raw - unit * (b - 1)), unit * chi_square(b - 1, risk), raw)

    def check(self, columns: Sequence[Column]) -> None:
        must(len(self.columns) == len(columns), "a column has no profile")
        for one, column in zip(self.columns, columns, strict=True):
            one.check(column)
        if self.near is not None:
            number("near", self.near, lowest=-1.0)

    def to_document(self) -> dict[str, Any]:
        return {"columns": [one.to_document() for one in self.columns], "near": self.near}

    @staticmethod
    def from_document(document: dict[str, Any]) -> Profile:
        columns = tuple(ColumnProfile(one["edges"], one["bins"], one["counts"]) for one in document["columns"])
        return Profile(columns, document["near"])


def joined(p: Counts, q: Counts) -> tuple[Counts, Counts]:
    """Neighbouring bins together, until each holds so many cells of both tables that chance is no surprise."""
    total = p.sum() + q.sum()
    # Expected cells of the smaller table, by the shares of both.
    expected = (p + q) * (min(float(p.sum()), float(q.sum())) / total)
    starts, held = [0], 0.0
    for place, cells in enumerate(expected.tolist()):
        if held >= _EACH:
            starts.append(place)
            held = 0.0
        held += cells
    if held < _EACH and len(starts) > 1:
        starts.pop()
    return np.add.reduceat(p, starts), np.add.reduceat(q, starts)


def chi_square(freedom: int, risk: float) -> float:
    """What a chi-square exceeds with this risk (Wilson and Hilferty): to import scipy takes longer than to predict."""
    if freedom < 1:
        return 0.0
    spread = 2.0 / (9.0 * freedom)
    return float(freedom * (1.0 - spread + NormalDist().inv_cdf(1.0 - risk) * spread**0.5) ** 3)


def profile_of(columns: Sequence[Column], X: Array, near: float | None) -> Profile:
    """Of an even sample of raw rows (s, columns)."""
    return Profile(tuple(_column_profile(one, X[:, k]) for k, one in enumerate(columns)), near)


def _column_profile(column: Column, raw: Array) -> ColumnProfile:
    present = raw[~np.isnan(raw)]
    edges, bins, b = np.zeros(0), None, 1
    if column.levels is not None:
        bins, b = _level_bins(len(column.levels), present[present != UNSEEN].astype(np.int64))
    elif len(present):
        # A quantile that many cells share is one edge; bins are closed above, so that it has a bin of its own.
        edges = np.unique(np.quantile(present, np.arange(1, QUANTILES) / QUANTILES, method="lower"))
        edges = edges[edges < np.max(present)]
        b = len(edges) + 1
    empty = ColumnProfile(edges, bins, np.zeros(b + 2, np.int64))
    return ColumnProfile(edges, bins, empty.of(raw))


def _level_bins(levels: int, places: Counts) -> tuple[Counts, int]:
    """The bin of each level: the most frequent have their own, the others share the last."""
    order = np.argsort(-np.bincount(places, minlength=levels), kind="stable")
    bins = np.full(levels, min(levels, _LEVELS + 1) - 1, np.int64)
    bins[order[:_LEVELS]] = np.arange(min(levels, _LEVELS))
    return bins, max(1, min(levels, _LEVELS + 1))


# --- landmarks ------------------------------------------------------------------------------------------------------


def nearest(kernel: Any, Z: Array, X: Array, apart: bool = False) -> Array:
    """K(x, z) / sqrt(K(x, x) K(z, z)) of the nearest landmark: (t,). `apart`: of another one, where x is one itself."""
    prepared = kernel.prepare(Z)
    K = prepared.against(X)
    K /= np.sqrt(np.maximum(prepared.diagonal, np.finfo(float).tiny))
    K /= np.sqrt(np.maximum(kernel.diagonal(X), np.finfo(float).tiny))[:, None]
    if apart and K.shape[1] > 1:
        K.partition(K.shape[1] - 2, axis=1)
        most: Array = np.where(K[:, -1] > 1.0 - 1e-9, K[:, -2], K[:, -1])
        return most
    return np.asarray(K.max(axis=1), dtype=float)
