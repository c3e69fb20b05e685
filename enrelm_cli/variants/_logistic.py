"""Logistic regression of classes on any features, its ridge chosen by rows that are left out a fold at a time.

    minimise  - sum_i w_i log p_i(y_i) + alpha/2 |gamma|^2,   p_i = softmax(scores(g_i)),   g_i = b + gamma' phi_i

g lies in the simplex's C - 1 coordinates, so that all classes are alike and none is the reference. The work is done in
C columns W = s (b, gamma) V', whose rows sum to zero in every step of a descent that starts so: the same steps, without
the products with V, which cost more than the features where classes are many. The curvature of a softmax is at most
half of the identity: scaled by it, the problem is well conditioned, and limited-memory BFGS takes some tens of products
with the features where Newton's method would take a factor for each class. The features do not know the target: leaving
a fold of rows out of the weights leaves them out altogether.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from enrelm_cli.fold.folds import Chunk, one_blas_thread
from enrelm_cli.fold.weights import thinned
from enrelm_cli.inputs.classes.scale import ClassScale, Codes
from enrelm_cli.inputs.maps.column_map import Folds, folds_of
from enrelm_cli.phase_one.tuning.ridge import best_alpha
from enrelm_cli.types import Array

# Multiply-adds that a fit with its folds may take, about, and what the softmax of a row and class costs beside them.
_WORK, _SOFTMAX = 6e10, 50.0
_FEWEST_ROWS, _OF_A_CLASS = 1000, 5  # without which it is not tried
# Rows that choose the ridge, an even sample. A ridge is a prior, and more rows want the same.
_CHOOSING = 1500
_ITERATIONS, _USUAL = 30, 25  # at most, and about
FOLDS = 5
_TOLERANCE = 1e-5
# The prior variance of logits is 1/alpha times the kernel, which is at most 1.
RIDGES = np.geomspace(1.0, 1e-4, 5)
# Features that hold less of a row than this share of the smallest ridge change no probability.
FELT = 1e-2
_WORSE = 1.05  # times the lowest log-loss: smaller ridges are not tried then


@dataclass(frozen=True)
class Problem:
    """Rows with features, and their classes."""

    features: Array  # (t, k)
    scale: ClassScale
    codes: Codes  # (t,)
    weight: Array  # (t,)
    fold: Folds  # (t,)

    def where(self, mask: NDArray[np.bool_]) -> Problem:
        return Problem(self.features[mask], self.scale, self.codes[mask], self.weight[mask], self.fold[mask])

    def scores(self, W: Array) -> Array:
        """(k + 1, C) -> (t, C)."""
        scores: Array = self.features @ W[1:]
        scores += W[0]
        return scores

    def own_and_gaps(self, scores: Array) -> tuple[Array, Array]:
        """log p of each row's class (t,), and p less 1 at its class (t, C), which overwrites the scores."""
        rows = np.arange(len(self.codes))
        scores -= scores.max(axis=1, keepdims=True)
        own = scores[rows, self.codes]
        np.exp(scores, out=scores)
        total = scores.sum(axis=1)
        scores /= total[:, None]
        scores[rows, self.codes] -= 1.0
        return own - np.log(total), scores

    def curvature(self, scores: Array) -> Array:
        """(t,) of -log p along scores, the mean over the C - 1 directions: (1 - |p|^2) / (C - 1)."""
        _, p = self.own_and_gaps(scores)
        p[np.arange(len(p)), self.codes] += 1.0
        curvature: Array = (1.0 - np.einsum("tc,tc->t", p, p)) / (p.shape[1] - 1.0)
        return curvature

    def loss(self, scores: Array) -> float:
        """Mean log-loss of scores (t, C)."""
        own, _ = self.own_and_gaps(scores.copy())
        return float(-(self.weight @ own) / self.weight.sum())

    def logits(self, scores: Array) -> Array:
        """(..., C) -> (..., C - 1): g of scores that sum to zero."""
        g: Array = scores @ self.scale.V / self.scale.spread
        return g


@dataclass(frozen=True)
class Logistic:
    """Weights at one ridge, and what each row gets from the fit without its fold."""

    gamma: Array  # (k, C - 1)
    intercept: Array  # (C - 1,)
    alpha: float
    left_out: Array  # (t, C - 1)
    loss: float  # mean log-loss of left-out rows


