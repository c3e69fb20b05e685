"""A table opened and read as far as it can be, with every problem on the way instead of the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Engine
from enrelm_cli.settings import ReadOptions, Roles
from enrelm_cli.table import cells
from enrelm_cli.table.load import read_rows, wrong_columns
from enrelm_cli.table.options import ReadAs, read_as
from enrelm_cli.table.parsing import unreadable_error
from enrelm_cli.table.sources import CsvSource, Source, try_sources
from enrelm_cli.table.table import Table, check_same_columns, table_of, unknown_dates, unreadable_columns


@dataclass(frozen=True)
class Trial:
    """What could be had of a table."""

    table: Table | None  # None: nothing can be read
    roles: Roles  # those that the table can fill
    problems: tuple[DataError, ...]


def try_table(
    specs: Sequence[str], said: ReadOptions, roles: Roles, engine: Engine, in_memory: Callable[[Table], bool]
) -> Trial:
    """Files, globs or '-' as one table, loaded; without the files, columns and roles that cannot be had."""
    options = read_as(said)
    sources, problems = try_sources(specs, options)
    sources, others = _alike(sources)
    if not sources:
        roles.check_contradictions()
        return Trial(None, roles, (*problems, *others))
    first = sources[0]
    roles = roles.resolved(first.names)
    roles.check_contradictions()
    unknown = [*roles.unknown(first.names, first.label)]
    nested = [*_nested(sources, roles)]
    undated = [*unknown_dates(options, first)]
    roles = _without(roles, {(role, name) for role, name, _ in unknown})
    roles = replace(roles, drop=tuple(dict.fromkeys((*roles.drop, *(name for name, _ in nested)))))
    problems += [*others, *(problem for _, _, problem in unknown), *undated, *(problem for _, problem in nested)]
    table, unread = _readable(sources, options, roles, engine, in_memory)
    problems += unread
    if table is None:
        return Trial(None, roles, tuple(problems))
    given = replace(table, options=options)
    wrong = [*wrong_columns(given, table, roles)]
    every = {(role, name) for name, _ in wrong for role in ("target", "numeric", "time")}
    return Trial(table, _without(roles, every), (*problems, *(problem for _, problem in wrong)))


def _alike(sources: Sequence[Source]) -> tuple[list[Source], list[DataError]]:
    """The sources with the columns of the first, and what is wrong with the others."""
    kept, problems = [*sources[:1]], []
    for other in sources[1:]:
        try:
            check_same_columns(sources[0], other)
            kept.append(other)
        except DataError as problem:
            problems.append(problem)
    return kept, problems


def _without(roles: Roles, apart: set[tuple[str, str]]) -> Roles:
    """The roles without some of the columns that they name."""
    kept: dict[str, Any] = {
        role: tuple(name for name in getattr(roles, role) if (role, name) not in apart)
        for role in ("inputs", "numeric", "categorical", "drop", "group")
    }
    for role in ("weight", "time"):
        kept[role] = None if (role, str(getattr(roles, role))) in apart else getattr(roles, role)
    kept["target"], kept["also"] = tuple(name for name in roles.targets if ("target", name) not in apart), ()
    return replace(roles, **kept)


def _nested(sources: Sequence[Source], roles: Roles) -> Iterator[tuple[str, DataError]]:
    """Columns that a role names although they hold lists and the like."""
    named = {*roles.targets, roles.weight, *roles.inputs, *roles.numeric, *roles.categorical, *roles.split_by}
    for source, name, kind in unreadable_columns(sources):
        if name in named:
            yield name, unreadable_error(source.label, name, kind)


def _readable(
    sources: Sequence[Source], options: ReadAs, roles: Roles, engine: Engine, in_memory: Callable[[Table], bool]
) -> tuple[Table | None, list[DataError]]:
    """The rows of all sources; where they cannot be read, those of the sources that can."""

    def read(some: Sequence[Source]) -> Table:
        formats = tuple(pair for pair in options.formats if pair[0] in some[0].names)
        table = table_of(some, replace(options, formats=formats), roles)
        return read_rows(table, roles, engine, in_memory(table))

    try:
        return read(sources), []
    except DataError as problem:
        first = problem
    problems: list[DataError] = []
    kept: list[Source] = []
    for source in sources:
        try:
            if len(sources) > 1:
                read([source])
                kept.append(source)
            else:
                problems += _records_too(source, first)
        except DataError as problem:
            problems += _records_too(source, problem)
    return (read(kept) if kept else None), problems or [first]


def _records_too(source: Source, problem: DataError) -> list[DataError]:
    """What stopped the reader, and the other bad records of the file."""
    found = [problem]
    if isinstance(source, CsvSource):
        try:
            found += cells.bad_records(source)
        except DataError as unreadable:
            found.append(unreadable)
    return list({one.problem: one for one in found}.values())
