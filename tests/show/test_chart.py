"""One description, three drawers."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.judge.curve import Curve, choices
from enrelm_cli.report.reports import CompareReport, CurveReport
from enrelm_cli.show import braille, page, plots, svg
from enrelm_cli.show.axes import Scale, ticks
from enrelm_cli.show.chart import Line, Point, compare_chart, curve_chart, time_chart
from tests import sample_reports as samples


def perfect_curve() -> CurveReport:
    errors = np.zeros(3)
    report = samples.curve_report(Curve("kernel", errors, errors, choices(errors), None, False, 3))
    return replace(report, linear_error=0.0)


def perfect_comparison() -> CompareReport:
    report = samples.compare_report()
    return replace(report, rows=tuple(replace(row, error=0.0, error_std=0.0, fit_seconds=0.0) for row in report.rows))


def test_every_drawer_shows_every_name() -> None:
    chart = curve_chart(samples.curve_report(samples.INCREMENTAL, samples.KERNEL, elm=samples.elm_band()))
    names = [mark.name for mark in chart.named()]
    assert names[0] == "elm, range of 20"
    assert "kernel, training" in names
    terminal = "\n".join("".join(text for text, _ in row) for row in braille.plot(chart, 120, True))
    drawn = svg.figure("one", chart, lambda method: "black")
    for name in names:
        assert name in terminal
        assert name in drawn


def test_a_perfect_fit_can_be_drawn_by_all(tmp_path: Path) -> None:
    assert braille.curve_plot(perfect_curve(), 80, True)
    assert "<svg" in page.page(perfect_curve(), "enrelm")
    assert "<svg" in page.page(perfect_comparison(), "enrelm")
    pytest.importorskip("matplotlib")
    plots.plot(perfect_curve(), str(tmp_path / "curve.png"))
    plots.plot(perfect_comparison(), str(tmp_path / "compare.png"))


def test_errors_and_times_of_nothing_have_a_place_on_logarithmic_axes() -> None:
    chart = time_chart(perfect_comparison())
    for mark in chart.marks:
        assert isinstance(mark, Point)
        assert 0.0 <= chart.x.scale.at(mark.x) <= 1.0
        assert 0.0 <= chart.y.scale.at(mark.y) <= 1.0


def test_a_method_without_an_error_is_left_out() -> None:
    report = samples.compare_report()
    rows = (replace(report.rows[0], error=math.nan), *report.rows[1:])
    assert len(time_chart(replace(report, rows=rows)).marks) == len(rows) - 1


def test_methods_without_sizes_have_no_curves() -> None:
    assert compare_chart(replace(samples.compare_report(), curves=(), elm=None)) is None


@pytest.mark.parametrize("name", ["a$b$c.csv", "price_in_$_.csv", r"\frac{1}.csv", "$\\undefined$", "日本.csv", "_x"])
def test_any_name_can_stand_over_a_figure(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report = samples.curve_report()
    report = replace(report, data=replace(report.data, name=name))
    plots.plot(report, str(tmp_path / "a.png"))
    assert plots.curve_figure(report).axes[0].get_title(loc="left") == name


@pytest.mark.parametrize("scale", [Scale(1e-6, 2e3, log=True), Scale(0.4, 0.9, log=True), Scale(0.003, 0.5, log=True)])
def test_a_logarithmic_axis_has_a_few_round_ticks_inside(scale: Scale) -> None:
    values = ticks(scale, 5)
    assert 2 <= len(values) <= 10
    assert all(scale.low <= value <= scale.high for value in values)


def test_a_variant_without_sizes_is_a_horizontal_line_and_no_choice() -> None:
    error = np.array([0.4])
    curve = Curve("local", error, error, choices(error), "no sizes", True, 1, only_size="8 leaves beside 40 landmarks")
    chart = curve_chart(samples.curve_report(curve))
    line = next(mark for mark in chart.marks if isinstance(mark, Line) and mark.method == "local")
    assert line.x.tolist() == [chart.x.scale.low, chart.x.scale.high]
    assert line.y.tolist() == [0.4, 0.4]
    assert not any(isinstance(mark, Point) for mark in chart.marks)
