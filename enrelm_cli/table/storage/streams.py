"""Streams of bytes on their way to a parser: compressed, in another encoding, or already begun."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import zlib
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from enrelm_cli.errors import DataError


class Readable(Protocol):
    """What blocks are read from."""

    def read(self, size: int = -1, /) -> bytes: ...


class Transcoded:
    """A stream in another encoding, read as UTF-8."""

    def __init__(self, raw: Readable, encoding: str, label: str) -> None:
        self._raw = raw
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._encoding = encoding
        self._label = label
        self._lines = 1
        self._ready = b""  # a letter may take more bytes in UTF-8 than it did before

    def read(self, size: int = -1, /) -> bytes:
        if not self._ready:
            self._ready = self._decode(size)
        part = self._ready if size < 0 else self._ready[:size]
        self._ready = self._ready[len(part) :]
        return part

    def _decode(self, size: int) -> bytes:
        while True:
            raw = self._raw.read(size)
            try:
                text = self._decoder.decode(raw, final=not raw)
                decoded = text.encode("utf-8")  # half a surrogate pair is no letter
            except UnicodeError as error:
                raise self._problem(error) from error
            self._lines += text.count("\n")
            if text or not raw:
                return decoded

    def _problem(self, error: UnicodeError) -> DataError:
        before = error.object[: error.start] if isinstance(error, UnicodeDecodeError) else b""
        hint = "give the file's real encoding, for example --encoding utf-8 or --encoding latin-1"
        if "BOM" in str(error):
            hint = "without a byte order mark it is --encoding utf-16-le or --encoding utf-16-be, or another encoding"
        line = self._lines + before.count(b"\n")
        return DataError(f"{self._label}, line {line}: not {self._encoding} text", hint)


@dataclass(frozen=True)
class Packing:
    """A way to compress a file, and the bytes that such a file begins with."""

    name: str
    mark: bytes
    ending: str


PACKINGS = (
    Packing("gzip", b"\x1f\x8b", ".gz"),
    Packing("bzip2", b"BZh", ".bz2"),
    Packing("zstd", b"\x28\xb5\x2f\xfd", ".zst"),
)
LONGEST_MARK = max(len(packing.mark) for packing in PACKINGS)


def packing_of(head: bytes) -> Packing | None:
    """By its first bytes: a file's name may say anything."""
    return next((packing for packing in PACKINGS if head.startswith(packing.mark)), None)


def without_packing(path: str) -> str:
    """A file's name as it would be uncompressed."""
    return next((path[: -len(one.ending)] for one in PACKINGS if path.lower().endswith(one.ending)), path)


class Unpacked:
    """A compressed stream whose damage is a data error."""

    def __init__(self, raw: Any, label: str, packing: Packing) -> None:
        self._file = _unpacked(raw, packing.name)
        self._packing = packing
        self._label = label

    def read(self, size: int = -1, /) -> bytes:
        try:
            return self._file.read(size)  # type: ignore[no-any-return]
        except (EOFError, zlib.error, OSError) as error:
            cut_short = isinstance(error, EOFError) or "Truncated" in str(error)
            problem = "file is cut short" if cut_short else "data are damaged"
            raise DataError(
                f"{self._label}: the {self._packing.name} {problem}", "copy or compress it again"
            ) from error


def _unpacked(raw: Any, name: str) -> Any:
    if name == "gzip":
        return gzip.GzipFile(fileobj=raw, mode="rb")
    if name == "bzip2":
        return bz2.BZ2File(raw)
    return pa.CompressedInputStream(_Source(raw), "zstd")


class _Source(io.RawIOBase):
    """Bytes for Arrow, which asks for all of a file's manners."""

    def __init__(self, raw: Readable) -> None:
        self._raw = raw

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        return self._raw.read(size)


class Skipped:
    """A stream that cannot be rewound, from its beginning: `head` is what was already read of it."""

    def __init__(self, raw: Readable, head: bytes = b"") -> None:
        self._raw = raw
        self._head = head

    def read(self, size: int = -1, /) -> bytes:
        if not self._head:
            return self._raw.read(size)
        if size < 0:
            head, self._head = self._head, b""
            return head + self._raw.read(size)
        part, self._head = self._head[:size], self._head[size:]
        return part


def read_fully(stream: Readable, size: int) -> bytes:
    """`size` bytes unless the stream ends: a pipe hands over a few at a time."""
    first = stream.read(size)
    if len(first) == size or not first:
        return first
    parts, got = [first], len(first)
    while got < size and (part := stream.read(size - got)):
        parts.append(part)
        got += len(part)
    return b"".join(parts)
