"""Columns -> inputs: numbers, dates as days, levels as 0 and 1, missing cells filled; the same at fit and predict.

Inputs are sorted by column, then level, so that the order of a file's columns does not matter:

    age, age is missing, sex=F, sex=M, when

Nothing is scaled here, and an input that never varies is kept: both are decided later, on the training rows.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.folds import Chunk, SentOnce
from enrelm_cli.fold.hashing import hash_numbers
from enrelm_cli.inputs.survey import (
    ColumnFacts,
    InputColumn,
    Survey,
    coded,
    hash_codes,
    level_of,
    most_levels,
    row_keys,
    survey,
)
from enrelm_cli.table import cells
from enrelm_cli.table.csv_pieces import Block
from enrelm_cli.table.output import Layout
from enrelm_cli.table.sources import CsvSource, Source, open_sources
from enrelm_cli.table.table import (
    Batch,
    Kind,
    Piece,
    ReadOptions,
    Roles,
    check_needed,
    find_cells,
    header_bytes,
    joint_bytes,
    joint_label,
    listed,
    numbers,
    stream,
)
from enrelm_cli.types import Array, Keys

__all__ = ["Column", "Encoding", "PredictInput", "Survey", "Unseen", "build_encoding", "open_for_predict", "survey"]

Missing = Literal["fill", "drop", "error"]

_DAY = 86_400e6  # microseconds
_MANY_LEVELS = 100
_FEW_LEVELS = 10  # so few are never an identifier, however short the table


@dataclass(frozen=True)
class Column:
    """How one column becomes inputs."""

    name: str
    kind: Kind
    levels: tuple[str, ...] | None  # sorted; None: the column is one number
    fill: float  # for missing numbers, as an input (days, for dates)
    origin: float  # microseconds since 1970 of day 0, for dates
    indicator: bool  # an input that says where the column was missing

    @property
    def width(self) -> int:
        return (1 if self.levels is None else len(self.levels)) + self.indicator

    @property
    def inputs(self) -> list[str]:
        named = [self.name] if self.levels is None else [f"{self.name}={level}" for level in self.levels]
        return [*named, f"{self.name} is missing"] if self.indicator else named

    @property
    def is_date(self) -> bool:
        return self.kind in (Kind.DATE, Kind.ZONED)

    @property
    def read_as(self) -> Kind:
        """How a file to predict is read: any text may turn up among levels, only as unseen."""
        return self.kind if self.levels is None else Kind.TEXT


@dataclass(frozen=True)
class Unseen:
    """What was out of the ordinary in rows to predict."""

    levels: Mapping[str, int] = field(default_factory=dict)  # column -> cells with a level unseen at fit
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # column -> some of those levels
    missing: Mapping[str, int] = field(default_factory=dict)  # column -> missing cells

    def merge(self, other: Unseen) -> Unseen:
        examples = {
            name: tuple(dict.fromkeys(self.examples.get(name, ()) + other.examples.get(name, ())))[:3]
            for name in {**self.examples, **other.examples}
        }
        return Unseen(_added(self.levels, other.levels), examples, _added(self.missing, other.missing))

    def notes(self) -> tuple[str, ...]:
        """A line for each column, for the user."""
        unseen = [
            f"column {name!r}: {count:,} {'cell has' if count == 1 else 'cells have'} a level unseen at fit, "
            f"such as {' and '.join(repr(level) for level in self.examples[name])}"
            for name, count in sorted(self.levels.items())
        ]
        filled = [f"column {name!r}: {_cells(count)}" for name, count in sorted(self.missing.items())]
        return tuple(unseen + filled)


def _added(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


@dataclass(frozen=True)
class Encoding(SentOnce):
    """From raw rows to (X, y): fixed at fit."""

    columns: tuple[Column, ...]  # sorted by name
    target: str
    missing: Missing
    notes: tuple[str, ...] = ()  # what the user should know about the fit

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """(d) the names of the inputs."""
        return tuple(name for column in self.columns for name in column.inputs)

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """(d) the column that each input comes from."""
        return tuple(i for i, column in enumerate(self.columns) for _ in column.inputs)

    def chunk(self, batch: Batch) -> Chunk:
        """Rows to fit: those without a target are left out, and with `missing="drop"` those with any missing input."""
        hashes: list[Keys] = []
        X, y, incomplete, _ = self._encoded(batch, hashes)
        kept = ~np.isnan(y)
        if self.missing == "drop":
            kept &= ~incomplete
        return Chunk(X, y, row_keys(hashes, len(y)), batch.row).where(kept)

    def for_predict(self, batch: Batch) -> tuple[Array, Array, Unseen]:
        """(X, y, what was out of the ordinary) of rows to predict: all of them, and no keys, which only a fit needs."""
        X, y, _, unseen = self._encoded(batch, None)
        return X, y, unseen

    def _encoded(self, batch: Batch, hashes: list[Keys] | None) -> tuple[Array, Array, NDArray[np.bool_], Unseen]:
        """(X, y, which rows miss an input, what was odd); the hashes of each column's cells go to `hashes`."""
        rows = batch.rows
        X = np.empty((rows, len(self.inputs)))
        incomplete = np.zeros(rows, dtype=bool)
        unseen = Unseen()
        at = 0
        for column in self.columns:
            width = column.width
            encode = _encode_number if column.levels is None else _encode_levels
            missing, odd = encode(batch.columns.column(column.name), column, X[:, at : at + width], hashes)
            incomplete |= missing
            unseen = unseen.merge(odd) if odd is not None else unseen
            at += width
        has_target = self.target in batch.columns.schema.names
        y = numbers(batch.columns.column(self.target)) if has_target else np.full(rows, np.nan)
        return X, y, incomplete, unseen

    def to_document(self) -> dict[str, Any]:
        """Plain values only, for the model file."""
        return {
            "target": self.target,
            "missing": self.missing,
            "notes": list(self.notes),
            "columns": [
                {
                    "name": column.name,
                    "kind": column.kind.value,
                    "levels": None if column.levels is None else list(column.levels),
                    "fill": column.fill,
                    "origin": column.origin,
                    "indicator": column.indicator,
                }
                for column in self.columns
            ],
        }

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Encoding:
        columns = tuple(
            Column(
                name=str(column["name"]),
                kind=Kind(column["kind"]),
                levels=None if column["levels"] is None else tuple(str(level) for level in column["levels"]),
                fill=float(column["fill"]),
                origin=float(column["origin"]),
                indicator=bool(column["indicator"]),
            )
            for column in document["columns"]
        )
        missing = _way(document["missing"])
        return Encoding(columns, str(document["target"]), missing, tuple(str(note) for note in document["notes"]))


