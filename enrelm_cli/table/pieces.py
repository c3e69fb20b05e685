"""The parts of a table that can be read on their own, and the batches of rows that they yield."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.table import cells
from enrelm_cli.table.csv_pieces import Block
from enrelm_cli.table.kinds import Kind
from enrelm_cli.table.parsing import Reading, as_kinds, parse_or_explain
from enrelm_cli.table.sources import Columnar, CsvSource, Source


@dataclass(frozen=True)
class RawRows:
    """The records of a batch as they stand in the file."""

    before: bytes  # blank lines before the first record
    records: Any  # (t,) pa.BinaryArray, without line ends
    ends: Any  # (t,) pa.BinaryArray: line ends, and blank lines after them

    def slice(self, start: int, rows: int) -> RawRows:
        return RawRows(b"" if start else self.before, self.records.slice(start, rows), self.ends.slice(start, rows))


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of the table, parsed."""

    columns: Any  # pa.RecordBatch, columns sorted by name
    row: int  # index of the first row in the table; -1 where that is unknown
    origin: str = ""  # the file, for messages
    ids: Any = None  # pa.RecordBatch of texts: the identifiers that come along at predict
    raw: RawRows | None = None
    kept: Any = None  # pa.RecordBatch: columns that come along in types of their own

    @property
    def rows(self) -> int:
        return int(self.columns.num_rows)

    def cut(self, most: int) -> Iterator[Batch]:
        """The same rows in batches of at most `most`."""
        if self.rows <= most:
            yield self
            return
        for start in range(0, self.rows, most):
            yield Batch(
                self.columns.slice(start, most),
                self.row + start if self.row >= 0 else -1,
                self.origin,
                None if self.ids is None else self.ids.slice(start, most),
                None if self.raw is None else self.raw.slice(start, most),
                None if self.kept is None else self.kept.slice(start, most),
            )


class Piece(Protocol):
    """A part of a table that can be read on its own, again and again, here or on another machine."""

    def __iter__(self) -> Iterator[Batch]: ...


def check_files(specs: Sequence[str]) -> None:
    """Pieces that other machines read are of files: what comes through a pipe is only here."""
    for spec in specs:
        if spec == "-" or (os.path.exists(spec) and not os.path.isfile(spec) and not os.path.isdir(spec)):
            name = "stdin" if spec == "-" else spec
            raise UsageError(
                f"{name}: the workers of a cluster cannot read a pipe of this machine",
                "write it to a file that they see and name that, or leave out --engine dask",
            )


# ------------------------------------------------------------------------------------------------ read again each pass


@dataclass(frozen=True)
class CsvRange:
    """A byte range of a CSV file that can be read without what is before it."""

    source: CsvSource
    start: int
    stop: int
    line: int
    row: int
    reading: Reading

    def __iter__(self) -> Iterator[Batch]:
        block = self.source.block(self.start, self.stop, self.line)
        batch = Batch(parse_or_explain(self.source, block, self.reading), self.row, self.source.label)
        yield from batch.cut(self.reading.batch_rows)


@dataclass(frozen=True)
class CsvWhole:
    """A CSV file that has to be read from its beginning: compressed, or not UTF-8."""

    source: CsvSource
    row: int
    reading: Reading
    block_bytes: int

    def __iter__(self) -> Iterator[Batch]:
        row = self.row
        self.source.check_unchanged()
        for block in self.source.blocks(self.block_bytes):
            batch = Batch(parse_or_explain(self.source, block, self.reading), row, self.source.label)
            yield from batch.cut(self.reading.batch_rows)
            row += batch.rows


@dataclass(frozen=True)
class ParquetGroup:
    """A row group of a Parquet file, or of a table in memory."""

    source: Columnar
    group: int
    row: int
    reading: Reading

    def __iter__(self) -> Iterator[Batch]:
        row = self.row
        start = self.first_row
        for columns in group_batches(self.source, self.group, self.reading.names, self.reading.batch_rows):
            yield Batch(as_kinds(columns, self.source, start, self.reading), row, self.source.label)
            start += columns.num_rows
            row += columns.num_rows if row >= 0 else 0

    @property
    def first_row(self) -> int:
        """Within the file."""
        return sum(self.source.groups[: self.group])

    @property
    def rows(self) -> int:
        return self.source.groups[self.group]

    def read(self, names: list[str]) -> Any:
        """Some columns of all rows, in the types of the file."""
        batches = list(group_batches(self.source, self.group, names, max(self.rows, 1)))
        return pa.Table.from_batches(batches).combine_chunks().to_batches()[0] if len(batches) > 1 else batches[0]


def parquet_groups(source: Columnar, row: int, reading: Reading) -> list[ParquetGroup]:
    """Every row group of a file, whose first row is this one of the table."""
    starts = accumulate(source.groups, initial=row)
    return [
        ParquetGroup(source, group, start, reading)
        for group, (start, rows) in enumerate(zip(starts, source.groups, strict=False))
        if rows
    ]


def group_batches(source: Columnar, group: int, names: list[str], rows: int) -> Iterator[Any]:
    found = 0
    try:
        for batch in source.batches(group, names, rows):
            found += batch.num_rows
            yield batch
    except (pa.ArrowException, OSError) as error:
        problem = f"{source.label}: row group {group + 1} cannot be read ({error})"
        raise DataError(problem, "the file is damaged: copy or write it again") from error
    if found != source.groups[group]:
        raise DataError(
            f"{source.label}: row group {group + 1} has {found:,} rows where the file says {source.groups[group]:,}",
            "the file is damaged: copy or write it again",
        )


