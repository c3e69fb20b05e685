"""The local variant against dense solves, against refitting, and in other orders, pieces and engines."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enrelm_cli.fold.folds import Chunk, LocalEngine
from enrelm_cli.inputs.split import Everything
from enrelm_cli.inputs.training import Rows, Training, rows_of_arrays, training
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model.leaves import Leaves
from enrelm_cli.model.local_features import LocalFeatures
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.eigenbasis import landmark_projection
from enrelm_cli.phase_one.phase_one import Basis, Start, basis_of, tune
from enrelm_cli.settings import KernelSettings, MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants import _gather, named
from enrelm_cli.variants._choice import Plan, choose_plan
from enrelm_cli.variants._leaves import best_cut, grow, middle
from enrelm_cli.variants._pic import Global, solve

KERNEL = KernelSettings(weight_variance=0.4, bias_variance=0.3, tune=False)


def table(rows: int = 240, twins: int = 30, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    X = np.concatenate([X, X[:twins], X[: twins // 2]])
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=len(X)) + 5.0


def data_of(X: Array, y: Array, threads: int = 1) -> Training:
    return training(rows_of_arrays(X, y, LocalEngine(threads)), Everything())


def method(landmarks: int = 40, leaf_rows: int = 60, local_rows: int = 10**6) -> MethodSettings:
    return MethodSettings(landmarks=landmarks, leaf_rows=leaf_rows, local_rows=local_rows, kernel=KERNEL)


def basis(data: Training, settings: MethodSettings) -> Basis:
    return basis_of(tune(data, settings, Start.TUNED), settings)


def local(data: Training, settings: MethodSettings) -> Network:
    return named("local").fit(basis(data, settings), settings, 1)


def features(network: Network) -> LocalFeatures:
    assert isinstance(network.features, LocalFeatures)
    return network.features


def covariance(data: Training, settings: MethodSettings, leaves: Leaves, A: Array, C: Array) -> Array:
    """cov(f(A), f(C)) of the model, written out."""
    start = basis(data, settings)
    kernel, landmarks = start.tuned.kernel, start.landmarks
    projection = landmark_projection(kernel, landmarks)
    F, G = (projection.of(kernel.gram(rows, landmarks.Z)) for rows in (A, C))
    same = leaves.of(A)[:, None] == leaves.of(C)
    return np.where(same, kernel.gram(A, C), F @ G.T)


def dense(S: Array, y: Array, alpha: float, cross: Array) -> Array:
    """Generalised least squares with a free intercept as one linear system."""
    n = len(y)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = S + alpha * np.eye(n)
    system[n, :n] = system[:n, n] = 1.0
    solution = np.linalg.solve(system, np.append(y, 0.0))
    prediction: Array = cross @ solution[:n] + solution[n]
    return prediction


def seen(data: Training) -> Chunk:
    return data.sample()


@pytest.mark.parametrize("leaf_rows", [60, 10**6])
def test_predictions_equal_a_dense_solve(leaf_rows: int) -> None:
    data, settings = data_of(*table()), method(leaf_rows=leaf_rows)
    network, rows = local(data, settings), seen(data)
    new = np.random.default_rng(9).normal(size=(50, 3))
    leaves = features(network).leaves
    assert (leaves.count == 1) == (leaf_rows == 10**6)
    S = covariance(data, settings, leaves, rows.X, rows.X)
    cross = covariance(data, settings, leaves, new, rows.X)
    expected = dense(S, rows.y, (network.facts or {})["alpha"], cross)
    np.testing.assert_allclose(network.predict(new), expected, atol=1e-8)


def test_one_leaf_is_exact_kernel_ridge_regression() -> None:
    data, settings = data_of(*table()), method(leaf_rows=10**6)
    network, rows = local(data, settings), seen(data)
    new = np.random.default_rng(9).normal(size=(50, 3))
    K = ArcsineKernel(0.4, 0.3)
    expected = dense(K.gram(rows.X, rows.X), rows.y, (network.facts or {})["alpha"], K.gram(new, rows.X))
    np.testing.assert_allclose(network.predict(new), expected, atol=1e-8)


def test_no_local_part_is_the_kernel_variant() -> None:
    data, settings = data_of(*table()), method()
    start = basis(data, settings)
    kernel = named("kernel").fit(start, settings, len(start.eigen.values))
    shared = Global(
        start.tuned.kernel,
        start.tuned.kernel.prepare(start.landmarks.Z),
        landmark_projection(start.tuned.kernel, start.landmarks),
    )
    everything = data.fold(_gather.OutsideRows(data.view, shared, 0), "")
    w = solve(None, everything, (kernel.facts or {})["alpha"]).w
    new = np.random.default_rng(9).normal(size=(50, 3))
    F = shared.projection.of(start.tuned.kernel.gram(new, start.landmarks.Z))
    np.testing.assert_allclose(F @ w[:-1] + w[-1], kernel.predict(new), atol=1e-8)


def test_rows_outside_of_the_leaves_count_with_their_landmarks() -> None:
    data, settings = data_of(*table()), method(local_rows=100)
    network, rows = local(data, settings), seen(data)
    inside = rows.unit < np.uint64(int(2**64 * (100 / data.T)))
    assert 40 < inside.sum() < 200
    leaves = features(network).leaves
    new = np.random.default_rng(9).normal(size=(50, 3))
    S = covariance(data, settings, leaves, rows.X, rows.X)
    cross = covariance(data, settings, leaves, new, rows.X)
    start = basis(data, settings)
    F, G = (
        landmark_projection(start.tuned.kernel, start.landmarks).of(start.tuned.kernel.gram(A, start.landmarks.Z))
        for A in (rows.X, new)
    )
    both = inside[:, None] & inside
    S, cross = np.where(both, S, F @ F.T), np.where(inside, cross, G @ F.T)
    expected = dense(S, rows.y, (network.facts or {})["alpha"], cross)
    np.testing.assert_allclose(network.predict(new), expected, atol=1e-8)


@pytest.mark.parametrize("local_rows", [20, 50])
def test_no_leaf_is_empty_where_few_rows_are_in_leaves(local_rows: int) -> None:
    network = local(data_of(*table()), method(leaf_rows=4, local_rows=local_rows))
    assert np.diff(features(network).first).min() > 0
    assert features(network).leaves.count > 2
    assert network.left_out is not None
    assert np.isfinite(network.left_out).all()


def test_left_out_errors_equal_refitting_without_each_input() -> None:
    data, settings = data_of(*table(100, 20)), method(landmarks=25, leaf_rows=40)
    network, rows = local(data, settings), seen(data)
    leaves, alpha = features(network).leaves, (network.facts or {})["alpha"]
    S = covariance(data, settings, leaves, rows.X, rows.X)
    expected = np.empty(rows.rows)
    for key in np.unique(rows.twins):
        out = rows.twins == key
        cross = S[np.ix_(out, ~out)]
        expected[out] = rows.y[out] - dense(S[np.ix_(~out, ~out)], rows.y[~out], alpha, cross)
    assert network.left_out is not None
    np.testing.assert_allclose(network.left_out, expected, atol=1e-8)


def test_the_order_of_the_rows_and_the_number_of_threads_change_no_bit() -> None:
    X, y = table()
    order = np.random.default_rng(1).permutation(len(y))
    one, other = local(data_of(X, y), method()), local(data_of(X, y, threads=3), method())
    assert np.array_equal(features(one).a, features(other).a)
    shuffled = local(data_of(X[order], y[order]), method())
    # The moments of the inputs are sums over rows: their last bits are the table's.
    np.testing.assert_allclose(features(shuffled).a, features(one).a, rtol=1e-6, atol=1e-8)


def test_factors_that_were_kept_and_factors_that_were_made_again_give_the_same_bits() -> None:
    data = data_of(*table())
    assert data.rows.spare > 0
    again = replace(data, rows=replace(data.rows, spare=0))
    one, other = local(data, method()), local(again, method())
    assert np.array_equal(features(one).a, features(other).a)
    assert np.array_equal(features(one).C, features(other).C)


def on_disk(data: Training) -> Training:
    rows: Rows = replace(data.rows, in_memory=False, spare=0)
    return replace(data, rows=rows)


def test_rows_gathered_on_disk_give_the_same_model_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(_gather, "_WAITING", 1000)  # many small writes
    data = data_of(*table())
    one, other = local(data, method()), local(on_disk(data), method())
    assert np.array_equal(features(one).a, features(other).a)
    assert np.array_equal(features(one).X, features(other).X)
    assert list(tmp_path.iterdir()) == []


class Elsewhere(LocalEngine):
    """Sends everything by pickle, as a cluster does."""

    def fold(self, pieces: Any, partial: Any, label: str, total: int | None = None) -> Any:
        return super().fold(*pickle.loads(pickle.dumps((list(pieces), partial))), label, total)

    def map(self, pieces: Any, function: Any, label: str, total: int | None = None) -> Any:
        return super().map(*pickle.loads(pickle.dumps((list(pieces), function))), label, total)


def test_leaves_sent_elsewhere_carry_their_rows_and_give_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    data = data_of(*table())
    sent = on_disk(data)
    sent = replace(sent, rows=replace(sent.rows, engine=Elsewhere(1)))
    assert np.array_equal(features(local(data, method())).a, features(local(sent, method())).a)


def test_the_folder_of_a_killed_run_goes_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead, alive, other = tmp_path / "enrelm-leaves-4194304999-x", tmp_path / "enrelm-leaves-1-x", tmp_path / "mine"
    for folder in (dead, alive, other):
        folder.mkdir()
    monkeypatch.setattr(_gather, "_alive", lambda pid: pid == 1)
    _gather.remove_stale()
    assert sorted(tmp_path.iterdir()) == sorted([alive, other])


def test_a_saved_model_predicts_the_same_and_a_damaged_tree_is_refused() -> None:
    network = local(data_of(*table()), method())
    again = Network.from_document(network.to_document())
    again.check(3)
    X = np.random.default_rng(3).normal(size=(20, 3))
    assert np.array_equal(again.predict(X), network.predict(X))
    leaves = features(again).leaves
    loop = replace(features(again), leaves=replace(leaves, low=np.zeros_like(leaves.low)))
    with pytest.raises(ValueError, match="earlier cut"):
        replace(again, features=loop).check(3)


def test_more_rows_than_landmarks_are_worth_a_local_part() -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(-1.0, 1.0, size=(1200, 2))
    y = np.sin(6.0 * X[:, 0]) * np.cos(4.0 * X[:, 1]) + 0.05 * rng.normal(size=1200)
    data = data_of(X[:900], y[:900])
    settings = MethodSettings(
        landmarks=15, leaf_rows=250, kernel=KernelSettings(weight_variance=4.0, bias_variance=4.0, tune=False)
    )
    start = basis(data, settings)
    new, target = data.view.input_map.inputs(X[900:]), data.view.target_scale.forward(y[900:])
    errors = [
        float(np.linalg.norm(named(name).fit(start, settings, 30).predict(new) - target))
        for name in ("kernel", "local")
    ]
    assert errors[1] < 0.5 * errors[0]


def trial(y_of: Callable[[Array], Array], weight_variance: Array) -> Plan:
    X = np.random.default_rng(4).uniform(-2.0, 2.0, size=(900, 2))
    y = y_of(X)
    kernel = KernelSettings(weight_variance=1.0, bias_variance=1.0, tune=False)
    settings = MethodSettings(landmarks=10, leaf_rows=100, kernel=kernel)
    start = basis(data_of(X, y), settings)
    start = replace(start, tuned=replace(start.tuned, kernel=ArcsineKernel(weight_variance, 1.0)))
    return choose_plan(start, start.landmarks, start.data.sample(), 100)


def test_cuts_part_the_inputs_that_the_kernel_tells_apart_or_the_target_whichever_leaves_less_error() -> None:
    # The target goes with x1, but what the landmarks miss is the rapid part along x2.
    plan = trial(lambda X: 5.0 * X[:, 0] + np.sin(9.0 * X[:, 1]), np.array([0.05, 400.0]))
    assert not plan.by_target
    # The kernel is as quick along x2, of which nothing depends.
    plan = trial(lambda X: np.sin(9.0 * X[:, 0]), np.array([100.0, 101.0]))
    assert plan.by_target


def test_a_refit_keeps_cuts_and_ridge_while_the_kernel_is_the_same() -> None:
    data, settings = data_of(*table()), method()
    start = basis(data, settings)
    before = named("local").fit(start, settings, 1)
    kept = replace(before, facts={**(before.facts or {}), "alpha": 0.125})
    assert (named("local").refit(start, settings, 1, kept).facts or {})["alpha"] == 0.125
    other = basis(data, settings)
    assert (named("local").refit(other, settings, 1, kept).facts or {})["alpha"] != 0.125


# --- cuts ------------------------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0, 1e-300, 5e300]), min_size=1, max_size=40))
def test_a_middle_cut_has_rows_on_both_sides(values: list[float]) -> None:
    x = np.array(values)
    at = middle(x)
    assert (at is None) == (len(set(values)) == 1)
    if at is not None:
        assert 0 < np.count_nonzero(x <= at) < len(x)


def test_the_cut_is_of_the_input_that_parts_the_targets_and_balanced() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 4))
    found = best_cut(X, (np.sign(X[:, 2]) + 0.1 * X[:, 0])[:, None])
    assert found is not None
    assert found[0] == 2
    assert abs(np.count_nonzero(X[:, 2] <= found[1]) - 200) <= 1


def test_equal_rows_cannot_be_cut() -> None:
    assert best_cut(np.ones((10, 3)), np.arange(10.0)[:, None]) is None


def test_inputs_that_part_the_rows_alike_are_told_apart_by_their_place() -> None:
    x = np.random.default_rng(2).normal(size=(400, 1))
    found = best_cut(np.hstack([x**3, x, 5.0 * x]), np.hstack([x, x**2, np.sin(x)]))
    assert found is not None
    assert found[0] == 0


@pytest.mark.parametrize("parted", [lambda sample: sample.y[:, None], lambda sample: sample.X])
@pytest.mark.parametrize("most", [20, 50, 1000])
def test_leaves_are_small_enough_and_hold_every_row_once(most: int, parted: Callable[[Chunk], Array]) -> None:
    data = data_of(*table())
    leaves = grow(data.sample(), data.T, most, parted(data.sample()))
    leaves.check(3)
    counts = np.bincount(leaves.of(data.sample().X), minlength=leaves.count)
    assert counts.sum() == data.T
    assert counts.max() <= most
    assert counts.min() > 0