def rows_for(k: int, classes: int, alphas: int) -> int:
    """How many rows the work allows."""
    fits = _WORK / (classes * (2.0 * k + _SOFTMAX) * _USUAL)  # of one row at one ridge
    few = fits / (FOLDS * (alphas + 1.0))
    return int(few if few <= _CHOOSING else (fits - FOLDS * alphas * _CHOOSING) / FOLDS)


def affordable(k: int, classes: int, alphas: int, rows: int) -> bool:
    """Whether the work allows for enough of the rows: it grows with features times classes."""
    return rows_for(k, classes, alphas) >= min(rows, max(_FEWEST_ROWS, _OF_A_CLASS * classes))


def problem(features: Array, rows: Chunk, scale: ClassScale) -> Problem:
    """Of rows as a view shows them."""
    weight = np.ones(rows.rows) if rows.weight is None else rows.weight
    return Problem(features, scale, scale.codes(rows.y), weight, folds_of(rows.unit) % FOLDS)


@one_blas_thread
def fit_logistic(one: Problem, alphas: Array) -> Logistic:
    """At the ridge of the lowest left-out log-loss, between those of `alphas`, which go down by equal ratios."""
    alpha, starts = float(alphas[0]), dict[int, Array]()
    if len(alphas) > 1:
        alpha, starts = _chosen(one.where(thinned(len(one.codes), _CHOOSING)), alphas)
    left_out, found = _without_folds(one, alpha, starts)
    whole = _minimum(one, alpha, np.mean(list(found.values()), axis=0) if found else None)
    gamma, intercept = one.logits(whole[1:]), one.logits(whole[0])
    return Logistic(gamma, intercept, alpha, one.logits(left_out), one.loss(left_out))


def _chosen(one: Problem, alphas: Array) -> tuple[float, dict[int, Array]]:
    """A ridge, and weights without each fold near it, which its rows have not seen either: a start for more rows."""
    losses: list[float] = []
    starts: dict[int, Array] = {}
    best = starts
    for alpha in alphas:
        left_out, starts = _without_folds(one, float(alpha), starts)
        losses.append(one.loss(left_out))
        if losses[-1] <= min(losses):
            best = starts
        elif losses[-1] > _WORSE * min(losses) or losses[-2] > min(losses):
            break
    return best_alpha(alphas[: len(losses)], np.array(losses)), best


def _without_folds(one: Problem, alpha: float, starts: Mapping[int, Array]) -> tuple[Array, dict[int, Array]]:
    """Scores (t, C) of each row from the fit without its fold, and the weights of these fits."""
    left_out, found = np.zeros((len(one.codes), one.scale.classes)), dict[int, Array]()
    for fold in range(FOLDS):
        inside = one.fold == fold
        if inside.any() and not inside.all():
            found[fold] = _minimum(one.where(~inside), alpha, starts.get(fold))
            left_out[inside] = one.where(inside).scores(found[fold])
    return left_out, found


def _minimum(one: Problem, alpha: float, start: Array | None) -> Array:
    """W (k + 1, C): the intercept's row, and those of the features, whose logits are scores."""
    features, scale = one.features, one.scale
    shape = (features.shape[1] + 1, scale.classes)
    W = start
    if W is None:
        # Shares of the classes: what no feature is needed for.
        W = np.zeros(shape)
        W[0] = scale.log_shares - scale.log_shares.mean()
    curved = one.weight * one.curvature(one.scores(W))
    squares = np.concatenate([[curved.sum()], np.einsum("t,tk,tk->k", curved, features, features)])
    ridge = np.concatenate([[0.0], np.full(len(squares) - 1, alpha / scale.spread**2)])[:, None]
    root = np.sqrt(np.maximum(squares[:, None] + ridge, 1e-12))

    def objective(x: Array) -> tuple[float, Array]:
        W = x.reshape(shape) / root
        own, gaps = one.own_and_gaps(one.scores(W))
        gaps *= one.weight[:, None]
        gradient = ridge * W
        gradient[0] += gaps.sum(axis=0)
        gradient[1:] += features.T @ gaps
        value = 0.5 * float(np.sum(ridge * W**2)) - float(one.weight @ own)
        return value, np.ravel(gradient / root)

    options: Any = {"maxiter": _ITERATIONS, "maxfun": 2 * _ITERATIONS, "ftol": _TOLERANCE, "gtol": 1e-6}
    found: Any = minimize(objective, np.ravel(W * root), jac=True, method="L-BFGS-B", options=options)
    best: Array = found.x.reshape(shape) / root
    return best
