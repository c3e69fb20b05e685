"""Few distinct inputs: the errors of a fit are what fresh rows confirm, with every seed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli_runner import succeed


def levels(rng: np.random.Generator, rows: int) -> list[str]:
    """One column of five levels."""
    place = rng.integers(0, 5, rows)
    y = np.array([1.0, 5.0, -3.0, 9.0, 2.0])[place] + 0.3 * rng.standard_normal(rows)
    return ["c,y", *(f"level {c},{t:.4f}" for c, t in zip(place, y, strict=True))]


def grid(rng: np.random.Generator, rows: int) -> list[str]:
    """A grid of four by three numbers."""
    a, b = rng.integers(0, 4, rows), rng.integers(0, 3, rows)
    y = np.sin(2.0 * a) * (1.0 + b) + 0.3 * rng.standard_normal(rows)
    return ["a,b,y", *(f"{i},{j},{t:.4f}" for i, j, t in zip(a, b, y, strict=True))]


def pair(rng: np.random.Generator, rows: int) -> list[str]:
    """Two distinct rows."""
    a = rng.integers(0, 2, rows)
    y = 4.0 * a + 0.5 * rng.standard_normal(rows)
    return ["a,y", *(f"{i},{t:.4f}" for i, t in zip(a, y, strict=True))]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("table", [levels, grid, pair])
def test_fresh_rows_confirm_the_errors_of_a_table_with_few_distinct_rows(
    tmp_path: Path, table: object, seed: int
) -> None:
    assert callable(table)
    rng = np.random.default_rng(seed)
    for name, rows in (("fit", 400), ("fresh", 2000)):
        (tmp_path / f"{name}.csv").write_text("\n".join(table(rng, rows)) + "\n")
    model, report = tmp_path / "m.joblib", tmp_path / "r.json"
    fitted = succeed("fit", tmp_path / "fit.csv", "-t", "y", "--variant", "kernel", "--seed", seed, "-o", model,
                     "--format", "json")  # fmt: skip
    succeed("predict", model, tmp_path / "fresh.csv", "-o", tmp_path / "out.csv", "--report", report)
    fresh = json.loads(report.read_text())["errors"]["normalised_rmse"]
    assert json.loads(fitted.stdout)["validation_error"] == pytest.approx(fresh, rel=0.25)
    assert fresh < 0.35
