"""The fold on a Dask cluster: workers read their own pieces of the files and merge the sums among themselves.

    client: piece_1  piece_2  piece_3  piece_4        a few hundred bytes each: which file, from where to where
               |        |        |        |
    workers:  sum      sum      sum      sum          read, parse, encode, partial
                \\_____/          \\_____/
                 merge            merge               neighbours in the order of the rows, as in folds.Tree
                    \\______________/
    client:              result                       small matrices

What many tasks need (the partial with its landmarks, the encoding, a file's header) is sent once and passed on from
worker to worker. Everything is a task that can be done again, so a worker that is lost costs time and nothing else.
"""

from __future__ import annotations

import io
import logging
import os
import pickle
import platform
import re
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enrelm_cli import __version__
from enrelm_cli.errors import DataError, UsageError, UserError
from enrelm_cli.fold.folds import Item, Progress, Result, S, SentOnce, Tree, fold_piece, single_threaded_blas, size
from enrelm_cli.fold.resources import cores
from enrelm_cli.settings import EngineSettings

# Seconds to wait for a scheduler, for a first worker, and for another worker when the last one is gone.
_ANSWER, _FIRST_WORKER, _ANOTHER_WORKER = 10, 30, 60
# Pieces under way for each thread of the cluster: one is worked on, the others wait beside it.
_AHEAD = 3
# A task that failed for a reason that may pass (a network file system that hiccups) is tried again so often.
_RETRIES = 2
# Merging frees memory, so it goes before reading.
_SOON = 10

_ADDRESS = re.compile(r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?:[^/:\s]+|\[[0-9a-fA-F:.%]+\]):\d+")
_NO_FILE = "workers read the files themselves: put them where every machine sees them under the same path"


# ------------------------------------------------------------------------------------------------ on the workers


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


def _fold_piece(packed: bytes, partial: Callable[[Any], Any], *shared: Shared) -> Part:
    """Task: the sum over a piece."""

    def work(piece: Iterable[Any]) -> Part:
        return Part(*fold_piece(piece, partial))

    return _attempt(packed, shared, work)


def _map_piece(packed: bytes, function: Callable[[Any], Any], *shared: Shared) -> Part:
    """Task: the list of function(item)."""

    def work(piece: Iterable[Any]) -> Part:
        done = [(size(item), function(item)) for item in piece]
        return Part(sum(rows for rows, _ in done), [result for _, result in done])

    return _attempt(packed, shared, work)


def _merge(first: Part, second: Part) -> Part:
    """Task: two neighbours."""
    with _one_thread():
        return first.merge(second)


def _receipt(part: Part) -> Part:
    """Task: how far the work is, without its result."""
    return replace(part, value=None)


def _unpack(packed: bytes) -> Any:
    """Task: what other tasks share."""
    return pickle.loads(packed)


def _attempt(packed: bytes, shared: Sequence[Shared], work: Callable[[Iterable[Any]], Part]) -> Part:
    with _one_thread():
        try:
            for one in shared:
                one.check()
            return work(_Unpickler(packed, shared).load())
        except UserError as error:
            return Part(0, error=error)
        except (FileNotFoundError, PermissionError) as error:
            problem = f"{error.filename}: cannot be read on worker {socket.gethostname()} ({error.strerror})"
            return Part(0, error=DataError(problem, _NO_FILE))


