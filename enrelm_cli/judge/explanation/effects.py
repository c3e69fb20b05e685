"""How a column acts on the prediction: accumulated local effects or partial dependence, each with a band.

Every effect is a linear function of predictions of moved rows, so one sum over rows gives the effect of f and, of the
kernel's values k(x), what its posterior variance needs. For a number or date, with edges v_0 < v_1 < ... at quantiles,

    effect(v_j) = sum_{i <= j} mean over rows with v_{i-1} < x_k <= v_i of [f(x | x_k = v_i) - f(x | x_k = v_{i-1})]

(Apley and Zhu 2020): only rows that are nearby move, and only a little. Levels have no order: their effects e fit the
mean differences between any two levels, over the rows of these two, by weighted least squares. Both are 0 on average.

The band is two standard errors: of the local differences over rows and, for the kernel variant, of the posterior. With
orthonormal eigenfunctions phi = K(x, Z) P, P' K_ZZ P = diag(1/lambda), and noise sigma,

    var f(x) = sigma^2 sum_j phi_j(x)^2 lambda_j / (lambda_j + alpha)

whose leverage at training rows is the one of variants/kernel.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.inputs.encoding import UNSEEN
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.model.features import KernelFeatures
from enrelm_cli.model.model import Model
from enrelm_cli.types import Array

_EDGES = 24  # intervals of a number, and values up to which each is an edge of its own
_LEVELS = 20
_SHARED = 300  # rows whose predictions make up partial dependence
_STEP = 1e-4


@dataclass(frozen=True)
class Effect:
    """Of one column, over an even sample of rows."""

    column: int
    values: Array  # (v,) raw: numbers, dates, or places of levels (NaN: missing)
    effect: Array  # (v,) in units of the target
    band: Array  # (v,) two standard errors
    rows: NDArray[np.int64]  # (v,) of the sample that have this level, or lie nearest to this value
    missing: int  # rows of the sample without a value


@dataclass(frozen=True)
class Posterior:
    """The kernel variant's posterior variance of any linear function of predictions."""

    features: KernelFeatures
    gain: Array  # (n,) sigma^2 lambda / (lambda + alpha), in units of the target

    @staticmethod
    def of(model: Model, X: Array) -> Posterior | None:
        """At raw rows X (t, columns), about whose predictions the target's scale is taken to be straight."""
        features, facts = model.network.features, model.network.facts or {}
        if not isinstance(features, KernelFeatures) or not {"alpha", "leave_one_out_error"} <= facts.keys():
            return None
        if not model.network.size:
            return None
        shrunk = 1.0 / (1.0 + facts["alpha"] * np.maximum(features.norms, 0.0))
        z = model.network.predict(model.input_map.inputs(X))
        assert isinstance(model.target_scale, TargetScale)
        back = model.target_scale.back
        slope = float(np.mean(back(z + _STEP) - back(z - _STEP))) / (2.0 * _STEP)
        return Posterior(features, (slope * facts["leave_one_out_error"]) ** 2 * shrunk)

    def variance(self, K: Array) -> Array:
        """Of sums of predictions whose kernel values sum to K: (v, m) -> (v,)."""
        variances: Array = np.square(K @ self.features.P) @ self.gain
        return variances


@dataclass(frozen=True)
class Moved:
    """Predictions of rows with one column set to other values."""

    model: Model
    posterior: Posterior | None

    def __call__(self, X: Array, column: int, values: Array | float) -> Array:
        """(t, 1 + m): prediction, and the kernel values where there is a posterior."""
        moved = X.copy()
        moved[:, column] = values
        if self.posterior is None:
            return self.model.predict(moved)[:, None]
        inputs = self.model.input_map.inputs(moved)
        K = self.posterior.features.prepared.against(inputs)
        with np.errstate(over="ignore", invalid="ignore"):
            z = self.model.network.of_kernel(K)
        y = self.model.from_scores(inputs, z, np.zeros(0))
        self.model.check_finite(y[:, 0])
        return np.hstack([y, K])

    def spread(self, sums: Array, row_variance: Array) -> Array:
        """Two standard errors of effects (v, 1 + m)."""
        variance = row_variance if self.posterior is None else row_variance + self.posterior.variance(sums[:, 1:])
        band: Array = 2.0 * np.sqrt(variance)
        return band


def effect_of(moved: Moved, X: Array, column: int, partial_dependence: bool) -> Effect | None:
    """Of raw rows (t, columns) in the order of a hash; None where the column has one value."""
    if moved.model.encoding.columns[column].levels is not None:
        return _of_levels(moved, X, column, partial_dependence)
    present = X[~np.isnan(X[:, column])]
    edges = _edges(present[:, column])
    if len(edges) < 2:
        return None
    sums, row_variance = (_dependence if partial_dependence else _accumulated)(moved, present, column, edges)
    centre = _weights(present[:, column], edges)
    sums -= centre @ sums
    nearest = np.bincount(_nearest(present[:, column], edges), minlength=len(edges))
    return Effect(column, edges, sums[:, 0], moved.spread(sums, row_variance), nearest, len(X) - len(present))


