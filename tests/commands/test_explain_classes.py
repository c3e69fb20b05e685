"""enrelm explain of classes: effects on log-odds and scores, figures of probabilities, and what a model file keeps."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import enrelm
from enrelm_cli.commands.explanation.learning import columns_that_matter, kept, learn
from enrelm_cli.commands.explanation.pages import info_page
from enrelm_cli.commands.explanation.subjects import subjects_of
from enrelm_cli.commands.saved import load_model
from enrelm_cli.errors import ModelFileError
from enrelm_cli.model import artifact
from enrelm_cli.model.explanation.learnt import Learnt, thinned
from enrelm_cli.model.model import Model
from tests.cli_runner import run, succeed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Log-odds 3 a, +1.5 in Cork, and a column that says nothing; three classes, one of which b > 0 rules out."""
    random = np.random.default_rng(3)
    n, folder = 500, tmp_path_factory.mktemp("classes")
    a, b = random.uniform(-1.0, 1.0, (2, n))
    town = random.choice(["Ada", "Bern", "Cork"], n)
    log_odds = 3.0 * a + np.where(town == "Cork", 1.5, 0.0)
    yes = random.uniform(size=n) < 1.0 / (1.0 + np.exp(-log_odds))
    kind = np.where(yes, "yes", np.where(b > 0.0, "no", "maybe"))
    for name, target in (("two", np.where(yes, "yes", "no")), ("three", kind)):
        rows = [f"{x:.5f},{z:.5f},{t},{y}" for x, z, t, y in zip(a, b, town, target, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(["a,b,town,y", *rows]) + "\n", encoding="utf-8")
        path = str(folder / f"{name}.joblib")
        succeed("fit", folder / f"{name}.csv", "-t", "y", "--variant", "kernel", "--no-tune", "-o", path)
    return folder


def explained(folder: Path, name: str, *options: str) -> Any:
    return succeed("explain", folder / f"{name}.joblib", folder / f"{name}.csv", *options, "--format", "json").json


def test_effects_of_two_classes_are_on_the_log_odds_of_the_second(folder: Path) -> None:
    found = explained(folder, "two")
    assert found["classes"] == ["yes"]
    (a,) = [one for one in found["effects"] if one["column"] == "a"]
    assert (a["class"], a["on"]) == ("yes", "log-odds of yes")
    at = np.array([point["value"] for point in a["points"]])
    effect = np.array([point["effect"] for point in a["points"]])
    slope = np.polyfit(at, effect, 1)[0]
    assert 1.8 < slope < 4.2  # 3, shrunk by the ridge and blurred by 500 rows
    (town,) = [one for one in found["effects"] if one["column"] == "town"]
    assert town["points"][-1]["value"] == "Cork"
    assert found["errors"] is None
    assert found["metrics"]["accuracy"] > 0.7
    assert found["residuals"][0]["column"] is None


def test_the_other_of_two_classes_has_the_opposite_effects(folder: Path) -> None:
    mine, theirs = explained(folder, "two"), explained(folder, "two", "--of-class", "no")
    for one, other in zip(mine["effects"][0]["points"], theirs["effects"][0]["points"], strict=True):
        assert one["effect"] == pytest.approx(-other["effect"], abs=1e-8)


def test_each_of_three_classes_has_its_effects_and_they_cancel(folder: Path) -> None:
    found = explained(folder, "three")
    of_b = {
        one["class"]: [point["effect"] for point in one["points"]] for one in found["effects"] if one["column"] == "b"
    }
    assert set(of_b) == {"maybe", "no", "yes"}
    np.testing.assert_allclose(np.sum(list(of_b.values()), axis=0), 0.0, atol=1e-8)
    assert of_b["no"][-1] > of_b["no"][0]
    assert of_b["maybe"][-1] < of_b["maybe"][0]


def test_the_worst_rows_of_classes_are_the_least_probable(folder: Path) -> None:
    found = explained(folder, "three")
    lines = (folder / "three.csv").read_text(encoding="utf-8").splitlines()
    chances = [row["probability"] for row in found["worst"]]
    assert chances == sorted(chances)
    for row in found["worst"]:
        assert lines[row["line"] - 1].split(",")[-1] == row["target"]
        assert row["residual"] is None


def test_explain_of_classes_in_every_format(folder: Path, tmp_path: Path) -> None:
    model, data, page = folder / "three.joblib", folder / "three.csv", tmp_path / "page.html"
    rows = list(csv.DictReader(io.StringIO(succeed("explain", model, data, "--format", "csv").stdout)))
    assert {row["class"] for row in rows} == {"maybe", "no", "yes"}
    text = succeed("explain", model, data, "--report", page, "--plot", tmp_path / "plot.svg").stdout
    assert "score of" in text
    assert "log-loss" in text
    assert page.read_text(encoding="utf-8").count("<figure>") == 9
    assert "Effect of b on no" in page.read_text(encoding="utf-8")


def test_an_unknown_class_is_refused_and_so_is_one_of_numbers(folder: Path, sample_data: Path, tmp_path: Path) -> None:
    refused = run("explain", folder / "two.joblib", folder / "two.csv", "--of-class", "yess")
    assert refused.code == 2
    assert "yes" in refused.stderr
    refused = run("explain", folder / "two.joblib", folder / "two.csv", "--of-class", "blue")
    assert refused.stderr.endswith("hint: its classes are no, yes\n")
    path = tmp_path / "number.joblib"
    succeed("fit", sample_data / "linear.csv", "-t", "y", "--variant", "approximate", "-o", path)
    refused = run("explain", path, sample_data / "linear.csv", "--of-class", "yes")
    assert refused.code == 2
    assert "number" in refused.stderr


# --- what a model file keeps ------------------------------------------------------------------------------------------


def model_of(folder: Path) -> Model:
    return load_model(str(folder / "three.joblib"))


def test_a_model_keeps_what_explain_finds_on_its_own_rows(folder: Path) -> None:
    model = model_of(folder)
    assert model.learnt is not None
    found = explained(folder, "three")
    kept_effects = {(one.column, one.score): one.points for one in model.learnt.effects}
    names, classes = [column.name for column in model.encoding.columns], model.classes or ()
    for one in found["effects"]:
        points = kept_effects[names.index(one["column"]), classes.index(one["class"])]
        np.testing.assert_allclose(points[:, 1], [point["effect"] for point in one["points"]], atol=1e-6)


def test_a_page_of_a_saved_model_shows_its_effects(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "info.html"
    succeed("info", folder / "three.joblib", "--report", page)
    text = page.read_text(encoding="utf-8")
    assert "Effects of columns" in text
    assert "Columns that act together" in text


def test_the_curve_that_is_kept_is_the_curve(sample_data: Path, tmp_path: Path) -> None:
    path, page = tmp_path / "model.joblib", tmp_path / "info.html"
    fitted = enrelm.fit(sample_data / "friedman.csv", "y", variant="approximate")
    assert fitted.model_.learnt is not None
    sizes = fitted.model_.learnt.curve[:, 0].astype(int)
    np.testing.assert_array_equal(fitted.model_.learnt.curve[:, 1], fitted.curve_.train[sizes - 1])
    np.testing.assert_array_equal(fitted.model_.learnt.curve[:, 2], fitted.curve_.validation[sizes - 1])
    fitted.save(path)
    succeed("info", path, "--report", page)
    assert "Error curve" in page.read_text(encoding="utf-8")


def test_sizes_that_are_kept_start_at_1_and_end_at_the_last() -> None:
    train = np.linspace(1.0, 0.1, 5000)
    points = thinned(train, train)
    assert points[0, 0] == 1.0
    assert points[-1, 0] == 5000.0
    assert len(points) <= 100
    assert len(thinned(np.full(3, np.nan), np.ones(3))) == 0


def test_an_older_model_has_a_page_without_effects(folder: Path, tmp_path: Path) -> None:
    document = model_of(folder).to_document()
    del document["learnt"]
    older = str(tmp_path / "older.joblib")
    artifact.save(document, older)
    assert info_page(older).explained is None


NONSENSE: list[tuple[str, Any]] = [
    ("rows", -1),
    ("rows", "many"),
    ("scores", [7]),
    ("averages", np.zeros(9)),
    ("posterior", 1),
    ("pairs", np.full((1, 4), 99.0)),
    ("pairs", np.zeros((2, 3))),
    ("curve", np.array([[2.0, 1.0, 1.0], [1.0, 1.0, 1.0]])),
    ("curve", np.array([[1e12, 1.0, 1.0]])),
    ("widths", np.full((1, 2), np.nan)),
]


@pytest.mark.parametrize(("name", "value"), NONSENSE)
def test_a_document_with_nonsense_is_refused(folder: Path, name: str, value: Any) -> None:
    document = model_of(folder).to_document()
    document["learnt"] = {**document["learnt"], name: value}
    with pytest.raises(ModelFileError):
        Model.from_document(document)


@pytest.mark.parametrize(
    ("name", "value"),
    [("column", 99), ("score", 9), ("missing", -2), ("points", np.zeros((0, 4))), ("points", np.full((2, 4), 77.0))],
)
def test_an_effect_with_nonsense_is_refused(folder: Path, name: str, value: Any) -> None:
    document = model_of(folder).to_document()
    towns = [place for place, one in enumerate(document["learnt"]["effects"]) if one["column"] == 2]
    document["learnt"]["effects"][towns[0]][name] = value
    with pytest.raises(ModelFileError):
        Model.from_document(document)


def test_what_is_kept_comes_back_from_its_document_and_is_of_few_rows_where_work_is_much(folder: Path) -> None:
    model = model_of(folder)
    assert model.learnt is not None
    again = Learnt.from_document(model.learnt.to_document())
    np.testing.assert_array_equal(again.effects[0].points, model.learnt.effects[0].points)
    X = np.zeros((50, 3))
    X[:, 0] = np.linspace(-1.0, 1.0, 50)
    few = kept(replace(model, learnt=None), X, None)
    whole = learn(model, X, subjects_of(model), columns_that_matter(model))
    assert few.rows == whole.rows == 50