class _OneThread:
    """single_threaded_blas for several tasks of one process at a time: the first sets the limit, the last lifts it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limit = single_threaded_blas()
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._limit.restore_original_limits()


_one_thread = _OneThread()


def _versions() -> dict[str, str]:
    """What has to be the same everywhere."""
    return {
        "enrelm": __version__,
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__.split(".")[0],
    }


# ------------------------------------------------------------------------------------------------ what is sent


@dataclass(frozen=True)
class Shared:
    """Something that many pieces refer to."""

    value: Any
    path: str | None = None  # of the file that it stands for
    bytes: int = 0

    @staticmethod
    def of(value: Any) -> Shared:
        path = value.local_file() if isinstance(value, SentOnce) else None
        return Shared(value) if path is None else Shared(value, path, os.path.getsize(path))

    def check(self) -> None:
        """The file that this worker sees is the one that the client sees."""
        if self.path is None:
            return
        found = os.stat(self.path).st_size
        if found != self.bytes:
            where = f"{found:,} bytes on worker {socket.gethostname()}, {self.bytes:,} where the command was typed"
            raise DataError(f"{self.path}: {where}", _NO_FILE)


class _Pickler(pickle.Pickler):
    """Leaves a number in the place of what is shared."""

    def __init__(self, file: io.BytesIO, number: Callable[[Any], int]) -> None:
        super().__init__(file, protocol=5)
        self._number = number

    def persistent_id(self, value: Any) -> int | None:
        return self._number(value) if isinstance(value, SentOnce) else None


class _Unpickler(pickle.Unpickler):
    """Puts what is shared back into its place."""

    def __init__(self, packed: bytes, shared: Sequence[Shared]) -> None:
        super().__init__(io.BytesIO(packed))
        self._shared = shared

    def persistent_load(self, number: Any) -> Any:
        return self._shared[number].value


class _Sender:
    """Submits the tasks of one pass."""

    def __init__(self, client: Any, label: str) -> None:
        self._client = client
        self._name = f"{label.replace(' ', '-')}-{uuid.uuid4().hex[:12]}"
        self._tasks = 0
        self._sent: dict[int, tuple[Any, Any]] = {}  # id -> (the object, which keeps its id, and its future)

    def submit(self, function: Callable[..., Any], *arguments: Any, priority: int = 0) -> Any:
        self._tasks += 1
        name = f"enrelm{function.__name__}-{self._name}-{self._tasks}"
        return self._client.submit(function, *arguments, key=name, pure=False, retries=_RETRIES, priority=priority)

    def share(self, value: Any) -> Any:
        """The future of something that many tasks need. A task, not scattered data: it can be done again."""
        return self.submit(_unpack, pickle.dumps(value, protocol=5), priority=_SOON)

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
        return _Remote(self.sender.submit(_merge, self.future, other.future, priority=_SOON), self.sender)


# ------------------------------------------------------------------------------------------------ the engine


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
                future = sender.send(_fold_piece, piece, function)
                tree.add(_Remote(future, sender))
                waiting.append(sender.submit(_receipt, future, priority=_SOON))
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
                waiting.append(sender.send(_map_piece, piece, sent))
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


def dask_engine(where: EngineSettings, progress: Progress) -> DaskEngine:
    """Connect to the scheduler that the user named, or start worker processes on this machine."""
    try:
        import dask
        import distributed
    except ImportError:
        raise UsageError("--engine dask needs Dask, which is not installed", "pip install 'enrelm[dask]'") from None
    _quiet(dask, distributed)
    with ExitStack() as resources:
        if where.scheduler is None:
            address: Any = _local_cluster(where.threads or cores(), resources)
            label = "this machine"
        else:
            address = label = where.scheduler
        client = _client(address, label, resources)
        _check_versions(client)
        engine = DaskEngine(client, label, progress, resources.pop_all())
    _close_at_exit(engine)
    return engine


def _quiet(dask: Any, distributed: Any) -> None:
    """Dask's own messages are not for the user of this command; what goes wrong is said in our words."""
    for name in ("distributed", "distributed.client", "distributed.gc", "tornado.application", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    dask.config.set(
        {
            "distributed.admin.large-graph-warning-threshold": "1TB",
            # The scheduler and the workers of a local cluster offer no web pages.
            "distributed.scheduler.http.routes": [],
            "distributed.worker.http.routes": [],
        }
    )


def _local_cluster(workers: int, resources: ExitStack) -> Any:
    """A scheduler in this process, which listens to this machine only, and worker processes."""
    import dask
    from distributed import LocalCluster

    folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="enrelm-dask-", ignore_cleanup_errors=True))
    dask.config.set({"temporary-directory": folder})
    cluster = LocalCluster(
        n_workers=0,
        threads_per_worker=1,
        host="127.0.0.1",
        protocol="tcp",
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        silence_logs=logging.CRITICAL + 1,
    )
    resources.callback(cluster.close, timeout=10)
    for _ in range(workers):
        resources.callback(_end, _start_worker(cluster.scheduler_address, folder))
    return cluster


def _start_worker(scheduler: str, folder: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny", "--nthreads", "1"]
    command += ["--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    command += ["--memory-limit", "0", "--local-directory", folder, "--death-timeout", "60"]
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        command,
        # Not the user's folder: Python would import what lies there.
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Ctrl-C is sent to every process of the terminal's session: it is for this one to end the workers.
        start_new_session=True,
    )


def _end(worker: subprocess.Popen[bytes]) -> None:
    # It holds nothing that is still needed, and its folder is removed here.
    worker.kill()
    worker.wait()


def _client(address: Any, label: str, resources: ExitStack) -> Any:
    from distributed import Client
    from distributed import TimeoutError as TimedOut

    if isinstance(address, str) and not _ADDRESS.fullmatch(address):
        raise UsageError(f"--scheduler {address}: not an address", "write it as --scheduler tcp://host:8786")
    try:
        with warnings.catch_warnings():
            # Versions that differ are our own check.
            warnings.simplefilter("ignore")
            client = Client(address, timeout=_ANSWER, set_as_default=False, name="enrelm")
    except (OSError, TimedOut):
        raise UsageError(
            f"no Dask scheduler answers at {label} (waited {_ANSWER} s)",
            "start one with `dask scheduler --port 8786`, and check the address and the firewall",
        ) from None
    resources.callback(client.close, timeout=10)
    try:
        client.wait_for_workers(1, timeout=_FIRST_WORKER)
    except TimedOut:
        raise UsageError(
            f"the Dask scheduler at {label} has no workers (waited {_FIRST_WORKER} s)",
            f"start some with `dask worker {label}` on each machine",
        ) from None
    return client


def _check_versions(client: Any) -> None:
    mine = _versions()
    everywhere: dict[str, Any] = dict(client.run(_versions, on_error="return"))
    try:
        everywhere["the scheduler"] = client.run_on_scheduler(_versions)
    except Exception as error:
        everywhere["the scheduler"] = error
    for place, theirs in sorted(everywhere.items()):
        name = place if place.startswith("the ") else f"worker {place}"
        if isinstance(theirs, BaseException):
            raise UsageError(
                f"{name} cannot import enrelm ({theirs})",
                f"install it there: pip install 'enrelm[dask]=={__version__}'",
            )
        for package, version in mine.items():
            if theirs.get(package) != version:
                raise UsageError(
                    f"{name} has {package} {theirs.get(package)}, this machine has {package} {version}",
                    f"install the same everywhere: pip install 'enrelm[dask]=={__version__}'",
                )


def _close_at_exit(engine: DaskEngine) -> None:
    import atexit

    # Registered after Dask's own: it runs before them.
    atexit.register(engine.close)
