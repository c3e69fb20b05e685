"""Phase 1: eigenvectors and eigenfunctions."""

from __future__ import annotations

import numpy as np
import pytest

from enrelm_cli.inputs.training import rows_of_arrays
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.phase_one.eigenbasis import CUT, symmetric_eigen
from enrelm_cli.phase_one.phase_one import eigenbasis_of
from enrelm_cli.types import Array
from tests import paper
from tests.problems import all_landmarks, problem, some_landmarks, whole

KERNEL = ArcsineKernel(1.0, 0.1)


def same_span(A: Array, B: Array) -> float:
    """Largest sine between the spans of orthonormal columns."""
    return float(np.linalg.norm(B - A @ (A.T @ B), 2))


def test_the_full_basis_equals_the_papers_eigenproblem() -> None:
    X, y = problem(0, T=40, d=8)
    data = whole(X, y)
    basis = eigenbasis_of(data, ArcsineKernel(), all_landmarks(data), centred=False)
    standardised, _ = paper.standardised(X.T, X.T)
    U, eigenvalues, _ = paper.phase1(standardised)
    np.testing.assert_allclose(basis.values, eigenvalues, rtol=1e-10)
    rows = data.view(rows_of_arrays(X, y).pieces[0][0], 0)
    ours = basis.of_training(rows)
    signs = np.sign(np.sum(ours * U, axis=0))
    np.testing.assert_allclose(ours * signs, U, atol=1e-10)


@pytest.mark.parametrize("centred", [False, True])
def test_eigenfunctions_take_the_values_of_the_eigenvectors_on_training_rows(centred: bool) -> None:
    X, y = problem(1, T=80)
    data = whole(X, y)
    basis = eigenbasis_of(data, KERNEL, all_landmarks(data), centred)
    rows = data.sample()
    keep = basis.values > 1e-7 * basis.values[0]
    np.testing.assert_allclose(basis.features.outputs(rows.X)[:, keep], basis.of_training(rows)[:, keep], atol=1e-8)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("m", [None, 30])
def test_columns_of_U_are_orthonormal_and_centred_where_asked(centred: bool, m: int | None) -> None:
    X, y = problem(2, T=300)
    data = whole(X, y)
    landmarks = all_landmarks(data) if m is None else some_landmarks(data, m)
    basis = eigenbasis_of(data, KERNEL, landmarks, centred)
    U = basis.of_training(data.sample())
    np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-7)
    if centred:
        np.testing.assert_allclose(U.sum(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(basis.c, U.T @ data.sample().y, atol=1e-7)


@pytest.mark.parametrize("centred", [False, True])
def test_landmarks_that_are_all_rows_equal_the_full_kernel(centred: bool) -> None:
    X, y = problem(3, T=90, d=5)
    data = whole(X, y)
    full = all_landmarks(data)
    exact = eigenbasis_of(data, KERNEL, full, centred)
    nystroem = eigenbasis_of(data, KERNEL, type(full)(full.Z, full.key, complete=False), centred)
    k = int(np.count_nonzero(exact.values > 1e-4 * exact.values[0]))
    np.testing.assert_allclose(nystroem.values[:k], exact.values[:k], rtol=1e-9)
    rows = data.sample()
    assert same_span(nystroem.of_training(rows)[:, :k], exact.of_training(rows)[:, :k]) < 1e-8


def test_repeated_rows_weigh_as_often_as_they_occur() -> None:
    X, y = problem(4, T=30, d=5)
    X, y = np.concatenate([X, X[:12]]), np.concatenate([y, y[:12] + 0.1])
    data = whole(X, y)
    basis = eigenbasis_of(data, ArcsineKernel(), all_landmarks(data), centred=False)
    standardised, _ = paper.standardised(X.T, X.T)
    U, eigenvalues, _ = paper.phase1(standardised)
    assert len(basis.values) == len(eigenvalues) == 30
    np.testing.assert_allclose(basis.values, eigenvalues, rtol=1e-9)
    rows = data.view(data.rows.pieces[0][0], 0)
    np.testing.assert_allclose(np.abs(basis.of_training(rows).T @ U).max(axis=0), 1.0, atol=1e-9)


def test_eigenvalues_at_the_cut_are_dropped() -> None:
    Q, _ = np.linalg.qr(np.random.default_rng(5).standard_normal((6, 6)))
    values = np.array([2.0, 1.0, 3.0 * CUT, 0.5 * CUT, 0.0, -1e-15])
    kept, vectors = symmetric_eigen(Q @ np.diag(values) @ Q.T)
    np.testing.assert_allclose(kept[:2], [2.0, 1.0])
    assert len(kept) <= 3
    assert vectors.shape == (6, len(kept))


def test_rows_in_another_order_give_the_same_eigenfunctions() -> None:
    X, y = problem(6, T=200, d=4)
    order = np.random.default_rng(0).permutation(200)
    new = np.random.default_rng(1).standard_normal((10, 4))
    values = []
    for rows in (slice(None), order):
        data = whole(X[rows], y[rows])
        basis = eigenbasis_of(data, KERNEL, some_landmarks(data, 40), centred=True)
        values.append(np.abs(basis.features.outputs(new)[:, :8]))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-8, atol=1e-10)
