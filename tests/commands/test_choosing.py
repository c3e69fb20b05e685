"""fit, curve, info and compare choose the same: over folds, by any metric, and with the simplest of ties."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enrelm_cli.inputs.training import rows_of_arrays
from enrelm_cli.judge.doubts import warnings_of
from enrelm_cli.judge.methods import methods as known_methods
from enrelm_cli.judge.metrics import Metrics
from tests.cli_runner import run as invoke

FAST = ("--no-tune",)


def run(*arguments: str) -> Any:
    result = invoke(*arguments, "--format", "json")
    assert result.code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 120 rows: y = 3 x1 + x2² + noise."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 3))
    y = 3.0 * X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=120) + 100.0
    return write(tmp_path_factory.mktemp("choosing") / "noisy.csv", ["x1", "x2", "x3", "y"], np.column_stack([X, y]))


def write(path: Path, names: list[str], rows: Any) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    return path


@pytest.fixture(scope="module")
def bent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 120 rows that a straight line does not fit."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=120)
    return write(tmp_path_factory.mktemp("choosing") / "bent.csv", ["x1", "x2", "y"], np.column_stack([X, y]))


@pytest.mark.parametrize("name", ["bent", "noisy"])
def test_fit_curve_info_and_compare_give_the_same_choice(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    table, model = str(request.getfixturevalue(name)), str(tmp_path / "m.joblib")
    kernel = ("--weight-variance", "0.5", "--bias-variance", "0.5", *FAST)
    fitted = run("fit", table, "-t", "y", *kernel, "-o", model)
    drawn = run("curve", table, "-t", "y", *kernel, "--variant", "all")
    told = run("info", model)
    methods = [word for one in ("approximate", "incremental", "kernel") for word in ("--method", one)]
    judged = run("compare", table, "-t", "y", *kernel, *methods)
    chosen = next(curve for curve in drawn["curves"] if curve["variant"] == drawn["chosen_variant"])
    assert fitted["variant"] == drawn["chosen_variant"] == told["variant"] == judged["recommended"]
    assert fitted["chosen_neurons"] == chosen["chosen"]["neurons"] == told["chosen_neurons"]
    assert fitted["selection"] == chosen["selection"] == told["selection"]
    assert fitted["neurons"] == told["neurons"]
    assert fitted["metrics"] == drawn["metrics"] == told["metrics"]
    assert f"--variant {fitted['variant']}" in drawn["fit_command"]
    assert f"--variant {fitted['variant']}" in judged["fit_command"]


def test_the_fit_that_the_curve_recommends_has_the_size_that_it_marks(noisy: Path) -> None:
    drawn = run("curve", str(noisy), "-t", "y", *FAST, "--variant", "incremental")
    n = drawn["chosen"]["neurons"]
    assert f"--neurons {n}" in drawn["fit_command"]
    assert run("fit", str(noisy), "-t", "y", *FAST, "--variant", "incremental", "--neurons", str(n))["neurons"] == n


def test_the_error_of_folds_is_of_every_row_once(noisy: Path) -> None:
    folded = run("fit", str(noisy), "-t", "y", *FAST, "--variant", "kernel")
    assert (folded["folds"], folded["validation_rows"], folded["metrics"]["rows"]) == (5, 120, 120)
    assert folded["validation_error"] == pytest.approx(folded["metrics"]["normalised_rmse"], rel=1e-9)
    single = run("fit", str(noisy), "-t", "y", *FAST, "--variant", "kernel", "--folds", "1")
    assert (single["folds"], single["validation_rows"]) == (1, 30)
    assert single["validation_error"] == pytest.approx(single["metrics"]["normalised_rmse"], rel=1e-9)
    assert folded["metrics"]["standard_errors"]["rmse"] < single["metrics"]["standard_errors"]["rmse"]


def test_a_fit_does_not_depend_on_the_folds_but_through_its_choice(noisy: Path) -> None:
    line = ("fit", str(noisy), "-t", "y", *FAST, "--variant", "kernel", "--neurons", "5")
    assert run(*line, "--folds", "1")["facts"] == run(*line, "--folds", "7")["facts"]


def test_folds_follow_the_search_of_the_first(noisy: Path) -> None:
    tuned = run("fit", str(noisy), "-t", "y", "--variant", "kernel")
    single = run("fit", str(noisy), "-t", "y", "--variant", "kernel", "--folds", "1")
    spread = single["metrics"]["standard_errors"]["normalised_rmse"]
    assert abs(tuned["validation_error"] - single["validation_error"]) < 3 * spread
    assert tuned["validation_error"] < 0.5


def test_mae_chooses_by_mae(noisy: Path) -> None:
    chosen = run("curve", str(noisy), "-t", "y", *FAST, "--variant", "approximate", "--metric", "mae")
    metrics, best = chosen["metrics"], chosen["choices"]["best"]
    y = np.genfromtxt(noisy, delimiter=",", skip_header=1)[:, -1]
    assert chosen["chosen"]["neurons"] == best["neurons"]
    # The curve is the MAE, related to that of the training mean.
    assert best["validation_error"] == pytest.approx(metrics["mae"] / np.mean(np.abs(y - y.mean())), rel=0.02)
    other = run("curve", str(noisy), "-t", "y", *FAST, "--variant", "approximate")
    assert metrics["mae"] <= other["metrics"]["mae"] * (1.0 + 1e-12)


def test_fail_above_is_in_the_unit_of_the_metric(noisy: Path) -> None:
    line = ("fit", str(noisy), "-t", "y", *FAST, "--variant", "approximate")
    rmse = run(*line)["metrics"]["rmse"]
    assert rmse > 0.5
    assert invoke(*line, "--metric", "rmse", "--fail-above", str(rmse * 1.01)).code == 0
    refused = invoke(*line, "--metric", "rmse", "--fail-above", str(rmse * 0.99))
    assert refused.code == 5
    assert "validation RMSE" in refused.stderr
    assert invoke(*line, "--metric", "r2", "--fail-above", "0.5").code == 2


def test_no_refit_needs_one_split(noisy: Path) -> None:
    line = ("fit", str(noisy), "-t", "y", *FAST, "--variant", "approximate", "--no-refit")
    assert run(*line)["folds"] == 1
    refused = invoke(*line, "--folds", "3")
    assert refused.code == 2
    assert "--no-refit" in refused.stderr


def test_folds_in_time_judge_later_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    t = np.arange(200.0)
    table = write(tmp_path / "t.csv", ["t", "x", "y"], np.column_stack([t, x := rng.normal(size=200), x + t / 10.0]))
    line = ("fit", str(table), "-t", "y", "--time", "t", *FAST, "--variant", "approximate")
    assert run(*line)["validation_rows"] == 50
    folded = run(*line, "--folds", "4")
    assert (folded["folds"], folded["validation_rows"]) == (4, 100)


@pytest.mark.parametrize("task", ["fit", "curve"])
def test_numbers_that_are_not_to_be_trusted_are_warned_of(task: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=60)
    names = ["a", "b", "copy", "y"]
    few = write(tmp_path / "few.csv", ["a", "b", "y"], np.column_stack([X, y])[:40])
    leak = write(tmp_path / "leak.csv", names, np.column_stack([X, np.exp(y / 3.0), y]))
    sound = write(tmp_path / "sound.csv", ["a", "b", "y"], np.column_stack([X, y]))
    line = ("-t", "y", *FAST, "--variant", "approximate")
    assert "only 40 rows" in run(task, str(few), *line)["warnings"][0]
    assert "'copy' alone predicts the target" in run(task, str(leak), *line)["warnings"][0]
    assert run(task, str(sound), *line)["warnings"] == []


def test_a_fit_that_is_too_good_is_warned_of() -> None:
    X = np.random.default_rng(1).normal(size=(60, 2))
    rows = rows_of_arrays(X, X @ [1.0, 2.0])
    assert warnings_of(rows, Metrics(60, 0.01, 0.1, 0.1, 0.9998)) == ()
    assert "an R² of 0.999950 is rarely real" in warnings_of(rows, Metrics(60, 0.005, 0.1, 0.1, 0.99995))[0]


def test_compare_says_which_methods_are_as_good_and_recommends_the_simplest(sample_data: Path) -> None:
    methods = ("--method", "approximate", "--method", "kernel", "--method", "linear")
    told = run("compare", str(sample_data / "linear.csv"), "-t", "y", *FAST, *methods)
    rows = {row["method"]: row for row in told["rows"]}
    best = told["rows"][0]
    for row in told["rows"]:
        more = np.array(row["errors"]) - np.array(best["errors"])
        tied = bool(more.mean() <= more.std(ddof=1) / np.sqrt(len(more)))
        assert row["as_good"] == tied
    assert told["ties"] == [row["method"] for row in told["rows"] if row["as_good"]]
    assert told["recommended"] == "linear"
    assert set(rows["kernel"]["metrics"]) >= {"normalised_rmse", "rmse", "mae", "r2"}
    assert rows["linear"]["metrics"]["rmse"] == pytest.approx(1.72, abs=0.05)


def test_the_simplest_comes_from_the_registry() -> None:
    known = known_methods()
    order = ["linear", "approximate", "incremental", "kernel", "local", "hist-gradient-boosting"]
    assert [known[name].complexity for name in order] == sorted({known[name].complexity for name in order})


def test_a_fit_says_why_a_variant_with_a_larger_error_is_taken(bent: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    straight = np.column_stack([X, 3.0 * X[:, 0] + rng.normal(size=120)]).tolist()
    told = run("fit", str(write(tmp_path / "straight.csv", ["a", "b", "y"], straight)), "-t", "y")
    best = min(told["candidates"], key=lambda candidate: float(candidate["validation_error"]))["variant"]
    assert best != told["variant"]
    assert any(
        note.startswith(f"variant: {told['variant']}, within a standard error of {best}") for note in told["notes"]
    )
    assert not any(note.startswith("variant: ") for note in run("fit", str(bent), "-t", "y")["notes"])


def test_a_target_of_two_values_could_be_classes(bent: Path, tmp_path: Path) -> None:
    with bent.open(encoding="utf-8") as file:
        names, *rows = list(csv.reader(file))
    two = write(tmp_path / "two.csv", names, [[*row[:-1], int(float(row[-1]) > 1.0)] for row in rows])
    note = "target: two values, fitted as numbers; --task classification makes them classes with probabilities"
    assert note in run("fit", str(two), "-t", "y", *FAST)["notes"]
    assert note not in run("fit", str(two), "-t", "y", *FAST, "--task", "classification")["notes"]
