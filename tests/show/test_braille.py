from __future__ import annotations

import math

import numpy as np
import pytest

from enrelm_cli.judge.curve import Curve, choices
from enrelm_cli.report.reports import CurveReport
from enrelm_cli.show.axes import Scale, error_scale, neuron_scale, ticks
from enrelm_cli.show.braille import Canvas, curve_plot
from tests import sample_reports as samples


def lines(report: CurveReport, width: int = 80, unicode: bool = True) -> list[str]:
    return ["".join(text for text, _ in row) for row in curve_plot(report, width, unicode)]


def test_a_diagonal_sets_a_dot_in_every_column() -> None:
    canvas = Canvas(2, 1, unicode=True)
    canvas.line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "", "*", lambda _: True)
    assert canvas.rows() == [[("⡠⠊", "")]]


def test_a_flat_line_is_one_row_of_ascii() -> None:
    canvas = Canvas(4, 3, unicode=False)
    canvas.line(np.array([0.0, 1.0]), np.array([0.5, 0.5]), "red", "*", lambda _: True)
    assert canvas.rows() == [[("    ", "")], [("****", "red")], [("    ", "")]]


def test_the_three_choices_are_named_with_their_sizes() -> None:
    text = "\n".join(lines(samples.curve_report()))
    for name in ("knee: 31", "smallest: 59", "best: 84", "●", "◆", "▲"):
        assert name in text


@pytest.mark.parametrize("width", [30, 45, 60, 80, 120, 160])
@pytest.mark.parametrize("unicode", [True, False])
def test_a_plot_keeps_to_its_width(width: int, unicode: bool) -> None:
    report = samples.curve_report(samples.APPROXIMATE, samples.KERNEL, elm=samples.elm_band())
    assert max(map(len, lines(report, width, unicode))) <= width


def test_ascii_is_ascii() -> None:
    report = samples.curve_report(samples.INCREMENTAL, samples.KERNEL, elm=samples.elm_band())
    assert "\n".join(lines(report, unicode=False)).isascii()


def test_many_neurons_get_a_logarithmic_axis_and_few_a_plain_one() -> None:
    assert "neurons, logarithmic" in "\n".join(lines(samples.curve_report()))
    assert "logarithmic" not in "\n".join(lines(samples.curve_report(samples.INCREMENTAL)))


def test_equal_choices_are_named_together() -> None:
    errors = np.array([0.9, 0.5])
    curve = Curve("kernel", errors, errors, choices(errors), None, False, 2)
    assert "best = smallest: 2" in "\n".join(lines(samples.curve_report(curve)))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_shortest_curves_can_be_drawn(n: int) -> None:
    errors = np.linspace(0.9, 0.5, n)
    curve = Curve("kernel", errors, errors, choices(errors), None, False, n)
    assert "●" in "\n".join(lines(samples.curve_report(curve)))


def test_nan_infinite_and_huge_errors_do_not_stop_a_plot() -> None:
    errors = np.array([0.9, 0.6, math.nan, 0.5, math.inf, 1e9])
    curve = Curve("kernel", errors, errors, choices(errors), None, False, 6)
    text = "\n".join(lines(samples.curve_report(curve)))
    assert "best = smallest: 4" in text
    assert "1.0" in text  # the axis ends near 1, not at 1e9


def test_the_error_axis_ends_where_errors_stop_to_say_anything() -> None:
    scale = error_scale([np.array([0.95, 0.5, 800.0])])
    assert 0.95 <= scale.high < 1.3
    assert scale.low < 0.5


def test_a_flat_curve_has_a_scale_that_is_not_empty() -> None:
    scale = error_scale([np.array([0.7, 0.7])])
    assert scale.high > scale.low


def test_ticks_are_round_and_inside() -> None:
    assert ticks(Scale(0.4, 1.0), 6) == pytest.approx([0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert ticks(neuron_scale(300), 6) == [1, 2, 5, 10, 20, 50, 100, 200]


def test_a_scale_and_its_inverse_agree() -> None:
    for scale in (Scale(1.0, 300.0, log=True), Scale(0.2, 0.9)):
        for share in (0.0, 0.3, 1.0):
            assert scale.at(scale.value(share)) == pytest.approx(share)


def test_a_converged_curve_goes_on_in_dashes() -> None:
    short, long = samples.INCREMENTAL, samples.KERNEL
    stopped = Curve(short.variant, short.train, short.validation, short.choices, "no step helped", False, 400)

    def dots(curve: Curve) -> int:
        rows = curve_plot(samples.curve_report(curve, long), 80, True)
        return sum(bin(ord(c) - 0x2800).count("1") for row in rows for text, _ in row for c in text if "⠀" < c <= "⣿")

    assert dots(short) > dots(stopped)
