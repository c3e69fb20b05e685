"""Arrow files and streams, and how they and JSON are known from CSV."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from enrelm_cli.errors import DataError
from enrelm_cli.table.formats.first_bytes import ARROW_FILE, ARROW_STREAM, CUT_SHORT
from enrelm_cli.table.memory import ArrowSource, arrow_source, in_plain_layout
from enrelm_cli.table.storage.contents import Content, File

_JSON_NAMES = (".jsonl", ".ndjson", ".json")


def is_arrow(head: bytes) -> bool:
    return head.startswith((ARROW_FILE, ARROW_STREAM))


def is_json(name: str, header: str = "") -> bool:
    """By name, or because it begins as no header does."""
    begins = header.strip()
    return name.lower().endswith(_JSON_NAMES) or begins.startswith(('{"', '[{"')) or begins == "["


def open_arrow(label: str, content: Content, head: bytes) -> ArrowSource:
    """An Arrow file (Feather) or stream. Pages of a file on disk are read when they are needed."""
    try:
        columns = _columns(content, head)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{label}: not a whole Arrow file", CUT_SHORT) from error
    for name, column in zip(columns.column_names, columns.columns, strict=True):
        _check(label, name, column)
    return arrow_source(label, in_plain_layout(columns))


def _columns(content: Content, head: bytes) -> Any:
    if head.startswith(ARROW_FILE) and isinstance(content, File):
        return pa.ipc.open_file(pa.memory_map(content.path)).read_all()
    with content.open() as stream:
        data = pa.py_buffer(stream.read())
    return (pa.ipc.open_file(data) if head.startswith(ARROW_FILE) else pa.ipc.open_stream(data)).read_all()


def _check(label: str, name: str, column: Any) -> None:
    """Arrow takes the file's word for what its texts are; what follows takes Arrow's."""
    try:
        column.validate(full=True)
    except pa.ArrowException as error:
        problem = f"{label}: column {name!r} cannot be read ({str(error).rpartition(': ')[2]})"
        raise DataError(problem, "the file is damaged: copy or write it again") from error
