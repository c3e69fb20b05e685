"""Charts as SVG text: no library, no network. Colours are CSS: variables in the page, fixed in the paper's figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from enrelm_cli.report import words
from enrelm_cli.show.axes import Scale
from enrelm_cli.show.chart import Band, Chart, Cloud, Line, Mark, Point, Shape
from enrelm_cli.types import Array

Paint = Callable[[str], str]  # a method's name -> a CSS colour


@dataclass(frozen=True)
class Frame:
    """Where on the paper the chart is, in pixels, and how much of it one can see."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    ticks: tuple[int, int]  # about so many on x and y
    points: int  # of a line: more would fall on one another

    def px(self, share: float) -> float:
        return self.left + share * (self.width - self.left - self.right)

    def py(self, share: float) -> float:
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)

    @property
    def clip(self) -> str:
        width, height = self.width - self.left - self.right, self.height - self.top - self.bottom
        return f'<rect x="{self.left}" y="{self.top}" width="{width}" height="{height}"/>'


# Drawn at about the size a phone shows it, so that 12 px stay legible there.
PAGE = Frame(440, 300, left=48, right=12, top=12, bottom=44, ticks=(6, 5), points=400)


def figure(identity: str, chart: Chart, paint: Paint) -> str:
    """One chart with its legend and caption, for a page."""
    title = escape(words.visible(chart.title))
    clip = f'<clipPath id="{identity}-clip">{PAGE.clip}</clipPath>'
    legend = "".join(_entry(mark, paint) for mark in chart.named())
    return (
        f'<figure><svg viewBox="0 0 {PAGE.width} {PAGE.height}" role="img" aria-labelledby="{identity}-title">'
        f'<title id="{identity}-title">{title}</title><defs>{clip}</defs>{_axis_names(chart, PAGE)}'
        f"{drawing(chart, PAGE, f'{identity}-clip', paint)}</svg>"
        f'<ul class="legend">{legend}</ul><figcaption>{title}</figcaption></figure>'
    )


def drawing(chart: Chart, frame: Frame, clip: str, paint: Paint) -> str:
    """Axes and marks; `clip` is the id of the clip path that keeps lines inside."""
    points = [mark for mark in chart.marks if isinstance(mark, Point)]
    others = [mark for mark in chart.marks if not isinstance(mark, Point)]
    drawn = "".join(_drawn(mark, chart, frame, paint) for mark in others)
    dots = "".join(_point(mark, chart, frame, paint) for mark in points)
    return f'{_axes(chart, frame)}<g clip-path="url(#{clip})">{drawn}</g>{dots}'


