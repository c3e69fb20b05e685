"""What a table is like: whether it can be fitted, what was found, and its columns."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from enrelm_cli.inputs.inspection.columns import ColumnCheck
from enrelm_cli.inputs.inspection.findings import Finding
from enrelm_cli.report import words
from enrelm_cli.report.blocks import Block, Column, Command, Facts, Grid, Headline, Line, Remarks, Spark, facts_of
from enrelm_cli.report.reports import CheckReport

_LEVELS = ("error", "warning", "note")
# Of a terminal of 80 by 24: lines for findings and columns together, for findings alone, and cells of a line.
_LINES, _FOUND, _WIDTH = 12, 8, 80
_LABEL = 10  # cells before a finding
_FIXED = 39  # cells of a line beside the name and the values of a column


def check_view(report: CheckReport) -> list[Block]:
    """Everything."""
    found = _found(report, len(report.findings))
    return [*check_head(report), *([found] if found.items else []), *check_columns(report)]


def check_head(report: CheckReport) -> list[Block]:
    """Before the findings."""
    return [_headline(report), _facts(report)]


def check_columns(report: CheckReport) -> list[Block]:
    """After the findings."""
    return [*([_grid(report.columns, wide=True)] if report.columns else []), *_command(report)]


def check_brief(report: CheckReport) -> list[Block]:
    """What fits on a screen: the first findings, and the columns that they name before others."""
    heights = list(accumulate(_height(finding) for finding in report.findings))
    most = max(bisect_right(heights, _FOUND), 1)
    found = _found(report, most)
    blocks: list[Block] = [_headline(report), found if found.items else _facts(report)]
    used = min(heights[most - 1], _FOUND) if heights else len(_facts(report).items)
    named = {finding.column for finding in report.findings[:most]}
    first = sorted(report.columns, key=lambda one: (one.role != "target", one.name not in named))[: _LINES - used]
    blocks += [_grid(tuple(one for one in report.columns if one in first), wide=False)] if first else []
    hidden = [*_more(len(report.findings) - most, "finding"), *_more(len(report.columns) - len(first), "column")]
    blocks += [Remarks((f"{' and '.join(hidden)}: -v",))] if hidden else []
    return [*blocks, *_command(report)]


def _height(finding: Finding) -> int:
    """Lines that it takes on a terminal, about."""
    return sum(1 + len(line) // (_WIDTH - _LABEL - 4) for line in finding.line.splitlines())


def _more(count: int, noun: str) -> list[str]:
    return [words.counted(count, f"more {noun}")] if count > 0 else []


def _headline(report: CheckReport) -> Headline:
    counts = [words.counted(len(of), level) for level in _LEVELS if (of := report.of_level(level))]
    verdict = "can be fitted" if report.fits else "cannot be fitted"
    return Headline(f"{report.name} {verdict}: {', '.join(counts) or 'nothing to report'}")


def _facts(report: CheckReport) -> Facts:
    inputs = sum(column.inputs for column in report.columns)
    used = sum(column.role == "input" for column in report.columns)
    # A fit leaves out marks of frequent values where left-out rows are predicted better without them.
    made = f"up to {words.counted(inputs, 'input')} of the kernel variants from {words.counted(used, 'column')}"
    return facts_of(
        ("rows", "" if report.rows is None else words.count(report.rows)),
        ("target", ", ".join(report.targets) or report.target or "none given: --target COL finds leaks and drift, too"),
        ("inputs", made if report.columns else ""),
    )


def _found(report: CheckReport, most: int) -> Facts:
    """Label and lines of each level; a message of several lines keeps them."""
    kept = {level: [one for one in report.findings[:most] if one.level == level] for level in _LEVELS}
    lines = {level: [line for one in found for line in one.line.splitlines()] for level, found in kept.items()}
    return facts_of(*((words.plural(level, len(kept[level])), lines[level]) for level in _LEVELS))


def _grid(columns: tuple[ColumnCheck, ...], wide: bool) -> Grid:
    heads = [
        Column("column"),
        Column("kind"),
        Column("inputs", number=True),
        Column("missing", number=True),
        Column("distinct", number=True),
        Column("range or levels", long=True),
        Column("distribution"),
    ]
    room = max(_WIDTH - _FIXED - max(len(one.name) for one in columns), 12)
    lines = [
        (
            one.name,
            one.kind,
            one.role if one.role == "target" else words.count(one.inputs),
            _missing(one),
            _distinct(one),
            one.values if wide else _short(one.values, room),
            Spark(one.bars),
        )
        for one in columns
    ]
    if not wide:
        return Grid("", tuple(heads), tuple(map(Line, lines)))
    full = [(*line, one.details) for line, one in zip(lines, columns, strict=True)]
    return Grid("columns", (*heads, Column("made of it", long=True)), tuple(map(Line, full)))


def _missing(column: ColumnCheck) -> str:
    if not column.missing:
        return words.ABSENT
    return words.percent(column.missing_share) if column.missing_share >= 0.001 else "<0.1 %"


def _distinct(column: ColumnCheck) -> str:
    if column.distinct is None:
        return "many"
    return words.count(column.distinct) if column.distinct_is_exact else f"~{words.count(column.distinct)}"


def _short(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _command(report: CheckReport) -> list[Block]:
    return [] if report.next_command is None else [Command("next", report.next_command)]