def _way(missing: str) -> Missing:
    for way in get_args(Missing):
        if way == missing:
            known: Missing = way
            return known
    raise ValueError(f"missing cells can be filled, dropped or an error, not {missing!r}")


def _encode_number(
    array: Any, column: Column, X: Array, hashes: list[Keys] | None
) -> tuple[NDArray[np.bool_], Unseen | None]:
    """Fill X (t, 1 or 2) in place; (which are missing, what was odd)."""
    values = numbers(array)
    missing = np.isnan(values)
    some = bool(missing.any())
    X[:, 0] = (values - column.origin) / _DAY if column.is_date else values
    if some:
        X[missing, 0] = column.fill
    if column.indicator:
        X[:, 1] = missing
    if hashes is not None:
        hashes.append(hash_numbers(values))
    return missing, Unseen(missing={column.name: int(missing.sum())}) if some else None


def _encode_levels(
    array: Any, column: Column, X: Array, hashes: list[Keys] | None
) -> tuple[NDArray[np.bool_], Unseen | None]:
    """The same for levels: X (t, levels and perhaps 'is missing')."""
    codes, levels = coded(array, column.kind)
    assert column.levels is not None
    place = {level: i for i, level in enumerate(column.levels)}
    # The last entry is where code -1 looks itself up.
    places = np.array([place.get(level, -1) if level is not None else -1 for level in levels] + [-1])
    X[:] = 0.0
    at = places[codes]
    known = np.flatnonzero(at >= 0)
    X[known, at[known]] = 1.0
    missing = codes < 0
    if column.indicator:
        X[missing, -1] = 1.0
    odd = None
    if len(known) < len(codes):
        odd = _odd_levels(column.name, codes[at < 0], levels)
    if hashes is not None:
        hashes.append(hash_codes(codes, levels))
    return missing, odd


