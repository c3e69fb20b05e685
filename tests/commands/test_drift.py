"""predict --fail-drift and the drift of its report: exit codes, files, engines, models that are older."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.commands.saved import load_model
from enrelm_cli.model import artifact
from tests.cli_runner import run, succeed

HEAD = "a,b,c,day,y"


def write(path: Path, rows: int, seed: int, shift: float = 0.0, days: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal(rows) + shift, rng.standard_normal(rows)
    c, day = rng.choice(list("uvw"), rows), rng.integers(0, 300, rows) + days
    y = a + b**2 + (c == "u") + 0.1 * rng.standard_normal(rows)
    dates = np.datetime64("2020-01-01") + day.astype("timedelta64[D]")
    lines = [f"{p},{q},{r},{d},{z}" for p, q, r, d, z in zip(a, b, c, dates, y, strict=True)]
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drift")
    write(folder / "fit.csv", 300, 1)
    for name, variant in (("kernel", "kernel"), ("paper", "approximate")):
        succeed(
            "fit", folder / "fit.csv", "-t", "y", "--variant", variant, "--no-tune", "-o", folder / f"{name}.joblib"
        )
    write(folder / "same.csv", 200, 2)
    write(folder / "moved.csv", 200, 3, shift=1.5)
    write(folder / "later.csv", 200, 4, days=2000)
    return folder


@pytest.mark.parametrize("name", ["kernel", "paper"])
def test_a_shifted_column_ends_with_6_after_the_predictions_were_written(
    folder: Path, name: str, tmp_path: Path
) -> None:
    out, report = tmp_path / "out.csv", tmp_path / "r.json"
    model = folder / f"{name}.joblib"
    outcome = run("predict", model, folder / "moved.csv", "--fail-drift", "0.2", "-o", out, "--report", report)
    assert outcome.code == 6
    assert "column 'a' (PSI" in outcome.stderr
    assert "column 'b'" not in outcome.stderr
    assert out.read_text() == succeed("predict", model, folder / "moved.csv").stdout
    drift = json.loads(report.read_text())["drift"]
    assert [one["column"] for one in drift["columns"] if one["drifted"]] == ["a"]
    assert drift["columns"][0]["out_of_range"] > 0
    assert (drift["far"] is None) is (name == "paper")


def test_a_table_like_that_of_the_fit_ends_with_0(folder: Path) -> None:
    outcome = run("predict", folder / "kernel.joblib", folder / "same.csv", "--fail-drift", "0.2")
    assert outcome.code == 0


def test_a_threshold_above_the_shift_lets_it_pass(folder: Path) -> None:
    assert run("predict", folder / "kernel.joblib", folder / "moved.csv", "--fail-drift", "50").code == 0


def test_time_that_goes_on_is_reported_and_no_alarm(folder: Path, tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    succeed("predict", folder / "paper.joblib", folder / "later.csv", "--fail-drift", "0.2", "--report", report)
    day = next(one for one in json.loads(report.read_text())["drift"]["columns"] if one["column"] == "day")
    assert day["drifted"]
    assert day["is_date"]
    assert day["out_of_range"] == 200


def test_without_a_threshold_a_drifted_column_is_a_warning(folder: Path, tmp_path: Path) -> None:
    outcome = succeed("predict", folder / "paper.joblib", folder / "moved.csv", "--report", tmp_path / "r.json")
    assert "unlike the training table: column 'a'" in outcome.stderr
    assert "drift" in outcome.stderr
    assert "drift" not in succeed("predict", folder / "paper.joblib", folder / "moved.csv").stderr


def test_rows_off_the_landmarks_are_counted(folder: Path, tmp_path: Path) -> None:
    shares = []
    for name in ("same.csv", "moved.csv"):
        succeed("predict", folder / "kernel.joblib", folder / name, "--report", tmp_path / "r.json")
        shares.append(json.loads((tmp_path / "r.json").read_text())["drift"]["far"])
    assert shares[0] < 0.06
    assert shares[1] > shares[0]


def test_blocks_and_threads_do_not_change_the_drift(folder: Path, tmp_path: Path) -> None:
    found = []
    for how in (("--threads", "1"), ("--threads", "3", "--memory", "1M")):
        succeed("predict", folder / "kernel.joblib", folder / "moved.csv", "--report", tmp_path / "r.json", *how)
        found.append(json.loads((tmp_path / "r.json").read_text())["drift"])
    assert found[0] == found[1]


def test_a_model_without_a_profile_says_so_before_anything_is_written(folder: Path, tmp_path: Path) -> None:
    older, out, report = tmp_path / "older.joblib", tmp_path / "out.csv", tmp_path / "r.json"
    artifact.save(replace(load_model(str(folder / "paper.joblib")), profile=None).to_document(), str(older))
    outcome = run("predict", older, folder / "same.csv", "--fail-drift", "0.2", "-o", out)
    assert outcome.code == 2
    assert "fit it again" in outcome.stderr
    assert not out.exists()
    succeed("predict", older, folder / "same.csv", "--report", report, "-o", out)
    assert json.loads(report.read_text())["drift"] is None


def test_a_table_without_rows_does_not_drift(folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text(HEAD + "\n")
    assert run("predict", folder / "kernel.joblib", empty, "--fail-drift", "0.2").code == 0
