"""Evaluations are what tuning may spend: counted, shared out before threads start, never timed.

An evaluation is one factorised kernel matrix. A stage hands its tasks equal shares of what is left, so that neither
the number of threads nor which of them is first changes what a task may do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

R = TypeVar("R")


class Spent(Exception):
    """The evaluations that a stage may use are used up."""


class Budget:
    """Counts evaluations and stops a stage that has used up its own."""

    def __init__(self, limit: int, threads: int = 1, advance: Callable[[int], None] | None = None) -> None:
        self.limit = limit
        self.spent = 0
        self._threads = threads
        self._advance = advance

    @property
    def left(self) -> int:
        return self.limit - self.spent

    def take(self, evaluations: int = 1) -> None:
        if self.left < evaluations:
            raise Spent
        self.spent += evaluations
        if self._advance is not None and evaluations:
            self._advance(evaluations)

    @contextmanager
    def reserving(self, evaluations: int) -> Iterator[None]:
        """Keeps some evaluations for what comes after."""
        self.limit -= evaluations
        try:
            yield
        finally:
            self.limit += evaluations

    def share(self, tasks: Sequence[Callable[[Budget], R]]) -> list[R]:
        """task(budget) for every task, on threads; each may spend an equal share of what is left."""
        parts = [Budget(self.left // len(tasks)) for _ in tasks]
        with ThreadPoolExecutor(max(min(self._threads, len(tasks)), 1)) as pool:
            running = [pool.submit(task, part) for task, part in zip(tasks, parts, strict=True)]
            try:
                return [self._settled(future.result, part) for future, part in zip(running, parts, strict=True)]
            finally:
                for future in running:
                    future.cancel()

    def _settled(self, result: Callable[[], R], part: Budget) -> R:
        """A task's result, and its evaluations counted here, also where it ran out of them."""
        try:
            return result()
        finally:
            self.take(part.spent)
