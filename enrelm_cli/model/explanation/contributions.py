"""What each column adds to a prediction, so that the parts add up (docs/explain.md).

The straight line from the average row (every input at its training mean, which is 0) to row x is walked in the space of
inputs, and what the prediction z gains on the way is booked to the column whose inputs moved:

    a_k(x) = sum over inputs i of column k of x_i * integral over t in [0, 1] of dz/dx_i (t x) dt

(integrated gradients, the Aumann-Shapley value of a column). Back in units of the target they are multiplied by the
secant of the target's scale, (y(x) - y(0)) / (z(x) - z(0)). The mean of a_k over an even sample of the fitted table is
subtracted, so that a column's effects are 0 on average and `average` is the sample's average prediction:

    y(x) = average + sum_k effect_k(x),   effect_k(x) = a_k(x) - mean a_k

Gauss-Legendre quadrature, with more nodes where few do not add up; what is left is shared out by size. Of an additive
function the effects are its parts, of a linear one beta_k (x_k - mean of x_k).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from enrelm_cli.fold.folds import one_blas_thread
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.model.explanation.gradients import Gradient, smooth_parts
from enrelm_cli.model.explanation.reference import Reference
from enrelm_cli.model.explanation.scores import MOST, places, score_model
from enrelm_cli.model.features import BLOCK_BYTES, block_rows
from enrelm_cli.model.model import Model
from enrelm_cli.types import Array

# Nodes on the way, and the reach up to which they do; more for rows whose parts do not add up to the tolerance, in
# standard deviations of the target.
_NODES = ((4, 1.0), (8, np.inf), (24, np.inf))
_TOLERANCE = 0.001
# A way that turns less than this is straight.
_STRAIGHT = 1e-6
# Kernel values of a block.
_CACHED = 1 << 17
# Below this the secant of the target's scale is its slope.
_SHORT = 1e-6
# Multiplications that the reference of a fit may take, and rows of it.
_WORK = 4e9
_ROWS = (50, 1000)


def contributions(model: Model, X: Array, reference: Reference) -> tuple[Array, Array, float]:
    """(t, columns) raw rows -> predictions (t,), effects (t, columns), average: prediction = average + effects' sum."""
    y, (u, effects) = model.predict(X), path_effects(model, X)
    effects -= reference.offsets
    used, scale = used_columns(model), model.target_scale
    assert isinstance(scale, TargetScale)
    average = float(reference.average)
    effects[:, used] = _adding_up(effects[:, used], u - average)
    return y, scale.scale * effects, scale.mean + scale.scale * average


def used_columns(model: Model) -> list[int]:
    """The columns that have inputs."""
    return sorted(set(model.input_map.groups))


def path_effects(model: Model, X: Array, limit: int = BLOCK_BYTES) -> tuple[Array, Array]:
    """(t, columns) raw rows -> predictions (t,) and a (t, columns), which add up to prediction - that of 0.

    In units of the target's spread: those of a target near the end of the numbers would overflow.
    """
    predicted, network = model.target_scale.predicted, model.network
    u, effects = np.empty(len(X)), np.zeros(X.shape)
    z_0 = network.predict(np.zeros((1, model.input_map.d)))
    rows = block_rows(2 * max(model.input_map.expansion.width, network.kernel_values), max(len(X), 1), limit)
    for start in range(0, len(X), rows):
        block = slice(start, start + rows)
        inputs = model.input_map.inputs(X[block])
        z = network.predict(inputs)
        u[block] = predicted(z)
        effects[block] = _walked(model, inputs, z - z_0) * _secant(model, z_0, z - z_0)[:, None]
    used = used_columns(model)
    effects[:, used] = _adding_up(effects[:, used], u - predicted(z_0))
    return u, effects


@one_blas_thread
def reference_of(model: Model, X: Array) -> Reference | None:
    """Of an even sample of raw rows (t, columns) in the order of a hash; None of too many classes."""
    if model.classes is None:
        return _reference_of(model, X, 1)
    every = places(model)
    if len(every) > MOST:
        return None
    models = [score_model(replace(model, reference=None), place) for place in every]
    found = [_reference_of(one, X, len(every)) for one in models]
    return Reference.stacked(found) if len(found) > 1 else found[0]


def _reference_of(model: Model, X: Array, times: int) -> Reference:
    cost = 4.0 * _NODES[1][0] * max(model.network.kernel_values, model.network.size, 1) * model.input_map.d
    u, effects = path_effects(model, X[: int(np.clip(_WORK / (cost * times), *_ROWS))])
    return Reference(float(u.mean()), effects.mean(axis=0))


def _walked(model: Model, inputs: Array, gain: Array) -> Array:
    """a of z: (t, d), (t,) -> (t, columns)."""
    walked = np.zeros((len(inputs), len(model.encoding.columns)))
    groups = np.asarray(model.input_map.groups)
    order = np.argsort(groups, kind="stable")
    columns, first = np.unique(groups[order], return_index=True)
    # Rows whose kernel values stay in a core's cache.
    height = max(_CACHED // max(model.network.kernel_values, model.network.size, 1), 16)
    for part in smooth_parts(model.network, inputs):
        for start in range(0, len(part.places), height):
            block = slice(start, start + height)
            left, reach = part.places[block], part.reach[block]
            for nodes, farthest in _NODES:
                now = reach <= farthest
                if not now.any():
                    continue
                parts = inputs[left[now]] * _mean_slope(part.slopes, inputs[left[now]], reach[now], nodes)
                by_column = np.add.reduceat(parts[:, order], first, axis=1)
                walked[np.ix_(left[now], columns)] = by_column
                done = np.zeros(len(left), dtype=bool)
                done[now] = np.abs(by_column.sum(axis=1) - gain[left[now]]) <= _TOLERANCE
                left, reach = left[~done], reach[~done]
    return walked


def _mean_slope(slopes: Gradient, inputs: Array, reach: Array, nodes: int) -> Array:
    """The mean of the slopes on the way from 0 to each row: (t, d) -> (t, d).

    Nodes are even in the angle by which the kernel sees the way turn, t = tan(theta) / reach: far from 0 a straight
    line hardly turns any more, and all that happens is near its start.
    """
    at, weight = np.polynomial.legendre.leggauss(nodes)
    reach = np.maximum(reach, _STRAIGHT)
    angle = np.arctan(reach)
    total = np.zeros_like(inputs)
    for share, w in zip((at + 1.0) / 2.0, weight / 2.0, strict=True):
        tangent = np.tan(share * angle)
        t, dt = tangent / reach, (1.0 + tangent**2) * angle / reach
        total += (w * dt)[:, None] * slopes(t[:, None] * inputs)
    return total


def _secant(model: Model, z_0: Array, gain: Array) -> Array:
    """(u(z_0 + gain) - u(z_0)) / gain."""
    predicted = model.target_scale.predicted
    short = np.abs(gain) < _SHORT
    step = np.where(short, 100.0 * _SHORT, gain)
    start = np.where(short, z_0 + gain - step / 2.0, z_0)
    secant: Array = (predicted(start + step) - predicted(start)) / step
    return secant


def _adding_up(effects: Array, wanted: Array) -> Array:
    """Effects whose sums are as wanted: what is missing is shared out by size."""
    sizes = np.abs(effects)
    total = sizes.sum(axis=1, keepdims=True)
    shares = np.divide(sizes, total, out=np.full_like(sizes, 1.0 / sizes.shape[1]), where=total > 0.0)
    whole: Array = effects + shares * (wanted - effects.sum(axis=1))[:, None]
    return whole
