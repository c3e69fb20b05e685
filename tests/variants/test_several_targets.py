"""Several right-hand sides of one system: coded classes, against the paper's algorithms and against dense solves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enrelm_cli.inputs.classes.scale import ClassScale, vertices
from enrelm_cli.inputs.split import Everything, Side, paper_split
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.judge import errors as judge_errors
from enrelm_cli.judge.baselines import RandomElm, elm_curves, linear_error, linear_network
from enrelm_cli.judge.errors import CurveRows, errors_from_sums, errors_of, relative_of
from enrelm_cli.kernels.activation import ERF
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import Start, Tuned, basis_of, eigenbasis_of
from enrelm_cli.phase_one.tuning.evidence import Evidence
from enrelm_cli.phase_one.tuning.ridge import leave_one_out
from enrelm_cli.settings import MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants import approximate, incremental, local, named
from enrelm_cli.variants import kernel as kernel_variant
from enrelm_cli.variants._logistic import fit_logistic
from enrelm_cli.variants._logistic import problem as problem_of
from enrelm_cli.variants.incremental import StagewiseSettings
from tests import paper
from tests.problems import all_landmarks, problem, some_landmarks

KERNEL = ArcsineKernel(0.5, 0.3)


def classes_of(seed: int, T: int, d: int, C: int) -> tuple[Array, Array]:
    """Inputs, and one of C classes by the size of a smooth function."""
    X, y = problem(seed, T=T, d=d)
    return X, np.searchsorted(np.quantile(y, np.arange(1, C) / C), y).astype(float)


def coded(X: Array, y: Array, split: object = None) -> Training:
    C = int(y.max()) + 1
    rows = replace(rows_of_arrays(X, y), classes=tuple(f"c{k}" for k in range(C)))
    return training(rows, split or paper_split(len(y), 1234, 0.25))  # type: ignore[arg-type]


def curve(data: Training, network: Network, side: Side) -> Array:
    return relative_of(data.fold(CurveRows(data.view, network, (side,)), "curve").sides[side], side)


def sides(X: Array, y: Array) -> tuple[Array, Array, Array, Array]:
    """The paper's X, Y, X_test, Y_test of its split, targets coded."""
    train, test = paper.paper_split(len(y))
    Xt, Xv = paper.standardised(X[train].T, X[test].T)
    scale = ClassScale(np.bincount(y[train].astype(int)).astype(float))
    return Xt, scale.forward(y[train]), Xv, scale.forward(y[test])


def test_vertices_of_the_simplex_are_equally_far_apart() -> None:
    V = vertices(5)
    np.testing.assert_allclose(V @ V.T, np.eye(5) - 0.2, atol=1e-15)
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-15)


def test_coded_classes_have_mean_zero_and_mean_square_one_and_zero_stands_for_the_shares() -> None:
    counts = np.array([10.0, 1.0, 0.0, 5.0])
    scale = ClassScale(counts)
    y = np.repeat(np.arange(4.0), counts.astype(int))
    z = scale.forward(y)
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-15)
    assert np.sum(z**2) == pytest.approx(len(y))
    np.testing.assert_allclose(scale.scores(z) + scale.shares, np.eye(4)[y.astype(int)], atol=1e-15)
    np.testing.assert_array_equal(scale.codes(z), y)


def test_two_classes_are_regression_on_the_coded_target() -> None:
    X, y = classes_of(0, T=80, d=4, C=2)
    as_classes, as_numbers = coded(X, y), training(rows_of_arrays(X, y), paper_split(80, 1234, 0.25))
    for data in (as_classes, as_numbers):
        assert data.sample().y.shape == (60,)
    bases = [eigenbasis_of(data, KERNEL, all_landmarks(data), centred=True) for data in (as_classes, as_numbers)]
    networks = [kernel_variant.fit(d, basis, 60) for d, basis in zip((as_classes, as_numbers), bases, strict=True)]
    np.testing.assert_allclose(networks[0].beta, networks[1].beta, rtol=1e-8)


