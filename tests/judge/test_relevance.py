"""Which columns matter."""

from __future__ import annotations

import numpy as np
import pytest

from enrelm_cli.judge.baselines import Inputs, linear_network
from enrelm_cli.judge.relevance import shares
from enrelm_cli.model.network import Network
from tests.problems import whole


def test_shares_of_a_linear_function_are_its_squared_weights() -> None:
    X = np.random.default_rng(0).standard_normal((4000, 3))
    network = Network(Inputs(3), np.array([3.0, 1.0, 0.0]))
    found = shares(network, X, [0, 1, 2], ["a", "b", "c"])
    assert [name for name, _ in found] == ["a", "b", "c"]
    np.testing.assert_allclose([share for _, share in found], [0.9, 0.1, 0.0], atol=0.02)


def test_the_inputs_of_one_column_move_together() -> None:
    rng = np.random.default_rng(1)
    level = rng.integers(0, 3, 1000)
    X = np.column_stack([np.eye(3)[level], rng.standard_normal(1000)])
    found = dict(shares(Network(Inputs(4), np.array([1.0, 0.0, -1.0, 0.0])), X, [0, 0, 0, 1], ["level", "x"]))
    assert found == {"level": pytest.approx(1.0), "x": 0.0}


def test_a_constant_prediction_has_no_shares_and_no_warning() -> None:
    X = np.random.default_rng(2).standard_normal((50, 2))
    assert shares(Network(Inputs(2), np.zeros(2)), X, [0, 1], ["b", "a"]) == (("a", 0.0), ("b", 0.0))


def test_the_input_that_makes_the_target_comes_first() -> None:
    X = np.random.default_rng(3).standard_normal((300, 5))
    data = whole(X, 2.0 * X[:, 3] + 0.5 * X[:, 1])
    found = shares(linear_network(data), data.sample().X, list(range(5)), [f"x{k}" for k in range(5)])
    assert [name for name, share in found if share > 0.01] == ["x3", "x1"]
