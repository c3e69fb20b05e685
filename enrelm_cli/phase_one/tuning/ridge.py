"""Kernel ridge regression with a free intercept, exact or on landmarks, and its leave-one-out errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enrelm_cli.columns import beside, plain
from enrelm_cli.fold.unlocked import cholesky, lower_solve
from enrelm_cli.fold.weights import Weights, mean, times
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.phase_one.left_out import Block, Smoother, tried
from enrelm_cli.phase_one.tuning.hyper import BOUND_ALPHA
from enrelm_cli.types import Array

ALPHAS = np.geomspace(*BOUND_ALPHA, 41)
_CLEARLY = 0.5  # standard errors by which a choice must predict left-out rows better to be taken
_JITTER = 1e-9  # of K_ZZ, whose diagonal is at most 1: rounding leaves less


@dataclass(frozen=True)
class Ridge:
    """Kernel ridge regression with a free intercept at its leave-one-out optimum."""

    alpha: float
    error: float  # mean squared leave-one-out error at alpha
    errors: Array  # (a,) the same for every alpha of the grid
    left_out: Array  # (n, ...) the error of each row when it is left out, at alpha
    dual: Array  # (n, ...) w: prediction is offset + k(x)·w
    offset: Array | float


def leave_one_out(
    K: Array, y: Array, alphas: Array = ALPHAS, weight: Weights = None, block: Block | None = None
) -> Ridge:
    """min over alpha of mean e_i², e_i = r_i / (1 - h_i), h_i = 1/n + sum_j U_ij² l_j/(l_j + alpha).

    H K H = U diag(l) Uᵀ for the Gram matrix K (n, n): H = I - 11ᵀ/n centres it, so that the intercept is free and
    the formula is exact. With weights see `_weighted_leave_one_out`. `block` (n,): rows that are left out together
    (left_out.py); those that never are have errors NaN.
    """
    if weight is not None:
        return _weighted_leave_one_out(K, y, tried(alphas, block, len(y)), weight, block)
    n = len(y)
    alphas = tried(alphas, block, n)
    means = K.mean(axis=0)
    C = K - means
    C -= C.mean(axis=1)[:, None]
    lam, U = np.linalg.eigh(C)  # numpy's, not scipy's: it lets other threads run
    lam = np.maximum(lam, 0.0)
    shrink = lam[:, None] / (lam[:, None] + alphas)  # (n, a)
    free = 1.0 - 1.0 / n - (U * U) @ shrink
    if y.ndim > 1:
        return _of_several(y, lam, U, means, alphas, free, block)
    y_mean = float(y.mean())
    c = U.T @ (y - y_mean)
    residual = (y - y_mean)[:, None] - U @ (c[:, None] * shrink)
    left_out = _without(U, shrink, residual, free, block)
    errors: Array = np.nanmean(left_out**2, axis=0)
    best = int(np.argmin(errors))
    alpha = float(alphas[best])
    w = U @ (c / (lam + alpha))
    w -= w.mean()
    return Ridge(alpha, float(errors[best]), errors, left_out[:, best], w, y_mean - float(means @ w))


def _without(
    U: Array, gain: Array, residual: Array, free: Array, block: Block | None, root: Array | None = None
) -> Array:
    """(n, a) left-out errors from residuals, H = 11'/n + U diag(gain) U' and 1 - diag H. All times `root`, if any."""
    if block is None or (block == block[0]).all():  # nothing would be left, or nothing is left out
        left_out: Array = residual / np.maximum(free, 1e-10)
        return left_out if root is None else left_out / root[:, None]
    root = np.ones(len(U)) if root is None else root
    return Smoother(U, root, float(root @ root), gain).left_out(residual, block)


def _of_several(y: Array, lam: Array, U: Array, means: Array, alphas: Array, free: Array, block: Block | None) -> Ridge:
    """Several targets (n, q) with one ridge: an error is the length of a row of errors."""
    mean = y.mean(axis=0)
    c = U.T @ (y - mean)
    squares = np.zeros(free.shape)
    shrink = lam[:, None] / (lam[:, None] + alphas)
    for k in range(y.shape[1]):
        residual = (y[:, k] - mean[k])[:, None] - U @ (c[:, k, None] * shrink)
        squares += _without(U, shrink, residual, free, block) ** 2
    errors: Array = np.nanmean(squares, axis=0)
    best = int(np.argmin(errors))
    alpha = float(alphas[best])
    w = U @ (c / (lam + alpha)[:, None])
    residual = y - mean - U @ (c * shrink[:, best, None])
    each = [_without(U, shrink[:, [best]], one[:, None], free[:, [best]], block)[:, 0] for one in residual.T]
    left_out = np.stack(each, axis=1)
    w -= w.mean(axis=0)
    return Ridge(alpha, float(errors[best]), errors, left_out, w, mean - means @ w)


def _weighted_leave_one_out(K: Array, y: Array, alphas: Array, weight: Array, block: Block | None) -> Ridge:
    """The same where row i counts w_i times and is left out with all of its weight, N = sum of w, S = diag(w)^(1/2).

    Rows S (H K Hᵀ) S and S (y - ȳ), with H and ȳ by weighted means, turn it into the problem above; h_i has w_i/N in
    place of 1/n. The alphas are for rows of the mean weight.
    """
    N, root = float(weight.sum()), np.sqrt(weight)[:, None]
    alphas = alphas * (N / len(y))
    means = weight @ K / N
    C = K - means
    C -= (C @ weight / N)[:, None]
    C *= root
    C *= root.T
    lam, U = np.linalg.eigh(C)
    lam = np.maximum(lam, 0.0)
    Y = y.reshape(len(y), -1)
    Y = Y - weight @ Y / N
    c = U.T @ (root * Y)  # (n, q)
    shrink = lam[:, None] / (lam[:, None] + alphas)
    free = (1.0 - weight / N)[:, None] - (U * U) @ shrink
    squares = np.zeros(free.shape)
    for own, of_one in zip((root * Y).T, c.T, strict=True):
        squares += _without(U, shrink, own[:, None] - U @ (of_one[:, None] * shrink), free, block, root[:, 0]) ** 2
    judged = ~np.isnan(squares[:, 0])
    errors: Array = weight[judged] @ squares[judged] / weight[judged].sum()
    best = int(np.argmin(errors))
    alpha = float(alphas[best])
    residual = root * Y - U @ (c * shrink[:, best, None])
    at = shrink[:, [best]], free[:, [best]]
    each = [_without(U, at[0], one[:, None], at[1], block, root[:, 0])[:, 0] for one in residual.T]
    w = root * (U @ (c / (lam + alpha)[:, None]))
    w -= np.outer(weight, w.sum(axis=0) / N)
    left_out, w = np.stack(each, axis=1).reshape(y.shape), w.reshape(y.shape)
    return Ridge(alpha, float(errors[best]), errors, left_out, w, plain(weight @ y / N - means @ w))


def landmark_left_out(
    kernel: ArcsineKernel, X: Array, y: Array, m: int, weight: Weights = None, block: Block | None = None
) -> Array:
    """The error of each row when it is left out (n,), at the best alpha, with the first m rows as landmarks.

    Of several targets (n, q), the length of a row of errors.

    F Fᵀ = K(X, Z) K_ZZ⁻¹ K(Z, X) takes the place of K in `leave_one_out`: n m² operations.
    """
    rows = kernel.prepare(X[:m])
    L = rows.against(X[:m])
    L.flat[:: m + 1] += _JITTER
    if not cholesky(L):
        return np.full(len(y), np.inf)
    F = np.ascontiguousarray(rows.against(X).T)
    lower_solve(L, F)
    F -= (F.mean(axis=1) if weight is None else F @ weight / weight.sum())[:, None]
    u = y - mean(y, weight)
    alphas, share = ALPHAS, np.full((1, 1), 1.0 / len(y))
    if weight is not None:
        root = np.sqrt(weight)
        F, u, alphas, share = F * root, u * beside(root, u), ALPHAS * weight.mean(), (weight / weight.sum())[:, None]
    lam, V = np.linalg.eigh(F @ F.T)
    U = F.T @ V  # (n, m), its columns sqrt(lambda) times as long as eigenvectors
    inverse = 1.0 / (np.maximum(lam, 0.0)[:, None] + tried(alphas, block, m))  # (m, a)
    residuals = [one[:, None] - U @ ((U.T @ one)[:, None] * inverse) for one in u.reshape(len(y), -1).T]
    free = 1.0 - share - (U * U) @ inverse
    each = [_without(U, inverse, one, free, block, None if weight is None else root) for one in residuals]
    left_out = each[0] if y.ndim == 1 else np.sqrt(sum(one**2 for one in each))
    best = int(np.argmin(np.nansum(times(weight, left_out**2), axis=0)))
    errors: Array = left_out[:, best]
    return errors


def standard_error(values: Array, weight: Weights = None) -> float:
    """Of the mean of values (t,)."""
    if weight is None:
        return float(values.std()) / float(np.sqrt(len(values)))
    return float(np.linalg.norm(weight * (values - mean(values, weight))) / weight.sum())


def excess(errors: Array, best: Array, weight: Weights = None) -> float:
    """By how many standard errors the mean square of `errors` is above that of `best`: (t,), (t,)."""
    more = errors**2 - best**2
    noise = standard_error(more, weight)
    return float(mean(more, weight)) / noise if noise > 0.0 else 0.0


def clearly_better(errors: Array, before: Array, weight: Weights = None) -> bool:
    """Whether errors (t,) are lower than those before by more than chance; rows that were not judged are NaN."""
    known = ~(np.isnan(errors) | np.isnan(before))
    return excess(before[known], errors[known], None if weight is None else weight[known]) > _CLEARLY


def best_alpha(alphas: Array, squares: Array) -> float:
    """The minimum of a parabola through the best alpha and its neighbours, in log alpha."""
    i = int(np.argmin(squares))
    if not 0 < i < len(alphas) - 1:
        return float(alphas[i])
    left, middle, right = np.log(np.maximum(squares[i - 1 : i + 2], np.finfo(float).tiny))
    bend = left - 2.0 * middle + right
    shift = 0.5 * (left - right) / bend if bend > 0.0 else 0.0
    step = np.log(alphas[i + 1] / alphas[i])
    return float(alphas[i] * np.exp(np.clip(shift, -1.0, 1.0) * step))
