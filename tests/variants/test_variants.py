"""Phase 2, against the paper's algorithms written out and against each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enrelm_cli.fold.folds import Sums
from enrelm_cli.inputs.split import Side, paper_split
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.judge.baselines import linear_network
from enrelm_cli.judge.errors import CurveRows, relative_errors
from enrelm_cli.kernels.activation import ERF
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import eigenbasis_of
from enrelm_cli.types import Array
from enrelm_cli.variants import approximate, incremental
from enrelm_cli.variants import kernel as kernel_variant
from enrelm_cli.variants.incremental import StagewiseSettings, Stop, stagewise
from tests import paper
from tests.problems import all_landmarks, problem, some_landmarks, whole


def on_the_papers_split(X: Array, y: Array) -> tuple[Training, paper.Array, paper.Array, paper.Array, paper.Array]:
    """Our training value, and the paper's X, y, X_test, y_test of the same split."""
    train, test = paper.paper_split(len(y))
    Xt, Xv = paper.standardised(X[train].T, X[test].T)
    yt, yv = paper.centred(y[train], y[test])
    return training(rows_of_arrays(X, y), paper_split(len(y), 1234, 0.25)), Xt, yt, Xv, yv


def curve(data: Training, network: Network, side: Side) -> Array:
    sums = data.fold(CurveRows(data.view, network, (side,)), "curve").sides[side]
    return relative_errors(sums["squares"], float(sums["total"]))


@pytest.mark.parametrize("seed", range(3))
def test_approximate_equals_algorithm_2(seed: int) -> None:
    X, y = problem(seed, T=80, d=8)
    data, Xt, yt, Xv, yv = on_the_papers_split(X, y)
    n = paper.most_neurons(8, len(yt))
    U, _, W = paper.phase1(Xt)
    W_J, beta, _ = paper.approximate(yt, U, W, n)
    basis = eigenbasis_of(data, ArcsineKernel(), all_landmarks(data), centred=False)
    network = approximate.fit(data, basis, ERF, n)
    np.testing.assert_allclose(curve(data, network, Side.TRAIN), paper.error_curve(yt, Xt, W_J, beta), atol=1e-10)
    np.testing.assert_allclose(curve(data, network, Side.VALIDATION), paper.error_curve(yv, Xv, W_J, beta), atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_incremental_equals_algorithm_3(seed: int) -> None:
    X, y = problem(seed, T=80, d=8)
    data, Xt, yt, Xv, yv = on_the_papers_split(X, y)
    n = paper.most_neurons(8, len(yt))
    _, _, W = paper.phase1(Xt)
    S = paper.hidden(W, Xt)
    W_J, beta, order, steps = paper.incremental(yt, S, W, n)
    basis = eigenbasis_of(data, ArcsineKernel(), all_landmarks(data), centred=False)
    network = incremental.fit(data, basis, ERF, n, StagewiseSettings())
    assert network.facts == {"steps": steps}
    expected = paper.error_curve(yv, Xv, W_J, beta, S.mean(axis=0)[order])
    np.testing.assert_allclose(curve(data, network, Side.VALIDATION), expected, atol=1e-10)


def test_incremental_stops_before_one_neuron_too_many() -> None:
    X, y = problem(3, T=80, d=8)
    data, Xt, yt, _, _ = on_the_papers_split(X, y)
    _, _, W = paper.phase1(Xt)
    _, beta, order, _ = paper.incremental(yt, paper.hidden(W, Xt), W, 4)
    basis = eigenbasis_of(data, ArcsineKernel(), all_landmarks(data), centred=False)
    network = incremental.fit(data, basis, ERF, 4, StagewiseSettings())
    assert len(order) == 5
    assert network.size == 4
    assert network.stop == Stop.NEURONS.value
    scale = data.view.target_scale.scale
    np.testing.assert_allclose(np.abs(network.beta) * scale, np.abs(beta[:4]), rtol=1e-9)


def gram(S: Array, y: Array) -> Sums:
    return Sums({"n": len(y), "s": S.sum(axis=0), "SS": S.T @ S, "Sy": S.T @ y, "yy": y @ y})


def test_incremental_tends_to_least_squares_as_the_tolerance_goes_to_zero() -> None:
    rng = np.random.default_rng(4)
    S, y = rng.standard_normal((100, 5)), rng.standard_normal(100)
    y = y - y.mean()
    path = stagewise(gram(S, y), 5, 0.1, 0.0)
    centred = S - S.mean(axis=0)
    exact, *_ = np.linalg.lstsq(centred, y, rcond=None)
    beta = np.zeros(5)
    beta[path.order] = path.beta
    np.testing.assert_allclose(beta, exact, atol=1e-5)


def test_every_way_to_stop_says_so() -> None:
    rng = np.random.default_rng(5)
    S, y = rng.standard_normal((50, 6)), rng.standard_normal(50)
    y = y - y.mean()
    assert stagewise(gram(S, y), 6, 0.1, 1e-2).stop is Stop.TOLERANCE
    assert stagewise(gram(S, y), 2, 0.1, 0.0).stop is Stop.NEURONS
    assert stagewise(gram(S, y), 6, 0.1, 0.0, max_steps=3).stop is Stop.STEPS
    dead = stagewise(gram(np.ones((50, 2)), y), 2, 0.1, 0.0)
    assert dead.stop is Stop.EXHAUSTED
    assert len(dead.order) == 0


def left_out_by_refitting(K: Array, y: Array, alpha: float) -> Array:
    """Ridge regression on centred features with a free intercept, refitted without each row in turn."""
    T = len(y)
    values, V = np.linalg.eigh(K)
    features = V * np.sqrt(np.maximum(values, 0.0))
    errors = np.empty(T)
    for i in range(T):
        rest = np.arange(T) != i
        mean, y_mean = features[rest].mean(axis=0), y[rest].mean()
        F = features[rest] - mean
        w = np.linalg.solve(F.T @ F + alpha * np.eye(F.shape[1]), F.T @ (y[rest] - y_mean))
        errors[i] = y[i] - y_mean - (features[i] - mean) @ w
    return errors


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 3.0])
def test_leave_one_out_by_formula_equals_leave_one_out_by_refitting(alpha: float) -> None:
    X, y = problem(6, T=40)
    data = whole(X, y)
    kernel = ArcsineKernel(0.5, 0.2)
    basis = eigenbasis_of(data, kernel, all_landmarks(data), centred=True)
    by_formula = kernel_variant.left_out_errors(data, basis, alpha, len(basis.values))
    rows = data.sample()
    np.testing.assert_allclose(by_formula, left_out_by_refitting(kernel.gram(rows.X, rows.X), rows.y, alpha), atol=1e-8)


