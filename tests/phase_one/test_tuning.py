"""Tuning: its formulas against brute force, what it finds, and what it must survive."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.phase_one.tuning import Relevance, TuneSettings, Tuning, tune
from enrelm_cli.phase_one.tuning.evidence import Evidence
from enrelm_cli.phase_one.tuning.ridge import ALPHAS, landmark_left_out, leave_one_out
from enrelm_cli.types import Array


def standardised(X: Array) -> Array:
    scale = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)


def tuned(X: Array, y: Array, **settings: float | int | None) -> Tuning:
    """tune() where any warning is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return tune(X, y, list(range(X.shape[1])), TuneSettings(**settings), lambda n: None)  # type: ignore[arg-type]


def held_out_error(kernel: ArcsineKernel, X: Array, y: Array, Xt: Array, yt: Array) -> float:
    ridge = leave_one_out(kernel.gram(X, X), y)
    residual = yt - ridge.offset - kernel.gram(Xt, X) @ ridge.dual
    return float(np.linalg.norm(residual) / np.linalg.norm(yt - y.mean()))


def sparse_table(rows: int, inputs: int, seed: int) -> tuple[Array, Array]:
    """Four inputs matter: an interaction, a bend and a slope."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, inputs))
    y = np.sin(2.0 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + X[:, 3] + 0.1 * rng.normal(size=rows)
    return standardised(X), y


def assert_sound(found: Tuning, inputs: int) -> None:
    assert found.relevance.shape == (inputs,)
    assert np.isclose(found.relevance.sum(), 1.0)
    assert np.all(np.isfinite(np.atleast_1d(found.kernel.weight_variance)))
    assert np.isfinite(found.kernel.bias_variance)
    assert np.isfinite(found.loo_error)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_gradient_of_the_evidence_equals_finite_differences(depth: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    evidence = Evidence(X, y - y.mean(), depth)

    def value(theta: Array) -> float:
        result = evidence(np.exp(theta[:4]), float(np.exp(theta[4])), float(np.exp(theta[5])))
        assert result is not None
        return result[0]

    theta = np.array([-1.0, -0.5, 0.2, -2.0, -1.0, -3.0])
    result = evidence(np.exp(theta[:4]), float(np.exp(theta[4])), float(np.exp(theta[5])))
    assert result is not None
    gradient = np.r_[result[1], result[2], result[3]]
    h = 1e-5
    differences = [(value(theta + h * e) - value(theta - h * e)) / (2 * h) for e in np.eye(6)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-6)


def test_the_evidence_equals_its_definition() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(25, 3)), rng.normal(size=25)
    v, b, alpha = np.array([0.3, 1.0, 0.1]), 0.5, 0.05
    A = ArcsineKernel(v, b, 2).gram(X, X) + alpha * np.eye(25)
    s = y @ np.linalg.solve(A, y) / 25
    result = Evidence(X, y, 2)(v, b, alpha)
    assert result is not None
    assert np.isclose(result[0], 25 / 2 * np.log(s) + np.linalg.slogdet(A)[1] / 2, rtol=1e-10)


def test_leave_one_out_by_formula_equals_refitting_without_each_row() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 3))
    y = X[:, 0] + 5.0 + rng.normal(size=30)
    K = ArcsineKernel(0.4, 0.2).gram(X, X)
    alphas = np.array([1e-3, 0.1, 10.0])
    ridge = leave_one_out(K, y, alphas)
    for alpha, error in zip(alphas, ridge.errors, strict=True):
        squares = []
        for i in range(30):
            keep = np.arange(30) != i
            bordered = np.zeros((30, 30))  # kernel ridge with an unpenalised intercept, as one linear system
            bordered[:-1, :-1] = K[np.ix_(keep, keep)] + alpha * np.eye(29)
            bordered[-1, :-1] = bordered[:-1, -1] = 1.0
            w = np.linalg.solve(bordered, np.r_[y[keep], 0.0])
            squares.append((y[i] - K[i, keep] @ w[:-1] - w[-1]) ** 2)
        assert np.isclose(error, np.mean(squares), rtol=1e-8)


def test_of_32_inputs_the_four_that_matter_are_found() -> None:
    X, y = sparse_table(500, 32, 3)
    train, held = slice(0, 300), slice(300, None)
    found = tuned(X[train], y[train])
    assert found.per_input
    assert found.reason is Relevance.KEPT
    assert set(np.argsort(-found.relevance)[:4]) == {0, 1, 2, 3}
    assert found.relevance[:4].sum() > 0.9
    fixed = tuned(X[train], y[train], weight_variance=1 / 32)
    error = held_out_error(found.kernel, X[train], y[train], X[held], y[held])
    assert error < 0.5 * held_out_error(fixed.kernel, X[train], y[train], X[held], y[held])


def test_a_large_sample_finds_them_too() -> None:
    X, y = sparse_table(620, 8, 4)
    found = tuned(X, y)
    assert found.per_input
    assert set(np.argsort(-found.relevance)[:4]) == {0, 1, 2, 3}


def test_a_small_noisy_linear_table_is_not_made_worse_than_by_ridge_regression() -> None:
    excess = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1100, 8))
        y = X @ rng.normal(size=8) + 5.0 * rng.normal(size=1100)
        A, a, B, b = X[:100], y[:100], X[100:], y[100:]
        linear = leave_one_out(A @ A.T, a, np.geomspace(1e-2, 1e5, 50))
        ridge = np.linalg.norm(b - linear.offset - B @ (A.T @ linear.dual)) / np.linalg.norm(b - a.mean())
        excess.append(held_out_error(tuned(A, a).kernel, A, a, B, b) - ridge)
    assert np.mean(excess) < 0.015


def test_permuting_the_inputs_permutes_the_result() -> None:
    X, y = sparse_table(120, 6, 5)
    order = np.array([3, 0, 5, 1, 4, 2])
    one, other = tuned(X, y), tuned(X[:, order], y)
    np.testing.assert_allclose(other.relevance, one.relevance[order], atol=1e-3)


def test_the_same_rows_give_the_same_bits() -> None:
    X, y = sparse_table(90, 5, 6)
    one, other = tuned(X, y), tuned(X.copy(), y.copy())
    assert np.array_equal(one.relevance, other.relevance)
    assert one.evaluations == other.evaluations


@pytest.mark.parametrize("rows", [90, 700])
def test_the_number_of_threads_changes_no_bit(rows: int) -> None:
    X, y = sparse_table(rows, 5, 6)
    one, other = tuned(X, y, threads=1), tuned(X, y, threads=3)
    assert np.array_equal(one.relevance, other.relevance)
    assert one.evaluations == other.evaluations


def test_a_target_with_one_true_scale_is_found_from_few_rows_and_from_many() -> None:
    # The evidence of this table has a second minimum, where every input is almost straight.
    X, y = sparse_table(1400, 6, 12)
    for rows in (150, 400, 700):
        found = tuned(X[:rows], y[:rows])
        assert held_out_error(found.kernel, X[:rows], y[:rows], X[rows:], y[rows:]) < 0.2


def test_left_out_errors_with_every_row_as_landmark_are_those_of_the_exact_kernel() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60) + 7.0
    kernel = ArcsineKernel(np.array([0.3, 0.1, 0.5]), 0.2)
    exact = leave_one_out(kernel.gram(X, X), y)
    np.testing.assert_allclose(landmark_left_out(kernel, X, y, 60), exact.left_out, rtol=1e-5)


def test_left_out_errors_with_landmarks_are_those_of_their_dense_kernel() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)
    kernel, Z = ArcsineKernel(0.4, 0.2), X[:25]
    C = kernel.gram(X, Z)
    dense = leave_one_out(C @ np.linalg.solve(kernel.gram(Z, Z), C.T), y)
    assert ALPHAS[0] < dense.alpha < ALPHAS[-1]
    np.testing.assert_allclose(landmark_left_out(kernel, X, y, 25), dense.left_out, rtol=1e-5)


def test_scaling_and_shifting_the_target_changes_nothing() -> None:
    X, y = sparse_table(90, 5, 6)
    one, other = tuned(X, y), tuned(X, 1e9 * y - 1e8)
    np.testing.assert_allclose(one.relevance, other.relevance, atol=1e-3)
    assert np.isclose(one.loo_error, other.loo_error, atol=1e-3)


def degenerate_tables() -> dict[str, tuple[Array, Array]]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    one_hot = np.eye(200)[rng.integers(0, 200, 80)]
    huge = X.copy()
    huge[0, 0] = 1e12
    return {
        "one input": (X[:, :1], np.sin(X[:, 0])),
        "five rows": (X[:5], X[:5, 0]),
        "two rows": (X[:2], X[:2, 0]),
        "one row": (X[:1], X[:1, 0]),
        "no rows": (X[:0], X[:0, 0]),
        "a constant target": (X, np.full(60, 3.0)),
        "an almost constant target": (X, np.full(60, 1e6)),
        "duplicate rows": (np.repeat(X[:12], 5, axis=0), np.repeat(X[:12, 0], 5)),
        "duplicate rows that disagree": (np.repeat(X[:12], 5, axis=0), rng.normal(size=60)),
        "all rows equal": (np.zeros((30, 3)), rng.normal(size=30)),
        "a perfectly linear target": (X, X @ np.array([1.0, -2.0, 0.5])),
        "collinear inputs": (X[:, [0, 0, 1, 1, 0]], X[:, 0] + rng.normal(size=60)),
        "a constant input": (np.c_[X, np.zeros(60)], X[:, 0]),
        "200 one-hot inputs": (standardised(one_hot), rng.normal(size=80)),
        "more inputs than rows": (rng.normal(size=(25, 90)), rng.normal(size=25)),
        "an absurd outlier": (huge, X[:, 1]),
        "a huge target": (X, 1e300 * X[:, 0]),
        "a tiny target": (X, 1e-300 * X[:, 0]),
    }


@pytest.mark.parametrize("name", degenerate_tables())
def test_degenerate_tables_survive(name: str) -> None:
    X, y = degenerate_tables()[name]
    assert_sound(tuned(X, y), X.shape[1])


def test_what_the_user_fixed_is_kept() -> None:
    X, y = sparse_table(80, 5, 8)
    assert tuned(X, y, weight_variance=0.7).kernel.weight_variance == 0.7
    assert tuned(X, y, weight_variance=0.7).reason is Relevance.FIXED
    assert tuned(X, y, bias_variance=0.0).kernel.bias_variance == 0.0
    assert tuned(X, y, depth=3).kernel.depth == 3
    everything = tuned(X, y, weight_variance=0.7, bias_variance=0.1, depth=2)
    assert everything.kernel == ArcsineKernel(0.7, 0.1, 2)


@pytest.mark.parametrize("steps", [0, 1, 5, 30, 60, 150, 400])
def test_the_budget_bounds_the_evaluations_and_progress_counts_them(steps: int) -> None:
    X, y = sparse_table(80, 5, 9)
    told: list[int] = []
    found = tune(X, y, range(5), TuneSettings(steps=steps), told.append)
    assert found.evaluations == sum(told) <= steps
    assert_sound(found, 5)
    assert found.per_input == (found.reason is Relevance.KEPT)


def test_rows_beyond_the_limit_are_not_looked_at() -> None:
    X, y = sparse_table(150, 4, 10)
    short = tuned(X[:100], y[:100])
    assert np.array_equal(tuned(X, y, rows=100).relevance, short.relevance)


def doubled(rows: int) -> tuple[Array, Array, list[int]]:
    """Twenty columns Z and their inputs, two for each."""
    Z = np.random.default_rng(11).uniform(-2.0, 2.0, size=(rows, 20))
    return Z, standardised(np.column_stack([Z, np.tanh(Z)])), [*range(20), *range(20)]


def test_two_columns_of_twenty_that_act_only_together_are_found() -> None:
    Z, X, groups = doubled(600)
    found = tune(X, np.sin(2.0 * Z[:, 0]) * Z[:, 1], groups, TuneSettings(), lambda n: None)
    assert found.loo_error < 0.2


def test_the_inputs_of_a_column_part_widely_only_where_later_rows_ask_for_it() -> None:
    Z, X, groups = doubled(900)
    noise = np.random.default_rng(12).normal(size=900)
    robot = np.sin(1.5 * Z[:, 0]) * np.cos(Z[:, 1]) + 0.5 * Z[:, 2] * Z[:, 3] + 0.05 * noise
    for target, wide in ((robot, True), (Z[:, 0] + noise, False)):
        assert (tune(X, target, groups, TuneSettings(), lambda n: None).spread > 2.0) == wide
