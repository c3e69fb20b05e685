"""The first step of tuning: one weight variance for all inputs, b and alpha, at the maximum of the posterior."""

from __future__ import annotations

from functools import partial

import numpy as np

from enrelm_cli.phase_one.tuning.budget import Budget
from enrelm_cli.phase_one.tuning.evidence import Evidence, lowest
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

_STARTS = (-3.0, 0.5)  # log(v d)
_STEPS = 25


class SharedPosterior:
    """-log evidence and priors over theta = log v (one for all inputs), log b, log alpha; what was given stays."""

    def __init__(self, X: Array, y: Array, settings: TuneSettings, weight: Array | None = None) -> None:
        self.evidence = Evidence(X, y, settings.depth or 1, weight)
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
        settings = self.settings
        v = v if settings.weight_variance is None else settings.weight_variance
        b = b if settings.bias_variance is None else settings.bias_variance
        return Hyper(v * np.ones(()), float(b), float(alpha), self.evidence.depth)

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


def fit_shared(X: Array, y: Array, settings: TuneSettings, budget: Budget, weight: Array | None = None) -> Hyper:
    """The best posterior of two starts."""
    tasks = [partial(_from, X, y, settings, weight, log_vd) for log_vd in _STARTS]
    return min(budget.share(tasks), key=lambda found: found[0])[1]


def _from(
    X: Array, y: Array, settings: TuneSettings, weight: Array | None, log_vd: float, budget: Budget
) -> tuple[float, Hyper]:
    posterior = SharedPosterior(X, y, settings, weight)
    start = np.clip(np.array([log_vd - np.log(posterior.d), PRIOR_B[0], PRIOR_ALPHA[0]]), *posterior.bounds)
    found = lowest(posterior, start, posterior.bounds, (), _STEPS, budget)
    return (np.inf, posterior.hyper(start)) if found is None else (found.value, posterior.hyper(found.x))
