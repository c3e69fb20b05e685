"""Reports -> stdout: tables for people, JSON, CSV and Markdown for programs; plots and pages into files.

A terminal gets colours, rules and bars; a pipe gets the same columns plain, as wide as they are. Names and values reach
rich as `Text`, never as markup. With screen.py the only file that knows rich.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from enrelm_cli.report import words
from enrelm_cli.show.screen import GLUE, Face, ProgressBar, Screen, error, log, note, warn

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from enrelm_cli.report.reports import CompareReport, CurveReport, PredictReport
    from enrelm_cli.report.views import Block, Command, Facts, Grid, Line, Remarks, Report

__all__ = [
    "ProgressBar",
    "Screen",
    "error",
    "errors",
    "html",
    "log",
    "note",
    "plot",
    "render",
    "render_many",
    "warn",
    "write_json",
]

# Below this many cells a bar says nothing; above, it only takes room.
_BAR_LEAST, _BAR_MOST = 6, 24
_NARROW = 50


def render(report: Report, format: str, screen: Screen) -> None:
    """One report to stdout."""
    from enrelm_cli.report.views import view

    if format == "json":
        _write_json(screen, report.to_json())
    elif format == "csv":
        screen.out.write(_csv(_points(report)))
    elif format == "markdown":
        screen.out.write(markdown(view(report)))
    else:
        _draw(screen, _with_plot(report, screen, view(report)))


def render_many(reports: Sequence[CompareReport], format: str, screen: Screen) -> None:
    """Several comparisons: one table for each, and a summary of ranks."""
    from enrelm_cli.report.views import compare_view, ranks_view, standings

    if len(reports) == 1:
        render(reports[0], format, screen)
    elif format == "json":
        ranks = [standing.to_json() for standing in standings(reports)]
        _write_json(screen, {"reports": [report.to_json() for report in reports], "ranks": ranks})
    elif format == "csv":
        screen.out.write(_csv([row for report in reports for row in _points(report)]))
    elif format == "markdown":
        screen.out.write("\n".join(markdown(blocks) for blocks in [*map(compare_view, reports), ranks_view(reports)]))
    else:
        all_blocks = [*map(compare_view, reports), ranks_view(reports)]
        for blocks in all_blocks:
            if blocks is not all_blocks[0]:
                screen.out.write("\n")
            _draw(screen, blocks)


def errors(screen: Screen, report: PredictReport) -> None:
    """How good predictions were, on stderr: stdout carries the predictions. Its notes are shown as warnings before."""
    from dataclasses import replace

    if not screen.quiet:
        render(replace(report, notes=()), "table", screen.on_stderr())


def plot(report: CurveReport | CompareReport | Sequence[CompareReport], path: str) -> None:
    """A figure by matplotlib: PNG, SVG or PDF by the name's ending."""
    from enrelm_cli.show import plots

    plots.plot(report, path)


def html(report: CurveReport | CompareReport | Sequence[CompareReport], path: str, command_line: str) -> None:
    """One self-contained page."""
    from enrelm_cli.show import page as html_report

    html_report.write(report, path, command_line)


# --- JSON and CSV -----------------------------------------------------------------------------------------------------


def write_json(report: Report, path: str) -> None:
    """The report as a JSON file."""
    from enrelm_cli.files import write_whole

    write_whole(path, _json(report.to_json(), ascii_only=False).encode("utf-8", "backslashreplace"))


def _write_json(screen: Screen, document: Any) -> None:
    screen.out.write(_json(document, ascii_only=not screen.out.unicode))


def _json(document: Any, ascii_only: bool) -> str:
    text = json.dumps(_finite(document), indent=2, allow_nan=False, ensure_ascii=ascii_only)
    # A file name that is not UTF-8 reaches us with lone surrogates, which only JSON's own escapes can carry.
    return (
        json.dumps(_finite(document), indent=2, allow_nan=False) if re.search("[\ud800-\udfff]", text) else text
    ) + "\n"