def _odd_levels(name: str, codes: NDArray[np.int64], levels: Sequence[str | None]) -> Unseen:
    missing = int(np.count_nonzero(codes < 0))
    unseen = codes[codes >= 0]
    found = sorted({str(levels[i]) for i in np.unique(unseen).tolist()})
    return Unseen(
        {name: len(unseen)} if len(unseen) else {},
        {name: tuple(found[:3])} if found else {},
        {name: missing} if missing else {},
    )


# ------------------------------------------------------------------------------------------------ fit


def build_encoding(
    survey: Survey, roles: Roles, missing: str, training: Callable[[Keys], NDArray[np.bool_]]
) -> Encoding:
    """The encoding for a surveyed table; medians are of the sample's rows that `training` keeps."""
    way = _way(missing)
    _check_target(survey, roles)
    _check_identifiers(survey)
    _check_infinite(survey)
    columns = [(column, facts) for column, facts in survey.columns if facts.missing < survey.rows]
    if not columns:
        raise DataError(
            f"{survey.table.label}: no input column is left beside the target {roles.target!r}",
            "check --inputs and --drop, and that the file has other columns with values",
        )
    if way == "error":
        _check_missing(survey)
    mask = training(survey.sample_keys)
    specs = tuple(_column(column, facts, survey, mask, way) for column, facts in columns)
    return Encoding(specs, str(roles.target), way, _notes(survey, specs, way))


def _column(
    column: InputColumn, facts: ColumnFacts, survey: Survey, training: NDArray[np.bool_], missing: Missing
) -> Column:
    indicator = missing == "fill" and facts.missing > 0
    if column.has_levels:
        return Column(column.name, column.kind, tuple(sorted(facts.levels or ())), math.nan, 0.0, indicator)
    dated = column.kind in (Kind.DATE, Kind.ZONED)
    origin = facts.lowest if dated else 0.0
    fill = _median(numbers(survey.sample.columns.column(column.name)), training, facts.lowest)
    return Column(column.name, column.kind, None, (fill - origin) / _DAY if dated else fill, origin, indicator)


def _median(values: Array, training: NDArray[np.bool_], otherwise: float) -> float:
    """Of the training rows that have a value; else of any row of the sample; else the table's smallest value."""
    for candidates in (values[training], values):
        present = candidates[~np.isnan(candidates)]
        if len(present):
            return float(np.median(present))
    return otherwise


def _check_target(survey: Survey, roles: Roles) -> None:
    label, target = survey.table.label, survey.target
    if not survey.rows:
        raise DataError(f"{label}: the target {roles.target!r} is missing in every row", "name another with --target")
    if target.infinite:
        raise _infinite(survey, str(roles.target))
    if target.lowest == target.highest:
        value = cells.number_text(target.lowest)
        raise DataError(
            f"{label}: the target {roles.target!r} is {value} in every row: there is nothing to learn",
            "name another with --target",
        )


def _check_identifiers(survey: Survey) -> None:
    for column, facts in survey.columns:
        if not column.has_levels:
            continue
        count = len(facts.levels or ())
        if column.categorical:
            if facts.too_many:
                raise DataError(
                    f"{survey.table.label}: column {column.name!r} has more than {most_levels(column):,} levels",
                    f"leave it out: --drop {shlex.quote(column.name)}",
                )
            continue
        present = survey.rows - facts.missing
        mostly_unique = count > _FEW_LEVELS and 2 * count > present
        if facts.too_many or count > _MANY_LEVELS or mostly_unique:
            raise _identifier(survey, column, facts, count, present)


