"""Metrics and their standard errors equal a literal computation; ties are paired."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Sums
from enrelm_cli.fold.hashing import rehash
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.inputs.split import Side, hash_split
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.judge.baselines import linear_network
from enrelm_cli.judge.losses import Losses, pooled
from enrelm_cli.judge.metrics import (
    BLOCKS,
    Judged,
    Metrics,
    as_good,
    jackknife,
    judge_rows,
    mean_of,
    metrics_of,
    paired,
    relative_error_of,
    within_a_standard_error,
)
from enrelm_cli.model.network import Network
from enrelm_cli.types import Array
from tests.problems import problem


def split_problem() -> Training:
    X, y = problem(1, T=300)
    rows = rows_of_arrays(X, 50.0 + 3.0 * y)
    return training(rows, hash_split(rows.sample.unit, True, 3, 0.25))


def by_hand(y: Array, y_hat: Array, mean: float) -> dict[str, float]:
    e = y - y_hat
    return {
        "normalised_rmse": float(np.sqrt(np.sum(e**2) / np.sum((y - mean) ** 2))),
        "rmse": float(np.sqrt(np.mean(e**2))),
        "mae": float(np.mean(np.abs(e))),
        "r2": 1.0 - float(np.sum(e**2) / np.sum((y - y.mean()) ** 2)),
    }


def judged(data: Training, *networks: Any) -> Any:
    each = [Judged(data.view, one, data.view.target_scale) for one in networks]
    return judge_rows(lambda partial: data.fold(partial, "errors"), each, Side.VALIDATION)


def held_out(data: Training, network: Any) -> tuple[Array, Array, Array]:
    """y, its prediction and the block of each validation row."""
    sample, scale = data.rows.sample, data.view.target_scale
    rows = sample.where(data.view.split.sides(sample) == Side.VALIDATION)
    y_hat = scale.back(network.predict(data.view(sample, Side.VALIDATION).X))
    return rows.y, y_hat, (rehash(rows.unit, 0xB10C) % np.uint64(BLOCKS)).astype(int)


def test_metrics_and_their_standard_errors_equal_a_literal_computation() -> None:
    data = split_problem()
    network = linear_network(data)
    found = metrics_of(judged(data, network), 0, data.view.target_scale)
    y, y_hat, block = held_out(data, network)
    mean = data.view.target_scale.mean
    assert found.rows == len(y) == 75
    for name, value in by_hand(y, y_hat, mean).items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-9)
        left = [by_hand(y[block != b], y_hat[block != b], mean)[name] for b in np.unique(block)]
        spread = np.sqrt((len(left) - 1) / len(left) * np.sum((np.array(left) - np.mean(left)) ** 2))
        assert found.standard_errors[name] == pytest.approx(spread, rel=1e-8)


def test_the_standard_error_is_how_far_an_error_moves_with_other_rows() -> None:
    rng = np.random.default_rng(5)
    moved, told = [], []
    for _ in range(200):
        squares = rng.standard_normal(200) ** 2
        block = rng.integers(0, BLOCKS, 200)
        moved.append(np.sqrt(squares.mean()))
        told.append(jackknife(np.array([np.sqrt(squares[block != b].mean()) for b in range(BLOCKS)])))
    assert np.mean(told) == pytest.approx(np.std(moved), rel=0.2)


def test_a_method_is_as_good_where_the_paired_difference_is_within_its_standard_error() -> None:
    rng = np.random.default_rng(2)
    own = rng.uniform(1.0, 9.0, BLOCKS)  # blocks differ far more from each other than the methods do
    noise = rng.normal(size=BLOCKS)
    noise -= noise.mean()
    squares = np.array([own, own + 0.1 * noise + 0.001, own + 0.1 * noise + 0.1])
    rows = np.full((3, BLOCKS), 10.0)
    best, tied = within_a_standard_error([Sums({"rows": rows, "squares": squares, "base": 2.0 * rows})], 2)
    assert best == 0
    assert tied == (True, True, False)
    assert as_good(0.0, None)
    assert not as_good(0.1, None)


def test_differences_are_paired_over_the_splits() -> None:
    difference, spread = paired([0.5, 0.7, 0.9], [0.4, 0.6, 0.85])
    assert difference == pytest.approx(0.25 / 3)
    assert spread == pytest.approx(np.std([0.1, 0.1, 0.05], ddof=1) / np.sqrt(3))
    assert paired([0.5], [0.4])[1] is None
    assert paired([0.5, 0.7], [0.4, 0.5])[1] == pytest.approx(np.std([0.1, 0.2], ddof=1) / np.sqrt(2))


def test_means_over_splits_are_never_surer_than_the_splits_themselves() -> None:
    one = Metrics(10, 0.5, 2.0, 1.0, 0.7, {"rmse": 0.4})
    other = replace(one, rmse=2.0001)
    assert mean_of([one, other]).standard_errors["rmse"] == pytest.approx(0.4 / np.sqrt(2))
    assert mean_of([one]).standard_errors == {"rmse": 0.4}


def test_folds_are_added_up_in_the_unit_of_the_target() -> None:
    few, many = Losses(np.array([4.0, 1.0]), 4.0, 2, 2), Losses(np.array([9.0]), 9.0, 3, 2)
    both = pooled([few, many], [2.0, 1.0])  # two of the second's unit are one of the first's
    np.testing.assert_allclose(both.values, [4.0 + 9.0 / 4.0, 1.0 + 9.0 / 4.0])
    assert (both.total, both.rows) == (4.0 + 9.0 / 4.0, 5)


def test_no_rows_have_no_error() -> None:
    data = split_problem()
    with pytest.raises(DataError, match="no test rows"):
        judge_rows(
            lambda partial: data.fold(partial, "errors"),
            [Judged(data.view, linear_network(data), data.view.target_scale)],
            Side.TEST,
        )


def test_metrics_come_back_from_a_model_file() -> None:
    metrics = Metrics(10, 0.5, 2.0, 1.0, 0.7, {"rmse": 0.4})
    assert Metrics.from_json(metrics.to_json()) == metrics


@pytest.mark.parametrize("transform", ["none", "log"])
@pytest.mark.parametrize("clipped", [False, True])
def test_metrics_on_another_scale_and_in_another_unit_are_those_of_the_predictions(
    transform: Any, clipped: bool
) -> None:
    data = split_problem()
    y = data.rows.sample.y
    own, unit = TargetScale(float(y.mean()), float(y.std())), TargetScale(40.0, 2.5)
    if transform == "log":
        own = replace(own, transform="log", shape=own.mean / own.scale).ranged(-3.0, 3.0)
    else:
        own = replace(own, low=-0.5, high=0.5)
    view = replace(data.view, target_scale=own)
    network = linear_network(data)
    sums = judge_rows(
        lambda partial: data.fold(partial, "errors"), [Judged(view, network, unit, clipped)], Side.VALIDATION
    )
    sample = data.rows.sample
    known = sample.where(view.split.sides(sample) == Side.VALIDATION).y
    z = network.predict(view(sample, Side.VALIDATION).X)
    u_hat = own.predicted(z) if clipped or transform == "log" else z
    found = metrics_of(sums, 0, unit)
    for name, value in by_hand(known, own.mean + own.scale * u_hat, own.mean).items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-9)
    e = np.abs(known - own.mean - own.scale * u_hat)
    relative = e.sum() / np.abs(known - own.mean).sum()
    assert relative_error_of(sums, 0, 1) == pytest.approx(relative, rel=1e-9)
    assert relative_error_of(sums, 0, 2) == pytest.approx(found.normalised_rmse, rel=1e-12)


def test_what_cannot_be_computed_is_no_number_and_comes_back_as_none() -> None:
    rows = np.ones((1, BLOCKS))
    sums = Sums(dict.fromkeys(("rows", "n", "squares", "sizes", "y", "yy", "base", "base_sizes"), rows))
    found = metrics_of(sums, 0, TargetScale(0.0, 1.0))  # every target is 1: no variance to explain
    assert np.isnan(found.r2)
    assert "r2" not in found.standard_errors
    # However little there is, it can be explained.
    little = Sums({**sums.values, "yy": rows * (1.0 + 0.4 / BLOCKS), "squares": rows * 0.1 / BLOCKS})
    assert metrics_of(little, 0, TargetScale(0.0, 1.0)).r2 == pytest.approx(0.75)
    document = found.to_json()
    assert document["r2"] is None
    assert np.isnan(Metrics.from_json(document).r2)


def test_a_standard_error_needs_two_blocks_and_numbers() -> None:
    assert jackknife(np.array([1.0])) is None
    assert jackknife(np.array([1.0, np.nan, 2.0])) is None
    assert jackknife(np.array([1.0, 3.0])) == pytest.approx(1.0)


def test_the_spread_over_splits_is_that_of_their_mean() -> None:
    one = Metrics(10, 0.5, 2.0, 1.0, 0.7, {})
    found = mean_of([one, replace(one, rmse=3.0), replace(one, rmse=4.0)])
    assert found.rmse == pytest.approx(3.0)
    assert found.standard_errors["rmse"] == pytest.approx(1.0 / np.sqrt(3.0))
    assert found.standard_errors["mae"] == 0.0
    assert mean_of([one, replace(one, rmse=3.0)]).standard_errors["rmse"] == pytest.approx(0.5)


def test_absolute_losses_are_related_without_a_root() -> None:
    losses = Losses(np.array([4.0, 1.0]), 8.0, 2, 1)
    np.testing.assert_allclose(losses.relative(Side.VALIDATION), [0.5, 0.125])
    with pytest.raises(DataError, match="no test rows"):
        replace(losses, rows=0).relative(Side.TEST)


def test_r2_over_folds_is_that_of_all_their_rows() -> None:
    """Each fold has a training mean and a spread of its own; what the rows vary around is the mean of all of them."""
    data = split_problem()
    views = [replace(data.view, target_scale=TargetScale(mean, scale)) for mean, scale in ((45.0, 4.0), (65.0, 9.0))]
    unit, network = views[0].target_scale, linear_network(data)
    sides = (Side.VALIDATION, Side.TRAIN)
    each = [
        judge_rows(lambda partial: data.fold(partial, "errors"), [Judged(view, network, unit)], side)
        for view, side in zip(views, sides, strict=True)
    ]
    found = metrics_of(each[0].merge(each[1]), 0, unit)
    sample, known, told = data.rows.sample, [], []
    for view, side in zip(views, sides, strict=True):
        known.append(sample.where(view.split.sides(sample) == side).y)
        told.append(view.target_scale.back(network.predict(view(sample, side).X)))
    y, gap = np.concatenate(known), np.concatenate(known) - np.concatenate(told)
    assert found.r2 == pytest.approx(1.0 - np.sum(gap**2) / np.sum((y - y.mean()) ** 2), rel=1e-9)
    assert found.rmse == pytest.approx(np.sqrt(np.mean(gap**2)), rel=1e-9)


class Ones:
    """Features with one output that is 1."""

    def combine(self, X: Array, beta: Array) -> Array:
        return np.ones((len(X), 1)) @ beta


def test_metrics_of_classes_are_those_of_their_codes_summed_over_the_columns() -> None:
    X, y = problem(1, T=200)
    rows = rows_of_arrays(X, np.digitize(y, np.quantile(y, [0.3, 0.7])).astype(float))
    split = hash_split(rows.sample.unit, True, 3, 0.25)
    scale = ClassScale(np.array([30.0, 40.0, 30.0]))
    view = replace(training(rows, split).view, target_scale=scale)
    data = Training(rows, view, 150)
    network = Network(Ones(), np.array([[0.3, -0.2]]))
    sums = judge_rows(lambda partial: data.fold(partial, "errors"), [Judged(view, network, scale)], Side.VALIDATION)
    z = view(rows.sample, Side.VALIDATION).y
    gap = z - np.array([0.3, -0.2])
    found = metrics_of(sums, 0, scale)
    assert found.normalised_rmse == pytest.approx(np.sqrt(np.sum(gap**2) / np.sum(z**2)), rel=1e-9)
    # In units of the indicators of classes: their spread is the unit of a code.
    assert found.rmse == pytest.approx(scale.spread * np.sqrt(np.sum(gap**2) / len(z)), rel=1e-9)
    assert found.mae == pytest.approx(scale.spread * np.sum(np.abs(gap)) / len(z), rel=1e-9)
