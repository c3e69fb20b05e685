"""Where the bytes of a table are: on disk, in an object store, in memory, or in a stream that passes by only once."""

from __future__ import annotations

import atexit
import io
import os
import sys
import tempfile
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from enrelm_cli.downloads import Download
from enrelm_cli.errors import DataError
from enrelm_cli.quoting import quoted
from enrelm_cli.remote import Address, Seen, open_object, seen
from enrelm_cli.table.samples import sample_hint
from enrelm_cli.table.storage.streams import Packing, Readable, Skipped, Transcoded, Unpacked, read_fully

_SPOOL_MEMORY = 256 << 20


@dataclass(frozen=True)
class File:
    """Bytes on disk."""

    path: str
    seen: tuple[int, int] | None = None  # size and time of change when it was first looked at

    def open(self) -> BinaryIO:
        return open(self.path, "rb")

    def __reduce__(self) -> Any:
        # Another machine's copy has a time of its own.
        return (File, (self.path,))

    def check_unchanged(self, label: str) -> None:
        """A fit that saw other rows in its first pass than in its last is a fit to nothing."""
        if self.seen is not None and self.seen != _seen(self.path):
            raise _changed(label)


def _changed(label: str) -> DataError:
    return DataError(
        f"{label}: the file was changed while it was read", "run the command again when nothing writes to it"
    )


def _seen(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


@dataclass(frozen=True)
class Object:
    """Bytes in an object store. Every machine reads them for itself."""

    address: Address
    seen: Seen | None = None  # when it was first looked at

    def open(self) -> BinaryIO:
        return open_object(self.address)

    def check_unchanged(self, label: str) -> None:
        if self.seen is not None and self.seen != seen(self.address):
            raise _changed(label)


@dataclass(frozen=True)
class Memory:
    """Bytes that came from stdin and are kept."""

    data: bytes = field(repr=False)

    def open(self) -> BinaryIO:
        return io.BytesIO(self.data)


@dataclass(frozen=True)
class OnePass:
    """A stream that passes by only once; `peeked` is what its header took."""

    stream: Readable
    peeked: list[bytes] = field(default_factory=list)

    def open(self) -> Any:
        return nullcontext(Skipped(self.stream, b"".join(self.peeked)))


Content = File | Object | Memory | OnePass


def remote_content(address: Address, once: bool) -> tuple[str, Content, int | None]:
    if address.is_object:
        found = seen(address)
        return address.label, Object(address, found), found.size
    download = Download(address)
    return address.label, OnePass(download) if once else spooled(download), None


def content_of(path: str, once: bool) -> tuple[str, Content, int | None]:
    if path == "-":
        stream = sys.stdin.buffer
        return "stdin", OnePass(stream) if once else spooled(stream), None
    if os.path.isdir(path):
        raise DataError(
            f"{path}: this is a folder", f"name its files: {quoted(os.path.join(path, '*.csv'))} (in quotes)"
        )
    if not os.path.exists(path):
        raise DataError(f"{path}: no such file", _similar_file(path))
    try:
        if not os.path.isfile(path):  # a named pipe, <(command)
            pipe = open(path, "rb")  # noqa: SIM115 - read to its end long after this
            if once:
                return path, OnePass(pipe), None
            with pipe:
                return path, spooled(pipe), None
        with open(path, "rb"):
            return path, File(os.path.abspath(path), _seen(path)), os.path.getsize(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def _similar_file(path: str) -> str | None:
    from difflib import get_close_matches

    folder, name = os.path.split(path)
    sample = sample_hint(path)
    if not os.path.isdir(folder or "."):
        return sample or f"there is no folder {folder}"
    close = get_close_matches(name, sorted(os.listdir(folder or ".")), n=1)
    if close or sample:
        meant = f"did you mean {os.path.join(folder, close[0])}?" if close else None
        return " ".join(hint for hint in (meant, sample) if hint)
    # A bare word beside files is rather the name of a column.
    return None if folder or "." in name else f"columns are named by options: --target {quoted(name)}, --inputs a,b"


def spooled(stream: Readable) -> Content:
    """All of a pipe: in memory while it is small, else in a temporary file that goes when the process ends."""
    head = read_fully(stream, _SPOOL_MEMORY)
    if len(head) < _SPOOL_MEMORY:
        return Memory(head)
    handle, path = tempfile.mkstemp(prefix="enrelm-stdin-")
    atexit.register(_remove, path)
    with open(handle, "wb") as file:
        while head:
            file.write(head)
            head = stream.read(1 << 24)
    return File(path)


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.remove(path)


def peek(content: Content, size: int) -> bytes:
    if isinstance(content, OnePass):
        content.peeked.append(read_fully(content.stream, size))
        return content.peeked[-1]
    with content.open() as stream:
        return stream.read(size)


def decoded(raw: Any, label: str, packing: Packing | None, is_utf8: bool, encoding: str) -> Readable:
    stream: Readable = raw if packing is None else Unpacked(raw, label, packing)
    return stream if is_utf8 else Transcoded(stream, encoding, label)


class Remembering:
    """Reads a stream that cannot be rewound, and keeps what was read for whoever opens it next."""

    def __init__(self, content: OnePass) -> None:
        self._again = b"".join(content.peeked)
        self._content = content

    def read(self, size: int = -1, /) -> bytes:
        if self._again:
            part, self._again = self._again[:size], self._again[size:]
            return part
        part = self._content.stream.read(size)
        self._content.peeked.append(part)
        return part
