"""Predictions as lines of CSV, without a loop over rows."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from enrelm_cli.table.output.writer import Added
from enrelm_cli.table.pieces import Batch, RawRows
from enrelm_cli.types import Array


@dataclass(frozen=True)
class Layout:
    """What the lines of a file of predictions look like."""

    names: tuple[str, ...] = ("prediction",)  # of the columns that are added
    ids: tuple[str, ...] = ()  # of the identifiers before them
    delimiter: str = ","
    decimal: str = "."
    raw_header: bytes | None = None  # of the rows that are kept byte for byte
    line_end: bytes = b"\n"
    encoding: str = "utf-8"  # rows that are kept go out in the encoding in which they came

    def header(self) -> bytes:
        added = _quoted(pa.array([*self.ids, *self.names]), self.delimiter).to_pylist()
        text = self.delimiter.join(added).encode()
        if self.raw_header is not None:
            text = self.raw_header + self.delimiter.encode() + text
        return text + self.line_end


@dataclass(frozen=True)
class CsvLines:
    """The writer of CSV."""

    layout: Layout

    @staticmethod
    def of(layout: Layout, added: Sequence[Added]) -> CsvLines:
        return CsvLines(replace(layout, names=tuple(one.name for one in added)))

    def part(self, values: Sequence[Any], batch: Batch) -> bytes:
        return format_rows(self.layout, values, batch.ids, batch.raw)

    def write(self, stream: BinaryIO, parts: Iterable[bytes]) -> None:
        write_predictions(stream, self.layout, parts)


def format_rows(layout: Layout, added: Sequence[Any], ids: Any = None, raw: RawRows | None = None) -> bytes:
    """The lines of some rows: [raw row] [identifiers] what is added, each number as short as is exact."""
    columns = [_cells(column, layout) for column in added]
    if ids is not None:
        columns = [_quoted(ids.column(name), layout.delimiter).cast(pa.binary()) for name in layout.ids] + columns
    if not len(columns[0]):
        return raw.before if raw is not None else b""
    if raw is None:
        ends: Any = pa.scalar(layout.line_end, pa.binary())
        return _joined(columns, ends, layout.delimiter)
    return raw.before + _joined([raw.records, *columns], raw.ends, layout.delimiter)


def _cells(values: Any, layout: Layout) -> Any:
    """(t,) numbers or texts as cells; a text that is None is an empty cell."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return number_texts(values, layout.decimal)
    texts = pa.array(values, pa.string()) if not isinstance(values, pa.Array) else values
    return _quoted(texts.fill_null(""), layout.delimiter).cast(pa.binary())


def number_texts(values: Array, decimal: str = ".") -> Any:
    """(t,) numbers as texts that read back as the same numbers."""
    texts = pa.array(np.ascontiguousarray(values, dtype=np.float64)).cast(pa.string())
    if decimal != ".":
        texts = pc.replace_substring(texts, ".", decimal)
    return texts.cast(pa.binary())


def _joined(columns: Sequence[Any], ends: Any, delimiter: str) -> bytes:
    lines = columns[0]
    if len(columns) > 1:
        lines = pc.binary_join_element_wise(*columns, pa.scalar(delimiter.encode(), pa.binary()))
    lines = pc.binary_join_element_wise(lines, ends, pa.scalar(b"", pa.binary()))
    # The values of a binary array lie one after the other: its buffer is the text.
    _, offsets, data = lines.buffers()
    first, last = np.frombuffer(offsets, dtype=np.int32)[[lines.offset, lines.offset + len(lines)]].tolist()
    return data.slice(first, last - first).to_pybytes()  # type: ignore[no-any-return]


def _quoted(texts: Any, delimiter: str) -> Any:
    """Texts as CSV cells: in quotes where they have to be."""
    special = pc.match_substring_regex(texts, f'["\r\n{"" if delimiter.isalnum() else chr(92)}{delimiter}]')
    if not pc.any(special).as_py():
        return texts
    doubled = pc.replace_substring(texts, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), texts)


def write_predictions(stream: BinaryIO, layout: Layout, parts: Iterable[bytes]) -> None:
    """The header, and then the lines that `format_rows` made, in order. Nothing is written before the first are."""
    encode = _encoder(layout.encoding)
    rest = iter(parts)
    first = next(rest, b"")
    stream.write(encode(layout.header()))
    ended = True
    for part in chain([first], rest):
        if not part:
            continue
        if not ended:
            # The last row of a file may lack its line end; another file's rows follow it here.
            stream.write(encode(layout.line_end))
        stream.write(encode(part))
        ended = part.endswith((b"\n", b"\r"))


def _encoder(encoding: str) -> Any:
    if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii"):
        return bytes
    # Incremental: UTF-16 has one byte order mark, not one for each part.
    encoder = codecs.getincrementalencoder(encoding)("strict")
    return lambda part: encoder.encode(part.decode("utf-8"))
