"""Limited-memory BFGS in a box, whose memory can be carried to the next, larger problem.

    d = -H g on the coordinates that are free (not at a bound that the gradient pushes against), H from the last pairs
    (s, q) = (change of x, change of gradient);  x <- clip(x + t d),  t halved until the value falls enough.

A fit to more rows has nearly the same curvature for each row: with the pairs of the fit before, scaled by the rows, its
first step is a Newton step already, where a fresh start spends evaluations on finding the scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from enrelm_cli.types import Array

_MEMORY = 20
_LONGEST = 3.0  # step in any coordinate: they are logarithms
_ENOUGH = 1e-4  # of the fall that the slope promises
_HALVINGS = 8

Pairs = tuple[tuple[Array, Array], ...]  # (s, q), oldest first


@dataclass(frozen=True)
class Place:
    """A point on the way down, and the curvature seen so far."""

    x: Array
    value: float
    gradient: Array
    pairs: Pairs


def descend(
    objective: Callable[[Array], tuple[float, Array]], x: Array, bounds: tuple[Array, Array], pairs: Pairs = ()
) -> Iterator[Place]:
    """Each place with a lower value than the one before, the start first; ends where no step goes down."""
    place: Place | None = Place(x, *objective(x), pairs)
    while place is not None:
        yield place
        place = _next(objective, place, bounds)


def _next(objective: Callable[[Array], tuple[float, Array]], at: Place, bounds: tuple[Array, Array]) -> Place | None:
    """One step down; None where there is none."""
    step = _direction(at, bounds)
    for halving in range(_HALVINGS):
        ahead = np.clip(at.x + step * 0.5**halving, *bounds)
        s = ahead - at.x
        slope = float(at.gradient @ s)
        if slope >= 0.0:
            return None
        value, gradient = objective(ahead)
        if value <= at.value + _ENOUGH * slope:
            pairs = (*at.pairs, (s, gradient - at.gradient))
            return Place(ahead, value, gradient, tuple(filter(_bends, pairs))[-_MEMORY:])
    return None


def _direction(at: Place, bounds: tuple[Array, Array]) -> Array:
    """-H g by the two loops of L-BFGS, on the free coordinates; without pairs, at most one unit down the slope."""
    low, high = bounds
    free = ~(((at.x <= low) & (at.gradient > 0.0)) | ((at.x >= high) & (at.gradient < 0.0)))
    d = np.where(free, -at.gradient, 0.0)
    pairs = [pair for pair in ((s * free, q * free) for s, q in at.pairs) if _bends(pair)]
    if not pairs:
        return d / max(float(np.linalg.norm(d)), 1.0)
    weights = []
    for s, q in reversed(pairs):
        weights.append(float(s @ d) / float(s @ q))
        d = d - weights[-1] * q
    s, q = pairs[-1]
    d = d * (float(s @ q) / float(q @ q))
    for (s, q), weight in zip(pairs, reversed(weights), strict=True):
        d = d + s * (weight - float(q @ d) / float(s @ q))
    return d * min(1.0, _LONGEST / max(float(np.abs(d).max()), np.finfo(float).tiny))


def _bends(pair: tuple[Array, Array]) -> bool:
    """The slope rises along s: only such pairs keep H positive."""
    s, q = pair
    return float(s @ q) > 1e-10 * float(np.linalg.norm(s) * np.linalg.norm(q))


def scaled(pairs: Pairs, factor: float) -> Pairs:
    """The curvature of an objective that is `factor` times as large."""
    return tuple((s, factor * q) for s, q in pairs)
