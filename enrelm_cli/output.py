"""Results on their way out: whole files or none, quiet on a closed pipe, predictions as text without a loop."""

from __future__ import annotations

import codecs
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from enrelm_cli.errors import UsageError
from enrelm_cli.kernel import Array
from enrelm_cli.pieces import RawRows

# ------------------------------------------------------------------------------------------------ files


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary stream to a file that appears under its name only when it is whole; '-' is stdout.

    A reader that goes away (`| head`) ends the block without an error.
    """
    path = os.fspath(path)
    if path == "-":
        with _quiet_pipe(sys.stdout.buffer):
            writer = _Writer(sys.stdout.buffer, "stdout")
            yield writer  # type: ignore[misc]
            writer.flush()
        return
    target = os.path.realpath(path)
    mode = _mode(path, target)
    if mode is not None and not stat.S_ISREG(mode):  # /dev/null, a named pipe: there is nothing to rename
        with open(target, "wb") as device, _quiet_pipe(device):
            yield device
        return
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.enrelm-{secrets.token_hex(4)}.tmp")
    stream: BinaryIO | None = None
    try:
        try:
            stream = _create(temporary, path)
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            writer = _Writer(stream, path)
            yield writer  # type: ignore[misc]
            writer.finish()
        finally:
            if stream is not None:
                with suppress(OSError):  # of bytes that could not be written: that has been said
                    stream.close()
        os.replace(temporary, target)
    except BaseException:
        # Also Ctrl-C, and at once: between the file's creation and here there is no moment that is not inside the try.
        with suppress(OSError):
            os.remove(temporary)
        raise
    _sync_folder(folder)


class _Writer:
    """A stream whose failure (a full disk) is told apart from failures of what is being written."""

    def __init__(self, stream: BinaryIO, path: str) -> None:
        self._stream = stream
        self._path = path

    def write(self, data: Any) -> int:
        try:
            return self._stream.write(data)
        except OSError as error:
            raise self._problem(error) from error

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise self._problem(error) from error

    def finish(self) -> None:
        """On the disk, not only on its way there."""
        self.flush()
        try:
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise self._problem(error) from error

    def _problem(self, error: OSError) -> Exception:
        if isinstance(error, BrokenPipeError):
            return error
        if self._stream is sys.stdout.buffer:
            _to_nowhere(self._stream)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        hint = "free some space, or write to another disk with -o" if full else None
        return UsageError(f"{self._path}: cannot be written ({error.strerror})", hint)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _mode(path: str, target: str) -> int | None:
    """The mode of a file that is already there."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error
    if stat.S_ISDIR(mode):
        raise UsageError(f"{path}: this is a folder", "name a file in it")
    return mode


def _create(temporary: str, path: str) -> BinaryIO:
    try:
        # O_EXCL: never another's file. 0o666: what the umask leaves of it, as for any new file.
        return open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb")
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no folder {os.path.dirname(path)}", "create it first") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error


def _sync_folder(folder: str) -> None:
    # The rename itself is durable once the folder is; not every platform can open one.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _quiet_pipe(stream: BinaryIO) -> Iterator[None]:
    try:
        yield
        stream.flush()
    except BrokenPipeError:
        _to_nowhere(stream)


def _to_nowhere(stream: BinaryIO) -> None:
    """What is still buffered has nowhere to go; without this the interpreter complains about it when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


# ------------------------------------------------------------------------------------------------ predictions


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


def format_rows(layout: Layout, predictions: Array, ids: Any = None, raw: RawRows | None = None) -> bytes:
    """The lines of some rows: [raw row] [identifiers] predictions (t,) or (t, k), each number as short as is exact."""
    columns = [number_texts(column, layout.decimal) for column in np.atleast_2d(np.asarray(predictions).T)]
    if ids is not None:
        columns = [_quoted(ids.column(name), layout.delimiter).cast(pa.binary()) for name in layout.ids] + columns
    if not len(columns[0]):
        return raw.before if raw is not None else b""
    if raw is None:
        ends: Any = pa.scalar(layout.line_end, pa.binary())
        return _joined(columns, ends, layout.delimiter)
    return raw.before + _joined([raw.records, *columns], raw.ends, layout.delimiter)


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
    """The header, and then the lines that `format_rows` made, in order."""
    encode = _encoder(layout.encoding)
    stream.write(encode(layout.header()))
    ended = True
    for part in parts:
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
