"""Tables that are neither CSV nor Parquet: Arrow files and JSON lines, and what to type for files of other programs."""

from __future__ import annotations

import json
import shlex
from typing import Any

import numpy as np
import pyarrow as pa

from enrelm_cli.errors import DataError
from enrelm_cli.table.memory import ArrowSource, array_columns, arrow_source
from enrelm_cli.table.storage.contents import Content, File
from enrelm_cli.table.storage.streams import Packing, Unpacked

# The longest first bytes that tell one format from another.
LONGEST_MARK = 16
_ARROW_FILE, _ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"
_JSON_NAMES = (".jsonl", ".ndjson", ".json")
_OF_OTHERS = (
    (0, b"SQLite format 3\0", "a SQLite database", "sqlite3 -header -csv {} 'select * from TABLE' | enrelm ... -"),
    (8, b"DUCK", "a DuckDB database", "duckdb {} -csv -c 'from TABLE' | enrelm ... -"),
    (0, b"PK\x03\x04", "a zip or Excel file", """duckdb -csv -c "from read_xlsx('{}')" | enrelm ... -"""),
    (0, b"\xd0\xcf\x11\xe0", "an old Excel file", "libreoffice --headless --convert-to csv {}"),
)


def refuse_others(label: str, head: bytes) -> None:
    """A file of another program, with the line that makes a table of it."""
    for place, mark, kind, line in _OF_OTHERS:
        if head[place : place + len(mark)] == mark:
            quoted = label if "'{}'" in line else shlex.quote(label)
            raise DataError(f"{label}: this is {kind}, not a table", f"pipe its rows: {line.format(quoted)}")


def is_arrow(head: bytes) -> bool:
    return head.startswith((_ARROW_FILE, _ARROW_STREAM))


def is_json(name: str, header: str = "") -> bool:
    """By name, or because it begins as no header does."""
    return name.lower().endswith(_JSON_NAMES) or header.lstrip().startswith('{"')


def open_arrow(label: str, content: Content, head: bytes) -> ArrowSource:
    """An Arrow file (Feather) or stream. Pages of a file on disk are read when they are needed."""
    try:
        if head.startswith(_ARROW_FILE) and isinstance(content, File):
            columns = pa.ipc.open_file(pa.memory_map(content.path)).read_all()
        else:
            data = pa.py_buffer(_all_of(content))
            opened = pa.ipc.open_file(data) if head.startswith(_ARROW_FILE) else pa.ipc.open_stream(data)
            columns = opened.read_all()
        columns.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{label}: not a whole Arrow file", "it may be cut short: copy or write it again") from error
    return arrow_source(label, columns)


def open_json(label: str, content: Content, packing: Packing | None) -> ArrowSource:
    """JSON lines: an object a row. A name that an object lacks is a missing cell. The rows are held in memory."""
    import pyarrow.json as pa_json

    text = _all_of(content, label, packing)
    if not text.strip():
        raise DataError(f"{label}: the file is empty", "JSON lines have an object on each line")
    try:
        columns = pa_json.read_json(pa.BufferReader(text))
    except pa.ArrowException:
        # Slower, but numbers and texts may stand in one column, and a bad line has a number.
        columns = _columns(_objects(label, text))
    return arrow_source(label, columns)


def _all_of(content: Content, label: str = "", packing: Packing | None = None) -> bytes:
    with content.open() as raw:
        return raw.read() if packing is None else Unpacked(raw, label, packing).read()


def _objects(label: str, text: bytes) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(f"{label}, line {number}: not JSON ({error})", "each line holds one object") from error
        if not isinstance(row, dict):
            raise DataError(f'{label}, line {number}: not an object such as {{"x": 1}}', "each line holds one object")
        rows.append(row)
    return rows


def _columns(rows: list[dict[str, Any]]) -> Any:
    names = list(dict.fromkeys(name for row in rows for name in row))
    values = np.empty((len(rows), len(names)), object)
    for place, name in enumerate(names):
        values[:, place] = [row.get(name) for row in rows]
    return array_columns(values, names)
