"""What became of each column of a table: its kind, how many inputs it gave, and of what sort or why none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from enrelm_cli.inputs.encoding import Column, Encoding
from enrelm_cli.inputs.maps.codes import CodeIndicators, CodeMeans
from enrelm_cli.inputs.maps.column_map import ColumnMap
from enrelm_cli.inputs.maps.input_map import InputMap
from enrelm_cli.inputs.maps.levels import LevelIndicators, LevelMeans
from enrelm_cli.inputs.maps.missing import Missing
from enrelm_cli.inputs.maps.numbers import Scores, Spikes, Squashed, ValueIndicators
from enrelm_cli.inputs.maps.plain import OneHot, Value
from enrelm_cli.table.table import listed

_SHOWN = 10  # levels


@dataclass(frozen=True)
class Outcome:
    """One column."""

    name: str
    kind: str
    inputs: int
    details: str

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def outcomes(encoding: Encoding, input_map: InputMap) -> tuple[Outcome, ...]:
    """Of every column that was read, sorted by name."""
    maps: list[list[ColumnMap]] = [[] for _ in encoding.columns]
    for one in input_map.expansion.maps:
        maps[one.column].append(one)
    inputs = Counter(input_map.groups)
    used = [_used(column, maps[k], inputs[k]) for k, column in enumerate(encoding.columns)]
    apart = [Outcome(one.name, one.kind.value, 0, f"left out: {one.why}") for one in encoding.left_out]
    return tuple(sorted([*used, *apart], key=lambda one: one.name))


def _used(column: Column, maps: Sequence[ColumnMap], inputs: int) -> Outcome:
    levels = "" if column.levels is None else f"{len(column.levels)} levels: {listed(column.levels, _SHOWN)}"
    sorts = list(dict.fromkeys(word for one in maps for word in _words(one)))
    if not maps:
        sorts = ["left out: a copy of another column, constant, or too many levels for plain inputs"]
    elif not inputs:
        sorts = ["left out: constant on the training rows"]
    return Outcome(column.name, column.kind.value, inputs, "; ".join(filter(None, [levels, *_parts(maps), *sorts])))


def _parts(maps: Sequence[ColumnMap]) -> list[str]:
    """Of dates, what of the calendar is used."""
    parts = [part for one in maps if (part := getattr(one, "part", "value")) != "value"]
    return [", ".join(dict.fromkeys(parts))] if parts else []


def _words(one: ColumnMap) -> list[str]:
    """What a map does, for people."""
    if isinstance(one, Value):
        return [f"missing cells are filled with {one.fill:g}"] if one.marked else []
    if isinstance(one, OneHot):
        return ["missing cells are a level of their own"] if one.marked else []
    if isinstance(one, Scores):
        return [] if len(one.knots) == 2 else ["normal score"]
    plain = {Squashed: "squashed", ValueIndicators: "also as categories", Spikes: "frequent values also as categories"}
    plain[Missing] = "missing cells marked"
    levels = {LevelIndicators: "indicators", LevelMeans: "mean target of a level", CodeMeans: "mean target of a value"}
    levels[CodeIndicators] = "also as categories"
    return [{**plain, **levels}[type(one)]]
