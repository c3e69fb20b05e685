"""fit and compare as a whole, where their parts meet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli_runner import run, succeed


def write(path: Path, columns: dict[str, object]) -> Path:
    names = list(columns)
    rows = zip(*(np.asarray(columns[name]).tolist() for name in names), strict=True)
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def test_a_level_that_only_validation_rows_have_does_not_stop_the_refit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1100, 3))
    level = np.array(["common"] * 1088 + [f"rare{k}" for k in range(12)])
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(1100)
    path = write(tmp_path / "rare.csv", {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "level": level, "y": y})
    words = ("-t", "y", "--variant", "kernel", "--tune-rows", "300", "--tune-steps", "200", "-f", "json")
    assert succeed("fit", path, *words).json["validation_error"] < 0.5


@pytest.mark.parametrize("seed", range(4))
def test_a_large_table_of_few_distinct_inputs_leaves_both_sides_rows(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 4, 40_000)
    path = write(tmp_path / "four.csv", {"x": x, "y": np.round(x**2 + rng.standard_normal(40_000), 3)})
    facts = succeed("fit", path, "-t", "y", "--variant", "approximate", "--seed", seed, "-f", "json").json
    assert facts["validation_rows"] > 0
    assert facts["validation_error"] > 0.1


def test_a_large_table_that_repeats_its_inputs_has_them_all_as_landmarks(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 6, 60_000), rng.integers(0, 5, 60_000)
    y = np.round(np.sin(a) + b + 0.3 * rng.standard_normal(60_000), 3)
    path = write(tmp_path / "grid.csv", {"a": a, "b": b, "y": y})
    facts = succeed("fit", path, "-t", "y", "--variant", "kernel", "--no-tune", "--no-refit", "-f", "json").json
    assert facts["facts"]["landmarks"] >= 20
    assert facts["validation_error"] < 0.6


def test_the_facts_are_of_the_model_that_is_saved(tmp_path: Path, sample_data: Path) -> None:
    words = ("-t", "y", "--variant", "kernel", "--tune-steps", "60", "-f", "json")
    facts = succeed("fit", sample_data / "network.csv", *words).json["facts"]
    assert facts["landmarks"] == 300


def test_equal_rows_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "equal.csv", {"x": np.ones(50), "y": np.arange(50.0)})
    assert run("fit", path, "-t", "y").code == 3
