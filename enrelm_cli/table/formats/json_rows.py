"""JSON lines, and arrays of objects: an object is a row, and a name that it lacks a missing cell."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from enrelm_cli.errors import DataError
from enrelm_cli.table.formats.first_bytes import LONGEST_MARK, refuse_others, typed_file, utf8_text
from enrelm_cli.table.memory import MIXED, ArrowSource, arrow_source, as_texts, plain_text
from enrelm_cli.table.options import ReadAs
from enrelm_cli.table.storage.contents import Content
from enrelm_cli.table.storage.streams import Packing, Transcoded, Unpacked

_BOM = b"\xef\xbb\xbf"
_ARRAY = re.compile(rb"\s*\[")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# From here on not every integer is a float.
_EXACT = 2.0**53


def open_json(label: str, content: Content, packing: Packing | None, options: ReadAs) -> ArrowSource:
    """The rows are held in memory. Other encodings than UTF-8 are read where the bytes are not UTF-8."""
    text = _utf8(label, _all_of(label, content, packing), options)
    if not text or text.isspace():
        raise DataError(f"{label}: the file is empty", "JSON lines have an object on each line")
    columns = None if _ARRAY.match(text) else _by_arrow(text)
    if columns is None:
        columns = _columns(list(_rows(label, text)))
    if not columns.num_columns:
        raise DataError(f"{label}: no object has a name and a value", 'a row is an object such as {"x": 1}')
    return arrow_source(label, columns)


def _all_of(label: str, content: Content, packing: Packing | None) -> bytes:
    with content.open() as raw:
        text: bytes = raw.read() if packing is None else Unpacked(raw, label, packing).read()
    refuse_others(label, text[:LONGEST_MARK], packing)
    return text


def _utf8(label: str, text: bytes, options: ReadAs) -> bytes:
    """JSON is UTF-8, so that what is UTF-8 is not in the encoding of the CSV file that a model was fitted to."""
    try:
        _check_utf8(label, text)
    except DataError:
        if options.is_utf8:
            raise
        stream = Transcoded(io.BytesIO(text), options.encoding, label)
        text = b"".join(iter(partial(stream.read, 1 << 24), b""))
    return text.removeprefix(_BOM)


def _check_utf8(label: str, text: bytes) -> None:
    place = text.find(b"\0")
    if place < 0:
        try:
            text.decode("utf-8")
            return
        except UnicodeDecodeError as error:
            place = error.start
    start, stop = text.rfind(b"\n", 0, place) + 1, text.find(b"\n", place)
    utf8_text(label, text.count(b"\n", 0, place) + 1, text[start : stop if stop >= 0 else None])


# ------------------------------------------------------------------------------------------------ at once


def _by_arrow(text: bytes) -> Any:
    """All rows at once, or None where a column is of several types, a number lost digits, or a line is no object."""
    import pyarrow.json as pa_json

    try:
        columns = pa_json.read_json(pa.BufferReader(text))
    except pa.ArrowException:
        return None
    return None if any(_may_be_rounded(column) for column in columns.columns) else columns


def _may_be_rounded(column: Any) -> bool:
    """Whether a float may have been an integer of more digits than it has."""
    if pa.types.is_floating(column.type):
        largest = pc.max(pc.abs(column)).as_py()
        return largest is not None and bool(largest >= _EXACT)
    if pa.types.is_list(column.type):
        return _may_be_rounded(pc.list_flatten(column))
    return pa.types.is_struct(column.type) and any(_may_be_rounded(part) for part in column.flatten())


# ------------------------------------------------------------------------------------------------ one by one


def _rows(label: str, text: bytes) -> Iterator[dict[str, Any]]:
    """Slower, but numbers and texts may stand in one column, integers have any size, and a bad line has a number."""
    halves = _SURROGATE.search(text) is not None
    hint = f"each line holds one object, or the file one array of them; jq -c . {typed_file(label)} writes such lines"
    for place, row in _elements(label, text, hint) if _ARRAY.match(text) else _lines(label, text, hint):
        if not isinstance(row, dict):
            raise DataError(f'{place}: not an object such as {{"x": 1}}', hint)
        if halves:
            _check_letters(place, row)
        yield row


def _lines(label: str, text: bytes, hint: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield f"{label}, line {number}", _loaded(label, line, number, hint)


def _elements(label: str, text: bytes, hint: str) -> Iterator[tuple[str, Any]]:
    for number, row in enumerate(_loaded(label, text, 1, hint), 1):
        yield f"{label}, element {number}", row


def _loaded(label: str, text: bytes, line: int, hint: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        line += getattr(error, "lineno", 1) - 1
        raise DataError(f"{label}, line {line}: not JSON ({error})", hint) from error


def _check_letters(place: str, row: Any) -> None:
    try:
        json.dumps(row, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        problem = f"{place}: {half} is half of a surrogate pair, which is no letter"
        raise DataError(problem, "write the letter itself, or both halves") from error


def _columns(rows: Sequence[dict[str, Any]]) -> Any:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table([_column([row.get(name) for row in rows]) for name in names], names=names)


def _column(values: Sequence[Any]) -> Any:
    """In one type where all values are of one, else as texts."""
    kinds = {type(value) for value in values if value is not None}
    # Arrow would take true among numbers for 1.
    mixed = bool in kinds and len(kinds) > 1
    try:
        return as_texts(values, _text) if mixed else pa.array(values, from_pandas=True)
    except MIXED:
        return as_texts(values, _text)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | list | dict) else plain_text(value)
