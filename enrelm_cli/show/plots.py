"""Figures for papers: errors against neurons, and errors against time. The only file that knows matplotlib.

One column of a journal (3.4 in) wide, Okabe and Ito's colours, the same bytes for the same report. Drawn on a figure of
its own, never through pyplot: no global state, no window.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from enrelm_cli.errors import UsageError
from enrelm_cli.extras import install_command
from enrelm_cli.files import write_whole
from enrelm_cli.quoting import quoted
from enrelm_cli.report import words
from enrelm_cli.report.explain_report import ColumnEffect, ExplainReport
from enrelm_cli.report.explain_view import value_text
from enrelm_cli.report.reports import CompareReport, CurveReport
from enrelm_cli.show.axes import Scale
from enrelm_cli.show.chart import Axis, Band, Chart, Cloud, Line, Point, compare_chart, curve_chart, time_chart
from enrelm_cli.show.explanation.charts import calibration_chart, effect_chart, effect_title, residual_chart
from enrelm_cli.show.palette import paint_of

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
    "text.parse_math": False,  # a file's name may hold a $
}
_SHAPES = {"circle": "o", "diamond": "D", "triangle": "^", "square": "s"}
_STROKES: dict[str, dict[str, Any]] = {
    "solid": {},
    "thin": {"linewidth": 0.7, "alpha": 0.75},
    "dashed": {"linewidth": 1.0, "linestyle": (0, (4, 2))},
    "dotted": {"linewidth": 0.7, "linestyle": (0, (1, 1.5))},
}


def check(path: str) -> None:
    """Refuses a file name, or an installation, that no figure could come out of: worth asking before a long fit."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"--plot '{path}' does not end in .png, .svg or .pdf",
            f"try --plot {quoted(str(Path(path).with_suffix('.png')))}",
        )
    _matplotlib()


Drawable = CurveReport | CompareReport | Sequence[CompareReport] | ExplainReport


