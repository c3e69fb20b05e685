"""Figures for papers: errors against neurons, and errors against time. The only file that knows matplotlib.

One column of a journal (3.4 in) wide, Okabe and Ito's colours, the same bytes for the same report. Drawn on a figure of
its own, never through pyplot: no global state, no window.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.files import write_whole
from enrelm_cli.judge.curve import Curve, ElmBand
from enrelm_cli.report.reports import CompareReport, CurveReport
from enrelm_cli.report.views import best_curve, error_name, named_choices
from enrelm_cli.show.axes import PURPLE, Scale, colour, error_scale, neuron_scale, ticks

SUFFIXES = (".png", ".svg", ".pdf")
_WIDTH = 3.4  # inches: one column
# Without these a file would hold the day it was drawn on.
_UNDATED = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": None},
}
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "legend.fontsize": 7,
    "legend.handlelength": 1.8,
    "svg.hashsalt": "enrelm",
    "pdf.fonttype": 42,
}
_SHAPES = {"best": "o", "knee": "D", "smallest": "^"}
_MARKERS = "osD^vPX*"


def check(path: str) -> None:
    """Refuses a file name, or an installation, that no figure could come out of: worth asking before a long fit."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"--plot '{path}' does not end in .png, .svg or .pdf", f"try --plot {Path(path).with_suffix('.png')}"
        )
    _matplotlib()


def plot(report: CurveReport | CompareReport | Sequence[CompareReport], path: str) -> None:
    """Draws the report into a file of the kind that its name ends with."""
    check(path)
    matplotlib = _matplotlib()
    kind = Path(path).suffix.lower()[1:]
    drawn = io.BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # the user's own style file must not change ours
        matplotlib.rcParams.update(_STYLE)
        figure = curve_figure(report) if isinstance(report, CurveReport) else compare_figure(_several(report))
        figure.savefig(drawn, format=kind, dpi=300, metadata=_UNDATED[kind])
    write_whole(path, drawn.getvalue())


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError:
        raise UsageError("--plot needs matplotlib, which is not installed", "pip install 'enrelm[plot]'") from None
    return matplotlib


def _several(report: CompareReport | Sequence[CompareReport]) -> Sequence[CompareReport]:
    return [report] if isinstance(report, CompareReport) else report