def test_the_kernel_variant_is_kernel_ridge_regression_with_an_intercept() -> None:
    X, y = problem(7, T=60)
    data = whole(X, y)
    kernel = ArcsineKernel(0.5, 0.2)
    basis = eigenbasis_of(data, kernel, all_landmarks(data), centred=True)
    network = kernel_variant.fit(data, basis, len(basis.values))
    alpha = (network.facts or {})["alpha"]
    rows, new = data.sample(), np.random.default_rng(0).standard_normal((9, 6))
    H = np.eye(60) - 1.0 / 60
    K = kernel.gram(rows.X, rows.X)
    dual = np.linalg.solve(H @ K @ H + alpha * np.eye(60), rows.y)
    expected = (kernel.gram(new, rows.X) - K.mean(axis=0)) @ H @ dual
    np.testing.assert_allclose(network.predict(new), expected, atol=1e-8)


def test_alpha_is_at_the_minimum_of_the_left_out_error() -> None:
    X, y = problem(8, T=120, noise=1.0)
    data = whole(X, y)
    basis = eigenbasis_of(data, ArcsineKernel(), all_landmarks(data), centred=True)
    alpha = (kernel_variant.fit(data, basis, 10).facts or {})["alpha"]

    def error(a: float) -> float:
        return float(np.sum(kernel_variant.left_out_errors(data, basis, a, len(basis.values)) ** 2))

    assert error(alpha) <= min(error(1.3 * alpha), error(alpha / 1.3))


def fitted(variant: str, data: Training, m: int | None = None, n: int = 20) -> Network:
    landmarks = all_landmarks(data) if m is None else some_landmarks(data, m)
    if variant == "kernel":
        basis = eigenbasis_of(data, ArcsineKernel(0.5, 0.1), landmarks, centred=True)
        return kernel_variant.fit(data, basis, n)
    basis = eigenbasis_of(data, ArcsineKernel(), landmarks, centred=False)
    if variant == "approximate":
        return approximate.fit(data, basis, ERF, n)
    return incremental.fit(data, basis, ERF, n, StagewiseSettings())


VARIANTS = ("approximate", "incremental", "kernel")


def predictions(variant: str, X: Array, y: Array, new: Array, m: int | None = None) -> Array:
    data = whole(X, y)
    view = data.view
    return view.target_scale.back(fitted(variant, data, m).predict(view.input_map.inputs(new)))


@pytest.mark.parametrize("m", [None, 40])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_order_of_the_rows_changes_nothing(variant: str, m: int | None) -> None:
    X, y = problem(9, T=150)
    new = X[:20] + 0.1
    order = np.random.default_rng(0).permutation(150)
    first, second = predictions(variant, X, y, new, m), predictions(variant, X[order], y[order], new, m)
    np.testing.assert_allclose(first, second, rtol=1e-8)


