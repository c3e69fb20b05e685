"""One weight variance for each input, at the minimum of the negative log evidence and a prior that knows columns.

    L = n/2 log s + 1/2 log det(K + alpha I),   s = yᵀ (K + alpha I)⁻¹ y / n   (the signal s is profiled out)

(where rows have weights, alpha/w_i in place of alpha on the diagonal: a mean of w rows has a w-th of their noise)

plus a Gaussian prior on log v_k around the shared log v with standard deviation `spread`: 0 is the shared kernel,
infinity is free relevance, and the values between shrink one to the other (`Posterior`). Of several targets L is the
sum, with a signal s for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from enrelm_cli.fold.unlocked import symmetric_product
from enrelm_cli.kernels.arcsine import arcsine, unit_rows
from enrelm_cli.phase_one.tuning.budget import Budget, Spent
from enrelm_cli.phase_one.tuning.descent import Pairs, Place, descend, scaled
from enrelm_cli.phase_one.tuning.hyper import (
    BOUND_ALPHA,
    BOUND_B,
    BOUND_V,
    PRIOR_ALPHA,
    PRIOR_B,
    Hyper,
    log_prior,
)
from enrelm_cli.phase_one.tuning.inverse import invert
from enrelm_cli.types import Array

TOLERANCE = 0.02  # of the log posterior: less changes no prediction
_NEAREST = 1.0 - 1e-13  # so that 1 - r² keeps its digits


class Evidence:
    """Negative log evidence L(log v, log b, log alpha) of y ~ N(0, s (K + alpha I)), s profiled out, and its gradient.

    With z_i = [sqrt(2 v) x_i, sqrt(2 b)]/sqrt(p_i), r = z zᵀ, M = 1/2 ((K + alpha I)⁻¹ - a aᵀ/s), a = (K + alpha I)⁻¹ y
    and D = M ∘ (2/pi)/sqrt(1 - r²), the gradient of all inputs shortens to

        dL/dlog v_k = sum_i z_ik ((D z)_ik - z_ik rho_i),   rho_i = sum_k z_ik (D z)_ik,

    and the bias is the last column of z: one product D z gives every input's gradient. A deeper layer passes
    dL/dK_l-1 = 2 D/sqrt(p pᵀ) - diag(2 rho/p) down to the one before. Only the lower triangle of M is ever computed.
    """

    def __init__(self, X: Array, y: Array, depth: int, weight: Array | None = None, threads: int = 1) -> None:
        n = len(y)
        self.X, self.y, self.depth, self._threads = X, y, depth, threads
        self._noise = 1.0 if weight is None else 1.0 / weight  # times alpha
        # Kept from one evaluation to the next: the pages of fresh n x n arrays cost as much as their arithmetic.
        self._layers = [np.empty((n, n)) for _ in range(depth)]
        self._A = np.empty((n, n))
        self._W = np.empty((n, n))

    def __call__(self, v: Array, b: float, alpha: float) -> tuple[float, Array, float, float] | None:
        """(L, dL/dlog v (d,), dL/dlog b, dL/dlog alpha), or None where K + alpha I is not positive definite."""
        n, y, A = len(self.y), self.y, self._A
        z, ps = self._forward(v, b)
        A.flat[:: n + 1] += alpha * self._noise
        inverted = invert(A, y.reshape(n, -1), self._threads)
        if inverted is None:
            return None
        a, s = inverted.a, inverted.squares / n
        # A direction in which some rows do not vary says nothing of them.
        told = np.flatnonzero(s > 0.0) if y.ndim > 1 else [0]
        q = len(told)
        value = 0.5 * n * float(np.log(s[told]).sum()) + 0.5 * q * inverted.log_det
        if not np.isfinite(value) or not q:
            return None
        M = A.T
        if q > 1:
            A *= q
        for c in told:
            M = blas.dsyr(-1.0 / s[c], a[:, c], lower=0, a=M, overwrite_a=1)
        M = M.T
        d_alpha = 0.5 * alpha * float((np.diagonal(M) * self._noise).sum())
        D, d_b = self._backward(M, b, ps)
        Dz = symmetric_product(D, z) / np.pi
        product = z * Dz
        gradient = product.sum(axis=0) - product.sum(axis=1) @ (z * z)
        return value, gradient[:-1], float(gradient[-1]) + d_b / np.pi, d_alpha

    def _forward(self, v: Array, b: float) -> tuple[Array, list[Array]]:
        """Fills the layers' r and A = K; returns z and each layer's p."""
        A = self._A
        z, p = unit_rows(self.X, v, b)
        ps = [p]
        np.matmul(z, z.T, out=self._layers[0])
        for layer, r in enumerate(self._layers):
            if layer:
                np.add(A, b, out=r)
                ps.append(1.0 + 2.0 * np.diagonal(r))
                root = np.sqrt(2.0 / ps[-1])
                r *= root[:, None]
                r *= root
            arcsine(r, A, _NEAREST)
        return z, ps

    def _backward(self, M: Array, b: float, ps: list[Array]) -> tuple[Array, float]:
        """D of the first layer and b's gradient from the deeper ones, both short of the last layer's factor 1/pi."""
        n, W = len(self.y), self._W
        ones = np.ones((n, 1))
        d_b = 0.0
        for layer in range(self.depth - 1, -1, -1):
            r = self._layers[layer]
            np.multiply(r, r, out=W)
            np.subtract(1.0, W, out=W)
            np.sqrt(W, out=W)
            M /= W
            if layer:
                np.multiply(M, r, out=W)
                rho = symmetric_product(W, ones)[:, 0]
                root = np.sqrt(2.0 / ps[layer])
                M *= root[:, None]
                M *= root
                M.flat[:: n + 1] -= 2.0 * rho / ps[layer]
                d_b += b * float(symmetric_product(M, ones).sum())
                # The next layer down brings a 2/pi of its own, and so do the sums that are already in d_b.
                M *= 2.0 / np.pi
        return M, d_b


@dataclass(frozen=True)
class Fit:
    """The hyperparameters with the least -log posterior seen, and the curvature there."""

    value: float
    found: Hyper
    rows: int
    pairs: Pairs = ()


class Posterior:
    """-log evidence and priors over theta = log v (d,), log b, log alpha, with its gradient.

    The log v of a column's m inputs are near the shared one, and nearer to each other: u = log v - centre has the
    covariance spread^2/2 (1 1' + I), so that -log p(u) = u'w/2 with w = 2/spread^2 (u - sum(u)/(1 + m)).
    """

    def __init__(
        self,
        X: Array,
        y: Array,
        groups: NDArray[np.int64],
        shared: Hyper,
        spread: float,
        fixed_b: bool,
        weight: Array | None = None,
        threads: int = 1,
    ) -> None:
        self.evidence = Evidence(X, y, shared.depth, weight, threads)
        self.d, self.fixed_b, self.spread = X.shape[1], fixed_b, spread
        self.groups = groups
        self._weight = 1.0 / (1.0 + np.bincount(self.groups))
        self.shared = shared
        self.centre = float(np.log(np.clip(shared.v, *BOUND_V)))

    @property
    def bounds(self) -> tuple[Array, Array]:
        low, high = np.log(np.array([BOUND_V, BOUND_B, BOUND_ALPHA])).T
        many = (self.d, 1, 1)
        return np.repeat(low, many), np.repeat(high, many)

    def theta(self, start: Hyper) -> Array:
        inside = np.r_[np.broadcast_to(start.v, self.d), max(start.b, BOUND_B[0]), start.alpha]
        theta: Array = np.clip(np.log(inside), *self.bounds)
        return theta

    def hyper(self, theta: Array) -> Hyper:
        b = self.shared.b if self.fixed_b else float(np.exp(theta[-2]))
        return Hyper(np.exp(theta[:-2]), b, float(np.exp(theta[-1])), self.shared.depth)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        at = self.hyper(theta)
        result = self.evidence(at.v, at.b, at.alpha)
        if result is None:
            return np.inf, np.zeros_like(theta)
        value, d_v, d_b, d_alpha = result
        u = theta[:-2] - self.centre
        pull = 2.0 / self.spread**2 * (u - (self._weight * np.bincount(self.groups, u))[self.groups])
        value += 0.5 * float(u @ pull) + float(log_prior(theta[-1], PRIOR_ALPHA))
        d_alpha += (theta[-1] - PRIOR_ALPHA[0]) / PRIOR_ALPHA[1] ** 2
        if self.fixed_b:
            return value, np.r_[d_v + pull, 0.0, d_alpha]
        value += float(log_prior(theta[-2], PRIOR_B))
        d_b += (theta[-2] - PRIOR_B[0]) / PRIOR_B[1] ** 2
        return value, np.r_[d_v + pull, d_b, d_alpha]


def fit_relevance(posterior: Posterior, start: Fit, steps: int, budget: Budget) -> Fit:
    """Down the posterior, from a fit to the same or fewer rows and with its curvature, within the steps."""
    rows = len(posterior.evidence.y)
    pairs = scaled(start.pairs, rows / start.rows)
    at = lowest(posterior, posterior.theta(start.found), posterior.bounds, pairs, steps, budget)
    return Fit(np.inf, start.found, rows, pairs) if at is None else Fit(at.value, posterior.hyper(at.x), rows, at.pairs)


def lowest(
    objective: Callable[[Array], tuple[float, Array]],
    start: Array,
    bounds: tuple[Array, Array],
    pairs: Pairs,
    steps: int,
    budget: Budget,
) -> Place | None:
    """The last place down from the start before nothing is gained, or before so many steps; None without one."""
    mine = Budget(min(steps, budget.left))
    best: Place | None = None

    def counted(theta: Array) -> tuple[float, Array]:
        mine.take()
        return objective(theta)

    try:
        for place in descend(counted, start, bounds, pairs):
            gained = np.inf if best is None else best.value - place.value
            best = place
            if gained < TOLERANCE:
                break
    except Spent:
        pass  # the best place so far is the answer
    budget.take(mine.spent)
    return best
