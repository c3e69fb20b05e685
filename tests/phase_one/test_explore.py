"""Which scale of the target is taken, and what for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.types import Array
from tests.cli_runner import succeed


def notes_of(folder: Path, x: Array, y: Array) -> str:
    rows = "".join(f"{a!r},{b!r}\n" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    (folder / "t.csv").write_text("x,y\n" + rows, encoding="utf-8")
    words = ("--variant", "kernel", "--folds", "1", "-o", folder / "m.joblib", "--format", "json")
    return " ".join(succeed("fit", folder / "t.csv", "-t", "y", *words).json["notes"])


@pytest.mark.parametrize("rows", [400, 700])
def test_a_target_that_multiplies_is_seen_on_another_scale_though_its_few_largest_rows_are_the_error(
    tmp_path: Path, rows: int
) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal(rows)
    y = np.exp(1.5 * x + 0.5 * rng.standard_normal(rows))
    assert "target: fitted on" in notes_of(tmp_path, x, y)


@pytest.mark.parametrize("rows", [400, 700])
def test_a_target_with_noise_of_one_size_keeps_its_own_scale(tmp_path: Path, rows: int) -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal(rows)
    assert "target:" not in notes_of(tmp_path, x, np.exp(x) + 0.3 * rng.standard_normal(rows))
