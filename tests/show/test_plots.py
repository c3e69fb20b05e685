from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.errors import UsageError
from enrelm_cli.judge.curve import Curve, choices
from enrelm_cli.show.plots import check, compare_figure, curve_figure
from enrelm_cli.show.render import plot
from tests import sample_reports as samples

needs_matplotlib = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("matplotlib") is None, reason="needs the extra plot (matplotlib)"
)

ALL = (samples.APPROXIMATE, samples.INCREMENTAL, samples.KERNEL)


def test_an_unknown_ending_is_refused_with_one_that_works() -> None:
    with pytest.raises(UsageError, match=r"does not end in \.png, \.svg or \.pdf") as problem:
        check("curve.jpeg")
    assert problem.value.hint == "try --plot curve.png"


def test_without_matplotlib_the_install_command_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match="not installed") as problem:
        plot(samples.curve_report(), str(tmp_path / "curve.png"))
    assert problem.value.hint == "pip install 'matplotlib>=3.8'"
    assert os.listdir(tmp_path) == []


@needs_matplotlib
@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_plot_is_of_the_kind_that_its_name_says_and_the_same_every_time(
    suffix: str, start: bytes, tmp_path: Path
) -> None:
    report = samples.curve_report(*ALL, elm=samples.elm_band())
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    plot(report, str(first))
    plot(report, str(second))
    assert first.read_bytes().startswith(start)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(os.listdir(tmp_path)) == [first.name, second.name]


@needs_matplotlib
def test_a_curve_s_axes_are_named_and_its_choices_are_in_the_legend() -> None:
    figure = curve_figure(samples.curve_report(*ALL, elm=samples.elm_band()))
    (axis,) = figure.axes
    assert (axis.get_xlabel(), axis.get_ylabel(), axis.get_xscale()) == (
        "neurons, logarithmic", "relative error", "log",
    )  # fmt: skip
    names = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {
        "knee: 31",
        "smallest: 59",
        "best: 84",
        "kernel, validation",
        "kernel, training",
        "elm, range of 20",
    } <= names
    assert figure.get_figwidth() == pytest.approx(3.4)


@needs_matplotlib
def test_a_converged_curve_goes_on_in_dashes_to_its_limit() -> None:
    short = samples.INCREMENTAL
    limited = Curve(short.variant, short.train, short.validation, short.choices, short.stop, True, 120)
    (axis,) = curve_figure(samples.curve_report(limited, samples.KERNEL)).axes
    dashed = [line for line in axis.get_lines() if line.is_dashed() and len(line.get_xdata()) == 2]
    ends = [list(line.get_xdata()) for line in dashed]
    assert [9, 120] in ends


@needs_matplotlib
def test_the_elm_band_spans_its_least_and_greatest_error() -> None:
    band = samples.elm_band()
    (axis,) = curve_figure(samples.curve_report(elm=band)).axes
    (filled,) = axis.collections
    ys = filled.get_paths()[0].vertices[:, 1]
    assert ys.min() == pytest.approx(band.low.min())
    assert ys.max() == pytest.approx(band.high.max())


@needs_matplotlib
def test_a_comparison_shows_error_against_time_on_two_log_axes_and_the_curves() -> None:
    above, below = compare_figure([samples.compare_report()]).axes
    assert (above.get_xscale(), above.get_yscale()) == ("log", "log")
    assert above.get_xlabel() == "time to fit (s)"
    assert "test error" in above.get_ylabel()
    assert below.get_xlabel() == "neurons, logarithmic"


@needs_matplotlib
def test_several_comparisons_stand_side_by_side() -> None:
    reports = [samples.compare_report("a.csv"), samples.compare_report("b.csv", protocol="paper", repeats=1)]
    figure = compare_figure(reports)
    assert [axis.get_title(loc="left") for axis in figure.axes[:2]] == ["a.csv", "b.csv"]
    assert "validation error" in figure.axes[1].get_ylabel()


@needs_matplotlib
def test_a_curve_of_one_neuron_can_be_drawn(tmp_path: Path) -> None:
    one = np.array([0.8])
    plot(samples.curve_report(Curve("kernel", one, one, choices(one), None, False, 1)), str(tmp_path / "a.svg"))
    assert (tmp_path / "a.svg").stat().st_size > 1000


@needs_matplotlib
def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.svg"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UsageError, match="No space left"):
        plot(samples.curve_report(), str(path))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.svg"]