def _finite(value: Any) -> Any:
    """JSON knows neither NaN nor infinity nor numpy's numbers."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if hasattr(value, "tolist"):
        return _finite(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def _csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _plain(value) for name, value in row.items()})
    return out.getvalue()


def _plain(value: Any) -> Any:
    value = _finite(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else value


def _points(report: Report) -> list[dict[str, Any]]:
    """The rows of the CSV: numbers in full, absent ones empty."""
    from enrelm_cli.report.reports import CompareReport, CurveReport, FitReport, PredictReport

    if isinstance(report, FitReport):
        knee = report.choices.knee
        return [
            {
                "data": report.data.name,
                "target": report.data.target,
                "variant": report.variant,
                "neurons": report.neurons,
                "selection": report.selection,
                "train_error": report.train_error,
                "validation_error": report.validation_error,
                "linear_error": report.linear_error,
                "rows": report.data.rows,
                "training_rows": report.training_rows,
                "validation_rows": report.validation_rows,
                "best": report.choices.best.neurons,
                "knee": None if knee is None else knee.neurons,
                "smallest": report.choices.smallest.neurons,
                "refit": report.refit,
                "stop": report.stop,
                "seconds": report.timings.get("total", sum(report.timings.values())),
                "model": report.model,
            }
        ]
    if isinstance(report, CurveReport):
        return _curve_points(report)
    if isinstance(report, CompareReport):
        best = report.rows[0].error
        return [
            {
                "method": row.method,
                "neurons": row.neurons,
                "error": row.error,
                "error_std": row.error_std,
                "ratio": row.error / best if best else None,
                "fit_seconds": row.fit_seconds,
                "predict_seconds": row.predict_seconds,
                "protocol": report.protocol,
                "repeats": report.repeats,
                "data": report.data.name,
            }
            for row in report.rows
        ]
    if isinstance(report, PredictReport):
        e = report.errors
        names = ("normalised_rmse", "rmse", "mae", "r2")
        return [
            {
                "rows": report.rows,
                **{name: None if e is None else getattr(e, name) for name in names},
                "interval": report.interval,
                "coverage": report.coverage,
            }
        ]
    document = report.to_json()
    kept = "path variant neurons target train_error validation_error linear_error stop written bytes"
    return [{name: document[name] for name in kept.split()}]


def _curve_points(report: CurveReport) -> list[dict[str, Any]]:
    """A row for each size of each variant; the random ELM is a variant with a spread."""
    rows: list[dict[str, Any]] = [
        {"variant": curve.variant, "neurons": n, "train_error": float(train), "validation_error": float(validation)}
        for curve in report.curves
        for n, (train, validation) in enumerate(zip(curve.train, curve.validation, strict=True), 1)
    ]
    elm = report.elm
    if elm is None:
        return rows
    spread = ("validation_std", "validation_min", "validation_max")
    rows = [{**row, **dict.fromkeys(spread)} for row in rows]
    for n, values in enumerate(zip(elm.train_mean, elm.mean, elm.std, elm.low, elm.high, strict=True), 1):
        named = zip(("train_error", "validation_error", *spread), map(float, values), strict=True)
        rows.append({"variant": "elm", "neurons": n, **dict(named)})
    return rows


# --- Markdown ---------------------------------------------------------------------------------------------------------


def markdown(blocks: Iterable[Block]) -> str:
    """The blocks as GitHub reads them."""
    from enrelm_cli.report.views import Bar, Facts, Grid, Headline, Remarks

    parts: list[str] = []
    for block in blocks:
        if isinstance(block, Headline):
            parts.append(f"**{_escaped(block.text)}**")
        elif isinstance(block, Facts):
            parts.append("\n".join(f"- {name}: {_escaped('; '.join(lines))}" for name, lines in block.items))
        elif isinstance(block, Remarks):
            parts.append("\n".join(f"- {_escaped(line)}" for line in block.lines))
        elif isinstance(block, Grid):
            shown = [
                i
                for i, _ in enumerate(block.columns)
                if not any(isinstance(line.cells[i], Bar) for line in block.lines)
            ]
            columns = [block.columns[i] for i in shown]
            rows = [[_escaped(_header(column)) for column in columns]]
            rows.append(["---:" if column.number else "---" for column in columns])
            for line in block.lines:
                cells = [_escaped(str(line.cells[i])) for i in shown]
                rows.append([f"**{cell}**" for cell in cells] if line.marked else cells)
            title = [f"### {_escaped(block.title.capitalize())}", ""] if block.title else []
            parts.append("\n".join([*title, *(f"| {' | '.join(row)} |" for row in rows)]))
        else:
            parts.append(f"{_escaped(block.purpose.capitalize())}:\n\n```sh\n{block.line}\n```")
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", words.visible(text))


def _header(column: Any) -> str:
    return f"{column.name} ({column.unit})" if column.unit else str(column.name)


# --- tables -----------------------------------------------------------------------------------------------------------


def _draw(screen: Screen, blocks: Sequence[Block | RenderableType]) -> None:
    parts: list[RenderableType] = []
    for block in blocks:
        if parts:
            parts.append("")
        parts += _drawn(block, screen.out)
    screen.out.print(*parts)


def _drawn(block: Block | RenderableType, face: Face) -> list[RenderableType]:
    from rich.text import Text

    from enrelm_cli.report.views import Command, Facts, Grid, Headline, Remarks

    if isinstance(block, Headline):
        return [Text(glued(face.spell(block.text)), style="bold")]
    if isinstance(block, Facts):
        return [_drawn_facts(block, face)]
    if isinstance(block, Remarks):
        return [_drawn_remarks(block, face)]
    if isinstance(block, Grid):
        title = [Text(face.spell(block.title), style="bold")] if block.title else []
        return [*title, _drawn_grid(block, face)]
    if isinstance(block, Command):
        return [_drawn_command(block, face)]
    return [block]


def _drawn_command(block: Command, face: Face) -> RenderableType:
    """Never wrapped, for it is there to be copied: where it is too long for a terminal it goes on after a backslash."""
    from rich.text import Text

    shown = Text(f"{block.purpose}: ", style="dim", no_wrap=True, overflow="ignore")
    command = words.visible(block.line)
    if face.terminal and face.width is not None and len_of(shown.plain + command) > face.width:
        command = "\n" + continued(command, face.width)
        shown.rstrip()
    return shown.append(command, style="not dim cyan")


def continued(command: str, width: int) -> str:
    """The same command over several lines; an option stays with its value."""
    pieces: list[str] = []
    for word in shlex.split(command):
        if pieces and pieces[-1].startswith("-") and " " not in pieces[-1] and not word.startswith("-"):
            pieces[-1] += f" {shlex.quote(word)}"
        else:
            pieces.append(shlex.quote(word))
    lines = [f"  {pieces[0]}"]
    for piece in pieces[1:]:
        if len_of(lines[-1]) + len_of(piece) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"      {piece}")
        else:
            lines[-1] += f" {piece}"
    return "\n".join(lines)


def _drawn_facts(block: Facts, face: Face) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    if face.width is not None and face.width < _NARROW:
        stacked = Text()
        for name, lines in block.items:
            stacked.append(f"{name}: ", style="dim").append("\n".join(map(face.spell, lines)) + "\n")
        stacked.rstrip()
        return stacked
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, lines in block.items:
        for i, line in enumerate(lines):
            table.add_row(Text("" if i else name, style="dim"), Text(glued(face.spell(line))))
    return table


def _drawn_remarks(block: Remarks, face: Face) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for line in block.lines:
        table.add_row(
            Text(face.spell("·") if face.unicode else "-", style="dim"), Text(glued(face.spell(line)), style="dim")
        )
    return table


def glued(text: str) -> str:
    """Units stay on the line of their number, separators at the end of theirs, and (1 = ...) with what it is."""
    return re.sub(r"(?<=\d) (?=(?:ms|s|min|h|%|[kMG]B)\b|%|± )|(?<=±) | (?=· )|(?<=\(1) (?==)|(?<=\(1 =) ", GLUE, text)


def _drawn_grid(grid: Grid, face: Face) -> RenderableType:
    """The table as wide as the face allows: first the bar gives way, then names wrap, then each row is a list."""
    from rich.table import Table
    from rich.text import Text

    bars = {i for line in grid.lines for i, cell in enumerate(line.cells) if not isinstance(cell, str)}
    shown = [i for i, _ in enumerate(grid.columns) if i not in bars]
    marking = any(line.marked for line in grid.lines)
    texts = {(r, c): _cell(line, c, marking, face) for r, line in enumerate(grid.lines) for c in shown}
    columns = {c: [texts[r, c] for r, _ in enumerate(grid.lines)] for c in shown}
    widths = {c: _natural(grid.columns[c], columns[c], face, marking and c == 0) for c in shown}
    gap = 2
    if face.width is not None:
        gap = _squeeze(widths, {c: columns[c] for c in shown if not grid.columns[c].number}, face.width)
        if sum(widths.values()) + gap * (len(shown) - 1) > face.width:
            return _stacked(grid, shown, texts, face)
    bar = 0
    if face.terminal and bars and face.width is not None:
        free = face.width - sum(widths.values()) - gap * len(shown)
        bar = min(_BAR_MOST, free) if free >= _BAR_LEAST else 0
    order = [c for c, _ in enumerate(grid.columns) if c in shown or bar]
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, show_header=False, show_edge=False)
    for c in order:
        number = c in shown and grid.columns[c].number
        table.add_column(width=widths.get(c, bar), no_wrap=True, justify="right" if number else "left")
    heads = {c: _head(grid.columns[c], widths[c], face, marking and c == 0) for c in shown}
    tallest = max(len(head) for head in heads.values())
    # Heads stand on the rule.
    table.add_row(*(Text("\n".join(_padded(heads.get(c, []), tallest)), style="bold") for c in order))
    if face.terminal:
        table.add_row(*(Text(face.spell("─") * widths.get(c, bar), style="dim") for c in order))
    for r, line in enumerate(grid.lines):
        style = "bold green" if line.marked else ""
        cells: list[Text] = []
        for c in order:
            value = line.cells[c]
            if isinstance(value, str):
                cells.append(Text("\n".join(fold(texts[r, c], widths[c], 2 if marking and c == 0 else 0)), style))
            else:
                cells.append(bar_of(value.share, bar, face, line.marked))
        table.add_row(*cells)
    return table


def _natural(column: Any, cells: list[str], face: Face, indent: bool) -> int:
    """As wide as the cells and the longest word of the head."""
    return max(len_of(text) for text in [*cells, *_head(column, 0, face, indent)])


def _squeeze(widths: dict[int, int], names: dict[int, list[str]], room: int) -> int:
    """Narrows the columns of names until the table fits, if it can; returns the gap between columns."""
    over = sum(widths.values()) + 2 * (len(widths) - 1) - room
    if over <= 0:
        return 2
    over -= len(widths) - 1
    for c, cells in sorted(names.items(), key=lambda item: -widths[item[0]]):
        least = min(widths[c], max(10, *(len_of(part) for text in cells for part in _parts(text))))
        less = min(max(over, 0), widths[c] - least)
        widths[c] -= less
        over -= less
    return 1


def _parts(text: str) -> list[str]:
    """Where a name may be cut: after blanks, hyphens, underscores and the like."""
    return [part for part in re.findall(r"[^\s\-_+=./,]*[\-_+=./,]*\s*", text) if part]


def fold(text: str, width: int, indent: int) -> list[str]:
    """The text in lines of at most `width` cells, the later ones indented."""
    if len_of(text) <= width:
        return [text]
    lines = [""]
    lead = " " * indent
    for part in _parts(text):
        if lines[-1].strip() and len_of((lines[-1] + part).rstrip()) > width:
            lines.append(lead)
        lines[-1] += part
        while len_of(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lead + lines[-1][width:]]
    return [line.rstrip() for line in lines]


def _padded(lines: list[str], tall: int) -> list[str]:
    return [*[""] * (tall - len(lines)), *lines]


def len_of(text: str) -> int:
    """How many cells of a terminal a text takes."""
    from rich.cells import cell_len

    return cell_len(text)


def _cell(line: Line, column: int, marking: bool, face: Face) -> str:
    text = face.spell(str(line.cells[column]))
    if marking and column == 0:
        return f"{face.spell('★') if line.marked else ' '} {text}"
    return text


def _head(column: Any, width: int, face: Face, indent: bool) -> list[str]:
    """Name and unit: as narrow as the cells on a terminal, in one line in a pipe."""
    lead = "  " if indent else ""
    if face.width is None:
        return [lead + face.spell(_header(column))]
    lines: list[str] = []
    for word in column.name.split(" "):
        if lines and len_of(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(lead + face.spell(word))
    return [*lines, face.spell(f"({column.unit})")] if column.unit else lines


def bar_of(share: float, cells: int, face: Face, marked: bool) -> Text:
    """A horizontal bar, in eighths of a cell where the stream can show them."""
    from rich.text import Text

    if face.unicode:
        eighths = max(1, round(share * cells * 8))
        text = "█" * (eighths // 8) + ("" if eighths % 8 == 0 else "▏▎▍▌▋▊▉"[eighths % 8 - 1])
    else:
        text = "#" * max(1, round(share * cells))
    return Text(text, style="green" if marked else "blue")


def _stacked(grid: Grid, shown: list[int], texts: dict[tuple[int, int], str], face: Face) -> RenderableType:
    """For a terminal too narrow for the columns: a list for each row."""
    from rich.text import Text

    out = Text()
    for r, line in enumerate(grid.lines):
        out.append(texts[r, shown[0]].strip() + "\n", style="bold green" if line.marked else "bold")
        for c in shown[1:]:
            out.append(f"  {face.spell(_header(grid.columns[c]))}: ", style="dim").append(texts[r, c] + "\n")
    out.rstrip()
    return out


def _with_plot(report: Report, screen: Screen, blocks: list[Block]) -> list[Any]:
    """A terminal sees the curve, after the result and the facts."""
    from enrelm_cli.report.reports import CurveReport

    if not (isinstance(report, CurveReport) and screen.out.terminal):
        return list(blocks)
    from enrelm_cli.report.views import Grid

    at = next(i for i, block in enumerate(blocks) if isinstance(block, Grid))
    return [*blocks[:at], terminal_plot(report, screen.out), *blocks[at:]]


def terminal_plot(report: CurveReport, face: Face) -> Text:
    """Errors against neurons, drawn in characters."""
    from rich.text import Text

    from enrelm_cli.show import braille

    width = min(face.width or 80, 120)
    out = Text(no_wrap=True, overflow="ignore")
    for i, row in enumerate(braille.curve_plot(report, width, face.unicode)):
        if i:
            out.append("\n")
        for text, style in row:
            out.append(text, style)
    return out
