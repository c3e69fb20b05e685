"""What a chart shows, whatever draws it: axes, lines, bands, points and their names.

Braille (terminal), SVG (page, the paper's figures) and matplotlib (--plot) draw the same description.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from enrelm_cli.judge.curve import Curve, ElmBand
from enrelm_cli.report import words
from enrelm_cli.report.blocks import sizes_offered
from enrelm_cli.report.compare_view import error_name
from enrelm_cli.report.reports import CompareReport, CurveReport
from enrelm_cli.show.axes import Scale, date_texts, date_ticks, decimals, error_scale, neuron_scale, ticks
from enrelm_cli.types import Array

# No error is shown below this, no time below the other: a logarithmic axis has no zero, and a perfect fit no error.
_LEAST_ERROR, _LEAST_SECONDS = 1e-6, 1e-6
_CHOICE_SHAPES: dict[str, Shape] = {"best": "circle", "knee": "diamond", "smallest": "triangle", "all": "square"}
_METHOD_SHAPES: tuple[Shape, ...] = ("circle", "square", "diamond", "triangle")
_COMPACT = 1e4  # from here on numbers beside an axis are short: 12k, 3M
INK = "ink"  # what is no method's own has no colour of its own

Stroke = Literal["solid", "thin", "dashed", "dotted"]
Shape = Literal["circle", "diamond", "triangle", "square"]


@dataclass(frozen=True)
class Line:
    """A line through points. Without a name it is not in the legend."""

    name: str
    method: str  # whose colour it has
    x: Array  # (n,)
    y: Array  # (n,)
    stroke: Stroke = "solid"


@dataclass(frozen=True)
class Band:
    name: str
    method: str
    x: Array  # (n,)
    low: Array  # (n,)
    high: Array  # (n,)


@dataclass(frozen=True)
class Point:
    """A point with a shape, and perhaps an error bar."""

    name: str
    method: str
    x: float
    y: float
    shape: Shape = "circle"
    spread: float = 0.0


@dataclass(frozen=True)
class Cloud:
    """Many small dots."""

    name: str
    method: str
    x: Array  # (n,)
    y: Array  # (n,)


Mark = Line | Band | Point | Cloud


@dataclass(frozen=True)
class Axis:
    name: str
    scale: Scale
    counts: bool = False  # only whole numbers are ticks
    dates: bool = False  # microseconds since 1970

    def texts(self, values: Sequence[float]) -> list[str]:
        """What stands beside the ticks."""
        if self.dates:
            return date_texts(values)
        if self.counts:
            return [f"{value:,g}" for value in values]
        if max((abs(value) for value in values), default=0.0) >= _COMPACT:
            return [compact(value) for value in values]
        # No comma: years are numbers, too.
        return [f"{value:.{decimals(list(values))}f}" for value in values]

    def ticks(self, about: int) -> list[float]:
        if self.dates:
            return date_ticks(self.scale, about)
        return [value for value in ticks(self.scale, about) if not self.counts or value == round(value)]


@dataclass(frozen=True)
class Chart:
    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]

    def named(self) -> list[Mark]:
        """The legend: every name once."""
        found: dict[str, Mark] = {}
        for mark in self.marks:
            if mark.name:
                found.setdefault(mark.name, mark)
        return list(found.values())


def compact(value: float) -> str:
    """12k, 3.5M, 2e+09."""
    size = abs(value)
    if size >= 1e9 or size == 0.0:
        return f"{value:.3g}"
    return f"{value / 1e6:g}M" if size >= 1e6 else f"{value / 1e3:g}k"


def curve_chart(report: CurveReport, training: bool = True) -> Chart:
    """Errors of every size, with the winner's choices; of many variants perhaps without the training errors."""
    if report.classes:
        return class_curve_chart(report)
    winner = report.winner
    chart = sizes_chart("Error of every size", report.curves, report.elm, report.linear_error, training)
    points = tuple(
        Point(
            f"{' = '.join(names)}: {words.count(choice.neurons)}",
            INK,
            choice.neurons,
            choice.error,
            _CHOICE_SHAPES.get("best" if "best" in names else names[0], "square"),
        )
        for names, choice in ([] if winner.only_size is not None else sizes_offered(winner))
    )
    return Chart(chart.title, chart.x, chart.y, chart.marks + points)


