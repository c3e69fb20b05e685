"""Whole weights are repeated rows: every sum, choice and error of every variant, up to rounding."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enrelm_cli.fold.folds import Chunk
from enrelm_cli.fold.weights import mean, quantile, std
from enrelm_cli.inputs.maps.input_map import Expansion
from enrelm_cli.inputs.maps.numbers import number_maps
from enrelm_cli.inputs.maps.robust import robust_maps, scaled
from enrelm_cli.inputs.split import HashSplit, Side, hash_split
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.inputs.transforms import transformed
from enrelm_cli.judge.baselines import RandomElm, elm_curves, linear_error
from enrelm_cli.judge.errors import curve_of, errors_of
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model.intervals import order_statistics
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import Basis, basis_of, refit, tune
from enrelm_cli.phase_one.tuning.evidence import Evidence
from enrelm_cli.phase_one.tuning.ridge import landmark_left_out, leave_one_out
from enrelm_cli.settings import KernelSettings, MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants import local, named
from enrelm_cli.variants._choice import Plan
from enrelm_cli.variants._gather import LeafFile, _write
from enrelm_cli.variants._leaves import leaf_rows
from tests.problems import problem

FIXED = KernelSettings(tune=False, weight_variance=0.3, bias_variance=0.2)
SMALL = MethodSettings(kernel=FIXED)
LARGE = MethodSettings(kernel=FIXED, landmarks=40, leaf_rows=2000)
NEW = 3.0 + np.random.default_rng(0).standard_normal((30, 6)) * (1.0 + np.arange(6))


def weighted_and_repeated(T: int = 160) -> tuple[Training, Training]:
    X, y = problem(1, T=T)
    w = np.random.default_rng(2).integers(1, 5, T)
    rows = rows_of_arrays(X, y, weight=w.astype(float))
    split = hash_split(rows.sample.unit, True, 3, 0.25)
    repeated = rows_of_arrays(np.repeat(X, w, axis=0), np.repeat(y, w), weight=np.ones(w.sum()))
    return training(rows, split), training(repeated, split)


def fitted(basis: Basis, variant: str, method: MethodSettings) -> Network:
    """Leaves are cut by rows, for their cost goes by rows: here it is said how."""
    if variant == "local":
        return local.fit(basis, method, Plan(by_target=False, alpha=0.05))
    return named(variant).fit(basis, method, named(variant).most_neurons(basis, method))


def left_out(basis: Basis, variant: str, method: MethodSettings) -> Array:
    """Of each input, in the order of their keys."""
    network = fitted(basis, variant, method)
    sample, errors = basis.data.sample(), named(variant).left_out(basis, network)
    _, first = np.unique(sample.twins, return_index=True)
    return errors[first] if len(errors) else errors


def predictions(basis: Basis, variant: str, method: MethodSettings) -> Array:
    network = fitted(basis, variant, method)
    view = basis.data.view
    return view.target_scale.back(network.predict(view.input_map.inputs(NEW)))


@pytest.mark.parametrize("variant", ["approximate", "incremental", "kernel", "local"])
@pytest.mark.parametrize("method", [SMALL, LARGE], ids=["every row a landmark", "landmarks"])
def test_whole_weights_are_repeated_rows(variant: str, method: MethodSettings) -> None:
    bases = [basis_of(tune(data, method, named(variant).start), method) for data in weighted_and_repeated()]
    assert bases[0].data.T < bases[1].data.T
    assert bases[0].data.weight == bases[1].data.weight == bases[1].data.T
    np.testing.assert_allclose(*(predictions(one, variant, method) for one in bases), rtol=1e-8)
    np.testing.assert_allclose(*(left_out(one, variant, method) for one in bases), rtol=1e-6, atol=1e-9)
    networks = [fitted(one, variant, method) for one in bases]
    for side in (Side.TRAIN, Side.VALIDATION):
        curves = [curve_of(one, network, side) for one, network in zip(bases, networks, strict=True)]
        np.testing.assert_allclose(*curves, rtol=1e-7)
    joined = [refit(one) for one in bases]
    if joined[0] is not None and joined[1] is not None:
        np.testing.assert_allclose(*(predictions(one, variant, method) for one in joined if one), rtol=1e-7)


def test_the_tuned_kernel_target_scale_and_inputs_are_those_of_repeated_rows() -> None:
    """The rows without weights are tuned as before, each input once: both tables have a column of weights here."""
    tuned = [
        tune(data, MethodSettings(kernel=KernelSettings(tune_steps=60)), named("kernel").start)
        for data in weighted_and_repeated(60)
    ]
    kernels = [one.kernel for one in tuned]
    np.testing.assert_allclose(*(np.asarray(one.weight_variance) for one in kernels), rtol=1e-4)
    maps = [one.data.view.input_map.inputs(NEW) for one in tuned]
    np.testing.assert_allclose(*maps, rtol=1e-9, atol=1e-12)
    assert tuned[0].data.view.target_scale.transform == tuned[1].data.view.target_scale.transform
    assert tuned[0].tuning is not None
    assert tuned[1].tuning is not None
    assert tuned[0].tuning.alpha == pytest.approx(tuned[1].tuning.alpha)


def test_linear_regression_and_the_random_elm_are_those_of_repeated_rows() -> None:
    one, other = weighted_and_repeated()
    for side in (Side.TRAIN, Side.VALIDATION):
        assert linear_error(one, side) == pytest.approx(linear_error(other, side), rel=1e-9)
    curves = [elm_curves(data, RandomElm(10, 2)) for data in (one, other)]
    np.testing.assert_allclose(curves[0].train.mean, curves[1].train.mean, rtol=1e-8)
    np.testing.assert_allclose(curves[0].validation.mean, curves[1].validation.mean, rtol=1e-8)


@pytest.mark.parametrize("variant", ["approximate", "incremental", "kernel", "local"])
def test_weights_of_one_change_nothing(variant: str) -> None:
    X, y = problem(3, T=90)
    tables = [training(rows_of_arrays(X, y, weight=w), HashSplit(1, 2**62)) for w in (None, np.ones(90))]
    bases = [basis_of(tune(data, SMALL, named(variant).start), SMALL) for data in tables]
    np.testing.assert_allclose(*(predictions(one, variant, SMALL) for one in bases), rtol=1e-9)


def test_a_heavy_row_pulls_the_prediction_towards_its_target() -> None:
    X, y = problem(4, T=80)
    heavy = np.ones(80)
    heavy[7] = 1e4
    errors = []
    for w in (np.ones(80), heavy):
        data = training(rows_of_arrays(X, y, weight=w), HashSplit(0, 0))
        basis = basis_of(tune(data, SMALL, named("kernel").start), SMALL)
        network = named("kernel").fit(basis, SMALL, 80)
        inputs = data.view.input_map.inputs(X[7:8])
        errors.append(abs(float(data.view.target_scale.back(network.predict(inputs))[0]) - y[7]))
    assert errors[1] < 0.05 * errors[0]


# --- the parts -------------------------------------------------------------------------------------------------------

numbers = st.integers(-50, 50).map(float)
rows = st.lists(st.tuples(numbers, st.integers(1, 6)), min_size=1, max_size=30)


@given(rows, st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_weighted_statistics_are_those_of_repeated_values(pairs: list[tuple[float, int]], q: list[float]) -> None:
    a, w = np.array([x for x, _ in pairs]), np.array([n for _, n in pairs])
    repeated = np.repeat(a, w)
    assert mean(a, w.astype(float)) == pytest.approx(repeated.mean(), abs=1e-9)
    assert std(a, w.astype(float)) == pytest.approx(repeated.std(), abs=1e-9)
    np.testing.assert_allclose(quantile(a, np.array(q), w.astype(float)), np.quantile(repeated, q), atol=1e-8)


def test_the_maps_of_weighted_numbers_are_those_of_repeated_ones() -> None:
    rng = np.random.default_rng(5)
    raw, w = (
        np.column_stack([rng.standard_normal(300), rng.integers(0, 9, 300), rng.integers(0, 2, 300)]),
        rng.integers(1, 4, 300),
    )
    raw[::17, 0] = np.nan
    columns = rows_of_arrays(raw, raw[:, 1]).columns
    repeated = np.repeat(raw, w, axis=0)
    maps = []
    for table, weight in ((raw, w.astype(float)), (repeated, None)):
        found = scaled(
            Expansion(robust_maps(columns, table, {}, True, weight)), table, np.zeros(len(table), np.int64), weight
        )
        assert found is not None
        maps.append(found.inputs(raw))
    np.testing.assert_allclose(*maps, rtol=1e-9, atol=1e-10)
    assert [type(one) for one in number_maps(0, "value", raw[:, 1], w.astype(float))] == [
        type(one) for one in number_maps(0, "value", repeated[:, 1])
    ]


def test_the_scale_of_a_weighted_target_is_that_of_a_repeated_one() -> None:
    rng = np.random.default_rng(6)
    u, w = rng.gamma(2.0, size=200), rng.integers(1, 4, 200)
    plain = training(rows_of_arrays(u[:, None], u), HashSplit(0, 0)).view.target_scale
    for transform in ("log", "yeo-johnson"):
        one = transformed(plain, transform, u, True, w.astype(float))
        other = transformed(plain, transform, np.repeat(u, w), True)
        assert one is not None
        assert other is not None
        assert (one.shape, one.g_mean, one.g_scale) == pytest.approx(
            (other.shape, other.g_mean, other.g_scale), rel=1e-5
        )


def test_left_out_errors_of_weighted_rows_are_those_of_a_fit_without_them() -> None:
    X, y = problem(7, T=24, d=3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    w = np.random.default_rng(8).uniform(0.5, 3.0, 24)
    kernel = ArcsineKernel(0.4, 0.3)
    K = kernel.gram(X, X)
    ridge = leave_one_out(K, y, weight=w)
    for i in range(24):
        rest = np.delete(np.arange(24), i)
        # (K + alpha W^-1) a + b 1 = y, 1'a = 0: kernel ridge regression with a free intercept.
        A = np.block(
            [
                [K[np.ix_(rest, rest)] + ridge.alpha * np.diag(1.0 / w[rest]), np.ones((23, 1))],
                [np.ones((1, 23)), np.zeros((1, 1))],
            ]
        )
        solution = np.linalg.solve(A, np.append(y[rest], 0.0))
        assert y[i] - K[i, rest] @ solution[:-1] - solution[-1] == pytest.approx(ridge.left_out[i], rel=1e-6, abs=1e-8)
    np.testing.assert_allclose(y - K @ ridge.dual - ridge.offset, ridge.alpha * ridge.dual / w, atol=1e-8)
    np.testing.assert_allclose(landmark_left_out(kernel, X, y, 24, w), ridge.left_out, rtol=1e-5)


def test_the_gradient_of_the_weighted_evidence_is_that_of_differences() -> None:
    rng = np.random.default_rng(9)
    X, y, w = rng.standard_normal((20, 2)), rng.standard_normal(20), rng.uniform(0.3, 3.0, 20)
    at = np.log(np.array([0.5, 1.5, 0.4, 0.2]))

    def value(theta: Array) -> tuple[float, Array]:
        v1, v2, b, alpha = np.exp(theta)
        found = Evidence(X, y, 1, w)(np.array([v1, v2]), float(b), float(alpha))
        assert found is not None
        return found[0], np.r_[found[1], found[2], found[3]]

    steps = 1e-6 * np.eye(4)
    differences = [(value(at + step)[0] - value(at - step)[0]) / 2e-6 for step in steps]
    np.testing.assert_allclose(value(at)[1], differences, rtol=1e-5, atol=1e-7)


def test_intervals_of_weighted_errors_are_those_of_repeated_ones_to_a_row() -> None:
    rng = np.random.default_rng(10)
    errors, w = rng.standard_normal(400), rng.integers(1, 6, 400)
    kept, repeated = order_statistics(errors, w.astype(float)), np.sort(np.repeat(errors, w))
    assert len(kept) == 400
    assert (np.diff(kept) >= 0.0).all()
    for level in (0.5, 0.9, 0.95):
        rank = int(np.ceil(level * 401))
        place = np.searchsorted(repeated, kept[rank - 1]) / len(repeated)
        assert place == pytest.approx(level, abs=0.012)


def test_leaves_on_disk_keep_the_weights(tmp_path: Path) -> None:
    keys = np.arange(5, dtype=np.uint64)
    chunk = Chunk(np.ones((5, 2)), np.arange(5.0), keys, keys, 0, weight=np.arange(1.0, 6.0))
    _write({0: [chunk]}, tmp_path)
    (leaf,) = LeafFile(tmp_path / "0", 2, (), True)
    np.testing.assert_array_equal(leaf.weight, leaf_rows([chunk]).weight)
    np.testing.assert_array_equal(leaf.weight, np.arange(1.0, 6.0))


def test_errors_of_a_predictor_are_weighted() -> None:
    data, repeated = weighted_and_repeated()
    basis = basis_of(tune(data, SMALL, named("kernel").start), SMALL)
    network = named("kernel").fit(basis, SMALL, 5)
    same = replace(repeated, view=data.view)
    np.testing.assert_allclose(*(errors_of(one, (network,), Side.VALIDATION) for one in (data, same)), rtol=1e-9)
