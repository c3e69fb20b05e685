"""Scales and round ticks: what the terminal plot, the figures and the page draw by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enrelm_cli.types import Array

_LOG_FROM = 40


def decimals(values: list[float]) -> int:
    """Digits after the point that tell the values apart."""
    return max((len(f"{value:.6g}".partition(".")[2]) for value in values), default=0)


@dataclass(frozen=True)
class Scale:
    """Data -> 0..1."""

    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        if self.log:
            return math.log(value / self.low) / max(math.log(self.high / self.low), 1e-12)
        return (value - self.low) / max(self.high - self.low, 1e-12)

    def value(self, share: float) -> float:
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + share * (self.high - self.low)


def neuron_scale(largest: int) -> Scale:
    """From one neuron up; logarithmic where a linear axis would press the bend into a corner."""
    return Scale(1.0, float(max(largest, 2)), log=largest > _LOG_FROM)


def error_scale(curves: Sequence[Array], others: Sequence[float] = ()) -> Scale:
    """From the smallest error to the largest that says something: far above 1, every error is just bad.

    A random ELM near n = rows, or a late overfit, may be a thousand times the mean's error: the axis ends where the
    curves start (or at 1), and what lies above leaves through the top.
    """
    finite = [curve[np.isfinite(curve)] for curve in curves]
    values = np.concatenate([*finite, np.array([v for v in others if math.isfinite(v)], dtype=np.float64)])
    starts = [float(curve[0]) for curve in finite if len(curve)]
    low, high = float(values.min()), float(values.max())
    high = min(high, 1.1 * max([1.0, *(start for start in starts if start < 3.0)]))
    high = max(high, low * 1.02, low + 1e-6)
    margin = 0.04 * (high - low)
    # More room below than above: that is where the names of the choices go.
    return Scale(max(0.0, low - 3 * margin), high + margin)


def ticks(scale: Scale, about: int) -> list[float]:
    """Round numbers inside the scale: 1, 2, 5 times powers of ten; over many decades the powers alone."""
    if not scale.log or scale.high < 10.0 * scale.low:
        return _even_ticks(scale, about)
    powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    for digits in ((1, 2, 5), (1,)):
        values = [digit * 10.0**power for power in powers for digit in digits]
        inside = [value for value in values if scale.low * 0.999999 <= value <= scale.high * 1.000001]
        if len(inside) <= 2 * about:
            break
    return inside


def _even_ticks(scale: Scale, about: int) -> list[float]:
    raw = (scale.high - scale.low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= raw * 0.999)
    first = math.ceil(scale.low / step - 1e-9)
    return [i * step for i in range(first, math.floor(scale.high / step + 1e-9) + 1)]


# Steps of dates, in months and in microseconds.
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)
_DAY = 86_400_000_000
_SHORT = tuple(n * 60_000_000 for n in (1, 5, 15, 30, 60, 180, 360, 720)) + tuple(n * _DAY for n in (1, 2, 7, 14))


def date_ticks(scale: Scale, about: int) -> list[float]:
    """Round dates inside a scale of microseconds since 1970: at most so many."""
    for step in _SHORT:
        if (scale.high - scale.low) / step <= about:
            first = math.ceil(scale.low / step)
            return [float(i * step) for i in range(first, math.floor(scale.high / step) + 1)]
    first_month, last_month = (_month(value) for value in (scale.low, scale.high))
    for step in _MONTHS:
        starts = range(math.ceil(first_month / step) * step, last_month + 1, step)
        found = [float(np.datetime64(int(start), "M").astype("datetime64[us]").astype(int)) for start in starts]
        inside = [value for value in found if scale.low <= value <= scale.high]
        if len(inside) <= about:
            break
    return inside


def _month(microseconds: float) -> int:
    return int(np.datetime64(int(microseconds), "us").astype("datetime64[M]").astype(int))


def date_texts(values: Sequence[float]) -> list[str]:
    """As short as tells them apart: years, months, days or minutes."""
    texts = [str(np.datetime64(int(value), "us").astype("datetime64[m]")) for value in values]
    if all(text.endswith("-01-01T00:00") for text in texts):
        return [text[:-12] for text in texts]
    if all(text.endswith("-01T00:00") for text in texts):
        return [text[:-9] for text in texts]
    return [text[:-6] if text.endswith("T00:00") else text.replace("T", " ") for text in texts]
