"""Tuning where columns have several inputs each: by the evidence alone, with a prior that knows columns.

1. One variance for all inputs, b and alpha at the maximum of the posterior, from two starts on a few hundred rows.
2. One variance for each input, those of a column held together (`evidence.Posterior`), from several starts on few rows,
   the best of them on more.

No guard: over 22 tables its choice was noise here, and cost more than it saved. One hidden layer, unless told
otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.phase_one.tuning.budget import Budget, Spent
from enrelm_cli.phase_one.tuning.descent import descend
from enrelm_cli.phase_one.tuning.evidence import TOLERANCE, Evidence, Fit, Posterior, fit_relevance
from enrelm_cli.phase_one.tuning.guard import Guarded, Relevance
from enrelm_cli.phase_one.tuning.hyper import (
    BOUND_ALPHA,
    BOUND_B,
    BOUND_V,
    PRIOR_ALPHA,
    PRIOR_B,
    PRIOR_VD,
    Hyper,
    TuneSettings,
    log_prior,
)
from enrelm_cli.types import Array

_SPREAD = 2.0**0.5  # of log v: wider and narrower ones measured worse
_SHARED_ROWS, _SHARED_STEPS = 500, 25
_SHARED_STARTS = (-3.0, 0.5)  # log(v d)
_FIRST_ROWS, _FIRST_STEPS = 300, 25
_LAST_ROWS, _LAST_STEPS = 1000, 50
_SCALES = (1.0, 0.125, 8.0)  # of the shared variance: starts from which the evidence may lead elsewhere


def together(X: Array, y: Array, groups: NDArray[np.int64], settings: TuneSettings, budget: Budget) -> Guarded:
    """`groups` (d,): the column of each input, from 0 on."""
    shared = fit_shared(X[:_SHARED_ROWS], y[:_SHARED_ROWS], settings, budget)
    if settings.weight_variance is not None:
        return Guarded(shared, 0.0, Relevance.FIXED)
    fixed_b = settings.bias_variance is not None

    def fit(rows: int, start: Fit, steps: int, budget: Budget) -> Fit:
        posterior = Posterior(X[:rows], y[:rows], shared, _SPREAD, fixed_b, groups)
        return fit_relevance(posterior, start, steps, budget)

    few = min(len(y), _FIRST_ROWS)
    starts = [Fit(np.inf, shared.scaled(by), few) for by in _SCALES]
    try:
        tasks = [partial(fit, few, start, _FIRST_STEPS) for start in starts]
        best = min(budget.share(tasks), key=lambda one: one.value)
        if budget.left:
            best = fit(_LAST_ROWS, replace(best, rows=few), _LAST_STEPS, budget)
    except Spent:
        return Guarded(shared, 0.0, Relevance.STEPS)
    return Guarded(best.found, _SPREAD, Relevance.TOGETHER)


class SharedPosterior:
    """-log evidence and priors over theta = log v (one for all inputs), log b, log alpha; what was given stays."""

    def __init__(self, X: Array, y: Array, settings: TuneSettings) -> None:
        self.evidence = Evidence(X, y, settings.depth or 1)
        self.d, self.settings = X.shape[1], settings
        self.priors = ((PRIOR_VD[0] - float(np.log(self.d)), PRIOR_VD[1]), PRIOR_B, PRIOR_ALPHA)

    @property
    def bounds(self) -> tuple[Array, Array]:
        v, b = self.settings.weight_variance, self.settings.bias_variance
        # A given bias variance may be 0, which has no logarithm: `hyper` takes it as it is.
        ranges = (BOUND_V if v is None else (v, v), BOUND_B if b is None else (1.0, 1.0), BOUND_ALPHA)
        low, high = np.log(np.array(ranges)).T
        return low, high

    def hyper(self, theta: Array) -> Hyper:
        v, b, alpha = np.exp(theta)
        given = self.settings.bias_variance
        return Hyper(v * np.ones(()), float(b) if given is None else given, float(alpha), self.evidence.depth)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        at = self.hyper(theta)
        result = self.evidence(np.full(self.d, float(at.v)), at.b, at.alpha)
        if result is None:
            return np.inf, np.zeros_like(theta)
        value, d_v, d_b, d_alpha = result
        gradient = np.array([d_v.sum(), d_b, d_alpha])
        for i, prior in enumerate(self.priors):
            value += float(log_prior(theta[i], prior))
            gradient[i] += (theta[i] - prior[0]) / prior[1] ** 2
        return value, gradient


def fit_shared(X: Array, y: Array, settings: TuneSettings, budget: Budget) -> Hyper:
    """One variance for all inputs, b and alpha: the best posterior of two starts."""
    tasks = [partial(_descended, X, y, settings, log_vd) for log_vd in _SHARED_STARTS]
    return min(budget.share(tasks), key=lambda found: found[0])[1]


def _descended(X: Array, y: Array, settings: TuneSettings, log_vd: float, budget: Budget) -> tuple[float, Hyper]:
    posterior = SharedPosterior(X, y, settings)
    start = np.clip(np.array([log_vd - np.log(posterior.d), PRIOR_B[0], PRIOR_ALPHA[0]]), *posterior.bounds)
    best = (np.inf, posterior.hyper(start))
    mine = Budget(min(_SHARED_STEPS, budget.left))

    def objective(theta: Array) -> tuple[float, Array]:
        mine.take()
        return posterior(theta)

    try:
        for place in descend(objective, start, posterior.bounds):
            gained, best = best[0] - place.value, (place.value, posterior.hyper(place.x))
            if gained < TOLERANCE:
                break
    except Spent:
        pass  # the best place so far is the answer
    budget.take(mine.spent)
    return best
