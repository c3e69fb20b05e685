"""Which intervals a model gets, and whether new rows agree: noise that varies, that does not, skewed, off the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from enrelm import EnrelmRegressor
from enrelm_cli.types import Array

QUICK: dict[str, Any] = {"tune": False, "weight_variance": 0.2, "bias_variance": 1.0, "variant": "kernel"}


def smooth(X: Array) -> Array:
    value: Array = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2 + X[:, 2] * X[:, 3]
    return value


Noise = Callable[[Array, np.random.Generator], Array]


def table(rows: int, noise: Noise, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (rows, 5))
    return X, smooth(X) + noise(X, rng)


def alike(X: Array, rng: np.random.Generator) -> Array:
    return 0.4 * rng.standard_normal(len(X))


def by_one(X: Array, rng: np.random.Generator) -> Array:
    return 0.3 * np.exp(X[:, 0]) * rng.standard_normal(len(X))


def skewed(X: Array, rng: np.random.Generator) -> Array:
    return 0.5 * rng.exponential(size=len(X))


def score(lower: Array, upper: Array, y: Array, level: float = 0.9) -> float:
    outside = np.maximum(lower - y, 0.0) + np.maximum(y - upper, 0.0)
    return float(np.mean(upper - lower + 2.0 / (1.0 - level) * outside))


def best_of_one_width(y_hat: Array, y: Array) -> float:
    """The interval score of the best width that there is for these very rows: no model can know it."""
    widths = np.quantile(np.abs(y - y_hat), np.linspace(0.8, 0.98, 37))
    return min(score(y_hat - width, y_hat + width, y) for width in widths)


def test_intervals_vary_where_the_noise_does() -> None:
    model = EnrelmRegressor(**QUICK).fit(*table(500, by_one, 1))
    X, y = table(4000, by_one, 2)
    y_hat, lower, upper = model.predict(X, return_interval=0.9).T
    assert np.corrcoef(np.log(upper - lower), X[:, 0])[0, 1] > 0.9
    assert score(lower, upper, y) < 0.9 * best_of_one_width(y_hat, y)
    assert np.mean((lower <= y) & (y <= upper)) == pytest.approx(0.9, abs=0.04)


def test_intervals_keep_one_width_where_the_noise_does() -> None:
    model = EnrelmRegressor(**QUICK).fit(*table(500, alike, 3))
    spread = model.model_.intervals.spread
    assert spread is None or spread.noise is None
    X, y = table(4000, alike, 4)
    y_hat, lower, upper = model.predict(X, return_interval=0.9).T
    assert score(lower, upper, y) < 1.02 * best_of_one_width(y_hat, y)


def test_intervals_widen_off_the_data() -> None:
    model = EnrelmRegressor(**{**QUICK, "input_map": "plain"}).fit(*table(200, by_one, 5))
    near, far = np.zeros((1, 5)), np.array([[0.0, 6.0, -6.0, 6.0, -6.0]])
    widths = [float(np.ptp(model.predict(X, return_interval=0.9)[0, 1:])) for X in (near, far)]
    assert widths[1] > 1.5 * widths[0]


def test_intervals_are_asymmetric_where_errors_are() -> None:
    model = EnrelmRegressor(**{**QUICK, "target_transform": "none"}).fit(*table(500, skewed, 6))
    assert not model.model_.intervals.symmetric
    X, y = table(4000, skewed, 7)
    y_hat, lower, upper, low, high = model.predict(X, return_interval=0.9, return_quantile=[0.05, 0.95]).T
    assert np.mean(upper - y_hat) > 1.3 * np.mean(y_hat - lower)
    np.testing.assert_allclose((lower, upper), (low, high))
    assert np.mean(y < lower) == pytest.approx(0.05, abs=0.03)
    assert np.mean(y > upper) == pytest.approx(0.05, abs=0.03)


def test_the_order_of_rows_does_not_matter() -> None:
    X, y = table(300, by_one, 8)
    order = np.random.default_rng(9).permutation(len(y))
    one, other = (
        EnrelmRegressor(**QUICK).fit(*rows).predict(X[:50], return_interval=0.8)
        for rows in ((X, y), (X[order], y[order]))
    )
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("variant", ["approximate", "incremental"])
def test_a_network_of_the_paper_has_errors_by_its_prediction(variant: str, refit: bool) -> None:
    rng = np.random.default_rng(10)

    def growing(rows: int) -> tuple[Array, Array]:
        X = rng.uniform(-1.0, 1.0, (rows, 3))
        f = X @ np.array([2.0, 1.0, 0.5])
        return X, f + 0.3 * np.exp(0.6 * f) * rng.standard_normal(rows)

    model = EnrelmRegressor(variant=variant, refit=refit).fit(*growing(1200))
    assert len(model.model_.intervals.scores) == (1200 if refit else 300)
    spread = model.model_.intervals.spread
    assert spread is not None
    assert spread.noise is not None
    # It holds no rows: knots of the prediction.
    assert spread.noise.Z.shape[1] == 1
    assert spread.off is None
    X, y = growing(4000)
    _, lower, upper = model.predict(X, return_interval=0.9).T
    assert np.mean((lower <= y) & (y <= upper)) == pytest.approx(0.9, abs=0.05)


def test_errors_that_vanish_give_intervals_of_no_width() -> None:
    X = np.linspace(-1.0, 1.0, 80)[:, None]
    model = EnrelmRegressor(**QUICK).fit(X, np.where(np.arange(80) % 2, 1.0, 1.0) + 0.0 * X[:, 0] + 3.0 * X[:, 0])
    y_hat, lower, upper = model.predict(X, return_interval=0.9).T
    assert np.isfinite([lower, upper]).all()
    assert (lower <= y_hat).all()


def test_rows_that_tuned_the_kernel_are_not_taken_at_their_word() -> None:
    rng = np.random.default_rng(11)
    X = rng.standard_normal((90, 6))
    y = X[:, 0] + rng.standard_normal(90)
    untuned = EnrelmRegressor(**QUICK).fit(X, y).report_.intervals["optimism"]
    tuned = EnrelmRegressor(variant="kernel", tune_steps=40).fit(X, y).report_.intervals["optimism"]
    assert 1.0 <= untuned < tuned < 1.3
