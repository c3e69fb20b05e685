"""The spread of errors: what it minimises, literally; folds; rows that count more than once; off the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from enrelm_cli.judge.spread import (
    _KNOTS,
    _LANDMARKS,
    _RIDGES,
    _ROWS_EACH,
    Errors,
    deviance,
    ground,
    grounds,
    landmarks_for,
    left_out,
    noise_of,
    off_of,
    regress,
    standard_error,
    tilt_of,
)
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.types import Array

RIDGES = np.array([30.0, 1.0])


def sizes(rows: int = 240, seed: int = 0) -> tuple[Array, Array]:
    """Features (n, 3), and errors that grow with the first; none of them far."""
    rng = np.random.default_rng(seed)
    F = rng.uniform(-1.0, 1.0, (rows, 3))
    return F, np.exp(F[:, 0]) * rng.uniform(0.1, 2.0, rows)


def rows_of(X: Array, size: Array, seed: int = 0) -> Errors:
    fold = np.random.default_rng(seed).integers(0, 5, len(X))
    return Errors(X, X[:, 0], size, np.ones(len(X)), fold)


@pytest.mark.parametrize("which", [0, 1])
def test_fisher_scoring_minimises_the_penalised_likelihood(which: int) -> None:
    F, size = sizes()
    found = regress(F, size, np.ones(len(F)), RIDGES)
    centred = F - F.mean(axis=0)

    def objective(p: Array) -> float:
        g = p[0] + centred @ p[1:]
        return float(np.sum(g + size * np.exp(-g)) + 0.5 * RIDGES[which] * p[1:] @ p[1:])

    best = optimize.minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(np.append(found.c[which], found.B[:, which]), best, atol=2e-4)


def test_a_row_of_weight_three_is_three_rows() -> None:
    F, size = sizes(80)
    weight = np.random.default_rng(1).integers(1, 4, 80)
    once = regress(F, size, weight.astype(float), RIDGES)
    again = regress(np.repeat(F, weight, axis=0), np.repeat(size, weight), np.ones(weight.sum()), RIDGES)
    np.testing.assert_allclose(once.of(F), again.of(F), rtol=1e-8, atol=1e-10)


def test_left_out_rows_are_those_of_a_regression_without_their_fold() -> None:
    F, size = sizes()
    rows = rows_of(F, size)
    g, own = left_out(F, rows, RIDGES), rows.fold == 3
    without = regress(F[~own], size[~own], np.ones(np.count_nonzero(~own)), RIDGES)
    np.testing.assert_allclose(g[own], without.of(F[own]))


def test_noise_is_found_in_a_column_that_the_prediction_does_not_use() -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-1.0, 1.0, (600, 3))
    rows = Errors(
        X, X[:, 0], np.abs(np.exp(1.2 * X[:, 2]) * rng.standard_normal(600)), np.ones(600), rng.integers(0, 5, 600)
    )
    choices = grounds(rows.f, (X[:80], X[:80, 0], np.array([1.0, 0.0, 0.0])))
    noise = noise_of(rows, rows.f, choices)
    assert noise is not None
    assert np.corrcoef(noise.g, X[:, 2])[0, 1] > 0.9
    assert deviance(noise.g, rows.size).mean() < deviance(np.log(rows.size.mean()), rows.size).mean() - 0.1
    # Out of fold and fitted to all rows are nearly one.
    fitted = noise.features.outputs(np.hstack([X, rows.f[:, None]]))[:, 0]
    assert np.abs(fitted - noise.g).mean() < 0.1


def test_no_noise_is_found_where_errors_are_alike() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (400, 3))
    rows = Errors(X, X[:, 0], np.abs(rng.standard_normal(400)), np.ones(400), rng.integers(0, 5, 400))
    assert noise_of(rows, rows.f, grounds(rows.f, (X[:60], X[:60, 0], np.ones(3)))) is None


def test_off_the_data_is_the_variance_of_the_prediction_in_units_of_the_noise() -> None:
    rng = np.random.default_rng(4)
    X, alpha = rng.uniform(-1.0, 1.0, (150, 2)), 0.05
    kernel, rows = ArcsineKernel(1.0, 1.0), rows_of(X, np.ones(150))
    off = off_of(kernel, X[:40], rows, alpha, 150.0)
    one = ground(kernel, X[:40])

    def literal(train: Array, x: Array, T: float) -> Array:
        F, f = one.of(train), one.of(x)
        C = F - F.mean(axis=0)
        A = T / len(F) * C.T @ C + alpha * np.eye(F.shape[1])
        gap = f - F.mean(axis=0)
        return np.einsum("ij,jk,ik->i", gap, np.linalg.inv(A), gap)

    far = np.array([[4.0, -4.0], [0.0, 0.0]])
    found = off.features.outputs(far)
    np.testing.assert_allclose(np.sum(found**2, axis=1), literal(X, far, 150.0), rtol=1e-6)
    assert np.sum(found[0] ** 2) > 10.0 * np.sum(found[1] ** 2)
    own = rows.fold == 1
    np.testing.assert_allclose(off.h[own], literal(X[~own], X[own], 150.0), rtol=1e-6)


def test_the_standard_error_of_a_weighted_mean() -> None:
    values = np.random.default_rng(5).standard_normal(1000)
    assert standard_error(values, np.ones(1000)) == pytest.approx(values.std() / np.sqrt(1000))
    assert standard_error(values, np.full(1000, 3.0)) == pytest.approx(values.std() / np.sqrt(1000))


def test_a_tilt_undoes_a_spread_that_is_too_flat() -> None:
    rng = np.random.default_rng(6)
    log = rng.uniform(-1.0, 1.0, 3000)
    rows = Errors(
        log[:, None], log, np.exp(log) * np.abs(rng.standard_normal(3000)), np.ones(3000), rng.integers(0, 5, 3000)
    )
    found = tilt_of(rows, 0.6 * log)
    assert found is not None
    tilted = found.tilt.of(0.6 * log)
    inner = np.abs(log) < 0.9
    assert np.std((tilted - log)[inner]) < 0.1
    # What left-out rows were judged by is what new rows get.
    np.testing.assert_allclose(tilted, found.log, atol=0.1)
    assert np.mean(tilted) == pytest.approx(np.mean(found.log), abs=1e-3)
    far = found.tilt.of(np.array([50.0]))
    assert np.isfinite(far).all()
    assert tilt_of(rows.first(500), log[:500]) is None


def test_landmarks_grow_with_the_rows_between_two_bounds() -> None:
    assert [landmarks_for(rows) for rows in (10, _KNOTS * _ROWS_EACH, 2 * _KNOTS * _ROWS_EACH, 10**9)] == [
        _KNOTS, _KNOTS, 2 * _KNOTS, _LANDMARKS,
    ]  # fmt: skip


def test_a_spread_may_depend_on_the_prediction_or_beside_it_on_inputs_by_their_weight_or_all_alike() -> None:
    """F F' of the landmarks is the kernel's matrix."""
    rng = np.random.default_rng(2)
    Z, f, v = rng.standard_normal((12, 3)), rng.standard_normal(12), np.array([0.3, 2.0, 0.7])
    alone, weighed, alike = grounds(rng.standard_normal(200), (Z, f, v))
    both = np.column_stack([Z, f])
    for found, kernel, inputs in (
        (alone, ArcsineKernel(1.0, 1.0), alone.Z),
        (weighed, ArcsineKernel(np.array([0.3, 2.0, 0.7, 1.0]), 1.0), both),
        (alike, ArcsineKernel(np.array([1 / 3, 1 / 3, 1 / 3, 1.0]), 1.0), both),
    ):
        F = found.of(inputs)
        np.testing.assert_allclose(F @ F.T, kernel.gram(inputs, inputs), atol=1e-7)


def test_a_direction_in_which_features_hardly_vary_is_shrunk_as_its_ridge_says() -> None:
    F, size = sizes()
    small = 0.01 * F  # whose eigenvalues are far below 1
    found, large = regress(small, size, np.ones(len(F)), 1e-4 * RIDGES), regress(F, size, np.ones(len(F)), RIDGES)
    np.testing.assert_allclose(found.of(small), large.of(F), rtol=1e-8)


def test_noise_counts_where_its_gain_is_above_a_standard_error() -> None:
    """Literally, for errors that hardly vary; of those that do, one ridge is kept."""
    outcomes = set()
    for seed in range(16):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.0, 1.0, (150, 1))
        size = np.abs(np.exp(0.25 * X[:, 0]) * rng.standard_normal(150))
        rows = Errors(X, X[:, 0], size, np.ones(150), rng.integers(0, 5, 150))
        choices = grounds(rows.f, None)
        g = left_out(choices[0].of(X), rows, _RIDGES)
        gains = deviance(np.log(size.mean()), size)[:, None] - deviance(g, size[:, None])
        best = int(np.argmax(gains.mean(axis=0)))
        gain, doubt = gains[:, best].mean(), gains[:, best].std() / np.sqrt(150)
        found = noise_of(rows, rows.f, choices)
        assert (found is None) == (gain <= doubt)
        outcomes.add((gain > 0.0, gain > doubt))
        if found is not None:
            final = regress(choices[0].of(X), size, np.ones(150), _RIDGES[best : best + 1])
            np.testing.assert_allclose(found.features.outputs(X), final.of(choices[0].of(X)), rtol=1e-6, atol=1e-9)
    assert {(True, False), (True, True)} <= outcomes


def test_a_tilt_goes_with_the_level_of_the_spread_and_needs_a_thousand_rows() -> None:
    rng = np.random.default_rng(6)
    log = rng.uniform(-1.0, 1.0, 1000)
    rows = Errors(
        log[:, None], log, np.exp(log) * np.abs(rng.standard_normal(1000)), np.ones(1000), np.arange(1000) % 5
    )
    found, other = tilt_of(rows, 0.6 * log), tilt_of(replace(rows, size=rows.size * np.exp(3.0)), 0.6 * log + 3.0)
    assert found is not None
    assert other is not None
    np.testing.assert_allclose([found.tilt.low, found.tilt.high], np.quantile(0.6 * (log - log.mean()), [0.02, 0.98]))
    np.testing.assert_allclose(other.tilt.of(log + 3.0), found.tilt.of(log) + 3.0, rtol=1e-9)
    assert tilt_of(rows.first(999), 0.6 * log[:999]) is None
