"""Rows left out together, against fits without them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.inputs.split import Everything
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.phase_one import left_out
from enrelm_cli.phase_one.eigenbasis import landmark_projection
from enrelm_cli.phase_one.landmarks import choose
from enrelm_cli.phase_one.left_out import STAYS, block_of
from enrelm_cli.phase_one.phase_one import Basis, Start, basis_of, tune
from enrelm_cli.phase_one.tuning.ridge import best_alpha, landmark_left_out, leave_one_out
from enrelm_cli.settings import KernelSettings, MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants import _left_out, named
from enrelm_cli.variants import kernel as kernel_variant

KERNEL = KernelSettings(weight_variance=0.4, bias_variance=0.3, tune=False)
ALPHA = 0.05


def table(rows: int = 120, seed: int = 0) -> tuple[Array, Array, Array]:
    """Inputs, targets and groups of 1 to 30 rows; some rows have twins, in their group and in another."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    group = np.minimum(rng.exponential(4.0, rows), 11.0).astype(np.uint64)
    X[10], X[20], group[20] = X[11], X[21], group[21] + 1
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + rng.normal(size=12)[group] + 0.2 * rng.normal(size=rows), group


def basis_with(landmarks: int | None, **beside: Any) -> tuple[Basis, Array, Array]:
    X, y, group = table()
    fields = beside or {"group": group}
    data: Training = training(rows_of_arrays(X, y, LocalEngine(1), **fields), Everything())
    method = MethodSettings(landmarks=landmarks, kernel=KERNEL)
    return basis_of(tune(data, method, Start.TUNED), method), X, y


def refitted(B: Array, z: Array, block: Array, alpha: float) -> Array:
    """Ridge regression on columns B with a free intercept, without the rows of each block: their errors."""
    errors = np.full(len(z), np.nan)
    for one in np.unique(block[block != STAYS]):
        out = block == one
        mean, z_mean = B[~out].mean(axis=0), z[~out].mean()
        C = B[~out] - mean
        w = np.linalg.solve(C.T @ C + alpha * np.eye(B.shape[1]), C.T @ (z[~out] - z_mean))
        errors[out] = z[out] - z_mean - (B[out] - mean) @ w
    return errors


def columns_of(basis: Basis) -> Array:
    """B with B B' the kernel that the basis decomposes, of the sample's rows."""
    sample, kernel = basis.data.sample(), basis.tuned.kernel
    if basis.landmarks.complete:
        values, Q = np.linalg.eigh(kernel.gram(sample.X, sample.X))
        return Q * np.sqrt(np.maximum(values, 0.0))
    return landmark_projection(kernel, basis.landmarks).of(kernel.gram(sample.X, basis.landmarks.Z))


