"""Sources -> one table of Arrow record batches, whose column kinds are decided over all of its rows.

`open_table` looks at headers only. `load` parses every block once with the kinds that the first rows suggest; a block
that does not convert widens the kinds and the pass starts again, so no column is ever half one kind and half another.
Blocks are cut at record boundaries (csv_pieces.py), so that threads or machines can parse them on their own.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.folds import Engine
from enrelm_cli.settings import ReadOptions, Roles, close_names, listed
from enrelm_cli.table import cells
from enrelm_cli.table.csv_pieces import Block
from enrelm_cli.table.parsing import (
    Kind,
    Reading,
    Unconvertible,
    decimal_hint,
    inferred,
    join,
    numbers,
    parquet_kind,
    parse,
    unfit,
    wrong_kind,
)
from enrelm_cli.table.pieces import (
    Batch,
    Check,
    CsvBlock,
    CsvRange,
    CsvWhole,
    InMemory,
    ParquetGroup,
    ParquetRows,
    Piece,
    header_bytes,
)
from enrelm_cli.table.sources import CsvSource, ParquetSource, Source, open_sources

__all__ = [
    "Batch",
    "Kind",
    "Piece",
    "ReadOptions",
    "Roles",
    "Table",
    "find_cells",
    "header_bytes",
    "listed",
    "load",
    "numbers",
    "open_table",
    "stream",
]

_GUESS_BYTES = 1 << 18
# Several blocks are under way at once at predict, each with its text, its columns and its output.
_STREAM_BYTES = 4 << 20


@dataclass(frozen=True)
class Table:
    """Rows from one or more sources."""

    sources: tuple[Source, ...]
    options: ReadOptions
    names: tuple[str, ...]  # in the order of the first source
    label: str
    bytes: int | None  # of text, estimated where it is compressed; None for a pipe
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # of the columns that are read; decided by `load`
    pieces: Sequence[Piece] = ()  # none before `load`
    rows: int | None = None  # counted by `load`


def open_table(sources: Sequence[str], options: ReadOptions, roles: Roles) -> Table:
    """Files, globs or '-' as one table: headers, dialects and the names in `roles` are checked, no row is read."""
    opened = open_sources(sources, options, once=False)
    first = opened[0]
    for other in opened[1:]:
        _check_same_columns(first, other)
    roles.check(first.names, first.label)
    return Table(opened, options, first.names, joint_label(opened), joint_bytes(opened))


def require_target(sources: Sequence[str], options: ReadOptions) -> NoReturn:
    """Which column is to be predicted? The columns there are, and what to type."""
    names = open_sources(sources, options, once=False)[0].names
    raise UsageError(
        f"which column is to be predicted? {sources[0]} has {listed([repr(name) for name in names], 20)}",
        f"type --target {shlex.quote(names[-1])}, or another of them",
    )


def joint_label(sources: Sequence[Source]) -> str:
    return sources[0].label if len(sources) == 1 else f"{sources[0].label} and {len(sources) - 1:,} more"


def joint_bytes(sources: Sequence[Source]) -> int | None:
    sizes = [source.bytes for source in sources]
    return None if None in sizes else sum(size or 0 for size in sizes)


def _check_same_columns(first: Source, other: Source) -> None:
    lacking, extra = {*first.names} - {*other.names}, {*other.names} - {*first.names}
    if lacking or extra:
        parts = [f"no column {name!r}" for name in sorted(lacking)] + [f"a column {name!r}" for name in sorted(extra)]
        raise DataError(
            f"{other.label} has {listed(parts, 5)}, unlike {first.label}",
            "files that are read as one table have the same columns, in any order",
        )


# ------------------------------------------------------------------------------------------------ load


@dataclass(frozen=True)
class _Task:
    """A block to parse. Sent to another machine it leaves its text behind and is read there."""

    index: int  # of the source
    source: CsvSource
    block: Block
    reading: Reading
    keep: bool

    @property
    def rows(self) -> int:
        """For progress."""
        return self.block.lines

    def __iter__(self) -> Iterator[_Task]:
        yield self

    def __reduce__(self) -> Any:
        block = self.block
        if not self.source.seekable:
            return (_Task, (self.index, self.source, block, self.reading, self.keep))
        return (_read_again, (self.index, self.source, block.start, block.stop, block.line, self.reading, self.keep))


def _read_again(index: int, source: CsvSource, start: int, stop: int, line: int, reading: Reading, keep: bool) -> _Task:
    return _Task(index, source, source.block(start, stop, line), reading, keep)


@dataclass(frozen=True)
class _Parsed:
    """What became of a block: its rows, or the kinds that it has instead."""

    index: int
    start: int
    stop: int
    line: int
    rows: int = 0
    columns: Any = None  # pa.RecordBatch if it is to be kept
    kinds: Mapping[str, Kind | None] | None = None


def _parse_task(task: _Task) -> _Parsed:
    block = task.block
    place = (task.index, block.start, block.stop, block.line)
    try:
        columns = parse(task.source, block, task.reading)
    except Unconvertible:
        return _Parsed(*place, kinds=inferred(task.source, block, task.reading))
    return _Parsed(*place, columns.num_rows, columns if task.keep else None)


def load(table: Table, roles: Roles, engine: Engine, in_memory: bool) -> Table:
    """The table with its kinds decided over all rows, and pieces that hold the rows or read them again each time."""
    kinds = _first_kinds(table, roles)
    while True:
        reading = _reading(table.options, kinds)
        parsed = _pass(table, reading, engine, in_memory)
        other = parsed[-1].kinds if parsed else None
        if other is None:
            break
        kinds = _widened(kinds, other, table, roles)
    _check_target(table, roles, dict(reading.kinds))
    pieces, rows = _pieces(table, reading, parsed, engine, in_memory)
    if not rows:
        raise DataError(
            f"{table.label}: a header and no rows", "a table has a header line and then a line for each row"
        )
    return replace(table, kinds=dict(reading.kinds), pieces=pieces, rows=rows)


def _reading(options: ReadOptions, kinds: Mapping[str, Kind | None]) -> Reading:
    # A column of which nothing is known yet is most likely one of numbers; a block that says otherwise widens it.
    settled = tuple((name, kind or Kind.NUMBER) for name, kind in sorted(kinds.items()))
    return Reading(settled, options.nulls, options.batch_rows)


def _first_kinds(table: Table, roles: Roles) -> dict[str, Kind | None]:
    """What the first rows of every source suggest, and what the user said."""
    names = roles.read(table.names)
    kinds: dict[str, Kind | None] = dict.fromkeys(names)
    for source in table.sources:
        if isinstance(source, CsvSource):
            found = _guess(source, _reading(table.options, _with_said(kinds, roles)))
        else:
            types = dict(zip(source.names, source.types, strict=True))
            found = {name: parquet_kind(source.label, name, types[name]) for name in names}
        kinds = {name: join(kind, found.get(name)) for name, kind in kinds.items()}
    return _with_said(kinds, roles)


def _guess(source: CsvSource, reading: Reading) -> dict[str, Kind | None]:
    for block in source.blocks(_GUESS_BYTES):
        return inferred(source, block, reading)
    return {}


def _with_said(kinds: Mapping[str, Kind | None], roles: Roles) -> dict[str, Kind | None]:
    said: dict[str, Kind | None] = dict(kinds)
    for name, kind in kinds.items():
        if name in roles.numeric:
            said[name] = Kind.NUMBER
        elif name in roles.keep:
            said[name] = Kind.VERBATIM
        elif name in roles.categorical and kind in (Kind.DATE, Kind.ZONED):
            said[name] = Kind.TEXT  # the levels of a date are its texts
    return said


def _widened(
    kinds: dict[str, Kind | None], found: Mapping[str, Kind | None], table: Table, roles: Roles
) -> dict[str, Kind | None]:
    """The kinds after a block that did not convert."""
    for name in sorted(roles.numeric):
        if name in kinds and found[name] not in (Kind.NUMBER, None):
            raise wrong_kind(table.label, name, Kind.NUMBER, _not_numbers(table, name))
    wider = _with_said({name: join(kind, found[name]) for name, kind in kinds.items()}, roles)
    if wider != kinds:
        return wider
    # Inferred alone the block is of these kinds, and yet it did not convert to them (a date beyond the range of
    # microseconds, say). Text takes everything.
    wider = {name: Kind.TEXT if kind in (Kind.DATE, Kind.ZONED) else kind for name, kind in kinds.items()}
    if wider == kinds:
        raise DataError(f"{table.label}: the columns are of no kind that can be read", "leave out the odd one: --drop")
    return wider


def _not_numbers(table: Table, name: str) -> cells.Found:
    return find_cells(table, name, lambda source: unfit(source, Kind.NUMBER))


def _check_target(table: Table, roles: Roles, kinds: Mapping[str, Kind]) -> None:
    target = roles.target
    if target is None or kinds[target] in (Kind.NUMBER, Kind.BOOLEAN):
        return
    hint = "a target is a column of numbers: name another, or type --null TOKEN for what means a missing value"
    found = _not_numbers(table, target)
    raise wrong_kind(table.label, target, Kind.NUMBER, found, decimal_hint(found) or hint)


def _pass(table: Table, reading: Reading, engine: Engine, keep: bool) -> list[_Parsed]:
    """Every block parsed, up to the first whose kinds are others."""
    tasks = (
        _Task(index, source, block, reading, keep)
        for index, source in enumerate(table.sources)
        if isinstance(source, CsvSource)
        for block in source.blocks(table.options.block_bytes)
    )
    parsed: list[_Parsed] = []
    for result in engine.map(tasks, _parse_task, "reading"):
        parsed.append(result)
        if result.kinds is not None:
            break
    return parsed


def _pieces(
    table: Table, reading: Reading, parsed: Sequence[_Parsed], engine: Engine, in_memory: bool
) -> tuple[list[Piece], int]:
    pieces: list[Piece] = []
    row = 0
    for index, source in enumerate(table.sources):
        if isinstance(source, ParquetSource):
            groups = _groups(source, row, reading)
            kept = (InMemory(batch, reading.batch_rows) for batch in engine.map(groups, _itself, "reading"))
            pieces.extend(kept if in_memory else groups)
            row += sum(source.groups)
            continue
        mine = [result for result in parsed if result.index == index]
        if mine and not (source.seekable or in_memory):
            pieces.append(CsvWhole(source, row, reading, table.options.block_bytes))
        for result in mine:
            if in_memory:
                pieces.append(InMemory(Batch(result.columns, row, source.label), reading.batch_rows))
            elif source.seekable:
                pieces.append(CsvRange(source, result.start, result.stop, result.line, row, reading))
            row += result.rows
    return pieces, row


def _groups(source: ParquetSource, row: int, reading: Reading) -> list[ParquetGroup]:
    return [
        ParquetGroup(source, group, row + sum(source.groups[:group]), reading) for group in range(len(source.groups))
    ]


def _itself(batch: Batch) -> Batch:
    return batch


# ------------------------------------------------------------------------------------------------ for messages


def find_cells(
    table: Table, name: str, test: Callable[[Source], Callable[[str], bool]], missing: bool = False
) -> cells.Found:
    """Where a cell of the column passes the test (or is missing), over the whole table: exact rather than fast."""
    found = cells.Found()
    nulls = table.options.nulls
    for source in table.sources:
        passes = test(source)
        if isinstance(source, CsvSource):
            for block in source.blocks(table.options.block_bytes):
                found = found.merge(cells.where_in_block(source, block, name, passes, nulls, missing))
        else:
            row = 0
            for batch in source.file().iter_batches(columns=[name]):
                found = found.merge(cells.where_in_array(batch.column(0), passes, nulls, row, source.label, missing))
                row += batch.num_rows
    return found


# ------------------------------------------------------------------------------------------------ predict


def check_needed(source: Source, needed: Sequence[str], ids: Sequence[str]) -> None:
    """A file to predict has the columns that the model needs, and the identifiers that were asked for."""
    lacking = [name for name in needed if name not in source.names]
    if lacking:
        many = "a column" if len(lacking) == 1 else f"{len(lacking):,} columns"
        problem = f"{source.label}: {many} that the model needs {'is' if len(lacking) == 1 else 'are'} not there: "
        raise DataError(problem + listed([repr(name) for name in lacking], 5), close_names(lacking[0], source.names))
    for name in ids:
        if name not in source.names:
            raise DataError(f"{source.label}: there is no column {name!r} (--id)", close_names(name, source.names))


def stream(
    sources: Sequence[Source],
    options: ReadOptions,
    kinds: Mapping[str, Kind],
    ids: tuple[str, ...] = (),
    with_raw: bool = False,
    check: Check | None = None,
    target: str | None = None,
) -> Iterator[Piece]:
    """The rows of all sources in order, each read once, a block at a time; with the target where a source has it."""
    for source in sources:
        known = {target: Kind.NUMBER} if target is not None and target in source.names else {}
        every = {**dict.fromkeys(ids, Kind.VERBATIM), **known, **kinds}
        lenient = target if known else None
        reading = Reading(tuple(sorted(every.items())), options.nulls, options.batch_rows, given=True, lenient=lenient)
        if isinstance(source, CsvSource):
            for block in source.blocks(min(options.block_bytes, _STREAM_BYTES)):
                yield CsvBlock(source, block, reading, ids, with_raw, check)
        else:
            for group in _groups(source, 0, reading):
                yield ParquetRows(group, ids, with_raw, check)
