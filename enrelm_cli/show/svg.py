"""A small writer of line charts as SVG, for the page: no library, no network, colours by CSS variables.

Colours are names of variables (`--kernel`), so that the page's light and dark themes also paint its charts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from enrelm_cli.report import words
from enrelm_cli.show.axes import Scale, ticks
from enrelm_cli.types import Array

# Drawn at about the size a phone shows it, so that 12 px stay legible there.
_WIDTH, _HEIGHT = 440, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 12, 12, 44


@dataclass(frozen=True)
class Trace:
    """A line through points; without a name it has no place in the legend, without points it has only that."""

    name: str
    paint: str  # a CSS variable's name
    x: Array  # (n,)
    y: Array  # (n,)
    kind: str = ""  # "", "thin", "dashed" or "dotted"


@dataclass(frozen=True)
class Band:
    name: str
    paint: str
    x: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Dot:
    """A point with a shape, and perhaps an error bar."""

    name: str
    paint: str
    x: float
    y: float
    shape: str = "circle"  # circle, diamond, triangle or square
    spread: float = 0.0


Mark = Trace | Band | Dot


@dataclass(frozen=True)
class Axis:
    name: str
    scale: Scale
    ticks: tuple[float, ...]


def integer_axis(name: str, scale: Scale) -> Axis:
    return Axis(name, scale, tuple(value for value in ticks(scale, 6) if value == round(value)))


def error_axis(name: str, scale: Scale) -> Axis:
    return Axis(name, scale, tuple(ticks(scale, 5)))


def chart(identity: str, title: str, x: Axis, y: Axis, marks: Sequence[Mark]) -> str:
    """One chart with its legend."""
    inner = [_axes(x, y), f'<g clip-path="url(#{identity}-clip)">']
    inner += [_drawn(mark, x.scale, y.scale) for mark in marks if not isinstance(mark, Dot)]
    inner += ["</g>"]
    inner += [_drawn(mark, x.scale, y.scale) for mark in marks if isinstance(mark, Dot)]
    clip = (
        f'<clipPath id="{identity}-clip"><rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH - _LEFT - _RIGHT}" '
        f'height="{_HEIGHT - _TOP - _BOTTOM}"/></clipPath>'
    )
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{identity}-title">'
        f'<title id="{identity}-title">{escape(title)}</title><defs>{clip}</defs>{"".join(inner)}</svg>'
        f'<ul class="legend">{"".join(_legend(mark) for mark in _named(marks))}</ul>'
        f"<figcaption>{escape(title)}</figcaption></figure>"
    )


def _px(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _py(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _axes(x: Axis, y: Axis) -> str:
    bottom, left = _HEIGHT - _BOTTOM, _LEFT
    parts = [f'<path class="axis" d="M{left} {_TOP}V{bottom}H{_WIDTH - _RIGHT}"/>']
    decimals = max((len(f"{value:.6g}".partition(".")[2]) for value in y.ticks), default=0)
    for value in y.ticks:
        at = _py(y.scale.at(value))
        parts.append(f'<path class="grid" d="M{left} {at:.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{value:.{decimals}f}</text>')
    for value in x.ticks:
        at = _px(x.scale.at(value))
        parts.append(f'<path class="axis" d="M{at:.1f} {bottom}v4"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 17}" text-anchor="middle">{value:,g}</text>')
    middle_x, middle_y = (_LEFT + _WIDTH - _RIGHT) / 2, (_TOP + bottom) / 2
    parts.append(f'<text x="{middle_x:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(x.name)}</text>')
    parts.append(
        f'<text transform="translate(12 {middle_y:.0f}) rotate(-90)" text-anchor="middle">{escape(y.name)}</text>'
    )
    return "".join(parts)


def _drawn(mark: Mark, x: Scale, y: Scale) -> str:
    if isinstance(mark, Trace):
        points = _points(mark.x, mark.y, x, y)
        if not points:  # only in the legend
            return ""
        if len(points) == 1:
            return f'<circle cx="{points[0][0]}" cy="{points[0][1]}" r="3" style="fill:var({mark.paint})"/>'
        return f'<path class="line {mark.kind}" style="stroke:var({mark.paint})" d="{_path(points)}"/>'
    if isinstance(mark, Band):
        there, back = _points(mark.x, mark.low, x, y), _points(mark.x, mark.high, x, y)[::-1]
        return f'<path class="band" style="fill:var({mark.paint})" d="{_path(there + back)}Z"/>'
    at, up = _px(x.at(mark.x)), _py(y.at(mark.y))
    bar = ""
    if mark.spread > 0.0 and mark.y > mark.spread:
        top, bottom = _py(y.at(mark.y + mark.spread)), _py(y.at(mark.y - mark.spread))
        bar = f'<path class="line thin" style="stroke:var({mark.paint})" d="M{at:.1f} {top:.1f}V{bottom:.1f}"/>'
    return f"{bar}<g><title>{escape(mark.name)}</title>{_shape(mark, at, up, 5.0)}</g>"


def _points(xs: Array, ys: Array, x: Scale, y: Scale) -> list[tuple[str, str]]:
    kept = [(float(a), float(b)) for a, b in zip(xs, ys, strict=True) if not math.isnan(b)]
    # Far above the chart is above the chart; a viewer need not draw a line to 1e9.
    return [(f"{_px(x.at(a)):.1f}", f"{_py(min(3.0, y.at(min(b, 1e12)))):.1f}") for a, b in kept]


def _path(points: Sequence[tuple[str, str]]) -> str:
    return "M" + "L".join(f"{a} {b}" for a, b in points)


def _shape(mark: Dot, x: float, y: float, r: float) -> str:
    style = f'style="fill:var({mark.paint})"'
    if mark.shape == "diamond":
        r *= 1.2
        return f'<path class="dot" {style} d="M{x:.1f} {y - r:.1f}l{r} {r}l{-r} {r}l{-r} {-r}Z"/>'
    if mark.shape == "triangle":
        return f'<path class="dot" {style} d="M{x:.1f} {y - 1.2 * r:.1f}l{1.1 * r:.1f} {2 * r}h{-2.2 * r:.1f}Z"/>'
    if mark.shape == "square":
        r *= 0.9
        return f'<rect class="dot" {style} x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r}" height="{2 * r}"/>'
    return f'<circle class="dot" {style} cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'


def _named(marks: Sequence[Mark]) -> list[Mark]:
    found: dict[str, Mark] = {}
    for mark in marks:
        if mark.name:
            found.setdefault(mark.name, mark)
    return list(found.values())


def _legend(mark: Mark) -> str:
    if isinstance(mark, Trace):
        sample = f'<path class="line {mark.kind}" style="stroke:var({mark.paint})" d="M0 7H24"/>'
    elif isinstance(mark, Band):
        sample = f'<rect class="band" style="fill:var({mark.paint})" y="1" width="24" height="12"/>'
    else:
        sample = _shape(mark, 12.0, 7.0, 5.0)
    return f'<li><svg width="24" height="14" aria-hidden="true">{sample}</svg> {escape(words.visible(mark.name))}</li>'


def level(name: str, paint: str, height: float, scale: Scale) -> Trace:
    """A horizontal line."""
    return Trace(name, paint, np.array([scale.low, scale.high]), np.array([height, height]), "dotted")