def _identifier(survey: Survey, column: InputColumn, facts: ColumnFacts, count: int, present: int) -> DataError:
    many = f"more than {most_levels(column):,}" if facts.too_many else f"{count:,}"
    name = shlex.quote(column.name)
    hint = f"--drop {name} leaves it out, --categorical {name} makes every text a level"
    sample = survey.sample.columns.column(column.name).dictionary_encode().dictionary
    texts = [text for text in sample.to_pylist() if text is not None]
    decimal = survey.table.options.decimal
    other = "," if decimal == "." else "."
    odd = [text for text in texts if not _is_number(text, decimal)]
    if texts and sum(not _is_number(text, other) for text in texts) <= len(texts) // 10 < len(odd):
        hint = f"the decimal mark looks like {other!r}: type --decimal {other}; otherwise {hint}"
    elif texts and len(odd) <= len(texts) // 10:
        # A few stray texts in a column of numbers: the likeliest cause by far, so it is said.
        hint = f"--numeric {name} lists the cells that are not numbers; or {hint}"
    return DataError(
        f"{survey.table.label}: column {column.name!r} has {many} different texts in {present:,} rows, "
        "too many for categories",
        hint,
    )


def _is_number(text: str, decimal: str) -> bool:
    try:
        float(text.replace(decimal, ".") if decimal != "." else text)
    except ValueError:
        return False
    return True


def _check_infinite(survey: Survey) -> None:
    for column, facts in survey.columns:
        if facts.infinite:
            raise _infinite(survey, column.name)


def _infinite(survey: Survey, name: str) -> DataError:
    found = find_cells(survey.table, name, lambda _: _is_infinite)
    if found.count == 1:
        place, value = found.first[0]
        problem = f"{place}: {value!r} in column {name!r} is infinite"
    else:
        label = survey.table.label
        problem = f"{label}: {found.count:,} cells of column {name!r} are infinite\n{found.lines(label)}"
    tokens = " ".join(f"--null={value.strip()}" for value in dict.fromkeys(value for _, value in found.first))
    return DataError(problem, f"correct the file, or type {tokens} if that means a missing value")


def _is_infinite(text: str) -> bool:
    try:
        return math.isinf(float(text.replace(",", ".")))
    except ValueError:
        return False


def _check_missing(survey: Survey) -> None:
    counts = {column.name: facts.missing for column, facts in survey.columns if facts.missing}
    if not counts:
        return
    name = next(iter(counts))
    found = find_cells(survey.table, name, lambda _: _never, missing=True)
    columns = ", ".join(f"{name!r} {count:,}" for name, count in counts.items())
    raise DataError(
        f"{survey.table.label}: missing cells in {columns} (--missing error)\n{found.lines(survey.table.label)}",
        "--missing fill fills them, --missing drop leaves their rows out",
    )


def _never(text: str) -> bool:
    return False


def _notes(survey: Survey, columns: Sequence[Column], missing: Missing) -> tuple[str, ...]:
    notes = []
    if survey.without_target:
        notes.append(f"{_rows(survey.without_target)} without a target left out")
    facts = {column.name: fact for column, fact in survey.columns}
    empty = [column.name for column, _ in survey.columns if column.name not in {spec.name for spec in columns}]
    if empty:
        notes.append(f"no value in {listed([repr(name) for name in empty], 5)}: left out")
    holes = {spec.name: facts[spec.name].missing for spec in columns if facts[spec.name].missing}
    if missing == "drop" and survey.incomplete:
        notes.append(f"{_rows(survey.incomplete)} with missing inputs left out")
    if missing == "fill" and holes:
        counts = listed([f"{name} {count:,}" for name, count in holes.items()], 5)
        notes.append(f"{_cells(sum(holes.values()))} filled ({counts}), each column with an input that says where")
    for spec in columns:
        if spec.is_date:
            notes.append(f"{spec.name}: dates are days since {_date(spec.origin)}")
    return tuple(notes)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _cells(count: int) -> str:
    return "1 missing cell" if count == 1 else f"{count:,} missing cells"


def _date(microseconds: float) -> str:
    moment = datetime(1970, 1, 1) + timedelta(microseconds=microseconds)
    return moment.isoformat(sep=" ").removesuffix(" 00:00:00")


# ------------------------------------------------------------------------------------------------ predict


