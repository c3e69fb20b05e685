"""Activations: odd, increasing, into [-1, 1], and inverted; each but erf is a mixture of erfs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import special

from enrelm_cli import method_settings
from enrelm_cli.kernels import activation, nngp
from enrelm_cli.model.features import HiddenLayer

Z = np.concatenate([np.linspace(-5.0, 5.0, 2001), np.logspace(-12, 0, 200)])
everyone = pytest.mark.parametrize("name", activation.NAMES)


@everyone
def test_the_inverse_undoes_the_activation(name: str) -> None:
    sigma = activation.named(name)
    u = np.linspace(-0.999, 0.999, 999)
    np.testing.assert_allclose(sigma(sigma.inverse(u)), u, rtol=0, atol=1e-14)
    # erf(5) is 1 - 1.5e-12: its digits are gone, so z is only asked back where u still has them.
    near = Z[np.abs(Z) < 2.0]
    np.testing.assert_allclose(sigma.inverse(sigma(near)), near, rtol=0, atol=1e-13)


@everyone
def test_an_activation_is_odd_increasing_and_bounded(name: str) -> None:
    sigma = activation.named(name)
    z = np.linspace(-5.0, 5.0, 2001)
    np.testing.assert_array_equal(sigma(-z), -sigma(z))
    assert np.all(np.diff(sigma(z)) > 0.0)
    far = np.array([-1e300, -1e8, 1e8, 1e300])
    assert np.all(np.abs(sigma(far)) <= 1.0)
    np.testing.assert_allclose(sigma(far), np.sign(far), atol=1e-7)


@everyone
def test_the_inverse_is_finite_and_odd_at_the_ends(name: str) -> None:
    sigma = activation.named(name)
    ends = sigma.inverse(np.array([-1.0 - 1e-15, -1.0, 1.0, 1.0 + 1e-15]))
    assert np.all(np.isfinite(ends))
    assert ends[1] == -ends[2] < 0.0
    assert ends[0] == ends[1]


@everyone
def test_an_activation_survives_a_pickle(name: str) -> None:
    sigma = pickle.loads(pickle.dumps(activation.named(name)))
    assert sigma is activation.named(name)


@everyone
def test_a_hidden_layer_remembers_its_activation_in_a_document(name: str) -> None:
    layer = HiddenLayer(np.array([[0.5, -2.0]]), np.array([0.1]), activation.named(name))
    X = np.array([[1.0, 2.0], [3.0, 0.0]])
    again = HiddenLayer.from_document(layer.to_document())
    np.testing.assert_array_equal(again.outputs(X), layer.outputs(X))
    assert again.sigma.name == name


def test_every_activation_on_offer_has_a_function_and_a_kernel() -> None:
    assert set(method_settings.ACTIVATIONS) <= set(activation.NAMES) == set(nngp.ACTIVATIONS)


@pytest.mark.parametrize("name", [name for name in activation.NAMES if name != "erf"])
def test_an_activation_is_its_mixture_of_erfs(name: str) -> None:
    rule = nngp.mixture(name)
    x = np.concatenate([np.linspace(0.0, 10.0, 1001), np.logspace(1, 9, 400)])
    np.testing.assert_allclose(special.erf(np.outer(x, rule.t)) @ rule.c, activation.named(name)(x), rtol=0, atol=2e-12)
    assert np.all(rule.c > 0.0)


@pytest.mark.parametrize("largest", [1e-12, 1e-3, 0.03])
def test_small_arguments_take_a_series_that_is_exact_to_rounding(largest: float) -> None:
    x = np.linspace(-largest, largest, 99_999).reshape(3, -1)
    np.testing.assert_allclose(activation.ERF(x), special.erf(x), rtol=1e-15)
    np.testing.assert_allclose(activation.ERF.inverse(x), special.erfinv(x), rtol=1e-15)
