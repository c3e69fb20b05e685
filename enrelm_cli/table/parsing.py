"""Text and Parquet columns -> Arrow arrays of a few kinds, and what to say about a cell that is of another kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import SentOnce
from enrelm_cli.table import cells
from enrelm_cli.table.csv_pieces import Block
from enrelm_cli.table.sources import CsvSource, ParquetSource, Source

_TRUE, _FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]


class Kind(str, Enum):
    """What the cells of a column are."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    ZONED = "date with time zone"
    TEXT = "text"
    VERBATIM = "verbatim"  # an identifier that is handed through: no null, no number, just its text


_ARROW = {
    Kind.NUMBER: pa.float64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.timestamp("us"),
    Kind.ZONED: pa.timestamp("us", "UTC"),
    Kind.TEXT: pa.dictionary(pa.int32(), pa.string()),
    Kind.VERBATIM: pa.string(),
}


@dataclass(frozen=True)
class Reading(SentOnce):
    """Which columns to read, as what."""

    kinds: tuple[tuple[str, Kind], ...]  # sorted by name
    nulls: tuple[str, ...]
    batch_rows: int
    given: bool = False  # the kinds are a model's, not this file's: 1 and 0 are booleans too if it says so
    lenient: str | None = None  # a column of numbers whose other cells are taken as missing: the target, at predict

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.kinds]


class Unconvertible(Exception):
    """Some cell of a block is not of the kind of its column."""


# ------------------------------------------------------------------------------------------------ CSV


def parse(source: CsvSource, block: Block, reading: Reading) -> Any:
    """The rows of a block as a record batch with the columns and kinds of `reading`, or Unconvertible."""
    table = _read_csv(source, block, reading, {name: _ARROW[kind] for name, kind in reading.kinds})
    columns = [_settled(table.column(name), kind, reading.nulls) for name, kind in reading.kinds]
    return pa.RecordBatch.from_arrays(columns, names=reading.names)


def parse_or_explain(source: CsvSource, block: Block, reading: Reading) -> Any:
    """The same where the kinds are settled: a cell that does not fit is the user's to correct."""
    try:
        return parse(source, block, reading)
    except Unconvertible as error:
        if reading.lenient is not None:
            return _parse_leniently(source, block, reading, reading.lenient)
        for name, kind in reading.kinds:
            found = cells.where_in_block(source, block, name, unfit(source, kind), reading.nulls)
            if found.count:
                found = cells.where_in_file(source, block, name, unfit(source, kind), reading.nulls)
                raise wrong_kind(source.label, name, kind, found) from error
        raise DataError(f"{source.label}: {error}") from error


def _parse_leniently(source: CsvSource, block: Block, reading: Reading, name: str) -> Any:
    kinds = tuple((other, Kind.TEXT if other == name else kind) for other, kind in reading.kinds)
    columns = parse_or_explain(source, block, replace(reading, kinds=kinds, lenient=None))
    place = reading.names.index(name)
    return columns.set_column(place, name, _numbers_of_texts(columns.column(place), source.decimal))


def _numbers_of_texts(texts: Any, decimal: str) -> Any:
    """Dictionary-encoded texts as numbers; what is no number is missing."""
    levels = [_number_of_text(text, decimal) for text in texts.dictionary.to_pylist()]
    return pa.array(levels, type=pa.float64()).take(texts.indices)


def _number_of_text(text: str, decimal: str) -> float | None:
    if not Unfit(Kind.BOOLEAN, decimal)(text):
        return float(text.strip() in (*_TRUE, "1"))
    return None if Unfit(Kind.NUMBER, decimal)(text) else float(text.replace(decimal, "."))


def inferred(source: CsvSource, block: Block, reading: Reading) -> dict[str, Kind | None]:
    """The kind of every column in this block alone; None where all its cells are missing."""
    fixed = {name: pa.string() for name, kind in reading.kinds if kind is Kind.VERBATIM}
    table = _read_csv(source, block, reading, fixed)
    return {name: kind_of_type(table.column(name).type) for name in reading.names}


