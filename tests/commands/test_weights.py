"""--weight from the shell and from Python: what is read, refused, told and reported."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from enrelm import EnrelmRegressor
from tests.cli_runner import run, succeed

FIT = ("--variant", "approximate", "--format", "json")


def table(path: Path, weight: list[object], name: str = "w") -> Path:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((len(weight), 2))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(len(weight))
    lines = [f"{a:.5f},{b:.5f},{w},{t:.5f}" for (a, b), w, t in zip(X, weight, y, strict=True)]
    path.write_text("\n".join([f"a,b,{name},y", *lines]) + "\n")
    return path


def test_rows_of_weight_0_are_rows_that_are_not_there(tmp_path: Path) -> None:
    weight: list[object] = [k % 4 for k in range(120)]
    whole = table(tmp_path / "whole.csv", weight)
    header, *lines = whole.read_text().splitlines()
    kept = tmp_path / "kept.csv"
    kept.write_text("\n".join([header, *(line for line, w in zip(lines, weight, strict=True) if w)]) + "\n")
    one, other = (succeed("fit", path, "-t", "y", "--weight", "w", *FIT) for path in (whole, kept))
    assert one.json["validation_error"] == other.json["validation_error"]
    assert one.json["data"]["hash"] == other.json["data"]["hash"]
    assert one.json["rows"] == 90
    assert "30 rows of weight 0 left out" in one.json["notes"]
    assert "90 rows weighted by 'w' count for 180" in one.json["notes"]


@pytest.mark.parametrize("change", ["order", "disk", "scale"])
def test_the_model_is_the_same(tmp_path: Path, change: str) -> None:
    """In another order, from disk, and with weights of another scale where they are shares."""
    shares: list[object] = [(1 + k % 3) / 1024 for k in range(100)]
    data = table(tmp_path / "t.csv", shares)
    before = succeed("fit", data, "-t", "y", "--weight", "w", *FIT).json
    more: tuple[object, ...] = ()
    if change == "order":
        header, *lines = data.read_text().splitlines()
        data.write_text("\n".join([header, *lines[::-1]]) + "\n")
    elif change == "disk":
        more = ("--memory", "1K")
    else:
        data = table(tmp_path / "t.csv", [4.0 * float(str(w)) for w in shares])
    after = succeed("fit", data, "-t", "y", "--weight", "w", *more, *FIT).json
    assert after["validation_error"] == pytest.approx(before["validation_error"], rel=1e-9)
    assert (after["data"]["hash"] == before["data"]["hash"]) is (change != "scale")


def test_a_weight_that_is_none_is_a_data_error_with_its_place(tmp_path: Path) -> None:
    for cell, place in (
        ("-1", "line 5: '-1'"),
        ("", "line 5: ''"),
        ("inf", "line 5: 'inf'"),
        ("1e300", "line 5: '1e300'"),
    ):
        weight: list[object] = [1, 2, 3, cell, *[1] * 30]
        outcome = run("fit", table(tmp_path / "t.csv", weight), "-t", "y", "--weight", "w")
        assert outcome.code == 3
        assert "weight 'w' is missing, negative or above 1e12 in 1 row" in outcome.stderr
        assert place in outcome.stderr
        assert "0 leaves a row out" in outcome.stderr
    zero = run("fit", table(tmp_path / "t.csv", [0] * 30), "-t", "y", "--weight", "w")
    assert zero.code == 3
    assert "is zero in every row" in zero.stderr
    text = run("fit", table(tmp_path / "t.csv", ["much"] * 30), "-t", "y", "--weight", "w")
    assert text.code == 3
    assert "a weight is a number" in text.stderr


def test_a_weight_is_no_input_and_has_no_other_role(tmp_path: Path) -> None:
    data = table(tmp_path / "t.csv", [1 + k % 2 for k in range(60)])
    assert succeed("fit", data, "-t", "y", "--weight", "w", *FIT).json["inputs"] == ["a", "b"]
    for option in ("--inputs", "--drop", "--categorical"):
        outcome = run("fit", data, "-t", "y", "--weight", "w", option, "w")
        assert outcome.code == 2
        assert f"{option} and --weight" in outcome.stderr
    assert run("fit", data, "-t", "y", "--weight", "y").code == 2
    missing = run("fit", data, "-t", "y", "--weight", "W")
    assert missing.code == 3
    assert "did you mean 'w'?" in missing.stderr


def test_predict_reports_weighted_errors_where_the_table_has_the_weights(tmp_path: Path) -> None:
    data, model = table(tmp_path / "t.csv", [k % 5 for k in range(80)]), tmp_path / "m.joblib"
    succeed("fit", data, "-t", "y", "--weight", "w", "--variant", "kernel", "--no-tune", "-o", model)
    out, report = tmp_path / "p.csv", tmp_path / "r.json"
    succeed("predict", model, data, "-o", out, "--report", report, "--interval", 0.8)
    told = json.loads(report.read_text())
    rows = np.genfromtxt(data, delimiter=",", names=True)
    found = np.genfromtxt(out, delimiter=",", names=True)
    w, gap = rows["w"], rows["y"] - found["prediction"]
    assert told["errors"]["rmse"] == pytest.approx(np.sqrt(w @ gap**2 / w.sum()), rel=1e-6)
    assert told["errors"]["mae"] == pytest.approx(w @ np.abs(gap) / w.sum(), rel=1e-6)
    assert told["errors"]["rows"] == np.count_nonzero(w)
    inside = (rows["y"] >= found["lower"]) & (rows["y"] <= found["upper"])
    assert told["coverage"] == pytest.approx(w @ inside / w.sum())
    bare = table(tmp_path / "bare.csv", [1] * 80, name="other")
    succeed("predict", model, bare, "-o", out, "--report", report)
    assert json.loads(report.read_text())["errors"]["rows"] == 80


def test_other_methods_see_the_weights(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    weight: list[object] = [1 if k % 3 else 40 for k in range(90)]
    data = table(tmp_path / "t.csv", weight)
    asked = ("compare", data, "-t", "y", "--repeats", 1, "--format", "json", "--method", "ridge", "--method", "linear")
    one, other = (succeed(*asked, *more).json for more in (("--weight", "w"), ("--drop", "w")))
    assert [row["error"] for row in one["rows"]] != [row["error"] for row in other["rows"]]


def test_sample_weight_is_the_weight(tmp_path: Path) -> None:
    weight: list[object] = [1 + k % 3 for k in range(90)]
    data, model = table(tmp_path / "t.csv", weight), tmp_path / "m.joblib"
    rows = np.genfromtxt(data, delimiter=",", names=True)
    X = np.column_stack([rows["a"], rows["b"]])
    succeed("fit", data, "-t", "y", "--weight", "w", "--variant", "approximate", "-o", model)
    estimator = EnrelmRegressor(variant="approximate")
    fitted = estimator.fit(X, rows["y"], sample_weight=rows["w"])
    out = tmp_path / "p.csv"
    succeed("predict", model, data, "-o", out)
    np.testing.assert_allclose(fitted.predict(X), np.genfromtxt(out, skip_header=1), rtol=1e-9)
    assert not np.allclose(fitted.predict(X), EnrelmRegressor(variant="approximate").fit(X, rows["y"]).predict(X))


def test_sample_weight_is_routed_through_a_search() -> None:
    pytest.importorskip("sklearn")
    from sklearn import config_context
    from sklearn.model_selection import GridSearchCV

    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 2))
    with config_context(enable_metadata_routing=True):
        one = (
            EnrelmRegressor(variant="approximate")
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True)
        )
        search = GridSearchCV(one, {"neurons": [1, 3]}, cv=2).fit(X, X[:, 0], sample_weight=rng.integers(1, 4, 60))
    assert search.best_estimator_.model_.encoding.weight == "weight"
