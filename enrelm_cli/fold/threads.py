"""Independent pieces of work on this machine's threads, each with BLAS on one: their number changes no result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from enrelm_cli.fold.folds import single_threaded_blas
from enrelm_cli.fold.resources import cores

Item = TypeVar("Item")
Result = TypeVar("Result")


def threads_of(engine: Any) -> int:
    """How many this machine may use: what the engine has of them, every core beside a cluster."""
    return int(getattr(engine, "workers", None) or cores())


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """work(item) for every item, in their order. The first exception stops what has not begun."""
    with single_threaded_blas():
        if threads == 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(threads) as pool:
            running = [pool.submit(work, item) for item in items]
            try:
                return [one.result() for one in running]
            finally:
                for one in running:
                    one.cancel()
