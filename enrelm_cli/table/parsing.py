"""Text and Parquet columns -> Arrow arrays of a few kinds, and what to say about a cell that is of another kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import SentOnce
from enrelm_cli.quoting import quoted
from enrelm_cli.table import cells
from enrelm_cli.table.census import Format
from enrelm_cli.table.csv_pieces import Block
from enrelm_cli.table.kinds import ARROW, Kind, kind_of_type
from enrelm_cli.table.notation import DateNotation, MeasureNotation, Notation, NumberNotation
from enrelm_cli.table.options import ReadAs
from enrelm_cli.table.sources import Columnar, CsvSource, Source

_TRUE, _FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]


@dataclass(frozen=True)
class Reading(SentOnce):
    """Which columns to read, as what."""

    kinds: tuple[tuple[str, Kind], ...]  # sorted by name
    options: ReadAs
    given: bool = False  # the kinds are a model's, not this file's: 1 and 0 are booleans too if it says so
    lenient: tuple[str, ...] = ()  # columns of numbers whose other cells are taken as missing: the target, at predict
    levels: tuple[str, ...] = ()  # columns of texts that were numbers, booleans or dates at fit

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.kinds]

    @property
    def batch_rows(self) -> int:
        return self.options.batch_rows

    def nulls_of(self, name: str, kind: Kind) -> tuple[str, ...]:
        return self.options.nulls_of(Kind.NUMBER if name in self.levels else kind)

    @property
    def formats(self) -> dict[str, Format]:
        """Of the columns that are read as text first."""
        plain = (Kind.TEXT, Kind.VERBATIM)
        kinds = dict(self.kinds)
        return {name: found for name, found in self.options.formats if kinds.get(name, Kind.TEXT) not in plain}


class Unconvertible(Exception):
    """Some cell of a block is not of the kind of its column."""


# ------------------------------------------------------------------------------------------------ CSV


def parse(source: CsvSource, block: Block, reading: Reading) -> Any:
    """The rows of a block as a record batch with the columns and kinds of `reading`, or Unconvertible."""
    formats = reading.formats
    types = {name: ARROW[Kind.TEXT if name in formats else kind] for name, kind in reading.kinds}
    table = _read_csv(source, block, reading, types)
    columns = [
        _settled(_contiguous(table.column(name)), kind, formats.get(name), reading.nulls_of(name, kind))
        for name, kind in reading.kinds
    ]
    return pa.RecordBatch.from_arrays(columns, names=reading.names)


def parse_or_explain(source: CsvSource, block: Block, reading: Reading) -> Any:
    """The same where the kinds are settled: a cell that does not fit is the user's to correct."""
    try:
        return parse(source, block, reading)
    except Unconvertible as error:
        if reading.lenient:
            return _parse_leniently(source, block, reading)
        for name, kind in reading.kinds:
            test = unfit(source, kind, reading.formats.get(name))
            nulls = reading.nulls_of(name, kind)
            found = cells.where_in_block(source, block, name, test, nulls)
            if found.count:
                found = cells.where_in_file(source, block, name, test, nulls)
                raise wrong_kind(source.label, name, test, found) from error
        raise DataError(f"{source.label}: {error}") from error


def _parse_leniently(source: CsvSource, block: Block, reading: Reading) -> Any:
    kinds = tuple((name, Kind.TEXT if name in reading.lenient else kind) for name, kind in reading.kinds)
    columns = parse_or_explain(source, block, replace(reading, kinds=kinds, lenient=()))
    for name in reading.lenient:
        place = reading.names.index(name)
        notation = _number_notation(reading, name, source.decimal)
        columns = columns.set_column(place, name, _numbers_of_texts(columns.column(place), notation))
    return columns


def _number_notation(reading: Reading, name: str, decimal: str) -> Notation:
    found = reading.formats.get(name)
    return NumberNotation(decimal) if found is None else found.notation


