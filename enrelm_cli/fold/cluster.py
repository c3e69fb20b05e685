"""The fold on a Dask cluster: workers read their own pieces of the files and merge the sums among themselves.

    client: piece_1  piece_2  piece_3  piece_4        a few hundred bytes each: which file, from where to where
               |        |        |        |
    workers:  sum      sum      sum      sum          read, parse, encode, partial
                \\_____/          \\_____/
                 merge            merge               neighbours in the order of the rows, as in folds.Tree
                    \\______________/
    client:              result                       small matrices

What many tasks need (the partial with its landmarks, the encoding, a file's header) is sent once and passed on from
worker to worker.
"""

from __future__ import annotations

import io
import pickle
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import Item, Progress, Result, S, SentOnce, Tree
from enrelm_cli.fold.tasks import Part, Shared, fold_task, map_task, merge_task, receipt_task, unpack_task

# Seconds to wait for another worker when the last one is gone.
_ANOTHER_WORKER = 60
# Pieces under way for each thread of the cluster: one is worked on, the others wait beside it.
_AHEAD = 3
# A task that failed for a reason that may pass (a network file system that hiccups) is tried again so often.
_RETRIES = 2
# Merging frees memory, so it goes before reading.
_SOON = 10


class _Pickler(pickle.Pickler):
    """Leaves a number in the place of what is shared."""

    def __init__(self, file: io.BytesIO, number: Callable[[Any], int]) -> None:
        super().__init__(file, protocol=5)
        self._number = number

    def persistent_id(self, value: Any) -> int | None:
        return self._number(value) if isinstance(value, SentOnce) else None


class _Sender:
    """Submits the tasks of one pass."""

    def __init__(self, client: Any, label: str) -> None:
        self._client = client
        self._name = f"{label.replace(' ', '-')}-{uuid.uuid4().hex[:12]}"
        self._tasks = 0
        self._sent: dict[int, tuple[Any, Any]] = {}  # id -> (the object, which keeps its id, and its future)

    def submit(self, function: Callable[..., Any], *arguments: Any, priority: int = 0) -> Any:
        self._tasks += 1
        name = f"enrelm-{function.__name__}-{self._name}-{self._tasks}"
        return self._client.submit(function, *arguments, key=name, pure=False, retries=_RETRIES, priority=priority)

    def share(self, value: Any) -> Any:
        """The future of something that many tasks need. A task, not scattered data: it can be done again."""
        return self.submit(unpack_task, pickle.dumps(value, protocol=5), priority=_SOON)

    def send(self, task: Callable[..., Part], piece: Iterable[Any], function: Any) -> Any:
        """The future of a task on a piece."""
        file = io.BytesIO()
        used: dict[int, Any] = {}
        _Pickler(file, lambda value: self._number(value, used)).dump(piece)
        return self.submit(task, file.getvalue(), function, *used.values())

    def _number(self, value: Any, used: dict[int, Any]) -> int:
        if id(value) not in self._sent:
            self._sent[id(value)] = (value, self.share(Shared.of(value)))
        used.setdefault(id(value), self._sent[id(value)][1])
        return list(used).index(id(value))


@dataclass(frozen=True)
class _Remote:
    """A part that is on some worker: folds.Tree merges these where they are."""

    future: Any
    sender: _Sender

    def merge(self, other: _Remote) -> _Remote:
        return _Remote(self.sender.submit(merge_task, self.future, other.future, priority=_SOON), self.sender)


class DaskEngine:
    """folds.Engine on the workers of a Dask cluster."""

    elsewhere = True

    def __init__(self, client: Any, address: str, progress: Progress, resources: ExitStack) -> None:
        self._client = client
        self._address = address
        self.progress = progress
        self._resources = resources

    def close(self) -> None:
        """Let go of the cluster; one that was started for this run ends."""
        self._resources.close()

    def fold(
        self, pieces: Sequence[Iterable[Item]], partial: Callable[[Item], S], label: str, total: int | None = None
    ) -> S:
        with self._pass(label, total) as (sender, waiting):
            tree, function, most = Tree(), sender.share(partial), self._most()
            for piece in pieces:
                future = sender.send(fold_task, piece, function)
                tree.add(_Remote(future, sender))
                waiting.append(sender.submit(receipt_task, future, priority=_SOON))
                if len(waiting) > most:
                    self._received(waiting)
            while waiting:
                self._received(waiting)
            whole = tree.result()
            waiting.append(whole.future)
            answer: S = self._received(waiting, advance=False)
            return answer

    def map(
        self, pieces: Iterable[Iterable[Item]], function: Callable[[Item], Result], label: str, total: int | None = None
    ) -> Iterator[Result]:
        """function(item) for every item of every piece, in order, a bounded number of pieces under way at once."""
        with self._pass(label, total) as (sender, waiting):
            sent, most = sender.share(function), self._most()
            for piece in pieces:
                waiting.append(sender.send(map_task, piece, sent))
                if len(waiting) > most:
                    yield from self._received(waiting)
            while waiting:
                yield from self._received(waiting)

    def _most(self) -> int:
        """Pieces under way at once."""
        threads: dict[str, int] = self._client.nthreads()
        return _AHEAD * max(sum(threads.values()), 1)

    @contextmanager
    def _pass(self, label: str, total: int | None) -> Iterator[tuple[_Sender, deque[Any]]]:
        self.progress.start(label, total)
        waiting: deque[Any] = deque()
        try:
            yield _Sender(self._client, label), waiting
        finally:
            if waiting:
                # An error or Ctrl-C: what has not begun need not begin.
                self._client.cancel(list(waiting), force=True)
            self.progress.finish()

    def _received(self, waiting: deque[Any], advance: bool = True) -> Any:
        """The value of the oldest task; in order, so that of several errors the first in the table is reported."""
        part: Part = self._result(waiting[0])
        waiting.popleft()
        if part.error is not None:
            raise part.error
        if advance:
            self.progress.advance(part.rows)
        return part.value

    def _result(self, future: Any) -> Any:
        from distributed import CancelledError, KilledWorker
        from distributed import TimeoutError as TimedOut
        from distributed.comm import CommClosedError

        while True:
            try:
                return future.result(timeout=_ANOTHER_WORKER)
            except TimedOut:
                if future.status == "error":
                    raise
                if not self._client.nthreads():
                    raise UsageError(
                        f"no worker is left at {self._address}, and none came within {_ANOTHER_WORKER} s",
                        "start workers and run the command again",
                    ) from None
            except KilledWorker as error:
                raise UsageError(
                    f"{error.allowed_failures + 1} workers ended while they worked on the same piece of the table",
                    "most likely they ran out of memory: give them more, or use fewer --landmarks",
                ) from None
            except (CancelledError, CommClosedError):
                raise UsageError(
                    f"the connection to the scheduler at {self._address} was lost",
                    "check that it still runs, and run the command again",
                ) from None
