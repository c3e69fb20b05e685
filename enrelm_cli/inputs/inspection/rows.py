"""Rows and the target: too few, repeated, in the order of time; a target that is hardly there or drifts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from enrelm_cli.fold.hashing import combine, hash_numbers
from enrelm_cli.inputs.classes.rare import HANDFUL
from enrelm_cli.inputs.inspection.alone import ALIKE, alike_in_time, drift
from enrelm_cli.inputs.inspection.columns import sample_of
from enrelm_cli.inputs.inspection.findings import Finding, Level, two_values
from enrelm_cli.inputs.inspection.suspects import MOSTLY, Looked
from enrelm_cli.inputs.survey.contents import SampledSurvey
from enrelm_cli.quoting import quoted
from enrelm_cli.table.table import Kind, listed

FEW_ROWS = 50
_REPEATED = 0.1
_DRIFT, _CHANCE = 0.05, 1e-6
_ALIKE = 0.8  # correlation of neighbours
_ALIKE_ROWS = 100
_DATES = (Kind.DATE, Kind.ZONED)


def about_rows(looked: Looked) -> Iterator[Finding]:
    yield from _amount(looked.survey)
    yield from _repeats(looked)
    if not looked.survey.roles.split_by:
        yield from list(_in_time(looked)) or _neighbours(looked)


def _amount(survey: SampledSurvey) -> Iterator[Finding]:
    target, every = survey.roles.target, survey.rows + survey.without_target
    if survey.rows < FEW_ROWS:
        known = "" if target is None else f" with a known {target!r}"
        text = f"only {survey.rows:,} rows{known}: errors of so few are unreliable"
        yield Finding("warning", "few-rows", None, text)
    if target is None:
        return
    if survey.without_target > MOSTLY * every:
        text = f"target {target!r}: missing in {survey.without_target:,} of {every:,} rows, which are left out"
        yield Finding("warning", "target", target, text)
    if survey.target.levels is not None:
        yield from _classes(survey, target)
        return
    if len(np.unique(sample_of(survey, target))) == 2:
        yield two_values(target)


def _classes(survey: SampledSurvey, target: str) -> Iterator[Finding]:
    """How many there are, and which have hardly a row."""
    levels = survey.target.levels or {}
    counted = f"target {target!r}: {len(levels):,} classes"
    yield Finding("note", "target", target, f"{counted}, the largest with {max(levels.values()):,} rows")
    rare = sorted(level for level, count in levels.items() if count < HANDFUL)
    if rare:
        named = listed([repr(level) for level in rare], 5)
        text = f"target {target!r}: fewer than {HANDFUL} rows of {named}; they train, and nothing tests them"
        yield Finding("warning", "rare-class", target, text)


def _repeats(looked: Looked) -> Iterator[Finding]:
    """Rows that equal another in every column; counted in the sample, which holds all or none of a row's copies."""
    chunk = looked.raw.chunk
    rows = len(chunk.twins)
    if not rows:
        return
    whole = combine([chunk.twins, hash_numbers(chunk.y)])
    repeated = rows - len(np.unique(whole))
    share = repeated / rows
    if not repeated:
        return
    # In a table of few distinct inputs equal rows are to be expected.
    distinct = len(looked.distinct) / rows
    counted = "1 row repeats" if repeated == 1 else f"{repeated:,} rows repeat"
    many = counted if looked.survey.sample_is_whole else f"about {100 * share:.1f} % of the rows repeat"
    text = f"{many} another row in every column"
    level: Level = "warning" if share > _REPEATED and distinct > 0.5 else "note"
    yield Finding(level, "repeats", None, text, None, "copies fall on one side of the split")


def _in_time(looked: Looked) -> Iterator[Finding]:
    """The column along which rows are ordered, or the target drifts: an error of random rows then flatters."""
    survey = looked.survey
    dates = [column.name for column, _ in survey.columns if column.kind in _DATES and not column.has_levels]
    for name in dates:
        run = looked.walked.runs[name]
        if run.monotone and run.distinct > 2:
            yield _time(
                "warning", name, f"rows look time-ordered along {name!r}: the error of a random split may be optimistic"
            )
            return
    if survey.roles.target is not None:
        alike = {name: alike_in_time(sample_of(survey, name), looked.raw.y) for name in dates}
        for name in [one for one in alike if alike[one] >= max(ALIKE, *alike.values())]:
            text = f"rows look time-ordered along {name!r}: targets of neighbours correlate ({alike[name]:.2f})"
            yield _time("warning", name, f"{text}; the error of a random split may be optimistic")
            return
        found = {name: drift(sample_of(survey, name), looked.raw.y) for name in dates}
        moving = {name: share for name, (share, chance) in found.items() if share > _DRIFT and chance < _CHANCE}
        if moving:
            name = max(moving, key=lambda one: moving[one])
            text = f"the target drifts along {name!r} ({100 * moving[name]:.0f} % of its variance)"
            yield _time("warning", name, f"{text}: the error of a random split may be optimistic")
            return
    for column, facts in survey.columns:
        if column.kind is not Kind.NUMBER:
            continue
        run = looked.walked.runs[column.name]
        gapless = facts.highest - facts.lowest + 1.0 == run.distinct  # numbers of rows are no time
        if run.monotone and not gapless and 2 * run.distinct > run.count > FEW_ROWS:
            yield _time("note", column.name, f"rows are ordered along {column.name!r}; if that is a time,")
            return


def _time(level: Level, name: str, text: str) -> Finding:
    return Finding(level, "time-order", name, text, f"--time {quoted(name)}", "validates on the latest rows")


def _neighbours(looked: Looked) -> Iterator[Finding]:
    """Rows that follow each other are alike: a series without a date, or groups."""
    survey, target = looked.survey, looked.survey.roles.target
    if target is None or survey.target.levels is not None:
        return
    run = looked.walked.runs[target]
    variance = float(np.var(looked.raw.y)) if len(looked.raw.y) else 0.0
    if run.count < _ALIKE_ROWS or run.monotone or not 0.0 < variance < np.inf or survey.target.infinite:
        return
    correlation = 1.0 - run.squares / (run.count - 1) / (2.0 * variance)
    if correlation > _ALIKE:
        text = (
            f"targets of neighbouring rows are alike (correlation {correlation:.2f}); if they form a series or groups,"
        )
        yield Finding("note", "neighbours", None, text, "--time COL or --group COL", "gives the error of new ones")
