"""The form in which numbers enter is the one that left-out errors ask for, and stays that of a refit."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.commands.saved import load_model
from enrelm_cli.types import Array
from tests.cli_runner import succeed

ROWS = 300


def fitted(folder: Path, X: Array, y: Array) -> set[str]:
    """The kinds of input maps of a fit to columns a, b, c."""
    text = io.StringIO()
    csv.writer(text).writerows([["a", "b", "c", "y"], *np.column_stack([X, y]).tolist()])
    (folder / "t.csv").write_text(text.getvalue())
    words = ("--variant", "kernel", "--tune-steps", "200", "--transform", "none", "--folds", "1")
    succeed("fit", folder / "t.csv", "-t", "y", "-o", folder / "m.joblib", *words)
    return {one["kind"] for one in load_model(str(folder / "m.joblib")).input_map.to_document()["columns"]}


@pytest.fixture
def zeros() -> tuple[Array, Array]:
    """Three columns, a third of each 0, and noise."""
    rng = np.random.default_rng(5)
    X = np.where(rng.random((ROWS, 3)) < 0.3, 0.0, rng.exponential(size=(ROWS, 3)))
    return X, 0.3 * rng.standard_normal(ROWS)


def test_frequent_values_are_marked_where_they_matter(tmp_path: Path, zeros: tuple[Array, Array]) -> None:
    X, noise = zeros
    assert "spikes" in fitted(tmp_path, X, 2.0 * (X[:, 0] == 0.0) - (X[:, 1] == 0.0) + noise)


def test_frequent_values_that_make_it_worse_are_numbers_like_others(tmp_path: Path, zeros: tuple[Array, Array]) -> None:
    X, noise = zeros
    assert "spikes" not in fitted(tmp_path, X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + noise)