@pytest.mark.parametrize("variant", ["approximate", "incremental", "kernel", "local"])
def test_two_classes_are_regression_whatever_the_variant(variant: str) -> None:
    X, y = classes_of(0, T=120, d=4, C=2)
    split = paper_split(120, 1234, 0.25)
    method = replace(MethodSettings(), landmarks=30, leaf_rows=200)
    told = []
    for data in (coded(X, y, split), training(rows_of_arrays(X, y), split)):
        one = named(variant)
        tuned = Tuned(one.start, data, KERNEL, 30)
        basis = basis_of(tuned, method)
        network = one.fit(basis, method, one.most_neurons(basis, method))
        told.append(network.predict(data.sample().X))
    np.testing.assert_allclose(told[0], told[1], atol=1e-8)


@pytest.mark.parametrize("C", [3, 5])
def test_approximate_orders_rows_by_their_length(C: int) -> None:
    X, y = classes_of(1, T=80, d=6, C=C)
    data = coded(X, y)
    Xt, Yt, Xv, Yv = sides(X, y)
    U, _, W = paper.phase1(Xt)
    W_J, beta, _ = paper.approximate_several(Yt, U, W, 20)
    basis = eigenbasis_of(data, ArcsineKernel(), all_landmarks(data), centred=False)
    network = approximate.fit(data, basis, ERF, 20)
    np.testing.assert_allclose(
        curve(data, network, Side.TRAIN), paper.error_curve_several(Yt, Xt, W_J, beta), atol=1e-9
    )
    np.testing.assert_allclose(
        curve(data, network, Side.VALIDATION), paper.error_curve_several(Yv, Xv, W_J, beta), atol=1e-9
    )


def test_incremental_steps_along_the_row_of_the_largest_norm() -> None:
    X, y = classes_of(2, T=80, d=6, C=4)
    data = coded(X, y)
    Xt, Yt, Xv, Yv = sides(X, y)
    _, _, W = paper.phase1(Xt)
    S = paper.hidden(W, Xt)
    W_J, beta, order, steps = paper.incremental_several(Yt, S, W, 25)
    basis = eigenbasis_of(data, ArcsineKernel(), all_landmarks(data), centred=False)
    network = incremental.fit(data, basis, ERF, 25, StagewiseSettings())
    n = network.size
    assert n >= 5
    assert network.facts is not None
    assert abs(network.facts["steps"] - steps) <= 1
    expected = paper.error_curve_several(Yv, Xv, W_J, beta, S.mean(axis=0)[order])[: n - 1]
    np.testing.assert_allclose(curve(data, network, Side.VALIDATION)[: n - 1], expected, atol=1e-6)


def test_leave_one_out_by_formula_equals_refitting() -> None:
    X, y = classes_of(3, T=50, d=4, C=3)
    data = coded(X, y, Everything())
    basis = eigenbasis_of(data, KERNEL, all_landmarks(data), centred=True)
    alpha = 0.05
    errors = kernel_variant.left_out_errors(data, basis, alpha, len(basis.values))
    assert errors.shape == (50, 2)
    sample = data.sample()
    for i in (0, 17, 49):
        others = np.arange(50) != i
        K = KERNEL.gram(sample.X[others], sample.X[others])
        H = np.eye(49) - 1 / 49
        mean = sample.y[others].mean(axis=0)
        dual = np.linalg.solve(H @ K @ H + alpha * np.eye(49), sample.y[others] - mean)
        row = KERNEL.gram(sample.X[i : i + 1], sample.X[others])[0]
        predicted = mean + (row - K.mean(axis=0)) @ H @ dual
        np.testing.assert_allclose(errors[i], sample.y[i] - predicted, atol=1e-8)


def weighted_by_class(T: int) -> Training:
    """Rows of three classes that count for 1, 2.5 and 0.7."""
    X, y = classes_of(3, T=T, d=4, C=3)
    weight = np.array([1.0, 2.5, 0.7])[y.astype(int)]
    rows = replace(rows_of_arrays(X, y, weight=weight), classes=("a", "b", "c"))
    return training(rows, Everything())