def _axes(chart: Chart, frame: Frame) -> str:
    bottom, left, right = frame.height - frame.bottom, frame.left, frame.width - frame.right
    parts = [f'<path class="axis" d="M{left} {frame.top}V{bottom}H{right}"/>']
    values = chart.y.ticks(frame.ticks[1])
    for value, text in zip(values, chart.y.texts(values), strict=True):
        at = frame.py(chart.y.scale.at(value))
        parts.append(f'<path class="grid" d="M{left} {at:.1f}H{right}"/>')
        parts.append(f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{text}</text>')
    values = chart.x.ticks(frame.ticks[0])
    for value, text in zip(values, chart.x.texts(values), strict=True):
        at = frame.px(chart.x.scale.at(value))
        parts.append(f'<path class="axis" d="M{at:.1f} {bottom}v4"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 17}" text-anchor="middle">{text}</text>')
    return "".join(parts)


def _axis_names(chart: Chart, frame: Frame) -> str:
    across, up = frame.px(0.5), frame.py(0.5)
    return (
        f'<text x="{across:.0f}" y="{frame.height - 8}" text-anchor="middle">{escape(chart.x.name)}</text>'
        f'<text transform="translate(12 {up:.0f}) rotate(-90)" text-anchor="middle">{escape(chart.y.name)}</text>'
    )


def _drawn(mark: Line | Band | Cloud, chart: Chart, frame: Frame, paint: Paint) -> str:
    colour = paint(mark.method)
    if isinstance(mark, Band):
        there = _points(mark.x, mark.low, chart, frame)
        back = _points(mark.x, mark.high, chart, frame)[::-1]
        return f'<path class="band" style="fill:{colour}" d="{_path(there + back)}Z"/>'
    if isinstance(mark, Cloud):
        dots = (f"M{a} {b}h0" for a, b in _points(mark.x, mark.y, chart, frame, len(mark.x)))
        return f'<path class="cloud" style="stroke:{colour}" d="{"".join(dots)}"/>'
    points = _points(mark.x, mark.y, chart, frame)
    if not points:
        return ""
    if len(points) == 1:
        return f'<circle cx="{points[0][0]}" cy="{points[0][1]}" r="3" style="fill:{colour}"/>'
    return f'<path class="line {mark.stroke}" style="stroke:{colour}" d="{_path(points)}"/>'


def _point(mark: Point, chart: Chart, frame: Frame, paint: Paint) -> str:
    x, y = chart.x.scale, chart.y.scale
    at, up = frame.px(x.at(mark.x)), frame.py(y.at(mark.y))
    bar = ""
    if 0.0 < mark.spread < mark.y:
        top, bottom = frame.py(y.at(mark.y + mark.spread)), frame.py(y.at(mark.y - mark.spread))
        bar = f'<path class="line thin" style="stroke:{paint(mark.method)}" d="M{at:.1f} {top:.1f}V{bottom:.1f}"/>'
    shape = _shape(mark.shape, paint(mark.method), at, up, 5.0)
    return f"{bar}<g><title>{escape(words.visible(mark.name))}</title>{shape}</g>"


def _points(xs: Array, ys: Array, chart: Chart, frame: Frame, most: int | None = None) -> list[tuple[str, str]]:
    kept = [(float(a), float(b)) for a, b in _thinned(xs, ys, most or frame.points) if not math.isnan(b)]
    return [(_number(frame.px(chart.x.scale.at(a))), _number(frame.py(_share(chart.y.scale, b)))) for a, b in kept]


def _thinned(xs: Array, ys: Array, most: int) -> list[tuple[float, float]]:
    """The bend is at the left: every point there, then as many as can be told apart."""
    n = len(xs)
    kept = np.unique(np.concatenate([np.arange(min(n, 40)), np.linspace(0, max(n - 1, 0), most).astype(int)]))
    return [(xs[k], ys[k]) for k in kept if k < n]


def _share(scale: Scale, value: float) -> float:
    """Far above the chart is above the chart: a viewer need not draw a line to 1e9."""
    return min(3.0, scale.at(min(value, 1e12)))


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _path(points: Sequence[tuple[str, str]]) -> str:
    return "M" + "L".join(f"{a} {b}" for a, b in points)


def _shape(shape: Shape, colour: str, x: float, y: float, r: float) -> str:
    style = f'style="fill:{colour}"'
    if shape == "diamond":
        r *= 1.2
        return f'<path class="dot" {style} d="M{x:.1f} {y - r:.1f}l{r} {r}l{-r} {r}l{-r} {-r}Z"/>'
    if shape == "triangle":
        return f'<path class="dot" {style} d="M{x:.1f} {y - 1.2 * r:.1f}l{1.1 * r:.1f} {2 * r}h{-2.2 * r:.1f}Z"/>'
    if shape == "square":
        r *= 0.9
        return f'<rect class="dot" {style} x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r}" height="{2 * r}"/>'
    return f'<circle class="dot" {style} cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'


def sample(mark: Mark, paint: Paint) -> str:
    """24 by 14 pixels that show what the mark looks like."""
    colour = paint(mark.method)
    if isinstance(mark, Line):
        return f'<path class="line {mark.stroke}" style="stroke:{colour}" d="M0 7H24"/>'
    if isinstance(mark, Band):
        return f'<rect class="band" style="fill:{colour}" y="1" width="24" height="12"/>'
    if isinstance(mark, Cloud):
        return f'<path class="cloud" style="stroke:{colour}" d="M4 9h0M12 5h0M20 8h0"/>'
    return _shape(mark.shape, colour, 12.0, 7.0, 5.0)


def _entry(mark: Mark, paint: Paint) -> str:
    name = escape(words.visible(mark.name))
    return f'<li><svg width="24" height="14" aria-hidden="true">{sample(mark, paint)}</svg> {name}</li>'


def spark(shares: Sequence[float]) -> str:
    """A bar chart without axes, as tall as its largest share."""
    largest = max(shares, default=0.0) or 1.0
    heights = [20.0 * share / largest for share in shares]
    bars = "".join(
        f'<rect x="{8 * i}" y="{20.0 - height:.1f}" width="7" height="{height:.1f}"/>'
        for i, height in enumerate(heights)
    )
    return f'<svg viewBox="0 0 96 20" width="96" height="20" preserveAspectRatio="none" aria-hidden="true">{bars}</svg>'