# --- numbers and dates -----------------------------------------------------------------------------------------------


def _edges(values: Array) -> Array:
    distinct = np.unique(values)
    if len(distinct) <= _EDGES:
        return distinct
    return np.unique(np.quantile(values, np.linspace(0.0, 1.0, _EDGES + 1), method="inverted_cdf"))


def _accumulated(moved: Moved, X: Array, column: int, edges: Array) -> tuple[Array, Array]:
    """Sums (v, 1 + m) of the mean local differences, and the variance of their first column over rows."""
    place = np.maximum(np.searchsorted(edges, X[:, column]) - 1, 0)
    order = np.argsort(place, kind="stable")
    X, place = X[order], place[order]
    steps, first = np.unique(place, return_index=True)
    # An interval that no row lies in (of a few distinct values) cannot be: its upper edge is a value.
    difference = moved(X, column, edges[place + 1]) - moved(X, column, edges[place])
    count = np.diff(np.append(first, len(X)))
    means = np.zeros((len(edges) - 1, difference.shape[1]))
    means[steps] = np.add.reduceat(difference, first, axis=0) / count[:, None]
    squares = np.add.reduceat(np.square(difference[:, 0] - means[place, 0]), first)
    variance = np.zeros(len(edges) - 1)
    variance[steps] = squares / np.maximum(count * (count - 1), 1)
    up = np.tril(np.ones((len(edges), len(edges) - 1)), -1)
    centred = up - _weights(X[:, column], edges) @ up
    return up @ means, np.square(centred) @ variance


def _dependence(moved: Moved, X: Array, column: int, edges: Array) -> tuple[Array, Array]:
    """Means (v, 1 + m) over rows with the column set to each edge."""
    X = X[:_SHARED]
    every = [moved(X, column, float(edge)) for edge in edges]
    own = np.stack([one[:, 0] for one in every])
    own = own - own.mean(axis=0)
    return np.stack([one.mean(axis=0) for one in every]), own.var(axis=1) / len(X)


def _weights(values: Array, edges: Array) -> Array:
    """(v,) with which values at the edges average to that over rows, straight between them."""
    place = np.maximum(np.searchsorted(edges, values) - 1, 0)
    share = (values - edges[place]) / (edges[place + 1] - edges[place])
    weights = np.bincount(place, 1.0 - share, len(edges)) + np.bincount(place + 1, share, len(edges))
    average: Array = weights / len(values)
    return average


def _nearest(values: Array, edges: Array) -> NDArray[np.int64]:
    return np.searchsorted((edges[1:] + edges[:-1]) / 2.0, values)


# --- levels ----------------------------------------------------------------------------------------------------------


def _of_levels(moved: Moved, X: Array, column: int, partial_dependence: bool) -> Effect | None:
    found, code, count = np.unique(X[:, column], return_inverse=True, return_counts=True, equal_nan=True)
    kept = np.sort(np.argsort(-count, kind="stable")[:_LEVELS])
    kept = kept[found[kept] != UNSEEN]
    if len(kept) < 2:
        return None
    X, code = X[np.isin(code, kept)], code[np.isin(code, kept)]
    code, n = np.searchsorted(kept, code), count[kept].astype(float)
    # M[b, a]: mean over the rows of level a, with level b in its place.
    M = np.stack([_by_level(moved(X, column, float(found[b])), code, len(kept)) for b in kept])
    sums = np.einsum("ba...,a->b...", M, n / n.sum()) if partial_dependence else _fitted_differences(M, n)
    sums = sums - (n / n.sum()) @ sums
    order = np.argsort(sums[:, 0], kind="stable")
    band, values = moved.spread(sums, np.zeros(len(kept))), found[kept]
    missing = int(np.isnan(X[:, column]).sum())
    return Effect(column, values[order], sums[order, 0], band[order], count[kept][order], missing)


def _by_level(values: Array, code: NDArray[np.int64], levels: int) -> Array:
    order = np.argsort(code, kind="stable")
    first = np.searchsorted(code[order], np.arange(levels))
    count = np.bincount(code, minlength=levels)
    means: Array = np.add.reduceat(values[order], first, axis=0) / count[:, None]
    return means


def _fitted_differences(M: Array, n: Array) -> Array:
    """e (levels, 1 + m) nearest to the differences between any two levels, each over the rows of both."""
    own = np.einsum("aa...->a...", M)
    # of[b, a]: from a to b over the rows of a; between[b, a] over those of both.
    of = M - own[None, :]
    weight = n[:, None] + n[None, :]
    total = n[None, :, None] * of - np.swapaxes(n[None, :, None] * of, 0, 1)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    effects: Array = np.linalg.pinv(laplacian, hermitian=True) @ total.sum(axis=1)
    return effects
