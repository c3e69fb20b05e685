"""The closed form of the erf network's kernel."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.special import erf

from enrelm_cli.kernels.arcsine import ArcsineKernel
from tests import paper


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("bias", [0.0, 0.7])
def test_the_kernel_equals_its_recursion_written_out(depth: int, bias: float) -> None:
    rng = np.random.default_rng(depth)
    X, v = rng.standard_normal((12, 4)), rng.uniform(0.1, 3.0, 4)
    ours = ArcsineKernel(v, bias, depth).gram(X, X)
    np.testing.assert_allclose(ours, paper.kernel_matrix(X.T, v, bias, depth), atol=1e-14)


def test_the_kernel_is_the_expectation_over_random_neurons() -> None:
    rng = np.random.default_rng(1)
    a, c = rng.standard_normal((2, 3))
    v, b = np.array([0.5, 1.0, 2.0]), 0.3
    W = rng.standard_normal((400_000, 3)) * np.sqrt(v)
    bias = rng.standard_normal(400_000) * np.sqrt(b)
    products = erf(W @ a + bias) * erf(W @ c + bias)
    standard_error = products.std() / np.sqrt(len(products))
    exact = ArcsineKernel(v, b).gram(a[None], c[None])[0, 0]
    assert abs(products.mean() - exact) < 4.0 * standard_error


@pytest.mark.parametrize("depth", [1, 3])
def test_the_diagonal_is_the_gram_matrix_of_a_row_with_itself(depth: int) -> None:
    X = np.random.default_rng(2).standard_normal((9, 5))
    kernel = ArcsineKernel(1.3, 0.2, depth)
    np.testing.assert_allclose(np.diag(kernel.gram(X, X)), kernel.diagonal(X), atol=1e-14)


def test_one_variance_for_each_input_is_a_scaling_of_the_inputs() -> None:
    X, Z = np.random.default_rng(3).standard_normal((2, 7, 4))
    v = np.array([0.1, 1.0, 4.0, 0.0])
    np.testing.assert_allclose(
        ArcsineKernel(v, 0.5).gram(X, Z), ArcsineKernel(1.0, 0.5).gram(X * np.sqrt(v), Z * np.sqrt(v)), atol=1e-15
    )


def test_rows_of_any_size_stay_between_minus_one_and_one() -> None:
    X = np.array([[1e-300], [1.0], [1e8], [1e90], [1e300], [-1e300], [0.0]])
    K = ArcsineKernel(1.0, 0.0).gram(X, X)
    assert np.isfinite(K).all()
    assert (np.abs(K) <= 1.0).all()
    assert K[4, 5] < -0.999


def test_a_kernel_and_its_prepared_rows_travel_to_other_processes() -> None:
    X = np.random.default_rng(4).standard_normal((5, 3))
    prepared = ArcsineKernel(0.8, 0.1, 2).prepare(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(prepared)).against(X), prepared.against(X))
