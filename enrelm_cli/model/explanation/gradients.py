"""How a network's prediction changes with its inputs, whatever its hidden outputs are.

A hidden layer and a kernel on landmarks are one smooth function; the local variant is one for each leaf, which goes on
smoothly beyond the leaf's own corner of the input space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.kernels.arcsine import ArcsineKernel, PreparedRows
from enrelm_cli.kernels.gradients import gradient
from enrelm_cli.model.features import HiddenLayer, KernelFeatures
from enrelm_cli.model.linear_features import LinearFeatures
from enrelm_cli.model.local_features import LocalFeatures
from enrelm_cli.model.network import Network
from enrelm_cli.types import Array

# (t, d) rows -> (t, d) slopes of the standardised prediction.
Gradient = Callable[[Array], Array]

# Where there is no closed form: half the step of a central difference, in standardised units.
_STEP = 1e-4


@dataclass(frozen=True)
class SmoothPart:
    """Rows that one smooth function predicts."""

    places: NDArray[np.int64]  # (r,) of the rows
    slopes: Gradient
    reach: Array  # (r,) tangent of the angle under which the kernel sees the way from 0 to the row; 0: a straight line


def smooth_parts(network: Network, X: Array) -> Iterator[SmoothPart]:
    """The rows of X (t, d) by the function that predicts them."""
    features, every = network.features, np.arange(len(X))
    if not network.size:
        yield SmoothPart(every, np.zeros_like, np.zeros(len(X)))
    elif isinstance(features, HiddenLayer):
        yield SmoothPart(every, partial(_of_layer, features, network.beta), np.zeros(len(X)))
    elif isinstance(features, KernelFeatures) and isinstance(features.prepared, PreparedRows):
        slopes = partial(_of_kernel, features.prepared, features.P @ network.beta)
        yield SmoothPart(every, slopes, _reach(features.prepared.kernel, X))
    elif isinstance(features, LinearFeatures):
        yield SmoothPart(every, partial(_of_line, features.B * network.beta[0]), np.zeros(len(X)))
    elif isinstance(features, LocalFeatures) and isinstance(features.kernel, ArcsineKernel):
        yield from _of_leaves(features, float(network.beta[0]), X)
    else:
        yield SmoothPart(every, partial(_by_differences, network), np.zeros(len(X)))


def _of_layer(layer: HiddenLayer, beta: Array, X: Array) -> Array:
    """sum_j beta_j sigma'(w_j . x) w_j."""
    slopes: Array = (layer.sigma.slope(X @ layer.W.T) * beta) @ layer.W
    return slopes


def _of_line(slopes: Array, X: Array) -> Array:
    return np.broadcast_to(slopes, X.shape)


def _of_kernel(landmarks: PreparedRows, weights: Array, X: Array) -> Array:
    return gradient(landmarks, X, weights)


def _reach(kernel: ArcsineKernel, X: Array) -> Array:
    """|sqrt(2 v) x| / sqrt(1 + 2 b): on the way t x, u turns by arctan(t reach)."""
    squares = np.square(X) @ np.broadcast_to(2.0 * np.asarray(kernel.weight_variance), X.shape[1:])
    reach: Array = np.sqrt(squares / (1.0 + 2.0 * kernel.bias_variance))
    return reach


def _of_leaves(features: LocalFeatures, beta: float, X: Array) -> Iterator[SmoothPart]:
    landmarks = features.kernel.prepare(features.Z)
    assert isinstance(landmarks, PreparedRows)
    for b, places in features.leaves.groups(X):
        rows = slice(features.first[b], features.first[b + 1])
        own = features.kernel.prepare(features.X[rows])
        assert isinstance(own, PreparedRows)
        slopes = partial(_of_leaf, landmarks, beta * features.C[b], own, beta * features.a[rows])
        yield SmoothPart(places, slopes, _reach(own.kernel, X[places]))


def _of_leaf(landmarks: PreparedRows, c: Array, own: PreparedRows, a: Array, X: Array) -> Array:
    slopes = gradient(landmarks, X, c)
    return slopes + gradient(own, X, a) if len(a) else slopes


def _by_differences(network: Network, X: Array) -> Array:
    """Central differences: 2 d predictions a row."""
    slopes = np.empty_like(X)
    for k in range(X.shape[1]):
        step = np.zeros(X.shape[1])
        step[k] = _STEP
        slopes[:, k] = (network.predict(X + step) - network.predict(X - step)) / (2.0 * _STEP)
    return slopes
