"""Prediction intervals, and what a model's file must hold."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.commands import synthetic
from enrelm_cli.commands.beside.bands import bands_of
from enrelm_cli.commands.saved import load_model
from enrelm_cli.errors import UsageError
from tests.cli_runner import succeed


def write(path: Path, rows: int, seed: int) -> Path:
    with open(path, "wb") as stream:
        synthetic.write_csv(synthetic.friedman(rows, 6, 1.0, seed), stream)
    return path


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
def test_intervals_cover_fresh_rows_as_often_as_they_say(level: float, tmp_path: Path) -> None:
    train, fresh = write(tmp_path / "train.csv", 400, 1), write(tmp_path / "fresh.csv", 4000, 2)
    model, report = tmp_path / "m.joblib", tmp_path / "r.json"
    # A fixed kernel close to what tuning finds: the test is of the intervals, not of the tuning.
    succeed("fit", train, "-t", "y", "--variant", "kernel", "--no-tune", "--weight-variance", "0.05",
            "--bias-variance", "1", "-o", model)  # fmt: skip
    succeed("predict", model, fresh, "--interval", level, "-o", tmp_path / "out.csv", "--report", report)
    coverage = json.loads(report.read_text())["coverage"]
    # 400 left-out errors estimate the quantile to about 1.5 percentage points (one standard error).
    assert abs(coverage - level) < 0.06


@pytest.mark.slow
def test_intervals_of_a_tuned_model_cover_nearly_as_often(tmp_path: Path) -> None:
    coverages = []
    for seed in range(4):
        train, fresh = write(tmp_path / "train.csv", 300, 10 + seed), write(tmp_path / "fresh.csv", 2000, 50 + seed)
        model, report = tmp_path / "m.joblib", tmp_path / "r.json"
        succeed("fit", train, "-t", "y", "--variant", "kernel", "-o", model)
        succeed("predict", model, fresh, "--interval", "0.9", "-o", tmp_path / "out.csv", "--report", report)
        coverages.append(json.loads(report.read_text())["coverage"])
    assert 0.87 < np.mean(coverages) < 0.93


def test_a_level_beyond_what_the_errors_can_say_is_refused(tmp_path: Path) -> None:
    train = write(tmp_path / "train.csv", 40, 1)
    succeed("fit", train, "-t", "y", "--variant", "kernel", "--no-tune", "-o", tmp_path / "m.joblib")
    model = load_model(str(tmp_path / "m.joblib"))
    assert bands_of(model, [0.9]).times[1] > 0.0
    with pytest.raises(UsageError, match="needs more than the 40 left-out errors"):
        bands_of(model, [0.99])
    with pytest.raises(UsageError, match=r"--quantile 0\.01 needs more"):
        bands_of(model, shares=[0.01])
    with pytest.raises(UsageError, match="between 0 and 1"):
        bands_of(model, [1.5])
