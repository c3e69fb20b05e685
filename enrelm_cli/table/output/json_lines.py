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

from enrelm_cli.table.cells import plain, texts
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
    column = plain(column)
    kind = column.type
    if pa.types.is_floating(kind):
        numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return pc.if_else(pa.array(np.isfinite(numbers)), number_texts(numbers), pa.scalar(b"null", pa.binary()))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        values = column.cast(pa.string())
    elif pa.types.is_nested(kind) or pa.types.is_duration(kind):
        values = texts(column)  # JSON and numbers already
    else:
        values = _quoted(_iso(texts(column)) if pa.types.is_timestamp(kind) else texts(column))
    return values.fill_null("null").cast(pa.binary())


def _iso(moments: Any) -> Any:
    """Dates with times as RFC 3339 has them: 2024-12-31T23:59:59+01:00."""
    whole_seconds = pc.replace_substring_regex(moments, r"\.0+(Z|[+-]\d{4})?$", r"\1")
    zoned = pc.replace_substring_regex(whole_seconds, r"([+-]\d\d)(\d\d)$", r"\1:\2")
    return pc.replace_substring_regex(zoned, r"^(-?\d+-\d\d-\d\d) ", r"\1T")


def _quoted(values: Any) -> Any:
    quoted = pc.binary_join_element_wise('"', values, '"', "")
    special = pc.match_substring_regex(values, _SPECIAL).fill_null(False)
    if not pc.any(special).as_py():
        return quoted
    escaped = [json.dumps(text, ensure_ascii=False) for text in values.filter(special).to_pylist()]
    return pc.replace_with_mask(quoted, special, pa.array(escaped, pa.string()))
