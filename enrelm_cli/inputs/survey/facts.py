"""What the columns of a table are like: counts, ranges and levels, in one pass over its rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.survey.cells import MOST_LEVELS, Cells, ColumnFacts, InputColumn, NumberCells
from enrelm_cli.table.cells import LARGEST_WEIGHT
from enrelm_cli.table.table import Batch, Kind, Roles, Table, numbers
from enrelm_cli.types import Array


@dataclass(frozen=True)
class TargetRows:
    """The rows of a batch that have a target, their cells read once whatever is made of them."""

    batch: pa.RecordBatch
    columns: tuple[InputColumn, ...]
    cells: tuple[Cells, ...]  # of each column
    target: Cells
    without_target: int  # how many others the batch has
    weight: Array | None = None  # (t,) NaN or negative where it is none
    without_weight: int = 0  # how many more, of weight 0
    also: tuple[Cells, ...] = ()  # of the targets after the first

    @property
    def rows(self) -> int:
        return int(self.batch.num_rows)


def target_rows(
    batch: Batch, columns: tuple[InputColumn, ...], targets: tuple[InputColumn, ...], weight: str | None = None
) -> TargetRows:
    """Without targets every row counts as one that has them all. Rows of weight 0 are left out."""
    w = None if weight is None else numbers(batch.columns.column(weight))
    y, *also = _target_cells(batch.columns, targets)
    present = ~y.missing()
    for one in also:
        present &= ~one.missing()
    kept = present if w is None else present & (w != 0.0)
    without = int(len(present) - np.count_nonzero(present))
    unweighted = int(np.count_nonzero(present) - np.count_nonzero(kept))
    rows = batch.columns
    if without or unweighted:
        rows, w = rows.filter(pa.array(kept)), None if w is None else w[kept]
        y, *also = _target_cells(rows, targets)
    cells = tuple(column.cells(rows.column(column.name)) for column in columns)
    return TargetRows(rows, columns, cells, y, without, w, unweighted, tuple(also))


def _target_cells(rows: pa.RecordBatch, targets: tuple[InputColumn, ...]) -> list[Cells]:
    return [one.cells(rows.column(one.name)) for one in targets] or [NumberCells(np.zeros(rows.num_rows))]


@dataclass(frozen=True)
class WeightFacts:
    """What the weights of the rows with a target are like."""

    rows: int = 0  # of weight above 0
    zero: int = 0
    wrong: int = 0  # missing, negative or too large
    total: float = 0.0

    def merge(self, other: WeightFacts) -> WeightFacts:
        return WeightFacts(
            *(mine + theirs for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True))
        )

    @property
    def unit(self) -> float:
        """What a weight is divided by: 1, or a power of two that lifts the mean to at least 1.

        Shares that add up to 1 would else count for one row altogether; whole weights count for rows as they are.
        """
        mean = self.total / self.rows if self.rows else 1.0
        return min(2.0 ** np.floor(np.log2(mean)), 1.0) if mean > 0.0 else 1.0


def weight_facts(rows: TargetRows) -> WeightFacts:
    w = np.ones(rows.rows) if rows.weight is None else rows.weight
    right = (w > 0.0) & (w <= LARGEST_WEIGHT)
    count = int(np.count_nonzero(right))
    return WeightFacts(count, rows.without_weight, len(w) - count, float(w[right].sum()))


@dataclass(frozen=True)
class Facts:
    """What is learnt from some rows; mergeable."""

    columns: tuple[tuple[InputColumn, ColumnFacts], ...]  # the inputs, sorted by name
    target: ColumnFacts
    rows: int  # with a target
    without_target: int
    incomplete: int  # rows with a target and a missing input
    weights: WeightFacts
    also: tuple[ColumnFacts, ...] = ()  # of the targets after the first

    def merge(self, other: Facts) -> Facts:
        columns = tuple(
            (column, mine.merge(theirs, MOST_LEVELS))
            for (column, mine), (_, theirs) in zip(self.columns, other.columns, strict=True)
        )
        return Facts(
            columns,
            self.target.merge(other.target, MOST_LEVELS),
            self.rows + other.rows,
            self.without_target + other.without_target,
            self.incomplete + other.incomplete,
            self.weights.merge(other.weights),
            tuple(mine.merge(theirs, MOST_LEVELS) for mine, theirs in zip(self.also, other.also, strict=True)),
        )

    @property
    def targets(self) -> tuple[ColumnFacts, ...]:
        return (self.target, *self.also)


def facts_of(rows: TargetRows) -> Facts:
    incomplete = np.zeros(rows.rows, dtype=bool)
    for cells in rows.cells:
        incomplete |= cells.missing()
    return Facts(
        tuple((column, cells.facts()) for column, cells in zip(rows.columns, rows.cells, strict=True)),
        rows.target.facts(),
        rows.rows,
        rows.without_target,
        int(np.count_nonzero(incomplete)),
        weight_facts(rows),
        tuple(one.facts() for one in rows.also),
    )


@dataclass(frozen=True, kw_only=True)
class Survey(Facts):
    """What the whole table is like."""

    table: Table = field(repr=False)
    roles: Roles


@dataclass(frozen=True)
class Surveyor:
    """Partial: the facts of a batch."""

    columns: tuple[InputColumn, ...]
    targets: tuple[InputColumn, ...]  # none: every row counts as one with a target
    weight: str | None

    def __call__(self, batch: Batch) -> Facts:
        return facts_of(target_rows(batch, self.columns, self.targets, self.weight))


def survey(table: Table, roles: Roles, engine: Engine) -> Survey:
    """One fold over the pieces of a loaded table."""
    surveyor = Surveyor(input_columns(table, roles), target_columns(table, roles), roles.weight)
    facts = engine.fold(table.pieces, surveyor, "survey", table.rows)
    return Survey(**vars(facts), table=table, roles=roles)


def target_column(table: Table, roles: Roles) -> InputColumn | None:
    """The target, as a number or as a class: text, true and false, and what the user says are classes."""
    if roles.target is None:
        return None
    kind = table.kinds[roles.target]
    guessed = roles.task == "auto" and kind in (Kind.TEXT, Kind.BOOLEAN)
    return InputColumn(roles.target, kind, roles.task == "classification" or guessed)


def target_columns(table: Table, roles: Roles) -> tuple[InputColumn, ...]:
    """All targets; several are numbers."""
    first = target_column(table, roles)
    return () if first is None else (first, *(InputColumn(name, table.kinds[name], False) for name in roles.also))


def input_columns(table: Table, roles: Roles) -> tuple[InputColumn, ...]:
    """The columns that may become inputs, sorted by name."""
    return tuple(InputColumn(name, table.kinds[name], name in roles.categorical) for name in roles.used(table.names))