# ------------------------------------------------------------------------------------------------ in memory


@dataclass(frozen=True)
class InMemory:
    """Rows that are already parsed."""

    batch: Batch
    batch_rows: int

    def __iter__(self) -> Iterator[Batch]:
        return self.batch.cut(self.batch_rows)


# ------------------------------------------------------------------------------------------------ read once, at predict

Check = Callable[[Any, Source, "Block | int"], None]


@dataclass(frozen=True)
class Along:
    """What of the rows comes along with their predictions."""

    ids: tuple[str, ...] = ()  # these columns, as texts
    raw: bool = False  # every row byte for byte
    typed: tuple[str, ...] = ()  # these columns, in types of their own


@dataclass(frozen=True)
class CsvBlock:
    """A block of a CSV file that is passing by: predicted once, then gone."""

    source: CsvSource
    block: Block
    reading: Reading
    along: Along
    check: Check | None  # (columns, source, block)

    def __reduce__(self) -> Any:
        """Sent to another machine it leaves its text behind and is read there."""
        block, rest = self.block, (self.reading, self.along, self.check)
        if not self.source.seekable:
            return (CsvBlock, (self.source, block, *rest))
        return (_block_again, (self.source, block.start, block.stop, block.line, *rest))

    def __iter__(self) -> Iterator[Batch]:
        columns = parse_or_explain(self.source, self.block, self.reading)
        if self.check is not None:
            self.check(columns, self.source, self.block)
        ids = _identifiers(columns, self.along.ids, self._column)
        raw = self._raw(columns.num_rows) if self.along.raw else None
        kept = _kept(columns, self.along.typed)
        yield from Batch(columns, -1, self.source.label, ids, raw, kept).cut(self.reading.batch_rows)

    def _column(self, name: str) -> Any:
        again = replace(self.reading, kinds=((name, Kind.VERBATIM),))
        return parse_or_explain(self.source, self.block, again).column(0)

    def _raw(self, rows: int) -> RawRows:
        raw = RawRows(*cells.raw_rows(self.block.data, self.source.delimiter, self.source.one_column))
        if len(raw.records) != rows:
            raise DataError(
                f"{self.source.label}, after line {self.block.line}: the rows cannot be told apart byte by byte",
                "use --id instead of --append",
            )
        return raw


def _block_again(source: CsvSource, start: int, stop: int, line: int, *rest: Any) -> CsvBlock:
    return CsvBlock(source, source.block(start, stop, line), *rest)


def _identifiers(columns: Any, names: tuple[str, ...], read: Callable[[str], Any]) -> Any:
    """The identifiers as texts; one that is an input as well has to be read once more."""
    if not names:
        return None
    kinds = {name: columns.schema.field(name).type for name in columns.schema.names}
    plain = [columns.column(name) if kinds.get(name) == pa.string() else read(name) for name in names]
    return pa.RecordBatch.from_arrays(plain, names=list(names))


def _kept(columns: Any, names: Sequence[str]) -> Any:
    """Columns as they were read; an identifier without text is missing."""
    if not names:
        return None
    found = [columns.column(name) for name in names]
    plain = [pc.if_else(pc.equal(one, ""), None, one) if one.type == pa.string() else one for one in found]
    return pa.RecordBatch.from_arrays(plain, names=list(names))


@dataclass(frozen=True)
class ParquetRows:
    """A row group of a Parquet file that is passing by; its raw rows are what a CSV file of it would hold."""

    group: ParquetGroup
    along: Along
    check: Check | None  # (columns, source, index of the first row in the file)

    def __iter__(self) -> Iterator[Batch]:
        source, reading = self.group.source, self.group.reading
        along = self.along
        names = list(source.names) if along.raw else sorted({*reading.names, *along.ids, *along.typed})
        row = self.group.first_row
        for every in group_batches(source, self.group.group, names, reading.batch_rows):
            columns = as_kinds(every, source, row, reading)
            if self.check is not None:
                self.check(columns, source, row)
            ids = _identifiers(columns, along.ids, partial(_text_column, every))
            raw = RawRows(*cells.raw_rows(_csv_text(every, header=False), ",", len(names) == 1)) if along.raw else None
            kept = every.select(list(along.typed)) if along.typed else None
            yield Batch(columns, -1, source.label, ids, raw, kept)
            row += every.num_rows


def _text_column(batch: Any, name: str) -> Any:
    return cells.texts(batch.column(name)).fill_null("")


def _csv_text(batch: Any, header: bool) -> bytes:
    sink = pa.BufferOutputStream()
    texts = pa.RecordBatch.from_arrays([cells.texts(column) for column in batch.columns], names=batch.schema.names)
    pa_csv.write_csv(texts, sink, pa_csv.WriteOptions(include_header=header, quoting_style="needed"))
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def header_bytes(source: Source) -> tuple[bytes, bytes, str]:
    """(header, its line end, delimiter) that the raw rows of a source go under."""
    if isinstance(source, CsvSource):
        return source.header, source.header_end or b"\n", source.delimiter
    empty = pa.RecordBatch.from_arrays([pa.array([], pa.string()) for _ in source.names], names=list(source.names))
    return _csv_text(empty, header=True).rstrip(b"\n"), b"\n", ","
