"""Predictions as Parquet and Arrow files: the columns that come along keep their types."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.table import cells
from enrelm_cli.table.kinds import ARROW, Kind
from enrelm_cli.table.output.sink import Sink
from enrelm_cli.table.output.writer import Added
from enrelm_cli.table.pieces import Batch, group_batches
from enrelm_cli.table.sources import CsvSource, Source

# Rows of a row group: enough for a reader to compress and skip by, few enough to hold.
_GROUP_ROWS = 1 << 17
# Bits of the integers that a float of so many bits holds exactly.
_MANTISSA = {16: 11, 32: 24, 64: 53}


def kept_schema(sources: Sequence[Source], names: Sequence[str], kinds: Mapping[str, Kind]) -> Any:
    """What columns of these names come along as: in the types of their file; those of CSV as the model reads them.

    A column of CSV that the model does not read is text: what else it may be would take a pass over all rows.
    What is said of the whole table comes along with all its columns, where every file says the same.
    """
    fields = [_joint_field(sources, [_field(source, name, kinds) for source in sources]) for name in names]
    said = [None if isinstance(source, CsvSource) else source.schema.metadata for source in sources]
    whole = all(source.names == tuple(names) for source in sources) and all(one == said[0] for one in said)
    return pa.schema(fields, metadata=said[0] if whole else None)


def _field(source: Source, name: str, kinds: Mapping[str, Kind]) -> Any:
    if not isinstance(source, CsvSource):
        return source.schema.field(name)
    kind = ARROW[kinds.get(name, Kind.VERBATIM)]
    return pa.field(name, pa.string() if pa.types.is_dictionary(kind) else kind)


def _joint_field(sources: Sequence[Source], fields: Sequence[Any]) -> Any:
    """The field of all files; where they differ, one of a type that holds every value of each."""
    first = fields[0]
    if all(field.equals(first, check_metadata=True) for field in fields):
        return first
    other = next((place for place, field in enumerate(fields) if field.type != first.type), None)
    if other is None:
        return pa.field(first.name, first.type)
    joint = _joint_type({_without_dictionary(field.type) for field in fields})
    if joint is None:
        raise UsageError(
            f"column {first.name!r} is {first.type} in {sources[0].label} and {fields[other].type} in "
            f"{sources[other].label}: no type holds both exactly",
            "predict the files one at a time, or write CSV",
        )
    return pa.field(first.name, joint)


def _joint_type(kinds: Collection[Any]) -> Any:
    try:
        schemas = [pa.schema([("", kind)]) for kind in sorted(kinds, key=str)]
        joint = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None
    return joint if all(_holds(joint, kind) for kind in kinds) else None


def _holds(joint: Any, kind: Any) -> bool:
    """Whether every value of the second type is one of the first."""
    is_ = pa.types
    if joint == kind or is_.is_null(kind):
        return True
    if is_.is_integer(kind) and is_.is_integer(joint):
        # An unsigned integer takes one more bit than a signed one of its range.
        fits = joint.bit_width - is_.is_signed_integer(joint) >= kind.bit_width - is_.is_signed_integer(kind)
        return bool(fits and (is_.is_signed_integer(joint) or is_.is_unsigned_integer(kind)))
    if is_.is_integer(kind) and is_.is_floating(joint):
        return bool(kind.bit_width <= _MANTISSA[joint.bit_width])
    if is_.is_decimal(kind) and is_.is_decimal(joint):
        return bool(joint.scale >= kind.scale and joint.precision - joint.scale >= kind.precision - kind.scale)
    same = (is_.is_floating, is_.is_time, cells.is_text)
    return any(is_one(kind) and is_one(joint) for is_one in same)


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
    return pa.schema([*kept, *own], metadata=kept.metadata)


@dataclass(frozen=True)
class ParquetFile:
    """The writer of Parquet."""

    schema: Any  # pa.Schema

    @staticmethod
    def of(schema: Any) -> ParquetFile:
        """Refuses, before anything is read, what Parquet has no type for."""
        if not _is_parquet(schema):
            odd = next(field for field in schema if not _is_parquet(pa.schema([field])))
            raise UsageError(
                f"column {odd.name!r} holds {odd.type} values, which Parquet does not have",
                "write .arrow, .jsonl or .csv, or keep other columns with --id",
            )
        return ParquetFile(schema)

    def part(self, values: Sequence[Any], batch: Batch) -> Any:
        return record_batch(self.schema, values, batch)

    def write(self, stream: BinaryIO, parts: Iterable[Any]) -> None:
        import pyarrow.parquet as pq

        groups = _groups(parts)
        first = next(groups, None)
        with closing(Sink(stream)) as sink, pq.ParquetWriter(sink, self.schema, compression="zstd") as writer:
            for group in chain([] if first is None else [first], groups):
                with _told("Parquet", ".arrow"):
                    writer.write_table(pa.Table.from_batches(group, self.schema), row_group_size=_GROUP_ROWS)


@contextmanager
def _told(kind: str, other: str) -> Iterator[None]:
    """Values that only show in the rows: seconds too far from 1970 for milliseconds, lists of other levels."""
    try:
        yield
    except pa.ArrowInvalid as error:
        raise DataError(f"a value is not one that {kind} files hold ({error})", f"write {other} or .csv") from error


def _is_parquet(schema: Any) -> bool:
    import pyarrow.parquet as pq

    try:
        pq.ParquetWriter(pa.BufferOutputStream(), schema).close()
    except pa.ArrowException:
        return False
    return True


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
    """The writer of Arrow files (Feather), not compressed, so that they can be read in place."""

    schema: Any  # pa.Schema
    # Of the columns of codes: a file has one dictionary for all its batches. Deltas are allowed, but polars has none.
    levels: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(schema: Any, sources: Sequence[Source]) -> ArrowFile:
        """Looks through the columns of codes for all their levels."""
        coded = [one for one in schema if pa.types.is_dictionary(one.type)]
        levels = _all_levels([one.name for one in coded], sources)
        for one in coded:
            if one.name in levels and not _can_tell_apart(one.type.index_type, len(levels[one.name])):
                raise UsageError(
                    f"column {one.name!r} has {len(levels[one.name]):,} levels in all, too many for its "
                    f"{one.type.index_type} codes",
                    "predict the files one at a time, or write .parquet or .csv",
                )
        return ArrowFile(schema, levels)

    def part(self, values: Sequence[Any], batch: Batch) -> Any:
        part = record_batch(self.schema, values, batch)
        columns = dict(zip(part.schema.names, part.columns, strict=True))
        columns |= {name: _recoded(columns[name], levels) for name, levels in self.levels.items()}
        return pa.RecordBatch.from_arrays(list(columns.values()), schema=self.schema)

    def write(self, stream: BinaryIO, parts: Iterable[Any]) -> None:
        rest = iter(parts)
        first = next(rest, None)
        with closing(Sink(stream)) as sink, pa.ipc.new_file(sink, self.schema) as writer:
            for part in chain([] if first is None else [first], rest):
                with _told("Arrow", ".parquet"):
                    writer.write_batch(part)


def _all_levels(names: list[str], sources: Sequence[Source]) -> dict[str, Any]:
    """Each column's, in the order in which they come."""
    found: dict[str, Any] = {}
    for source in sources if names else ():
        assert not isinstance(source, CsvSource)  # which has no codes
        for group in range(len(source.groups)):
            for batch in group_batches(source, group, names, _GROUP_ROWS):
                for name in names:
                    here = batch.column(name).dictionary
                    known = found.get(name, here)
                    fresh = here.filter(pc.invert(pc.is_in(here, value_set=known)))
                    found[name] = pa.concat_arrays([known, fresh]) if len(fresh) else known
    return found


def _can_tell_apart(codes: Any, levels: int) -> bool:
    return bool(levels <= 1 << (codes.bit_width - pa.types.is_signed_integer(codes)))


def _recoded(column: Any, levels: Any) -> Any:
    kind = column.type
    if column.dictionary.equals(levels):
        return column
    codes = pc.index_in(column.dictionary, value_set=levels).take(column.indices).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(codes, levels, ordered=kind.ordered)


def _without_dictionary(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
