"""Columns that deserve a look: left out, copies, mostly missing, identifiers, leaks, doubtful readings, odd levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.inputs.encoding import Encoding
from enrelm_cli.inputs.inspection.alone import explained
from enrelm_cli.inputs.inspection.columns import Raw, sample_of
from enrelm_cli.inputs.inspection.findings import Finding, Level
from enrelm_cli.inputs.inspection.walk import Walk
from enrelm_cli.inputs.maps.robust import copies
from enrelm_cli.inputs.survey.contents import SampledSurvey
from enrelm_cli.quoting import quoted
from enrelm_cli.table.cells import number_text
from enrelm_cli.table.table import Kind
from enrelm_cli.types import Array

MOSTLY = 0.5
# R2 of one column alone; the strongest of 30 honest tables has 0.93.
_LEAK = 0.98
_LEAK_ROWS = 30
_ID_ROWS = 100
_ID_NAMES = ("id", "key", "index", "nr", "no", "number", "uuid", "guid")
# Kolmogorov's distance from even spacing, times sqrt(n): above it with a probability of 1 %.
_EVEN = 1.63
_NUMBERS = 0.8  # of the cells of a column of texts
# What people write for a missing number.
_SENTINELS = frozenset(sign * value for value in (99, 999, 9999, 99999, 999999) for sign in (-1, 1)) | {-9}
_SENTINEL_SHARE = 0.005
_SHOWN = 3


@dataclass(frozen=True)
class Looked:
    """What is known of a table's columns."""

    survey: SampledSurvey
    walked: Walk
    encoding: Encoding
    raw: Raw

    @cached_property
    def distinct(self) -> NDArray[np.int64]:
        """Rows of the sample, each input once."""
        return np.unique(self.raw.chunk.twins, return_index=True)[1]

    @property
    def places(self) -> Mapping[str, int]:
        return {column.name: place for place, column in enumerate(self.encoding.columns)}


def suspects(looked: Looked) -> Iterator[Finding]:
    """Column by column in the order of the checks."""
    yield from _left_out(looked)
    yield from _readings(looked)
    yield from _leaks(looked)
    yield from _identifiers(looked)
    yield from _holes(looked)
    yield from _sentinels(looked)
    yield from _nearly_numbers(looked)
    yield from _spellings(looked)


def drop(name: str) -> str:
    return f"--drop {quoted(name)}"


def categorical(name: str) -> str:
    return f"--categorical {quoted(name)}"


def _left_out(looked: Looked) -> Iterator[Finding]:
    for one in looked.encoding.left_out:
        if one.why == "no value":
            yield Finding("note", "empty", one.name, f"column {one.name!r} left out: no value")
        elif one.kind is Kind.OTHER:
            yield Finding("note", "unreadable", one.name, f"column {one.name!r} left out: {one.why}")
        else:
            text = f"column {one.name!r} left out: {one.why.partition(';')[0]}"
            yield Finding("note", "identifier", one.name, text, categorical(one.name), "uses it anyway")
    columns = looked.encoding.columns
    for copy, original in copies(looked.raw.X).items():
        text = f"column {columns[copy].name!r} left out: a copy of {columns[original].name!r}"
        yield Finding("note", "copy", columns[copy].name, text)
    for column, facts in looked.survey.columns:
        levels = len(facts.levels or ()) if column.has_levels else 2
        if not facts.missing and (levels == 1 or facts.lowest == facts.highest):
            yield Finding("note", "constant", column.name, f"column {column.name!r} left out: constant")


def _readings(looked: Looked) -> Iterator[Finding]:
    for name, found in sorted(looked.survey.table.decisions.items()):
        text = f"column {name!r}: {found.reading}"
        if found.rival is not None:
            yield Finding("warning", "ambiguous", name, f"{text}, a guess", found.rival, "reads them the other way")
        if found.odd is not None:
            level: Level = "warning" if found.strange else "note"
            yield Finding(level, "odd-cells", name, f"{text}; {found.odd}", categorical(name), "keeps texts")


def _leaks(looked: Looked) -> Iterator[Finding]:
    target = looked.survey.roles.target
    rows = looked.distinct  # twins would vouch for each other
    # Of one input all that can be known is in it.
    if target is None or len(looked.encoding.columns) < 2 or len(rows) < _LEAK_ROWS:
        return
    for place, column in enumerate(looked.encoding.columns):
        if column.is_date:
            continue
        share = explained(looked.raw.X[rows, place], looked.raw.y[rows], column.levels is None)
        if share > _LEAK:
            text = f"column {column.name!r} alone predicts {target!r} (R² {share:.4f}): known only afterwards?"
            yield Finding("warning", "leak", column.name, text, drop(column.name), "leaves it out")


