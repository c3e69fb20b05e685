"""Several targets from Python: y of shape (rows, targets)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import enrelm
from enrelm import EnrelmRegressor
from enrelm_cli.types import Array
from tests.cli_runner import succeed

FIXED = {"variant": "kernel", "tune": False, "weight_variance": 0.2, "bias_variance": 0.5, "folds": 1}


def problem(rows: int = 160) -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((rows, 3))
    return X, np.column_stack([np.sin(X[:, 0]) + 0.1 * rng.standard_normal(rows), X[:, 1] * X[:, 2] + X[:, 0]])


def test_predictions_have_the_shape_of_y_and_are_those_of_each_target_alone() -> None:
    X, Y = problem()
    both = EnrelmRegressor(**FIXED).fit(X, Y)
    assert both.predict(X).shape == Y.shape
    assert len(both.neurons_) == len(both.curves_) == 2
    for k in range(2):
        alone = EnrelmRegressor(**FIXED).fit(X, Y[:, k])
        np.testing.assert_allclose(both.predict(X)[:, k], alone.predict(X), rtol=1e-8, atol=1e-8)
    assert both.score(X, Y) > 0.8


def test_intervals_have_the_columns_of_each_target_and_a_file_brings_the_model_back(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, Y = problem()
    frame = pandas.DataFrame(X, columns=["x", "y", "z"])
    both = EnrelmRegressor(**FIXED).fit(frame, pandas.DataFrame(Y, columns=["a", "b"]))
    found = both.predict(frame, return_interval=0.9)
    assert list(found.columns) == ["prediction_a", "lower_a", "upper_a", "prediction_b", "lower_b", "upper_b"]
    both.save(tmp_path / "m.joblib")
    again = enrelm.load(tmp_path / "m.joblib")
    np.testing.assert_array_equal(again.predict(frame), both.predict(frame))
    np.testing.assert_allclose(both.feature_importances_.sum(), 1.0)
    with pytest.raises(ValueError, match="predicts 2 targets"):
        both.with_neurons(3)


def test_a_table_with_several_targets_is_fitted_as_from_the_shell(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, Y = problem()
    frame = pandas.DataFrame(np.hstack([X, Y]), columns=["x", "y", "z", "a", "b"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    enrelm.fit(tmp_path / "t.csv", target=["a", "b"], **FIXED).save(tmp_path / "python.joblib")
    words = ("--variant", "kernel", "--no-tune", "--weight-variance", "0.2", "--bias-variance", "0.5", "--folds", "1")
    succeed("fit", tmp_path / "t.csv", "-t", "a,b", *words, "-o", tmp_path / "shell.joblib")
    assert (tmp_path / "python.joblib").read_bytes() == (tmp_path / "shell.joblib").read_bytes()


def test_a_target_that_is_not_finite_is_refused_in_scikit_learns_words() -> None:
    X, Y = problem()
    Y[3, 1] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN"):
        EnrelmRegressor(**FIXED).fit(X, Y)
