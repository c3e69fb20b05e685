"""Columns -> raw rows: one number per column, the same at fit and predict.

A number is its value, a date its microseconds since 1970, a text the place of its level among the sorted levels, UNSEEN
where the fit never saw it; NaN is a missing cell. Columns are sorted by name, so that the order of a file's columns
does not matter. What a kernel sees of a raw row is decided later, on the training rows, by an input map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.folds import Chunk, SentOnce
from enrelm_cli.fold.hashing import combine, hash_targets, hash_texts
from enrelm_cli.inputs.checks import must, number, truth
from enrelm_cli.inputs.marks import NO_MARKS, Marks
from enrelm_cli.inputs.survey.cells import Cells, LevelCells, NumberCells, coded
from enrelm_cli.table.cells import number_text
from enrelm_cli.table.options import ReadAs
from enrelm_cli.table.table import Batch, Kind, numbers
from enrelm_cli.types import Array, Keys

Missing = Literal["fill", "drop", "error"]

# Classes that a target may have.
MOST_CLASSES = 1000
# The place of a level that the fit never saw.
UNSEEN = -1.0


@dataclass(frozen=True)
class Column:
    """What one column of the table is."""

    name: str
    kind: Kind
    levels: tuple[str, ...] | None  # sorted; None: the column is one number
    lowest: float  # smallest value at fit (microseconds since 1970 for dates); 0 for levels
    holes: bool  # cells were missing at fit
    categorical: bool = False  # the user said that it has levels
    highest: float = 0.0  # largest value at fit; 0 for levels

    @property
    def is_date(self) -> bool:
        return self.kind in (Kind.DATE, Kind.ZONED)

    @property
    def read_as(self) -> Kind:
        """How a file to predict is read: any text may turn up among levels, only as unseen."""
        return self.kind if self.levels is None else Kind.TEXT

    @cached_property
    def places(self) -> Mapping[str, int]:
        return {level: place for place, level in enumerate(self.levels or ())}

    def cells(self, array: Any) -> Cells:
        """The cells of a part of the column."""
        return NumberCells(numbers(array)) if self.levels is None else LevelCells(*coded(array, self.kind))

    def raw(self, cells: Cells) -> Array:
        """(t,) their numbers in a raw row."""
        if isinstance(cells, NumberCells):
            return cells.values
        # The last entry is where code -1, a missing cell, looks itself up.
        levels = (*cells.levels, None)
        return np.array([np.nan if level is None else self.places.get(level, UNSEEN) for level in levels])[cells.codes]

    def check(self) -> None:
        if self.levels is None:
            must(self.kind is not Kind.TEXT and self.kind is not Kind.VERBATIM, "a text column has no levels")
        else:
            must(list(self.levels) == sorted(set(self.levels)), f"levels of {self.name!r} are repeated")

    def to_document(self) -> dict[str, Any]:
        levels = None if self.levels is None else list(self.levels)
        return {
            "name": self.name,
            "kind": self.kind.value,
            "levels": levels,
            "lowest": self.lowest,
            "highest": self.highest,
            "holes": self.holes,
            "categorical": self.categorical,
        }

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Column:
        levels = document["levels"]
        return Column(
            name=str(document["name"]),
            kind=Kind(document["kind"]),
            levels=None if levels is None else tuple(str(level) for level in levels),
            lowest=float(document["lowest"]),
            highest=float(document["highest"]),
            holes=bool(document["holes"]),
            categorical=bool(document["categorical"]),
        )


@dataclass(frozen=True)
class LeftOut:
    """A column that is no input."""

    name: str
    kind: Kind
    why: str


@dataclass(frozen=True)
class Far:
    """Cells more than the range of the fitted values away from them: a prediction there is a guess."""

    column: Column
    count: int
    worst: float  # the farthest from the middle

    def merge(self, other: Far) -> Far:
        middle = self.column.lowest / 2 + self.column.highest / 2
        worst = max(self.worst, other.worst, key=lambda value: (abs(value - middle), value))
        return Far(self.column, self.count + other.count, worst)

    def note(self, name: str) -> str:
        low, high, worst = (self._shown(value) for value in (self.column.lowest, self.column.highest, self.worst))
        cells = "1 cell is" if self.count == 1 else f"{self.count:,} cells are"
        return f"column {name!r}: {cells} far from all values at fit ({low} to {high}), the farthest {worst}"

    def _shown(self, value: float) -> str:
        return moment_text(value) if self.column.is_date else number_text(value)


def moment_text(microseconds: float) -> str:
    """A date as people write it; the time of day where there is one."""
    try:
        moment = datetime(1970, 1, 1) + timedelta(microseconds=microseconds)
    except OverflowError:
        return f"{microseconds:g} microseconds from 1970"
    return moment.isoformat(sep=" ").removesuffix(" 00:00:00")


@dataclass(frozen=True)
class Unseen:
    """What was out of the ordinary in rows to predict."""

    levels: Mapping[str, int] = field(default_factory=dict)  # column -> cells with a level unseen at fit
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # column -> some of those levels
    missing: Mapping[str, int] = field(default_factory=dict)  # column -> missing cells
    far: Mapping[str, Far] = field(default_factory=dict)  # column -> cells far from all that was fitted

    def merge(self, other: Unseen) -> Unseen:
        examples = {
            name: tuple(dict.fromkeys(self.examples.get(name, ()) + other.examples.get(name, ())))[:3]
            for name in {**self.examples, **other.examples}
        }
        far = {**self.far, **other.far}
        for name in {*self.far} & {*other.far}:
            far[name] = self.far[name].merge(other.far[name])
        return Unseen(_added(self.levels, other.levels), examples, _added(self.missing, other.missing), far)

    def notes(self) -> tuple[str, ...]:
        """A line for each column, for the user."""
        unseen = [
            f"column {name!r}: {count:,} {'cell has' if count == 1 else 'cells have'} a level unseen at fit, "
            f"such as {' and '.join(repr(level) for level in self.examples[name])}"
            for name, count in sorted(self.levels.items())
        ]
        filled = [f"column {name!r}: {cells_missing(count)}" for name, count in sorted(self.missing.items())]
        return tuple(unseen + filled + [far.note(name) for name, far in sorted(self.far.items())])


def _added(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


def cells_missing(count: int) -> str:
    return "1 missing cell" if count == 1 else f"{count:,} missing cells"


@dataclass(frozen=True)
class HashedRows:
    """Raw rows, and the hashes of their cells."""

    X: Array  # (t, columns)
    y: Array  # (t,), or (t, q) of several targets; NaN where missing
    hashes: Sequence[Keys]  # (t,) of each column
    weight: Array | None  # (t,) 0 where the row is left out


@dataclass(frozen=True)
class Encoding(SentOnce):
    """From a batch of cells to raw rows: fixed at fit."""

    columns: tuple[Column, ...]  # sorted by name
    target: str
    missing: Missing
    notes: tuple[str, ...] = ()  # what the user should know about the fit
    read: ReadAs = ReadAs()  # noqa: RUF009 - how the table was read, and tables to predict are
    left_out: tuple[LeftOut, ...] = ()
    weight: str | None = None  # the column of the rows' weights
    weight_unit: float = 1.0  # what they are divided by
    classes: Column | None = None  # the target, where it has classes: its levels; None: it is a number
    class_weights: tuple[float, ...] | None = None  # what a row of each counts for, on top of its own weight
    also: tuple[str, ...] = ()  # the targets after the first; a saved model predicts one

    @property
    def targets(self) -> tuple[str, ...]:
        return (self.target, *self.also)

    def of_target(self, name: str) -> Encoding:
        return replace(self, target=name, also=())

    def chunk(self, batch: Batch, marks: Marks = NO_MARKS) -> Chunk:
        """Rows to fit, each its own unit with its twins."""
        rows = self.hashed(batch)
        return self.to_fit(rows, combine(rows.hashes, batch.rows), batch, marks)

    def to_fit(self, rows: HashedRows, twins: Keys, batch: Batch, marks: Marks) -> Chunk:
        """The same of rows whose cells are hashed."""
        weight = self.weighed(rows.y, rows.weight)
        chunk = marks.on(Chunk(rows.X, rows.y, twins, twins, batch.row, weight=weight), batch)
        return marks.checked(chunk.where(self.used(rows.X, rows.y, rows.weight)))

    def hashed(self, batch: Batch) -> HashedRows:
        """Every row of a batch; each cell is read and hashed once."""
        cells = self._cells(batch)
        hashes = [one.hashes() for one in cells]
        return HashedRows(self._raw(cells, batch.rows), self.known_target(batch), hashes, self.weights(batch))

    def used(self, X: Array, y: Array, weight: Array | None) -> NDArray[np.bool_]:
        """(t,) rows to fit: those with a target and a weight, and with `missing="drop"` only if no input is missing."""
        kept = known_rows(y, weight)
        return kept & ~np.isnan(X).any(axis=1) if self.missing == "drop" else kept

    def numbers(self, batch: Batch) -> tuple[Array, Array]:
        """(X, y) of every row."""
        return self._raw(self._cells(batch), batch.rows), self.known_target(batch)

    def for_predict(self, batch: Batch) -> tuple[Array, Array, Unseen]:
        """(X, y, what was out of the ordinary) of every row."""
        cells = self._cells(batch)
        X, unseen = self._raw(cells, batch.rows), Unseen()
        for k, (column, one) in enumerate(zip(self.columns, cells, strict=True)):
            odd = _odd(column, one, X[:, k])
            unseen = unseen.merge(odd) if odd is not None else unseen
        return X, self.known_target(batch), unseen

    def _cells(self, batch: Batch) -> list[Cells]:
        return [column.cells(batch.columns.column(column.name)) for column in self.columns]

    def _raw(self, cells: Sequence[Cells], rows: int) -> Array:
        # A column at a time is how rows are filled, and how maps read them.
        X = np.empty((rows, len(cells)), order="F")
        for k, (column, one) in enumerate(zip(self.columns, cells, strict=True)):
            X[:, k] = column.raw(one)
        return X

    def known_target(self, batch: Batch) -> Array:
        """(t,), or (t, q) of several: NaN where a cell or the column is missing."""
        if self.also:
            return np.column_stack([self.of_target(name).known_target(batch) for name in self.targets])
        if self.target not in batch.columns.schema.names:
            return np.full(batch.rows, np.nan)
        cells = batch.columns.column(self.target)
        return numbers(cells) if self.classes is None else self.classes.raw(self.classes.cells(cells))

    def target_hashes(self, y: Array) -> Keys:
        """(t,) of the target's cells."""
        if self.classes is None:
            return hash_targets(y)
        # The last entry is where a missing cell looks itself up.
        places = np.where(np.isnan(y), -1.0, y).astype(np.int64)
        return hash_texts([*(self.classes.levels or ()), None])[places]

    def weights(self, batch: Batch) -> Array | None:
        """(t,), None where rows have none."""
        if self.weight is None or self.weight not in batch.columns.schema.names:
            return None
        return numbers(batch.columns.column(self.weight)) / self.weight_unit

    def weighed(self, y: Array, weight: Array | None) -> Array | None:
        """(t,) the rows' own weights times those of their classes."""
        if self.class_weights is None:
            return weight
        # The last entry is where a missing or unknown class looks itself up.
        each = np.array([*self.class_weights, 1.0])[np.where(np.isnan(y), -1.0, y).astype(np.int64)]
        return each if weight is None else weight * each

    def to_document(self) -> dict[str, Any]:
        """Plain values only, for the model file."""
        weighed = {} if self.class_weights is None else {"class_weights": list(self.class_weights)}
        return {
            **weighed,
            "target": self.target,
            "missing": self.missing,
            "notes": list(self.notes),
            "read": self.read.to_document(),
            "columns": [column.to_document() for column in self.columns],
            "left_out": [{"name": one.name, "kind": one.kind.value, "why": one.why} for one in self.left_out],
            "weight": self.weight,
            "weight_unit": self.weight_unit,
            "classes": None if self.classes is None else self.classes.to_document(),
        }

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Encoding:
        columns = tuple(Column.from_document(column) for column in document["columns"])
        way = missing_way(document["missing"])
        notes = tuple(str(note) for note in document["notes"])
        left_out = tuple(LeftOut(str(one["name"]), Kind(one["kind"]), str(one["why"])) for one in document["left_out"])
        read = ReadAs.from_document(document["read"])
        weight, unit = document["weight"], document["weight_unit"]
        found = document["classes"]
        classes = None if found is None else Column.from_document(found)
        weighed = None if "class_weights" not in document else tuple(document["class_weights"])
        return Encoding(columns, str(document["target"]), way, notes, read, left_out, weight, unit, classes, weighed)

    def check(self, document: Mapping[str, Any]) -> None:
        """ValueError unless it could have been fitted; `document` is what it was made from."""
        names = [column.name for column in self.columns]
        must(len(names) > 0 and len(set(names)) == len(names), "columns are missing or repeated")
        must(names == sorted(names), "columns are not sorted")
        must(self.weight is None or type(self.weight) is str, "the column of weights has no name")
        must(self.weight is None or self.weight not in (*names, self.target), "the weights are an input or the target")
        number("weight_unit", self.weight_unit, lowest=np.finfo(float).smallest_subnormal)
        for column, raw in zip(self.columns, document["columns"], strict=True):
            _check_column(column, raw)
        if self.classes is not None:
            _check_column(self.classes, document["classes"])
            must(self.classes.name == self.target and self.target not in names, "the classes are of another column")
            must(2 <= len(self.classes.levels or ()) <= MOST_CLASSES, "there are too few classes, or too many")
        if self.class_weights is not None:
            must(self.classes is not None, "weights of classes need classes")
            for weight in self.class_weights:
                number("class_weights", weight, lowest=np.finfo(float).smallest_subnormal)
            must(len(self.class_weights) == len(document["classes"]["levels"]), "a class has no weight")


