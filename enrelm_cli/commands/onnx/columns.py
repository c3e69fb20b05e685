"""Columns of an ONNX graph: one input for each, and the maps of the kernel's inputs as nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.commands.onnx.graph import Graph
from enrelm_cli.errors import UsageError
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.inputs.maps.codes import CodeMeans
from enrelm_cli.inputs.maps.column_map import FAR, ColumnMap
from enrelm_cli.inputs.maps.dates import DAY, DAYS, HOUR, MONTH, VALUE, WEEKDAY
from enrelm_cli.inputs.maps.levels import LevelIndicators, LevelMeans
from enrelm_cli.inputs.maps.missing import Missing
from enrelm_cli.inputs.maps.numbers import BEND, Scores, Spikes, Squashed, ValueIndicators
from enrelm_cli.inputs.maps.plain import OneHot, Value
from enrelm_cli.model.model import Model
from enrelm_cli.table.table import Kind
from enrelm_cli.types import Array

_HOUR = 3_600e6  # microseconds


@dataclass(frozen=True)
class Port:
    """One input of the graph."""

    name: str
    type: str  # float64, float32 or string
    meaning: str


def columns(graph: Graph, model: Model, dtype: str) -> tuple[tuple[Port, ...], str]:
    """The ports, and E (rows, all expanded inputs)."""
    for column in model.encoding.columns:
        if not column.name:
            raise UsageError("a column without a name cannot be an input of an ONNX model", "export with --encoded")
    ports = tuple(_port(column, dtype) for column in model.encoding.columns)
    parts = [_map(graph, one, model.encoding.columns[one.column], dtype) for one in model.input_map.expansion.maps]
    return ports, graph.op("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def _port(column: Column, dtype: str) -> Port:
    if column.levels is None:
        # Microseconds since 1970 and large labels do not fit into float32.
        return Port(column.name, "float64" if column.is_date else dtype, _meaning(column))
    return Port(column.name, "float64" if _of_numbers(column) else "string", _meaning(column))


def _of_numbers(column: Column) -> bool:
    """Its levels are numbers, or true and false."""
    return column.kind in (Kind.NUMBER, Kind.BOOLEAN)


def _meaning(column: Column) -> str:
    if column.is_date and column.levels is None:
        return "microseconds since 1970-01-01; NaN where missing"
    if column.kind is Kind.BOOLEAN:
        return "1 for true, 0 for false; NaN where missing"
    if column.kind is Kind.NUMBER:
        return "a category, as its number; NaN where missing" if column.levels else "a number; NaN where missing"
    return 'a category, as its text; "" where missing'


def _map(graph: Graph, one: ColumnMap, column: Column, dtype: str) -> str:
    """The map's inputs: (rows, width)."""
    if isinstance(one, Value):
        return _value(graph, one, column)
    if isinstance(one, Missing):
        return graph.to_double(graph.op("IsNaN", graph.to_double(column.name)))
    if isinstance(one, Squashed):
        return _squashed(graph, one, column)
    if isinstance(one, Scores):
        x = _part(graph, column, one.part)
        return graph.where_missing(x, one.fill, graph.interpolated(x, one.knots, one.scores))
    if isinstance(one, ValueIndicators):
        return _value_indicators(graph, one, column, dtype)
    if isinstance(one, OneHot):
        return _of_levels(graph, column, _one_hot(one))
    if isinstance(one, LevelIndicators):
        return _of_levels(graph, column, _indicators(one))
    if isinstance(one, CodeMeans):
        table = np.column_stack([one.mean[:, -1], one.size[:, -1]])
        return graph.op("Gather", table, _place_of_value(graph, column, _as_read(one.values, column, dtype)), axis=0)
    if isinstance(one, LevelMeans):
        return _of_levels(graph, column, np.column_stack([one.mean[:, -1], one.size[:, -1]]))
    raise UsageError(f"inputs of column {column.name!r} cannot be exported", "fit again with --input-map plain")


# ----------------------------------------------------------------------------------------------------------- numbers


def _value(graph: Graph, one: Value, column: Column) -> str:
    raw = graph.to_double(column.name)
    value = graph.op("Div", graph.op("Sub", raw, one.origin), DAY) if one.dated else raw
    filled = graph.where_missing(raw, one.fill, value)
    return graph.op("Concat", filled, graph.to_double(graph.op("IsNaN", raw)), axis=1) if one.marked else filled


def _squashed(graph: Graph, one: Squashed, column: Column) -> str:
    x = _part(graph, column, one.part)
    z = graph.op("Clip", graph.op("Div", graph.op("Sub", x, one.centre), one.unit), -FAR, FAR)
    third = graph.op("Div", z, BEND)
    root = graph.op("Sqrt", graph.op("Add", graph.op("Mul", third, third), 1.0))
    return graph.where_missing(x, one.fill, graph.op("Div", z, root))


def _as_read(values: Array, column: Column, dtype: str) -> Array:
    """A cell of float32 equals the value that is rounded like it."""
    return values.astype(np.float32).astype(np.float64) if _port(column, dtype).type == "float32" else values


def _value_indicators(graph: Graph, one: ValueIndicators, column: Column, dtype: str) -> str:
    x = _part(graph, column, one.part)
    same = graph.to_double(graph.op("Equal", x, _as_read(one.values, column, dtype)[None, :]))
    if isinstance(one, Spikes):
        return graph.where_missing(x, one.shares[None, :], same)
    known = graph.op("ReduceSum", same, np.array([1], dtype=np.int64), keepdims=1)
    return graph.op("Add", same, graph.op("Mul", graph.op("Sub", 1.0, known), one.shares[None, :]))


