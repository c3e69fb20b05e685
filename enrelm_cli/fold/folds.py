"""The only loop over rows: fold(pieces, partial) = partial(item_1) + partial(item_2) + ...

A table is a sequence of pieces (an in-memory chunk, a byte range of a CSV file, a row group of a Parquet file). A
piece can be iterated more than once and yields items: record batches, or encoded chunks. A partial is a picklable
function from an item to something that can be merged. Which engine runs the loop - this process's threads, or a Dask
cluster - changes nothing downstream: partial results are merged by neighbours, in balanced trees whose shape depends
only on the pieces. The trees also keep the rounding error of a sum over n items at O(log n).
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache, wraps
from itertools import takewhile
from threading import Event, Lock
from typing import Any, ClassVar, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.hashing import combine, hash_numbers
from enrelm_cli.fold.resources import cores
from enrelm_cli.fold.weights import times
from enrelm_cli.types import Array, Keys


class SentOnce:
    """What every piece of a table refers to, and may be large (10,000 levels): a cluster sends it once."""

    __slots__ = ()

    def local_file(self) -> str | None:
        """The path of the file that it stands for, which a worker must see as this machine does."""
        return None


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of the table: raw, or as a view shows them."""

    X: Array  # (t, columns) raw, or (t, d) the inputs of a kernel
    y: Array  # (t,) target, NaN where it is missing
    twins: Keys  # (t,) content hash of the row's inputs: equal inputs, equal key
    unit: Keys  # (t,) rows with one key stay on one side of a split and in one fold; the even sample goes by it
    row: int  # index of the first row in the table; below 0 where the engine cannot know it
    index: NDArray[np.int64] | None = None  # (t,) every row's index, where they are not consecutive
    weight: Array | None = None  # (t,) above 0: how many rows each counts for; None: one
    # What the user said of the rows beside their inputs; None: nothing.
    group: Keys | None = None  # (t,) in place of the unit where rows stay together; the even sample does not go by it
    time: Array | None = None  # (t,) later rows validate
    held: NDArray[np.bool_] | None = None  # (t,) rows of the user's own validation or test files

    @property
    def rows(self) -> int:
        return len(self.y)

    @property
    def total(self) -> float:
        """The sum of the weights; without any, how many rows there are."""
        return self.rows if self.weight is None else float(self.weight.sum())

    def weighted(self, A: Array) -> Array:
        """Row i of A (t,) or (t, .) times w_i: sums over rows are sums of these."""
        return times(self.weight, A)

    def rooted(self, A: Array) -> Array:
        """Row i of A times sqrt(w_i): A'A of these is the sum of w_i a_i a_i'."""
        return A if self.weight is None else times(np.sqrt(self.weight), A)

    def where(self, mask: NDArray[np.bool_]) -> Chunk:
        """The rows that the mask keeps."""
        if mask.all():
            return self
        return self._part(mask, self.row, self.numbers()[mask])

    @property
    def together(self) -> Keys:
        """(t,) rows with one key stay on one side of a split and in one fold: the user's groups, else the units."""
        return self.unit if self.group is None else self.group

    def alike(self) -> Keys:
        """(t,) equal for rows with equal inputs that stay together: where one is left out, so are the others."""
        keys = [self.twins, self.together]
        return combine(keys if self.time is None else [*keys, hash_numbers(self.time)])

    def numbers(self) -> NDArray[np.int64]:
        """The index in the table of every row."""
        return self.index if self.index is not None else np.arange(self.row, self.row + self.rows)

    def blocks(self, rows: int) -> Iterator[Chunk]:
        """The same rows, at most so many at a time: what is computed of a block stays in cache."""
        return (self.between(start, start + rows) for start in range(0, self.rows, rows))

    def between(self, start: int, stop: int) -> Chunk:
        """Rows start to stop of the chunk, without a copy."""
        part = slice(start, stop)
        row, index = (self.row + start, None) if self.index is None else (self.row, self.index[part])
        return self._part(part, row, index)

    def take(self, places: NDArray[np.int64]) -> Chunk:
        """The rows at these places of the chunk."""
        return self._part(places, self.row, self.numbers()[places])

    def _part(self, part: Any, row: int, index: NDArray[np.int64] | None) -> Chunk:
        twins = self.twins[part]
        # Where rows with equal inputs are the units, one array holds both.
        unit = twins if self.unit is self.twins else self.unit[part]
        beside = {name: None if (one := getattr(self, name)) is None else one[part] for name in _BESIDE}
        return Chunk(self.X[part], self.y[part], twins, unit, row, index, **beside)