def _check_column(column: Column, raw: Mapping[str, Any]) -> None:
    texts = [raw["name"], raw["kind"], *(raw["levels"] or ())]
    must(all(type(text) is str for text in texts), "a column's name, kind or level is not text")
    truth("holes", raw["holes"])
    truth("categorical", raw["categorical"])
    number("lowest", raw["lowest"])
    number("highest", raw["highest"])
    column.check()


def known_rows(y: Array, weight: Array | None) -> NDArray[np.bool_]:
    """(t,) those with every target, and a weight where rows have weights."""
    known: NDArray[np.bool_] = np.asarray(~np.isnan(y) if y.ndim == 1 else ~np.isnan(y).any(axis=1))
    return known if weight is None else known & (weight > 0.0)


def missing_way(missing: str) -> Missing:
    for way in get_args(Missing):
        if way == missing:
            known: Missing = way
            return known
    raise ValueError(f"missing cells can be filled, dropped or an error, not {missing!r}")


def _odd(column: Column, cells: Cells, raw: Array) -> Unseen | None:
    """What is out of the ordinary in cells to predict, whose raw numbers are given."""
    return _odd_levels(column.name, cells, raw) if isinstance(cells, LevelCells) else _odd_numbers(column, raw)


def _odd_numbers(column: Column, values: Array) -> Unseen | None:
    missing = int(np.count_nonzero(np.isnan(values)))
    far = _far(values, column)
    if not missing and far is None:
        return None
    return Unseen(missing={column.name: missing} if missing else {}, far={column.name: far} if far else {})


def _far(values: Array, column: Column) -> Far | None:
    low, high = column.lowest, column.highest
    beyond = values[(values < 2 * low - high) | (values > 2 * high - low)] if low < high else values[:0]
    if not len(beyond):
        return None
    middle = low / 2 + high / 2
    return Far(column, len(beyond), float(max(np.min(beyond), np.max(beyond), key=lambda value: abs(value - middle))))


def _odd_levels(name: str, cells: LevelCells, places: Array) -> Unseen | None:
    odd = cells.codes[~(places >= 0.0)]
    if not len(odd):
        return None
    missing = int(np.count_nonzero(odd < 0))
    unseen = odd[odd >= 0]
    found = sorted({str(cells.levels[i]) for i in np.unique(unseen).tolist()})
    return Unseen(
        {name: len(unseen)} if len(unseen) else {},
        {name: tuple(found[:3])} if found else {},
        {name: missing} if missing else {},
    )
