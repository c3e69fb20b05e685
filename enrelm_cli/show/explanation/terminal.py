"""An explanation in a terminal: the effect of a column as a curve of braille dots, or as bars where it has levels."""

from __future__ import annotations

from enrelm_cli.report import words
from enrelm_cli.report.explain_report import ColumnEffect, ExplainReport
from enrelm_cli.report.explain_view import signed, value_text
from enrelm_cli.show import braille
from enrelm_cli.show.braille import Run
from enrelm_cli.show.explanation.charts import effect_chart
from enrelm_cli.show.palette import paint_of

_LONGEST = 24  # characters of a level's name


def effect_plot(
    effect: ColumnEffect, report: ExplainReport, width: int, unicode: bool, height: int = 0
) -> list[list[Run]]:
    """Rows of runs, at most `height` high beside axes and legend."""
    if effect.kind == "levels":
        return _bars(effect, report, width, unicode, height + 4 if height else 0)
    return braille.plot(effect_chart(effect, report), width, unicode, height or 8)


def _bars(effect: ColumnEffect, report: ExplainReport, width: int, unicode: bool, most: int) -> list[list[Run]]:
    """A bar for each level from the middle: to the left where it lowers the prediction."""
    points = effect.points
    if most and len(points) > most:  # both ends say most
        points = (*points[: most // 2], *points[-(most - most // 2) :])
    names = [_short(words.visible(value_text(point))) for point in points]
    figures = [signed(point.effect) for point in points]
    left, right = max(map(len, names)), max(map(len, figures))
    half = max(4, (width - left - right - 22) // 2)
    largest = max(abs(point.effect) for point in points) or 1.0
    full, middle = ("█", "│") if unicode else ("#", "|")
    style = paint_of(report.variant).terminal
    rows: list[list[Run]] = [[(f"effect of {effect.name} on {effect.on or report.target}", "dim")]]
    for point, name, figure in zip(points, names, figures, strict=True):
        cells = round(half * abs(point.effect) / largest)
        below, above = (full * cells, "") if point.effect < 0.0 else ("", full * cells)
        rows.append(
            [
                (f"{name:>{left}} ", ""),
                (f"{below:>{half}}", style),
                (middle, "dim"),
                (f"{above:<{half}}", style),
                (f" {figure:>{right}}", ""),
                (f"  {words.counted(point.rows, 'row')}", "dim"),
            ]
        )
    return rows


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
