"""The table of columns: what each is, what it holds, and the inputs that a fit would make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.fold.folds import Chunk
from enrelm_cli.inputs.encoding import Encoding, moment_text
from enrelm_cli.inputs.inspection.walk import Walk
from enrelm_cli.inputs.maps.column_map import folds_of
from enrelm_cli.inputs.maps.input_map import Expansion
from enrelm_cli.inputs.maps.levels import LevelSums
from enrelm_cli.inputs.maps.numbers import Form
from enrelm_cli.inputs.maps.robust import robust_maps, scaled
from enrelm_cli.inputs.outcomes import Outcome, outcomes
from enrelm_cli.inputs.split import Everything
from enrelm_cli.inputs.survey.cells import ColumnFacts, InputColumn
from enrelm_cli.inputs.survey.contents import SampledSurvey
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.table.cells import number_text
from enrelm_cli.table.table import Kind, numbers
from enrelm_cli.types import Array

_BARS = 12
_TOP = 3
_TAIL = 0.01  # of the cells at either end, which the first and the last bar hold, too


@dataclass(frozen=True)
class ColumnCheck:
    """One column."""

    name: str
    role: str  # input, target or left out
    kind: str
    inputs: int
    details: str  # what the inputs are, or why there are none
    missing: int
    missing_share: float
    distinct: int | None  # None: too many levels to be counted
    distinct_is_exact: bool
    lowest: str | None  # of numbers and dates, as people write them
    highest: str | None
    top: tuple[tuple[str, int], ...]  # the most frequent levels and their cells
    bars: tuple[float, ...]  # shares of the sample's cells: along the range, or of the most frequent levels

    @property
    def values(self) -> str:
        """What it holds, in a few words."""
        if self.top:
            known = ", ".join(f"{level} {count:,}" for level, count in self.top)
            return known if self.distinct is not None and self.distinct <= len(self.top) else f"{known}, …"
        if self.lowest is None or self.lowest == self.highest:
            return self.lowest or ""
        return f"{self.lowest} to {self.highest}"

    def to_json(self) -> dict[str, Any]:
        top = [{"level": level, "cells": count} for level, count in self.top]
        return {**vars(self), "top": top, "bars": list(self.bars)}


@dataclass(frozen=True)
class Raw:
    """The survey's sample as raw rows."""

    X: Array  # (s, columns) NaN where a cell is missing or infinite
    y: Array  # (s,) zeros without a target
    chunk: Chunk

    @staticmethod
    def of(survey: SampledSurvey, encoding: Encoding) -> Raw:
        X, y, _ = encoding.for_predict(survey.sample)
        X[~np.isfinite(X)] = np.nan
        y = np.zeros(len(y)) if survey.roles.target is None else np.where(np.isfinite(y), y, 0.0)
        return Raw(X, y, Chunk(X, y, survey.sample_keys, survey.sample_keys, 0))


def planned(encoding: Encoding, raw: Raw) -> tuple[Outcome, ...]:
    """What the kernel variants would make of each column; from the sample, so a fit may differ by an input or two."""
    levels = {k: len(column.levels) for k, column in enumerate(encoding.columns) if column.levels is not None}
    scale = TargetScale(float(raw.y.mean()), float(raw.y.std()) or 1.0) if len(raw.y) else TargetScale(0.0, 1.0)
    sums = LevelSums(Everything(), scale, levels)(raw.chunk)
    maps = robust_maps(encoding.columns, raw.X, {k: sums[str(k)] for k in levels}, calendar=True, form=Form.MARKED)
    found = scaled(Expansion(maps), raw.X, folds_of(raw.chunk.unit))
    if found is None:
        constant = "left out: constant"
        return tuple(Outcome(column.name, column.kind.value, 0, constant) for column in encoding.columns)
    return outcomes(encoding, found)


