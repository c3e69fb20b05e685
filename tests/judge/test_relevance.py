"""Which columns matter."""

from __future__ import annotations

import numpy as np
import pytest

from enrelm_cli.judge.baselines import Inputs, linear_network
from enrelm_cli.judge.relevance import shares
from enrelm_cli.model.network import Network
from enrelm_cli.types import Array
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


def test_the_other_row_is_half_the_sample_away() -> None:
    X = np.random.default_rng(4).standard_normal((10, 2))
    network = Network(Inputs(2), np.array([2.0, 1.0]))
    effects = [float(np.mean((w * (X[:, k] - np.roll(X[:, k], 5))) ** 2)) for k, w in enumerate((2.0, 1.0))]
    found = dict(shares(network, X, [0, 1], ["a", "b"]))
    assert found["a"] == pytest.approx(effects[0] / sum(effects), rel=1e-12)


@pytest.mark.parametrize(("columns", "rows"), [(1, 1000), (100, 500), (4000, 100)])
def test_many_columns_are_judged_by_fewer_rows(columns: int, rows: int) -> None:
    """A thousand rows at most and a hundred at least, 50,000 predictions in between."""
    X = np.random.default_rng(5).standard_normal((1200, columns))
    seen: list[int] = []

    class Watched(Network):
        def predict(self, X: Array) -> Array:
            seen.append(len(X))
            return np.zeros(len(X))

    shares(Watched(Inputs(columns), np.zeros(columns)), X, list(range(columns)), ["x"] * columns)
    assert set(seen) == {rows}
