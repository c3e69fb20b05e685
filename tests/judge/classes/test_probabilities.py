"""Metrics, calibration and logistic regression of classes, against scikit-learn and against themselves."""

from __future__ import annotations

import numpy as np
import pytest

from enrelm_cli.inputs.classes.scale import ClassScale, Codes
from enrelm_cli.judge.classes.calibration import calibrated, scores_of
from enrelm_cli.judge.classes.metrics import class_sums, metrics
from enrelm_cli.model.classes import Calibration, labels, log_softmax, sets
from enrelm_cli.types import Array
from enrelm_cli.variants import _logistic
from enrelm_cli.variants._logistic import FOLDS, Problem, fit_logistic


def some(seed: int, t: int, C: int) -> tuple[Array, Codes]:
    """Probabilities, and classes drawn from them."""
    rng = np.random.default_rng(seed)
    p = np.exp(log_softmax(1.5 * rng.standard_normal((t, C))))
    return p, np.array([rng.choice(C, p=row) for row in p])


@pytest.mark.parametrize("C", [2, 4])
def test_metrics_equal_those_of_scikit_learn(C: int) -> None:
    skm = pytest.importorskip("sklearn.metrics")
    p, codes = some(0, 500, C)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 500)
    parts = class_sums(p[:200], codes[:200], weight[:200]).merge(class_sums(p[200:], codes[200:], weight[200:]))
    found = metrics(parts)
    assert found is not None
    guessed = p.argmax(axis=1)
    assert found.accuracy == pytest.approx(skm.accuracy_score(codes, guessed, sample_weight=weight))
    assert found.balanced_accuracy == pytest.approx(skm.balanced_accuracy_score(codes, guessed, sample_weight=weight))
    assert found.log_loss == pytest.approx(skm.log_loss(codes, p, sample_weight=weight))
    np.testing.assert_allclose(found.confusion, skm.confusion_matrix(codes, guessed, sample_weight=weight))
    expected = np.average(np.sum((np.eye(C)[codes] - p) ** 2, axis=1), weights=weight)
    assert found.brier == pytest.approx(expected)
    if C == 2:
        assert found.auc == pytest.approx(skm.roc_auc_score(codes, p[:, 1], sample_weight=weight), abs=2e-3)
        assert found.roc[0] == (0.0, 0.0)
        assert found.roc[-1] == (1.0, 1.0)


def test_true_probabilities_have_a_small_calibration_error_and_sharper_ones_a_large_one() -> None:
    p, codes = some(2, 20_000, 3)
    sharp = p**4 / (p**4).sum(axis=1, keepdims=True)
    right, wrong = metrics(class_sums(p, codes)), metrics(class_sums(sharp, codes))
    assert right is not None
    assert wrong is not None
    assert right.ece < 0.02
    assert wrong.ece > 0.1


def test_a_row_of_an_unknown_class_is_wrong_whatever_is_predicted() -> None:
    found = metrics(class_sums(np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([0, -1])))
    assert found is not None
    assert found.accuracy == 0.5
    assert np.isfinite(found.log_loss)


def test_calibration_finds_the_temperature_that_made_the_scores() -> None:
    scale = ClassScale(np.array([30.0, 50.0, 20.0]))
    rng = np.random.default_rng(3)
    z = rng.standard_normal((20_000, 2))
    p = Calibration("temperature", 3.0, 0.7).probabilities(scale, z)
    codes = np.array([rng.choice(3, p=row) for row in p])
    found = calibrated("temperature", scores_of(scale, z, codes))
    assert found.slope == pytest.approx(3.0, rel=0.05)
    assert found.prior == pytest.approx(0.7, abs=0.1)


def test_separated_scores_have_a_finite_temperature() -> None:
    scale = ClassScale(np.array([5.0, 5.0]))
    codes = np.repeat([0, 1], 5)
    found = calibrated("temperature", scores_of(scale, scale.forward(codes.astype(float)), codes))
    assert 1.0 < found.slope <= 1e4


