"""Logistic regression of classes on any features, its ridge chosen by rows that are left out a fold at a time.

    minimise  - sum_i w_i log p_i(y_i) + alpha/2 |gamma|^2,   p_i = softmax(scores(g_i)),   g_i = b + gamma' phi_i

g lies in the simplex's C - 1 coordinates, so that all classes are alike and none is the reference. The curvature of a
softmax is at most half of the identity: scaled by it, the problem is well conditioned, and limited-memory BFGS takes
some tens of products with the features where Newton's method would take a factor for each class. The features do not
know the target: leaving a fold of rows out of the weights leaves them out altogether.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from enrelm_cli.fold.folds import Chunk, one_blas_thread
from enrelm_cli.inputs.classes.scale import ClassScale, Codes
from enrelm_cli.inputs.maps.column_map import Folds, folds_of
from enrelm_cli.model.classes import log_softmax
from enrelm_cli.types import Array

# Multiply-adds that a fit with its folds may take, about, and the rows that it has in any case.
_WORK, _FEWEST_ROWS = 8e10, 1000
# Rows that choose the ridge: the first, an even sample. A ridge is a prior, and more rows want the same.
_CHOOSING = 1500
_ITERATIONS, _USUAL = 40, 25  # at most, and about
FOLDS = 5
_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Problem:
    """Rows with features, and their classes."""

    features: Array  # (t, k)
    scale: ClassScale
    codes: Codes  # (t,)
    weight: Array  # (t,)
    fold: Folds  # (t,)

    @property
    def columns(self) -> int:
        return self.scale.classes - 1

    def where(self, mask: NDArray[np.bool_]) -> Problem:
        return Problem(self.features[mask], self.scale, self.codes[mask], self.weight[mask], self.fold[mask])

    def loss(self, g: Array) -> float:
        """Mean log-loss of logits (t, C - 1)."""
        log_p = log_softmax(self.scale.scores(g))
        return float(-(self.weight @ log_p[np.arange(len(self.codes)), self.codes]) / self.weight.sum())


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
    fits = _WORK / max(4.0 * k * (classes - 1) * FOLDS * _USUAL, 1.0)  # of one row at one ridge
    few = fits / (alphas + 1)
    return int(few if few <= _CHOOSING else fits - alphas * _CHOOSING)


def affordable(k: int, classes: int, alphas: int, rows: int) -> bool:
    """Whether the work allows for enough of the rows: it grows with features times classes."""
    return rows_for(k, classes, alphas) >= min(rows, _FEWEST_ROWS)


def problem(features: Array, rows: Chunk, scale: ClassScale) -> Problem:
    """Of rows as a view shows them."""
    weight = np.ones(rows.rows) if rows.weight is None else rows.weight
    return Problem(features, scale, scale.codes(rows.y), weight, folds_of(rows.unit) % FOLDS)


@one_blas_thread
def fit_logistic(one: Problem, alphas: Array) -> Logistic:
    """At the ridge of the lowest left-out log-loss; `alphas` go down."""
    if len(alphas) > 1 and len(one.codes) > _CHOOSING:
        chosen = fit_logistic(one.where(np.arange(len(one.codes)) < _CHOOSING), alphas).alpha
        return fit_logistic(one, np.array([chosen]))
    left_out = np.zeros((len(alphas), len(one.codes), one.columns))
    for fold in range(FOLDS):
        inside = one.fold == fold
        if not inside.any() or inside.all():
            continue
        at: Array | None = None
        train = one.where(~inside)
        for k, alpha in enumerate(alphas):
            at = _minimum(train, float(alpha), at)
            left_out[k, inside] = _values(one.features[inside], at)
    losses = [one.loss(each) for each in left_out]
    best = int(np.argmin(losses))
    whole = _minimum(one, float(alphas[best]), None)
    return Logistic(whole[1:], whole[0], float(alphas[best]), left_out[best], float(losses[best]))


def _values(features: Array, at: Array) -> Array:
    g: Array = features @ at[1:] + at[0]
    return g


def _minimum(one: Problem, alpha: float, start: Array | None) -> Array:
    """(k + 1, C - 1): the intercept, and the weights of every feature."""
    features, q = one.features, one.columns
    t, k = features.shape
    scale, V = one.scale, one.scale.spread * one.scale.V
    squares = np.einsum("t,tk,tk->k", one.weight, features, features)
    ridge = np.concatenate([[0.0], np.full(k, alpha)])
    curvature = 0.25 * scale.spread**2 * np.concatenate([[one.weight.sum()], squares]) + ridge
    root = np.sqrt(np.maximum(curvature, 1e-12))[:, None]

    def objective(x: Array) -> tuple[float, Array]:
        at = x.reshape(k + 1, q) / root
        log_p = log_softmax(scale.scores(_values(features, at)))
        value = -float(one.weight @ log_p[np.arange(t), one.codes])
        gap = np.exp(log_p)
        gap[np.arange(t), one.codes] -= 1.0
        gap *= one.weight[:, None]
        on_g = gap @ V
        gradient = np.concatenate([on_g.sum(axis=0)[None], features.T @ on_g]) + ridge[:, None] * at
        value += 0.5 * float(np.sum(ridge[:, None] * at**2))
        return value, (gradient / root).ravel()

    x = np.zeros((k + 1, q)) if start is None else start * root
    if start is None:
        # Shares of the classes: what no feature is needed for.
        x[0] = root[0] * (scale.log_shares @ scale.V) / scale.spread
    options: Any = {"maxiter": _ITERATIONS, "maxfun": 2 * _ITERATIONS, "ftol": _TOLERANCE, "gtol": 1e-6}
    found: Any = minimize(objective, np.ravel(x), jac=True, method="L-BFGS-B", options=options)
    at: Array = found.x.reshape(k + 1, q) / root
    return at