def _numbers_of_texts(texts: Any, notation: Notation) -> Any:
    """Dictionary-encoded texts as numbers; what is no number is missing."""
    levels = pc.utf8_trim_whitespace(texts.dictionary)
    values = notation.read(levels)
    for truth, number in ((_TRUE, 1.0), (_FALSE, 0.0)):
        values = pc.if_else(pc.is_in(levels, value_set=pa.array(truth)), number, values)
    return values.take(texts.indices)


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
            parse_options=pa_csv.ParseOptions(
                delimiter=source.delimiter,
                newlines_in_values=b'"' in block.data,
                ignore_empty_lines=not source.one_column,
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types=types,
                include_columns=reading.names,
                null_values=_spaced(reading.options.nulls_of(Kind.NUMBER)),
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


def _contiguous(column: Any) -> Any:
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], type=array.type)
    return array


def _settled(array: Any, kind: Kind, found: Format | None, nulls: tuple[str, ...]) -> Any:
    """An array of the kind: texts without null tokens, or read in their notation."""
    if found is not None:
        return formatted(array, found, nulls)
    return _without_nulls(array, nulls) if kind is Kind.TEXT else array


def formatted(array: Any, found: Format, nulls: tuple[str, ...]) -> Any:
    """Dictionary-encoded texts read in a notation, or Unconvertible."""
    values = found.notation.read(array.dictionary)
    for text in array.dictionary.filter(values.is_null()).to_pylist():
        if text.strip() not in nulls and not found.means_missing(text.strip()):
            raise Unconvertible(f"{text!r} is not written like the rest of its column")
    return values.take(array.indices)


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


def as_kinds(batch: Any, source: Columnar, row: int, reading: Reading) -> Any:
    """A record batch of a Parquet file, which starts at `row`, with the columns and kinds of `reading`."""
    columns = [_as_kind(batch.column(name), name, kind, source, row, reading) for name, kind in reading.kinds]
    return pa.RecordBatch.from_arrays(columns, names=reading.names)


def _as_kind(array: Any, name: str, kind: Kind, source: Columnar, row: int, reading: Reading) -> Any:
    try:
        return _cast(array, kind, reading.formats.get(name), reading.nulls_of(name, kind))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, Unconvertible) as error:
        if name in reading.lenient:
            if not cells.is_text(array.type):
                return pa.nulls(len(array), pa.float64())
            texts = _cast(array, Kind.TEXT, None, reading.options.nulls)
            return _numbers_of_texts(texts, _number_notation(reading, name, "."))
        if parquet_kind(source.label, name, array.type) is not Kind.TEXT:
            wanted = f"{source.label}: column {name!r} holds {array.type} values, not {_WANTED[kind]}"
            raise DataError(wanted, "convert the column") from error
        test = unfit(source, kind, reading.formats.get(name))
        found = cells.where_in_array(array, test, reading.nulls_of(name, kind), row, source.label)
        raise wrong_kind(source.label, name, test, found) from error


def _cast(array: Any, kind: Kind, found: Format | None, nulls: tuple[str, ...]) -> Any:
    if kind is Kind.VERBATIM:
        return cells.texts(array).fill_null("")
    if kind is Kind.TEXT:
        return _without_nulls(cells.texts(array).dictionary_encode(), nulls)
    if cells.is_text(array.type):
        texts = cells.texts(array)
        if found is not None:
            return formatted(texts.dictionary_encode(), found, nulls)
        array = pc.if_else(_is_null(texts, nulls), pa.scalar(None, pa.string()), texts)
    if kind in (Kind.DATE, Kind.ZONED) and pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("us"))
    # Not safe: integers beyond 2^53 and nanoseconds may be rounded. But seconds far from 1970 would wrap round.
    coarse = pa.types.is_timestamp(array.type) and array.type.unit in ("s", "ms")
    return array.cast(ARROW[kind], safe=coarse)


def parquet_kind(label: str, name: str, kind: Any) -> Kind | None:
    """The kind for the type of a Parquet column."""
    if not can_be_read(kind):
        raise unreadable_error(label, name, kind)
    return kind_of_type(kind.value_type if pa.types.is_dictionary(kind) else kind)


def unreadable_error(label: str, name: str, kind: Any) -> DataError:
    problem = f"{label}: column {name!r} holds {kind} values, which cannot be inputs"
    return DataError(problem, "leave it out with --drop, or convert it")


