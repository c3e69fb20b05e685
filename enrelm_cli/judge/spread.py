"""How much errors spread at each row: a regression of their size on kernel features, judged on rows that it left out.

With a_i = |error of row i when it is left out|, g = log s and any features F of the rows,

    minimise  sum_i w_i (g_i + a_i exp(-g_i)) + alpha/2 |weights|^2,   g = c + F weights

(the likelihood of a Laplace distribution, which far errors upset less than squares). Its Fisher information is that of
least squares, so every step of Fisher scoring is a ridge regression with one and the same matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.folds import one_blas_thread
from enrelm_cli.fold.threads import side_by_side
from enrelm_cli.inputs.maps.column_map import Folds
from enrelm_cli.kernels.arcsine import ArcsineKernel, Kernel
from enrelm_cli.model.features import KernelFeatures
from enrelm_cli.model.intervals import Tilt
from enrelm_cli.phase_one.eigenbasis import landmark_projection
from enrelm_cli.phase_one.landmarks import Landmarks
from enrelm_cli.types import Array

# Landmarks of a spread, and rows for each: it is smoother than the prediction, and has less to go by.
_LANDMARKS, _ROWS_EACH = 200, 5
_KNOTS = 20  # of the spread by the prediction alone
_RIDGES = np.geomspace(100.0, 0.01, 9)
_STEPS = 6
# An error of so many spreads counts as one of them; in the deviance that judges, of more.
_FAR, _FARTHEST = 4.0, 20.0
# Rows that choose features and ridge.
_CHOOSING = 8192
# Rows from which a tilt is fitted, its ridge, and the share of them at either end beyond which it stays as it is.
_TILTED, _ONE, _ENDS = 1000, np.ones(1), 0.02


def landmarks_for(rows: int) -> int:
    """How many are enough for the errors of so many rows."""
    return min(_LANDMARKS, max(_KNOTS, rows // _ROWS_EACH))


@dataclass(frozen=True)
class Errors:
    """Rows that were left out, and their errors."""

    X: Array  # (n, d)
    f: Array  # (n,) predictions without the row
    size: Array  # (n,) |errors|
    weight: Array  # (n,) 1 on average
    fold: Folds  # (n,) rows that belong together share one

    def first(self, rows: int) -> Errors:
        return Errors(self.X[:rows], self.f[:rows], self.size[:rows], self.weight[:rows], self.fold[:rows])


@dataclass(frozen=True)
class Ground:
    """Kernel features of [x, f], or of f alone: F = K(inputs, Z) R."""

    kernel: Kernel
    Z: Array  # (m, .)
    R: Array  # (m, k)

    def of(self, inputs: Array) -> Array:
        return self.kernel.prepare(self.Z).against(inputs) @ self.R


def ground(kernel: Kernel, Z: Array) -> Ground:
    _, first = np.unique(Z, axis=0, return_index=True)
    Z = Z[np.sort(first)]
    return Ground(kernel, Z, landmark_projection(kernel, Landmarks(Z, np.zeros(len(Z), np.uint64), False)).R)


def grounds(standard: Array, beside: tuple[Array, Array, Array] | None) -> list[Ground]:
    """What a spread may depend on: the prediction; and, with landmarks (Z, their predictions, the variances of the
    network's kernel), the inputs as the network weighs them, or all alike: noise may come from a column that the
    prediction does not use.
    """
    knots = np.quantile(standard, (np.arange(_KNOTS) + 0.5) / _KNOTS)[:, None]
    made = [ground(ArcsineKernel(1.0, 1.0), knots)]
    if beside is not None:
        Z, f, v = beside
        d, both = Z.shape[1], np.hstack([Z, f[:, None]])
        for weights in (np.broadcast_to(v, (d,)), np.full(d, 1.0 / d)):
            made.append(ground(ArcsineKernel(np.append(weights, 1.0), 1.0), both))
    return made


@dataclass(frozen=True)
class Regression:
    """g = c + (F - mean) B for each ridge."""

    mean: Array  # (k,)
    B: Array  # (k, r)
    c: Array  # (r,)

    def of(self, F: Array) -> Array:
        g: Array = (F - self.mean) @ self.B + self.c
        return g


@one_blas_thread
def regress(F: Array, size: Array, weight: Array, ridges: Array) -> Regression:
    """(n, k), (n,), (n,), (r,): the steps of every ridge together."""
    total = weight.sum()
    mean = weight @ F / total
    centred = F - mean
    rooted = centred * np.sqrt(weight)[:, None]
    values, V = np.linalg.eigh(rooted.T @ rooted)
    shrink = 1.0 / (np.maximum(values, 0.0)[:, None] + ridges)
    g = np.full((len(size), len(ridges)), np.log(weight @ size / total))
    for _ in range(_STEPS):
        response = g + np.minimum(size[:, None] * np.exp(-g), _FAR) - 1.0
        # A few columns of responses are turned by V, not all the rows.
        c, B = weight @ response / total, V @ ((V.T @ (centred.T @ (response * weight[:, None]))) * shrink)
        g = c + centred @ B
    return Regression(mean, B, c)


def left_out(F: Array, rows: Errors, ridges: Array, threads: int = 1) -> Array:
    """g of every row from the rows of other folds: (n, r)."""

    def without(own: NDArray[np.bool_]) -> Array:
        return regress(F[~own], rows.size[~own], rows.weight[~own], ridges).of(F[own])

    return _by_folds(rows.fold, without, threads)


def _by_folds(fold: Folds, without: Callable[[NDArray[np.bool_]], Array], threads: int) -> Array:
    """(n, ...): what `without` its rows makes of each fold."""
    folds = [fold == one for one in np.unique(fold)]
    parts = side_by_side(without, folds, threads)
    together = np.empty((len(fold), *parts[0].shape[1:]))
    for own, part in zip(folds, parts, strict=True):
        together[own] = part
    return together


def deviance(g: Array, size: Array) -> Array:
    """g + a exp(-g), less for errors that are far from everything."""
    terms: Array = g + np.minimum(size * np.exp(-g), _FARTHEST)
    return terms


@dataclass(frozen=True)
class Noise:
    """A regression of the size of errors, and its g of rows that it left out."""

    features: KernelFeatures
    g: Array  # (n,)


def noise_of(rows: Errors, standard: Array, choices: Sequence[Ground], threads: int = 1) -> Noise | None:
    """The features and the ridge with the least left-out deviance; None unless that is clearly below a constant's."""
    few = rows.first(_CHOOSING)
    constant = deviance(np.log(few.weight @ few.size / few.weight.sum()), few.size)
    gains = []
    for one in choices:
        g = left_out(one.of(_inputs(one, few.X, standard)), few, _RIDGES, threads)
        gains.append(constant[:, None] - deviance(g, few.size[:, None]))
    means = np.array([few.weight @ gain for gain in gains]) / few.weight.sum()
    which, ridge = divmod(int(np.argmax(means)), len(_RIDGES))
    if means[which, ridge] <= standard_error(gains[which][:, ridge], few.weight):
        return None
    chosen, ridges = choices[which], _RIDGES[ridge : ridge + 1]
    F = chosen.of(_inputs(chosen, rows.X, standard))
    final = regress(F, rows.size, rows.weight, ridges)
    offset = final.mean @ final.B - final.c
    features = KernelFeatures(chosen.kernel, chosen.Z, chosen.R @ final.B, offset)
    return Noise(features, left_out(F, rows, ridges, threads)[:, 0])


def _inputs(one: Ground, X: Array, standard: Array) -> Array:
    own = standard[: len(X), None]
    return own if one.Z.shape[1] == 1 else np.hstack([X, own])


@dataclass(frozen=True)
class Tilted:
    """A tilt, and the log spread of rows with the tilt that the rows of other folds gave."""

    tilt: Tilt
    log: Array  # (n,)


def tilt_of(rows: Errors, log: Array) -> Tilted | None:
    """What is left of the size of errors, by log s of left-out rows (n,) alone; None for few rows."""
    if len(log) < _TILTED:
        return None
    centre = float(np.mean(log))
    low, high = np.quantile(log - centre, (_ENDS, 1.0 - _ENDS)).tolist()
    plain = Tilt(centre, low, high, np.zeros(3))
    F, rest = plain.powers(log), replace(rows, size=rows.size * np.exp(-log))
    found = regress(F, rest.size, rest.weight, _ONE)
    b, shift = found.B[:, 0], float(found.c[0] - found.mean @ found.B[:, 0])
    return Tilted(replace(plain, b=b, shift=shift), log + left_out(F, rest, _ONE)[:, 0])


@dataclass(frozen=True)
class Off:
    """sqrt(phi'A^-1) of the network's own features, and |.|^2 of rows from the rows of other folds."""

    features: KernelFeatures
    h: Array  # (n,)


@one_blas_thread
def off_of(kernel: Kernel, Z: Array, rows: Errors, alpha: float, T: float, threads: int = 1) -> Off:
    """A = T times the covariance of the features over all rows + alpha: what T rows of this sample would add up to."""
    chosen = ground(kernel, Z)
    F = chosen.of(rows.X)

    def without(own: NDArray[np.bool_]) -> Array:
        mean, root = _root(F[~own], rows.weight[~own], alpha, T)
        h: Array = np.sum(((F[own] - mean) @ root) ** 2, axis=1)
        return h

    h = _by_folds(rows.fold, without, threads)
    mean, root = _root(F, rows.weight, alpha, T)
    return Off(KernelFeatures(kernel, chosen.Z, chosen.R @ root, mean @ root), h)


def _root(F: Array, weight: Array, alpha: float, T: float) -> tuple[Array, Array]:
    """The mean, and a root of A^-1: root root' = A^-1."""
    total = weight.sum()
    mean = weight @ F / total
    rooted = (F - mean) * np.sqrt(weight * (T / total))[:, None]
    values, V = np.linalg.eigh(rooted.T @ rooted)
    return mean, V / np.sqrt(np.maximum(values, 0.0) + alpha)


def standard_error(values: Array, weight: Array) -> float:
    """Of their weighted mean."""
    mean = weight @ values / weight.sum()
    return float(np.sqrt(np.sum((weight * (values - mean)) ** 2)) / weight.sum())
