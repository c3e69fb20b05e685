"""Far more columns than rows: memory and work grow with the columns, not with their square."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.table.notation import DATES
from tests.cli_runner import succeed


def wide(path: Path, rows: int, columns: int) -> Path:
    X = np.random.default_rng(0).standard_normal((rows, columns))
    header = ",".join(f"c{k}" for k in range(columns - 1)) + ",y"
    np.savetxt(path, X, fmt="%.2f", delimiter=",", header=header, comments="")
    return path


@pytest.mark.parametrize(
    "variant", ["approximate", *(pytest.param(name, marks=pytest.mark.slow) for name in ("incremental", "kernel"))]
)
def test_no_matrix_of_columns_by_columns_is_made_for_few_rows(tmp_path: Path, variant: str) -> None:
    columns = 2000
    table = wide(tmp_path / "wide.csv", 24, columns)
    words = ("fit", table, "-t", "y", "--variant", variant, "--no-tune", "--no-refit", "--threads", 1, "-q")
    tracemalloc.start()
    try:
        succeed(*words)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * columns**2, f"{peak / 1e6:.0f} MB"


def test_a_notation_puts_its_regex_together_once_however_many_texts_it_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    notation = type(DATES[0])("%Y_%m_%d")  # no other test uses it
    regex = type(notation).regex.fget
    monkeypatch.setattr(type(notation), "regex", property(lambda self: asked.append(self.pattern) or regex(self)))
    assert [notation.looks(f"2014_01_{day:02d}") for day in range(1, 30)] == [True] * 29
    assert len(asked) == 1