def column_checks(survey: SampledSurvey, walked: Walk, plan: Mapping[str, Outcome]) -> tuple[ColumnCheck, ...]:
    """The target first, then the others as the file has them."""
    facts = {column.name: (column, fact) for column, fact in survey.columns}
    checks = [_check(survey, *facts[name], walked, plan) for name in survey.table.names if name in facts]
    return tuple(checks) if survey.roles.target is None else (_target(survey, walked), *checks)


def _check(
    survey: SampledSurvey, column: InputColumn, facts: ColumnFacts, walked: Walk, plan: Mapping[str, Outcome]
) -> ColumnCheck:
    name, outcome = column.name, plan[column.name]
    levels = sorted((facts.levels or {}).items(), key=lambda pair: (-pair[1], pair[0]))
    ranged = not column.has_levels and facts.lowest <= facts.highest  # it has values
    known = None if facts.too_many else len(levels)
    distinct, exact = (known, True) if column.has_levels else _distinct(survey, walked, name)
    spread = [count for _, count in levels[:_BARS]] if column.has_levels else _histogram(survey, name)
    return ColumnCheck(
        name=name,
        role="input" if outcome.inputs else "left out",
        kind=column.kind.value,
        inputs=outcome.inputs,
        details=outcome.details,
        missing=facts.missing,
        missing_share=facts.missing / max(survey.rows, 1),
        distinct=distinct,
        distinct_is_exact=exact,
        lowest=_shown(facts.lowest, column.kind) if ranged else None,
        highest=_shown(facts.highest, column.kind) if ranged else None,
        top=tuple(levels[:_TOP]),
        bars=_shares(spread),
    )


def _target(survey: SampledSurvey, walked: Walk) -> ColumnCheck:
    name, facts = str(survey.roles.target), survey.target
    every, kind = survey.rows + survey.without_target, survey.table.kinds[name]
    levels = sorted((facts.levels or {}).items(), key=lambda pair: (-pair[1], pair[0]))
    ranged = facts.levels is None and not facts.too_many
    distinct, exact = _distinct(survey, walked, name) if ranged else (len(levels), not facts.too_many)
    spread = _histogram(survey, name) if ranged else [count for _, count in levels[:_BARS]]
    return ColumnCheck(
        name=name,
        role="target",
        kind=kind.value,
        inputs=0,
        details="the target",
        missing=survey.without_target,
        missing_share=survey.without_target / max(every, 1),
        distinct=distinct,
        distinct_is_exact=exact,
        lowest=_shown(facts.lowest, kind) if ranged else None,
        highest=_shown(facts.highest, kind) if ranged else None,
        top=tuple(levels[:_TOP]),
        bars=_shares(spread),
    )


def _distinct(survey: SampledSurvey, walked: Walk, name: str) -> tuple[int, bool]:
    """How many different numbers or dates, and whether that is exact."""
    if survey.sample_is_whole:
        values = sample_of(survey, name)
        return len(np.unique(values[~np.isnan(values)])), True
    run = walked.runs[name]
    return run.distinct, run.is_exact


def _shown(value: float, kind: Kind) -> str:
    if np.isinf(value):
        return "inf" if value > 0.0 else "-inf"
    return moment_text(value) if kind in (Kind.DATE, Kind.ZONED) else number_text(float(f"{value:.6g}"))


def sample_of(survey: SampledSurvey, name: str) -> Array:
    """(s,) a column of numbers in the sample, NaN where it is missing or infinite."""
    values = numbers(survey.sample.columns.column(name))
    return np.where(np.isfinite(values), values, np.nan)


def _histogram(survey: SampledSurvey, name: str) -> Array:
    """(_BARS,) cells along the range that holds all but the tails."""
    values = sample_of(survey, name)
    values = values[~np.isnan(values)]
    if not len(values):
        return np.zeros(0)
    low, high = np.quantile(values, (_TAIL, 1.0 - _TAIL))
    if not low < high:
        low, high = float(np.min(values)), float(np.max(values))
    return np.histogram(np.clip(values, low, high), _BARS, (low, high))[0].astype(float)


def _shares(counts: Any) -> tuple[float, ...]:
    total = float(np.sum(counts))
    return tuple(float(count) / total for count in counts) if total else ()