@pytest.mark.parametrize("variant", VARIANTS)
def test_scaling_and_shifting_an_input_changes_nothing(variant: str) -> None:
    X, y = problem(10, T=100)
    new = X[:20] + 0.1
    scale, shift = np.array([1e3, 1.0, 1e-3, -2.0, 1.0, 7.0]), np.array([0.0, 5.0, 0.0, 1.0, -1e3, 0.0])
    moved = predictions(variant, X * scale + shift, y, new * scale + shift)
    np.testing.assert_allclose(moved, predictions(variant, X, y, new), rtol=1e-7)


@pytest.mark.parametrize("variant", VARIANTS)
def test_shifting_and_scaling_the_target_moves_predictions_along(variant: str) -> None:
    X, y = problem(11, T=100)
    new = X[:20] + 0.1
    moved = predictions(variant, X, 1e6 * y - 3e7, new)
    np.testing.assert_allclose(moved, 1e6 * predictions(variant, X, y, new) - 3e7, rtol=1e-8)


@pytest.mark.parametrize("variant", ["approximate", "incremental"])
def test_flipping_the_sign_of_eigenvectors_changes_no_prediction(variant: str) -> None:
    X, y = problem(12, T=80)
    data = whole(X, y)
    basis = eigenbasis_of(data, ArcsineKernel(), all_landmarks(data), centred=False)
    signs = np.where(np.random.default_rng(0).random(len(basis.values)) < 0.5, -1.0, 1.0)
    assert basis.exact is not None
    flipped = type(basis)(
        basis.values, basis.features, basis.c * signs, basis.rows, exact=(basis.exact[0], basis.exact[1] * signs)
    )
    results = []
    for one in (basis, flipped):
        if variant == "approximate":
            network = approximate.fit(data, one, ERF, 20)
        else:
            network = incremental.fit(data, one, ERF, 20, StagewiseSettings())
        results.append(network.predict(data.sample().X))
    np.testing.assert_allclose(results[0], results[1], atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_point_of_the_curve_is_the_error_of_that_network(variant: str) -> None:
    X, y = problem(13, T=120)
    data, *_ = on_the_papers_split(X, y)
    network = fitted(variant, data)
    errors = curve(data, network, Side.VALIDATION)
    rows = data.view(data.rows.pieces[0][0], Side.VALIDATION)
    for n in (1, 2, network.size):
        gap = rows.y - network.first(n).predict(rows.X)
        np.testing.assert_allclose(errors[n - 1], np.linalg.norm(gap) / np.linalg.norm(rows.y), rtol=1e-10)


def test_a_perfectly_linear_target_is_learnt_by_the_kernel_variant_and_nearly_by_the_others() -> None:
    X, _ = problem(14, T=200)
    y = X @ np.arange(1.0, 7.0) + 4.0
    data = whole(X, y)
    assert curve(data, linear_network(data), Side.TRAIN)[-1] < 1e-12
    for variant in VARIANTS:
        error = curve(data, fitted(variant, data, n=200), Side.TRAIN)[-1]
        assert error < (0.01 if variant == "kernel" else 0.2), variant


@settings(max_examples=40, deadline=None)
@given(
    T=st.integers(4, 40),
    d=st.integers(1, 12),
    distinct=st.integers(2, 40),
    digits=st.sampled_from([-12, 0, 12]),
    variant=st.sampled_from(VARIANTS),
    collinear=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_degenerate_tables_give_finite_predictions(
    T: int, d: int, distinct: int, digits: int, variant: str, collinear: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    levels = rng.standard_normal((distinct, d))
    X = levels[rng.integers(0, distinct, T)]
    X[0], X[1] = levels[0], levels[1]
    if collinear:
        X = np.column_stack([X, X.sum(axis=1), np.ones(T)])
    y = rng.standard_normal(T) * 10.0**digits
    new = rng.standard_normal((5, X.shape[1])) * 100.0
    with np.errstate(all="raise", under="ignore"):
        result = predictions(variant, X, y, new)
    assert np.isfinite(result).all()
    assert np.abs(result).max() < 1e6 * np.abs(y).max()


@pytest.mark.parametrize("m", [None, 8], ids=["every row a landmark", "8 landmarks"])
def test_twins_are_left_out_together(m: int | None) -> None:
    """By refitting without every row that has the same inputs."""
    X, y = problem(21, T=30)
    X, y = np.concatenate([X, X[:10], X[:4]]), np.concatenate([y, y[:10] + 0.5, y[:4] - 0.3])
    data = whole(X, y)
    kernel, alpha = ArcsineKernel(0.5, 0.2), 0.05
    landmarks = all_landmarks(data) if m is None else some_landmarks(data, m)
    basis = eigenbasis_of(data, kernel, landmarks, centred=True)
    by_formula = kernel_variant.left_out_errors(data, basis, alpha, len(basis.values))
    rows = data.sample()
    Z = landmarks.Z
    values, V = np.linalg.eigh(kernel.gram(Z, Z))
    features = kernel.gram(rows.X, Z) @ (V / np.sqrt(values))
    expected = np.empty(len(rows.y))
    for i in range(len(rows.y)):
        rest = rows.twins != rows.twins[i]
        mean, y_mean = features[rest].mean(axis=0), rows.y[rest].mean()
        F = features[rest] - mean
        w = np.linalg.solve(F.T @ F + alpha * np.eye(F.shape[1]), F.T @ (rows.y[rest] - y_mean))
        expected[i] = rows.y[i] - y_mean - (features[i] - mean) @ w
    np.testing.assert_allclose(by_formula, expected, atol=1e-8)


def test_left_out_errors_do_not_depend_on_where_the_targets_are() -> None:
    X, y = problem(21, T=40)
    data = whole(X, y)
    basis = eigenbasis_of(data, ArcsineKernel(0.5, 0.2), some_landmarks(data, 8), centred=True)
    errors = kernel_variant.left_out_errors(data, basis, 0.05, len(basis.values))
    scale = data.view.target_scale
    above = data.through(data.view.input_map, replace(scale, mean=scale.mean - 0.3 * scale.scale))
    shifted = replace(basis, y_mean=basis.y_mean + 0.3)
    found = kernel_variant.left_out_errors(above, shifted, 0.05, len(basis.values))
    np.testing.assert_allclose(found, errors, atol=1e-12)


def test_twins_of_a_sample_stand_for_those_of_all_rows() -> None:
    X, y = problem(21, T=30)
    sample = whole(np.concatenate([X, X[:10]]), np.concatenate([y, y[:10]])).sample()
    assert sorted(kernel_variant.twins(sample, 100).count.tolist()) == [2.5] * 20 + [5.0] * 10
    assert sorted(kernel_variant.twins(sample, 40).count.tolist()) == [1.0] * 20 + [2.0] * 10


def test_a_table_pasted_to_itself_keeps_its_alpha_and_its_left_out_error() -> None:
    X, y = problem(22, T=120, noise=1.0)
    found = []
    for copies in (1, 2):
        data = whole(np.tile(X, (copies, 1)), np.tile(y, copies))
        basis = eigenbasis_of(data, ArcsineKernel(0.3, 0.2), all_landmarks(data), centred=True)
        facts = kernel_variant.fit(data, basis, len(basis.values)).facts or {}
        found.append((facts["alpha"] / copies, facts["leave_one_out_error"]))
    np.testing.assert_allclose(found[0], found[1], rtol=0.02)


@pytest.mark.parametrize("targets", [None, 3])
def test_filtered_columns_come_by_the_length_of_their_weights(targets: int | None) -> None:
    data = whole(*problem(23, T=40))
    basis = eigenbasis_of(data, ArcsineKernel(0.5, 0.2), all_landmarks(data), centred=True)
    if targets is not None:
        c = np.random.default_rng(1).standard_normal((len(basis.values), targets))
        basis = replace(basis, c=c)
    c = basis.c.reshape(len(basis.values), -1)
    beta = c * (basis.values / (basis.values + 0.3))[:, None]
    order = sorted(range(len(beta)), key=lambda k: -float(np.linalg.norm(beta[k])))[:9]
    found = kernel_variant.filtered(basis, 0.3, 9)
    assert found.order.tolist() == order
    np.testing.assert_allclose(found.beta.reshape(9, -1), beta[order], rtol=1e-12)


def test_alphas_reach_from_the_least_ridge_to_ten_times_the_largest_eigenvalue_or_one() -> None:
    data = whole(*problem(23, T=40))
    basis = eigenbasis_of(data, ArcsineKernel(0.5, 0.2), all_landmarks(data), centred=True)
    for largest, targets, highest, points in ((7.0, 0, 70.0, 45), (0.01, 20, 1.0, 45), (0.01, 21, 1.0, 15)):
        c = np.ones((1, targets)) if targets else np.ones(1)
        found = kernel_variant.grid(replace(basis, values=np.array([largest, 0.001]), c=c))
        np.testing.assert_allclose(found, np.geomspace(kernel_variant.MIN_RIDGE, highest, points), rtol=1e-12)


def test_rows_that_choose_share_their_work_with_the_targets() -> None:
    work = kernel_variant._WORK
    assert kernel_variant._rows_that_choose(1000, 4) == int(work / 4000)
    assert kernel_variant._rows_that_choose(10**9, 1000) == kernel_variant._CHOOSING