@pytest.mark.parametrize("landmarks", [None, 25])
def test_errors_without_a_group_are_those_of_a_fit_without_it(landmarks: int | None) -> None:
    basis, _, _ = basis_with(landmarks)
    sample, n = basis.data.sample(), len(basis.eigen.values)
    block = block_of(sample)
    assert block is not None
    found = kernel_variant.left_out_errors(basis.data, basis.eigen, ALPHA, n)
    np.testing.assert_allclose(found, refitted(columns_of(basis), sample.y, block, ALPHA), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("landmarks", [None, 25])
def test_errors_of_the_latest_rows_are_those_of_a_fit_to_the_earlier_ones(landmarks: int | None) -> None:
    time = np.random.default_rng(1).permutation(120).astype(float)
    basis, _, _ = basis_with(landmarks, time=time)
    sample, n = basis.data.sample(), len(basis.eigen.values)
    block = block_of(sample)
    assert block is not None
    assert sample.time is not None
    np.testing.assert_array_equal(block == 0, sample.time >= 90)
    found = kernel_variant.left_out_errors(basis.data, basis.eigen, ALPHA, n)
    expected = refitted(columns_of(basis), sample.y, block, ALPHA)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    assert np.isnan(found).sum() == 90


def test_the_ridge_is_that_of_the_smallest_error_without_groups() -> None:
    basis, _, _ = basis_with(None)
    sample = basis.data.sample()
    block = block_of(sample)
    assert block is not None
    alphas = kernel_variant.grid(basis.eigen)
    B = columns_of(basis)
    squares = np.array([np.sum(refitted(B, sample.y, block, float(alpha)) ** 2) for alpha in alphas])
    network = kernel_variant.fit(basis.data, basis.eigen, 50)
    assert network.facts is not None
    assert network.facts["alpha"] == pytest.approx(best_alpha(alphas, squares), rel=1e-6)
    assert network.facts["leave_one_out_error"] == pytest.approx(np.sqrt(squares.min() / 120), rel=1e-8)


def test_groups_of_one_input_each_are_left_out_as_twins_are() -> None:
    X, y, _ = table()
    fields = {"group": np.arange(120, dtype=np.uint64)}
    data = training(rows_of_arrays(X, y, LocalEngine(1), **fields), Everything())
    assert block_of(data.sample()) is None


def test_one_group_alone_cannot_be_left_out() -> None:
    basis, _, _ = basis_with(None, group=np.zeros(120, np.uint64))
    assert block_of(basis.data.sample()) is None
    assert np.isfinite(named("kernel").fit(basis, MethodSettings(kernel=KERNEL), 5).beta).all()


def test_pieces_and_the_matrices_of_rows_or_columns_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    basis, _, _ = basis_with(25)
    n = len(basis.eigen.values)
    expected = kernel_variant.left_out_errors(basis.data, basis.eigen, ALPHA, n)
    monkeypatch.setattr(_left_out, "_ROWS", 7)
    monkeypatch.setattr(left_out, "_AT_ONCE", 9)
    monkeypatch.setattr(left_out.Smoother, "_small", left_out.Smoother._large)
    np.testing.assert_allclose(
        kernel_variant.left_out_errors(basis.data, basis.eigen, ALPHA, n), expected, rtol=1e-9, atol=1e-10
    )


def test_rows_that_stand_for_others_count_as_so_many_with_their_residual() -> None:
    """Every row twice, in the sample once: the same errors as of all rows."""
    X, y, group = table()
    twice = (np.tile(a, 2) if a.ndim == 1 else np.tile(a, (2, 1)) for a in (X, y, group))
    X2, y2, group2 = twice
    data = training(rows_of_arrays(X2, y2, LocalEngine(1), group=group2), Everything())
    method = MethodSettings(kernel=KERNEL)
    basis = basis_of(tune(data, method, Start.TUNED), method)
    sample = data.sample()
    block = block_of(sample)
    assert block is not None
    shrunk = (ALPHA / (basis.eigen.values + ALPHA))[:, None]
    whole = _left_out.errors_of_blocks(sample, block, _left_out.BlocksLeftOut(basis.eigen, shrunk, 1.0))
    _, first = np.unique(sample.alike(), return_index=True)
    half = sample.take(first)
    # Twins of the table itself make a row of the sample stand for more than two.
    count = np.unique(sample.alike(), return_counts=True)[1]
    partial = _left_out.BlocksLeftOut(basis.eigen, shrunk, 2.0)
    found = _left_out.errors_of_blocks(half, block[first], partial)
    alone = np.isin(block[first], np.unique(block[first][count > 2]), invert=True)
    assert alone.sum() > 60
    np.testing.assert_allclose(found[alone], whole[first][alone], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1.5, 6.0])