def plot(report: Drawable, path: str) -> None:
    """Draws the report into a file of the kind that its name ends with."""
    check(path)
    kind = Path(path).suffix.lower()[1:]
    drawn = io.BytesIO()
    with _styled(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a name in a script that the font does not have
        figure(report).savefig(drawn, format=kind, dpi=300, metadata=_UNDATED[kind])
    write_whole(path, drawn.getvalue())


def figure(report: Drawable) -> Any:
    """The report's figure, for whoever goes on drawing."""
    with _styled():
        if isinstance(report, ExplainReport):
            return explain_figure(report)
        return curve_figure(report) if isinstance(report, CurveReport) else compare_figure(_several(report))


@contextmanager
def _styled() -> Iterator[None]:
    matplotlib = _matplotlib()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # the user's own style file must not change ours
        matplotlib.rcParams.update(_STYLE)
        yield


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError:
        raise UsageError("--plot needs matplotlib, which is not installed", install_command("plot")) from None
    return matplotlib


def _several(report: CompareReport | Sequence[CompareReport]) -> Sequence[CompareReport]:
    return [report] if isinstance(report, CompareReport) else report


def _figure(height: float, columns: int, rows: int) -> tuple[Any, Any]:
    figure = _matplotlib().figure.Figure(figsize=(_WIDTH * columns, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def curve_figure(report: CurveReport) -> Any:
    """Training and validation errors of every size, the choices marked."""
    chart = curve_chart(report)
    figure, axes = _figure(2.45 + 0.14 * math.ceil(len(chart.named()) / 2), 1, 1)
    _draw(axes[0, 0], chart)
    axes[0, 0].set_title(words.visible(report.data.name), fontsize=8, loc="left")
    figure.legend(loc="outside lower center", ncols=2, columnspacing=1.2)
    return figure


def compare_figure(reports: Sequence[CompareReport]) -> Any:
    """Error against time above, curves below; a column for each table."""
    figure, axes = _figure(5.0, len(reports), 2)
    for column, report in enumerate(reports):
        _draw(axes[0, column], time_chart(report))
        axes[0, column].set_title(words.visible(report.data.name), fontsize=8, loc="left")
        curves = compare_chart(report)
        if curves is None:
            axes[1, column].set_visible(False)
        else:
            _draw(axes[1, column], curves)
    found: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=2 * len(reports), columnspacing=1.2)
    return figure


def explain_figure(report: ExplainReport) -> Any:
    """An effect each, three in a row; then residuals and intervals where the targets are known."""
    known = [residual_chart(report)] if report.points else []
    known += [calibration_chart(report)] if report.calibration else []
    panels: list[ColumnEffect | Chart] = [*report.effects, *known]
    columns = min(3, max(len(panels), 1))
    rows = math.ceil(max(len(panels), 1) / columns)
    figure, axes = _figure(2.3 * rows, columns, rows)
    for axis, panel in zip(axes.flat, panels, strict=False):
        if isinstance(panel, ColumnEffect) and panel.kind == "levels":
            _bars(axis, panel, report)
        else:
            chart = effect_chart(panel, report) if isinstance(panel, ColumnEffect) else panel
            _draw(axis, chart)
            axis.set_title(words.visible(chart.title), fontsize=8, loc="left")
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    return figure


def _bars(axis: Any, effect: ColumnEffect, report: ExplainReport) -> None:
    names = [words.visible(value_text(point))[:24] for point in effect.points]
    sizes = [point.effect for point in effect.points]
    errors = [point.high - point.effect for point in effect.points]
    axis.barh(range(len(names)), sizes, color=paint_of(report.variant).light, xerr=errors, error_kw={"elinewidth": 0.6})
    axis.set_yticks(range(len(names)), names)
    axis.axvline(0.0, color="black", linewidth=0.6)
    low, high = axis.get_xlim()
    _ticks(axis.set_xticks, Axis("", Scale(low, high)), 4)
    axis.set_xlabel(words.visible(f"effect on {effect.on or report.target}"))
    axis.set_title(words.visible(effect_title(effect, report)), fontsize=8, loc="left")


def _draw(axis: Any, chart: Chart) -> None:
    for mark in chart.marks:
        paint, label = paint_of(mark.method).light, mark.name or None
        if isinstance(mark, Band):
            axis.fill_between(mark.x, mark.low, mark.high, color=paint, alpha=0.25, linewidth=0, label=label)
        elif isinstance(mark, Line):
            single = "o" if len(mark.x) == 1 else None
            axis.plot(mark.x, mark.y, color=paint, marker=single, markersize=3, label=label, **_STROKES[mark.stroke])
        elif isinstance(mark, Cloud):
            axis.plot(mark.x, mark.y, ".", color=paint, markersize=2, alpha=0.5, markeredgewidth=0, label=label)
        else:
            _point(axis, mark, paint)
    _scale(axis, chart)


def _point(axis: Any, mark: Point, paint: str) -> None:
    if mark.spread > 0.0:
        axis.errorbar([mark.x], [mark.y], yerr=[mark.spread], color=paint, elinewidth=0.8, capsize=2)
    axis.plot(
        [mark.x], [mark.y], linestyle="none", marker=_SHAPES[mark.shape], markersize=5, zorder=5,
        markerfacecolor="white", markeredgecolor=paint, markeredgewidth=0.9, label=mark.name,
    )  # fmt: skip


def _scale(axis: Any, chart: Chart) -> None:
    x, y = chart.x.scale, chart.y.scale
    axis.set_xscale("log" if x.log else "linear")
    axis.set_yscale("log" if y.log else "linear")
    axis.set_xlim(x.low, x.high * 1.05 if x.log else x.high + 0.5 * chart.x.counts)
    axis.set_ylim(y.low, y.high)
    # Labels of many decades are long: only those of powers of ten do not touch each other.
    decades = chart.x.scale.log and chart.x.scale.high > 1000.0 * chart.x.scale.low
    _ticks(axis.set_xticks, chart.x, 4 if chart.x.dates or decades else 6)
    _ticks(axis.set_yticks, chart.y, 5)
    axis.set_xlabel(chart.x.name)
    axis.set_ylabel(chart.y.name)


def _ticks(put: Any, axis: Axis, about: int) -> None:
    """Round values: a log axis that spans less than a decade would else have none with a number."""
    values = axis.ticks(about)
    put(values, axis.texts(values))
    put([], minor=True)
