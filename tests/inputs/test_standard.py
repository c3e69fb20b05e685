"""Standardised inputs."""

from __future__ import annotations

import numpy as np
import pytest

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.inputs.moments import MomentsOf
from enrelm_cli.inputs.split import Everything, Side
from enrelm_cli.inputs.training import cut, rows_of_arrays, training
from tests.problems import problem, whole


def test_training_inputs_and_target_have_mean_zero_and_spread_one() -> None:
    X, y = problem(0, T=500)
    data = whole(X, y)
    rows = data.view(data.rows.sample, Side.TRAIN)
    np.testing.assert_allclose(rows.X.mean(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(rows.X.std(axis=0), 1.0, atol=1e-13)
    np.testing.assert_allclose([rows.y.mean(), rows.y.std()], [0.0, 1.0], atol=1e-13)


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_moments_do_not_depend_on_how_rows_are_cut(size: int) -> None:
    X, y = problem(1, T=1000)
    X[:, 0] += 1e9
    rows = rows_of_arrays(X, y)
    exponent = np.zeros(X.shape[1] + 1, np.int64)
    whole_chunk = rows.sample.take(np.argsort(rows.sample.numbers()))
    partial = MomentsOf(Everything(), Side.TRAIN, whole(X, y).view.input_map.expansion, exponent)
    moments = LocalEngine(2).fold(cut(whole_chunk, size), partial, "moments")
    np.testing.assert_allclose(moments.mean[:-1], X.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(np.sqrt(moments.squares[:-1] / 1000), X.std(axis=0), rtol=1e-7)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_extreme_scales_are_standardised_like_any_other(scale: float) -> None:
    X, y = problem(2)
    plain = whole(X, y)
    scaled = whole(X * scale / 16.0, y)
    expected = plain.view.input_map.inputs(X)
    np.testing.assert_allclose(scaled.view.input_map.inputs(X * scale / 16.0), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-12, 1e12, 1e200])
def test_targets_of_any_scale_are_standardised(scale: float) -> None:
    X, y = problem(3)
    found = whole(X, y * scale).view.target_scale.forward(y * scale)
    np.testing.assert_allclose(found, whole(X, y).view.target_scale.forward(y), rtol=1e-9, atol=1e-12)


def test_a_constant_input_is_left_out() -> None:
    X, y = problem(4)
    X[:, 2] = 7.0
    assert whole(X, y).view.input_map.keep.tolist() == [0, 1, 3, 4, 5]


def test_only_constant_inputs_are_an_error() -> None:
    with pytest.raises(DataError, match="every input is constant"):
        whole(np.ones((20, 3)), np.arange(20.0))


def test_a_constant_target_is_an_error() -> None:
    X, _ = problem(5)
    with pytest.raises(DataError, match="is constant on the 60 training rows"):
        training(rows_of_arrays(X, np.full(60, 3.0)), Everything())


def test_a_far_value_at_predict_stays_finite() -> None:
    X, y = problem(6)
    far = np.full((2, 6), 1e308) * np.array([[1.0], [-1.0]])
    assert np.isfinite(whole(X, y).view.input_map.inputs(far)).all()
