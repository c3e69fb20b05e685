"""Tables to predict: columns found by name, read as the model's kinds, refused where the model or --strict says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.inputs.encoding import Column, Encoding
from enrelm_cli.inputs.survey.cells import coded, level_of
from enrelm_cli.names import meant
from enrelm_cli.table import cells
from enrelm_cli.table.csv_pieces import Block
from enrelm_cli.table.memory import ArrowSource
from enrelm_cli.table.options import ReadAs, read_as
from enrelm_cli.table.output.columnar import kept_schema
from enrelm_cli.table.output.csv_lines import Layout
from enrelm_cli.table.sources import CsvSource, Source, open_sources
from enrelm_cli.table.table import (
    Along,
    Kind,
    Piece,
    ReadOptions,
    check_needed,
    header_bytes,
    joint_bytes,
    joint_label,
    listed,
    numbers,
    stream,
)


@dataclass(frozen=True)
class _Check:
    """Refuses infinite numbers, an unseen level (--strict), and a missing cell where the model was told to."""

    encoding: Encoding
    strict: bool
    options: ReadAs
    targets: tuple[str, ...] = ()  # numbers that are to be added to a model

    def __call__(self, columns: Any, source: Source, place: Block | int) -> None:
        for name in self.targets:
            if name in columns.schema.names and np.isinf(numbers(columns.column(name))).any():
                array = columns.column(name)
                found = self._find(source, place, array, name, Kind.NUMBER, cells.is_infinite)
                raise cells.infinite_error(source.label, name, found)
        for column in self.encoding.columns:
            array = columns.column(column.name)
            if column.levels is None and column.kind is Kind.NUMBER and np.isinf(numbers(array)).any():
                found = self._find(source, place, array, column.name, column.kind, cells.is_infinite)
                raise cells.infinite_error(source.label, column.name, found)
            if self.strict and column.levels is not None:
                codes, levels = coded(array, column.kind)
                known = {*column.levels, None}
                if any(levels[i] not in known for i in np.unique(codes[codes >= 0]).tolist()):
                    found = self._find(source, place, array, column.name, column.kind, _UnseenLevel(column))
                    raise self._unseen(column, source.label, found)
            if self.encoding.missing == "error" and _any_missing(array):
                found = self._find(source, place, array, column.name, column.kind, None)
                raise self._missing(column, source.label, found)

    def _find(
        self, source: Source, place: Block | int, array: Any, name: str, kind: Kind, test: Callable[[str], bool] | None
    ) -> cells.Found:
        """The cells that pass the test; without one those that are missing."""
        nulls = self.options.nulls_of(kind)
        passes, missing = test or cells.never, test is None
        if isinstance(source, CsvSource):
            assert isinstance(place, Block)
            return cells.where_in_file(source, place, name, passes, nulls, missing)
        assert isinstance(place, int)
        return cells.where_in_array(array, passes, nulls, place, source.label, missing)

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
    options: ReadAs
    kinds: Mapping[str, Kind]
    along: Along
    known: tuple[tuple[str, Kind], ...]  # target and weight, read along where they are there
    check: _Check
    label: str
    levels: tuple[str, ...]  # columns of texts that were something else at fit
    layout: Layout  # of the lines that the predictions go into
    kept: Any  # pa.Schema of the columns that come along in types of their own
    bytes: int | None
    lenient: bool = True  # a target or weight that is no number is missing, else an error

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that predictions stand beside."""
        return self.sources[0].names if self.along.raw else (*self.along.ids, *self.along.typed)

    def to_add(self) -> PredictInput:
        """Targets and weights as strictly as a fit reads them: a typo is an error, not a row left out in silence."""
        encoding = self.check.encoding
        targets = tuple(encoding.targets) if encoding.classes is None else ()
        return replace(self, lenient=False, check=replace(self.check, targets=targets))

    def __iter__(self) -> Iterator[Piece]:
        known, levels = self.known, self.levels
        return stream(self.sources, self.options, self.kinds, self.along, self.check, known, levels, self.lenient)


def open_for_predict(
    sources: Sequence[str | ArrowSource],
    said: ReadOptions,
    encoding: Encoding,
    keep: Sequence[str] = (),
    strict: bool = False,
    raw: bool = False,
    with_target: bool = False,
    typed: bool = False,
    also: Mapping[str, Kind] | None = None,
) -> PredictInput:
    """Open a table for a model: columns are found by name, others are ignored, kinds are the model's.

    `keep`: identifiers that come along as text (Batch.ids). `raw`: rows come along byte for byte (Batch.raw).
    `with_target`: target and weight come along where the file has them; a cell that is no number counts as missing.
    `also`: more columns that have to be there, which are no inputs.
    `typed`: identifiers, or all columns of the rows, come along in types of their own instead (Batch.kept).
    """
    options = read_as(said, encoding.read)
    opened = open_sources(sources, options, once=True)
    classes = encoding.classes
    labels = () if classes is None else (classes,)
    needed = {**(also or {}), **{column.name: column.read_as for column in encoding.columns}}
    keep = meant(keep, opened[0].names)
    for source in opened:
        check_needed(source, list(needed), keep)
    if raw and any(source.names != opened[0].names for source in opened):
        raise UsageError(
            "--append needs the same columns in the same order in every file", "predict them one at a time, or use --id"
        )
    kind = Kind.NUMBER if classes is None else classes.read_as
    weights = () if encoding.weight is None else ((encoding.weight, Kind.NUMBER),)
    known = (*((name, kind) for name in encoding.targets), *weights) if with_target else ()
    along = Along((), False, opened[0].names if raw else keep) if typed else Along(keep, raw)
    return PredictInput(
        sources=opened,
        options=options,
        kinds=needed,
        along=along,
        known=known,
        check=_Check(encoding, strict, options),
        label=joint_label(opened),
        levels=tuple(column.name for column in (*encoding.columns, *labels) if column.kind is not column.read_as),
        layout=_layout(opened[0], options, along),
        kept=kept_schema(opened, along.typed, {**dict(known), **needed}),
        bytes=joint_bytes(opened),
    )


def _layout(source: Source, options: ReadAs, along: Along) -> Layout:
    """Predictions look like the table that they are of."""
    header, line_end, delimiter = header_bytes(source)
    if not along.raw:
        return Layout(ids=along.ids, delimiter=delimiter, decimal=options.decimal)
    encoding = options.encoding if isinstance(source, CsvSource) else "utf-8"
    return Layout(("prediction",), along.ids, delimiter, options.decimal, header, line_end, encoding)
