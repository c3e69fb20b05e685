"""The stagewise path from sums alone, against the same steps taken on rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enrelm_cli.columns import wide
from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.kernels.activation import ERF
from enrelm_cli.model.features import HiddenLayer
from enrelm_cli.types import Array
from enrelm_cli.variants.incremental import GramOfLayer, StagewiseSettings, Stop, stagewise, walked


def as_they_are(chunk: Chunk, side: object) -> Chunk:
    """A view that changes nothing."""
    return chunk


def rows(targets: tuple[int, ...], weight: Array | None = None) -> Chunk:
    """Columns of unequal length, and targets far from 0."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 6)) * np.array([1.0, 0.1, 3.0, 0.5, 2.0, 1.0])
    y = 3.0 + np.tanh(X @ rng.standard_normal((6, *targets))) + 0.1 * rng.standard_normal((40, *targets))
    keys = np.arange(40, dtype=np.uint64)
    return Chunk(X, y, keys, keys, 0, weight=weight)


def layer(n: int = 8) -> HiddenLayer:
    return HiddenLayer(np.random.default_rng(6).standard_normal((n, 6)), np.zeros(n), ERF)


def sums_of(chunk: Chunk, one: HiddenLayer) -> tuple[Sums, Array]:
    w = np.ones(chunk.rows) if chunk.weight is None else chunk.weight
    y_mean = np.average(chunk.y, axis=0, weights=w)
    return GramOfLayer(as_they_are, one, y_mean)(chunk), y_mean  # type: ignore[arg-type]


def literal(
    chunk: Chunk, one: HiddenLayer, y_mean: Array, epsilon: float, tolerance: float, most: int
) -> tuple[Array, int, list[int]]:
    """The loop of algorithm 3 on the rows themselves: weights, steps and the columns in their order."""
    w = np.ones(chunk.rows) if chunk.weight is None else chunk.weight
    S = one.outputs(chunk.X)
    S = S - np.average(S, axis=0, weights=w)
    residual = wide(chunk.y - y_mean)
    beta, order, steps = np.zeros((S.shape[1], residual.shape[1])), [], 0
    size = np.sqrt(np.sum(w[:, None] * residual**2))
    before = np.inf
    while steps < most:
        C = S.T @ (w[:, None] * residual)
        j = int(np.argmax(np.linalg.norm(C, axis=1)))
        order += [j] if j not in order else []
        step = epsilon * C[j] / np.sum(w * S[:, j] ** 2)
        beta[j] += step
        residual = residual - np.outer(S[:, j], step)
        steps += 1
        now = np.sqrt(np.sum(w[:, None] * residual**2))
        if (before - now) / size < tolerance:
            break
        before = now
    return beta, steps, order


@pytest.mark.parametrize("targets", [(), (3,)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_path_from_sums_takes_the_steps_of_the_path_on_rows(targets: tuple[int, ...], weighted: bool) -> None:
    chunk = rows(targets, np.random.default_rng(7).uniform(0.5, 3.0, 40) if weighted else None)
    chunk = replace(chunk, y=1e-3 * chunk.y)
    one = layer()
    sums, y_mean = sums_of(chunk, one)
    path = stagewise(sums, 8, 0.1, 1e-5)
    beta, steps, order = literal(chunk, one, y_mean, 0.1, 1e-5, 100_000)
    assert path.stop is Stop.TOLERANCE
    assert path.steps == steps
    assert path.order.tolist() == order
    np.testing.assert_allclose(wide(path.beta), beta[order], atol=1e-12)


@pytest.mark.parametrize("targets", [(), (3,)])
def test_a_path_has_no_more_steps_than_are_allowed(targets: tuple[int, ...]) -> None:
    sums, _ = sums_of(rows(targets), layer())
    path = stagewise(sums, 8, 0.1, 1e-9, max_steps=7)
    assert (path.steps, path.stop) == (7, Stop.STEPS)


@pytest.mark.parametrize("targets", [(), (3,)])
def test_a_target_without_correlation_moves_nothing(targets: tuple[int, ...]) -> None:
    sums, _ = sums_of(rows(targets), layer())
    path = stagewise(Sums({**sums.values, "Sy": np.zeros((8, *targets))}), 8, 0.1, 1e-5)
    assert (path.steps, path.stop, len(path.order)) == (0, Stop.EXHAUSTED, 0)


@pytest.mark.parametrize("targets", [(), (3,)])
def test_a_constant_neuron_stays_out(targets: tuple[int, ...]) -> None:
    """However its sums are rounded; and however small all the others are."""
    chunk, one = rows(targets), layer()
    W = one.W.copy()
    W[2] = 0.0
    for scale, offset in ((1.0, -0.25), (1e-9, 0.0)):
        sums, _ = sums_of(chunk, HiddenLayer(scale * W, np.full(8, offset), ERF))
        path = stagewise(sums, 8, 0.5, 1e-7)
        assert 2 not in path.order
        assert len(path.order) > 3


def test_whether_a_path_came_to_its_end_is_told() -> None:
    chunk, one = rows(()), layer()
    sums, y_mean = sums_of(chunk, one)
    ended = walked(one, sums, y_mean, 8, 40.0, StagewiseSettings(epsilon=0.1))
    stopped = walked(one, sums, y_mean, 8, 40.0, StagewiseSettings(epsilon=0.1, max_steps=3))
    assert (ended.converged, stopped.converged) == (True, False)
    assert stopped.facts == {"steps": 3}
    # The paper's step is 1/sqrt(T).
    paper = walked(one, sums, y_mean, 8, 40.0, StagewiseSettings())
    given = walked(one, sums, y_mean, 8, 40.0, StagewiseSettings(epsilon=40.0**-0.5))
    np.testing.assert_array_equal(paper.beta, given.beta)
