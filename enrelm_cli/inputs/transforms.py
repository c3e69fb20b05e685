"""Other scales of the target: which of them a table's targets allow, fitted to its training rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from enrelm_cli.fold.weights import Weights, mean, std, times, total, variance_of
from enrelm_cli.inputs.target_scale import SHAPES, TargetScale, Transform, yeo_johnson
from enrelm_cli.types import Array

# A power this close to 1 is no other scale.
_STRAIGHT = 0.02


def transformed(
    plain: TargetScale, transform: Transform, u: Array, positive: bool, weight: Weights = None
) -> TargetScale | None:
    """The scale for standardised training targets u (t,); None where it is not allowed, or no other scale.

    `positive`: the target is above 0 in every row of the table.
    """
    if transform == "none":
        return plain
    if transform == "log":
        logarithm = replace(plain, transform="log", shape=plain.mean / plain.scale)
        return _standardised(logarithm, u, weight) if positive else None
    shape = _likeliest_shape(u, weight)
    if abs(shape - 1.0) < _STRAIGHT:
        return None
    return _standardised(replace(plain, transform="yeo-johnson", shape=shape), u, weight)


def _standardised(scale: TargetScale, u: Array, weight: Weights) -> TargetScale | None:
    g = scale.forward(scale.mean + scale.scale * u)
    spread = std(g, weight)
    if not (np.isfinite(spread) and spread > 0.0):
        return None
    return replace(scale, g_mean=float(mean(g, weight)), g_scale=spread)


def _likeliest_shape(u: Array, weight: Weights) -> float:
    """The power that makes u most like a normal distribution: Yeo and Johnson's profile likelihood."""
    from scipy.optimize import minimize_scalar

    # sum of log |g'(u)| = (shape - 1) sum of sign(u) log(1 + |u|)
    bend = float(np.sum(times(weight, np.sign(u) * np.log1p(np.abs(u)))))
    rows = total(weight, len(u))

    def loss(shape: float) -> float:
        variance = variance_of(yeo_johnson(u, shape), weight)
        return 0.5 * rows * float(np.log(max(variance, 1e-300))) - (shape - 1.0) * bend

    return float(minimize_scalar(loss, bounds=SHAPES, method="bounded").x)
