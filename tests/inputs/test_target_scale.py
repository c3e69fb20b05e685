"""Scales of the target: there and back, means by smearing, predictions within the range."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from enrelm_cli.inputs.target_scale import TRANSFORMS, TargetScale, Transform, yeo_johnson, yeo_johnson_inverse
from enrelm_cli.inputs.transforms import transformed
from enrelm_cli.types import Array


def scale_of(transform: Transform, y: Array) -> TargetScale:
    """Ranged, with or without a transform."""
    plain = TargetScale(float(y.mean()), float(y.std()))
    u = plain.standard(y)
    found = transformed(plain, transform, u, bool(y.min() > 0.0))
    assert found is not None
    return found.ranged(float(u.min()), float(u.max()))


def skewed(seed: int = 0, rows: int = 400) -> Array:
    return np.exp(1.0 + np.random.default_rng(seed).standard_normal(rows))


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_targets_come_back_as_they_were(transform: Transform) -> None:
    y = skewed()
    scale = scale_of(transform, y)
    z = scale.forward(y)
    np.testing.assert_allclose([z.mean(), z.std()], [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(scale.mean + scale.scale * scale.units(z), y, rtol=1e-9)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_the_slope_is_that_of_the_scale(transform: Transform) -> None:
    """By differences: what compares the likelihoods of targets on different scales."""
    y = skewed()
    scale = scale_of(transform, y)
    u, h = scale.standard(y), 1e-6
    ahead, behind = (scale.forward(scale.mean + scale.scale * (u + step)) for step in (h, -h))
    np.testing.assert_allclose(scale.log_slope(u), np.log((ahead - behind) / (2 * h)), atol=1e-5)


@settings(deadline=None)
@given(arrays(float, 20, elements=st.floats(-50.0, 50.0)), st.floats(-1.0, 3.0))
def test_yeo_johnson_is_increasing_and_has_an_inverse(u: Array, shape: float) -> None:
    u = np.sort(u)
    g = yeo_johnson(u, shape)
    assert (np.diff(g) >= 0.0).all()
    np.testing.assert_allclose(yeo_johnson_inverse(g, shape), u, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("transform", ["log", "yeo-johnson"])
def test_predictions_of_a_noisy_target_are_its_mean_and_not_its_median(transform: Transform) -> None:
    rng = np.random.default_rng(1)
    y = np.exp(1.0 + 0.8 * rng.standard_normal(20_000))
    scale = scale_of(transform, y)
    z = scale.forward(y)
    smeared = scale.smeared(z - 0.0)  # a network that knows nothing predicts z = 0
    assert smeared.back(np.zeros(1))[0] == pytest.approx(y.mean(), rel=0.03)
    assert scale.back(np.zeros(1))[0] == pytest.approx(np.median(y), rel=0.1)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("z", [-1e300, -1e3, 1e3, 1e300])
def test_predictions_stay_within_the_range_and_a_twentieth(transform: Transform, z: float) -> None:
    y = skewed()
    scale = scale_of(transform, y).smeared(np.linspace(-2.0, 2.0, 99))
    margin = (y.max() - y.min()) / 20.0 + 1e-9
    assert y.min() - margin <= scale.back(np.array([z]))[0] <= y.max() + margin


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_known_bounds_hold_for_predictions_and_for_intervals(transform: Transform) -> None:
    y = skewed()
    scale = scale_of(transform, y).bounded(2.0, 10.0)
    back = scale.back(np.linspace(-9.0, 9.0, 50))
    assert back.min() == pytest.approx(2.0)
    assert back.max() == pytest.approx(10.0)
    assert scale.within(np.array([-3.0, 5.0, 99.0])).tolist() == [2.0, 5.0, 10.0]


def test_a_logarithm_needs_targets_above_zero() -> None:
    y = skewed() - 1.0
    plain = TargetScale(float(y.mean()), float(y.std()))
    assert transformed(plain, "log", plain.standard(y), positive=False) is None


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_scale_comes_back_from_its_document(transform: Transform) -> None:
    scale = scale_of(transform, skewed()).smeared(np.linspace(-1.0, 1.0, 30)).bounded(0.0, None)
    again = TargetScale.from_document(scale.to_document())
    again.check()
    z = np.linspace(-3.0, 3.0, 11)
    np.testing.assert_array_equal(again.back(z), scale.back(z))


@pytest.mark.parametrize(
    "wrong",
    [{"shape": 9.0}, {"low": None}, {"g_scale": 0.0}, {"transform": "sqrt"}, {"errors": np.zeros(99)}, {"upper": -1.0}],
)
def test_a_document_that_is_no_scale_is_refused(wrong: dict[str, object]) -> None:
    scale = scale_of("yeo-johnson", skewed()).bounded(0.0, None)
    with pytest.raises(ValueError, match=r"."):
        replace(scale, **wrong).check()  # type: ignore[arg-type]
