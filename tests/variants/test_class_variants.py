"""Logits of the kernel and of plain inputs are those of a logistic regression on their features; what they take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from enrelm_cli.errors import UsageError
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.inputs.split import Everything
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import eigenbasis_of
from enrelm_cli.types import Array
from enrelm_cli.variants import kernel, logistic
from enrelm_cli.variants._logistic import FELT, RIDGES, fit_logistic, problem
from tests.problems import some_landmarks

KERNEL = ArcsineKernel(0.5, 0.3)
NEW = np.random.default_rng(9).standard_normal((15, 4))


def data_of(C: int, rows: int = 140) -> Training:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((rows, 4))
    y = np.clip(np.round(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.standard_normal(rows)), 0, C - 1)
    return training(replace(rows_of_arrays(X, y), classes=tuple("abcd"[:C])), Everything())


def scale_of(data: Training) -> ClassScale:
    assert isinstance(data.view.target_scale, ClassScale)
    return data.view.target_scale


def facts(network: Network | None) -> dict[str, float]:
    assert network is not None
    assert network.facts is not None
    return network.facts


def basis_of(data: Training, landmarks: int = 20) -> Any:
    return eigenbasis_of(data, KERNEL, some_landmarks(data, landmarks), centred=True)


# --- the kernel ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("given", [False, True])
def test_logits_of_the_kernel_are_a_logistic_regression_on_its_eigenfunctions(C: int, given: bool) -> None:
    """sqrt(lambda_j) phi_j: a ridge on their weights is the kernel's own."""
    data = data_of(C)
    basis, scale, sample = basis_of(data), scale_of(data), data.sample()
    before = Network(basis.features, basis.c, facts={"alpha": 0.7}) if given else None
    network = kernel.fit_classes(data, basis, before)
    assert network is not None
    root = np.sqrt(basis.values)
    features = basis.of_training(sample) * root
    found = fit_logistic(problem(features, sample, scale), np.array([0.7]) if given else RIDGES)
    assert facts(network) == {
        "alpha": found.alpha,
        "logistic_rows": 140,
        "left_out_log_loss": pytest.approx(found.loss),
    }
    phi = basis.features.outputs(NEW) * root
    expected = phi @ found.gamma + found.intercept
    np.testing.assert_allclose(network.predict(NEW).reshape(15, C - 1), expected, atol=1e-7)
    assert network.left_out is not None
    np.testing.assert_allclose(network.left_out.reshape(140, C - 1), found.left_out, atol=1e-7)
    assert network.left_out.shape == (140, *scale.targets)
    network.check(4, scale.targets)
    # The largest come first.
    sizes = np.linalg.norm(network.beta.reshape(network.size, -1), axis=1)
    assert (np.diff(sizes) <= 0.0).all()
    assert network.logits
    assert network.order is not None
    np.testing.assert_array_equal(np.sort(network.order), np.arange(20))


def test_eigenfunctions_that_the_ridge_does_not_feel_are_left_out() -> None:
    data = data_of(3)
    basis = basis_of(data)
    for alpha, kept in ((1e-4, 20), (1e6, 1)):
        network = kernel.fit_classes(data, basis, Network(basis.features, basis.c, facts={"alpha": alpha}))
        assert network is not None
        assert network.size == kept
    middle = float(np.sqrt(basis.values[6] * basis.values[7])) / FELT
    network = kernel.fit_classes(data, basis, Network(basis.features, basis.c, facts={"alpha": middle}))
    assert network is not None
    assert network.order is not None
    assert sorted(network.order) == list(range(7))


def test_work_that_is_too_much_is_not_begun_but_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    data = data_of(3)
    basis = basis_of(data)
    before = kernel.fit_classes(data, basis, None)
    asked: list[tuple[int, ...]] = []
    monkeypatch.setattr(kernel, "affordable", lambda *size: bool(asked.append(size)))
    assert kernel.fit_classes(data, basis, None) is None
    assert asked == [(20, 3, len(RIDGES), 140)]
    assert kernel.fit_classes(data, basis, before) is not None
    monkeypatch.setattr(kernel, "affordable", lambda *size: True)
    for allowed, rows in ((70, 70), (3, 20)):
        monkeypatch.setattr(kernel, "rows_for", lambda *size, allowed=allowed: allowed)
        assert facts(kernel.fit_classes(data, basis, None))["logistic_rows"] == rows


# --- plain inputs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [2, 3])
def test_plain_logistic_regression_is_that_of_the_inputs(C: int) -> None:
    data = data_of(C)
    scale, sample = scale_of(data), data.sample()
    network = logistic.fit(data)
    found = fit_logistic(problem(sample.X, sample, scale), logistic._RIDGES)
    expected = NEW @ found.gamma + found.intercept
    np.testing.assert_allclose(network.predict(NEW).reshape(15, C - 1), expected, atol=1e-9)
    assert network.left_out is not None
    np.testing.assert_allclose(network.left_out.reshape(140, C - 1), found.left_out, atol=1e-9)
    assert network.left_out.shape == (140, *scale.targets)
    network.check(4, scale.targets)
    assert facts(network)["alpha"] == found.alpha
    kept = replace(network, facts={"alpha": 0.31})
    assert facts(logistic.fit(data, kept))["alpha"] == 0.31
    basis: Any = basis_of(data)
    assert logistic.VARIANT.most_neurons(basis, None) == 1  # type: ignore[arg-type]


def test_it_takes_a_thousand_rows_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    data = data_of(3)
    monkeypatch.setattr(logistic, "_FEWEST_ROWS", 50)
    for allowed, rows in ((80, 80), (7, 50)):
        monkeypatch.setattr(logistic, "rows_for", lambda *size, allowed=allowed: allowed)
        assert facts(logistic.fit(data))["logistic_rows"] == rows


def test_it_is_for_classes_and_for_work_that_is_not_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(2).standard_normal((30, 2))
    numbers = training(rows_of_arrays(X, X[:, 0]), Everything())
    with pytest.raises(UsageError, match="is for classes"):
        logistic.fit(numbers)

    class Basis:
        def __init__(self, data: Training) -> None:
            self.data = data

    asked: list[tuple[int, ...]] = []

    def affordable(*size: int) -> bool:
        asked.append(size)
        return len(asked) == 1

    monkeypatch.setattr(logistic, "affordable", affordable)
    classes: Any = Basis(data_of(3))
    assert logistic.VARIANT.pays(classes)
    assert not logistic.VARIANT.pays(classes)
    assert asked == [(4, 3, len(logistic._RIDGES), 140)] * 2
    asked.clear()
    number: Any = Basis(numbers)
    assert not logistic.VARIANT.pays(number)


def test_predictions_have_the_shape_of_the_codes() -> None:
    for C, shape in ((2, ()), (4, (3,))):
        found: Array = logistic.fit(data_of(C)).predict(NEW)
        assert found.shape == (15, *shape)
