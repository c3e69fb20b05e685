"""Predictions as JSON: an object on each line, or all of them in one array; without a loop over rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from enrelm_cli.table.output.columnar import record_batch
from enrelm_cli.table.output.csv_lines import number_texts
from enrelm_cli.table.pieces import Batch

_SPECIAL = r'["\\\x00-\x1f]'


@dataclass(frozen=True)
class JsonLines:
    """The writer of JSON lines; with `as_array` of one document, whose rows stand on lines, too."""

    schema: Any  # pa.Schema
    as_array: bool = False

    def part(self, values: Sequence[Any], batch: Batch) -> Any:
        """(t,) pa.BinaryArray of objects."""
        rows = record_batch(self.schema, values, batch)
        cells: list[Any] = []
        for place, (name, column) in enumerate(zip(rows.schema.names, rows.columns, strict=True)):
            key = f"{'{' if place == 0 else ', '}{json.dumps(name, ensure_ascii=False)}: "
            cells += [pa.scalar(key.encode(), pa.binary()), _values(column)]
        return pc.binary_join_element_wise(*cells, pa.scalar(b"}", pa.binary()), pa.scalar(b"", pa.binary()))

    def write(self, stream: BinaryIO, parts: Iterable[Any]) -> None:
        filled = (part for part in parts if len(part))
        first = next(filled, None)
        between, end = (b",\n", b"\n]\n") if self.as_array else (b"\n", b"\n")
        if first is None:
            stream.write(b"[]\n" if self.as_array else b"")
            return
        stream.write(b"[\n" if self.as_array else b"")
        for number, part in enumerate(chain([first], filled)):
            lead = between if number else b""
            stream.write(lead + between.join(part.to_pylist()))
        stream.write(end)


def _values(column: Any) -> Any:
    """(t,) pa.BinaryArray: each cell as JSON writes it, null where there is none or no number."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_floating(kind):
        numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        texts = number_texts(numbers)
        return pc.if_else(pa.array(np.isfinite(numbers)), texts, pa.scalar(b"null", pa.binary()))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        texts = column.cast(pa.string())
    elif pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        texts = _quoted(_iso(column))
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = _quoted(column.cast(pa.string()))
    else:
        texts = pa.array([json.dumps(one, default=str, ensure_ascii=False) for one in column.to_pylist()], pa.string())
    return texts.fill_null("null").cast(pa.binary())


def _iso(column: Any) -> Any:
    """Dates and times as ISO 8601: 2024-12-31, 2024-12-31T23:59:59Z."""
    texts = column.cast(pa.string())
    if not pa.types.is_timestamp(column.type):
        return texts
    whole_seconds = pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1")
    return pc.replace_substring(whole_seconds, " ", "T", max_replacements=1)


def _quoted(texts: Any) -> Any:
    plain = pc.binary_join_element_wise('"', texts, '"', "")
    special = pc.match_substring_regex(texts, _SPECIAL).fill_null(False)
    if not pc.any(special).as_py():
        return plain
    escaped = [json.dumps(text, ensure_ascii=False) for text in texts.filter(special).to_pylist()]
    return pc.replace_with_mask(plain, special, pa.array(escaped, pa.string()))
