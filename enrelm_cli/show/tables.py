"""Blocks on a terminal or in a pipe: facts, tables as wide as there is room, remarks, commands to copy."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from enrelm_cli.quoting import split
from enrelm_cli.report import words
from enrelm_cli.report.blocks import Block, Column, Command, Facts, Grid, Headline, Line, Remarks, Spark
from enrelm_cli.show.markdown import header
from enrelm_cli.show.screen import GLUE, Face, Screen

# Below this many cells a bar says nothing; above, it only takes room.
_BAR_LEAST, _BAR_MOST = 6, 24
_NARROW = 50


def draw(screen: Screen, blocks: Sequence[Block | RenderableType]) -> None:
    parts: list[RenderableType] = []
    for block in blocks:
        if parts:
            parts.append("")
        parts += _drawn(block, screen.out)
    screen.out.print(*parts)


def _drawn(block: Block | RenderableType, face: Face) -> list[RenderableType]:
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
    shown = Text(f"{block.purpose}: ", style="dim", no_wrap=True, overflow="ignore")
    command = words.visible(block.line)
    if face.terminal and face.width is not None and len_of(shown.plain + command) > face.width:
        command = "\n" + continued(command, face.width)
        shown.rstrip()
    return shown.append(command, style="not dim cyan")


def continued(command: str, width: int) -> str:
    """The same command over several lines; an option stays with its value."""
    pieces: list[str] = []
    for word in split(command):
        if pieces and pieces[-1].startswith("-") and " " not in pieces[-1] and not word.startswith("-"):
            pieces[-1] += f" {word}"
        else:
            pieces.append(word)
    lines = [f"  {pieces[0]}"]
    for piece in pieces[1:]:
        if len_of(lines[-1]) + len_of(piece) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"      {piece}")
        else:
            lines[-1] += f" {piece}"
    return "\n".join(lines)


def _drawn_facts(block: Facts, face: Face) -> RenderableType:
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
            elif isinstance(value, Spark):
                cells.append(spark_of(value.shares, bar, face))
            else:
                cells.append(bar_of(value.share, bar, face, line.marked))
        table.add_row(*cells)
    return table


def _natural(column: Column, cells: list[str], face: Face, indent: bool) -> int:
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
    return cell_len(text)


def _cell(line: Line, column: int, marking: bool, face: Face) -> str:
    text = face.spell(str(line.cells[column]))
    if marking and column == 0:
        return f"{face.spell('★') if line.marked else ' '} {text}"
    return text


def _head(column: Column, width: int, face: Face, indent: bool) -> list[str]:
    """Name and unit: as narrow as the cells on a terminal, in one line in a pipe."""
    lead = "  " if indent else ""
    if face.width is None:
        return [lead + face.spell(header(column))]
    lines: list[str] = []
    for word in column.name.split(" "):
        if lines and len_of(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(lead + face.spell(word))
    return [*lines, face.spell(f"({column.unit})")] if column.unit else lines


def bar_of(share: float, cells: int, face: Face, marked: bool) -> Text:
    """A horizontal bar, in eighths of a cell where the stream can show them."""
    if face.unicode:
        eighths = max(1, round(share * cells * 8))
        text = "█" * (eighths // 8) + ("" if eighths % 8 == 0 else "▏▎▍▌▋▊▉"[eighths % 8 - 1])
    else:
        text = "#" * max(1, round(share * cells))
    return Text(text, style="green" if marked else "blue")


def spark_of(shares: Sequence[float], cells: int, face: Face) -> Text:
    """A bar chart one cell high, as tall as its largest share; as digits of it where the stream knows only ASCII."""
    levels = "▁▂▃▄▅▆▇█" if face.unicode else "12345678"
    if len(shares) > cells:  # neighbours together
        shares = [sum(shares[i : i + 2]) for i in range(0, len(shares), 2)]
    largest = max(shares, default=0.0)
    heights = [round(7.0 * share / largest) for share in shares[:cells]]
    return Text("".join(levels[height] for height in heights), style="blue")


def _stacked(grid: Grid, shown: list[int], texts: dict[tuple[int, int], str], face: Face) -> RenderableType:
    """For a terminal too narrow for the columns: a list for each row."""
    out = Text()
    for r, line in enumerate(grid.lines):
        out.append(texts[r, shown[0]].strip() + "\n", style="bold green" if line.marked else "bold")
        for c in shown[1:]:
            out.append(f"  {face.spell(header(grid.columns[c]))}: ", style="dim").append(texts[r, c] + "\n")
    out.rstrip()
    return out
