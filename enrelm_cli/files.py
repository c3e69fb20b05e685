"""Files that appear whole or not at all, and a stdout that is quiet on a closed pipe."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from enrelm_cli.errors import UsageError

# Errors of a disk without room.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FULL_HINT = "free some space, or write to another disk with -o"
_HINT = "give the name of a file, in a folder that exists and that you may write to"


def check_writable(path: str) -> None:
    """Refuses a name under which nothing could be written: no folder, no permission, or a folder itself."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder", _HINT)
    if not target.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {target.parent}", "create it first")
    if not os.access(target if target.exists() and not target.is_file() else target.parent, os.W_OK):
        raise UsageError(f"cannot write {path}: permission denied", _HINT)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """A file of which all is known."""
    with atomic_writer(path) as stream:
        stream.write(content)


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
        _rename(temporary, target, path)
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
            to_nowhere(self._stream)
        return _unwritable(self._path, error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _unwritable(path: str, error: OSError) -> UsageError:
    return UsageError(f"{path}: cannot be written ({error.strerror})", FULL_HINT if error.errno in FULL else None)


def _mode(path: str, target: str) -> int | None:
    """The mode of a file that is already there."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unwritable(path, error) from error
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
        raise _unwritable(path, error) from error


def _rename(temporary: str, target: str, path: str) -> None:
    try:
        os.replace(temporary, target)
    except OSError as error:
        raise _unwritable(path, error) from error


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
        to_nowhere(stream)


def to_nowhere(stream: IO[Any]) -> None:
    """What is still buffered has nowhere to go; without this the interpreter complains about it when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
