"""Few rows are solved as rows, many as sums: the same answer, and never more numbers than either."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enrelm_cli.phase_one.least_squares import FewRows, NormalSums, normal
from enrelm_cli.types import Array


def problem(rows: int, columns: int, seed: int) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, columns))
    X[:, -1] = X[:, 0]  # dependent, as one-hot columns are
    return X, random.standard_normal((rows, 3))


@given(st.integers(1, 12), st.integers(2, 12), st.integers(1, 5), st.integers(0, 99))
def test_rows_in_any_pieces_give_the_shortest_least_squares_solution(
    rows: int, columns: int, pieces: int, seed: int
) -> None:
    X, B = problem(rows, columns, seed)
    parts = zip(np.array_split(X, pieces), np.array_split(B, pieces), strict=True)
    total = reduce(add, [normal(*part) for part in parts])
    assert np.allclose(total.solve(), np.linalg.pinv(X, rcond=1e-6) @ B, atol=1e-6)


def test_rows_are_kept_while_they_are_fewer_than_the_columns() -> None:
    X, B = problem(9, 6, seed=1)
    few = normal(X[:3], B[:3]) + normal(X[3:6], B[3:6])
    assert isinstance(few, FewRows)
    many = few + normal(X[6:], B[6:])
    assert isinstance(many, NormalSums)
    assert np.allclose(many.XX, X.T @ X)
    assert isinstance(normal(X[6:], B[6:]) + few.sums(), NormalSums)


@pytest.mark.parametrize("rows", [4, 40])
def test_the_change_of_the_squares_is_that_of_the_residuals(rows: int) -> None:
    X, B = problem(rows, 8, seed=2)
    w, b = np.random.default_rng(3).standard_normal(8), B[:, 0]
    expected = np.sum((b - X @ w) ** 2) - b @ b
    assert normal(X, b).change(w) == pytest.approx(expected)
    assert FewRows(X, b).sums().change(w) == pytest.approx(expected)
