"""Tuning where columns have several inputs each: by the evidence alone, with a prior that knows columns.

1. One variance for all inputs, b and alpha at the maximum of the posterior, from two starts on a few hundred rows.
2. One variance for each input, those of a column held together (`evidence.Posterior`), from several starts on few rows,
   the best of them on more.
3. Where rows are left to judge, the same with a wide prior beside it, which is taken where it predicts them clearly
   better: smooth functions of a few inputs want it (cal_housing 0.456 to 0.437), most tables do not.

One hidden layer, unless told otherwise. No guard against relevances at all: over 22 tables its choice was noise here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.phase_one.tuning.budget import Budget, Spent
from enrelm_cli.phase_one.tuning.descent import descend
from enrelm_cli.phase_one.tuning.evidence import TOLERANCE, Evidence, Fit, Posterior, fit_relevance
from enrelm_cli.phase_one.tuning.guard import Guarded, Relevance, excess
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
from enrelm_cli.phase_one.tuning.ridge import held_out_errors_at_alpha
from enrelm_cli.types import Array

_NARROW, _WIDE = 2.0**0.5, 5.0  # spreads of log v; narrower ones measured worse, and so did wide ones on most tables
_SHARED_ROWS, _SHARED_STEPS = 500, 25
_SHARED_STARTS = (-3.0, 0.5)  # log(v d)
_FIRST_ROWS, _FIRST_STEPS = 300, 25
_LAST_ROWS, _LAST_STEPS = 1000, 50
# Starts from which the evidence may lead elsewhere: multiples of the shared variance, and log(v d) with little noise.
# Where a few of many columns act only together, one variance for all explains nothing, and there the slope is flat.
_SCALES = (1.0, 8.0)
_QUIET_STARTS, _QUIET_ALPHA = (0.0, 2.0), 0.03
_JUDGED_FROM = 600  # rows from which half of them can judge the other half's kernels
_JUDGE_ROWS, _JUDGED_ROWS = 1500, 700  # that judge, and that the judged ridge regression is fitted to
_CLEARLY = 0.5  # standard errors


@dataclass(frozen=True)
class _Rows:
    """The tuning rows, any prefix of which is an even sample."""

    X: Array  # (n, d)
    y: Array  # (n,)
    groups: NDArray[np.int64]  # (d,) the column of each input, from 0 on
    shared: Hyper
    fixed_b: bool

    @property
    def starts(self) -> list[Hyper]:
        d, b, depth = self.X.shape[1], self.shared.b if self.fixed_b else float(np.exp(PRIOR_B[0])), self.shared.depth
        quiet = [Hyper(np.exp(log_vd) / d * np.ones(()), b, _QUIET_ALPHA, depth) for log_vd in _QUIET_STARTS]
        return [*(self.shared.scaled(by) for by in _SCALES), *quiet]

    def fit(self, rows: int, spread: float, start: Fit, steps: int, budget: Budget) -> Fit:
        """One variance for each input on the first rows."""
        posterior = Posterior(self.X[:rows], self.y[:rows], self.shared, spread, self.fixed_b, self.groups)
        return fit_relevance(posterior, start, steps, budget)

    def errors(self, found: Hyper, first: int) -> Array:
        """On rows from `first` on, of ridge regression on some of those before."""
        few, last = min(first, _JUDGED_ROWS), first + _JUDGE_ROWS
        return held_out_errors_at_alpha(found, self.X[:few], self.y[:few], self.X[first:last], self.y[first:last])


def together(X: Array, y: Array, groups: NDArray[np.int64], settings: TuneSettings, budget: Budget) -> Guarded:
    """`groups` (d,): the column of each input, from 0 on."""
    shared = fit_shared(X[:_SHARED_ROWS], y[:_SHARED_ROWS], settings, budget)
    if settings.weight_variance is not None:
        return Guarded(shared, 0.0, Relevance.FIXED)
    rows = _Rows(X, y, groups, shared, settings.bias_variance is not None)
    try:
        spread, fit = (
            _judged(rows, budget) if len(y) >= _JUDGED_FROM else (_NARROW, _first(rows, (_NARROW,), budget)[0])
        )
        last = min(len(y), _LAST_ROWS)
        if budget.left and fit.rows < last:
            fit = rows.fit(last, spread, fit, _LAST_STEPS, budget)
    except Spent:
        return Guarded(shared, 0.0, Relevance.STEPS)
    return Guarded(fit.found, spread, Relevance.TOGETHER)


def _first(rows: _Rows, spreads: Sequence[float], budget: Budget) -> list[Fit]:
    """For each spread, the best of several starts on few rows."""
    few = min(len(rows.y), _FIRST_ROWS)
    starts = [Fit(np.inf, start, few) for start in rows.starts]
    tasks = [partial(rows.fit, few, spread, start, _FIRST_STEPS) for spread in spreads for start in starts]
    fits = budget.share(tasks)
    return [min(fits[at : at + len(starts)], key=lambda one: one.value) for at in range(0, len(fits), len(starts))]


def _narrow(rows: _Rows, budget: Budget) -> tuple[float, Fit]:
    """What the prior says where rows are too few to judge."""
    return _NARROW, _first(rows, (_NARROW,), budget)[0]


def _judged(rows: _Rows, budget: Budget) -> tuple[float, Fit]:
    """The spread that the later rows ask for, and the fit of the earlier ones with it."""
    half = min(len(rows.y) // 2, _LAST_ROWS)
    with budget.reserving(budget.left // 4):
        firsts = zip((_NARROW, _WIDE), _first(rows, (_NARROW, _WIDE), budget), strict=True)
        narrow, wide = budget.share([partial(rows.fit, half, spread, fit, _LAST_STEPS) for spread, fit in firsts])
    budget.take(2)
    if excess(rows.errors(narrow.found, half), rows.errors(wide.found, half)) > _CLEARLY:
        return _WIDE, wide
    return _NARROW, narrow


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
