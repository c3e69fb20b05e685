"""Predictions of leaves, row by row as the formula has them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model import local_features
from enrelm_cli.model.features import BLOCK
from enrelm_cli.model.leaves import Leaves
from enrelm_cli.model.local_features import LocalFeatures


def features(targets: tuple[int, ...]) -> LocalFeatures:
    """Three leaves, one of them without rows of its own."""
    rng = np.random.default_rng(3)
    leaves = Leaves(np.array([0, 1]), np.array([0.0, 0.5]), np.array([1, -2]), np.array([-1, -3]))
    Z, X = rng.standard_normal((7, 2)), rng.standard_normal((9, 2))
    C, a = rng.standard_normal((3, 7, *targets)), rng.standard_normal((9, *targets))
    return LocalFeatures(ArcsineKernel(np.array([0.5, 2.0]), 0.1), leaves, Z, C, X, a, np.array([0, 4, 4, 9]))


@pytest.mark.parametrize("targets", [(), (2,)])
def test_a_row_meets_the_landmarks_and_the_rows_of_its_leaf(targets: tuple[int, ...]) -> None:
    one = features(targets)
    X = np.random.default_rng(4).standard_normal((BLOCK + 300, 2))
    leaf = one.leaves.of(X)
    assert set(leaf) == {0, 1, 2}
    expected = []
    for x, b in zip(X, leaf, strict=True):
        own = slice(one.first[b], one.first[b + 1])
        expected.append(one.kernel.gram(x[None], one.Z)[0] @ one.C[b])
        expected[-1] = expected[-1] + one.kernel.gram(x[None], one.X[own])[0] @ one.a[own]
    np.testing.assert_allclose(one.outputs(X)[:, 0], np.array(expected), atol=1e-12)
    # What a leaf has prepared for one block of rows serves the next.
    np.testing.assert_allclose(one.outputs(X[:5])[:, 0], np.array(expected[:5]), atol=1e-12)


def test_prepared_leaves_are_kept_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(4).standard_normal((50, 2))
    every = features(())
    expected = every.outputs(X)
    assert set(every._prepared) == {0, 1, 2}
    monkeypatch.setattr(local_features, "_KEPT", 2 * 5 * 3)  # two leaves of five rows, two inputs and the bias each
    some = features(())
    np.testing.assert_array_equal(some.outputs(X), expected)
    assert set(some._prepared) == {0, 1}
    some.forget()
    assert not some._prepared
    np.testing.assert_array_equal(some.outputs(X), expected)


def test_what_was_prepared_is_not_sent_with_them() -> None:
    one = features(())
    before = len(pickle.dumps(one))
    one.outputs(np.zeros((3, 2)))
    sent = pickle.dumps(one)
    assert len(sent) == before
    np.testing.assert_array_equal(pickle.loads(sent).outputs(np.ones((2, 2))), one.outputs(np.ones((2, 2))))