def _figure(height: float, columns: int, rows: int) -> tuple[Any, Any]:
    figure = _matplotlib().figure.Figure(figsize=(_WIDTH * columns, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def curve_figure(report: CurveReport) -> Any:
    """Training and validation errors of every size, the choices marked."""
    entries = (
        len(report.curves) + 2 + 2 * (report.elm is not None) + len(named_choices(best_curve(report.curves).choices))
    )
    figure, axes = _figure(2.45 + 0.14 * math.ceil(entries / 2), 1, 1)
    axis = axes[0, 0]
    _curves(axis, report.curves, report.elm, report.linear_error, training=True)
    _choices(axis, best_curve(report.curves))
    axis.set_title(report.data.name, fontsize=8, loc="left")
    axis.plot([], [], color="black", linewidth=0.7, alpha=0.75, label="thin: training error")
    figure.legend(loc="outside lower center", ncols=2, columnspacing=1.2)
    return figure


def compare_figure(reports: Sequence[CompareReport]) -> Any:
    """Error against time above, curves below; a column for each table."""
    figure, axes = _figure(5.0, len(reports), 2)
    for column, report in enumerate(reports):
        _error_against_time(axes[0, column], report)
        axes[0, column].set_title(report.data.name, fontsize=8, loc="left")
        linear = next((row.error for row in report.rows if row.method == "linear"), math.nan)
        # Only in the paper's protocol do the table and the curves show errors of the same rows.
        _curves(axes[1, column], report.curves, report.elm, linear if report.protocol == "paper" else math.nan)
        if not report.curves and report.elm is None:
            axes[1, column].set_visible(False)
    found: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=2 * len(reports), columnspacing=1.2)
    return figure


def _curves(
    axis: Any, curves: Sequence[Curve], elm: ElmBand | None, linear_error: float, training: bool = False
) -> None:
    sizes = [len(curve.validation) for curve in curves] + ([] if elm is None else [len(elm.mean)])
    if not sizes:
        return
    shown = [curve.validation for curve in curves]
    shown += [curve.train for curve in curves] if training else []
    shown += [] if elm is None else [elm.low, elm.mean]
    x, y = neuron_scale(max(sizes)), error_scale(shown, [linear_error])
    if elm is not None:
        n = np.arange(1, len(elm.mean) + 1)
        many = f"elm, {elm.realizations} realisations"
        axis.fill_between(n, elm.low, elm.high, color=PURPLE, alpha=0.25, linewidth=0, label=f"{many}")
        axis.plot(n, elm.mean, color=PURPLE, linewidth=1.0, label="elm")
    if math.isfinite(linear_error):
        axis.axhline(linear_error, color="black", linewidth=0.7, linestyle=(0, (1, 1.5)), label="linear")
    for number, curve in enumerate(curves):
        _curve(axis, curve, colour(curve.variant, number), max(sizes), training)
    _scales(axis, x, y)
    axis.set_xlabel("neurons")
    axis.set_ylabel("relative error" if training else "relative validation error")


def _curve(axis: Any, curve: Curve, paint: str, longest: int, training: bool) -> None:
    n = np.arange(1, len(curve.validation) + 1)
    single = "o" if len(n) == 1 else None
    axis.plot(n, curve.validation, color=paint, marker=single, markersize=3, label=curve.variant)
    if training:
        axis.plot(n, curve.train, color=paint, marker=single, markersize=2, linewidth=0.7, alpha=0.75)
    end = min(curve.limit, longest)
    if curve.converged and end > len(n):
        # The paper's dashes: it has converged, more neurons would change nothing.
        axis.plot([len(n), end], [curve.validation[-1]] * 2, color=paint, linestyle=(0, (4, 2)), linewidth=1.0)


def _scales(axis: Any, x: Scale, y: Scale) -> None:
    if x.log:
        axis.set_xscale("log")
    axis.set_xlim(x.low, x.high * 1.05 if x.log else x.high + 0.5)
    _x_ticks(axis, [value for value in ticks(x, 6) if value == round(value)])
    axis.set_ylim(y.low, y.high)


def _x_ticks(axis: Any, values: list[float]) -> None:
    axis.set_xticks(values, [f"{value:,g}" for value in values])
    axis.set_xticks([], minor=True)


def _choices(axis: Any, winner: Curve) -> None:
    for names, choice in named_choices(winner.choices):
        axis.plot(
            [choice.neurons], [choice.error], linestyle="none", marker=_SHAPES[names[0]], markersize=5,
            markerfacecolor="white", markeredgecolor="black", markeredgewidth=0.9, zorder=5,
            label=f"{' = '.join(names)}: {choice.neurons}",
        )  # fmt: skip


def _error_against_time(axis: Any, report: CompareReport) -> None:
    # A clock's resolution, not zero, is the least that a log axis can show.
    times = [max(row.fit_seconds, 1e-6) for row in report.rows]
    for number, (row, seconds) in enumerate(zip(report.rows, times, strict=True)):
        paint = colour(row.method, number)
        if row.error_std is not None:
            axis.errorbar([seconds], [row.error], yerr=[row.error_std], color=paint, elinewidth=0.8, capsize=2)
        marker = _MARKERS[number % len(_MARKERS)]
        axis.plot(
            [seconds], [row.error], linestyle="none", color=paint, marker=marker, markersize=4.5, label=row.method
        )
    errors = [row.error for row in report.rows if math.isfinite(row.error)] or [1.0]
    spread = max((row.error_std or 0.0) for row in report.rows)
    low, high = min(errors) - spread, max(errors) + spread
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(min(times) / 2, max(times) * 2)
    axis.set_ylim(max(low * 0.95, 1e-6), high * 1.05)
    _log_ticks(axis, max(low * 0.95, 1e-6), high * 1.05)
    first, last = math.floor(math.log10(min(times) / 2)), math.ceil(math.log10(max(times) * 2))
    _x_ticks(axis, [10.0**power for power in range(first, last + 1) if min(times) / 2 <= 10.0**power <= max(times) * 2])
    axis.set_xlabel("time to fit (s)")
    axis.set_ylabel(f"relative {error_name(report)}")


def _log_ticks(axis: Any, low: float, high: float) -> None:
    """Round values: a log axis that spans less than a decade would else have none with a number."""
    values = ticks(Scale(low, high, log=high / low > 10), 5)
    decimals = max(0, *(len(f"{value:.6g}".partition(".")[2]) for value in values)) if values else 0
    axis.set_yticks(values, [f"{value:.{decimals}f}" for value in values])
    axis.set_yticks([], minor=True)
