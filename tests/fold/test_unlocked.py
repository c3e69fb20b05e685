"""Factors, solutions and products that let other threads run."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import cython_blas, cython_lapack

from enrelm_cli.fold import unlocked
from enrelm_cli.fold.unlocked import (
    cholesky,
    cholesky_inverse,
    lower_inverse,
    lower_solve,
    symmetric_product,
    triangular_product,
)

ROUTINES = {
    "dtrmm": (cython_blas, unlocked._PRODUCT),
    "dtrsm": (cython_blas, unlocked._PRODUCT),
    "dsymm": (cython_blas, unlocked._SYMMETRIC),
    "dpotrf": (cython_lapack, unlocked._FACTOR),
    "dpotri": (cython_lapack, unlocked._FACTOR),
    "dtrtri": (cython_lapack, unlocked._INVERSE),
}


@pytest.fixture(params=["known scipy", "unknown scipy"])
def scipy_of_any_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything once by address and once through scipy's own wrappers."""
    if request.param == "unknown scipy":
        monkeypatch.setattr(unlocked, "_routine", lambda module, name, arguments: None)


def close(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


def problem(t: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((t, m)), np.asfortranarray(np.triu(rng.standard_normal((m, m))))


def positive(n: int) -> np.ndarray:
    A = np.random.default_rng(1).standard_normal((n, n))
    return A @ A.T + n * np.eye(n)


@pytest.mark.usefixtures("scipy_of_any_kind")
@pytest.mark.parametrize(("t", "m"), [(1, 1), (7, 3), (3, 7), (1024, 100), (0, 5)])
def test_the_triangular_product_is_the_product(t: int, m: int) -> None:
    C, R = problem(t, m)
    expected = C @ R
    close(triangular_product(C, R), expected)


def test_the_triangular_product_overwrites_what_it_can() -> None:
    C, R = problem(7, 3)
    assert triangular_product(C, R) is C


def test_what_lies_below_the_diagonal_is_not_read() -> None:
    C, R = problem(10, 6)
    expected = C @ R
    R[np.tril_indices(6, -1)] = np.nan
    close(triangular_product(C, R), expected)


def test_other_layouts_give_the_same_product() -> None:
    C, R = problem(9, 5)
    expected = C @ R
    close(triangular_product(np.asfortranarray(C), R), expected)
    close(triangular_product(C.copy(), np.ascontiguousarray(R)), expected)


@pytest.mark.usefixtures("scipy_of_any_kind")
@pytest.mark.parametrize("n", [1, 5, 130])
def test_factor_solutions_and_inverses_are_those_of_numpy(n: int) -> None:
    A, B = positive(n), problem(n, 4)[0]
    L = A.copy()
    assert cholesky(L)
    expected = np.linalg.cholesky(A)
    close(np.tril(L), expected)
    forward, backward = B.copy(), B.copy()
    lower_solve(L, forward)
    lower_solve(L, backward, transposed=True)
    close(forward, np.linalg.solve(expected, B))
    close(backward, np.linalg.solve(expected.T, B))
    inverse = L.copy()
    lower_inverse(inverse)
    close(np.tril(inverse), np.linalg.inv(expected))
    assert cholesky_inverse(L)
    close(np.tril(L), np.tril(np.linalg.inv(A)))


@pytest.mark.usefixtures("scipy_of_any_kind")
def test_a_matrix_that_is_not_positive_has_no_factor() -> None:
    assert not cholesky(np.diag([1.0, -1.0, 1.0]))


@pytest.mark.usefixtures("scipy_of_any_kind")
@pytest.mark.parametrize("m", [1, 4])
def test_the_symmetric_product_reads_one_triangle(m: int) -> None:
    A, B = positive(30), problem(30, m)[0]
    expected = A @ B
    A[np.triu_indices(30, 1)] = np.nan
    close(symmetric_product(A, B), expected)


def test_a_matrix_in_another_layout_is_refused() -> None:
    with pytest.raises(ValueError, match="contiguous"):
        cholesky(positive(6)[::2, ::2])


@pytest.mark.parametrize("name", ROUTINES)
def test_this_scipy_is_known(name: str) -> None:
    module, arguments = ROUTINES[name]
    assert unlocked._routine(module, name, arguments) is not None


def test_a_routine_of_another_kind_is_not_called() -> None:
    # The same letters and matrices, but the sizes are 64-bit integers.
    assert unlocked._takes("void (char *, long *, __pyx_t_5scipy_6linalg_11cython_blas_d *)") == (
        "char",
        "long",
        "double",
    )
    assert unlocked._routine(cython_blas, "dtrmm", ("char", "long", "double")) is None
