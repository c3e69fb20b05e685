"""Paths, globs and stdin -> sources whose header and dialect are known. No row is read here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.files import expanded
from enrelm_cli.fold.folds import SentOnce
from enrelm_cli.quoting import quoted
from enrelm_cli.remote import Address, address_of, is_remote, matching
from enrelm_cli.table.csv_pieces import Block, as_bytes, cut_blocks, line_ends, lines_before, quoting, split_cells
from enrelm_cli.table.formats.arrow import is_arrow, is_json, open_arrow
from enrelm_cli.table.formats.first_bytes import CUT_SHORT, LONGEST_MARK, PARQUET, check_name, refuse_others, utf8_text
from enrelm_cli.table.formats.json_rows import open_json
from enrelm_cli.table.memory import ArrowSource
from enrelm_cli.table.options import ReadAs
from enrelm_cli.table.storage.contents import (
    Content,
    File,
    Memory,
    Object,
    OnePass,
    Remembering,
    content_of,
    decoded,
    peek,
    remote_content,
    spooled,
)
from enrelm_cli.table.storage.streams import (
    Packing,
    Readable,
    Skipped,
    packing_of,
    read_fully,
    without_packing,
)

_DELIMITERS = (",", ";", "\t", "|")
_BOM = b"\xef\xbb\xbf"
_HEADER_STEP = 1 << 16
_LONGEST_HEADER = 1 << 24
# Text compresses by about this much.
_SHRINKS = 5


# ------------------------------------------------------------------------------------------------ sources


@dataclass(frozen=True)
class CsvSource(SentOnce):
    """A CSV file whose header has been read."""

    label: str
    content: Content
    names: tuple[str, ...]
    delimiter: str
    decimal: str
    encoding: str
    is_utf8: bool
    packing: Packing | None
    header: bytes  # as it stands in the file, decoded to UTF-8, with its byte order mark, without its line end
    header_end: bytes  # the line end
    body: int  # offset of the first record in the decoded file
    line: int  # physical line of the first record
    bytes: int | None  # of decoded text, estimated where it is compressed

    @property
    def seekable(self) -> bool:
        """Any byte range can be read without what is before it."""
        return self.is_utf8 and self.packing is None and not isinstance(self.content, OnePass)

    @property
    def rereadable(self) -> bool:
        return not isinstance(self.content, OnePass)

    @property
    def one_column(self) -> bool:
        """Then a blank line is a row with a missing cell, not just a blank line."""
        return len(self.names) == 1

    def blocks(self, size: int) -> Iterator[Block]:
        """All records in blocks of about `size` bytes."""
        with self.content.open() as raw:
            stream = decoded(raw, self.label, self.packing, self.is_utf8, self.encoding)
            if self.seekable:
                raw.seek(self.body)
            else:
                read_fully(stream, self.body)
            yield from cut_blocks(stream, size, self.delimiter, self.label, self.body, self.line, self.one_column)

    def block(self, start: int, stop: int, line: int) -> Block:
        """The records of a byte range."""
        self.check_unchanged()
        with self.content.open() as stream:
            stream.seek(start)
            return Block(stream.read(stop - start), start, line, whole=False)

    def local_file(self) -> str | None:
        return self.content.path if isinstance(self.content, File) else None

    def check_unchanged(self) -> None:
        if isinstance(self.content, File | Object):
            self.content.check_unchanged(self.label)


@dataclass(frozen=True)
class ParquetSource(SentOnce):
    """A Parquet file whose footer has been read."""

    label: str
    content: Content
    names: tuple[str, ...]
    schema: Any  # pa.Schema
    groups: tuple[int, ...]  # rows of each row group
    bytes: int | None

    rereadable = True

    @property
    def types(self) -> tuple[Any, ...]:
        return tuple(self.schema.types)

    def batches(self, group: int, names: list[str], rows: int) -> Iterator[Any]:
        """Record batches of a row group, of at most so many rows."""
        self.check_unchanged()
        file = _parquet_file(self.content, self.label)
        for batch in file.iter_batches(batch_size=rows, row_groups=[group], columns=names, use_threads=False):
            # Arrow takes the file's word for what its texts are; what follows takes Arrow's.
            batch.validate(full=True)
            yield batch

    def local_file(self) -> str | None:
        return self.content.path if isinstance(self.content, File) else None

    def check_unchanged(self) -> None:
        if isinstance(self.content, File | Object):
            self.content.check_unchanged(self.label)


Columnar = ParquetSource | ArrowSource
Source = CsvSource | Columnar


def _parquet_file(content: Content, label: str) -> Any:
    # Not at the top: it loads file systems of every cloud, which a CSV file does not need.
    import pyarrow.parquet as pq

    try:
        if isinstance(content, Memory):
            return pq.ParquetFile(pa.BufferReader(content.data))
        if isinstance(content, Object):
            return pq.ParquetFile(content.open(), pre_buffer=True)
        assert isinstance(content, File)
        return pq.ParquetFile(content.path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{label}: not a whole Parquet file", CUT_SHORT) from error


# ------------------------------------------------------------------------------------------------ opening


def open_sources(specs: Sequence[str | ArrowSource], options: ReadAs, once: bool) -> tuple[Source, ...]:
    """Every file that the paths and globs name, in order, and tables in memory.

    `once`: a pipe will be read a single time, so is not kept.
    """
    _check_specs(specs)
    return tuple(
        path if isinstance(path, ArrowSource) else _open_one(path, options, once)
        for spec in specs
        for path in _expand(spec, options)
    )


def try_sources(specs: Sequence[str | ArrowSource], options: ReadAs) -> tuple[list[Source], list[DataError]]:
    """The same, with what is wrong with each of those that cannot be opened."""
    _check_specs(specs)
    opened: list[Source] = []
    problems: list[DataError] = []
    for spec in specs:
        try:
            paths = _expand(spec, options)
        except DataError as problem:
            problems.append(problem)
            continue
        for path in paths:
            try:
                opened.append(path if isinstance(path, ArrowSource) else _open_one(path, options, once=False))
            except DataError as problem:
                problems.append(problem)
    return opened, problems


def _check_specs(specs: Sequence[str | ArrowSource]) -> None:
    if not specs:
        raise UsageError("no table was named", "give a file, a quoted glob such as 'data/*.csv', or - for stdin")
    if list(specs).count("-") > 1:
        raise UsageError("stdin (-) was named twice")


def _expand(spec: str | ArrowSource, options: ReadAs) -> Sequence[str | Address | ArrowSource]:
    if isinstance(spec, ArrowSource):
        return [spec]
    found: Sequence[str | Address] = expanded(spec)
    if is_remote(spec) and not os.path.exists(spec):
        found = matching(address_of(spec, options.anonymous))
    if not found:
        raise DataError(f"no file matches {spec}", "check the folder and the pattern")
    return found


def _open_one(place: str | Address, options: ReadAs, once: bool) -> Source:
    label, content, size = remote_content(place, once) if isinstance(place, Address) else content_of(place, once)
    name = place.path if isinstance(place, Address) else place
    peeked = peek(content, LONGEST_MARK)
    refuse_others(label, peeked)
    check_name(label, name, peeked)
    packing = packing_of(peeked)
    if peeked.startswith(PARQUET):
        return _open_parquet(label, _kept(content))
    if is_arrow(peeked):
        return open_arrow(label, _kept(content), peeked)
    if is_json(without_packing(name)):
        return open_json(label, _kept(content), packing, options)
    return _open_csv(label, name, content, size, packing, options)


def _kept(content: Content) -> Content:
    """The footer of a table in columns is at its end: a pipe of it has to be kept."""
    return spooled(Skipped(content.stream, b"".join(content.peeked))) if isinstance(content, OnePass) else content


# ------------------------------------------------------------------------------------------------ CSV header


def _open_csv(
    label: str, path: str, content: Content, size: int | None, packing: Packing | None, options: ReadAs
) -> CsvSource | ArrowSource:
    head, start, stop, body = _header_record(label, content, packing, options)
    text = utf8_text(label, 1, head[start:stop])
    if is_json(path, text):
        return open_json(label, _kept(content), packing, options)
    delimiter = options.delimiter or _delimiter(path, text)
    names = _names(label, split_cells(text, delimiter), lines_before(head, start) + 1)
    _check_delimiter(label, text, names, delimiter)
    return CsvSource(
        label=label,
        content=content,
        names=names,
        delimiter=delimiter,
        decimal=options.decimal,
        encoding=options.encoding,
        is_utf8=options.is_utf8,
        packing=packing,
        header=head[:stop],
        header_end=head[stop:body],
        body=body,
        line=lines_before(head, body) + 1,
        bytes=_text_size(content, size, packing),
    )


def _header_record(
    label: str, content: Content, packing: Packing | None, options: ReadAs
) -> tuple[bytes, int, int, int]:
    """(the file's first bytes, start and stop of the first record that is not blank, start of the next record)."""
    with nullcontext(Remembering(content)) if isinstance(content, OnePass) else content.open() as raw:
        stream = decoded(raw, label, packing, options.is_utf8, options.encoding)
        return _first_record(label, stream, packing, options)


def _first_record(
    label: str, stream: Readable, packing: Packing | None, options: ReadAs
) -> tuple[bytes, int, int, int]:
    candidates = options.delimiter or "".join(_DELIMITERS)
    head, ended = b"", False
    while not ended:
        fresh = read_fully(stream, _HEADER_STEP)
        ended = len(fresh) < _HEADER_STEP
        if not head:
            refuse_others(label, fresh, packing)
        head += fresh
        start = len(_BOM) if head.startswith(_BOM) else 0
        text = as_bytes(head)
        # A CR in the last byte may be half of a CR LF.
        known = text if ended else text[:-1]
        body = known[start:]
        for stop in (line_ends(body, quoting(body, candidates)) + start).tolist():
            line = head[start:stop].rstrip(b"\r")
            if line.strip():
                return head, start, start + len(line), stop + 1
            start = stop + 1
        if ended and head[start:].strip():
            return head, start, len(head), len(head)
        if len(head) > _LONGEST_HEADER:
            raise DataError(f"{label}: the header is longer than {_LONGEST_HEADER >> 20} MB", "is this a CSV file?")
    raise DataError(f"{label}: the file is empty", "a table has a header line and then a line for each row")


def _delimiter(path: str, header: str) -> str:
    name = without_packing(path).lower()
    if name.endswith((".tsv", ".tab")):
        return "\t"
    return max(_DELIMITERS, key=lambda candidate: len(split_cells(header, candidate)))


def _names(label: str, cells: list[str], line: int) -> tuple[str, ...]:
    names = [cell.strip() or f"column {number}" for number, cell in enumerate(cells, 1)]
    places_of: dict[str, list[int]] = {}
    for number, name in enumerate(names, 1):
        places_of.setdefault(name, []).append(number)
    for name, places in places_of.items():
        if len(places) > 1:
            numbers = " and ".join([", ".join(map(str, places[:-1])), str(places[-1])])
            raise DataError(
                f"{label}, line {line}: {len(places)} columns are called {name!r} (columns {numbers})",
                "give every column a unique name",
            )
    return tuple(names)


def _check_delimiter(label: str, header: str, names: tuple[str, ...], delimiter: str) -> None:
    """One column only, though another delimiter would give more: surely the wrong delimiter."""
    if len(names) > 1:
        return
    counts = {other: len(split_cells(header, other)) for other in (*_DELIMITERS, " ") if other != delimiter}
    best = max(counts, key=lambda other: counts[other])
    if counts[best] > 1 and best != " ":
        raise DataError(
            f"{label}: the delimiter {_spell(delimiter)} gives one column, {_spell(best)} would give {counts[best]}",
            f"type --delimiter {_typed(best)}",
        )


def _spell(delimiter: str) -> str:
    return {"\t": "tab", " ": "space"}.get(delimiter, repr(delimiter))


def _typed(delimiter: str) -> str:
    return {"\t": "tab", " ": "space"}.get(delimiter, quoted(delimiter))


def _text_size(content: Content, size: int | None, packing: Packing | None) -> int | None:
    if isinstance(content, Memory):
        size = len(content.data)
    if size is None or packing is None:
        return size
    if packing.name != "gzip":
        return _SHRINKS * size
    with content.open() as stream:
        stream.seek(-4, os.SEEK_END)
        # gzip stores the length modulo 2^32; text rarely shrinks by more than the factor assumed beyond that.
        stored = int.from_bytes(stream.read(4), "little")
    return stored if stored >= size and size < 1 << 28 else _SHRINKS * size


# ------------------------------------------------------------------------------------------------ Parquet footer


def _open_parquet(label: str, content: Content) -> ParquetSource:
    file = _parquet_file(content, label)
    names = tuple(file.schema_arrow.names)
    _names(label, list(names), 1)
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    return ParquetSource(
        label=label,
        content=content,
        names=names,
        schema=file.schema_arrow,
        groups=tuple(group.num_rows for group in groups),
        bytes=sum(group.total_byte_size for group in groups),
    )