def _read_csv(source: CsvSource, block: Block, reading: Reading, types: Mapping[str, Any]) -> Any:
    extra = (["1"], ["0"]) if reading.given else ([], [])
    try:
        return pa_csv.read_csv(
            pa.BufferReader(pa.py_buffer(block.data)),
            read_options=pa_csv.ReadOptions(
                use_threads=False, block_size=len(block.data) + 1, column_names=list(source.names)
            ),
            parse_options=pa_csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=b'"' in block.data),
            convert_options=pa_csv.ConvertOptions(
                column_types=types,
                include_columns=reading.names,
                null_values=_spaced(reading.nulls),
                true_values=_TRUE + extra[0],
                false_values=_FALSE + extra[1],
                strings_can_be_null=False,
                decimal_point=source.decimal,
            ),
        )
    except pa.ArrowInvalid as error:
        message = str(error)
        if message == "Empty CSV file":  # nothing but blank lines
            return pa.table({name: pa.array([], type=types.get(name, pa.null())) for name in reading.names})
        if "invalid UTF8" in message:
            raise cells.not_utf8_error(source, block) from error
        if "conversion error" in message:
            raise Unconvertible(message) from error
        ragged = cells.ragged_error(source, block)
        raise ragged or DataError(f"{source.label}, after line {block.line}: {message}") from error


def _spaced(nulls: Sequence[str]) -> list[str]:
    """The null tokens, also with a space beside them: '1, NA' means what '1,NA' means."""
    return list(dict.fromkeys(before + null + after for null in nulls for before in ("", " ") for after in ("", " ")))


def _settled(column: Any, kind: Kind, nulls: tuple[str, ...]) -> Any:
    """One contiguous array of the kind, with null tokens of texts as nulls."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], type=array.type)
    return _without_nulls(array, nulls) if kind is Kind.TEXT else array


def _without_nulls(array: Any, nulls: tuple[str, ...]) -> Any:
    """Dictionary-encoded texts whose null tokens are nulls; the dictionary keeps its unused entries."""
    missing = pc.indices_nonzero(_is_null(array.dictionary, nulls))
    if not len(missing):
        return array
    hit = pc.is_in(array.indices, value_set=missing.cast(pa.int32()))
    indices = pc.if_else(hit, pa.scalar(None, pa.int32()), array.indices)
    return pa.DictionaryArray.from_arrays(indices, array.dictionary)


def _is_null(texts: Any, nulls: tuple[str, ...]) -> Any:
    return pc.is_in(pc.utf8_trim_whitespace(texts), value_set=pa.array(nulls, type=pa.string()))


# ------------------------------------------------------------------------------------------------ Parquet


def as_kinds(batch: Any, source: ParquetSource, row: int, reading: Reading) -> Any:
    """A record batch of a Parquet file, which starts at `row`, with the columns and kinds of `reading`."""
    columns = [_as_kind(batch.column(name), name, kind, source, row, reading) for name, kind in reading.kinds]
    return pa.RecordBatch.from_arrays(columns, names=reading.names)


def _as_kind(array: Any, name: str, kind: Kind, source: ParquetSource, row: int, reading: Reading) -> Any:
    try:
        return _cast(array, kind, reading.nulls)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        if name == reading.lenient:
            if not cells.is_text(array.type):
                return pa.nulls(len(array), pa.float64())
            return _numbers_of_texts(_cast(array, Kind.TEXT, reading.nulls), ".")
        if parquet_kind(source.label, name, array.type) is not Kind.TEXT:
            wanted = f"{source.label}: column {name!r} holds {array.type} values, not {_WANTED[kind]}"
            raise DataError(wanted, "convert the column") from error
        found = cells.where_in_array(array, Unfit(kind, "."), reading.nulls, row, source.label)
        raise wrong_kind(source.label, name, kind, found) from error


def _cast(array: Any, kind: Kind, nulls: tuple[str, ...]) -> Any:
    if kind is Kind.VERBATIM:
        return cells.texts(array).fill_null("")
    if kind is Kind.TEXT:
        return _without_nulls(cells.texts(array).dictionary_encode(), nulls)
    if cells.is_text(array.type):
        texts = cells.texts(array)
        array = pc.if_else(_is_null(texts, nulls), pa.scalar(None, pa.string()), texts)
    if kind in (Kind.DATE, Kind.ZONED) and pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("us"))
    # Not safe: integers beyond 2^53 and nanoseconds may be rounded.
    return array.cast(_ARROW[kind], safe=False)


def parquet_kind(label: str, name: str, kind: Any) -> Kind | None:
    """The kind for the type of a Parquet column."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    found = kind_of_type(kind)
    if found is Kind.TEXT and not cells.is_text(kind):
        raise DataError(
            f"{label}: column {name!r} holds {kind} values, which cannot be inputs",
            "leave it out with --drop, or convert it",
        )
    return found


