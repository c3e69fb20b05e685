"""The only loop over rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from enrelm_cli.fold.folds import LocalEngine, Sums, Tree


@dataclass(frozen=True)
class Trace:
    """Remembers how it was merged."""

    text: str

    def merge(self, other: Trace) -> Trace:
        return Trace(f"({self.text}{other.text})")


def traced(threads: int, letters: str, size: int) -> str:
    pieces = [letters[i : i + size] for i in range(0, len(letters), size)]
    return LocalEngine(threads).fold(pieces, Trace, "letters").text


def test_neighbours_are_merged_in_order_as_a_balanced_tree() -> None:
    assert traced(1, "abcdefgh", 8) == "(((ab)(cd))((ef)(gh)))"
    assert traced(1, "abcdefgh", 3) == "((((ab)c)((de)f))(gh))"
    assert traced(1, "abcde", 5) == "(((ab)(cd))e)"
    assert traced(1, "abc", 1) == "((ab)c)"


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_the_tree(threads: int) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    assert traced(threads, letters, 4) == traced(1, letters, 4)


def test_a_tree_of_nothing_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="no rows"):
        Tree().result()


def test_the_tree_keeps_a_long_sum_close_to_exact() -> None:
    # One by one, 2^20 times 0.1 drifts by thousands of roundings; pairwise by at most twenty.
    tenth = [Sums({"x": np.float64(0.1)})] * 2**20
    total = LocalEngine(1).fold([tenth], lambda part: part, "tenths")["x"]
    assert abs(total - 2**20 / 10) <= 20 * np.spacing(2**20 / 10)


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def fail(item: int) -> Trace:
        raise ZeroDivisionError(str(item))

    with pytest.raises(ZeroDivisionError, match="1"):
        LocalEngine(2).fold([[1], [2], [3]], fail, "failing")


def test_progress_counts_rows_and_ends_even_when_the_fold_fails() -> None:
    class Counting:
        def __init__(self) -> None:
            self.seen: list[object] = []

        def start(self, label: str, total: int | None) -> None:
            self.seen.append((label, total))

        def advance(self, rows: int) -> None:
            self.seen.append(rows)

        def finish(self) -> None:
            self.seen.append("end")

    @dataclass(frozen=True)
    class Item:
        rows: int

    progress = Counting()
    LocalEngine(1, progress).fold([[Item(3)], [Item(4)]], lambda item: Sums({"n": item.rows}), "rows", 7)
    assert progress.seen == [("rows", 7), 3, 4, "end"]
    progress.seen.clear()
    with pytest.raises(ZeroDivisionError):
        LocalEngine(1, progress).fold([[Item(3)]], lambda item: Sums({"n": 1 // 0}), "rows")
    assert progress.seen == [("rows", None), "end"]