def _identifiers(looked: Looked) -> Iterator[Finding]:
    """Numbers that only name their row."""
    for column, facts in looked.survey.columns:
        run = looked.walked.runs.get(column.name)
        if column.kind is not Kind.NUMBER or column.has_levels or facts.infinite or run is None:
            continue
        values = sample_of(looked.survey, column.name)[looked.distinct]
        values = np.sort(values[~np.isnan(values)])
        if len(values) < _ID_ROWS or (values != np.rint(values)).any() or (np.diff(values) == 0.0).any():
            continue
        gapless = facts.highest - facts.lowest + 1.0 == run.distinct
        # Going up all the way with gaps, it may be a time (rows.py says so).
        if gapless or _like_a_key(column.name) or (_evenly_spread(values) and not run.monotone):
            what = "row numbers" if gapless and run.monotone else "identifiers"
            text = f"column {column.name!r}: integers, all different, look like {what}"
            yield Finding("warning", "identifier", column.name, text, drop(column.name), "leaves it out")


def _like_a_key(name: str) -> bool:
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    words = "".join(letter if letter.isalnum() else " " for letter in spaced).split()
    return bool({*words[:1], *words[-1:], name.lower()} & {*_ID_NAMES})


def _evenly_spread(values: Array) -> bool:
    n = len(values)
    share = (values - values[0]) / (values[-1] - values[0])
    gap = float(np.abs(share - (np.arange(n) + 0.5) / n).max())
    return gap * float(np.sqrt(n)) < _EVEN


def _holes(looked: Looked) -> Iterator[Finding]:
    for column, facts in looked.survey.columns:
        share = facts.missing / max(looked.survey.rows, 1)
        if MOSTLY < share < 1.0 and column.name in looked.places:
            text = f"column {column.name!r}: {_percent(share)} of its cells are missing"
            yield Finding("warning", "missing", column.name, text, drop(column.name), "leaves it out")


def _sentinels(looked: Looked) -> Iterator[Finding]:
    for column, facts in looked.survey.columns:
        if column.kind is not Kind.NUMBER or column.has_levels or facts.infinite:
            continue
        values = sample_of(looked.survey, column.name)
        values = values[~np.isnan(values)]
        for end in {facts.lowest, facts.highest} & _SENTINELS:
            others = values[values != end]
            share = 1.0 - len(others) / max(len(values), 1)
            if share < _SENTINEL_SHARE or not len(others):
                continue
            gap = min(abs(end - others.min()), abs(end - others.max()))
            if gap > others.max() - others.min():
                number = number_text(end)
                text = f"column {column.name!r}: {number} in {_percent(share)} of its cells, far from all others"
                yield Finding(
                    "warning", "sentinel", column.name, text, f"--null={number}", "if that means a missing value"
                )


def _nearly_numbers(looked: Looked) -> Iterator[Finding]:
    """Texts most of which are numbers."""
    for column, facts in looked.survey.columns:
        if column.kind is not Kind.TEXT or column.categorical or not facts.levels:
            continue
        odd = {level: count for level, count in facts.levels.items() if not _is_number(level)}
        cells = sum(facts.levels.values())
        share = 1.0 - sum(odd.values()) / cells
        # A few codes that happen to be digits are levels.
        if share >= _NUMBERS and len(facts.levels) - len(odd) > 10 and odd:
            most = sorted(odd, key=lambda level: (-odd[level], level))
            shown = ", ".join(f"{level!r} {odd[level]:,}" for level in most[:_SHOWN])
            text = f"column {column.name!r}: texts, though {_percent(share)} of its cells are numbers; not {shown}"
            option = " ".join(f"--null {quoted(level)}" for level in most[:_SHOWN])
            yield Finding("warning", "odd-cells", column.name, text, option, "if that means a missing value")


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _spellings(looked: Looked) -> Iterator[Finding]:
    """Levels that differ only in case or blanks."""
    for column, facts in looked.survey.columns:
        if column.kind is not Kind.TEXT or not facts.levels or column.name not in looked.places:
            continue
        for spelled in _alike(list(facts.levels)):
            names = " and ".join(repr(level) for level in spelled[:_SHOWN])
            text = f"column {column.name!r}: the levels {names} differ only in case or blanks"
            yield Finding("warning", "spelling", column.name, text, None, "correct the file if they mean the same")
            break


def _alike(levels: Sequence[str]) -> Iterator[list[str]]:
    def plain(level: str) -> str:
        return " ".join(level.split()).casefold()

    for _, spelled in groupby(sorted(levels, key=lambda level: (plain(level), level)), plain):
        same = list(spelled)
        if len(same) > 1:
            yield same


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0095 else f"{100 * share:.1f} %"
