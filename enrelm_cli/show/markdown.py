"""Reports as Markdown, as GitHub reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from enrelm_cli.report import words
from enrelm_cli.report.blocks import Block, Column, Facts, Grid, Headline, Remarks


def markdown(blocks: Iterable[Block]) -> str:
    """The blocks as GitHub reads them."""
    parts: list[str] = []
    for block in blocks:
        if isinstance(block, Headline):
            parts.append(f"**{_escaped(block.text)}**")
        elif isinstance(block, Facts):
            parts.append("\n".join(_fact(name, lines) for name, lines in block.items))
        elif isinstance(block, Remarks):
            parts.append("\n".join(f"- {_escaped(line)}" for line in block.lines))
        elif isinstance(block, Grid):
            shown = [
                i for i, _ in enumerate(block.columns) if all(isinstance(line.cells[i], str) for line in block.lines)
            ]
            columns = [block.columns[i] for i in shown]
            rows = [[_escaped(header(column)) for column in columns]]
            rows.append(["---:" if column.number else "---" for column in columns])
            for line in block.lines:
                cells = [_escaped(str(line.cells[i])) for i in shown]
                rows.append([f"**{cell}**" for cell in cells] if line.marked else cells)
            title = [f"### {_escaped(block.title.capitalize())}", ""] if block.title else []
            parts.append("\n".join([*title, *(f"| {' | '.join(row)} |" for row in rows)]))
        else:
            parts.append(f"{_escaped(block.purpose.capitalize())}:\n\n```sh\n{block.line}\n```")
    return "\n\n".join(parts) + "\n"


def _fact(name: str, lines: tuple[str, ...]) -> str:
    if len(lines) == 1:
        return f"- {name}: {_escaped(lines[0])}"
    return "\n".join([f"- {name}:", *(f"  - {_escaped(line.strip())}" for line in lines)])


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", words.visible(text))


def header(column: Column) -> str:
    return f"{column.name} ({column.unit})" if column.unit else str(column.name)