@dataclass(frozen=True)
class _Check:
    """Refuses a batch with an unseen level (--strict), or with a missing cell where the model was told to."""

    encoding: Encoding
    strict: bool
    nulls: tuple[str, ...]

    def __call__(self, columns: Any, source: Source, place: Block | int) -> None:
        for column in self.encoding.columns:
            array = columns.column(column.name)
            if self.strict and column.levels is not None:
                codes, levels = coded(array, column.kind)
                known = {*column.levels, None}
                if any(levels[i] not in known for i in np.unique(codes[codes >= 0]).tolist()):
                    raise self._unseen(column, source.label, self._find(source, place, array, column, missing=False))
            if self.encoding.missing == "error" and _any_missing(array):
                raise self._missing(column, source.label, self._find(source, place, array, column, missing=True))

    def _find(self, source: Source, place: Block | int, array: Any, column: Column, missing: bool) -> cells.Found:
        test = _UnseenLevel(column)
        if isinstance(source, CsvSource):
            assert isinstance(place, Block)
            return cells.where_in_file(source, place, column.name, test, self.nulls, missing)
        assert isinstance(place, int)
        return cells.where_in_array(array, test, self.nulls, place, source.label, missing)

    def _unseen(self, column: Column, label: str, found: cells.Found) -> DataError:
        assert column.levels is not None
        known = listed(column.levels, 10)
        return DataError(
            f"{label}: column {column.name!r} has levels unseen at fit (--strict)\n{found.lines(label)}",
            f"the levels seen at fit are {known}",
        )

    def _missing(self, column: Column, label: str, found: cells.Found) -> DataError:
        return DataError(
            f"{label}: column {column.name!r} has missing cells, which this model refuses\n{found.lines(label)}",
            "fill them, or fit again with --missing fill",
        )


def _any_missing(array: Any) -> bool:
    return bool(array.null_count or (array.type == pa.float64() and np.isnan(numbers(array)).any()))


@dataclass(frozen=True)
class _UnseenLevel:
    column: Column

    def __call__(self, text: str) -> bool:
        return level_of(text, self.column.kind) not in (self.column.levels or ())


@dataclass(frozen=True)
class PredictInput:
    """Rows to predict, as an iterator of pieces that are read once, in order."""

    sources: tuple[Source, ...]
    options: ReadOptions
    kinds: Mapping[str, Kind]
    ids: tuple[str, ...]
    target: str | None  # read along where it is there
    raw: bool
    check: _Check | None
    label: str
    layout: Layout  # of the lines that the predictions go into
    bytes: int | None

    def __iter__(self) -> Iterator[Piece]:
        return stream(self.sources, self.options, self.kinds, self.ids, self.raw, self.check, self.target)


def open_for_predict(
    sources: Sequence[str],
    options: ReadOptions,
    encoding: Encoding,
    keep: Sequence[str] = (),
    strict: bool = False,
    raw: bool = False,
    with_target: bool = False,
) -> PredictInput:
    """Open a table for a model: columns are found by name, others are ignored, kinds are the model's.

    `keep`: identifiers that come along as text (Batch.ids). `raw`: rows come along byte for byte (Batch.raw).
    `with_target`: the target comes along where the file has it; a cell of it that is no number counts as missing.
    """
    opened = open_sources(sources, options, once=True)
    needed = {column.name: column.read_as for column in encoding.columns}
    for source in opened:
        check_needed(source, list(needed), keep)
    if raw and any(source.names != opened[0].names for source in opened):
        raise UsageError(
            "--append needs the same columns in the same order in every file", "predict them one at a time, or use --id"
        )
    return PredictInput(
        sources=opened,
        options=options,
        kinds=needed,
        ids=tuple(keep),
        target=encoding.target if with_target else None,
        raw=raw,
        check=_Check(encoding, strict, options.nulls) if strict or encoding.missing == "error" else None,
        label=joint_label(opened),
        layout=_layout(opened[0], options, tuple(keep), raw),
        bytes=joint_bytes(opened),
    )


def _layout(source: Source, options: ReadOptions, ids: tuple[str, ...], raw: bool) -> Layout:
    """Predictions look like the table that they are of."""
    header, line_end, delimiter = header_bytes(source)
    if not raw:
        return Layout(ids=ids, delimiter=delimiter, decimal=options.decimal)
    encoding = options.encoding if isinstance(source, CsvSource) else "utf-8"
    return Layout(("prediction",), ids, delimiter, options.decimal, header, line_end, encoding)