# Fields of a chunk that hold something for each row, or nothing at all.
_BESIDE = ("weight", "group", "time", "held")


def joined(chunks: Sequence[Chunk], row: int) -> Chunk:
    """One chunk of these rows, numbered from `row` on without gaps."""
    X, y, twins = (np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in ("X", "y", "twins"))
    shared = all(chunk.unit is chunk.twins for chunk in chunks)
    unit = twins if shared else np.concatenate([chunk.unit for chunk in chunks])
    beside = {name: _concatenated([getattr(chunk, name) for chunk in chunks]) for name in _BESIDE}
    return Chunk(X, y, twins, unit, row, **beside)


def _concatenated(parts: Sequence[Any]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)


class Mergeable(Protocol):
    """What a partial returns. `merge` is associative up to rounding; neighbours are merged in row order."""

    def merge(self, other: Any, /) -> Any: ...


S = TypeVar("S", bound=Mergeable)
Item = TypeVar("Item")
Result = TypeVar("Result")
P = ParamSpec("P")


@dataclass(frozen=True)
class Sums:
    """Named arrays that add up."""

    values: dict[str, Any]

    def merge(self, other: Sums) -> Sums:
        return Sums({name: value + other.values[name] for name, value in self.values.items()})

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@dataclass(frozen=True)
class Parts:
    """Results of several partials, merged each with its own."""

    values: tuple[Any, ...]

    def merge(self, other: Parts) -> Parts:
        return Parts(tuple(mine.merge(theirs) for mine, theirs in zip(self.values, other.values, strict=True)))


@dataclass(frozen=True)
class Together:
    """Several partials in one pass."""

    partials: tuple[Callable[[Any], Any], ...]

    def __call__(self, item: Any) -> Parts:
        return Parts(tuple(partial(item) for partial in self.partials))


class Progress(Protocol):
    """Told about passes; the command line draws a bar, the tests count, the default is silent."""

    def start(self, label: str, total: int | None) -> None: ...

    def advance(self, rows: int) -> None: ...

    def finish(self) -> None: ...


class Silent:
    """Progress for nobody."""

    def start(self, label: str, total: int | None) -> None:
        """Nothing to draw."""

    def advance(self, rows: int) -> None:
        """Nothing to draw."""

    def finish(self) -> None:
        """Nothing to draw."""


class Engine(Protocol):
    """Runs a fold, or maps pieces in order (predict)."""

    @property
    def progress(self) -> Progress: ...

    @property
    def elsewhere(self) -> bool:
        """Other processes, perhaps on other machines, read the pieces."""

    def fold(
        self, pieces: Sequence[Iterable[Item]], partial: Callable[[Item], S], label: str, total: int | None = None
    ) -> S: ...

    def map(
        self, pieces: Iterable[Iterable[Item]], function: Callable[[Item], Result], label: str, total: int | None = None
    ) -> Iterator[Result]: ...


class Tree:
    """Merges a stream of results pairwise like a binary counter: the shape depends only on how many there are."""

    def __init__(self) -> None:
        self._levels: list[Any] = []

    def add(self, result: Any) -> None:
        level = 0
        while level < len(self._levels) and self._levels[level] is not None:
            result = self._levels[level].merge(result)
            self._levels[level] = None
            level += 1
        if level == len(self._levels):
            self._levels.append(None)
        self._levels[level] = result

    @property
    def empty(self) -> bool:
        return not self._levels

    def result(self) -> Any:
        total = None
        for part in self._levels:
            if part is not None:
                total = part if total is None else part.merge(total)
        if total is None:
            raise ValueError("a fold over no rows")
        return total


