"""Charts of an explanation: effects of numbers and dates, residuals and intervals."""

from __future__ import annotations

import numpy as np

from enrelm_cli.report.explain_report import ColumnEffect, ExplainReport, Residuals
from enrelm_cli.show.axes import Scale
from enrelm_cli.show.chart import INK, Axis, Band, Chart, Cloud, Line, Mark, Point, level
from enrelm_cli.types import Array

_MARGIN = 0.05


def effect_chart(effect: ColumnEffect, report: ExplainReport) -> Chart:
    """A line with its band; where the rows are stands below, as ticks."""
    at, y, low, high = (np.array([getattr(p, name) for p in effect.points]) for name in ("at", "effect", "low", "high"))
    x = Axis(effect.name, Scale(float(at[0]), float(at[-1])), dates=effect.kind == "date")
    axis = Axis(f"effect on {effect.on or report.target}", _scale(np.concatenate([y, low, high, [0.0]])))
    method = report.variant
    marks: list[Mark] = [Band("± 2 standard errors", method, at, low, high)]
    marks += [level("", INK, 0.0, x.scale), Line("effect", method, at, y)]
    return Chart(effect_title(effect, report), x, axis, tuple(marks))


def effect_title(effect: ColumnEffect, report: ExplainReport) -> str:
    """Of several classes, with the class."""
    return f"Effect of {effect.name}" + (f" on {effect.of}" if len(report.classes) > 1 else "")


def residual_chart(report: ExplainReport) -> Chart:
    """Residuals of some rows against their predictions, and the mean of each tenth."""
    x, y = (np.array(values) for values in zip(*report.points, strict=True))
    ranges = report.residuals[0].ranges
    means = Line("mean", INK, np.array([one.at for one in ranges]), np.array([one.mean for one in ranges]))
    across = Axis("prediction", _scale(x))
    marks = (Cloud("row", report.variant, x, y), level("", INK, 0.0, across.scale), means)
    return Chart("Residuals by prediction", across, Axis("target minus prediction", _scale(np.append(y, 0.0))), marks)


def column_chart(residuals: Residuals, report: ExplainReport) -> Chart:
    """Mean residuals along a number or date, with two standard errors."""
    at, mean = (np.array([getattr(one, name) for one in residuals.ranges]) for name in ("at", "mean"))
    error = np.array([2.0 * one.spread / np.sqrt(max(one.rows, 1)) for one in residuals.ranges])
    x = Axis(residuals.column or "prediction", _scale(at, 0.0), dates=residuals.kind == "date")
    y = Axis("mean residual", _scale(np.concatenate([mean - error, mean + error, [0.0]])))
    band = Band("± 2 standard errors", report.variant, at, mean - error, mean + error)
    marks = (band, level("", INK, 0.0, x.scale), Line("mean residual", report.variant, at, mean))
    return Chart(f"Residuals by {residuals.column or 'prediction'}", x, y, marks)


def calibration_chart(report: ExplainReport) -> Chart:
    """Targets inside an interval against what it promises: on the dotted line where it keeps its word."""
    ends = np.array([0.0, 1.0])
    points = tuple(
        Point(f"{100 * one.level:g} %: {100 * one.inside:.1f} % inside", report.variant, one.level, one.inside)
        for one in report.calibration
    )
    low = min(min(one.level, one.inside) for one in report.calibration)
    scale = Scale(max(0.0, low - 0.1), 1.0)
    marks: tuple[Mark, ...] = (Line("as promised", INK, ends, ends, "dotted"), *points)
    return Chart("Intervals", Axis("promised", scale), Axis("targets inside", scale), marks)


def _scale(values: Array, margin: float = _MARGIN) -> Scale:
    low, high = float(np.min(values)), float(np.max(values))
    room = margin * (high - low) or (0.0 if high > low else max(abs(high), 1.0) * 0.05)
    return Scale(low - room, high + room)
