"""Hidden weights that stay as they are while rows come and go; how many neurons a variant may have."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enrelm_cli.inputs.training import Training
from enrelm_cli.kernels.activation import ERF
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model.features import HiddenLayer
from enrelm_cli.model.updating.frozen import FrozenLayer
from enrelm_cli.phase_one.hidden_layer import layer_of
from enrelm_cli.phase_one.phase_one import eigenbasis_of
from enrelm_cli.settings import MethodSettings
from enrelm_cli.variants import approximate, incremental, named
from enrelm_cli.variants._variant import paper_limit
from enrelm_cli.variants.incremental import GramOfLayer
from tests.problems import all_landmarks, problem, whole

METHOD = MethodSettings()


def started() -> tuple[Training, Any, HiddenLayer]:
    """A basis, and hidden weights that are not its own."""
    data = whole(*problem(1, T=40, d=3))
    eigen = eigenbasis_of(data, ArcsineKernel(), all_landmarks(data), centred=False)
    own = layer_of(data, eigen, ERF)
    basis = SimpleNamespace(
        data=data, eigen=eigen, hidden=None, layer=None, tuned=SimpleNamespace(kernel=ArcsineKernel())
    )
    return data, basis, replace(own, W=2.0 * own.W)


def test_the_approximate_variant_keeps_weights_that_are_frozen() -> None:
    _, basis, layer = started()
    basis.layer = SimpleNamespace(layer=layer)
    network = approximate.VARIANT.fit(basis, METHOD, 6)
    order = np.argsort(-np.abs(basis.eigen.c), kind="stable")[:6]
    np.testing.assert_array_equal(network.order, order)
    np.testing.assert_array_equal(network.features.W, layer.W[order])  # type: ignore[union-attr]
    np.testing.assert_array_equal(network.beta, basis.eigen.c[order])


def test_the_incremental_variant_walks_again_along_weights_that_are_frozen() -> None:
    data, basis, layer = started()
    sums = data.fold(GramOfLayer(data.view, layer, basis.eigen.y_mean), "sums")
    basis.layer, basis.sides = (
        SimpleNamespace(layer=layer, centred=lambda sides: sums if sides == "these" else None),
        "these",
    )
    network = incremental.VARIANT.fit(basis, METHOD, 6)
    expected = incremental.fit(data, basis.eigen, ERF, 20, incremental.StagewiseSettings(), layer)
    new = data.sample().X[:5]
    np.testing.assert_allclose(network.predict(new), expected.predict(new))
    basis.layer = None
    assert not np.allclose(incremental.VARIANT.fit(basis, METHOD, 6).predict(new), expected.predict(new))


@pytest.mark.parametrize("variant", [approximate.VARIANT, incremental.VARIANT])
def test_weights_that_are_known_are_frozen_as_they_are(variant: Any) -> None:
    data, basis, layer = started()
    made = variant.freeze(basis, METHOD)
    assert isinstance(made, FrozenLayer)
    np.testing.assert_allclose(made.layer.W, 0.5 * layer.W)
    basis.hidden = layer
    kept = variant.freeze(basis, METHOD)
    assert kept.layer is layer
    if variant is incremental.VARIANT:
        assert (kept.Z.shape, kept.P.shape) == ((0, data.d), (0, 0))
    else:
        np.testing.assert_array_equal(kept.P, basis.eigen.features.P)


# --- sizes -----------------------------------------------------------------------------------------------------------


def test_the_limit_of_the_paper_is_fifty_neurons_an_input_or_half_the_rows() -> None:
    assert [paper_limit(d, T) for d, T in ((3, 1000.0), (30, 101.9), (1, 2.0), (1, 1.0), (2, 3.0))] == [
        150,
        50,
        1,
        1,
        1,
    ]


@pytest.mark.parametrize(
    ("variant", "rank", "asked", "most"),
    [
        ("incremental", 400, None, 100),
        ("incremental", 30, None, 30),
        ("incremental", 400, 7, 7),
        ("incremental", 400, 300, 300),
        ("kernel", 400, None, 400),
        ("kernel", 400, 9, 9),
        ("kernel", 400, 900, 400),
        ("kernel", 1, None, 1),
    ],
)
def test_neurons_are_limited_by_the_rank_and_by_the_paper_where_no_ridge_holds_them_back(
    variant: str, rank: int, asked: int | None, most: int
) -> None:
    basis: Any = SimpleNamespace(eigen=SimpleNamespace(values=np.ones(rank)), data=SimpleNamespace(d=2, weight=1000.0))
    assert named(variant).most_neurons(basis, replace(METHOD, max_neurons=asked)) == most


@pytest.mark.parametrize("classes", [None, ("a", "b")])
def test_plain_logistic_regression_is_for_classes_alone(classes: Any) -> None:
    data: Any = SimpleNamespace(rows=SimpleNamespace(classes=classes))
    assert named("logistic").predicts(data) == (classes is not None)
    assert named("kernel").predicts(data)
