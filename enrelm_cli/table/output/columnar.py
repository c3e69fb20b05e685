"""Predictions as Parquet and Arrow files: the columns that come along keep their types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO

import pyarrow as pa

from enrelm_cli.errors import UsageError
from enrelm_cli.table.kinds import ARROW, Kind
from enrelm_cli.table.output.sink import Sink
from enrelm_cli.table.output.writer import Added
from enrelm_cli.table.pieces import Batch
from enrelm_cli.table.sources import CsvSource, Source

# Rows of a row group: enough for a reader to compress and skip by, few enough to hold.
_GROUP_ROWS = 1 << 17


def kept_schema(sources: Sequence[Source], names: Sequence[str], kinds: Mapping[str, Kind]) -> Any:
    """What columns of these names come along as: in the types of their file; those of CSV as the model reads them.

    A column of CSV that the model does not read is text: what else it may be would take a pass over all rows.
    """
    schemas = [pa.schema(list(_fields(source, names, kinds))) for source in sources]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").remove_metadata()
    except pa.ArrowException as error:
        raise UsageError(
            f"the copied columns have different types in different files ({str(error).splitlines()[0]})",
            "predict the files one at a time, or write CSV",
        ) from error


def _fields(source: Source, names: Sequence[str], kinds: Mapping[str, Kind]) -> Iterator[Any]:
    if isinstance(source, CsvSource):
        for name in names:
            kind = ARROW[kinds.get(name, Kind.VERBATIM)]
            yield pa.field(name, pa.string() if pa.types.is_dictionary(kind) else kind)
        return
    types = dict(zip(source.names, source.types, strict=True))
    for name in names:
        yield pa.field(name, types[name])


def record_batch(schema: Any, values: Sequence[Any], batch: Batch) -> Any:
    """The columns that come along, then what is added, in the types of the schema."""
    kept = [] if batch.kept is None else batch.kept.columns
    columns = [_as(column, field.type) for column, field in zip((*kept, *values), schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _as(column: Any, kind: Any) -> Any:
    if not isinstance(column, pa.Array):
        return pa.array(column, kind)
    if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
    return column if column.type == kind else column.cast(kind)


def full_schema(kept: Any, added: Sequence[Added]) -> Any:
    own = [pa.field(one.name, pa.string() if one.is_text else pa.float64()) for one in added]
    return pa.schema([*kept, *own])


@dataclass(frozen=True)
class ParquetFile:
    """The writer of Parquet."""

    schema: Any  # pa.Schema

    def part(self, values: Sequence[Any], batch: Batch) -> Any:
        return record_batch(self.schema, values, batch)

    def write(self, stream: BinaryIO, parts: Iterable[Any]) -> None:
        import pyarrow.parquet as pq

        groups = _groups(parts)
        first = next(groups, None)
        with closing(Sink(stream)) as sink, pq.ParquetWriter(sink, self.schema, compression="zstd") as writer:
            for group in chain([] if first is None else [first], groups):
                writer.write_table(pa.Table.from_batches(group, self.schema), row_group_size=_GROUP_ROWS)


def _groups(parts: Iterable[Any]) -> Iterator[list[Any]]:
    """Batches in portions of at most so many rows."""
    held: list[Any] = []
    rows = 0
    for part in parts:
        if held and rows + part.num_rows > _GROUP_ROWS:
            yield held
            held, rows = [], 0
        held.append(part)
        rows += part.num_rows
    if held:
        yield held


@dataclass(frozen=True)
class ArrowFile:
    """The writer of Arrow files (Feather). Levels go out as texts: such a file has one dictionary for all batches."""

    schema: Any  # pa.Schema

    @staticmethod
    def of(schema: Any) -> ArrowFile:
        plain = [pa.field(one.name, _without_dictionary(one.type), one.nullable) for one in schema]
        return ArrowFile(pa.schema(plain))

    def part(self, values: Sequence[Any], batch: Batch) -> Any:
        return record_batch(self.schema, values, batch)

    def write(self, stream: BinaryIO, parts: Iterable[Any]) -> None:
        rest = iter(parts)
        first = next(rest, None)
        with closing(Sink(stream)) as sink, pa.ipc.new_file(sink, self.schema) as writer:
            for part in chain([] if first is None else [first], rest):
                writer.write_batch(part)


def _without_dictionary(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
