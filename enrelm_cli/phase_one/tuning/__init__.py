"""Tuning of the kernel variant on a sample of its training rows.

By the evidence with its analytic gradient, counted in evaluations (one factorised kernel matrix each), never in
seconds. `explore` takes some hundred rows and a fifth of the work; `finish` goes on from there: of several maps and
scales of the target, each is explored and one is finished.

Starts run on threads, each on its own with BLAS on one thread: the kernel does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from enrelm_cli.fold.folds import single_threaded_blas
from enrelm_cli.fold.weights import Weights, mean, std, times, variance_of
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.phase_one.left_out import STAYS, LeftOutRows
from enrelm_cli.phase_one.tuning import search
from enrelm_cli.phase_one.tuning.budget import Budget
from enrelm_cli.phase_one.tuning.evidence import Fit
from enrelm_cli.phase_one.tuning.hyper import Hyper, TuneSettings
from enrelm_cli.phase_one.tuning.ridge import leave_one_out
from enrelm_cli.phase_one.tuning.sample import Sample
from enrelm_cli.phase_one.tuning.search import Found, Relevance
from enrelm_cli.types import Array

__all__ = ["Explored", "Relevance", "TuneSettings", "Tuning", "explore", "finish", "follow", "tune"]

_FAR = 1e3  # a standardised input beyond this is clipped
_DIRECTIONS = 8  # of several targets, at most
_LAST_ROWS = 700  # whose leave-one-out error is reported


@dataclass(frozen=True)
class Tuning:
    """The tuned kernel and how it was found."""

    kernel: ArcsineKernel
    relevance: Array  # (d,) each input's share of the total weight variance, sums to 1
    per_input: bool  # one variance for each input was kept
    spread: float  # standard deviation of log v around the shared value in the prior, 0 if shared
    evaluations: int
    loo_error: float  # relative leave-one-out error on (at most 700 of) the tuning rows
    alpha: float  # the ridge of that error: noise over signal, with the kernel exact
    reason: Relevance
    shared: Hyper | None = None  # the centre of the prior, and where the search stopped: what `follow` goes on from
    found: Found | None = None


@dataclass(frozen=True)
class Explored:
    """A kernel that some rows found, and what it takes to go on."""

    sample: Sample
    shared: Hyper
    found: Found
    budget: Budget
    rows: LeftOutRows  # as they came, in the order of the sample
    unit: float = 1.0  # the mean weight of the rows: those of the sample are divided by it

    @property
    def kernel(self) -> ArcsineKernel:
        return self.found.fit.found.kernel

    @property
    def held_out(self) -> Array | None:
        """Errors of the target (t,) by kernels tuned without the row, where rows are few.

        NaN where a row is never left out.
        """
        held_out, y = self.found.held_out, self.rows.y
        return None if held_out is None or y.ndim > 1 else held_out * std(y, self.rows.weight)


def tune(
    X: Array,
    y: Array,
    groups: Sequence[int],
    settings: TuneSettings,
    advance: Callable[[int], None],
    weight: Weights = None,
) -> Tuning:
    """Both steps."""
    return finish(explore(LeftOutRows(X, y, weight), groups, settings, advance))


def explore(
    rows: LeftOutRows, groups: Sequence[int], settings: TuneSettings, advance: Callable[[int], None]
) -> Explored:
    """A kernel for standardised rows X (t, d), target y (t,), from some; any prefix of the rows is an even sample.

    Several targets are (t, q). `groups` (d,) is the source column of each input. `advance` is told each evaluation.
    Only ratios of the weights (t,) count.
    """
    rows = _latest_last(rows.first(settings.rows))
    sample, unit = _sample(rows, groups, settings)
    budget = Budget(settings.steps, settings.threads, advance)
    if sample.constant:
        untuned = _untuned(sample.X.shape[1], settings)
        found = Found(Fit(np.inf, untuned, sample.rows), 0.0, Relevance.CONSTANT)
        return Explored(sample, untuned, found, budget, rows, unit)
    # Rounding depends on BLAS's threads, and a search amplifies rounding: one thread, the same kernel anywhere.
    with single_threaded_blas():
        return Explored(sample, *search.explore(sample, budget), budget, rows, unit)


def _sample(rows: LeftOutRows, groups: Sequence[int], settings: TuneSettings) -> tuple[Sample, float]:
    """The tuning rows, and the weight that counts as one."""
    if len(groups) != rows.X.shape[1] or len(rows.y) != len(rows.X):
        raise ValueError(f"shapes do not agree: X {rows.X.shape}, y {rows.y.shape}, {len(groups)} groups")
    X = np.ascontiguousarray(np.clip(rows.X, -_FAR, _FAR))
    places = np.unique(np.asarray(groups), return_inverse=True)[1]
    unit = 1.0 if rows.weight is None else float(rows.weight.mean())
    relative = None if rows.weight is None else rows.weight / unit
    return Sample(X, _unit_target(rows.y, rows.weight), places, settings, relative, rows.block), unit


def _latest_last(rows: LeftOutRows) -> LeftOutRows:
    """Rows that judge, where others never do, come last: what is tuned on the first has not seen them."""
    if rows.block is None or not (rows.block == STAYS).any():
        return rows
    return rows.take(np.argsort(rows.block != STAYS, kind="stable"))


def finish(explored: Explored) -> Tuning:
    """The kernel of more rows."""
    sample = explored.sample
    with single_threaded_blas():
        result = search.finish(sample, explored.shared, explored.found, explored.budget)
        return _tuning(sample, explored.shared, result, explored.budget, explored.unit)


def follow(before: Tuning, rows: LeftOutRows, groups: Sequence[int], settings: TuneSettings) -> Tuning | None:
    """The kernel of other rows of the same table, down from where the search on most of them stopped.

    A small part of the work of a search from the start. None where there is nothing to go on from.
    """
    shared, found = before.shared, before.found
    if shared is None or found is None or found.fit.found.v.shape != (rows.X.shape[1],):
        return None
    sample, unit = _sample(_latest_last(rows.first(settings.rows)), groups, settings)
    if sample.constant:
        return None
    budget = Budget(settings.steps, settings.threads)
    with single_threaded_blas():
        return _tuning(sample, shared, search.follow(sample, shared, found, budget), budget, unit)


def _tuning(sample: Sample, shared: Hyper, result: Found, budget: Budget, unit: float) -> Tuning:
    found = result.fit.found
    error, alpha = _left_out(sample, found)
    return Tuning(
        kernel=found.kernel,
        relevance=_relevance(sample, found),
        per_input=found.v.ndim == 1,
        spread=result.spread,
        evaluations=budget.spent,
        loo_error=error,
        alpha=alpha * unit,
        reason=result.reason,
        shared=shared,
        found=result,
    )


def _left_out(sample: Sample, found: Hyper) -> tuple[float, float]:
    """The relative leave-one-out error, and its ridge."""
    if sample.constant:
        return 1.0, 1.0
    few = sample.some(_LAST_ROWS)
    y, weight = few.y, few.weight
    ridge = leave_one_out(found.kernel.gram(few.X, few.X), y, weight=weight, block=few.block)
    spread = std(y, weight) if y.ndim == 1 else np.sqrt(sum(variance_of(column, weight) for column in y.T))
    return float(np.sqrt(ridge.error) / spread) if np.any(y) else 0.0, ridge.alpha


def _relevance(sample: Sample, found: Hyper) -> Array:
    d = sample.X.shape[1]
    if sample.constant:
        return np.full(d, 1.0 / max(d, 1))
    share = np.broadcast_to(found.v, d) * mean(sample.X**2, sample.weight)
    relevance: Array = share / share.sum()
    return relevance


def _unit_target(y: Array, weight: Weights = None) -> Array:
    """y centred, with unit variance (zeros if it is constant); of many targets the directions in which they vary most.

    The evidence of all of them together would take as many products for each of its evaluations.
    """
    if y.ndim > 1:
        return np.stack([_unit_target(column, weight) for column in _main_directions(y, weight).T], axis=1)
    if not len(y):
        return y
    y = y / max(float(np.abs(y).max()), np.finfo(float).tiny)
    y = y - mean(y, weight)
    scale = std(y, weight)
    return y / scale if scale > 1e-12 else np.zeros_like(y)


def _main_directions(y: Array, weight: Weights) -> Array:
    """(t, q) -> (t, at most _DIRECTIONS): principal components, where there are more."""
    if y.shape[1] <= _DIRECTIONS:
        return y
    centred = y - mean(y, weight)
    _, V = np.linalg.eigh(centred.T @ times(weight, centred))
    main: Array = centred @ V[:, : -_DIRECTIONS - 1 : -1]
    return main


def _untuned(d: int, settings: TuneSettings) -> Hyper:
    v, b, depth = settings.weight_variance, settings.bias_variance, settings.depth
    return Hyper(np.asarray(1.0 / max(d, 1) if v is None else v), 0.3 if b is None else b, 1.0, depth or 1)