@pytest.mark.parametrize("rows", [20, 400])
def test_rows_that_are_all_right_leave_the_doubt_of_one_that_is_not(rows: int) -> None:
    scale = ClassScale(np.array([rows / 2.0, rows / 2.0]))
    codes = np.repeat([0, 1], rows // 2)
    z = scale.forward(codes.astype(float))
    p = calibrated("temperature", scores_of(scale, z, codes)).probabilities(scale, z)
    np.testing.assert_allclose(p[np.arange(rows), codes], 1.0 - 1.0 / (rows / 2 + 2), rtol=1e-3)


def test_without_a_score_the_probabilities_are_the_shares() -> None:
    scale = ClassScale(np.array([300.0, 100.0]))
    p = Calibration("temperature", 2.0, 1.0).probabilities(scale, np.zeros(1))
    np.testing.assert_allclose(p, [[0.75, 0.25]], atol=2e-3)


def test_labels_follow_the_threshold_and_sets_are_never_empty() -> None:
    p = np.array([[0.7, 0.3], [0.2, 0.8]])
    np.testing.assert_array_equal(labels(p), [0, 1])
    np.testing.assert_array_equal(labels(p, 0.25), [1, 1])
    np.testing.assert_array_equal(sets(p, 0.1), [[True, False], [False, True]])
    np.testing.assert_array_equal(sets(p, 0.7), [[True, True], [False, True]])


def test_logistic_regression_of_two_classes_equals_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 4))
    codes = (X @ np.array([1.0, -2.0, 0.5, 0.0]) + rng.standard_normal(300) > 0.3).astype(np.int64)
    scale = ClassScale(np.bincount(codes).astype(float))
    alpha = 2.0
    found = fit_logistic(Problem(X, scale, codes, np.ones(300), rng.integers(0, FOLDS, 300)), np.array([alpha]))
    # logit = sqrt(2) s g, so that alpha |gamma|^2 = alpha/(2 s^2) |w|^2.
    expected = linear_model.LogisticRegression(C=2.0 * scale.spread**2 / alpha, tol=1e-8, max_iter=1000).fit(X, codes)
    p = np.exp(log_softmax(scale.scores(X @ found.gamma + found.intercept)))
    np.testing.assert_allclose(p, expected.predict_proba(X), atol=5e-3)


def test_left_out_logits_are_those_of_fits_without_the_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_logistic, "_ITERATIONS", 500)
    monkeypatch.setattr(_logistic, "_TOLERANCE", 1e-15)
    rng = np.random.default_rng(5)
    X, codes, fold = rng.standard_normal((90, 3)), rng.integers(0, 3, 90), rng.integers(0, FOLDS, 90)
    scale, alphas = ClassScale(np.bincount(codes).astype(float)), np.array([1.0])
    found = fit_logistic(Problem(X, scale, codes, np.ones(90), fold), alphas)
    rest = fold != 2
    other = fit_logistic(Problem(X[rest], scale, codes[rest], np.ones(rest.sum()), fold[rest]), alphas)
    expected = X[~rest] @ other.gamma + other.intercept
    np.testing.assert_allclose(found.left_out[~rest], expected, atol=1e-5)


@pytest.mark.parametrize("C", [2, 5])
def test_gradients_in_as_many_columns_as_classes_lead_to_the_optimum_in_one_fewer(
    C: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_logistic, "_ITERATIONS", 1000)
    monkeypatch.setattr(_logistic, "_TOLERANCE", 1e-15)
    rng = np.random.default_rng(6)
    X, codes, w = rng.standard_normal((120, 3)), rng.integers(0, C, 120), rng.uniform(0.5, 2.0, 120)
    scale = ClassScale(np.bincount(codes, w, C))
    found = fit_logistic(Problem(X, scale, codes, w, rng.integers(0, FOLDS, 120)), np.array([0.7]))
    p = np.exp(log_softmax(scale.scores(X @ found.gamma + found.intercept)))
    # The gradient of the objective at the optimum, in the coordinates of the simplex.
    gaps = (p - np.eye(C)[codes]) * w[:, None] @ (scale.spread * scale.V)
    np.testing.assert_allclose(gaps.sum(axis=0), 0.0, atol=1e-4)
    np.testing.assert_allclose(X.T @ gaps + 0.7 * found.gamma, 0.0, atol=1e-4)


def test_the_ridge_lies_between_those_that_were_tried() -> None:
    """At the bottom of a parabola: rows that say little want a strong ridge, rows that say all a weak one."""
    rng = np.random.default_rng(7)
    X, fold = rng.standard_normal((400, 6)), rng.integers(0, FOLDS, 400)
    alphas = np.geomspace(1e3, 1e-2, 6)
    found = []
    for noise in (8.0, 0.5):
        codes = (X[:, 0] + noise * rng.standard_normal(400) > 0.0).astype(np.int64)
        scale = ClassScale(np.bincount(codes).astype(float))
        found.append(fit_logistic(Problem(X, scale, codes, np.ones(400), fold), alphas).alpha)
    assert found[0] > 10.0 * found[1]
    assert np.abs(np.log(found[1] / alphas)).min() > 1e-6