@dataclass(frozen=True)
class LocalEngine:
    """Threads of this process. BLAS keeps to one thread inside, so results do not depend on how many there are."""

    threads: int = 0  # 0: every core
    progress: Progress = field(default_factory=Silent)
    elsewhere: ClassVar[bool] = False

    @property
    def workers(self) -> int:
        return self.threads or cores()

    def fold(
        self, pieces: Sequence[Iterable[Item]], partial: Callable[[Item], S], label: str, total: int | None = None
    ) -> S:
        """A tree of the items of each piece, where it is read, and a tree of the pieces."""
        tree = Tree()
        with self._pass(label, total):
            for rows, result in self._ordered(pieces, lambda piece: fold_piece(piece, partial)):
                self.progress.advance(rows)
                if result is not None:
                    tree.add(result)
        answer: S = tree.result()
        return answer

    def map(
        self, pieces: Iterable[Iterable[Item]], function: Callable[[Item], Result], label: str, total: int | None = None
    ) -> Iterator[Result]:
        """function(item) for every item of every piece, in order, a bounded number of pieces under way at once."""
        with self._pass(label, total):
            for results in self._ordered(pieces, lambda piece: [(size(item), function(item)) for item in piece]):
                for rows, result in results:
                    self.progress.advance(rows)
                    yield result

    @contextmanager
    def _pass(self, label: str, total: int | None) -> Iterator[None]:
        self.progress.start(label, total)
        try:
            with single_threaded_blas():
                yield
        finally:
            self.progress.finish()

    def _ordered(self, pieces: Iterable[Iterable[Item]], work: Callable[[Iterable[Item]], Result]) -> Iterator[Result]:
        """work(piece) for every piece, in order."""
        if self.workers == 1 or (isinstance(pieces, Sequence) and len(pieces) == 1):
            yield from map(work, pieces)
            return
        with ThreadPoolExecutor(self.workers) as pool:
            waiting: deque[Future[Result]] = deque()
            stopped = Event()
            try:
                for piece in pieces:
                    # After Ctrl-C nobody waits for the rest of a large piece.
                    waiting.append(pool.submit(work, takewhile(lambda _: not stopped.is_set(), piece)))
                    if len(waiting) > self.workers + 1:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                stopped.set()
                for future in waiting:
                    future.cancel()


def fold_piece(piece: Iterable[Item], partial: Callable[[Item], S]) -> tuple[int, S | None]:
    """The rows of one piece and their merged partials; None where it has no item."""
    tree, rows = Tree(), 0
    for item in piece:
        tree.add(partial(item))
        rows += size(item)
    return rows, None if tree.empty else tree.result()


def size(item: Any) -> int:
    """How many rows an item has, for progress."""
    return int(getattr(item, "rows", 0))


def single_threaded_blas() -> AbstractContextManager[None]:
    """BLAS on one thread while our own threads share the rows: the result then does not depend on their number."""
    return limited_blas(1)


@contextmanager
def limited_blas(threads: int) -> Iterator[None]:
    """BLAS on so many threads while the block lasts, at most: of several limits at once the smallest holds."""
    _LIMITS.enter(threads)
    try:
        yield
    finally:
        _LIMITS.leave(threads)


class _Limits:
    """The process has one number of BLAS threads. Whoever comes first remembers it, whoever leaves last restores it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._active: list[int] = []
        self._undo: dict[int, Any] = {}  # by controller, the earliest first

    def enter(self, threads: int) -> None:
        with self._lock:
            self._active.append(threads)
            self._apply()

    def leave(self, threads: int) -> None:
        with self._lock:
            self._active.remove(threads)
            if self._active:
                self._apply()
            while self._undo and not self._active:
                _, limiter = self._undo.popitem()
                limiter.restore_original_limits()

    def _apply(self) -> None:
        controller = _controller("scipy.linalg" in sys.modules)
        limiter = controller.limit(limits=min(self._active), user_api="blas")
        self._undo.setdefault(id(controller), limiter)


_LIMITS = _Limits()


def one_blas_thread(function: Callable[P, Result]) -> Callable[P, Result]:
    """A function whose result must not depend on the number of threads, and which gains little from them.

    OpenBLAS's threads wait for each other busily: beside other work, two can take a hundred times as long as one.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> Result:
        with single_threaded_blas():
            return function(*args, **kwargs)

    return run


@cache
def _controller(with_scipy: bool) -> Any:
    """Finding the process's BLAS libraries takes milliseconds: once before scipy brings its own and once after."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
