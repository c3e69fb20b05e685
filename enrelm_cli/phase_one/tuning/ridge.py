"""Kernel ridge regression with a free intercept on a few hundred rows, and its exact leave-one-out error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enrelm_cli.fold.unlocked import cholesky, lower_solve
from enrelm_cli.phase_one.tuning.hyper import BOUND_ALPHA, Hyper
from enrelm_cli.types import Array

ALPHAS = np.geomspace(*BOUND_ALPHA, 41)


@dataclass(frozen=True)
class Ridge:
    """Kernel ridge regression with a free intercept at its leave-one-out optimum."""

    alpha: float
    error: float  # mean squared leave-one-out error at alpha
    errors: Array  # (a,) the same for every alpha of the grid
    left_out: Array  # (n,) the error of each row when it is left out, at alpha
    dual: Array  # (n,) w: prediction is offset + k(x)·w
    offset: float


def leave_one_out(K: Array, y: Array, alphas: Array = ALPHAS) -> Ridge:
    """min over alpha of mean e_i², e_i = r_i / (1 - h_i), h_i = 1/n + sum_j U_ij² l_j/(l_j + alpha).

    H K H = U diag(l) Uᵀ for the Gram matrix K (n, n): H = I - 11ᵀ/n centres it, so that the intercept is free and
    the formula is exact.
    """
    n = len(y)
    means = K.mean(axis=0)
    C = K - means
    C -= C.mean(axis=1)[:, None]
    lam, U = np.linalg.eigh(C)  # numpy's, not scipy's: it lets other threads run
    lam = np.maximum(lam, 0.0)
    mean = float(y.mean())
    c = U.T @ (y - mean)
    shrink = lam[:, None] / (lam[:, None] + alphas)  # (n, a)
    residual = (y - mean)[:, None] - U @ (c[:, None] * shrink)
    free = 1.0 - 1.0 / n - (U * U) @ shrink
    left_out = residual / np.maximum(free, 1e-10)
    errors: Array = np.mean(left_out**2, axis=0)
    best = int(np.argmin(errors))
    alpha = float(alphas[best])
    w = U @ (c / (lam + alpha))
    w -= w.mean()
    return Ridge(alpha, float(errors[best]), errors, left_out[:, best], w, mean - float(means @ w))


def held_out_errors(found: Hyper, A: Array, a: Array, B: Array, b: Array) -> Array:
    """Errors on rows B of kernel ridge regression on rows A, its alpha by leave-one-out as in the variant itself."""
    rows = found.kernel.prepare(A)
    ridge = leave_one_out(rows.against(A), a)
    return b - ridge.offset - rows.against(B) @ ridge.dual


def held_out_errors_at_alpha(found: Hyper, A: Array, a: Array, B: Array, b: Array) -> Array:
    """The same with the alpha that was found: one Cholesky factor, where rows are too many for eigenvectors."""
    rows = found.kernel.prepare(A)
    L = rows.against(A)
    L.flat[:: len(a) + 1] += found.alpha
    if not cholesky(L):
        return np.full(len(b), np.inf)
    u = np.column_stack((a, np.ones(len(a))))  # y and 1: their solutions give the intercept, too
    lower_solve(L, u)
    offset = float(u[:, 0] @ u[:, 1]) / float(u[:, 1] @ u[:, 1])
    w = u @ np.array([[1.0], [-offset]])
    lower_solve(L, w, transposed=True)
    errors: Array = b - offset - rows.against(B) @ w[:, 0]
    return errors
