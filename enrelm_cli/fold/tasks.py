"""What the workers of a cluster run: sums over pieces of the files, which they read themselves, and their merging.

Everything is a task that can be done again, so a worker that is lost costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from enrelm_cli.errors import DataError, UserError
from enrelm_cli.fold.folds import SentOnce, fold_piece, single_threaded_blas, size

_NO_FILE = "workers read the files themselves: put them where every machine sees them under the same path"
# A fingerprint reads so many blocks of so many bytes, evenly spaced: all of a file up to their product.
_BLOCKS, _BLOCK = 64, 16_384


@dataclass(frozen=True)
class Part:
    """What a task made of a piece. An error of the user's is a result, too: doing it again would not help."""

    rows: int
    value: Any = None  # None where the piece has no rows
    error: UserError | None = None

    def merge(self, other: Part) -> Part:
        for part in (self, other):
            if part.error is not None:
                return part
        if self.value is None or other.value is None:
            return replace(other if self.value is None else self, rows=self.rows + other.rows)
        return Part(self.rows + other.rows, self.value.merge(other.value))


def fold_task(packed: bytes, partial: Callable[[Any], Any], *shared: Shared) -> Part:
    """The sum over a piece."""

    def work(piece: Iterable[Any]) -> Part:
        return Part(*fold_piece(piece, partial))

    return _attempt(packed, shared, work)


def map_task(packed: bytes, function: Callable[[Any], Any], *shared: Shared) -> Part:
    """The list of function(item)."""

    def work(piece: Iterable[Any]) -> Part:
        done = [(size(item), function(item)) for item in piece]
        return Part(sum(rows for rows, _ in done), [result for _, result in done])

    return _attempt(packed, shared, work)


def merge_task(first: Part, second: Part) -> Part:
    """Two neighbours as one."""
    with single_threaded_blas():
        return first.merge(second)


def receipt_task(part: Part) -> Part:
    """How far the work is, without its result."""
    return replace(part, value=None)


def unpack_task(packed: bytes) -> Any:
    """What other tasks share."""
    return pickle.loads(packed)


def _attempt(packed: bytes, shared: Sequence[Shared], work: Callable[[Iterable[Any]], Part]) -> Part:
    with single_threaded_blas():
        try:
            for one in shared:
                one.check()
            return work(_Unpickler(packed, shared).load())
        except UserError as error:
            return Part(0, error=error)
        except (FileNotFoundError, PermissionError) as error:
            problem = f"{error.filename}: cannot be read on worker {socket.gethostname()} ({error.strerror})"
            return Part(0, error=DataError(problem, _NO_FILE))


@dataclass(frozen=True)
class Shared:
    """Something that many pieces refer to."""

    value: Any
    path: str | None = None  # of the file that it stands for
    fingerprint: str = ""

    @staticmethod
    def of(value: Any) -> Shared:
        path = value.local_file() if isinstance(value, SentOnce) else None
        return Shared(value) if path is None else Shared(value, path, fingerprint(path))

    def check(self) -> None:
        """The file that this worker sees is the one that the client sees."""
        if self.path is None:
            return
        found = fingerprint(self.path)
        if found != self.fingerprint:
            where = f"{found} on worker {socket.gethostname()}, {self.fingerprint} where the command was typed"
            raise DataError(f"{self.path}: another file ({where})", _NO_FILE)


def fingerprint(path: str) -> str:
    """The size of a file and a hash of blocks all over it: a megabyte is read, however large it is."""
    facts = os.stat(path)
    return _fingerprint(path, facts.st_size, facts.st_mtime_ns, facts.st_ino)


@lru_cache(maxsize=1024)
def _fingerprint(path: str, bytes_: int, _changed: int, _inode: int) -> str:
    digest = hashlib.sha256()
    step = max(_BLOCK, -(-(bytes_ - _BLOCK) // (_BLOCKS - 1)))  # the last block ends where the file does
    with open(path, "rb") as file:
        for start in range(0, bytes_, step):
            file.seek(start)
            digest.update(file.read(_BLOCK))
    return f"{bytes_:,} bytes, {digest.hexdigest()[:12]}"


class _Unpickler(pickle.Unpickler):
    """Puts what is shared back into its place."""

    def __init__(self, packed: bytes, shared: Sequence[Shared]) -> None:
        super().__init__(io.BytesIO(packed))
        self._shared = shared

    def persistent_load(self, number: Any) -> Any:
        return self._shared[number].value
