"""Tuning of the kernel variant on a sample of its training rows (METHOD.md, points 7 and 9).

Three stages, each counted in evaluations (one factorised kernel matrix each), never in seconds:

1. `shared`: one weight variance for all inputs, bias variance and depth, by the exact leave-one-out error.
2. `evidence`: one variance for each input, at the maximum of the evidence with its analytic gradient.
3. `guard`: how far the variances may part, and whether at all, on rows that they have not seen.

Where columns have several inputs each (robust inputs), `together` takes the place of the guard and of the search.

Starts and folds run on threads, each on its own with BLAS on one thread: the kernel does not depend on their number.

A column's inputs (squashed, normal score, indicators) keep a variance each, with a prior that holds them near each
other: sharing one measured worse (servo 0.30 against 0.22, mean of ten splits), and so did independent ones (2.5 % over
22 tables, most on wide ones).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.folds import single_threaded_blas
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.phase_one.tuning.budget import Budget
from enrelm_cli.phase_one.tuning.guard import FEW_ROWS, SMALL, Relevance, guarded
from enrelm_cli.phase_one.tuning.hyper import TuneSettings
from enrelm_cli.phase_one.tuning.ridge import leave_one_out
from enrelm_cli.phase_one.tuning.shared import search_shared
from enrelm_cli.phase_one.tuning.together import together
from enrelm_cli.types import Array

__all__ = ["Relevance", "TuneSettings", "Tuning", "tune"]

_FAR = 1e3  # a standardised input beyond this is clipped
_LAST_ROWS = 700  # whose leave-one-out error is reported


@dataclass(frozen=True)
class Tuning:
    """The tuned kernel and how it was found."""

    kernel: ArcsineKernel
    relevance: Array  # (d,) each input's share of the total weight variance, sums to 1
    per_input: bool  # one variance for each input was kept
    spread: float  # standard deviation of log v around the shared value that the guard chose, 0 if shared
    evaluations: int
    loo_error: float  # relative leave-one-out error on (at most 700 of) the tuning rows
    alpha: float  # the ridge of that error: noise over signal, with the kernel exact
    reason: Relevance


def tune(X: Array, y: Array, groups: Sequence[int], settings: TuneSettings, advance: Callable[[int], None]) -> Tuning:
    """The kernel for standardised rows X (t, d), target y (t,); any prefix of the rows must be an even sample.

    `groups` (d,) is the source column of each input. `advance` is told each evaluation.
    """
    if len(groups) != X.shape[1] or len(y) != len(X):
        raise ValueError(f"shapes do not agree: X {X.shape}, y {y.shape}, {len(groups)} groups")
    X = np.ascontiguousarray(np.clip(X[: settings.rows], -_FAR, _FAR))
    y = _unit_target(y[: settings.rows])
    if len(y) < 3 or not np.any(y) or not np.any(X):
        return _untuned(X, settings)
    # Rounding depends on BLAS's threads, and a search amplifies rounding: one thread, the same kernel anywhere.
    with single_threaded_blas():
        places = np.unique(np.asarray(groups), return_inverse=True)[1]
        return _tune(X, y, places, settings, Budget(settings.steps, settings.threads, advance))


def _tune(X: Array, y: Array, groups: NDArray[np.int64], settings: TuneSettings, budget: Budget) -> Tuning:
    """The three stages on clean rows: y has mean 0 and variance 1."""
    if len(y) >= FEW_ROWS and len(np.unique(groups)) < len(groups):
        result = together(X, y, groups, settings, budget)
    else:
        shared = search_shared(X, y, len(y) <= SMALL, settings, budget)
        result = guarded(X, y, shared, settings, budget)
    found, few = result.found, y[:_LAST_ROWS]
    ridge = leave_one_out(found.kernel.gram(X[:_LAST_ROWS], X[:_LAST_ROWS]), few)
    share = np.broadcast_to(found.v, X.shape[1]) * np.mean(X * X, axis=0)
    return Tuning(
        kernel=found.kernel,
        relevance=share / share.sum(),
        per_input=result.found.v.ndim == 1,
        spread=result.spread,
        evaluations=budget.spent,
        loo_error=float(np.sqrt(ridge.error) / few.std()) if np.any(few) else 0.0,
        alpha=ridge.alpha,
        reason=result.reason,
    )


def _unit_target(y: Array) -> Array:
    """y centred, with unit variance (zeros if it is constant)."""
    if not len(y):
        return y
    y = y / max(float(np.abs(y).max()), np.finfo(float).tiny)
    y = y - y.mean()
    scale = float(y.std())
    return y / scale if scale > 1e-12 else np.zeros_like(y)


def _untuned(X: Array, settings: TuneSettings) -> Tuning:
    d = max(X.shape[1], 1)
    v, b, depth = settings.weight_variance, settings.bias_variance, settings.depth
    kernel = ArcsineKernel(1.0 / d if v is None else v, 0.3 if b is None else b, depth or 1)
    return Tuning(kernel, np.full(X.shape[1], 1.0 / d), False, 0.0, 0, 1.0, 1.0, Relevance.CONSTANT)
