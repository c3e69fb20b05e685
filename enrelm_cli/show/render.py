"""Reports -> stdout: tables for people, JSON, CSV and Markdown for programs; plots and pages into files.

A terminal gets colours, rules, bars and what fits on a screen (everything with -v); a pipe gets the whole report plain,
as wide as it is. Names and values reach rich as `Text`, never as markup. What draws is imported when it is needed.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
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

    # A drawn plot: lines of (text, style).
    Rows = Sequence[Sequence[tuple[str, str]]]

# Rows of dots of a plot on a screen: fewer say nothing, more say no more.
_LEAST_PLOT, _MOST_CURVE, _MOST_EFFECT = 3, 18, 12


def render(report: Report, format: str, screen: Screen) -> None:
    """One report to stdout; where that is stderr (`Screen.on_stderr`), batch jobs get it as a line."""
    from enrelm_cli.report.views import view
    from enrelm_cli.show import rows

    if screen.json and screen.out is screen.err:
        log_line(screen, "result", _in_a_line(view(report)), **rows.finite(report.to_json()))
    elif format == "json":
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
    if not screen.quiet:
        render(report if screen.json else replace(report, notes=()), "table", screen.on_stderr())


def _in_a_line(blocks: Sequence[Block]) -> str:
    """What a report says first: its headline, or how many rows were predicted and how well."""
    from enrelm_cli.report.blocks import Facts, Headline

    first = blocks[0]
    if isinstance(first, Headline):
        return first.text
    facts = first.items if isinstance(first, Facts) else ()
    return "; ".join(f"{name}: {lines[0]}" for name, lines in facts if name in ("predicted", "errors"))


def origin(made: Origin, path: str, form: str, screen: Screen) -> None:
    """The line that made a model, to be pasted into a shell; the rest are comments there."""
    from enrelm_cli.remote import address_of, is_remote
    from enrelm_cli.report import words

    place = address_of(path).label if is_remote(path) else path
    line = words.shell(["enrelm", "fit", "DATA", *made.words, "-o", place.rsplit("/", 1)[-1]])
    if form == "json":
        _write_json(screen, {"command": line, **made.to_json()})
        return
    versions = ", ".join(f"{name} {version}" for name, version in made.versions.items())
    screen.out.write(f"{screen.out.spell(line)}\n")
    screen.out.write(f"# data: {words.counted(made.rows, 'row')}, hash {made.data_hash} (in `fit --format json`)\n")
    for change in made.later:
        of_rows = f": {words.counted(change['rows'], 'row')}, hash {change['hash']}" if change["hash"] else ""
        screen.out.write(f"# then {change['change']}{of_rows}\n")
    screen.out.write(f"# model: sha256 {made.model_hash} (`sha256sum`; other machines may round differently)\n")
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
    """A terminal sees the curve or effects: after the headline, as tall as there is room; with -v after the facts."""
    from enrelm_cli.report.explain_report import ExplainReport
    from enrelm_cli.report.reports import CurveReport

    if not (screen.out.terminal and isinstance(report, CurveReport | ExplainReport)):
        return list(blocks)
    if isinstance(report, CurveReport):
        plots, most = [_curve(report, screen.out)], _MOST_CURVE
    else:
        plots, most = _effects(report, screen.out, first=brief), _MOST_EFFECT
    if not brief:
        return [*blocks[:2], *(_drawn_rows(drawn(0)) for drawn in plots), *blocks[2:]]
    fitting = [rows for drawn in plots if (rows := _fitting(screen, blocks, drawn, most))]
    return [*blocks[:1], *map(_drawn_rows, fitting), *blocks[1:]]


def _fitting(screen: Screen, blocks: list[Block], drawn: Callable[[int], Rows], most: int) -> Rows:
    """The plot as tall as the screen has room beside the blocks as they are drawn; none where there is too little."""
    from enrelm_cli.show.tables import draw

    page = io.StringIO()
    draw(replace(screen, out=replace(screen.out, stream=page)), blocks)
    around = len(drawn(_LEAST_PLOT)) - _LEAST_PLOT  # its axes and legend
    beside = page.getvalue().count("\n") + 2  # a blank line, and the prompt below
    free = shutil.get_terminal_size().lines - beside - around
    return drawn(min(free, most)) if free >= _LEAST_PLOT else []


def _curve(report: CurveReport, face: Face) -> Callable[[int], Rows]:
    """The plot of a given height; 0: of its own."""
    from enrelm_cli.show import braille

    return lambda height: braille.curve_plot(report, _plot_width(face), face.unicode, height)


def _effects(report: ExplainReport, face: Face, first: bool) -> list[Callable[[int], Rows]]:
    """The plots of the strongest column's effect, or of every column's."""
    from enrelm_cli.report.explain_view import strongest
    from enrelm_cli.show.explanation.terminal import effect_plot

    shown = strongest(report.effects)[:1] if first else report.effects
    return [partial(effect_plot, one, report, _plot_width(face), face.unicode) for one in shown]


def _plot_width(face: Face) -> int:
    return min(face.width or 80, 120)


def _drawn_rows(rows: Rows) -> Text:
    from rich.text import Text

    out = Text(no_wrap=True, overflow="ignore")
    for i, row in enumerate(rows):
        if i:
            out.append("\n")
        for text, style in row:
            out.append(text, style)
    return out
