"""Model files: how a model is saved, and how it is loaded without running anything that the file says.

A model file is a joblib file (uncompressed, pickle protocol 4, little-endian arrays) of plain data:

    {"format": "enrelm-model", "format_version": 1,
     "checksums": {"document": sha256, "arrays": {"/path/to/array": sha256, ...}},
     "document": {...}}          # see document.py

`joblib.load` reads it too, but runs whatever a hostile file asks for; `load` reads the stream with a small machine of
its own (reader.py). Compressed files are refused before they are inflated.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows: the last of two at once wins
    fcntl = None  # type: ignore[assignment]

from enrelm_cli.downloads import fetch
from enrelm_cli.errors import DataError, ModelFileError, UsageError
from enrelm_cli.model.document import canonical, checksums, fresh, is_text, verify
from enrelm_cli.model.problems import AGAIN, GIVE_MODEL, Problem, damaged, reason, shown
from enrelm_cli.model.reader import LIMIT_VARIABLE, Reader
from enrelm_cli.remote import address_of, is_remote
from enrelm_cli.sizes import parse_size

FORMAT = "enrelm-model"
FORMAT_VERSION = 1
DEFAULT_LIMIT = 4 * 1024**3

_PROTOCOL = 4  # fixed: Python's own default changes with its version, and the bytes with it


@contextmanager
def locked(path: str | None) -> Iterator[None]:
    """Nobody else who asks changes this file meanwhile; a process that is killed lets go. None: nothing to lock.

    A file is replaced as a whole, so that the one under the name may be another by the time its lock is ours. Object
    stores have no locks.
    """
    if path is None or fcntl is None or is_remote(path):
        yield
        return
    while True:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                yield
                return
        finally:
            os.close(descriptor)


def save(document: dict[str, Any], path: str) -> None:
    """Write a model file: whole and readable under its final name, or not at all.

    Equal documents give equal bytes: keys are sorted, arrays stored in C order, equal strings stored once.
    Tuples come back as lists, numpy scalars as Python's.
    """
    import joblib  # here, because loading does without either

    from enrelm_cli.files import atomic_writer

    strings: dict[str, str] = {}
    plain = canonical(document, strings)
    # In this order, not sorted: the format's name and number stay in front, where any version finds them.
    whole = {
        fresh("format", strings): fresh(FORMAT, strings),
        fresh("format_version", strings): FORMAT_VERSION,
        fresh("checksums", strings): canonical(checksums(plain), strings),
        fresh("document", strings): plain,
    }
    try:
        with atomic_writer(path) as stream:
            # A file that has its name only afterwards is read back itself: a large model is not in memory three times.
            content = stream if stream.readable() else io.BytesIO()
            joblib.dump(whole, content, compress=0, protocol=_PROTOCOL)
            _read_back(content, path)
            if isinstance(content, io.BytesIO):
                stream.write(content.getbuffer())
    except OSError as error:
        raise UsageError(f"{shown(path)}: cannot be written ({reason(error)})", _remedy(error)) from error


def _read_back(content: BinaryIO, path: str) -> None:
    """Load what joblib wrote before it replaces an older model: another joblib may lay out its arrays differently."""
    content.flush()
    size = content.seek(0, io.SEEK_END)
    content.seek(0)
    try:
        _read_document(content, size, limit=None)
    except Problem as problem:
        raise ModelFileError(
            f"{shown(path)} was not written: what joblib made of the model {problem.problem}",
            "install the joblib that this enrelm was tested with: pip install 'joblib==1.6.*'",
        ) from problem


def _remedy(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "free some space, or write to another disk with -o"
    return "check that the folder may be written to, or choose another with -o"


def load(path: str, limit: int | None = None, anonymous: bool | None = None) -> dict[str, Any]:
    """The document of a model file. Runs nothing that the file says; whatever is wrong with it is a ModelFileError.

    `limit` bounds the memory, in bytes, that the file may claim: by default ENRELM_MODEL_LIMIT, or 4 GiB. `anonymous`:
    see `Address`.
    """
    limit = _limit_from_environment() if limit is None else limit
    try:
        with opened(path, limit, anonymous) as file:
            return _read_document(file, os.fstat(file.fileno()).st_size, limit)
    except Problem as problem:
        raise ModelFileError(f"{shown(path)} {problem.problem}", problem.hint) from problem


def _limit_from_environment() -> int:
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    if not text:
        return DEFAULT_LIMIT
    try:
        return parse_size(text)
    except ValueError as problem:
        raise UsageError(f"{LIMIT_VARIABLE}={shown(text)} {problem}", f"write it like {LIMIT_VARIABLE}=8GiB") from None


def opened(path: str, limit: int | None = None, anonymous: bool | None = None) -> BinaryIO:
    """The bytes of a model file, here or in an object store; what is wrong with it is a ModelFileError or a Problem."""
    if not is_remote(path):
        return _open_regular(path)
    try:
        return fetch(address_of(path, anonymous), limit)
    except DataError as error:
        raise ModelFileError(error.problem, error.hint) from error


def _open_regular(path: str) -> BinaryIO:
    """Open a file, but no pipe or device, which could block or never end."""
    try:
        file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - the caller closes it
    except FileNotFoundError:
        raise Problem("does not exist", f"check the name, or {GIVE_MODEL}") from None
    except IsADirectoryError:
        raise Problem("is a directory, not an enrelm model", GIVE_MODEL) from None
    except ValueError:
        raise Problem("is not a file name", GIVE_MODEL) from None
    except OSError as error:
        raise Problem(f"cannot be read: {reason(error)}", "check its permissions and its path") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise Problem("is a pipe or a device, not a file", "save the model to a file first, then name that file")
    return file


def _without_waiting(path: str, flags: int) -> int:
    """A pipe without a writer must not hold us up before we have seen that it is one."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _read_document(file: BinaryIO, size: int, limit: int | None) -> dict[str, Any]:
    reader = Reader(file, size, limit)
    try:
        reader.begin()
        whole = reader.run()
        return _checked(whole)
    except Problem as problem:
        raise _newer(reader) or problem from None
    except OSError as error:
        raise Problem(f"cannot be read: {reason(error)}", AGAIN) from None
    except (MemoryError, RecursionError):
        raise Problem("needs more memory than there is", "use a machine with more memory, or a smaller model") from None
    except (ValueError, TypeError, LookupError, OverflowError, struct.error):
        # A stack that runs empty, a reference to nothing, bytes that are no text: damage in the machine's own terms.
        raise _newer(reader) or damaged("it is not what enrelm writes") from None


def _checked(whole: Any) -> dict[str, Any]:
    if type(whole) is not dict or not is_text(whole.get("format"), FORMAT):
        raise Problem("was not written by enrelm", GIVE_MODEL)
    version = whole.get("format_version")
    if type(version) is not int or version != FORMAT_VERSION:
        raise damaged(f"format version {shown(version)} was never written")
    document = whole.get("document")
    if whole.keys() != {"format", "format_version", "checksums", "document"} or type(document) is not dict:
        raise damaged("it is not laid out as an enrelm model")
    verify(document, whole["checksums"])
    return document


def _newer(reader: Reader) -> Problem | None:
    """A newer format may hold what this reader must refuse: then its number is the better explanation."""
    head = reader.outermost[:4]
    if len(head) < 4 or not all(map(is_text, head[:3], ("format", FORMAT, "format_version"))):
        return None
    if type(head[3]) is not int or head[3] <= FORMAT_VERSION:
        return None
    return Problem(
        f"was written by a newer enrelm (model format {shown(head[3])}; this one reads up to {FORMAT_VERSION})",
        "upgrade enrelm to the version that wrote it, or later",
    )
