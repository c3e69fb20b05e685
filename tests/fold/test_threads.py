"""Independent work on threads."""

from __future__ import annotations

from threading import get_ident

import pytest

from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.fold.resources import cores
from enrelm_cli.fold.threads import side_by_side, threads_of


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_the_order_of_the_items(threads: int) -> None:
    assert side_by_side(lambda item: item * item, range(20), threads) == [item * item for item in range(20)]


def test_one_thread_is_this_one() -> None:
    assert side_by_side(lambda _: get_ident(), range(3), 1) == [get_ident()] * 3


@pytest.mark.parametrize("threads", [1, 3])
def test_an_exception_of_the_work_is_the_callers(threads: int) -> None:
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda item: 1 // item, [1, 0, 2], threads)


def test_the_engine_says_how_many_threads_this_machine_may_use() -> None:
    assert threads_of(LocalEngine(3)) == 3
    assert threads_of(LocalEngine()) == cores()
    assert threads_of(object()) == cores()  # a cluster's engine: its workers are elsewhere
