"""Tuning of the kernel variant on a sample of its training rows (METHOD.md, points 7 and 9).

Three stages, each counted in evaluations (one factorised kernel matrix each), never in seconds:

1. *Shared*: one weight variance v for all inputs, b and depth, by the exact leave-one-out error of kernel ridge
   regression with a free intercept. A coarse grid, then a pattern search that halves its step; X Xᵀ is computed once.
2. *Relevance*: one variance for each input, at the minimum of the negative log evidence with its analytic gradient,

       L = n/2 log s + 1/2 log det(K + alpha I),   s = yᵀ (K + alpha I)⁻¹ y / n   (the signal s is profiled out),

   plus a Gaussian prior on log v_k around the shared log v with standard deviation `spread`: 0 is the shared kernel,
   infinity is free relevance, and the values between shrink one to the other.
3. *Guard*: the spread is chosen on rows that the relevances have not seen - folds of a small sample, the second part of
   a large one - and an equal error goes to the smaller spread. Leave-one-out cannot do this: after d free variances it
   flatters them (diabetes, prostate), where held-out rows do not.

One-hot inputs keep a variance each: sharing one within a column measured worse (servo 0.30 against 0.22, mean of ten
splits), and the prior already holds rare levels near the shared value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import partial

import numpy as np
from scipy.linalg import blas, lapack
from scipy.optimize import minimize

from enrelm_cli.fold.folds import single_threaded_blas
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.types import Array

# Weak priors on what all inputs share: (centre, standard deviation) of a natural logarithm. A few hundred rows of
# noisy data otherwise choose kernels that bend without need or extrapolate wildly; a few thousand overrule them.
_PRIOR_VD = (-3.0, 1.5)  # log(v d): an almost straight erf
_PRIOR_B = (float(np.log(0.3)), 2.0)  # log b
_PRIOR_ALPHA = (float(np.log(1e-2)), 3.0)  # log alpha

_BOUND_V = (1e-6, 1e4)
_BOUND_B = (1e-3, 1e4)
_BOUND_ALPHA = (1e-5, 1e3)  # an alpha below lets leave-one-out choose kernels that extrapolate wildly (machine_cpu)
_ALPHAS = np.geomspace(*_BOUND_ALPHA, 41)

_SHARED_ROWS = 500  # an eigendecomposition for every evaluation of stage 1
_SMALL = 600  # up to here the guard is a cross-validation, above it a part held out
_FOLDS = 5
_FEW_ROWS = 20  # fewer cannot say anything about single inputs
_WARM_ROWS = 300  # where the starts of a large sample are compared
_SPREADS_SMALL = (0.5, 1.0, 2.0, 5.0)
_SPREADS_LARGE = (1.0, 5.0)
_MID_ROWS = 1000
_MOST_ROWS = 2000
_FTOL = 1e-5  # of an objective of about n: more digits of the evidence change no prediction
_GUARD_STEPS = 40
_LAST_STEPS = 60
_CAUTION = 0.25  # standard errors by which a wider spread has to win
_DEPTH_GAIN = 0.01  # a deeper kernel costs more at every prediction: it must lower the squared error by this share
_DEPTHS = (1, 2, 3)

_FAR = 1e3  # a standardised input beyond this is clipped, so that 1 - r² keeps its digits
_NEAREST = 1.0 - 1e-13


class Relevance(Enum):
    """Why the inputs got one variance each, or did not; the text is what the user reads."""

    KEPT = "one weight variance for each input: it predicts held-out rows better than a shared one"
    NO_GAIN = "one weight variance for all inputs: one for each did not predict held-out rows better"
    FIXED = "the weight variance was given"
    ONE_INPUT = "there is only one input"
    FEW_ROWS = "too few rows to tell the inputs apart"
    CONSTANT = "the target or all the inputs are constant: there is nothing to tune"
    STEPS = "the tuning steps ran out before one variance for each input could be checked"


@dataclass(frozen=True)
class TuneSettings:
    """How much to spend, and what is not to be tuned (None: tuned)."""

    rows: int = 4000  # most rows that the caller should hand in
    steps: int = 800  # most evaluations
    weight_variance: float | None = None
    bias_variance: float | None = None
    depth: int | None = None


@dataclass(frozen=True)
class Tuning:
    """The tuned kernel and how it was found."""

    kernel: ArcsineKernel
    relevance: Array  # (d,) each input's share of the total weight variance, sums to 1
    per_input: bool  # one variance for each input was kept
    spread: float  # standard deviation of log v around the shared value that the guard chose, 0 if shared
    evaluations: int
    loo_error: float  # relative leave-one-out error on (at most 1000 of) the tuning rows
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
        return _tune(X, y, settings, _Budget(settings.steps, advance))


def _tune(X: Array, y: Array, settings: TuneSettings, budget: _Budget) -> Tuning:
    """The three stages on clean rows: y has mean 0 and variance 1."""
    shared = _search_shared(X[:_SHARED_ROWS], y[:_SHARED_ROWS], settings, budget)
    found, spread, reason = _relevance(X, y, shared, settings, budget)
    loo = leave_one_out(found.kernel.gram(X[:1000], X[:1000]), y[:1000])
    share = np.broadcast_to(found.v, X.shape[1]) * np.mean(X * X, axis=0)
    return Tuning(
        kernel=found.kernel,
        relevance=share / share.sum(),
        per_input=reason is Relevance.KEPT,
        spread=spread,
        evaluations=budget.spent,
        loo_error=float(np.sqrt(loo.error) / y[:1000].std()) if np.any(y[:1000]) else 0.0,
        reason=reason,
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
    return Tuning(kernel, np.full(X.shape[1], 1.0 / d), False, 0.0, 0, 1.0, Relevance.CONSTANT)


# --- budget -----------------------------------------------------------------------------------------------------------


class _Spent(Exception):
    """The evaluations that a stage may use are used up."""


class _Budget:
    """Counts evaluations and stops a stage that has used up its own."""

    def __init__(self, limit: int, advance: Callable[[int], None]) -> None:
        self.limit = limit
        self.spent = 0
        self._advance = advance

    @property
    def left(self) -> int:
        return self.limit - self.spent

    @contextmanager
    def reserving(self, evaluations: int) -> Iterator[None]:
        """Keeps some evaluations for what comes after."""
        self.limit -= evaluations
        try:
            yield
        finally:
            self.limit += evaluations

    def take(self) -> None:
        if self.left <= 0:
            raise _Spent
        self.spent += 1
        self._advance(1)


# --- stage 1: shared variances by leave-one-out -----------------------------------------------------------------------


@dataclass(frozen=True)
class Ridge:
    """Kernel ridge regression with a free intercept at its leave-one-out optimum."""

    alpha: float
    error: float  # mean squared leave-one-out error at alpha
    errors: Array  # (a,) the same for every alpha of the grid
    dual: Array  # (n,) w: prediction is offset + k(x)·w
    offset: float


def leave_one_out(K: Array, y: Array, alphas: Array = _ALPHAS) -> Ridge:
    """min over alpha of mean e_i², e_i = r_i / (1 - h_i), h_i = 1/n + sum_j U_ij² l_j/(l_j + alpha).

    H K H = U diag(l) Uᵀ for the Gram matrix K (n, n): H = I - 11ᵀ/n centres it, so that the intercept is free and
    the formula is exact.
    """
    n = len(y)
    means = K.mean(axis=0)
    C = K - means
    C -= C.mean(axis=1)[:, None]
    lam, U = np.linalg.eigh(C)
    lam = np.maximum(lam, 0.0)
    mean = float(y.mean())
    c = U.T @ (y - mean)
    shrink = lam[:, None] / (lam[:, None] + alphas)  # (n, a)
    residual = (y - mean)[:, None] - U @ (c[:, None] * shrink)
    free = 1.0 - 1.0 / n - (U * U) @ shrink
    errors: Array = np.mean((residual / np.maximum(free, 1e-10)) ** 2, axis=0)
    best = int(np.argmin(errors))
    alpha = float(alphas[best])
    w = U @ (c / (lam + alpha))
    w -= w.mean()
    return Ridge(alpha, float(errors[best]), errors, w, mean - float(means @ w))


@dataclass(frozen=True)
class _Found:
    """Hyperparameters on the way: v is () or (d,)."""

    v: Array
    b: float
    alpha: float
    depth: int

    @property
    def kernel(self) -> ArcsineKernel:
        return ArcsineKernel(float(self.v) if self.v.ndim == 0 else self.v, self.b, self.depth)


class _SharedError:
    """log of the leave-one-out error with weak priors, as a function of (log2 v d, log2 b, depth); X Xᵀ once."""

    def __init__(self, X: Array, y: Array, settings: TuneSettings, budget: _Budget) -> None:
        self.S = X @ X.T
        self.y = y
        self.d = X.shape[1]
        self.settings = settings
        self.budget = budget
        self.seen: dict[tuple[float, float, int], tuple[float, float]] = {}

    def variances(self, point: tuple[float, float]) -> tuple[float, float]:
        v, b = self.settings.weight_variance, self.settings.bias_variance
        return 2.0 ** point[0] / self.d if v is None else v, 2.0 ** point[1] if b is None else b

    def __call__(self, point: tuple[float, float], depth: int) -> float:
        key = (point[0], point[1], depth)
        if key not in self.seen:
            self.budget.take()
            v, b = self.variances(point)
            ridge = leave_one_out(_gram_of_products(self.S, v, b, depth), self.y)
            # A target that the kernel fits exactly has no logarithm: 1e-12 is far below any noise.
            value = 0.5 * len(self.y) * np.log(ridge.errors + 1e-12) + _log_prior(np.log(_ALPHAS), _PRIOR_ALPHA)
            value += _log_prior(point[0] * np.log(2.0), _PRIOR_VD) + _log_prior(point[1] * np.log(2.0), _PRIOR_B)
            best = int(np.argmin(value))
            self.seen[key] = (float(value[best]), float(_ALPHAS[best]))
        return self.seen[key][0]

    def found(self, point: tuple[float, float], depth: int) -> _Found:
        v, b = self.variances(point)
        return _Found(np.float64(v) * np.ones(()), b, self.seen[point[0], point[1], depth][1], depth)


def _log_prior(value: Array | float, prior: tuple[float, float]) -> Array | float:
    """Negative log density of a Gaussian, up to a constant."""
    return ((value - prior[0]) / prior[1]) ** 2 / 2.0


def _gram_of_products(S: Array, v: float, b: float, depth: int) -> Array:
    """K of `depth` layers from the products S = X Xᵀ: (n, n) -> (n, n)."""
    K = v * S
    for _ in range(depth):
        K += b
        root = np.sqrt(2.0 / (1.0 + 2.0 * np.diagonal(K)))
        K *= root[:, None]
        K *= root
        np.clip(K, -1.0, 1.0, out=K)
        np.arcsin(K, out=K)
        K *= 2.0 / np.pi
    return K


def _search_shared(X: Array, y: Array, settings: TuneSettings, budget: _Budget) -> _Found:
    """v, b and depth by leave-one-out error: a coarse grid, then a pattern search around its best point."""
    error = _SharedError(X, y, settings, budget)
    depth = settings.depth or 1
    v_axis = (-4.0, -1.0, 2.0) if settings.weight_variance is None else (0.0,)
    b_axis = (0.0, -3.0) if settings.bias_variance is None else (0.0,)
    best = (0.0, 0.0) if len(v_axis) == 1 else (-1.0, 0.0)
    try:
        error(best, depth)
        at_depth = partial(error, depth=depth)
        best = min([best, *((i, j) for i in v_axis for j in b_axis)], key=at_depth)
        for point in _pattern(best, len(v_axis) > 1, len(b_axis) > 1, 2.0, at_depth):
            best = point
        if settings.depth is None:
            best, depth = _try_depths(error, best, len(v_axis) > 1, len(b_axis) > 1)
    except _Spent:
        if not error.seen:  # not even one step: the middle of the grid, untested
            v, b = error.variances(best)
            return _Found(np.float64(v) * np.ones(()), b, 1e-2, depth)
        *where, depth = min(error.seen, key=lambda key: error.seen[key][0])
        best = (where[0], where[1])
    return error.found(best, depth)


def _try_depths(
    error: _SharedError, best: tuple[float, float], move_v: bool, move_b: bool
) -> tuple[tuple[float, float], int]:
    """The shallowest depth that is not clearly beaten."""
    gain = 0.5 * len(error.y) * _DEPTH_GAIN
    chosen, depth = best, 1
    for deeper in _DEPTHS[1:]:
        at_depth = partial(error, depth=deeper)
        # Inner layers flatten the kernel: a larger v may make up for it.
        start = min([best, (best[0] + 2.0, best[1])] if move_v else [best], key=at_depth)
        if at_depth(start) > error(chosen, depth) - gain:
            break
        for point in _pattern(start, move_v, move_b, 1.0, at_depth):
            start = point
        chosen, depth = start, deeper
    return chosen, depth


def _pattern(
    best: tuple[float, float], move_v: bool, move_b: bool, step: float, error: Callable[[tuple[float, float]], float]
) -> Iterator[tuple[float, float]]:
    """Each better point: one step along each axis that moves, half the step where none is better, down to 1/2."""
    while step >= 0.5:
        around = [(best[0] + i * step, best[1]) for i in (1, -1) if move_v]
        around += [(best[0], best[1] + j * step) for j in (1, -1) if move_b]
        around = [(min(max(i, -10.0), 12.0), min(max(j, -8.0), 10.0)) for i, j in around]
        nearer = min([best, *around], key=error)
        if nearer == best:
            step /= 2.0
        best = nearer
        yield best


# --- stage 2: one variance for each input by evidence -----------------------------------------------------------------


class Evidence:
    """Negative log evidence L(log v, log b, log alpha) of y ~ N(0, s (K + alpha I)), s profiled out, and its gradient.

    With z_i = [sqrt(2 v) x_i, sqrt(2 b)]/sqrt(p_i), r = z zᵀ, M = 1/2 ((K + alpha I)⁻¹ - a aᵀ/s), a = (K + alpha I)⁻¹ y
    and D = M ∘ (2/pi)/sqrt(1 - r²), METHOD.md's point 9 shortens to

        dL/dlog v_k = sum_i z_ik ((D z)_ik - z_ik rho_i),   rho_i = sum_k z_ik (D z)_ik,

    and the bias is the last column of z: one product D z gives every input's gradient. A deeper layer passes
    dL/dK_l-1 = 2 D/sqrt(p pᵀ) - diag(2 rho/p) down to the one before. Only one triangle of M is ever computed.
    """

    def __init__(self, X: Array, y: Array, depth: int) -> None:
        n = len(y)
        self.X, self.y, self.depth = X, y, depth
        # Kept from one evaluation to the next: the pages of fresh n x n arrays cost as much as their arithmetic.
        self._layers = [np.empty((n, n)) for _ in range(depth)]
        self._A = np.empty((n, n))
        self._W = np.empty((n, n))

    def __call__(self, v: Array, b: float, alpha: float) -> tuple[float, Array, float, float] | None:
        """(L, dL/dlog v (d,), dL/dlog b, dL/dlog alpha), or None where K + alpha I is not positive definite."""
        n, y, A = len(self.y), self.y, self._A
        z, ps = self._forward(v, b)
        A.flat[:: n + 1] += alpha
        # LAPACK sees the transpose of a C-ordered array: its lower triangle is our upper one.
        L, failed = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            return None
        a = lapack.dpotrs(L, y, lower=1)[0]
        s = float(y @ a) / n
        log_det = 2.0 * float(np.log(np.diagonal(L)).sum())
        value = 0.5 * n * float(np.log(s)) + 0.5 * log_det
        inverse, failed = lapack.dpotri(L, lower=1, overwrite_c=1)
        if failed or not np.isfinite(value):
            return None
        M = blas.dsyr(-1.0 / s, a, lower=1, a=inverse, overwrite_a=1).T
        d_alpha = 0.5 * alpha * float(np.trace(M))
        D, d_b = self._backward(M, b, ps)
        Dz = blas.dsymm(1.0 / np.pi, D.T, z, lower=1)
        product = z * Dz
        gradient = product.sum(axis=0) - product.sum(axis=1) @ (z * z)
        return value, gradient[:-1], float(gradient[-1]) + d_b / np.pi, d_alpha

    def _forward(self, v: Array, b: float) -> tuple[Array, list[Array]]:
        """Fills the layers' r and A = K; returns z and each layer's p."""
        n, d = self.X.shape
        A = self._A
        z = np.empty((n, d + 1))
        np.multiply(self.X, np.sqrt(2.0 * v), out=z[:, :-1])
        z[:, -1] = np.sqrt(2.0 * b)
        ps = [1.0 + np.einsum("ij,ij->i", z, z)]
        z /= np.sqrt(ps[0])[:, None]
        np.matmul(z, z.T, out=self._layers[0])
        for layer, r in enumerate(self._layers):
            if layer:
                np.add(A, b, out=r)
                ps.append(1.0 + 2.0 * np.diagonal(r))
                root = np.sqrt(2.0 / ps[-1])
                r *= root[:, None]
                r *= root
            np.clip(r, -_NEAREST, _NEAREST, out=r)
            np.arcsin(r, out=A)
            np.multiply(A, 2.0 / np.pi, out=A)
        return z, ps

    def _backward(self, M: Array, b: float, ps: list[Array]) -> tuple[Array, float]:
        """D of the first layer and b's gradient from the deeper ones, both short of the last layer's factor 1/pi."""
        n, W = len(self.y), self._W
        ones = np.ones(n)
        d_b = 0.0
        for layer in range(self.depth - 1, -1, -1):
            r = self._layers[layer]
            np.multiply(r, r, out=W)
            np.subtract(1.0, W, out=W)
            np.sqrt(W, out=W)
            M /= W
            if layer:
                np.multiply(M, r, out=W)
                rho = blas.dsymv(1.0, W.T, ones, lower=1)
                root = np.sqrt(2.0 / ps[layer])
                M *= root[:, None]
                M *= root
                M.flat[:: n + 1] -= 2.0 * rho / ps[layer]
                d_b += b * float(blas.dsymv(1.0, M.T, ones, lower=1).sum())
                # The next layer down brings a 2/pi of its own, and so do the sums that are already in d_b.
                M *= 2.0 / np.pi
        return M, d_b


def _fit_relevance(
    X: Array, y: Array, start: _Found, shared: _Found, spread: float, fixed_b: bool, steps: int, budget: _Budget
) -> tuple[float, _Found]:
    """Minimises evidence plus priors over log v (d,), log b, log alpha with L-BFGS; the best point seen, if any."""
    d = X.shape[1]
    evidence = Evidence(X, y, start.depth)
    centre = float(np.log(np.clip(shared.v, *_BOUND_V)))
    lower = np.log(np.r_[np.full(d, _BOUND_V[0]), _BOUND_B[0], _BOUND_ALPHA[0]])
    upper = np.log(np.r_[np.full(d, _BOUND_V[1]), _BOUND_B[1], _BOUND_ALPHA[1]])
    best: list[tuple[float, Array]] = []

    def objective(theta: Array) -> tuple[float, Array]:
        budget.take()
        v, b, alpha = np.exp(theta[:d]), shared.b if fixed_b else float(np.exp(theta[d])), float(np.exp(theta[d + 1]))
        result = evidence(v, b, alpha)
        if result is None:
            return 1e12, np.zeros_like(theta)
        value, d_v, d_b, d_alpha = result
        gradient = np.r_[d_v, d_b, d_alpha]
        pull = (theta[:d] - centre) / spread
        value += 0.5 * float(pull @ pull) + float(_log_prior(theta[d + 1], _PRIOR_ALPHA))
        gradient[:d] += pull / spread
        gradient[d + 1] += (theta[d + 1] - _PRIOR_ALPHA[0]) / _PRIOR_ALPHA[1] ** 2
        if fixed_b:
            gradient[d] = 0.0
        else:
            value += float(_log_prior(theta[d], _PRIOR_B))
            gradient[d] += (theta[d] - _PRIOR_B[0]) / _PRIOR_B[1] ** 2
        if not best or value < best[0][0]:
            best[:] = [(value, theta.copy())]
        return value, gradient

    first = np.log(np.r_[np.broadcast_to(start.v, d), max(start.b, _BOUND_B[0]), start.alpha])
    try:
        minimize(
            objective,
            np.clip(first, lower, upper),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(lower, upper, strict=True)),
            options={"maxfun": steps, "maxiter": steps, "ftol": _FTOL, "maxcor": 20},
        )
    except _Spent:
        if not best:
            raise
    if not best:
        return np.inf, start
    value, theta = best[0]
    b = shared.b if fixed_b else float(np.exp(theta[d]))
    return value, _Found(np.exp(theta[:d]), b, float(np.exp(theta[d + 1])), start.depth)


# --- stage 3: the guard -----------------------------------------------------------------------------------------------


def _relevance(
    X: Array, y: Array, shared: _Found, settings: TuneSettings, budget: _Budget
) -> tuple[_Found, float, Relevance]:
    """One variance for each input where that predicts unseen rows better, else the shared kernel."""
    if settings.weight_variance is not None:
        return shared, 0.0, Relevance.FIXED
    if X.shape[1] == 1:
        return shared, 0.0, Relevance.ONE_INPUT
    if len(y) < _FEW_ROWS:
        return shared, 0.0, Relevance.FEW_ROWS
    fixed_b = settings.bias_variance is not None
    try:
        if len(y) <= _SMALL:
            return _guarded_by_folds(X, y, shared, fixed_b, budget)
        return _guarded_by_part(X, y, shared, fixed_b, budget)
    except _Spent:
        return shared, 0.0, Relevance.STEPS


def _guarded_by_folds(
    X: Array, y: Array, shared: _Found, fixed_b: bool, budget: _Budget
) -> tuple[_Found, float, Relevance]:
    """A small sample: the spread with the least cross-validated error, then a fit on all rows."""
    spreads = _SPREADS_SMALL
    errors = np.zeros((1 + len(spreads), len(y)))
    found: list[list[_Found]] = [[] for _ in spreads]
    with budget.reserving(budget.left // 4):
        for fold in range(_FOLDS):
            out = np.arange(len(y)) % _FOLDS == fold
            A, a, B, b = X[~out], y[~out], X[out], y[out]
            errors[0, out] = _held_out_errors(shared, A, a, B, b, budget)
            at = shared
            for i, spread in enumerate(spreads):  # from tight to wide: each is the next one's start
                at = _fit_relevance(A, a, at, shared, spread, fixed_b, _GUARD_STEPS, budget)[1]
                found[i].append(at)
                errors[1 + i, out] = _held_out_errors(at, A, a, B, b, budget)
    chosen = _cautious_best(errors)
    if chosen == 0:
        return shared, 0.0, Relevance.NO_GAIN
    spread = spreads[chosen - 1]
    starts = [_average(found[chosen - 1]), shared]
    fits = _fit_from(starts, X, y, shared, spread, fixed_b, budget)
    return min(fits, key=lambda fit: fit[0])[1], spread, Relevance.KEPT


def _guarded_by_part(
    X: Array, y: Array, shared: _Found, fixed_b: bool, budget: _Budget
) -> tuple[_Found, float, Relevance]:
    """A large sample: tuned on 300, 1000, then 2000 rows, each the next one's start; the other rows judge."""
    half = min(len(y) // 2, _MOST_ROWS)
    mid = min(half, _MID_ROWS)
    few = min(mid, _WARM_ROWS)
    A, a = X[:mid], y[:mid]
    narrow, wide = _SPREADS_LARGE
    with budget.reserving(budget.left // 4):
        starts = [_Found(shared.v * factor, shared.b, shared.alpha, shared.depth) for factor in (1.0, 0.125, 8.0)]
        warm = min(_fit_from(starts, X[:few], y[:few], shared, wide, fixed_b, budget), key=lambda fit: fit[0])[1]
        found = [
            _fit_relevance(A, a, start, shared, spread, fixed_b, _GUARD_STEPS, budget)[1]
            for start, spread in ((shared, narrow), (warm, wide))
        ]
        errors = np.array([_held_out_errors(at, A, a, X[mid:], y[mid:], budget) for at in found])
        spread, at = ((narrow, found[0]), (wide, found[1]))[_cautious_best(errors)]
        if half > mid:
            at = _fit_relevance(X[:half], y[:half], at, shared, spread, fixed_b, _GUARD_STEPS, budget)[1]
        errors = np.array([_held_out_errors(f, A, a, X[half:], y[half:], budget) for f in (shared, at)])
    if _cautious_best(errors) == 0:
        return shared, 0.0, Relevance.NO_GAIN
    if half < _MID_ROWS:  # the judges are free now, and few enough to be worth more as tuning rows
        fits = _fit_from([at], X[:_MID_ROWS], y[:_MID_ROWS], shared, spread, fixed_b, budget)
        at = fits[0][1]
    return at, spread, Relevance.KEPT


def _fit_from(
    starts: list[_Found], X: Array, y: Array, shared: _Found, spread: float, fixed_b: bool, budget: _Budget
) -> list[tuple[float, _Found]]:
    """A fit from each start for which there are evaluations left; the first start itself if there are none."""
    fits: list[tuple[float, _Found]] = []
    for start in starts:
        if budget.left > 0:
            fits.append(_fit_relevance(X, y, start, shared, spread, fixed_b, _LAST_STEPS, budget))
    return fits or [(np.inf, starts[0])]


def _held_out_errors(found: _Found, A: Array, a: Array, B: Array, b: Array, budget: _Budget) -> Array:
    """Errors on rows B of kernel ridge regression on rows A, its alpha by leave-one-out as in the variant itself."""
    budget.take()
    rows = found.kernel.prepare(A)
    ridge = leave_one_out(rows.against(A), a)
    return b - ridge.offset - rows.against(B) @ ridge.dual


def _cautious_best(errors: Array) -> int:
    """Index of the first candidate (smallest spread) that is not clearly worse than the best: (c, t) -> c."""
    squares = errors * errors
    best = int(np.argmin(squares.mean(axis=1)))
    for candidate in range(best):
        excess = squares[candidate] - squares[best]
        if excess.mean() <= _CAUTION * excess.std() / np.sqrt(len(excess)):
            return candidate
    return best


def _average(found: list[_Found]) -> _Found:
    """The geometric mean of the folds' hyperparameters."""
    v = np.exp(np.mean([np.log(f.v) for f in found], axis=0))
    b = float(np.exp(np.mean([np.log(max(f.b, _BOUND_B[0])) for f in found])))
    return _Found(v, b, float(np.exp(np.mean([np.log(f.alpha) for f in found]))), found[0].depth)