def can_be_read(kind: Any) -> bool:
    """Whether the type of a Parquet column is one of numbers, dates or texts."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind_of_type(kind) is not Kind.TEXT or cells.is_text(kind)


def kind_of_texts(column: Any, nulls: tuple[str, ...]) -> Kind | None:
    """The kind that a file's column of these texts would have; None where all are missing."""
    texts = pa.concat_arrays([cells.texts(chunk) for chunk in column.chunks]) if column.num_chunks else column
    distinct = texts.drop_null().unique()
    present = distinct.filter(pc.invert(_is_null(distinct, nulls)))
    if not len(present):
        return None
    return next((kind for kind in _PLAIN if _reads(present, kind)), Kind.TEXT)


# In this order: 1 and 0 are numbers before they are booleans.
_PLAIN = (Kind.NUMBER, Kind.BOOLEAN, Kind.DATE, Kind.ZONED)


def _reads(texts: Any, kind: Kind) -> bool:
    try:
        texts.cast(ARROW[kind])
    except pa.ArrowInvalid:
        return False
    return True


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
    format: Format | None = None

    def __call__(self, text: str) -> bool:
        text = text.strip()
        if self.kind in (Kind.TEXT, Kind.VERBATIM):
            return False
        if self.format is not None:
            unread = self.format.notation.read(pa.array([text])).null_count
            return bool(unread) and not self.format.means_missing(text)
        if self.kind is Kind.BOOLEAN:
            return text not in (*_TRUE, *_FALSE, "1", "0")
        if self.kind is Kind.NUMBER and self.decimal == ",":
            if "." in text:
                return True
            text = text.replace(",", ".")
        try:
            pa.array([text]).cast(ARROW[self.kind])
        except pa.ArrowInvalid:
            return True
        return False

    def wanted(self, one: bool) -> str:
        """What the cell should have been, or the cells."""
        if self.format is not None and isinstance(self.format.notation, DateNotation):
            return f"{'a date' if one else 'dates'} like {self.format.notation.pattern}"
        if self.format is not None and isinstance(self.format.notation, MeasureNotation):
            return f"{'a number' if one else 'numbers'} with the unit {self.format.notation.unit!r}"
        return (_WANTED if one else _WANTED_OF_MANY)[self.kind]


def unfit(source: Source, kind: Kind, found: Format | None = None) -> Unfit:
    return Unfit(kind, source.decimal if isinstance(source, CsvSource) else ".", found)


def wrong_kind(label: str, name: str, test: Unfit, found: cells.Found, hint: str | None = None) -> DataError:
    """Cells that are not of the kind that their column has to have."""
    if found.count == 1:
        place, value = found.first[0]
        problem = f"{place}: {value!r} in column {name!r} is not {test.wanted(one=True)}"
    else:
        wanted = test.wanted(one=False)
        problem = f"{label}: {found.count:,} cells of column {name!r} are not {wanted}\n{found.lines(label)}"
    return DataError(problem, hint or _hint(name, found, test.kind))


def decimal_hint(found: cells.Found) -> str | None:
    """What to type where cells are numbers but for their decimal mark."""
    values = {value for _, value in found.first}
    for decimal, other in ((",", "."), (".", ",")):
        # One mark each, so that 1,234,567 is not taken for it.
        if all(value.count(decimal) == 1 and not Unfit(Kind.NUMBER, decimal)(value) for value in values):
            return f"the decimal mark looks like {decimal!r}, not {other!r}: type --decimal {decimal}"
    return None


def _hint(name: str, found: cells.Found, kind: Kind) -> str:
    values = {value for _, value in found.first}
    if kind is Kind.NUMBER and (mark := decimal_hint(found)) is not None:
        return mark
    hint = "correct the file, or type --null TOKEN for each text that means a missing value"
    if len(values) == 1 and found.count == len(found.first):
        hint = f"correct the file, or type --null {quoted(values.pop())} if that means a missing value"
    if kind in (Kind.DATE, Kind.ZONED):
        hint += f"; --date-format {quoted(name + '=%d/%m/%Y')} says how dates are written"
    return hint
