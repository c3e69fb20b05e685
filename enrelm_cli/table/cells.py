"""Where in its file a cell stands: the slow and exact side of reading, for messages, and the raw bytes of rows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from enrelm_cli.errors import DataError
from enrelm_cli.table.csv_pieces import Block, Records, cells, lines_before, records
from enrelm_cli.table.formats.first_bytes import not_utf8, shorten
from enrelm_cli.table.sources import CsvSource

_SHOWN = 5
# What the parts of a second are, as powers of ten.
_POWERS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
# Rows that one row may count for: beyond it sums of squares lose every other row.
LARGEST_WEIGHT = 1e12
NO_WEIGHT = f"is missing, negative or above {LARGEST_WEIGHT:.0e}".replace("+", "")
WEIGHT_HINT = "a weight is a number, 0 or more: 0 leaves a row out"


@dataclass(frozen=True)
class Found:
    """Cells of one column: how many, and the first five with their places."""

    count: int = 0
    first: tuple[tuple[str, str], ...] = ()  # (place, value)

    def merge(self, other: Found) -> Found:
        return Found(self.count + other.count, (self.first + other.first)[:_SHOWN])

    def lines(self, label: str = "") -> str:
        """A line for each of the first, and how many more there are; `label` is the file that goes without saying."""
        lines = [f"  {place.removeprefix(f'{label}, ')}: {shorten(value)!r}" for place, value in self.first]
        return "\n".join(lines + ([f"  and {self.count - len(lines):,} more"] if self.count > len(lines) else []))


def is_text(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def number_text(value: float) -> str:
    """A number the way people write it: 70, not 70.0; else the shortest text that reads back as the same number."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def texts(array: Any) -> Any:
    """A column of any type as texts: numbers without a superfluous '.0', spans of time in seconds, lists as JSON."""
    array = plain(array)
    kind = array.type
    if pa.types.is_floating(kind):
        distinct = array.cast(pa.float64()).dictionary_encode()
        levels = [None if value is None else number_text(value) for value in distinct.dictionary.to_pylist()]
        return pa.array(levels, type=pa.string()).take(distinct.indices)
    if pa.types.is_nested(kind):
        return _each(array, lambda cell: json.dumps(_of_json(cell), ensure_ascii=False))
    if pa.types.is_duration(kind):
        return _each(array.cast(pa.int64()), partial(_seconds, power=_POWERS[kind.unit]))
    try:
        return _each(array, _word) if isinstance(kind, pa.BaseExtensionType) else array.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if pa.types.is_timestamp(kind):  # in a time zone that is not known here
            return array.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.string())
        return _each(array, _word)


