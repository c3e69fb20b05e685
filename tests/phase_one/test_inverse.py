"""The inverse that the evidence is differentiated with: by LAPACK below some hundred rows, swept on threads above."""

from __future__ import annotations

import numpy as np
import pytest

from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.phase_one.tuning import inverse
from enrelm_cli.phase_one.tuning.evidence import Evidence
from enrelm_cli.phase_one.tuning.inverse import invert
from enrelm_cli.types import Array


def matrix(n: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 4))
    return ArcsineKernel(0.4, 0.2).gram(X, X) + 0.01 * np.eye(n), rng.standard_normal((n, 2))


@pytest.mark.parametrize("n", [1, 6, 7, 20, 23])
@pytest.mark.parametrize("swept", [True, False])
def test_both_ways_give_the_inverse(n: int, swept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inverse, "_BLOCK", 6)
    monkeypatch.setattr(inverse, "_SWEPT", 0 if swept else n + 1)
    A, y = matrix(n)
    expected, place, asked = np.linalg.inv(A), A.copy(), y.copy()
    found = invert(place, asked, 2)
    assert found is not None
    np.testing.assert_allclose(np.tril(place), np.tril(expected), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(found.a, expected @ y, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.squares, np.einsum("ij,ik,kj->j", y, expected, y), rtol=1e-10)
    assert np.isclose(found.log_det, np.linalg.slogdet(A)[1], rtol=1e-12, atol=1e-11)
    np.testing.assert_array_equal(asked, y)


@pytest.mark.parametrize("place", [0, 9, 19])
@pytest.mark.parametrize("swept", [True, False])
def test_a_matrix_that_is_not_positive_is_refused(place: int, swept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inverse, "_BLOCK", 6)
    monkeypatch.setattr(inverse, "_SWEPT", 0 if swept else 100)
    A, y = matrix(20)
    A[place, place] = -1.0
    assert invert(A, y, 2) is None


def test_the_number_of_threads_changes_no_bit() -> None:
    A, y = matrix(inverse._SWEPT + 50)
    results = []
    for threads in (1, 2, 5):
        place = A.copy()
        found = invert(place, y, threads)
        assert found is not None
        results.append((np.tril(place), found.a, found.squares, found.log_det))
    for other in results[1:]:
        for mine, theirs in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("depth", [1, 2])
def test_the_evidence_of_a_swept_matrix_is_that_of_a_factored_one(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((50, 3)), rng.standard_normal(50)
    v = np.array([0.3, 1.0, 0.1])
    factored = Evidence(X, y, depth)(v, 0.5, 0.05)
    monkeypatch.setattr(inverse, "_SWEPT", 0)
    monkeypatch.setattr(inverse, "_BLOCK", 16)
    swept = Evidence(X, y, depth, threads=2)(v, 0.5, 0.05)
    assert factored is not None
    assert swept is not None
    for mine, theirs in zip(swept, factored, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