def without(data: Training, alpha: float, i: int) -> Array:
    """Kernel ridge regression of the other rows with a free intercept, (K + alpha W^-1) a + b = y, at row i."""
    sample = data.sample()
    rest = np.arange(sample.rows) != i
    K, ones = KERNEL.gram(sample.X[rest], sample.X[rest]), np.ones((sample.rows - 1, 1))
    assert sample.weight is not None
    K += alpha * np.diag(1.0 / sample.weight[rest])
    system = np.block([[K, ones], [ones.T, np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.vstack([sample.y[rest], np.zeros((1, 2))]))
    row = KERNEL.gram(sample.X[i : i + 1], sample.X[rest])[0]
    found: Array = row @ solution[:-1] + solution[-1]
    return found


@pytest.mark.parametrize("variant", ["kernel", "local"])
def test_leave_one_out_of_weighted_classes_equals_refitting(variant: str) -> None:
    data, alpha = weighted_by_class(60), 0.05
    if variant == "kernel":
        basis = eigenbasis_of(data, KERNEL, all_landmarks(data), centred=True)
        left_out = kernel_variant.left_out_errors(data, basis, alpha, len(basis.values))
    else:
        method = replace(MethodSettings(), landmarks=20, leaf_rows=100)
        leaves = basis_of(Tuned(Start.LEAVES, data, KERNEL, 20), method)
        found = local.fit(leaves, method, local.Plan(False, alpha)).left_out
        assert found is not None
        left_out = found
    sample = data.sample()
    expected = [sample.y[i] - without(data, alpha, i) for i in range(60)]
    np.testing.assert_allclose(left_out, expected, atol=1e-8)


def test_the_curve_from_sums_equals_the_curve_from_rows() -> None:
    X, y = classes_of(4, T=300, d=4, C=4)
    data = coded(X, y)
    tuned = Tuned(Start.TUNED, data, KERNEL, 40)
    basis = basis_of(tuned, replace(MethodSettings(), landmarks=40))
    network = kernel_variant.fit(data, basis.eigen, 30)
    for side in (Side.TRAIN, Side.VALIDATION):
        from_sums = errors_from_sums(basis, network, side)
        assert from_sums is not None
        np.testing.assert_allclose(from_sums, curve(data, network, side), rtol=1e-7)


def test_the_curve_of_many_classes_is_that_of_a_running_sum_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = classes_of(14, T=200, d=4, C=24)
    rows = replace(rows_of_arrays(X, y, weight=1.0 + y % 3), classes=tuple(f"c{k}" for k in range(24)))
    data = training(rows, paper_split(200, 1234, 0.25))
    network = kernel_variant.fit(data, eigenbasis_of(data, KERNEL, all_landmarks(data), centred=True), 40)
    by_products = curve(data, network, Side.VALIDATION)
    monkeypatch.setattr(judge_errors, "_MANY", 100)
    np.testing.assert_allclose(by_products, curve(data, network, Side.VALIDATION), rtol=1e-10)


def test_one_leaf_is_exact_kernel_ridge_regression_of_every_target() -> None:
    X, y = classes_of(5, T=120, d=3, C=3)
    data = coded(X, y, Everything())
    method = replace(MethodSettings(), landmarks=30, leaf_rows=200)
    basis = basis_of(Tuned(Start.LEAVES, data, KERNEL, 30), method)
    network = local.fit(basis, method, local.Plan(False, 0.1))
    sample = data.sample()
    K, ones = KERNEL.gram(sample.X, sample.X), np.ones((120, 1))
    system = np.block([[K + 0.1 * np.eye(120), ones], [ones.T, np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.vstack([sample.y, np.zeros((1, 2))]))
    np.testing.assert_allclose(network.predict(sample.X), K @ solution[:-1] + solution[-1], atol=1e-6)
    inverse = np.linalg.inv(system)[:120, :120]
    np.testing.assert_allclose(network.left_out, solution[:-1] / np.diag(inverse)[:, None], atol=1e-6)


def test_the_summed_evidence_has_the_gradient_of_differences() -> None:
    X, y = classes_of(6, T=40, d=3, C=4)
    z = coded(X, y, Everything()).sample().y
    evidence, v = Evidence(X, z, 1), np.array([0.4, 0.2, 0.7])
    found = evidence(v, 0.3, 0.1)
    assert found is not None
    value, d_v, _d_b, d_alpha = found
    single = [Evidence(X, np.ascontiguousarray(column), 1)(v, 0.3, 0.1) for column in z.T]
    assert value == pytest.approx(sum(one[0] for one in single if one is not None))
    h = 1e-5
    for k in range(3):
        up, down = (evidence(v * np.exp(s * h * (np.arange(3) == k)), 0.3, 0.1) for s in (1, -1))
        assert up is not None
        assert down is not None
        assert d_v[k] == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-5, abs=1e-6)
    up, down = (evidence(v, 0.3, 0.1 * np.exp(s * h)) for s in (1, -1))
    assert up is not None
    assert down is not None
    assert d_alpha == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-5)


def test_one_ridge_of_several_targets_has_the_summed_error() -> None:
    X, y = classes_of(7, T=60, d=3, C=3)
    z = coded(X, y, Everything()).sample().y
    K = KERNEL.gram(X, X)
    together, each = leave_one_out(K, z), [leave_one_out(K, column) for column in z.T]
    np.testing.assert_allclose(together.errors, each[0].errors + each[1].errors, rtol=1e-9)


def test_linear_regression_and_random_elms_of_several_targets_equal_those_of_each() -> None:
    X, y = classes_of(8, T=100, d=4, C=3)
    data = coded(X, y)
    network = linear_network(data)
    sample = data.sample()
    np.testing.assert_allclose(network.beta, np.linalg.lstsq(sample.X, sample.y, rcond=None)[0], atol=1e-9)
    assert linear_error(data, Side.VALIDATION) == pytest.approx(errors_of(data, (network,), Side.VALIDATION)[0])
    elm = RandomElm(10, realizations=2)
    curves = elm_curves(data, elm)
    Xt, Yt, Xv, Yv = sides(X, y)
    expected = []
    for W in elm.weights(4):
        S, Sv = paper.hidden(W, Xt), paper.hidden(W, Xv)
        beta = np.linalg.lstsq(S, Yt, rcond=None)[0]
        expected.append(np.linalg.norm(Yv - Sv @ beta) / np.linalg.norm(Yv))
    assert curves.validation.mean[-1] == pytest.approx(np.mean(expected))


def test_landmarks_and_targets_of_any_number_give_predictions_of_their_shape() -> None:
    X, y = classes_of(9, T=90, d=3, C=6)
    data = coded(X, y)
    basis = eigenbasis_of(data, KERNEL, some_landmarks(data, 25), centred=True)
    network = kernel_variant.fit(data, basis, 20)
    assert network.predict(X).shape == (90, 5)
    assert network.first(0).predict(X).shape == (90, 5)


@pytest.mark.parametrize("C", [2, 4])
def test_logits_of_leaves_are_what_was_fitted_to_left_out_predictions_and_landmarks(C: int) -> None:
    """In leaves again: at new rows the same weights stand before f(x) and the landmarks' features."""
    X, y = classes_of(15, T=300, d=3, C=C)
    data = coded(X, y, Everything())
    method = replace(MethodSettings(), landmarks=25, leaf_rows=80)
    basis = basis_of(Tuned(Start.LEAVES, data, KERNEL, 25), method)
    own = local.fit(basis, method, local.Plan(False, 0.1))
    network = local.fit_classes(basis, method, own, None)
    assert network is not None
    assert network.logits
    assert network.facts is not None
    assert own.left_out is not None
    sample, scale = data.sample(), data.view.target_scale
    assert isinstance(scale, ClassScale)
    shared = local.shared_by(KERNEL, local._landmarks(basis, method))
    axes, F = local._landmark_features(shared, sample, network.facts["logistic_alpha"])
    z = (sample.y - own.left_out).reshape(300, C - 1)
    found = fit_logistic(problem_of(np.hstack([z, F]), sample, scale), np.array([network.facts["logistic_alpha"]]))
    new = np.random.default_rng(3).standard_normal((20, 3))
    phi = shared.projection.of(shared.prepared.against(new)) @ axes
    told = np.hstack([own.predict(new).reshape(20, C - 1), phi]) @ found.gamma + found.intercept
    again = local.VARIANT.logistic(basis, method, None, network)
    assert again is not None
    np.testing.assert_allclose(again.predict(new).reshape(20, C - 1), told, atol=1e-8)