def plain(array: Any) -> Any:
    """The values behind codes, runs and types that extend others; a UUID is one of its own."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return plain(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(array))
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name != "arrow.uuid":
        return plain(array.storage)
    return array


def _each(array: Any, text: Callable[[Any], str]) -> Any:
    try:
        found = array.to_pylist()
    except (ValueError, OverflowError) as error:  # two fields of a struct with one name, a date beyond the year 9999
        problem = f"a column of {array.type} cannot be written as text ({error})"
        raise DataError(problem, "write .parquet or .arrow, which keep its type") from error
    return pa.array([None if cell is None else text(cell) for cell in found], pa.string())


def _word(cell: Any) -> str:
    if isinstance(cell, bytes):
        return _decoded(cell)
    if isinstance(cell, pa.MonthDayNano):
        return f"P{cell.months}M{cell.days}DT{_seconds(cell.nanoseconds, 9)}S"
    return str(cell)


def _seconds(count: int, power: int) -> str:
    """So many parts of a second, each 10^-power, as seconds without rounding."""
    return f"{Decimal(count).scaleb(-power).normalize():f}"


def _of_json(value: Any) -> Any:
    """A value as JSON has it: null for what is no number, texts for bytes, dates and the like."""
    if isinstance(value, dict):
        return {name: _of_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple) and not isinstance(value, pa.MonthDayNano):
        return [_of_json(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, date | time):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | str) else _word(value)


def _decoded(cell: bytes) -> str:
    """The text that bytes are, or their digits where they are none."""
    try:
        return cell.decode("utf-8")
    except UnicodeDecodeError:
        return f"0x{cell.hex()}"


def never(text: str) -> bool:
    """A test that no cell passes."""
    return False


def is_infinite(text: str) -> bool:
    try:
        return math.isinf(float(text.replace(",", ".")))
    except ValueError:
        return False


def is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def is_no_weight(text: str) -> bool:
    """Below 0, or too large."""
    try:
        return not 0.0 <= float(text.replace(",", ".")) <= LARGEST_WEIGHT
    except ValueError:
        return False


def infinite_error(label: str, name: str, found: Found) -> DataError:
    """The error for numbers that no computer has: inf, 1e400."""
    if found.count == 1:
        place, value = found.first[0]
        problem = f"{place}: {value!r} in column {name!r} is infinite"
    else:
        problem = f"{label}: {found.count:,} cells of column {name!r} are infinite\n{found.lines(label)}"
    tokens = " ".join(f"--null={value.strip()}" for value in dict.fromkeys(value for _, value in found.first))
    return DataError(problem, f"correct the file, or type {tokens} if that means a missing value")


# ------------------------------------------------------------------------------------------------ CSV


def place(source: CsvSource, block: Block, start: int) -> str:
    """'file, line n' of the record that starts at this byte of the block."""
    return f"{source.label}, line {block.line + lines_before(block.data, start)}"


def where_in_block(
    source: CsvSource,
    block: Block,
    name: str,
    test: Callable[[str], bool],
    nulls: tuple[str, ...],
    missing: bool = False,
) -> Found:
    """The cells of a column that pass the test; `missing`: those that are missing."""
    column = _as_text(source, block, name)
    hits = _passing(column, test, nulls, missing)
    if not len(hits):
        return Found()
    rows = records(block.data, source.delimiter, source.one_column)
    first = [(place(source, block, int(rows.start[i])), column[int(i)].as_py()) for i in hits[:_SHOWN]]
    return Found(len(hits), tuple(first))


def where_in_file(
    source: CsvSource,
    block: Block,
    name: str,
    test: Callable[[str], bool],
    nulls: tuple[str, ...],
    missing: bool = False,
) -> Found:
    """The same over the whole file that the block is of."""
    found = Found()
    for one in all_blocks(source, block):
        found = found.merge(where_in_block(source, one, name, test, nulls, missing))
    return found


def all_blocks(source: CsvSource, block: Block) -> Iterable[Block]:
    """Every block of a file that can be read again, so that a message counts all; else the one that is at hand."""
    return source.blocks(max(len(block.data), 1 << 20)) if source.rereadable else [block]


def _as_text(source: CsvSource, block: Block, name: str) -> Any:
    """One column of a block as dictionary-encoded texts."""
    try:
        table = _text_table(source, block, name)
    except pa.ArrowInvalid as error:
        raise not_utf8_error(source, block) from error
    column = table.column(0).combine_chunks()
    return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column


def _text_table(source: CsvSource, block: Block, name: str) -> Any:
    return pa_csv.read_csv(
        pa.BufferReader(pa.py_buffer(block.data)),
        read_options=pa_csv.ReadOptions(
            use_threads=False, block_size=len(block.data) + 1, column_names=list(source.names)
        ),
        parse_options=pa_csv.ParseOptions(
            delimiter=source.delimiter, newlines_in_values=True, ignore_empty_lines=not source.one_column
        ),
        convert_options=pa_csv.ConvertOptions(
            include_columns=[name],
            column_types={name: pa.dictionary(pa.int32(), pa.string())},
            strings_can_be_null=False,
        ),
    )


def _passing(column: Any, test: Callable[[str], bool], nulls: tuple[str, ...], missing: bool) -> Any:
    """(h,) rows of a dictionary-encoded column whose text passes; every distinct text is tested once."""
    levels = column.dictionary.to_pylist()
    empty = [text.strip() in nulls for text in levels]
    passes = np.array(empty if missing else [not e and test(t) for t, e in zip(levels, empty, strict=True)], dtype=bool)
    codes = column.indices.fill_null(-1).to_numpy()
    hit = np.zeros(len(codes), dtype=bool)
    if len(passes):
        hit = passes[codes] & (codes >= 0)
    return np.flatnonzero(hit | (codes < 0) if missing else hit)


def ragged_error(source: CsvSource, block: Block) -> DataError | None:
    """The error for records whose number of cells is not that of the header."""
    found = Found()
    for one in all_blocks(source, block):
        found = found.merge(_ragged(source, one))
    if not found.count:
        return None
    width = len(source.names)
    where, text = found.first[0]
    hint = f"every row needs {width} cells; a cell that contains {source.delimiter!r} must be in double quotes"
    if found.count == 1:
        count = int(cells(text.encode(), source.delimiter, records(text.encode(), source.delimiter))[0])
        return DataError(f"{where}: {_cells(count)} where the header has {width}: {shorten(text)!r}", hint)
    problem = f"{source.label}: {found.count:,} rows do not have the {_cells(width)} of the header"
    return DataError(f"{problem}\n{found.lines(source.label)}", hint)


def _ragged(source: CsvSource, block: Block) -> Found:
    rows = records(block.data, source.delimiter, source.one_column)
    wrong = np.flatnonzero(cells(block.data, source.delimiter, rows) != len(source.names))
    first = [(place(source, block, int(rows.start[i])), _record(block, rows, int(i))) for i in wrong[:_SHOWN]]
    return Found(len(wrong), tuple(first))


def _cells(count: int) -> str:
    return f"{count} cell" if count == 1 else f"{count} cells"


def _record(block: Block, rows: Records, i: int) -> str:
    return bytes(block.data[int(rows.start[i]) : int(rows.stop[i])]).decode("utf-8", "replace")


def bad_records(source: CsvSource) -> Iterator[DataError]:
    """What is wrong with the records of a file, whichever of it a reader meets first."""
    for number, block in enumerate(source.blocks(1 << 20)):
        ragged = None if number else ragged_error(source, block)
        if ragged is not None:
            yield ragged
        try:
            bytes(block.data).decode("utf-8")
        except UnicodeDecodeError:
            yield not_utf8_error(source, block)
            return


def not_utf8_error(source: CsvSource, block: Block) -> DataError:
    """The error for the first record that is not UTF-8."""
    try:
        bytes(block.data).decode("utf-8")
    except UnicodeDecodeError as error:
        rows = records(block.data, source.delimiter, source.one_column)
        i = max(int(np.searchsorted(rows.start, error.start, side="right")) - 1, 0)
        line = block.line + lines_before(block.data, error.start)
        return not_utf8(source.label, line, bytes(block.data[int(rows.start[i]) : int(rows.stop[i])]))
    return DataError(f"{source.label}: not UTF-8 text")


# ------------------------------------------------------------------------------------------------ Parquet


def where_in_array(
    array: Any, test: Callable[[str], bool], nulls: tuple[str, ...], row: int, label: str, missing: bool = False
) -> Found:
    """The same for a column of a Parquet file, whose rows are counted from 1."""
    column = texts(array).dictionary_encode()
    hits = _passing(column, test, nulls, missing)
    first = [(f"{label}, row {row + int(i) + 1}", column[int(i)].as_py() or "") for i in hits[:_SHOWN]]
    return Found(len(hits), tuple(first))


# ------------------------------------------------------------------------------------------------ raw rows


def raw_rows(data: Any, delimiter: str, one_column: bool = False) -> tuple[bytes, Any, Any]:
    """(blank lines before the first record, records without line ends, line ends) of a block, byte for byte."""
    rows = records(data, delimiter, one_column)
    size = len(rows.start)
    # start_0, stop_0, start_1, stop_1, ..., end of data: records and line ends take turns.
    offsets = np.empty(2 * size + 1, dtype=np.int32)
    offsets[0:-1:2] = rows.start
    offsets[1::2] = rows.stop
    offsets[-1] = len(data)
    both = pa.Array.from_buffers(pa.binary(), 2 * size, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    turns = np.arange(0, 2 * size, 2)
    before = bytes(data[: int(offsets[0])])
    return before, both.take(pa.array(turns)), both.take(pa.array(turns + 1))
