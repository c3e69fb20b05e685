"""Intervals and quantiles of predictions, as wide at each row as errors of rows like it are when they are left out.

With f(x) the prediction on the scale that the network was fitted on, and s(x) how much an error spreads there,

    log s(x) = noise(x, f(x)) + 1/2 log(1 + |off(x)|^2),     score_i = (z_i - f_-i(x_i)) / s_-i(x_i),

an interval has the ends f(x) + s(x) q, with q quantiles of the scores, brought back to the target's own units. `noise`
is larger where rows are noisier. |off(x)|^2 = phi(x)'A^-1 phi(x), the variance of the prediction in units of the
noise, grows away from all rows. Without either, s is 1: intervals of one width.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.inputs.checks import must, number, numbers, truth
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.model.features import KernelFeatures
from enrelm_cli.types import Array

# Scores that a file holds at most, evenly by rank.
KEPT = 4096
_LARGEST = float(np.finfo(float).max)
# Spreads of more than e^30 to either side say nothing more.
_STEEPEST = 30.0
_ROUNDING = 1e-9  # of a rank


@dataclass(frozen=True)
class Tilt:
    """A cubic of t = log s - centre, t kept within [low, high], that is added to log s: regressions shrink extremes."""

    centre: float
    low: float
    high: float
    b: Array  # (3,)
    shift: float = 0.0

    def powers(self, log: Array) -> Array:
        """(t,) -> (t, 3)."""
        t = np.clip(log - self.centre, self.low, self.high)
        return np.stack([t, t * t, t * t * t], axis=1)

    def of(self, log: Array) -> Array:
        tilted: Array = log + self.powers(log) @ self.b + self.shift
        return tilted

    def check(self) -> None:
        for name in ("centre", "low", "high", "shift"):
            number(name, getattr(self, name))
        must(self.low <= self.high, "'low' is above 'high'")
        numbers("b", self.b, (3,))


@dataclass(frozen=True)
class Spread:
    """s(x), up to a factor."""

    centre: float  # of the predictions that `noise` was fitted to
    unit: float
    noise: KernelFeatures | None  # one output, of [x, f] or of f alone
    off: KernelFeatures | None
    tilt: Tilt | None = None

    def of(self, X: Array, f: Array) -> Array:
        """(t, d), (t,) -> (t,)."""
        log = np.zeros(len(X))
        if self.noise is not None:
            log += self.noise.outputs(self.noise_inputs(X, f))[:, 0]
        if self.off is not None:
            far = self.off.outputs(X)
            log += 0.5 * np.log1p(np.einsum("ij,ij->i", far, far))
        if self.tilt is not None:
            log = self.tilt.of(log)
        spread: Array = np.exp(np.clip(log, -_STEEPEST, _STEEPEST))
        return spread

    def noise_inputs(self, X: Array, f: Array) -> Array:
        standard = ((f - self.centre) / self.unit)[:, None]
        assert self.noise is not None
        return standard if self.noise.Z.shape[1] == 1 else np.hstack([X, standard])

    def require(self) -> None:
        if self.off is not None:
            self.off.require()

    @property
    def kernel_values(self) -> int:
        """That a row takes."""
        return sum(len(one.Z) for one in (self.noise, self.off) if one is not None)

    def check(self, d: int) -> None:
        number("centre", self.centre)
        number("unit", self.unit, lowest=np.finfo(float).tiny)
        if self.noise is not None:
            self.noise.check(1, 1 if self.noise.Z.shape[1] == 1 else d + 1)
        if self.off is not None:
            self.off.check(self.off.size, d)
        if self.tilt is not None:
            self.tilt.check()

    def to_document(self) -> dict[str, Any]:
        noise, off = (None if one is None else one.to_document() for one in (self.noise, self.off))
        tilt = None if self.tilt is None else dict(vars(self.tilt))
        return {"centre": self.centre, "unit": self.unit, "noise": noise, "off": off, "tilt": tilt}

    @staticmethod
    def from_document(document: dict[str, Any]) -> Spread:
        noise, off = (
            None if document[name] is None else KernelFeatures.from_document(document[name])
            for name in ("noise", "off")
        )
        tilt = document["tilt"]
        return Spread(document["centre"], document["unit"], noise, off, None if tilt is None else Tilt(**tilt))


@dataclass(frozen=True)
class Intervals:
    """What is known of errors; nothing where there are no scores."""

    scores: Array = field(default_factory=lambda: np.zeros(0))  # (q,) sorted
    symmetric: bool = True  # an interval goes as far to one side as to the other
    own_units: bool = False  # scores and spread are of the target itself, not of the scale of the network
    signed: bool = True  # False: scores are absolute, of an older model
    spread: Spread | None = None

    @cached_property
    def _absolute(self) -> Array:
        return np.sort(np.abs(self.scores))

    def facts(self) -> dict[str, Any]:
        """For reports: errors known, and what widths follow."""
        spread = self.spread
        off, noise = (
            spread is not None and one is not None for one in (spread and spread.off, spread and spread.noise)
        )
        return {"left_out_errors": len(self.scores), "noise": noise, "off_data": off, "symmetric": self.symmetric}

    def require(self, variant: str) -> None:
        """Complain before any output where there is nothing to make intervals from, or something is not installed."""
        if not len(self.scores):
            raise UsageError(
                f"this {variant} model has no left-out errors to make intervals from",
                "fit it again; a network cut to fewer neurons has none",
            )
        if self.spread is not None:
            self.spread.require()

    def ends(self, level: float) -> tuple[float, float]:
        """In units of s: an interval that holds a new target about as often as `level` says.

        Symmetric: the ceil(level (q + 1))-th smallest |score|. Else the scores that leave (1 - level) / 2 outside on
        each side, where there are enough of them.
        """
        count = len(self.scores)
        outside = _down((1.0 - level) / 2.0 * (count + 1))
        if not self.symmetric and outside >= 1:
            return float(self.scores[outside - 1]), float(self.scores[count - outside])
        rank = _up(level * (count + 1))
        if rank > count:
            raise UsageError(
                f"--interval {level:g} needs more than the {count} left-out errors of this model",
                f"use at most --interval {np.floor(100 * count / (count + 1)) / 100:g}",
            )
        half = float(self._absolute[rank - 1])
        return -half, half

    def quantile(self, share: float) -> float:
        """In units of s: new targets are below it about as often as `share` says."""
        count = len(self.scores)
        if not self.signed:
            raise UsageError(
                "this model knows the size of its errors but not their sign: it has intervals, but no quantiles",
                "fit it again",
            )
        if share == 0.5:
            return float(np.median(self.scores))
        rank = (_down if share < 0.5 else _up)(share * (count + 1))
        if not 1 <= rank <= count:
            least = np.ceil(100 / (count + 1)) / 100
            raise UsageError(
                f"--quantile {share:g} needs more than the {count} left-out errors of this model",
                f"use --quantile {least:g} to {1.0 - least:g}",
            )
        return float(self.scores[rank - 1])

    def at(self, X: Array, z: Array, times: Array, scale: TargetScale) -> Array:
        """y at f(x) + s(x) times, for inputs X and predictions z of the network: (t, d), (t,), (k,) -> (t, k)."""
        centre = scale.predicted(z) if self.own_units else scale.kept(z)
        spread = np.ones(len(z)) if self.spread is None else self.spread.of(X, centre)
        with np.errstate(over="ignore", invalid="ignore"):
            places = centre[:, None] + spread[:, None] * times
            y = scale.mean + scale.scale * (places if self.own_units else scale.end_units(places))
        return scale.within(y)

    def check(self, d: int) -> None:
        count = len(self.scores)
        # A score may be infinite: of a row that the others say nothing about, in a unit near the end of the numbers.
        must(type(self.scores) is np.ndarray and self.scores.dtype == np.float64, "'scores' is not an array of numbers")
        numbers("scores", np.clip(self.scores, -_LARGEST, _LARGEST), (count,))
        must(bool(np.all(self.scores[1:] >= self.scores[:-1])), "'scores' are not sorted")
        for name in ("symmetric", "own_units", "signed"):
            truth(name, getattr(self, name))
        must(self.signed or self.symmetric, "absolute scores have no sides")
        if self.spread is not None:
            self.spread.check(d)

    def to_document(self) -> dict[str, Any]:
        names = ("scores", "symmetric", "own_units", "signed")
        spread = None if self.spread is None else self.spread.to_document()
        return {**{name: getattr(self, name) for name in names}, "spread": spread}

    @staticmethod
    def from_document(document: dict[str, Any]) -> Intervals:
        names = ("scores", "symmetric", "own_units", "signed")
        spread = None if document["spread"] is None else Spread.from_document(document["spread"])
        return Intervals(**{name: document[name] for name in names}, spread=spread)


def _down(rank: float) -> int:
    """The whole number below; 0.05 * 200 is 10, whatever rounding makes of it."""
    return int(np.floor(rank + _ROUNDING))


def _up(rank: float) -> int:
    return int(np.ceil(rank - _ROUNDING))


def order_statistics(values: Array, weight: Array | None = None) -> Array:
    """Sorted, at most KEPT of them, evenly by rank; with weights as many, evenly by weight."""
    if weight is not None:
        return _weighted_ranks(values, weight)
    ordered = np.sort(values)
    if len(ordered) <= KEPT:
        return ordered
    ranks = np.ceil((np.arange(1, KEPT + 1)) / (KEPT + 1) * (len(ordered) + 1)).astype(int) - 1
    kept: Array = ordered[np.minimum(ranks, len(ordered) - 1)]
    return kept


def _weighted_ranks(values: Array, weight: Array) -> Array:
    """The k-th of q: the smallest that k/(q + 1) of the weight, and a row of mean weight, do not exceed."""
    order = np.argsort(values, kind="stable")
    q, mean = min(len(values), KEPT), weight.mean() if len(weight) else 1.0
    wanted = np.arange(1, q + 1) / (q + 1) * (weight.sum() + mean)
    places = np.searchsorted(np.cumsum(weight[order]), wanted * (1.0 - 1e-12))
    ranked: Array = values[order][np.minimum(places, len(values) - 1)]
    return ranked
