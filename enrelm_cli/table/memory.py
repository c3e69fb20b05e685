"""Tables in memory: data frames and arrays as Arrow columns, without a copy where their layout allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import SentOnce

# Rows that are read at once: texts of a group fit the 32-bit offsets of an Arrow array.
_GROUP = 1 << 20
# What Arrow raises where the objects of a column are of several types, or of none that it knows.
MIXED = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)

_OF_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


@dataclass(frozen=True, eq=False)
class ArrowSource(SentOnce):
    """A table in memory."""

    label: str
    table: Any = field(repr=False)  # pa.Table
    rereadable: ClassVar[bool] = True
    bytes: ClassVar[int | None] = None  # of text: there is none

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.table.column_names)

    @property
    def schema(self) -> Any:
        return self.table.schema

    @property
    def types(self) -> tuple[Any, ...]:
        return tuple(self.schema.types)

    @property
    def groups(self) -> tuple[int, ...]:
        """Rows of each group."""
        rows = self.table.num_rows
        return tuple(min(_GROUP, rows - start) for start in range(0, rows, _GROUP))

    def batches(self, group: int, names: list[str], rows: int) -> Iterator[Any]:
        """Record batches of at most so many rows."""
        part = self.table.select(names).slice(group * _GROUP, _GROUP)
        yield from part.unify_dictionaries().combine_chunks().to_batches(max_chunksize=rows)

    def check_unchanged(self) -> None:
        """Nobody writes to it."""


def arrow_source(label: str, columns: Any) -> ArrowSource:
    """A table with one name for each column."""
    names = columns.column_names
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(f"{label}: several columns are called {repeated[0]!r}", "give every column a unique name")
    return ArrowSource(label, columns)


# ------------------------------------------------------------------------------------------------ data frames


def is_frame(data: Any) -> bool:
    """Whether it has columns with names: pandas, polars, pyarrow, or any frame that speaks Arrow or the interchange."""
    return any(hasattr(data, name) for name in ("__arrow_c_stream__", "__dataframe__")) and not is_column(data)


def is_column(data: Any) -> bool:
    """A single column, such as a series."""
    return isinstance(data, pa.Array | pa.ChunkedArray) or hasattr(data, "to_frame")


def arrow_columns(frame: Any) -> Any:
    """A data frame as a pa.Table."""
    if type(frame).__module__.split(".")[0] == "pandas":
        return pa.table(
            [_pandas_column(frame.iloc[:, place]) for place in range(frame.shape[1])],
            names=[str(name) for name in frame.columns],
        )
    if hasattr(frame, "__arrow_c_stream__"):
        return in_plain_layout(pa.table(frame))
    from pyarrow.interchange import from_dataframe

    return from_dataframe(frame)


def in_plain_layout(columns: Any) -> Any:
    """A pa.Table whose columns are laid out as Arrow computes with them: polars has views and codes of views."""
    for place, field_ in enumerate(columns.schema):
        column = _in_plain_layout(columns.column(place))
        if column.type != field_.type:
            columns = columns.set_column(place, field_.with_type(column.type), column)
    return columns


def _in_plain_layout(column: Any) -> Any:
    kind = column.type
    if pa.types.is_run_end_encoded(kind):
        chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
        return _in_plain_layout(pa.chunked_array(chunks, kind.value_type))
    if kind in _OF_VIEWS:
        return column.cast(_OF_VIEWS[kind])
    if pa.types.is_dictionary(kind) and kind.value_type in _OF_VIEWS:
        plain = pa.dictionary(kind.index_type, _OF_VIEWS[kind.value_type], kind.ordered)
        return pa.chunked_array([_plain_levels(chunk, plain) for chunk in column.chunks], plain)
    return column


def _plain_levels(chunk: Any, kind: Any) -> Any:
    return pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(kind.value_type), ordered=kind.ordered)


def _pandas_column(series: Any) -> Any:
    try:
        return pa.Array.from_pandas(series)
    except MIXED:
        return as_texts(series.to_numpy(dtype=object))


def levels_of(columns: Any) -> tuple[str, ...]:
    """The columns whose type says that they are categories."""
    return tuple(field.name for field in columns.schema if pa.types.is_dictionary(field.type))


# ------------------------------------------------------------------------------------------------ arrays


def array_columns(values: Any, names: Sequence[str]) -> Any:
    """The columns of an array (t, columns) as a pa.Table; those that lie in one piece are not copied."""
    return pa.table([_array_column(values[:, place]) for place in range(values.shape[1])], names=list(names))


def _array_column(column: Any) -> Any:
    if column.dtype == object:
        try:
            return pa.array(column, from_pandas=True)
        except MIXED:
            return as_texts(column)
    if column.dtype.kind == "f":
        # A half or an extended number has no column of its own.
        return pa.array(np.ascontiguousarray(column, dtype=np.float64))
    return pa.array(column)


def plain_text(value: Any) -> str:
    """A value as a file would hold it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)


def as_texts(values: Iterable[Any], text: Callable[[Any], str] = plain_text) -> Any:
    """Objects of several types as the texts that a file would hold."""
    return pa.array([None if _is_missing(value) else text(value) for value in values], pa.string())


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value