# ------------------------------------------------------------------------------------------------ kinds


def kind_of_type(kind: Any) -> Kind | None:
    """The kind for an Arrow type; None for the type of nothing but nulls."""
    if pa.types.is_null(kind):
        return None
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Kind.NUMBER
    if pa.types.is_boolean(kind):
        return Kind.BOOLEAN
    if pa.types.is_timestamp(kind):
        return Kind.ZONED if kind.tz else Kind.DATE
    if pa.types.is_date(kind):
        return Kind.DATE
    return Kind.TEXT


def join(first: Kind | None, second: Kind | None) -> Kind | None:
    """The kind that holds the cells of both."""
    if first is None or second is None:
        return second if first is None else first
    return first if first is second else Kind.TEXT


def numbers(array: Any) -> NDArray[np.float64]:
    """A number, boolean or date column as float64 (dates: microseconds since 1970), NaN where missing."""
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    if not pa.types.is_float64(array.type):
        array = array.cast(pa.float64())
    values: NDArray[np.float64] = array.to_numpy(zero_copy_only=False)
    return values


# ------------------------------------------------------------------------------------------------ cells at fault

_WANTED = {
    Kind.NUMBER: "a number",
    Kind.BOOLEAN: "true or false",
    Kind.DATE: "a date such as 2024-12-31",
    Kind.ZONED: "a date with a time zone such as 2024-12-31T23:59Z",
}

_WANTED_OF_MANY = {
    Kind.NUMBER: "numbers",
    Kind.BOOLEAN: "true or false",
    Kind.DATE: "dates such as 2024-12-31",
    Kind.ZONED: "dates with a time zone such as 2024-12-31T23:59Z",
}


@dataclass(frozen=True)
class Unfit:
    """Whether a cell cannot be read as the kind."""

    kind: Kind
    decimal: str

    def __call__(self, text: str) -> bool:
        text = text.strip()
        if self.kind in (Kind.TEXT, Kind.VERBATIM):
            return False
        if self.kind is Kind.BOOLEAN:
            return text not in (*_TRUE, *_FALSE, "1", "0")
        if self.kind is Kind.NUMBER and self.decimal == ",":
            if "." in text:
                return True
            text = text.replace(",", ".")
        try:
            pa.array([text]).cast(_ARROW[self.kind])
        except pa.ArrowInvalid:
            return True
        return False


def unfit(source: Source, kind: Kind) -> Unfit:
    return Unfit(kind, source.decimal if isinstance(source, CsvSource) else ".")


def wrong_kind(label: str, name: str, kind: Kind, found: cells.Found, hint: str | None = None) -> DataError:
    """Cells that are not of the kind that their column has to have."""
    if found.count == 1:
        place, value = found.first[0]
        problem = f"{place}: {value!r} in column {name!r} is not {_WANTED[kind]}"
    else:
        problem = (
            f"{label}: {found.count:,} cells of column {name!r} are not {_WANTED_OF_MANY[kind]}\n{found.lines(label)}"
        )
    return DataError(problem, hint or _hint(found, kind))


def decimal_hint(found: cells.Found) -> str | None:
    """What to type where cells are numbers but for their decimal mark."""
    values = {value for _, value in found.first}
    for decimal, other in ((",", "."), (".", ",")):
        # One mark each, so that 1,234,567 is not taken for it.
        if all(value.count(decimal) == 1 and not Unfit(Kind.NUMBER, decimal)(value) for value in values):
            return f"the decimal mark looks like {decimal!r}, not {other!r}: type --decimal {decimal}"
    return None


def _hint(found: cells.Found, kind: Kind) -> str:
    values = {value for _, value in found.first}
    if kind is Kind.NUMBER and (mark := decimal_hint(found)) is not None:
        return mark
    if len(values) == 1 and found.count == len(found.first):
        return f"correct the file, or type --null '{values.pop()}' if that means a missing value"
    return "correct the file, or type --null TOKEN for each text that means a missing value"
