"""What the user said of rows beside their inputs: groups that stay together, a time, files of rows to hold out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Chunk
from enrelm_cli.fold.hashing import combine
from enrelm_cli.inputs.survey.cells import InputColumn
from enrelm_cli.table import cells
from enrelm_cli.table.table import Batch, Kind, Roles, Table, find_cells, numbers


class NoTime(Exception):
    """A row with a target has no time, or an infinite one."""


@dataclass(frozen=True)
class Marks:
    """The columns, and the row, that say so."""

    groups: tuple[InputColumn, ...] = ()  # sorted by name: the order in which they were named means nothing
    time: str | None = None
    held_row: int | None = None  # rows of the table from this one on are those of the user's own files

    def __bool__(self) -> bool:
        return bool(self.groups) or self.time is not None or self.held_row is not None

    def on(self, chunk: Chunk, batch: Batch) -> Chunk:
        """The rows of a batch, marked."""
        if self.groups:
            chunk = replace(chunk, group=self._groups(chunk, batch))
        if self.time is not None:
            chunk = replace(chunk, time=numbers(batch.columns.column(self.time)))
        if self.held_row is not None:
            chunk = replace(chunk, held=np.full(chunk.rows, batch.row >= self.held_row))
        return chunk

    def checked(self, chunk: Chunk) -> Chunk:
        """The rows to fit, each of which has a time if any has."""
        if chunk.time is not None and not np.isfinite(chunk.time).all():
            raise NoTime
        return chunk

    def _groups(self, chunk: Chunk, batch: Batch) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
        """A row of which every group cell is missing is a group of its own, with its twins."""
        each = [column.cells(batch.columns.column(column.name)) for column in self.groups]
        missing = reduce(np.logical_and, [one.missing() for one in each])
        keys = combine([one.hashes() for one in each])
        return np.where(missing, combine([keys, chunk.unit]), keys) if missing.any() else keys


NO_MARKS = Marks()


def marks_of(table: Table, roles: Roles) -> Marks:
    """Of a loaded table."""
    groups = tuple(InputColumn(name, table.kinds[name], name in roles.categorical) for name in sorted({*roles.group}))
    return Marks(groups, roles.time, table.held_row)


def no_time(table: Table, name: str) -> DataError:
    """Where the rows without a time are."""
    kind = table.kinds[name]
    if kind is Kind.NUMBER and (found := find_cells(table, name, lambda _: cells.is_infinite)).count:
        return cells.infinite_error(table.label, name, found)
    found = find_cells(table, name, lambda _: cells.never, missing=True)
    return DataError(
        f"{table.label}: column {name!r} (--time) has missing cells\n{found.lines(table.label)}",
        "every row with a target needs a time: fill these cells, or leave their rows out of the file",
    )