# ------------------------------------------------------------------------------------------------------------- dates


def _part(graph: Graph, column: Column, part: str) -> str:
    """A number of the column, or a part of its dates: (rows, 1), NaN where missing."""
    raw = graph.to_double(column.name)
    if part == VALUE:
        return raw
    if part == DAYS:
        return graph.op("Div", raw, DAY)
    moment = graph.where_missing(raw, 0.0, raw)
    day = _floor(graph, moment, DAY)
    return graph.where_missing(raw, np.nan, _of_day(graph, moment, day, part))


def _of_day(graph: Graph, moment: str, day: str, part: str) -> str:
    if part == WEEKDAY:
        return _modulo(graph, graph.op("Add", day, 3.0), 7.0)
    if part == HOUR:
        return _floor(graph, graph.op("Sub", moment, graph.op("Mul", day, DAY)), _HOUR)
    year, of_march = _from_march(graph, day)
    month = _floor(graph, graph.op("Add", graph.op("Mul", of_march, 5.0), 2.0), 153.0)  # 0 is March
    early = graph.op("Less", month, 10.0)  # March to December
    if part == MONTH:
        return graph.op("Where", early, graph.op("Add", month, 3.0), graph.op("Sub", month, 9.0))
    late = graph.op("Add", graph.op("Add", of_march, 60.0), _leap(graph, year))
    return graph.op("Where", early, late, graph.op("Sub", of_march, 305.0))


def _from_march(graph: Graph, day: str) -> tuple[str, str]:
    """Of days since 1970: the year within its 400, which begins in March, and the day of it, from 0 on."""
    d = _modulo(graph, graph.op("Add", day, 719_468.0), 146_097.0)
    leaps = graph.op("Sub", _floor(graph, d, 36_524.0), _floor(graph, d, 1_460.0))
    leaps = graph.op("Sub", leaps, _floor(graph, d, 146_096.0))
    year = _floor(graph, graph.op("Add", d, leaps), 365.0)
    leaps = graph.op("Sub", _floor(graph, year, 4.0), _floor(graph, year, 100.0))
    before = graph.op("Add", graph.op("Mul", year, 365.0), leaps)
    return year, graph.op("Sub", d, before)


def _leap(graph: Graph, year: str) -> str:
    """1 for a leap year within its 400, else 0."""
    fourth, hundredth = (graph.op("Equal", _modulo(graph, year, by), 0.0) for by in (4.0, 100.0))
    ordinary = graph.op("And", fourth, graph.op("Not", hundredth))
    return graph.to_double(graph.op("Or", ordinary, graph.op("Equal", year, 0.0)))


def _floor(graph: Graph, x: str, by: float) -> str:
    return graph.op("Floor", graph.op("Div", x, by))


def _modulo(graph: Graph, x: str, by: float) -> str:
    return graph.op("Sub", x, graph.op("Mul", _floor(graph, x, by), by))


# ------------------------------------------------------------------------------------------------------------ levels


def _of_levels(graph: Graph, column: Column, table: Array) -> str:
    """Rows of a table (L + 2, width): of each level, of a missing cell, of a level unseen at fit."""
    assert column.levels is not None
    place = (_place_of_number if _of_numbers(column) else _place_of_text)(graph, column, column.levels)
    return graph.op("Gather", np.ascontiguousarray(table), place, axis=0)


def _place_of_text(graph: Graph, column: Column, levels: tuple[str, ...]) -> str:
    known = [*levels, ""]
    text = graph.op("Squeeze", column.name, np.array([1], dtype=np.int64))
    places: dict[str, Any] = {"keys_strings": known, "values_int64s": list(range(len(known)))}
    return graph.op("LabelEncoder", text, domain="ai.onnx.ml", default_int64=len(known), **places)


def _place_of_number(graph: Graph, column: Column, levels: tuple[str, ...]) -> str:
    words = {"true": 1.0, "false": 0.0}
    return _place_of_value(graph, column, np.array([words[one] if one in words else float(one) for one in levels]))


def _place_of_value(graph: Graph, column: Column, values: Array) -> str:
    """(rows,) the place of each cell among the values (k,): k where it is missing, k + 1 where it is another."""
    raw = graph.to_double(column.name)
    # Each level's place less that of an unseen one: their sum over the level that is equal, if any, and NaN.
    unseen = len(values) + 1
    less = np.arange(unseen, dtype=np.int64)[None, :] - unseen
    same = graph.op("Concat", graph.op("Equal", raw, values[None, :]), graph.op("IsNaN", raw), axis=1)
    steps = graph.op("Mul", graph.op("Cast", same, to=graph.type_of("int64")), less)
    return graph.op("Add", graph.op("ReduceSum", steps, np.array([1], dtype=np.int64), keepdims=0), unseen)


def _one_hot(one: OneHot) -> Array:
    table = np.zeros((one.levels + 2, one.width))
    table[: one.width, : one.width] = np.eye(one.width)
    return table


def _indicators(one: LevelIndicators) -> Array:
    table = np.zeros((len(one.slot), one.width))
    one.write(np.append(np.arange(len(one.slot) - 2.0), [np.nan, -1.0]), None, table)
    return table
