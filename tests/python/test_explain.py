"""explain and contributions of the estimators: what the command line finds, of frames and arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import enrelm
from tests.cli_runner import succeed

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def houses(sample_data: Path) -> Any:
    return pandas.read_csv(sample_data / "houses.csv").drop(columns="house_id")


@pytest.fixture(scope="module")
def model(houses: Any) -> enrelm.EnrelmRegressor:
    return enrelm.EnrelmRegressor(variant="kernel", tune=False).fit(houses.drop(columns="price"), houses.price)


def test_explain_finds_what_the_command_line_finds(
    model: enrelm.EnrelmRegressor, houses: Any, sample_data: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model.joblib"
    model.save(path)
    theirs = succeed("explain", path, sample_data / "houses.csv", "--format", "json").json
    mine = model.explain(houses.drop(columns="price"), houses.price).to_json()
    assert mine["errors"] == pytest.approx(theirs["errors"])
    assert mine["pairs"] == theirs["pairs"]
    assert mine["effects"] == theirs["effects"]
    assert [row["row"] for row in mine["worst"]] == [row["row"] for row in theirs["worst"]]


def test_explain_without_targets_judges_nothing_and_can_be_drawn(model: enrelm.EnrelmRegressor, houses: Any) -> None:
    found = model.explain(houses.drop(columns="price"), columns=["area_m2"], partial_dependence=True)
    assert [one.name for one in found.effects] == ["area_m2"]
    assert found.errors is None
    assert "area_m2 moves it by" in repr(found)
    assert "<svg" in found._repr_html_()
    pytest.importorskip("matplotlib")
    assert found.plot() is not None


def test_contributions_add_up(model: enrelm.EnrelmRegressor, houses: Any) -> None:
    X = houses.drop(columns="price").head(20)
    parts = model.contributions(X)
    assert list(parts.columns[:2]) == ["prediction", "average"]
    np.testing.assert_allclose(parts.prediction, model.predict(X))
    np.testing.assert_allclose(parts.iloc[:, 1:].sum(axis=1), parts.prediction)


def test_a_classifier_explains_its_labels() -> None:
    random = np.random.default_rng(2)
    X = random.uniform(-1.0, 1.0, (200, 2))
    y = (X[:, 0] + 0.2 * random.standard_normal(200) > 0.0).astype(int)
    model = enrelm.EnrelmClassifier(variant="logistic").fit(X, y)
    found = model.explain(X, y)
    assert found.effects[0].on == "log-odds of 1"
    assert found.metrics.accuracy == pytest.approx((model.predict(X) == y).mean())
    parts = model.contributions(X)
    p = model.predict_proba(X)
    np.testing.assert_allclose(parts[:, 0], np.log(p[:, 1] / p[:, 0]), atol=1e-8)
    np.testing.assert_allclose(parts[:, 1:].sum(axis=1), parts[:, 0], atol=1e-8)


def test_an_unknown_column_and_a_model_that_is_not_fitted_are_refused(
    model: enrelm.EnrelmRegressor, houses: Any
) -> None:
    with pytest.raises(enrelm.EnrelmError, match="twon"):
        model.explain(houses.drop(columns="price"), columns="twon")
    with pytest.raises(ValueError, match="not fitted"):
        enrelm.EnrelmRegressor().explain(houses)
