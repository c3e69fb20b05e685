"""Which writer predictions go to: of their format, compressed and rounded as asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.output_formats import OutputFormat
from enrelm_cli.table.output.columnar import ArrowFile, ParquetFile, full_schema
from enrelm_cli.table.output.csv_lines import CsvLines, Layout
from enrelm_cli.table.output.json_lines import JsonLines
from enrelm_cli.table.output.sink import packed
from enrelm_cli.table.output.writer import Added, Writer
from enrelm_cli.table.pieces import Batch
from enrelm_cli.table.sources import Source


def writer_of(
    wanted: OutputFormat,
    layout: Layout,
    kept: Any,
    added: Sequence[Added],
    sources: Sequence[Source] = (),
    digits: int | None = None,
) -> Writer:
    """The writer of the columns that come along (`layout` as CSV, `kept` as a schema) and those that are added."""
    writer = _plain(wanted, layout, full_schema(kept, added), added, sources)
    if wanted.packing is not None:
        writer = Packed(writer, wanted.packing)
    return writer if digits is None else Rounded(writer, digits)


def _plain(
    wanted: OutputFormat, layout: Layout, schema: Any, added: Sequence[Added], sources: Sequence[Source]
) -> Writer:
    if wanted.name == "parquet":
        return ParquetFile.of(schema)
    if wanted.name == "arrow":
        return ArrowFile.of(schema, sources)
    if wanted.name in ("json", "jsonl"):
        return JsonLines(schema, as_array=wanted.name == "json")
    if wanted.tabs and layout.delimiter != "\t":
        if layout.raw_header is not None:
            raise UsageError(
                f"--append keeps the table's delimiter {layout.delimiter!r}, which a .tsv file does not have",
                "name a .csv file, or use --id instead of --append",
            )
        layout = replace(layout, delimiter="\t")
    return CsvLines.of(layout, added)


@dataclass(frozen=True)
class Packed:
    """A writer into a compressed file."""

    inner: Writer
    packing: str

    def part(self, values: Sequence[Any], batch: Batch) -> Any:
        return self.inner.part(values, batch)

    def write(self, stream: BinaryIO, parts: Iterable[Any]) -> None:
        with packed(stream, self.packing) as packer:
            self.inner.write(packer, parts)


@dataclass(frozen=True)
class Rounded:
    """A writer of numbers with so many significant digits."""

    inner: Writer
    digits: int

    def part(self, values: Sequence[Any], batch: Batch) -> Any:
        return self.inner.part([rounded(one, self.digits) for one in values], batch)

    def write(self, stream: BinaryIO, parts: Iterable[Any]) -> None:
        self.inner.write(stream, parts)


def rounded(values: Any, digits: int) -> Any:
    """Numbers to so many significant digits, each the number that its decimal text reads as; texts as they are."""
    if not (isinstance(values, np.ndarray) and values.dtype.kind == "f"):
        return values
    return np.char.mod(f"%.{digits}g", values).astype(np.float64)
