"""Slopes of the kernel equal differences of it."""

from __future__ import annotations

import numpy as np
import pytest

from enrelm_cli.kernels.activation import NAMES, named
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.kernels.gradients import gradient
from enrelm_cli.types import Array


def by_differences(values: object, X: Array, step: float = 1e-5) -> Array:
    slopes = np.empty_like(X)
    for k in range(X.shape[1]):
        move = np.zeros(X.shape[1])
        move[k] = step
        slopes[:, k] = (values(X + move) - values(X - move)) / (2 * step)  # type: ignore[operator]
    return slopes


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("bias", [0.0, 0.4])
def test_slopes_equal_differences(depth: int, bias: float) -> None:
    random = np.random.default_rng(3)
    kernel = ArcsineKernel(random.uniform(0.1, 2.0, 4), bias, depth)
    Z, w, X = random.normal(size=(30, 4)), random.normal(size=30), random.normal(size=(9, 4))
    rows = kernel.prepare(Z)
    slopes = gradient(rows, X, w)
    np.testing.assert_allclose(slopes, by_differences(lambda A: rows.against(A) @ w, X), atol=1e-8)


def test_one_variance_for_all_inputs_is_that_of_each() -> None:
    random = np.random.default_rng(4)
    Z, w, X = random.normal(size=(20, 3)), random.normal(size=20), random.normal(size=(5, 3))
    shared, each = (ArcsineKernel(v, 0.1).prepare(Z) for v in (0.7, np.full(3, 0.7)))
    np.testing.assert_allclose(gradient(shared, X, w), gradient(each, X, w), rtol=1e-12)


def test_a_row_on_a_landmark_has_finite_slopes() -> None:
    Z = np.array([[1e8, -1e8], [0.0, 0.0]])
    assert np.isfinite(gradient(ArcsineKernel(1.0, 0.0).prepare(Z), Z, np.ones(2))).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_slope_of_every_activation_equals_its_differences(name: str) -> None:
    sigma, z = named(name), np.linspace(-3.0, 3.0, 41)
    np.testing.assert_allclose(sigma.slope(z), (sigma(z + 1e-6) - sigma(z - 1e-6)) / 2e-6, atol=1e-8)
