"""Sources -> one table, whose headers are known and agree; its rows are read by `load` (load.py), or once at predict.

Blocks are cut at record boundaries (csv_pieces.py), so that threads or machines can parse them on their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.quoting import quoted
from enrelm_cli.settings import ReadOptions, Roles, close_names, listed
from enrelm_cli.table import cells
from enrelm_cli.table.census import Decision
from enrelm_cli.table.formats.first_bytes import shorten
from enrelm_cli.table.kinds import Kind, numbers
from enrelm_cli.table.memory import ArrowSource
from enrelm_cli.table.options import ReadAs, read_as
from enrelm_cli.table.parsing import Reading, can_be_read
from enrelm_cli.table.pieces import Along, Batch, Check, CsvBlock, ParquetRows, Piece, header_bytes, parquet_groups
from enrelm_cli.table.sources import CsvSource, Source, open_sources

__all__ = [
    "Along",
    "Batch",
    "Kind",
    "Piece",
    "ReadOptions",
    "Roles",
    "Table",
    "check_needed",
    "check_same_columns",
    "close_names",
    "find_cells",
    "header_bytes",
    "joint_bytes",
    "joint_label",
    "listed",
    "numbers",
    "open_table",
    "require_target",
    "stream",
    "unknown_dates",
]

# Several blocks are under way at once at predict, each with its text, its columns and its output.
_STREAM_BYTES = 4 << 20


@dataclass(frozen=True)
class Table:
    """Rows from one or more sources."""

    sources: tuple[Source, ...]
    options: ReadAs
    names: tuple[str, ...]  # in the order of the first source, without those of `unreadable`
    label: str
    bytes: int | None  # of text, estimated where it is compressed; None for a pipe
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # of the columns that are read; decided by `load`
    pieces: Sequence[Piece] = ()  # none before `load`
    rows: int | None = None  # counted by `load`
    decisions: Mapping[str, Decision] = field(default_factory=dict)  # of `load`, on columns that are not plain
    unreadable: Mapping[str, str] = field(default_factory=dict)  # columns of lists and their like, and their types
    held_from: int | None = None  # sources from this one on are the user's own validation or test files
    held_row: int | None = None  # their first row; counted by `load`
    roles: Roles = field(default_factory=Roles)  # of its own columns: lists and patterns are filled in

    @property
    def notes(self) -> tuple[str, ...]:
        """What `load` decided that is not plain to see."""
        return tuple(found.note for _, found in sorted(self.decisions.items()))


def open_table(
    sources: Sequence[str | ArrowSource], said: ReadOptions, roles: Roles, held: Sequence[str] = ()
) -> Table:
    """Files, globs or '-' as one table: headers, dialects and the names in `roles` are checked, no row is read.

    `held`: files of rows to hold out. Like those to predict they need the columns that are used, and may have others.
    """
    if "-" in sources and "-" in held:
        raise UsageError("stdin (-) was named twice", "write one of the two tables to a file")
    options = read_as(said)
    opened = open_sources(sources, options, once=False)
    first = opened[0]
    for other in opened[1:]:
        check_same_columns(first, other)
    roles = roles.resolved(first.names)
    roles.check(first.names, first.label)
    for problem in unknown_dates(options, first):
        raise problem
    table = replace(table_of(opened, options, roles), roles=roles)
    return _with_held(table, open_sources(held, options, once=False), roles) if held else table


def _with_held(table: Table, held: Sequence[Source], roles: Roles) -> Table:
    for source in held:
        check_needed(source, roles.read(table.names), ())
    sources = (*table.sources, *held)
    return replace(table, sources=sources, bytes=joint_bytes(sources), held_from=len(table.sources))


def table_of(sources: Sequence[Source], options: ReadAs, roles: Roles) -> Table:
    """Sources with the same columns. What is neither numbers, dates nor texts is left out, unless a role names it."""
    single = {*roles.targets, roles.weight, *roles.split_by}
    named = {*single, *roles.inputs, *roles.numeric, *roles.categorical, *roles.drop, *roles.keep}
    unreadable = {name: shorten(str(kind)) for _, name, kind in unreadable_columns(sources) if name not in named}
    names = tuple(name for name in sources[0].names if name not in unreadable)
    return Table(tuple(sources), options, names, joint_label(sources), joint_bytes(sources), unreadable=unreadable)


def unreadable_columns(sources: Sequence[Source]) -> Iterator[tuple[Source, str, Any]]:
    """(source, name, type) of columns that hold lists and the like."""
    for source in sources:
        if not isinstance(source, CsvSource):
            for name, kind in zip(source.names, source.types, strict=True):
                if not can_be_read(kind):
                    yield source, name, kind


def unknown_dates(options: ReadAs, source: Source) -> Iterator[DataError]:
    """Columns of --date-format that are not there."""
    for name, _ in options.formats:
        if name not in source.names:
            problem = f"{source.label}: there is no column {name!r} (--date-format)"
            yield DataError(problem, close_names(name, source.names))


def require_target(sources: Sequence[str | ArrowSource], said: ReadOptions) -> NoReturn:
    """Which column is to be predicted? The columns there are, and what to type."""
    first = open_sources(sources, read_as(said), once=False)[0]
    typed, names = sources[0] if isinstance(sources[0], str) else first.label, first.names
    raise UsageError(
        f"no target column given; {typed} has {listed([repr(name) for name in names], 20)}",
        f"add --target {quoted(names[-1])}, or another column",
    )


def joint_label(sources: Sequence[Source]) -> str:
    return sources[0].label if len(sources) == 1 else f"{sources[0].label} and {len(sources) - 1:,} more"


def joint_bytes(sources: Sequence[Source]) -> int | None:
    sizes = [source.bytes for source in sources]
    return None if None in sizes else sum(size or 0 for size in sizes)


def check_same_columns(first: Source, other: Source) -> None:
    lacking, extra = {*first.names} - {*other.names}, {*other.names} - {*first.names}
    if lacking or extra:
        parts = [f"no column {name!r}" for name in sorted(lacking)] + [f"a column {name!r}" for name in sorted(extra)]
        raise DataError(
            f"{other.label} has {listed(parts, 5)}, unlike {first.label}",
            "files that are read as one table have the same columns, in any order",
        )


# ------------------------------------------------------------------------------------------------ for messages


def find_cells(
    table: Table, name: str, test: Callable[[Source], Callable[[str], bool]], missing: bool = False
) -> cells.Found:
    """Where a cell of the column passes the test (or is missing), over the whole table: exact rather than fast."""
    found = cells.Found()
    nulls = table.options.nulls_of(table.kinds.get(name, Kind.NUMBER))
    for source in table.sources:
        passes = test(source)
        if isinstance(source, CsvSource):
            for block in source.blocks(table.options.block_bytes):
                found = found.merge(cells.where_in_block(source, block, name, passes, nulls, missing))
        else:
            row = 0
            for group in range(len(source.groups)):
                for batch in source.batches(group, [name], table.options.batch_rows):
                    here = cells.where_in_array(batch.column(0), passes, nulls, row, source.label, missing)
                    found, row = found.merge(here), row + batch.num_rows
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
    options: ReadAs,
    kinds: Mapping[str, Kind],
    along: Along,
    check: Check | None = None,
    known: tuple[tuple[str, Kind], ...] = (),
    levels: tuple[str, ...] = (),
    lenient: bool = True,
) -> Iterator[Piece]:
    """The rows of all sources in order, each read once, a block at a time.

    `known`: the target and the weight, where a source has them. `lenient`: their cells that are no numbers are missing.
    """
    for source in sources:
        there = {name: kind for name, kind in known if name in source.names}
        every = {**dict.fromkeys(along.ids, Kind.VERBATIM), **there, **kinds}
        if isinstance(source, CsvSource):
            # The others have types of their own.
            every = {**dict.fromkeys(along.typed, Kind.VERBATIM), **every}
        loose = tuple(name for name, kind in there.items() if kind is Kind.NUMBER and lenient)
        reading = Reading(tuple(sorted(every.items())), options, given=True, lenient=loose, levels=levels)
        if isinstance(source, CsvSource):
            for block in source.blocks(min(options.block_bytes, _STREAM_BYTES)):
                yield CsvBlock(source, block, reading, along, check)
        else:
            for group in parquet_groups(source, 0, reading):
                yield ParquetRows(group, along, check)