def class_curve_chart(report: CurveReport) -> Chart:
    """Log-loss and error rate of every size, with the size that a fit takes."""
    longest = max(len(curve.validation) for curve in report.curves)
    x, marks = neuron_scale(longest), list[Mark]()
    for variant, one in report.classes.items():
        values = {"log-loss": np.array(one.log_loss), "error rate": np.array(one.error_rate)}
        strokes: tuple[Stroke, Stroke] = ("solid", "thin")
        for (name, y), stroke in zip(values.items(), strokes, strict=True):
            at = np.array(one.neurons, float)
            # One size is a horizontal line, as linear regression has.
            level_at = (np.array([x.low, x.high]), np.repeat(y, 2)) if len(y) == 1 else (at, y)
            marks.append(Line(f"{variant}, {name}", variant, *level_at, stroke))
    winner, taken = report.winner, report.winner.taken
    found = report.classes[winner.variant]
    if winner.only_size is None and taken.neurons in found.neurons:
        name = f"{winner.selection or 'best'}: {words.count(taken.neurons)}"
        marks.append(Point(name, INK, taken.neurons, found.at(taken.neurons)[1]))
    heights = np.concatenate([mark.y for mark in marks if isinstance(mark, Line)])
    y_axis = Axis("log-loss, error rate", Scale(0.0, 1.05 * max(float(heights.max()), 1e-6)))
    neurons = Axis("neurons, logarithmic" if x.log else "neurons", x, counts=True)
    return Chart("Log-loss and error rate of every size", neurons, y_axis, tuple(marks))


def compare_chart(report: CompareReport) -> Chart | None:
    """Validation errors of every size, on the first split; nothing where no method has sizes."""
    if not report.curves and report.elm is None:
        return None
    linear = next((row.error for row in report.rows if row.method == "linear"), math.nan)
    title = "Validation error of every size" + (", first split" if report.repeats > 1 else "")
    # Only in the paper's protocol do the table and the curves show errors of the same rows.
    shown = linear if report.protocol == "paper" else math.nan
    return sizes_chart(title, report.curves, report.elm, shown, training=False)


def sizes_chart(title: str, curves: Sequence[Curve], elm: ElmBand | None, linear_error: float, training: bool) -> Chart:
    """Errors against neurons."""
    longest = max([len(curve.validation) for curve in curves] + ([] if elm is None else [len(elm.mean)]))
    shown = [curve.validation for curve in curves] + ([curve.train for curve in curves] if training else [])
    shown += [] if elm is None else [elm.low, elm.mean]
    x, y = neuron_scale(longest), error_scale(shown, [linear_error])
    marks: list[Mark] = []
    if elm is not None:
        marks += elm_marks(elm.mean, elm.low, elm.high, f"elm, range of {elm.realizations}")
    if math.isfinite(linear_error):
        marks.append(level(f"linear regression {words.error(linear_error)}", "linear", linear_error, x))
    for curve in curves:
        marks += _of_curve(curve, longest, training) if curve.only_size is None else _of_one_size(curve, x)
    neurons = Axis("neurons, logarithmic" if x.log else "neurons", x, counts=True)
    errors = Axis("relative error" if training else "relative validation error", y)
    return Chart(title, neurons, errors, tuple(marks))


def elm_marks(mean: Array, low: Array, high: Array, band: str) -> list[Mark]:
    n = np.arange(1.0, len(mean) + 1)
    return [Band(band, "elm", n, low, high), Line("elm, mean", "elm", n, mean)]


def _of_curve(curve: Curve, longest: int, training: bool) -> list[Mark]:
    n = np.arange(1.0, len(curve.validation) + 1)
    marks: list[Mark] = []
    if training:
        marks.append(Line(f"{curve.variant}, training", curve.variant, n, curve.train, "thin"))
    name = f"{curve.variant}, validation" if training else curve.variant
    marks.insert(0, Line(name, curve.variant, n, curve.validation))
    if curve.converged:
        marks += continued(curve.variant, curve.validation, min(curve.limit, longest))
    return marks


def _of_one_size(curve: Curve, x: Scale) -> list[Mark]:
    """A horizontal line, as linear regression has."""
    error = curve.choices.best.error
    return [level(f"{curve.variant} {words.error(error)}", curve.variant, error, x)]


def continued(method: str, errors: Array, end: int) -> list[Mark]:
    """The paper's dashes: the method has converged, so more neurons would change nothing."""
    if end <= len(errors):
        return []
    return [Line("", method, np.array([len(errors), end], float), np.repeat(errors[-1:], 2), "dashed")]


def level(name: str, method: str, height: float, scale: Scale) -> Line:
    """A horizontal line across the chart."""
    return Line(name, method, np.array([scale.low, scale.high]), np.array([height, height]), "dotted")


def time_chart(report: CompareReport) -> Chart:
    """Errors against the time to fit, both logarithmic."""
    points = tuple(
        Point(
            row.method,
            row.method,
            max(row.fit_seconds, _LEAST_SECONDS),
            max(row.error, _LEAST_ERROR),
            _METHOD_SHAPES[number % len(_METHOD_SHAPES)],
            row.error_std or 0.0,
        )
        for number, row in enumerate(row for row in report.rows if math.isfinite(row.error))
    )
    times = [point.x for point in points] or [1.0]
    lows = [max(point.y - point.spread, point.y / 2) for point in points] or [1.0]
    highs = [point.y + point.spread for point in points] or [1.0]
    x = Scale(min(times) / 2, max(times) * 2, log=True)
    y = Scale(min(lows) * 0.95, max(highs) * 1.05, log=True)
    title = "Error against the time to fit"
    return Chart(title, Axis("time to fit (s)", x), Axis(f"relative {error_name(report)}", y), points)
