"""The target as the method sees it, z, and predictions of z back in the target's own units.

    u = (y - mean) / scale,   z = (g(u) - g_mean) / g_scale,   g the identity, a logarithm or Yeo-Johnson's power

The inverse of a predicted z would be a median. What minimises squared errors is a mean: the average of the inverse over
the errors of left-out rows ("smearing"), tabulated, because it is a smooth function of z alone. Predictions stay within
the training rows' range and a twentieth of it on either side, and within bounds that the user knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from enrelm_cli.fold.weights import Weights, quantile
from enrelm_cli.inputs.checks import must, number, numbers
from enrelm_cli.inputs.maps.column_map import FAR
from enrelm_cli.types import Array

Transform = Literal["none", "log", "yeo-johnson"]
TRANSFORMS: tuple[Transform, ...] = get_args(Transform)

_MARGIN = 1.0 / 20.0
_KNOTS = 513
_QUANTILES = 50  # of the left-out errors
_TINY = 1e-300
# Powers whose inverse is steep at the ends of the range say more of the ends than of the rows.
SHAPES = (-1.0, 3.0)


@dataclass(frozen=True)
class TargetScale:
    """Fixed by the training rows; `errors` and the range are those of a fitted network."""

    mean: float
    scale: float  # standard deviation of the training target
    transform: Transform = "none"
    shape: float = 1.0  # of Yeo-Johnson; for a logarithm mean / scale: log(u + shape) is log(y) up to a constant
    g_mean: float = 0.0
    g_scale: float = 1.0
    low: float | None = None  # smallest and largest u of the training rows, where predictions keep to them
    high: float | None = None
    lower: float | None = None  # bounds of y that the user knows
    upper: float | None = None
    errors: Array = field(default_factory=lambda: np.zeros(0))  # (q,) quantiles of left-out errors of z

    @property
    def is_linear(self) -> bool:
        """z is u, and nothing is clipped."""
        bounds = (self.low, self.high, self.lower, self.upper)
        return self.transform == "none" and all(bound is None for bound in bounds)

    def standard(self, y: Array) -> Array:
        """u: (t,) -> (t,), in units of the training target's spread."""
        _, exponent = np.frexp(self.scale)
        shift = -int(exponent) if abs(int(exponent)) > 100 else 0
        # The difference of two targets near the end of the numbers is beyond it; so is a far one in a tiny unit.
        with np.errstate(over="ignore"):
            centred = np.ldexp(y, shift) - np.ldexp(self.mean, shift)
            scaled: Array = np.clip(centred / np.ldexp(self.scale, shift), -FAR, FAR)
        return scaled

    def forward(self, y: Array) -> Array:
        """z: (t,) -> (t,)."""
        u = self.standard(y)
        return u if self.transform == "none" else (self._g(u) - self.g_mean) / self.g_scale

    def units(self, z: Array) -> Array:
        """u of targets z, the exact inverse."""
        return z if self.transform == "none" else self._inverse(z * self.g_scale + self.g_mean)

    def log_slope(self, u: Array) -> Array:
        """log dz/du at targets u: what the density of z gains or loses as one of u."""
        if self.transform == "none":
            return np.zeros_like(u)
        if self.transform == "log":
            of_g = -np.log(np.maximum(u + self.shape, _TINY))
        else:
            of_g = np.where(u >= 0.0, self.shape - 1.0, 1.0 - self.shape) * np.log1p(np.abs(u))
        slope: Array = of_g - np.log(self.g_scale)
        return slope

    def predicted(self, z: Array) -> Array:
        """u of predictions z, of any shape: clipped, and the mean over left-out errors."""
        if self.transform == "none":
            u = z if self.low is None else np.clip(z, *self.range)
        else:
            u = np.interp(z, *self.table)
        if self.lower is None and self.upper is None:
            return u
        lower, upper = (None if bound is None else self.standard(np.array(bound)) for bound in (self.lower, self.upper))
        bounded: Array = np.clip(u, lower, upper)
        return bounded

    def back(self, z: Array) -> Array:
        """y of predictions z; without a range it may overflow far outside of the training rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            y: Array = self.mean + self.scale * self.predicted(z)
        return y

    def kept(self, z: Array) -> Array:
        """Predictions z where they are not clipped, and the nearest of those where they are."""
        if self.transform != "none":
            knots, _ = self.table
            return np.clip(z, knots[0], knots[-1])
        return z if self.low is None else np.clip(z, *self.range)

    def end_units(self, z: Array) -> Array:
        """u of ends of intervals: the inverse without the mean over errors, which they are made of themselves. Where
        an inverse may be steep they stay within the range of predictions.
        """
        return z if self.transform == "none" else np.clip(self.units(self.kept(z)), *self.range)

    def within(self, y: Array) -> Array:
        """y, such as the ends of an interval, within the bounds that the user knows."""
        return y if self.lower is None and self.upper is None else np.clip(y, self.lower, self.upper)

    def ranged(self, u_low: float, u_high: float) -> TargetScale:
        """Predictions within this range of u and its margin."""
        return replace(self, low=u_low, high=u_high)

    def bounded(self, lower: float | None, upper: float | None) -> TargetScale:
        """With bounds of y that the user knows."""
        return replace(self, lower=lower, upper=upper)

    def smeared(self, errors: Array, weight: Weights = None) -> TargetScale:
        """With the left-out errors (r,) of z that a fitted network makes."""
        if self.transform == "none" or not len(errors):
            return self
        return replace(self, errors=quantile(errors, (np.arange(_QUANTILES) + 0.5) / _QUANTILES, weight))

    @cached_property
    def table(self) -> tuple[Array, Array]:
        """Knots of z, and the mean of the inverse over left-out errors at each."""
        ends = (self._g(np.array([self.low, self.high])) - self.g_mean) / self.g_scale
        low, high = _with_margin(float(ends[0]), float(ends[1]))
        z = np.linspace(low, high, _KNOTS)
        errors = self.errors if len(self.errors) else np.zeros(1)
        # A power may end within the margin: there its inverse is clipped as well.
        u = np.clip(self.units(np.clip(z[:, None] + errors, low, high)), *self.range)
        return z, u.mean(axis=1)

    @property
    def range(self) -> tuple[float, float]:
        return _with_margin(0.0 if self.low is None else self.low, 0.0 if self.high is None else self.high)

    def _g(self, u: Array) -> Array:
        if self.transform == "log":
            logarithm: Array = np.log(np.maximum(u + self.shape, _TINY))
            return logarithm
        return yeo_johnson(u, self.shape)

    def _inverse(self, g: Array) -> Array:
        if self.transform == "log":
            u: Array = np.exp(np.minimum(g, 700.0)) - self.shape
            return u
        return yeo_johnson_inverse(g, self.shape)

    def check(self) -> None:
        """ValueError unless it could have been fitted."""
        must(self.transform in TRANSFORMS, f"the transform {self.transform!r} is unknown")
        for name in ("mean", "shape", "g_mean"):
            number(name, getattr(self, name))
        number("scale", self.scale, lowest=0.0)
        number("g_scale", self.g_scale, lowest=np.finfo(float).tiny)
        must(self.transform != "yeo-johnson" or SHAPES[0] <= self.shape <= SHAPES[1], "'shape' is out of range")
        must((self.low is None) is (self.high is None), "a range has two ends")
        must(self.low is not None or self.transform == "none", "a transform has no range")
        for name in ("low", "high", "lower", "upper"):
            if getattr(self, name) is not None:
                number(name, getattr(self, name))
        must(self.low is None or self.high is None or self.low <= self.high, "the range is empty")
        must(self.lower is None or self.upper is None or self.lower < self.upper, "the bounds are empty")
        numbers("errors", self.errors, (len(self.errors),))
        must(len(self.errors) <= _QUANTILES, "'errors' are too many")

    def to_document(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> TargetScale:
        must(set(document) == set(TargetScale.__dataclass_fields__), "the fields are those of another format")
        return TargetScale(**document)


def _with_margin(low: float, high: float) -> tuple[float, float]:
    margin = _MARGIN * (high - low)
    return low - margin, high + margin


def yeo_johnson(u: Array, shape: float) -> Array:
    """((1+u)^s - 1)/s for u >= 0, -((1-u)^(2-s) - 1)/(2-s) below; logarithms where a power is 0."""
    up, down = np.maximum(u, 0.0), np.maximum(-u, 0.0)
    above = np.log1p(up) if abs(shape) < 1e-8 else np.expm1(shape * np.log1p(up)) / shape
    rest = 2.0 - shape
    below = np.log1p(down) if abs(rest) < 1e-8 else np.expm1(rest * np.log1p(down)) / rest
    g: Array = np.where(u >= 0.0, above, -below)
    return g


def yeo_johnson_inverse(g: Array, shape: float) -> Array:
    """Its inverse; a g beyond every u is taken as the nearest that is not."""
    up, down = np.maximum(g, 0.0), np.maximum(-g, 0.0)
    above = _power_inverse(up, shape)
    u: Array = np.where(g >= 0.0, above, -_power_inverse(down, 2.0 - shape))
    return u


def _power_inverse(g: Array, shape: float) -> Array:
    """u >= 0 with ((1+u)^s - 1)/s = g >= 0."""
    log = g if abs(shape) < 1e-8 else np.log1p(np.maximum(shape * g, 1e-12 - 1.0)) / shape
    u: Array = np.expm1(np.minimum(log, 700.0))
    return u
