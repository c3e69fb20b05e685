"""Files that appear whole or not at all, and a stdout that is quiet on a closed pipe."""

from __future__ import annotations

import errno
import glob
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

from enrelm_cli.errors import UsageError
from enrelm_cli.output_formats import ENDINGS
from enrelm_cli.remote import address_of, check_bucket, covers, is_remote, upload

# Errors of a disk without room.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FULL_HINT = "free some space, or write to another disk with -o"
_LONGEST_NAME = 255  # bytes, of the usual file systems
_HINT = "name a file in an existing folder that you can write to"


# What an output holds, and how the names of such files end.
_ENDINGS = {
    "a model": (".joblib",),
    "predictions": ENDINGS,
    "a table": (".csv",),
    "a page": (".html", ".htm"),
    "a figure": (".png", ".svg", ".pdf"),
    "JSON": (".json",),
    "ONNX": (".onnx",),
    "TOML": (".toml",),
}
_OTHER_ENDINGS = (".zip", ".xlsx", ".xls", ".db", ".sqlite")
_DESCRIPTORS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


@dataclass(frozen=True)
class Output:
    """A file that a command is asked to write."""

    option: str
    path: str
    holds: str  # a key of _ENDINGS


def check_outputs(inputs: Sequence[str], outputs: Sequence[Output]) -> None:
    """Refuses, before anything is read, what would overwrite an input, or what could not be written at the end."""
    read = {_identity(path, 0): path for spec in inputs for path in expanded(spec)}
    read.pop(None, None)
    written: dict[object, Output] = {}
    for output in (*outputs, Output("stdout", "-", "predictions")):
        identity = _identity(output.path, 1)
        also = read.get(identity) or _pattern_over(output.path, inputs)
        if also is not None:
            raise UsageError(
                f"{_typed(output)} is also an input, {also}: nothing was read or written",
                "give the output a name of its own",
            )
        if identity is not None and output.option != "stdout":
            if identity in written:
                raise UsageError(
                    f"{_typed(output)} and {_typed(written[identity])} are the same file", "give each its own name"
                )
            written[identity] = output
            _check_ending(output)
        check_writable(output.path)


def _pattern_over(path: str, inputs: Sequence[str]) -> str | None:
    """The first of the inputs that names this object among others: what it names now is known only to the store."""
    remote = [spec for spec in inputs if is_remote(spec)] if is_remote(path) else []
    return next((spec for spec in remote if covers(address_of(spec), address_of(path))), None)


def _typed(output: Output) -> str:
    return "stdout" if output.path == "-" else f"{output.option} {output.path}"


def _check_ending(output: Output) -> None:
    own = _ENDINGS[output.holds]
    others = {ending for endings in (*_ENDINGS.values(), _OTHER_ENDINGS) for ending in endings} - {*own}
    stem, ending = os.path.splitext(output.path)
    if ending.lower() in others:
        raise UsageError(
            f"{_typed(output)} would hold {output.holds}, which {ending} files do not", f"try {stem}{own[0]}"
        )


def expanded(spec: str) -> list[str]:
    """The files that a path or a glob names, sorted."""
    if spec == "-" or os.path.exists(spec) or is_remote(spec) or not glob.has_magic(spec):
        return [spec]
    # A set: two ** find a file in more than one way.
    return sorted({path for path in glob.glob(spec, recursive=True) if not os.path.isdir(path)})


def _identity(path: str, stream: int) -> object:
    """The same for two names of one file, links or not; None for a device or a pipe. '-' is the stream."""
    if is_remote(path):
        return address_of(path).label
    number = stream if path == "-" else _descriptor(path)
    try:
        found = os.stat(path) if number is None else os.fstat(number)
    except OSError:
        return os.path.realpath(path) if number is None else None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _descriptor(path: str) -> int | None:
    """The stream that a path such as /dev/stdout stands for."""
    found = re.fullmatch(r"/(?:dev|proc/self)/fd/([0-9]{1,9})", path)
    return int(found[1]) if found else _DESCRIPTORS.get(path)


def is_stdout(path: str) -> bool:
    return path == "-" or _descriptor(path) == 1


def check_writable(path: str) -> None:
    """Refuses a name under which nothing could be written: no folder, no permission, or a folder itself."""
    if path == "-" or _descriptor(path) is not None:
        return
    if is_remote(path):
        address = address_of(path)
        if not address.is_object:
            raise UsageError(f"{address.label}: nothing can be written there", "name a path, s3:// or gs:// with -o")
        check_bucket(address)
        return
    try:
        target = Path(os.path.realpath(path))
        is_folder, is_other = target.is_dir(), target.exists() and not target.is_file()
    except OSError as error:
        raise _unwritable(path, error) from error
    if is_folder:
        raise UsageError(f"cannot write {path}: it is a folder", _HINT)
    if not target.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {target.parent}", "create it first")
    if not os.access(target if is_other else target.parent, os.W_OK):
        raise UsageError(f"cannot write {path}: permission denied", _HINT)
    if len(os.fsencode(target.name)) > _LONGEST_NAME:
        raise UsageError(f"cannot write {path}: a name has at most {_LONGEST_NAME} bytes", _HINT)


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
    if is_remote(path):
        yield from _uploaded(path)
        return
    if is_stdout(path):
        # Also as /dev/stdout: a file behind it is the shell's, which may append to it.
        with _quiet_pipe(sys.stdout.buffer):
            writer = _Writer(sys.stdout.buffer, "stdout")
            yield writer  # type: ignore[misc]
            writer.flush()
        return
    number = _descriptor(path)
    if number is not None:
        with _open_descriptor(number, path) as given, _quiet_pipe(given):
            yield from _passed_on(given, path)
        return
    target = os.path.realpath(path)
    mode = _mode(path, target)
    if mode is not None and not stat.S_ISREG(mode):  # /dev/null, a named pipe: there is nothing to rename
        with open(target, "wb") as device, _quiet_pipe(device):
            yield from _passed_on(device, path)
        return
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{_shortened(name)}.enrelm-{secrets.token_hex(4)}.tmp")
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


def _uploaded(path: str) -> Iterator[BinaryIO]:
    """To an object store: here first, then there. What the store does not take stays here: it may be hours of work."""
    import tempfile

    handle, here = tempfile.mkstemp(prefix="enrelm-upload-", suffix=os.path.splitext(path)[1])
    refused = False
    try:
        with open(handle, "w+b") as file:
            writer = _Writer(file, path)
            yield writer  # type: ignore[misc]
            writer.flush()
        try:
            upload(here, address_of(path))
        except UsageError as problem:
            refused = True
            raise UsageError(problem.problem, f"{problem.hint}; what was to be written is in {here}") from problem
    finally:
        if not refused:
            os.remove(here)


def _passed_on(stream: BinaryIO, path: str) -> Iterator[BinaryIO]:
    """To a device, a pipe or another's stream: what was written stays, and there is nothing to rename."""
    writer = _Writer(stream, path)
    yield writer  # type: ignore[misc]
    writer.flush()


def _shortened(name: str) -> str:
    """The beginning of a name, short enough for what a temporary name adds to it."""
    while len(os.fsencode(name)) > _LONGEST_NAME - 30:
        name = name[:-1]
    return name


def _open_descriptor(number: int, path: str) -> BinaryIO:
    try:
        return open(os.dup(number), "wb")
    except OSError as error:
        raise _unwritable(path, error) from error


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
        if not stat.S_ISREG(os.fstat(self._stream.fileno()).st_mode) or self._stream is sys.stdout.buffer:
            # Closing it would fail again.
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
        return open(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), "w+b")
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
