"""Groups, and the latest rows, left out of the local variant: against dense solves without them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enrelm_cli.fold.folds import Chunk, LocalEngine
from enrelm_cli.fold.hashing import rehash
from enrelm_cli.inputs.split import Everything
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.model.local_features import LocalFeatures
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.eigenbasis import landmark_projection
from enrelm_cli.phase_one.landmarks import Landmarks
from enrelm_cli.phase_one.left_out import STAYS, block_of
from enrelm_cli.phase_one.phase_one import Basis, Start, basis_of, tune
from enrelm_cli.settings import KernelSettings, MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants import _leaf_blocks, named

METHOD = MethodSettings(
    landmarks=30, leaf_rows=50, kernel=KernelSettings(weight_variance=0.4, bias_variance=0.3, tune=False)
)


def table(rows: int = 200) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    group = rng.integers(1, 25, rows).astype(np.uint64)
    X[7], group[7] = X[8], group[8]
    X[17], group[17] = X[18], group[18] + np.uint64(1)
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=27)[group] + 0.2 * rng.normal(size=rows)
    return X, y, group


def fitted(classes: int = 0, **beside: Any) -> tuple[Basis, Network]:
    X, y, _ = table()
    if classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, classes) / classes), y).astype(float)
    rows = rows_of_arrays(X, y, LocalEngine(1), **beside)
    data: Training = training(replace(rows, classes=tuple("abc"[:classes])) if classes else rows, Everything())
    basis = basis_of(tune(data, METHOD, Start.TUNED), METHOD)
    return basis, named("local").fit(basis, METHOD, 1)


def dense(basis: Basis, network: Network, block: Array) -> Array:
    """Errors of each block by a joint covariance of the other rows and a free intercept."""
    features, sample = network.features, basis.data.sample()
    assert isinstance(features, LocalFeatures)
    assert network.facts is not None
    kernel, X, y = basis.tuned.kernel, sample.X, sample.y
    Z = Landmarks(features.Z, np.arange(len(features.Z), dtype=np.uint64), complete=False)
    F = landmark_projection(kernel, Z).of(kernel.gram(X, features.Z))
    S = F @ F.T
    for _, places in features.leaves.groups(X):
        S[np.ix_(places, places)] = kernel.gram(X[places], X[places])
    errors = np.full(y.shape, np.nan)
    for one in np.unique(block[block != STAYS]):
        out = block == one
        n = int(np.count_nonzero(~out))
        A = np.ones((n + 1, n + 1))
        A[:n, :n], A[n, n] = S[np.ix_(~out, ~out)] + network.facts["alpha"] * np.eye(n), 0.0
        w = np.linalg.solve(A, np.concatenate([y[~out], np.zeros((1, *y.shape[1:]))]))
        errors[out] = y[out] - S[np.ix_(out, ~out)] @ w[:n] - w[n]
    return errors


@pytest.mark.parametrize("classes", [0, 3])
def test_groups_over_several_leaves_are_left_out_whole(classes: int) -> None:
    _, _, group = table()
    basis, network = fitted(classes, group=group)
    sample = basis.data.sample()
    block = block_of(sample)
    assert block is not None
    assert network.left_out is not None
    np.testing.assert_allclose(network.left_out, dense(basis, network, block), rtol=1e-8, atol=1e-8)


def test_the_latest_rows_are_left_out_at_once() -> None:
    basis, network = fitted(time=np.random.default_rng(1).permutation(200).astype(float))
    block = block_of(basis.data.sample())
    assert block is not None
    assert network.left_out is not None
    np.testing.assert_allclose(network.left_out, dense(basis, network, block), rtol=1e-8, atol=1e-8)
    assert np.isnan(network.left_out).sum() == 150


def test_some_groups_stand_for_all_where_all_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, group = table()
    whole = fitted(group=group)[1].left_out
    monkeypatch.setattr(_leaf_blocks.block_keys, "__defaults__", (60,))
    few = fitted(group=group)[1].left_out
    assert whole is not None
    assert few is not None
    same = np.isclose(whole, few, rtol=1e-8)
    assert 30 < same.sum() <= 60 + 5
    assert np.isfinite(few).all()


def test_too_many_latest_rows_leave_no_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_leaf_blocks.block_keys, "__defaults__", (20,))
    basis, network = fitted(time=np.arange(200.0))
    assert network.left_out is not None
    assert len(named("local").left_out(basis, network)) == 0


def sample_of(rows: int, **beside: Any) -> Chunk:
    keys = np.arange(rows, dtype=np.uint64)
    return Chunk(np.zeros((rows, 1)), np.zeros(rows), keys // np.uint64(2), keys, 0, **beside)


@pytest.mark.parametrize("each", [1, 3])
def test_the_latest_rows_are_left_out_where_they_are_not_too_many(each: int) -> None:
    sample = sample_of(40, time=np.arange(40.0))
    # A quarter of 40, each of which stands for so many of the table.
    found = _leaf_blocks.block_keys(sample, 40 * each, most=10 * each)
    assert (found.since, found.groups) == (30.0, None)
    found = _leaf_blocks.block_keys(sample, 40 * each, most=10 * each - 1)
    assert found.since is None
    assert found.groups is not None
    assert len(found.groups) == 0
    assert found


@pytest.mark.parametrize("each", [1, 3])
def test_whole_groups_are_left_out_in_the_order_of_a_hash_until_they_are_too_many(each: int) -> None:
    group = np.random.default_rng(3).integers(1, 9, 40).astype(np.uint64)
    names, count = np.unique(group, return_counts=True)
    order = np.argsort(rehash(names, _leaf_blocks._SALT))
    for kept in range(1, len(names)):
        rows = each * int(count[order[:kept]].sum())
        for fewer in (0, 1):
            found = _leaf_blocks.block_keys(sample_of(40, group=group), 40 * each, most=rows - fewer)
            assert found.groups is not None
            np.testing.assert_array_equal(found.groups, np.sort(names[order[: kept - fewer]]))


def test_rows_of_a_leaf_are_one_where_inputs_group_and_time_are_equal() -> None:
    plain = sample_of(6)
    np.testing.assert_array_equal(_leaf_blocks.merge_key(plain), plain.twins)
    for beside in (
        {"group": np.array([1, 1, 2, 3, 4, 4], np.uint64)},
        {"time": np.array([1.0, 1.0, 2.0, 3.0, 4.0, 4.0])},
    ):
        key = _leaf_blocks.merge_key(replace(plain, unit=plain.twins, **beside))
        assert [a == b for a, b in zip(key[::2], key[1::2], strict=True)] == [True, False, True]


def test_leaves_on_disk_have_the_same_errors(tmp_path: Path) -> None:
    import enrelm

    X, y, group = table()
    rows = zip(X.tolist(), y.tolist(), group.tolist(), strict=True)
    lines = [f"{a!r},{b!r},{c!r},{target!r},g{one}" for (a, b, c), target, one in rows]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,c,y,who", *lines]) + "\n")
    options = {"variant": "local", "group": ["who"], "landmarks": 30, "leaf_rows": 50, "tune": False}
    facts = [enrelm.fit(str(path), "y", memory=m, **options).report_.to_json()["facts"] for m in ("1G", "1K")]
    assert facts[0]["leave_one_out_error"] == pytest.approx(facts[1]["leave_one_out_error"], rel=1e-6)
