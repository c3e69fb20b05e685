"""The triangular product that lets other threads run."""

from __future__ import annotations

import numpy as np
import pytest

from enrelm_cli.fold import unlocked
from enrelm_cli.fold.unlocked import triangular_product


def problem(t: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((t, m)), np.asfortranarray(np.triu(rng.standard_normal((m, m))))


@pytest.mark.parametrize(("t", "m"), [(1, 1), (7, 3), (3, 7), (1024, 100), (0, 5)])
def test_it_is_the_product(t: int, m: int) -> None:
    C, R = problem(t, m)
    expected = C @ R
    result = triangular_product(C, R)
    np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)
    assert result is C


def test_what_lies_below_the_diagonal_is_not_read() -> None:
    C, R = problem(10, 6)
    expected = C @ R
    R[np.tril_indices(6, -1)] = np.nan
    np.testing.assert_allclose(triangular_product(C, R), expected, rtol=1e-13, atol=1e-13)


def test_other_layouts_and_an_unknown_scipy_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    C, R = problem(9, 5)
    expected = C @ R
    np.testing.assert_allclose(triangular_product(np.asfortranarray(C), R), expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(triangular_product(C.copy(), np.ascontiguousarray(R)), expected, rtol=1e-13, atol=1e-13)
    monkeypatch.setattr(unlocked, "_dtrmm", lambda: None)
    np.testing.assert_allclose(triangular_product(C.copy(), R), expected, rtol=1e-13, atol=1e-13)


def test_this_scipy_is_known() -> None:
    assert unlocked._dtrmm() is not None


def test_a_routine_of_another_kind_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    # The same letters and matrices, but the sizes are 64-bit integers.
    assert unlocked._takes("void (char *, long *, __pyx_t_5scipy_6linalg_11cython_blas_d *)") == (
        "char",
        "long",
        "double",
    )
    monkeypatch.setattr(unlocked, "_takes", lambda signature: ("long",) * 11)
    unlocked._dtrmm.cache_clear()
    try:
        assert unlocked._dtrmm() is None
    finally:
        unlocked._dtrmm.cache_clear()
