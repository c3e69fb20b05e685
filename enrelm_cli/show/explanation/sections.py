"""Sections of a page: how columns act, and where the model errs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from enrelm_cli.report import words
from enrelm_cli.report.blocks import Block, Column, Grid, Line, Remarks, Spark
from enrelm_cli.report.explain_report import ColumnEffect, ColumnSummary, ExplainReport, ModelPage, Residuals
from enrelm_cli.report.explain_view import (
    calibration_grid,
    effects_grid,
    pairs_grid,
    remarks,
    rounded,
    signed,
    value_text,
    worst_grid,
)
from enrelm_cli.show import svg
from enrelm_cli.show.explanation.charts import (
    calibration_chart,
    column_chart,
    effect_chart,
    effect_title,
    residual_chart,
)
from enrelm_cli.show.svg import Paint

Drawer = Callable[[Sequence[Block]], str]

# A row of bars, in pixels.
_ROW, _NAME, _FIGURE, _WIDTH = 22, 130, 70, 440
_WORST_COLUMNS = 8


def effects_section(report: ExplainReport, paint: Paint, blocks: Drawer) -> list[str]:
    """A chart for each column, then pairs."""
    if not report.effects:
        return []
    charts = "".join(_effect(one, number, report, paint) for number, one in enumerate(report.effects))
    parts = ["<h2>Effects of columns</h2>", blocks([remarks(report)]), f'<div class="charts">{charts}</div>']
    parts.append(blocks([effects_grid(report.effects)]))
    parts += ["<h2>Columns that act together</h2>", blocks([pairs_grid(report)])] if report.pairs else []
    return parts


def errors_section(report: ExplainReport, paint: Paint, blocks: Drawer) -> list[str]:
    """Residuals against the prediction and each column, the worst rows, intervals."""
    if report.errors is None and report.metrics is None:
        return []
    charts = ""
    if report.residuals:
        first = residual_chart(report) if report.points else column_chart(report.residuals[0], report)
        charts = svg.figure("residuals", first, paint)
    for number, one in enumerate(report.residuals[1:]):
        if one.kind != "levels":
            charts += svg.figure(f"residuals{number}", column_chart(one, report), paint)
    parts = ["<h2>Residuals</h2>", f'<div class="charts">{charts}</div>'] if charts else []
    parts += [blocks([_levels(one)]) for one in report.residuals[1:] if one.kind == "levels" and one.ranges]
    if report.worst:
        parts += ["<h2>Worst rows</h2>", blocks([_untitled(worst_grid(report, _WORST_COLUMNS))])]
    if report.calibration:
        chart = svg.figure("calibration", calibration_chart(report), paint)
        parts += [
            "<h2>Intervals</h2>",
            f'<div class="charts">{chart}</div>',
            blocks([_untitled(calibration_grid(report))]),
        ]
    return parts


def columns_section(columns: Sequence[ColumnSummary], blocks: Drawer) -> list[str]:
    """What each column is, what it held at fit, and the inputs made of it."""
    if not columns:
        return []
    heads = [Column("column"), Column("kind"), Column("inputs", number=True), Column("missing", number=True)]
    heads += [Column("range or levels"), Column("distribution"), Column("made of it", long=True)]
    lines = [
        Line(
            (
                one.name,
                one.kind,
                words.count(one.inputs),
                words.percent(one.missing) if one.missing else words.ABSENT,
                one.values,
                Spark(one.bars) if one.bars else "",
                one.details,
            )
        )
        for one in columns
    ]
    return ["<h2>Columns</h2>", blocks([Grid("", tuple(heads), tuple(lines))])]


def widths_section(page: ModelPage, blocks: Drawer) -> list[str]:
    """How wide intervals are."""
    if not page.widths:
        return []
    heads = (Column("interval", number=True), Column("mean width", page.fitted.target, number=True))
    lines = [Line((f"{100 * level:g} %", words.fact(rounded(width)))) for level, width in page.widths]
    remark = "From the errors of rows that were left out of the fit. Coverage on new rows: enrelm explain MODEL NEW."
    return ["<h2>Intervals</h2>", blocks([Grid("", heads, tuple(lines)), Remarks((remark,))])]


def _untitled(grid: Grid) -> Grid:
    return Grid("", grid.columns, grid.lines)


def _levels(one: Residuals) -> Grid:
    heads = (Column(one.column or ""), *(Column(name, number=True) for name in ("rows", "mean residual", "spread")))
    lines = [
        Line((str(part.low), words.count(part.rows), signed(part.mean), words.fact(rounded(part.spread))))
        for part in one.ranges
    ]
    return Grid(f"residuals by {one.column}", heads, tuple(lines))


def _effect(effect: ColumnEffect, number: int, report: ExplainReport, paint: Paint) -> str:
    identity = f"effect{number}"
    if effect.kind == "levels":
        return _bars(identity, effect, report, paint)
    return svg.figure(identity, effect_chart(effect, report), paint)


def _bars(identity: str, effect: ColumnEffect, report: ExplainReport, paint: Paint) -> str:
    """A bar for each level from the middle, its band as a whisker."""
    points = effect.points
    title = escape(words.visible(effect_title(effect, report)))
    on = escape(words.visible("" if len(report.classes) > 1 else f" on {effect.on or report.target}"))
    ends = [0.0, *(value for point in points for value in (point.low, point.high))]
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0

    def across(value: float) -> float:
        return _NAME + (value - low) / span * (_WIDTH - _NAME - _FIGURE)

    rows = []
    for place, point in enumerate(points):
        y, colour = _ROW * place, paint(report.variant)
        start, stop = sorted((across(0.0), across(point.effect)))
        name = words.visible(value_text(point))
        shown = escape(name if len(name) <= 18 else f"{name[:17]}…")
        rows.append(
            f"<g><title>{escape(name)}: {escape(signed(point.effect))}, {words.counted(point.rows, 'row')}</title>"
            f'<text x="{_NAME - 6}" y="{y + 15}" text-anchor="end">{shown}</text>'
            f'<rect x="{start:.1f}" y="{y + 4}" width="{stop - start:.1f}" height="{_ROW - 8}" style="fill:{colour}"/>'
            f'<path class="axis" d="M{across(point.low):.1f} {y + _ROW / 2}H{across(point.high):.1f}"/>'
            f'<text x="{_WIDTH - 2}" y="{y + 15}" text-anchor="end">{escape(signed(point.effect))}</text></g>'
        )
    height = _ROW * len(points)
    middle = across(0.0)
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="{identity}-title">'
        f'<title id="{identity}-title">{title}</title>'
        f'{"".join(rows)}<path class="axis" d="M{middle:.1f} 0V{height}"/></svg>'
        f"<figcaption>{title}{on}</figcaption></figure>"
    )
