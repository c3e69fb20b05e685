"""What the columns of a table are like: counts, ranges and levels, in one pass over its rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.survey.cells import MOST_LEVELS, Cells, ColumnFacts, InputColumn, NumberCells
from enrelm_cli.table.table import Batch, Roles, Table, numbers
from enrelm_cli.types import Array


@dataclass(frozen=True)
class TargetRows:
    """The rows of a batch that have a target, their cells read once whatever is made of them."""

    batch: pa.RecordBatch
    columns: tuple[InputColumn, ...]
    cells: tuple[Cells, ...]  # of each column
    y: Array  # (t,)
    without_target: int  # how many others the batch has


def target_rows(batch: Batch, columns: tuple[InputColumn, ...], target: str | None) -> TargetRows:
    """`target` None: every row counts as one with a target."""
    y = np.zeros(batch.rows) if target is None else numbers(batch.columns.column(target))
    present = ~np.isnan(y)
    without = int(len(y) - np.count_nonzero(present))
    rows, y = (batch.columns.filter(pa.array(present)), y[present]) if without else (batch.columns, y)
    cells = tuple(column.cells(rows.column(column.name)) for column in columns)
    return TargetRows(rows, columns, cells, y, without)


@dataclass(frozen=True)
class Facts:
    """What is learnt from some rows; mergeable."""

    columns: tuple[tuple[InputColumn, ColumnFacts], ...]  # the inputs, sorted by name
    target: ColumnFacts
    rows: int  # with a target
    without_target: int
    incomplete: int  # rows with a target and a missing input

    def merge(self, other: Facts) -> Facts:
        columns = tuple(
            (column, mine.merge(theirs, MOST_LEVELS))
            for (column, mine), (_, theirs) in zip(self.columns, other.columns, strict=True)
        )
        return Facts(
            columns,
            self.target.merge(other.target, 0),
            self.rows + other.rows,
            self.without_target + other.without_target,
            self.incomplete + other.incomplete,
        )


def facts_of(rows: TargetRows) -> Facts:
    incomplete = np.zeros(len(rows.y), dtype=bool)
    for cells in rows.cells:
        incomplete |= cells.missing()
    return Facts(
        tuple((column, cells.facts()) for column, cells in zip(rows.columns, rows.cells, strict=True)),
        NumberCells(rows.y).facts(),
        len(rows.y),
        rows.without_target,
        int(np.count_nonzero(incomplete)),
    )


@dataclass(frozen=True)
class Survey(Facts):
    """What the whole table is like."""

    table: Table = field(repr=False)
    roles: Roles


@dataclass(frozen=True)
class Surveyor:
    """Partial: the facts of a batch."""

    columns: tuple[InputColumn, ...]
    target: str | None  # None: every row counts as one with a target

    def __call__(self, batch: Batch) -> Facts:
        return facts_of(target_rows(batch, self.columns, self.target))


def survey(table: Table, roles: Roles, engine: Engine) -> Survey:
    """One fold over the pieces of a loaded table."""
    surveyor = Surveyor(input_columns(table, roles), roles.target)
    facts = engine.fold(table.pieces, surveyor, "survey", table.rows)
    return Survey(**vars(facts), table=table, roles=roles)


def input_columns(table: Table, roles: Roles) -> tuple[InputColumn, ...]:
    """The columns that may become inputs, sorted by name."""
    return tuple(InputColumn(name, table.kinds[name], name in roles.categorical) for name in roles.used(table.names))
