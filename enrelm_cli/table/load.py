"""Every row parsed, and what each column is decided over all of them.

Every block is parsed with the kinds that the first rows suggest; a block that does not convert widens the kinds and
the pass starts again, so no column is ever half one kind and half another. Columns that turn out to be texts are
counted on the way (census.py): the census of the whole table says whether they are numbers or dates after all, only
not plainly written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Engine
from enrelm_cli.settings import Roles
from enrelm_cli.table.census import Census, Decision, Format, decide, take_census
from enrelm_cli.table.csv_pieces import Block
from enrelm_cli.table.kinds import Kind, join
from enrelm_cli.table.memory import ArrowSource
from enrelm_cli.table.notation import DATES, Notation, number_notations
from enrelm_cli.table.options import ReadAs
from enrelm_cli.table.parsing import (
    Reading,
    Unconvertible,
    as_kinds,
    decimal_hint,
    formatted,
    inferred,
    kind_of_texts,
    parquet_kind,
    parse,
    unfit,
    wrong_kind,
)
from enrelm_cli.table.pieces import Batch, CsvRange, CsvWhole, InMemory, ParquetGroup, Piece, parquet_groups
from enrelm_cli.table.sources import Columnar, CsvSource, Source
from enrelm_cli.table.table import Table, find_cells

_GUESS_BYTES = 1 << 18

Kinds = dict[str, Kind | None]
Candidates = Mapping[str, tuple[Notation, ...]]


def load(table: Table, roles: Roles, engine: Engine, in_memory: bool) -> Table:
    """The table with its kinds decided over all rows, and pieces that hold the rows or read them again each time."""
    loaded = read_rows(table, roles, engine, in_memory)
    for _, problem in wrong_columns(table, loaded, roles):
        raise problem
    return loaded


def read_rows(table: Table, roles: Roles, engine: Engine, in_memory: bool) -> Table:
    """The same, whether or not the columns are what the user said they are."""
    kinds = _first_kinds(table, roles)
    while True:
        reading = _reading(table.options, kinds)
        parsed = _pass(table, reading, _candidates(table.options, roles, reading), engine, in_memory)
        other = parsed[-1].kinds if parsed else None
        if other is None:
            break
        kinds = _widened(kinds, other, table, roles)
    decisions = _decisions(parsed, table.options, roles)
    settled = _settled(reading, decisions, table.options)
    pieces, rows = _pieces(table, settled, parsed, in_memory)
    if not rows:
        raise DataError(
            f"{table.label}: a header and no rows", "a table has a header line and then a line for each row"
        )
    kinds_found, options = dict(settled.kinds), settled.options
    return replace(
        table,
        options=options,
        kinds=kinds_found,
        pieces=pieces,
        rows=rows,
        decisions=decisions,
        held_row=_held_row(table, parsed),
    )


def _held_row(table: Table, parsed: Sequence[_Parsed]) -> int | None:
    """How many rows the sources before those have whose rows are held out."""
    if table.held_from is None:
        return None
    return sum(_rows_of(source, index, parsed) for index, source in enumerate(table.sources[: table.held_from]))


def _rows_of(source: Source, index: int, parsed: Sequence[_Parsed]) -> int:
    if not isinstance(source, CsvSource):
        return sum(source.groups)
    return sum(result.rows for result in parsed if result.index == index)


# ------------------------------------------------------------------------------------------------ kinds


def _reading(options: ReadAs, kinds: Mapping[str, Kind | None]) -> Reading:
    # A column of which nothing is known yet is most likely one of numbers; a block that says otherwise widens it.
    settled = tuple((name, kind or Kind.NUMBER) for name, kind in sorted(kinds.items()))
    return Reading(settled, replace(options, formats=()))


def _first_kinds(table: Table, roles: Roles) -> Kinds:
    """What the first rows of every source suggest, and what the user said."""
    names = roles.read(table.names)
    kinds: Kinds = dict.fromkeys(names)
    said = {**dict.fromkeys(roles.numeric, Kind.NUMBER), **_fixed(table.options, roles)}
    for source in table.sources:
        if isinstance(source, CsvSource):
            found = _guess(source, _reading(table.options, {name: said.get(name) for name in names}))
        else:
            found = _typed(source, names, table.options)
        kinds = {name: join(kind, found.get(name)) for name, kind in kinds.items()}
    return _with_fixed({name: said.get(name, kind) for name, kind in kinds.items()}, table.options, roles)


def _typed(source: Columnar, names: Sequence[str], options: ReadAs) -> Kinds:
    """What the types of the columns say; texts in memory are looked at as those of a file are."""
    types = dict(zip(source.names, source.types, strict=True))
    found = {name: parquet_kind(source.label, name, types[name]) for name in names}
    if isinstance(source, ArrowSource):
        plain = {name for name, kind in found.items() if kind is Kind.TEXT and not pa.types.is_dictionary(types[name])}
        found |= {name: kind_of_texts(source.table.column(name), options.nulls_of(Kind.NUMBER)) for name in plain}
    return found


def _guess(source: CsvSource, reading: Reading) -> Kinds:
    for block in source.blocks(_GUESS_BYTES):
        return inferred(source, block, reading)
    return {}


def _fixed(options: ReadAs, roles: Roles) -> dict[str, Kind]:
    """Columns that are read as texts whatever their cells are."""
    dated = [name for name, _ in options.formats]
    return {**dict.fromkeys(dated, Kind.TEXT), **dict.fromkeys(roles.keep, Kind.VERBATIM)}


def _with_fixed(kinds: Kinds, options: ReadAs, roles: Roles) -> Kinds:
    fixed = _fixed(options, roles)
    dates = (Kind.DATE, Kind.ZONED)
    # The levels of a date are its texts.
    return {
        name: fixed.get(name, Kind.TEXT if name in roles.categorical and kind in dates else kind)
        for name, kind in kinds.items()
    }


def _widened(kinds: Kinds, found: Mapping[str, Kind | None], table: Table, roles: Roles) -> Kinds:
    """The kinds after a block that did not convert."""
    wider = _with_fixed({name: join(kind, found[name]) for name, kind in kinds.items()}, table.options, roles)
    if wider != kinds:
        return wider
    # Inferred alone the block is of these kinds, and yet it did not convert to them (a date beyond the range of
    # microseconds, say). Text takes everything.
    wider = {name: Kind.TEXT if kind in (Kind.DATE, Kind.ZONED) else kind for name, kind in kinds.items()}
    if wider == kinds:
        raise DataError(f"{table.label}: no column has a type that can be read", "leave out the odd one: --drop")
    return wider


# ------------------------------------------------------------------------------------------------ notations


def _candidates(options: ReadAs, roles: Roles, reading: Reading) -> Candidates:
    """The notations that a column of texts may be written in."""
    dated = {name: (found.notation,) for name, found in options.formats}
    numbers = number_notations(options.decimal)
    only_numbers = {*roles.targets, roles.weight, *roles.numeric}
    # A class is the text that stands there, however much it looks like a number or a date.
    texts = {*roles.categorical, roles.target if roles.task == "classification" else None}
    return {
        name: dated.get(name, numbers if name in only_numbers else (*numbers, *DATES))
        for name, kind in reading.kinds
        if kind is Kind.TEXT and name not in texts
    }


def _decisions(parsed: Sequence[_Parsed], options: ReadAs, roles: Roles) -> dict[str, Decision]:
    """What the texts of all blocks are."""
    census: dict[str, Census] = {}
    for result in parsed:
        for name, found in result.census.items():
            census[name] = census[name].merge(found) if name in census else found
    # Where the user named the column, only a word for nothing may stand beside its numbers: a typo is an error.
    named = {*roles.targets, roles.weight, *roles.numeric, *(name for name, _ in options.formats)}
    decided = {name: decide(name, found, name in named) for name, found in census.items()}
    return {name: found for name, found in decided.items() if found is not None}


def _settled(reading: Reading, decisions: Mapping[str, Decision], options: ReadAs) -> Reading:
    formats = tuple((name, found.format) for name, found in sorted(decisions.items()))
    kinds = tuple(
        (name, decisions[name].format.notation.kind if name in decisions else kind) for name, kind in reading.kinds
    )
    return Reading(kinds, replace(options, formats=formats))


def wrong_columns(table: Table, loaded: Table, roles: Roles) -> Iterator[tuple[str, DataError]]:
    """Columns that are not what the user said they are, and a target that is not numbers."""
    kinds = loaded.kinds
    for name, found in table.options.formats:
        if kinds.get(name) is Kind.TEXT and name not in roles.categorical:
            yield name, _wrong(table, name, found.notation.kind, found)
    for name in roles.numeric:
        if kinds.get(name, Kind.NUMBER) is not Kind.NUMBER:
            yield name, _wrong(table, name, Kind.NUMBER)
    if roles.time is not None and kinds[roles.time] not in (Kind.NUMBER, Kind.DATE, Kind.ZONED):
        hint = "--time needs dates or numbers; --date-format COL=%d/%m/%Y says how dates are written"
        yield roles.time, _wrong(table, roles.time, Kind.NUMBER, hint=hint)
    for name in roles.targets:
        if not _may_be_target(kinds[name], roles):
            yield name, not_numbers(table, name, several=bool(roles.also))
    if roles.weight is not None and kinds[roles.weight] not in (Kind.NUMBER, Kind.BOOLEAN):
        hint = "a weight is a number, 0 or more: name another column with --weight"
        yield roles.weight, _wrong(table, roles.weight, Kind.NUMBER, hint=hint)


def _may_be_target(kind: Kind, roles: Roles) -> bool:
    """Texts are classes, unless the user said that they are numbers; several targets are numbers."""
    if roles.also or roles.task == "regression":
        return kind is Kind.NUMBER or (kind is Kind.BOOLEAN and roles.task == "regression")
    return kind in (Kind.NUMBER, Kind.BOOLEAN, Kind.TEXT) or roles.task == "classification"


def not_numbers(table: Table, target: str, several: bool = False) -> DataError:
    """The cells of a target that are none, and what to type."""
    hint = "a target is a column of numbers, or of classes with --task classification; --null TOKEN for a missing value"
    hint = f"several targets are numbers: fit {target!r} on its own, or --null TOKEN" if several else hint
    return _wrong(table, target, Kind.NUMBER, hint=hint)


def _wrong(table: Table, name: str, kind: Kind, found: Format | None = None, hint: str | None = None) -> DataError:
    def test(source: Source) -> Any:
        return unfit(source, kind, found)

    odd = find_cells(table, name, test)
    mark = decimal_hint(odd) if kind is Kind.NUMBER else None
    return wrong_kind(table.label, name, test(table.sources[0]), odd, mark or hint)


# ------------------------------------------------------------------------------------------------ the pass over blocks


@dataclass(frozen=True)
class _Task:
    """A block to parse. Sent to another machine it leaves its text behind and is read there."""

    index: int  # of the source
    source: CsvSource
    block: Block
    reading: Reading
    candidates: Candidates
    keep: bool

    @property
    def rows(self) -> int:
        """For progress."""
        return self.block.lines

    def __iter__(self) -> Iterator[_Task]:
        yield self

    def __reduce__(self) -> Any:
        block, rest = self.block, (self.reading, self.candidates, self.keep)
        if not self.source.seekable:
            return (_Task, (self.index, self.source, block, *rest))
        return (_read_again, (self.index, self.source, block.start, block.stop, block.line, *rest))

    def parse(self) -> _Parsed:
        block = self.block
        place = (self.index, block.start, block.stop, block.line)
        try:
            columns = parse(self.source, block, self.reading)
        except Unconvertible:
            return _Parsed(*place, kinds=inferred(self.source, block, self.reading))
        return _Parsed(*place, columns.num_rows, columns if self.keep else None, _census(columns, self))


def _read_again(index: int, source: CsvSource, start: int, stop: int, line: int, *rest: Any) -> _Task:
    return _Task(index, source, source.block(start, stop, line), *rest)


@dataclass(frozen=True)
class _GroupTask:
    """The same for a row group of a Parquet file."""

    index: int
    group: ParquetGroup
    reading: Reading
    candidates: Candidates
    keep: bool

    def __iter__(self) -> Iterator[_GroupTask]:
        yield self

    @property
    def rows(self) -> int:
        return self.group.rows

    def parse(self) -> _Parsed:
        names = self.reading.names if self.keep else sorted(self.candidates)
        narrow = replace(self.reading, kinds=tuple(pair for pair in self.reading.kinds if pair[0] in names))
        columns = as_kinds(self.group.read(names), self.group.source, self.group.first_row, narrow)
        start = self.group.group
        return _Parsed(self.index, start, start, 0, self.rows, columns if self.keep else None, _census(columns, self))


@dataclass(frozen=True)
class _Parsed:
    """What became of a block: its rows, or the kinds that it has instead."""

    index: int
    start: int
    stop: int
    line: int
    rows: int = 0
    columns: Any = None  # pa.RecordBatch if it is to be kept
    census: Mapping[str, Census] = field(default_factory=dict)
    kinds: Mapping[str, Kind | None] | None = None


def _census(columns: Any, task: _Task | _GroupTask) -> dict[str, Census]:
    nulls = task.reading.options.nulls_of(Kind.NUMBER)
    return {name: take_census(columns.column(name), notations, nulls) for name, notations in task.candidates.items()}


def _parse_task(task: Any) -> _Parsed:
    parsed: _Parsed = task.parse()
    return parsed


def _pass(table: Table, reading: Reading, candidates: Candidates, engine: Engine, keep: bool) -> list[_Parsed]:
    """Every block parsed, up to the first whose kinds are others."""
    parsed: list[_Parsed] = []
    for result in engine.map(_tasks(table, reading, candidates, keep), _parse_task, "reading"):
        parsed.append(result)
        if result.kinds is not None:
            break
    return parsed


def _tasks(table: Table, reading: Reading, candidates: Candidates, keep: bool) -> Iterator[_Task | _GroupTask]:
    for index, source in enumerate(table.sources):
        if isinstance(source, CsvSource):
            for block in source.blocks(table.options.block_bytes):
                yield _Task(index, source, block, reading, candidates, keep)
        elif keep or candidates:
            for group in parquet_groups(source, 0, reading):
                yield _GroupTask(index, group, reading, candidates, keep)


# ------------------------------------------------------------------------------------------------ pieces


def _pieces(table: Table, reading: Reading, parsed: Sequence[_Parsed], in_memory: bool) -> tuple[list[Piece], int]:
    pieces: list[Piece] = []
    row = 0
    for index, source in enumerate(table.sources):
        mine = [result for result in parsed if result.index == index]
        if in_memory:
            for result in mine:
                columns = _converted(result.columns, reading)
                pieces.append(InMemory(Batch(columns, row, source.label), reading.batch_rows))
                row += result.rows
        elif not isinstance(source, CsvSource):
            pieces.extend(parquet_groups(source, row, reading))
            row += _rows_of(source, index, parsed)
        else:
            pieces.extend(_on_disk(source, mine, row, reading))
            row += _rows_of(source, index, parsed)
    return pieces, row


def _on_disk(source: CsvSource, parsed: Sequence[_Parsed], row: int, reading: Reading) -> Iterator[Piece]:
    if parsed and not source.seekable:
        yield CsvWhole(source, row, reading, reading.options.block_bytes)
        return
    for result in parsed:
        yield CsvRange(source, result.start, result.stop, result.line, row, reading)
        row += result.rows


def _converted(columns: Any, reading: Reading) -> Any:
    """The rows of a block with its texts read as numbers and dates where all blocks' texts are."""
    if not reading.formats:
        return columns
    nulls = reading.options.nulls_of(Kind.NUMBER)
    arrays = {name: columns.column(place) for place, name in enumerate(columns.schema.names)}
    for name, found in reading.formats.items():
        arrays[name] = formatted(arrays[name], found, nulls)
    return pa.RecordBatch.from_pydict(arrays)
