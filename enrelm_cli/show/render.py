"""Reports -> stdout: tables for people, JSON, CSV and Markdown for programs; plots and pages into files.

A terminal gets colours, rules, bars and what fits on a screen (everything with -v); a pipe gets the whole report plain,
as wide as it is. Names and values reach rich as `Text`, never as markup. What draws is imported when it is needed.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from enrelm_cli.show.screen import Face, Screen, log_line

if TYPE_CHECKING:
    from rich.text import Text

    from enrelm_cli.commands.recipe import Origin
    from enrelm_cli.report.beside import PredictReport
    from enrelm_cli.report.blocks import Block
    from enrelm_cli.report.explain_report import ExplainReport
    from enrelm_cli.report.reports import CompareReport, CurveReport
    from enrelm_cli.report.targets.reports import TargetsPredict
    from enrelm_cli.report.views import Report
    from enrelm_cli.show.page import PageReport
    from enrelm_cli.show.plots import Drawable

# Lines of a screen that a plot leaves to the result, its axes, the next command and the prompt.
_AROUND_A_PLOT = 16
# Lines that stand beside the effect of a column: headline, axes, heads, blanks, the next command and the prompt.
_AROUND_AN_EFFECT = 17
_LEAST_PLOT = 5


def render(report: Report, format: str, screen: Screen) -> None:
    """One report to stdout."""
    from enrelm_cli.report.views import view
    from enrelm_cli.show import rows

    if format == "json":
        _write_json(screen, report.to_json())
    elif format == "csv":
        screen.out.write(rows.as_csv(rows.rows_of(report)))
    elif format == "markdown":
        from enrelm_cli.show.markdown import markdown

        screen.out.write(markdown(view(report)))
    else:
        _draw(report, screen)


def render_many(reports: Sequence[CompareReport], format: str, screen: Screen) -> None:
    """Several comparisons: one table for each, and a summary of ranks."""
    from enrelm_cli.report.compare_view import compare_view, ranks_view, standings
    from enrelm_cli.show import rows

    if len(reports) == 1:
        render(reports[0], format, screen)
    elif format == "json":
        ranks = [standing.to_json() for standing in standings(reports)]
        _write_json(screen, {"reports": [report.to_json() for report in reports], "ranks": ranks})
    elif format == "csv":
        screen.out.write(rows.as_csv([row for report in reports for row in rows.rows_of(report)]))
    elif format == "markdown":
        from enrelm_cli.show.markdown import markdown

        screen.out.write("\n".join(markdown(blocks) for blocks in [*map(compare_view, reports), ranks_view(reports)]))
    else:
        from enrelm_cli.show.tables import draw

        for report in reports:
            _draw(report, screen)
            screen.out.write("\n")
        draw(screen, ranks_view(reports))


def _draw(report: Report, screen: Screen) -> None:
    from enrelm_cli.report.brief import brief_view
    from enrelm_cli.report.views import view
    from enrelm_cli.show.tables import draw

    brief = screen.out.terminal and not screen.verbose
    blocks = brief_view(report) if brief else view(report)
    draw(screen, _with_plot(report, screen, blocks, brief))


def errors(screen: Screen, report: PredictReport | TargetsPredict) -> None:
    """How good predictions were, on stderr: stdout carries the predictions. Its notes are shown as warnings before."""
    if screen.quiet:
        return
    if screen.json:
        log_line(screen, "result", **report.to_json())
        return
    render(replace(report, notes=()), "table", screen.on_stderr())


def origin(made: Origin, path: str, form: str, screen: Screen) -> None:
    """The line that made a model, to be pasted into a shell; the rest are comments there."""
    from enrelm_cli.report import words

    line = words.shell(["enrelm", "fit", "DATA", *made.words, "-o", path.rsplit("/", 1)[-1]])
    if form == "json":
        _write_json(screen, {"command": line, **made.to_json()})
        return
    versions = ", ".join(f"{name} {version}" for name, version in made.versions.items())
    screen.out.write(f"{screen.out.spell(line)}\n")
    screen.out.write(f"# data: {words.counted(made.rows, 'row')}, hash {made.data_hash} (in `fit --format json`)\n")
    screen.out.write(f"# model: sha256 {made.model_hash} (`sha256sum`; other machines may round otherwise)\n")
    screen.out.write(f"# made with {versions}\n")


def plot(report: Drawable, path: str) -> None:
    """A figure by matplotlib: PNG, SVG or PDF by the name's ending."""
    from enrelm_cli.show import plots

    plots.plot(report, path)


def html(report: PageReport, path: str, command_line: str) -> None:
    """One self-contained page."""
    from enrelm_cli.show import page

    page.write(report, path, command_line)


def write_json(report: Report, path: str) -> None:
    """The report as a JSON file."""
    from enrelm_cli.files import write_whole
    from enrelm_cli.show.rows import as_json

    write_whole(path, as_json(report.to_json(), ascii_only=False).encode("utf-8", "backslashreplace"))


def _write_json(screen: Screen, document: Any) -> None:
    from enrelm_cli.show.rows import as_json

    screen.out.write(as_json(document, ascii_only=not screen.out.unicode))


def _with_plot(report: Report, screen: Screen, blocks: list[Block], brief: bool) -> list[Any]:
    """A terminal sees the curve: after the result, and with -v after the facts."""
    from enrelm_cli.report.explain_report import ExplainReport
    from enrelm_cli.report.reports import CurveReport

    if isinstance(report, ExplainReport) and screen.out.terminal:
        return _with_effects(report, screen.out, blocks, brief)
    if not (isinstance(report, CurveReport) and screen.out.terminal):
        return list(blocks)
    at = 1 if brief else 2
    return [*blocks[:at], terminal_plot(report, screen.out, _height(report) if brief else 0), *blocks[at:]]


def _height(report: CurveReport) -> int:
    """As tall as the screen allows beside a line per variant and the legend."""
    legend = 1 if report.elm is None and len(report.curves) == 1 else 2
    free = shutil.get_terminal_size().lines - _AROUND_A_PLOT - legend - len(report.curves)
    return max(6, min(18, free))


def terminal_plot(report: CurveReport, face: Face, height: int = 0) -> Text:
    """Errors against neurons, drawn in characters."""
    from enrelm_cli.show import braille

    width = min(face.width or 80, 120)
    return _drawn_rows(braille.curve_plot(report, width, face.unicode, height))


def _with_effects(report: ExplainReport, face: Face, blocks: list[Block], brief: bool) -> list[Any]:
    """The first column's effect after the headline where it fits; with -v every column's, after the facts."""
    from enrelm_cli.report.explain_view import strongest
    from enrelm_cli.show.explanation.terminal import effect_plot

    width = min(face.width or 80, 120)
    shown = strongest(report.effects)[:1] if brief else report.effects
    lines = sum(1 for line in blocks for _ in getattr(line, "lines", getattr(line, "items", ())))
    free = shutil.get_terminal_size().lines - lines - _AROUND_AN_EFFECT
    if brief and free < _LEAST_PLOT:
        return list(blocks)
    height = min(12, free) if brief else 0
    plots = [_drawn_rows(effect_plot(one, report, width, face.unicode, height)) for one in shown]
    at = 1 if brief else 2
    return [*blocks[:at], *plots, *blocks[at:]]


def _drawn_rows(rows: Sequence[Sequence[tuple[str, str]]]) -> Text:
    from rich.text import Text

    out = Text(no_wrap=True, overflow="ignore")
    for i, row in enumerate(rows):
        if i:
            out.append("\n")
        for text, style in row:
            out.append(text, style)
    return out
