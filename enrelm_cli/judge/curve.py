"""Error curves (algorithm 4) and the three choices of a neuron count that they offer.

    Err(l) = ||y - yhat_l|| / ||y - ybar||,  l = 1..n

with yhat_l from the first l neurons and ybar the mean of the *training* targets, whichever rows y is of. Err = 1 is
what predicting that mean gives. A curve is the array Err(1), Err(2), ..., Err(n); it may be noisy and need not fall.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.types import Array

# A quarter of a circle, bent equally everywhere, lies this far (in units of `knee`) below its chord.
CIRCLE = float(np.sqrt(2.0) - 1.0)
# Where the curve has all but arrived, and how much farther than that the knee's frame reaches.
_ARRIVED = 0.05
_FRAME = 3
# Noise is judged from at least this many points (where there are as many).
_NOISE_POINTS = 30
_SIGNIFICANT_DROP = 6.0
_SIGNIFICANT_BEND = 2.0


@dataclass(frozen=True)
class Choice:
    """A neuron count and the curve's error there."""

    neurons: int
    error: float

    def to_json(self) -> dict[str, Any]:
        return {"neurons": self.neurons, "validation_error": self.error}


@dataclass(frozen=True)
class Choices:
    """What the curve offers; a curve without a clear knee has None there."""

    best: Choice
    knee: Choice | None
    smallest: Choice

    def to_json(self) -> dict[str, Any]:
        return {name: None if choice is None else choice.to_json() for name, choice in vars(self).items()}


@dataclass(frozen=True)
class Curve:
    """Errors of every nested size, for the rows that trained and the rows that choose."""

    variant: str
    train: Array  # (n,)
    validation: Array  # (n,)
    choices: Choices
    stop: str | None  # why the iteration stopped, where there was one
    converged: bool  # the curve ends because the method converged: its last value goes on (the paper's dashed line)
    limit: int  # the largest size that was allowed
    only_size: str | None = (
        None  # what there is one of: its error is a number, a horizontal line where curves are drawn
    )
    chosen: Choice | None = None  # the size that a fit takes
    selection: str | None = None  # and how it was chosen: best, knee, smallest, all, or given

    @property
    def taken(self) -> Choice:
        """The size that a fit takes; of a curve alone, the best."""
        return self.chosen or self.choices.best

    def to_json(self) -> dict[str, Any]:
        return {
            "variant": self.variant,
            "curve": [
                {"neurons": n + 1, "train_error": float(t), "validation_error": float(v)}
                for n, (t, v) in enumerate(zip(self.train, self.validation, strict=True))
            ],
            "choices": self.choices.to_json(),
            "stop": self.stop,
            "converged": self.converged,
            "only_size": self.only_size,
            "chosen": None if self.chosen is None else self.chosen.to_json(),
            "selection": self.selection,
        }


@dataclass(frozen=True)
class ElmBand:
    """Random ELM over realisations: mean, standard deviation, smallest and largest error of every size."""

    mean: Array  # (n,)
    std: Array
    low: Array
    high: Array
    train_mean: Array
    train_low: Array
    train_high: Array
    realizations: int

    def to_json(self) -> dict[str, Any]:
        return {
            "realizations": self.realizations,
            "curve": [
                {"neurons": n + 1, "mean": float(m), "std": float(s), "min": float(a), "max": float(b)}
                for n, (m, s, a, b) in enumerate(zip(self.mean, self.std, self.low, self.high, strict=True))
            ],
        }


def choices(curve: Array, within: float = 0.01) -> Choices:
    """All three choices of one curve."""
    return Choices(best(curve), knee(curve), smallest(curve, within))


def best(curve: Array) -> Choice:
    """The first minimum: argmin_l Err(l). Sizes whose error is not a number are never chosen."""
    return _at(curve, int(np.argmin(_comparable(curve))))


def smallest(curve: Array, within: float = 0.01) -> Choice:
    """The fewest neurons within a fraction of the best: min { l : Err(l) <= (1 + within) min Err }."""
    e = _comparable(curve)
    return _at(curve, int(np.argmax(e <= (1.0 + within) * np.min(e))))


def knee(curve: Array) -> Choice | None:
    """Where the curve turns from falling to flat, or None where nothing stands out.

    The paper's "greatest curvature", in a form that a noisy curve allows (second differences of one do not): the point
    that lies deepest below the straight line from the curve's start to its floor,

        knee = argmax_l D(l),  D(l) = 1 - x_l - y_l,
        x_l = (l - 1) / (w - 1),  y_l = (Err(l) - min Err) / (Err(1) - min Err)

    for l = 1..w. Three things make that robust:

    - No smoothing is needed: the deepest point is always a new minimum of the curve (an earlier size at most as bad
      would lie deeper), so spikes and a rising tail cannot be chosen.
    - The frame's width w = min(n, 3 s), where s is the first size with y_s <= max(0.05, 2 noise), follows the bend and
      not n: a longer flat or rising tail does not move the knee.
    - It counts only if it is clear. With noise = the curve's (a robust standard deviation, from the median size of its
      second differences) in units of the drop Err(1) - min Err: the drop exceeds the noise six times, and
      D > sqrt(2) - 1 + 2 noise. The bound is that of a quarter circle, the curve that bends equally everywhere; a
      straight line has D = 0, a sharp corner nearly 1.

    Neither the unit of the errors nor their offset matters.
    """
    e = _comparable(curve)
    lowest = int(np.argmin(e))
    drop = float(e[0] - e[lowest])
    if len(e) < 3 or not 0.0 < drop < np.inf:
        return None
    # y is at most 1 wherever the knee can be; the cap keeps an infinite tail from making inf - inf.
    y = np.minimum((e - e[lowest]) / drop, 1e6)
    noise = _noise(y[: max(_FRAME * (lowest + 1), _NOISE_POINTS)])
    arrived = int(np.argmax(y <= max(_ARRIVED, 2.0 * noise))) + 1
    w = min(len(e), _FRAME * arrived)
    x = np.arange(w) / (w - 1)
    depth = 1.0 - x - y[:w]
    deepest = int(np.argmax(depth))
    if _SIGNIFICANT_DROP * noise >= 1.0 or depth[deepest] <= CIRCLE + _SIGNIFICANT_BEND * noise:
        return None
    return _at(curve, deepest)


def _at(curve: Array, index: int) -> Choice:
    return Choice(index + 1, float(curve[index]))


def _comparable(curve: Array) -> Array:
    e = np.where(np.isnan(curve), np.inf, curve)
    if e.ndim != 1 or not np.isfinite(e).any():
        raise ValueError("an error curve needs at least one finite error")
    return e


def _noise(y: Array) -> float:
    """The standard deviation of white noise that would make second differences of this size: median |d2 y|, robust to
    the few large ones of the bend itself.
    """
    second = np.abs(y[2:] - 2.0 * y[1:-1] + y[:-2])
    return float(np.median(second)) / (0.6745 * float(np.sqrt(6.0)))