@pytest.mark.parametrize("landmarks", [None, 25])  # 25: blocks of more rows than columns, too
def test_rows_that_stand_for_so_many_that_others_would_be_missing_are_held_back(
    landmarks: int | None, scale: float
) -> None:
    """I - H of a block has no eigenvalue below alpha / (lambda + alpha) where all rows are there."""
    basis, _, _ = basis_with(landmarks)
    eigen, sample = basis.eigen, basis.data.sample()
    block = np.where(np.arange(120) < 90, 0, np.arange(120) // 15)
    alphas = np.array([ALPHA, 2.0])
    shrunk = alphas / (eigen.values[:, None] + alphas)
    partial = _left_out.BlocksLeftOut(eigen, shrunk, scale)
    U, found, bounded = eigen.of_training(sample), partial.errors(sample, block), 0
    for a in range(2):
        r = sample.y - U @ (eigen.c * (1.0 - shrunk[:, a]))
        for one in np.unique(block):
            V = U[block == one]
            H = np.ones((len(V), len(V))) / eigen.rows + V @ ((1.0 - shrunk[:, a])[:, None] * V.T)
            values, Q = np.linalg.eigh(np.eye(len(V)) - scale * H)
            bounded += int(np.count_nonzero(values < shrunk[:, a].min()))
            expected = Q @ (Q.T @ r[block == one] / np.maximum(values, shrunk[:, a].min()))
            np.testing.assert_allclose(found[block == one, a], expected, rtol=1e-7, atol=1e-8)
    assert (bounded > 0) == (scale > 1.0)


@pytest.mark.parametrize("alphas", [1, 2])
def test_sums_without_groups_are_weighted_squares_of_every_target(alphas: int) -> None:
    X, y, group = table()
    weight = np.random.default_rng(4).uniform(0.5, 2.0, 120)
    rows = rows_of_arrays(X, np.searchsorted(np.quantile(y, [0.3, 0.7]), y).astype(float), group=group, weight=weight)
    data = training(replace(rows, classes=("a", "b", "c")), Everything())
    method = MethodSettings(landmarks=25, kernel=KERNEL)
    eigen = basis_of(tune(data, method, Start.TUNED), method).eigen
    ridges = np.array([ALPHA, 2.0])[:alphas]
    sample = data.sample()
    block = block_of(sample)
    assert block is not None
    partial = _left_out.blocks_left_out(eigen, ridges / (eigen.values[:, None] + ridges), sample)
    sums = _left_out.fold_blocks(data, block, partial)
    assert sums["squares"].shape == (alphas, 2)
    assert sums["rows"] == pytest.approx(weight.sum())
    B = landmark_projection(eigen.features.kernel, choose(sample, 120, 25))  # type: ignore[union-attr]
    F = B.of(eigen.features.kernel.gram(sample.X, eigen.features.Z))  # type: ignore[union-attr]
    w = sample.weight
    assert w is not None
    for a, ridge in enumerate(ridges):
        errors = np.empty((120, 2))
        for one in np.unique(block):
            out = block == one
            mean, z_mean = (np.average(A[~out], axis=0, weights=w[~out]) for A in (F, sample.y))
            C = F[~out] - mean
            G = np.linalg.solve(C.T @ (C * w[~out, None]) + ridge * np.eye(25), (C * w[~out, None]).T @ sample.y[~out])
            errors[out] = sample.y[out] - z_mean - (F[out] - mean) @ G
        np.testing.assert_allclose(sums["squares"][a], w @ errors**2, rtol=1e-8)


def test_a_shift_of_all_targets_shifts_no_error() -> None:
    basis, _, _ = basis_with(None)
    sample = basis.data.sample()
    block = block_of(sample)
    assert block is not None
    eigen, shrunk = basis.eigen, np.array([[ALPHA]]) / (basis.eigen.values[:, None] + ALPHA)
    found = _left_out.blocks_left_out(eigen, shrunk, sample).errors(sample, block)
    moved = replace(eigen, y_mean=eigen.y_mean + 3.0)
    shifted = replace(sample, y=sample.y + 3.0)
    np.testing.assert_allclose(_left_out.blocks_left_out(moved, shrunk, shifted).errors(shifted, block), found)


def test_tuning_leaves_groups_out_together() -> None:
    X, y, group = table()
    kernel = ArcsineKernel(0.4, 0.3)
    block = np.unique(group, return_inverse=True)[1]
    K = kernel.gram(X, X)
    values, Q = np.linalg.eigh(K)
    ridge = leave_one_out(K, y, np.array([0.5, ALPHA]), block=block)
    expected = refitted(Q * np.sqrt(np.maximum(values, 0.0)), y, block, ridge.alpha)
    np.testing.assert_allclose(ridge.left_out, expected, rtol=1e-7, atol=1e-8)
    assert ridge.error == pytest.approx(np.mean(expected**2))
    rows = np.random.default_rng(2).permutation(120)
    found = landmark_left_out(kernel, X[rows], y[rows], 120, block=block[rows])
    exact = leave_one_out(K, y, block=block)
    np.testing.assert_allclose(found, exact.left_out[rows], rtol=1e-4, atol=1e-5)


def test_whole_weights_are_repeated_rows_where_groups_are_left_out() -> None:
    X, y, group = table()
    weight = np.random.default_rng(3).integers(1, 4, 120)
    repeated = np.repeat(np.arange(120), weight)
    method = MethodSettings(kernel=KERNEL)
    found = []
    for rows, fields in ((np.arange(120), {"weight": weight.astype(float)}), (repeated, {})):
        made = rows_of_arrays(X[rows], y[rows], LocalEngine(1), group=group[rows], **fields)
        data = training(made, Everything())
        basis = basis_of(tune(data, method, Start.TUNED), method)
        n = len(basis.eigen.values)
        errors = kernel_variant.left_out_errors(data, basis.eigen, ALPHA, n)
        of = dict(zip(data.sample().alike().tolist(), errors.tolist(), strict=True))
        found.append((of, (kernel_variant.fit(data, basis.eigen, n).facts or {})["alpha"]))
    (weighted, alpha), (repeats, other) = found
    assert weighted.keys() == repeats.keys()
    assert alpha == pytest.approx(other, rel=1e-6)
    # Twins of one group share a key, and either may come last.
    close = [weighted[key] == pytest.approx(repeats[key], rel=1e-6, abs=1e-7) for key in weighted]
    assert np.mean(close) > 0.97
