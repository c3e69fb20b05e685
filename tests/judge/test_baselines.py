"""The fast baselines equal the slow ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import erf

from enrelm_cli.inputs.split import RowSplit, Side
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.inputs.training import Training, cut, rows_of_arrays, training
from enrelm_cli.judge import baselines
from enrelm_cli.judge.baselines import (
    ElmCurves,
    LinearRows,
    RandomElm,
    elm_curve,
    elm_weights,
    linear_error,
    linear_network,
    nested_least_squares,
)
from enrelm_cli.kernels import activation
from enrelm_cli.settings import ElmSettings
from enrelm_cli.types import Array
from tests import paper


def problem(seed: int, T: int = 90, V: int = 40, d: int = 5) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    X, X_valid = rng.standard_normal((T, d)), rng.standard_normal((V, d))
    a = rng.standard_normal(d)
    y = np.sin(X @ a) + X[:, 0] + 0.3 * rng.standard_normal(T)
    y_valid = np.sin(X_valid @ a) + X_valid[:, 0] + 0.3 * rng.standard_normal(V)
    return X, y - y.mean(), X_valid, y_valid - y.mean()


def slow(X: Array, y: Array, X_valid: Array, y_valid: Array, W: Array) -> tuple[Array, Array]:
    return paper.elm_curve(X.T, y, X_valid.T, y_valid, len(W), W)


def as_they_are(X: Array, y: Array, X_valid: Array, y_valid: Array, piece_rows: int = 8192) -> Training:
    """Rows that are standardised already, the first ones training."""
    rows = rows_of_arrays(np.concatenate([X, X_valid]), np.concatenate([y, y_valid]))
    whole = rows.sample.take(np.argsort(rows.sample.numbers()))
    rows = replace(rows, pieces=cut(replace(whole, row=0, index=None), piece_rows))
    d = X.shape[1]
    sides = np.repeat(np.array([0, 1], np.uint8), [len(y), len(y_valid)])
    data = training(rows, RowSplit(sides))
    identity = replace(data.view.input_map, mean=np.zeros(d), scale=np.ones(d))
    return data.through(identity, TargetScale(0.0, 1.0))


def elm_curves(
    X: Array, y: Array, X_valid: Array, y_valid: Array, n_max: int, piece_rows: int = 8192, **options: Any
) -> ElmCurves:
    scale = np.sqrt(y @ y / len(y))
    data = as_they_are(X, y / scale, X_valid, y_valid / scale, piece_rows)
    return baselines.elm_curves(data, RandomElm(n_max, **options))


# The random ELM


@pytest.mark.parametrize("seed", range(4))
def test_one_qr_gives_the_curve_of_one_inversion_per_size(seed: int) -> None:
    X, y, X_valid, y_valid = problem(seed)
    W = elm_weights(45, 5, np.random.SeedSequence(seed))
    train, valid = elm_curve(erf(X @ W.T), y, erf(X_valid @ W.T), y_valid)
    slow_train, slow_valid = slow(X, y, X_valid, y_valid, W)
    np.testing.assert_allclose(train, slow_train, rtol=0, atol=1e-10)
    np.testing.assert_allclose(valid, slow_valid, rtol=0, atol=1e-10)


def test_realisations_are_seeded_one_by_one_and_summarised_per_size() -> None:
    X, y, X_valid, y_valid = problem(7)
    curves = elm_curves(X, y, X_valid, y_valid, n_max=20, realizations=5, seed=3)
    each = [
        slow(X, y, X_valid, y_valid, np.random.default_rng(child).standard_normal((20, 5)) / np.sqrt(5))
        for child in np.random.SeedSequence(3).spawn(5)
    ]
    for spread, curve in [(curves.train, [t for t, _ in each]), (curves.validation, [v for _, v in each])]:
        np.testing.assert_allclose(spread.mean, np.mean(curve, axis=0), atol=1e-10)
        np.testing.assert_allclose(spread.std, np.std(curve, axis=0), atol=1e-10)
        np.testing.assert_allclose(spread.min, np.min(curve, axis=0), atol=1e-10)
        np.testing.assert_allclose(spread.max, np.max(curve, axis=0), atol=1e-10)


def test_blocks_of_rows_give_the_curve_of_all_rows() -> None:
    data = problem(8, T=200, V=70)
    whole = elm_curves(*data, n_max=30, realizations=2)
    blocked = elm_curves(*data, n_max=30, realizations=2, piece_rows=16)  # fewer rows than neurons
    np.testing.assert_allclose(blocked.train.mean, whole.train.mean, atol=1e-11)
    np.testing.assert_allclose(blocked.validation.max, whole.validation.max, atol=1e-11)


def test_one_pass_for_all_realisations_equals_one_fold_for_each() -> None:
    data = as_they_are(*problem(9))
    one_pass = replace(data, rows=replace(data.rows, in_memory=False))
    elm = RandomElm(25, 4)
    each, together = baselines.elm_curves(data, elm), baselines.elm_curves(one_pass, elm)
    assert np.array_equal(each.validation.mean, together.validation.mean)
    assert np.array_equal(each.train.std, together.train.std)


def test_fewer_neurons_are_the_start_of_more() -> None:
    data = problem(10)
    few, more = (elm_curves(*data, n_max=n, realizations=3).validation.mean for n in (10, 30))
    np.testing.assert_allclose(few, more[:10], atol=1e-12)


def test_seed_weight_std_and_activation_matter() -> None:
    data = problem(11)
    default = elm_curves(*data, n_max=8, realizations=3).validation.mean
    for other in (
        elm_curves(*data, n_max=8, realizations=3, seed=2),
        elm_curves(*data, n_max=8, realizations=3, weight_std=1.0),
        elm_curves(*data, n_max=8, realizations=3, sigma=activation.named("tanh")),
    ):
        assert np.abs(other.validation.mean - default).max() > 1e-3
    same = elm_curves(*data, n_max=8, realizations=3, weight_std=1 / np.sqrt(5))
    np.testing.assert_allclose(same.validation.mean, default, atol=1e-12)


def test_training_error_never_rises_with_size() -> None:
    train = elm_curves(*problem(12), n_max=45, realizations=1).train.mean
    assert (np.diff(train) <= 0).all()


def test_a_repeated_neuron_adds_nothing_and_the_next_one_still_counts() -> None:
    X, y, X_valid, y_valid = problem(13)
    W = elm_weights(12, 5, np.random.SeedSequence(1))
    W[4], W[7] = W[1], 0.0  # a twin, and a neuron that is always 0
    train, valid = elm_curve(erf(X @ W.T), y, erf(X_valid @ W.T), y_valid)
    assert train[4] == train[3]
    assert valid[4] == valid[3]
    assert train[7] == train[6]
    assert valid[7] == valid[6]
    slow_train, slow_valid = slow(X, y, X_valid, y_valid, W)
    np.testing.assert_allclose(train, slow_train, atol=1e-10)
    np.testing.assert_allclose(valid, slow_valid, atol=1e-10)


def test_more_neurons_than_rows_interpolate_and_stay_finite() -> None:
    X, y, X_valid, y_valid = problem(14, T=15)
    curves = elm_curves(X, y, X_valid, y_valid, n_max=25, realizations=2)
    assert curves.train.max[15:].max() < 1e-9
    assert np.isfinite(curves.validation.max).all()
    assert (curves.validation.mean[15:] == curves.validation.mean[14]).all()


def test_one_input_makes_nearly_dependent_neurons_without_wild_training_errors() -> None:
    X, y, X_valid, y_valid = problem(15, T=200, d=1)
    curves = elm_curves(X, y, X_valid, y_valid, n_max=60, realizations=3)
    assert np.isfinite(curves.validation.max).all()
    assert (np.diff(curves.train.mean) <= 1e-12).all()


def test_coefficients_of_a_size_predict_that_point_of_the_curve() -> None:
    X, y, X_valid, _ = problem(16)
    W = elm_weights(12, 5, np.random.SeedSequence(1))
    W[4] = W[1]
    S, S_valid = erf(X @ W.T), erf(X_valid @ W.T)
    fit = nested_least_squares(baselines.triangle(S, y), len(y))
    for neurons in (1, 4, 5, 6, 12):
        expected = S_valid[:, :neurons] @ fit.coefficients(neurons)
        np.testing.assert_allclose(fit.predictions(S_valid)[:, neurons - 1], expected, atol=1e-11)
    assert fit.coefficients(12)[4] == 0.0


# Linear regression


def lstsq(X: Array, y: Array, X_new: Array) -> Array:
    b, *_ = np.linalg.lstsq(X, y, rcond=1e-9)
    return X_new @ b


def test_linear_regression_equals_lstsq() -> None:
    X, y, X_new, y_new = problem(20)
    network = linear_network(as_they_are(X, y, X_new, y_new))
    np.testing.assert_allclose(network.predict(X_new), lstsq(X, y, X_new), atol=1e-11)


def test_dependent_columns_give_the_shortest_solution() -> None:
    X, y, X_new, y_new = problem(21)
    X, X_new = (np.column_stack([A, A[:, 0] + A[:, 1], A[:, 2]]) for A in (X, X_new))
    network = linear_network(as_they_are(X, y, X_new, y_new))
    np.testing.assert_allclose(network.predict(X_new), lstsq(X, y, X_new), atol=1e-9)
    b, *_ = np.linalg.lstsq(X, y, rcond=1e-9)
    np.testing.assert_allclose(network.beta, b, atol=1e-9)


def test_fewer_rows_than_inputs_stay_finite() -> None:
    X, y, X_new, y_new = problem(22, T=4, V=9, d=7)
    network = linear_network(as_they_are(X, y, X_new, y_new))
    np.testing.assert_allclose(network.predict(X), y, atol=1e-9)
    assert np.isfinite(network.predict(X_new)).all()


@pytest.mark.parametrize(("T", "d"), [(90, 5), (30, 60)])
def test_the_error_of_linear_regression_from_sums_is_that_of_its_residuals(T: int, d: int) -> None:
    X, y, X_new, y_new = problem(23, T=T, d=d)
    data = as_they_are(X, y, X_new, y_new, piece_rows=32)
    expected = np.linalg.norm(lstsq(X, y, X_new) - y_new) / np.linalg.norm(y_new)
    assert linear_error(data, Side.VALIDATION) == pytest.approx(expected)
    sums = data.fold(LinearRows(data.view, (Side.TRAIN, Side.VALIDATION)), "sums")
    assert linear_error(data, Side.VALIDATION, sums) == pytest.approx(expected)
    residual = np.linalg.norm(lstsq(X, y, X) - y) / np.linalg.norm(y)
    assert linear_error(data, Side.TRAIN) == pytest.approx(residual, abs=1e-12)


@pytest.mark.parametrize("targets", [(), (2,)])
def test_columns_of_zeros_explain_nothing(targets: tuple[int, ...]) -> None:
    y = np.random.default_rng(0).standard_normal((7, *targets))
    fit = nested_least_squares(baselines.triangle(np.zeros((7, 3)), y), 7, targets)
    assert len(fit.columns) == 0
    np.testing.assert_allclose(fit.training_squares(), np.full(3, np.sum(y**2)))
    np.testing.assert_array_equal(fit.coefficients(3), np.zeros((3, *targets)))
    rows = rows_of_arrays(np.zeros((7, 1)), np.zeros(7)).sample
    np.testing.assert_allclose(fit.squares(np.ones((7, 3)), replace(rows, y=y)), np.full(3, np.sum(y**2)))
    if not targets:
        np.testing.assert_array_equal(fit.predictions(np.ones((4, 3))), np.zeros((4, 3)))


@pytest.mark.parametrize("rows", [4, 20])
def test_coefficients_of_several_targets_are_those_of_least_squares(rows: int) -> None:
    rng = np.random.default_rng(1)
    S, y = rng.standard_normal((rows, 6)), rng.standard_normal((rows, 2))
    S[:, 2] = S[:, 0] - S[:, 1]
    fit = nested_least_squares(baselines.triangle(S, y), rows, (2,))
    for n in range(1, 7):
        expected = S[:, :n] @ np.linalg.lstsq(S[:, :n], y, rcond=None)[0]
        np.testing.assert_allclose(S[:, :n] @ fit.coefficients(n), expected, atol=1e-9)
        np.testing.assert_allclose(fit.training_squares()[n - 1], np.sum((y - expected) ** 2), atol=1e-9)


def test_a_band_is_that_of_the_curves_and_goes_as_far_as_all_folds_do() -> None:
    X, y, X_valid, y_valid = problem(3)
    folds = [as_they_are(X[:n], y[:n] / y[:n].std(), X_valid, y_valid) for n in (90, 30)]
    settings = ElmSettings(realizations=3, seed=5)
    bands = [baselines.elm_band(data, settings, None) for data in folds]
    assert [len(band.mean) for band in bands] == [45, 15]
    assert len(baselines.elm_band(folds[0], settings, 4).mean) == 4
    curves = baselines.elm_curves(folds[0], RandomElm(45, 3, 5))
    np.testing.assert_array_equal(bands[0].mean, curves.validation.mean)
    np.testing.assert_array_equal(bands[0].train_high, curves.train.max)
    both = baselines.elm_band_over(folds, settings, None)
    for name in ("mean", "std", "low", "high", "train_mean", "train_low", "train_high"):
        one, other = (getattr(band, name)[:15] for band in bands)
        np.testing.assert_allclose(getattr(both, name), 0.5 * (one + other))


def test_an_error_of_nothing_is_that_of_the_rows_not_of_a_difference_of_sums() -> None:
    X, _, X_valid, _ = problem(4)
    b = np.array([1.0, -2.0, 0.5, 3.0, 1.0])
    scale = float(np.sqrt(np.mean((X @ b) ** 2)))
    data = as_they_are(X, X @ b / scale, X_valid, X_valid @ b / scale)
    assert linear_error(data, Side.VALIDATION) < 1e-12
