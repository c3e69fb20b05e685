"""Effects, bands, pairs and residuals by loops over rows, of functions that are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enrelm_cli.inputs.encoding import UNSEEN
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.judge.explanation import pairs, residuals
from enrelm_cli.judge.explanation.effects import Moved, Posterior, effect_of
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.phase_one.phase_one import eigenbasis_of
from enrelm_cli.types import Array
from enrelm_cli.variants import kernel as kernel_variant
from tests.problems import some_landmarks, whole

Function = Callable[[Array], Array]


def curved(X: Array) -> Array:
    """Of columns that do not add up; levels may be missing."""
    first = np.nan_to_num(X[:, 0], nan=2.5)
    value: Array = np.sin(2.0 * first) + first * X[:, 1] + X[:, 2] ** 2 * X[:, 1]
    return value


def stub(f: Function, levels: tuple[int, ...] = ()) -> Any:
    """A model of three columns, some of which have levels."""
    columns = [SimpleNamespace(levels=("a", "b") if k in levels else None) for k in range(3)]
    return SimpleNamespace(encoding=SimpleNamespace(columns=columns), predict=f)


def rows_of(t: int, distinct: int | None = None, missing: int = 0) -> Array:
    X = np.random.default_rng(t).uniform(-1.0, 2.0, (t, 3))
    if distinct:
        X[:, 0] = np.round(X[:, 0] * distinct / 3.0)
    X[:missing, 0] = np.nan
    return X


def at(f: Function, row: Array, column: int, value: float) -> float:
    moved = row.copy()
    moved[column] = value
    return float(f(moved[None, :])[0])


# --- numbers ---------------------------------------------------------------------------------------------------------


def quantiles(values: Array) -> list[float]:
    """Each value where they are 24 or fewer, else the least that k/24 of the rows do not exceed."""
    ordered = np.sort(values)
    if len(np.unique(values)) <= 24:
        return np.unique(values).tolist()
    ranks = [max(int(np.ceil(len(values) * k / 24 - 1e-9)), 1) for k in range(25)]
    return sorted({float(ordered[rank - 1]) for rank in ranks})


def interpolated(x: float, edges: list[float], values: Array) -> float:
    return float(np.interp(x, edges, values))


def accumulated(f: Function, X: Array, edges: list[float]) -> tuple[Array, Array]:
    """The effect at each edge, 0 on average, and its variance over rows."""
    differences: list[list[float]] = [[] for _ in edges[1:]]
    for row in X:
        i = next(i for i in range(len(edges) - 1) if row[0] <= edges[i + 1])
        differences[i].append(at(f, row, 0, edges[i + 1]) - at(f, row, 0, edges[i]))
    means = [float(np.mean(one)) for one in differences]
    variances = [float(np.var(one, ddof=1)) / len(one) if len(one) > 1 else 0.0 for one in differences]
    effect = np.array([0.0, *np.cumsum(means)])
    effect = effect - np.mean([interpolated(x, edges, effect) for x in X[:, 0]])
    variance = np.zeros(len(edges))
    for i, one in enumerate(variances):
        # What the mean difference of an interval adds to each edge, less what it adds on average.
        adds = np.array([float(j > i) for j in range(len(edges))])
        adds = adds - np.mean([interpolated(x, edges, adds) for x in X[:, 0]])
        variance += adds**2 * one
    return effect, variance


@pytest.mark.parametrize(
    ("t", "distinct", "missing"), [(40, 6, 0), (200, None, 7), (30, 50, 3), (24, None, 0), (25, None, 0)]
)
def test_accumulated_effects_are_sums_of_local_differences(t: int, distinct: int | None, missing: int) -> None:
    X = rows_of(t, distinct, missing)
    found = effect_of(Moved(stub(curved), None), X, 0, False)
    assert found is not None
    present = X[missing:]
    edges = quantiles(present[:, 0])
    np.testing.assert_array_equal(found.values, edges)
    effect, variance = accumulated(curved, present, edges)
    np.testing.assert_allclose(found.effect, effect, atol=1e-12)
    np.testing.assert_allclose(found.band, 2.0 * np.sqrt(variance), atol=1e-12)
    nearest = [int(np.argmin(np.abs(np.array(edges) - x))) for x in present[:, 0]]
    np.testing.assert_array_equal(found.rows, np.bincount(nearest, minlength=len(edges)))
    assert (found.column, found.missing) == (0, missing)
    assert effect.std() > 0.1


def test_another_column_moves_alone() -> None:
    X = rows_of(60)
    found = effect_of(Moved(stub(lambda X: 3.0 * X[:, 1] + X[:, 0]), None), X, 1, False)
    assert found is not None
    np.testing.assert_allclose(found.effect, 3.0 * (found.values - X[:, 1].mean()), atol=1e-12)


@pytest.mark.parametrize("t", [50, 320])
def test_partial_dependence_is_the_mean_over_the_first_rows(t: int) -> None:
    X = rows_of(t)
    found = effect_of(Moved(stub(curved), None), X, 0, True)
    assert found is not None
    edges, few = quantiles(X[:, 0]), X[:300]
    each = np.array([[at(curved, row, 0, edge) for row in few] for edge in edges])
    effect = each.mean(axis=1)
    effect = effect - np.mean([interpolated(x, edges, effect) for x in X[:, 0]])
    np.testing.assert_allclose(found.effect, effect, atol=1e-12)
    own = each - each.mean(axis=0)
    np.testing.assert_allclose(found.band, 2.0 * np.sqrt(own.var(axis=1) / len(few)), atol=1e-12)


@pytest.mark.parametrize(("distinct", "kept"), [(24, True), (25, False)])
def test_a_rare_value_is_an_edge_where_values_are_few(distinct: int, kept: bool) -> None:
    X = rows_of(24 * 30 + 1)
    X[:, 0] = np.arange(len(X)) % (distinct - 1) + 0.5
    X[7, 0] = 5.0
    found = effect_of(Moved(stub(curved), None), X, 0, True)
    assert found is not None
    assert (5.0 in found.values) == kept


def test_two_values_have_an_effect_and_one_has_none() -> None:
    X = rows_of(20)
    X[:, 0] = np.arange(20) % 2
    found = effect_of(Moved(stub(curved), None), X, 0, False)
    assert found is not None
    assert found.values.tolist() == [0.0, 1.0]
    X[:, 0] = 1.0
    assert effect_of(Moved(stub(curved), None), X, 0, False) is None


# --- levels ----------------------------------------------------------------------------------------------------------


def levels_of(t: int, count: int) -> Array:
    X = rows_of(t)
    X[:, 0] = np.random.default_rng(9).integers(0, count, t)
    return X


def pairwise(f: Function, X: Array, levels: list[float]) -> Array:
    """Effects whose differences are nearest to those of any two levels, over the rows of these two."""
    A, b = [], []
    for i, j in combinations(range(len(levels)), 2):
        mine = X[np.isin(X[:, 0], [levels[i], levels[j]])]
        if np.isnan(levels[j]):
            mine = X[(X[:, 0] == levels[i]) | np.isnan(X[:, 0])]
        between = np.mean([at(f, row, 0, levels[j]) - at(f, row, 0, levels[i]) for row in mine])
        line = np.zeros(len(levels))
        line[j], line[i] = 1.0, -1.0
        A.append(np.sqrt(len(mine)) * line)
        b.append(np.sqrt(len(mine)) * between)
    solution: Array = np.linalg.lstsq(np.array(A), np.array(b), rcond=None)[0]
    return solution


@pytest.mark.parametrize("partial_dependence", [False, True])
@pytest.mark.parametrize("missing", [0, 5])
def test_effects_of_levels_fit_the_differences_of_any_two(partial_dependence: bool, missing: int) -> None:
    X = levels_of(60, 4)
    X[3 : 3 + missing, 0] = np.nan
    found = effect_of(Moved(stub(curved, (0,)), None), X, 0, partial_dependence)
    assert found is not None
    levels = [0.0, 1.0, 2.0, 3.0, *([np.nan] if missing else [])]
    counts = np.array([np.sum(np.isnan(X[:, 0]) if np.isnan(one) else X[:, 0] == one) for one in levels])
    if partial_dependence:
        effect = np.array([np.mean([at(curved, row, 0, one) for row in X]) for one in levels])
    else:
        effect = pairwise(curved, X, levels)
    effect = effect - np.average(effect, weights=counts)
    order = np.argsort(effect)
    np.testing.assert_array_equal(found.values, np.array(levels)[order])
    np.testing.assert_allclose(found.effect, effect[order], atol=1e-10)
    np.testing.assert_array_equal(found.rows, counts[order])
    np.testing.assert_array_equal(found.band, 0.0)
    assert found.missing == missing


def test_the_twenty_most_frequent_levels_are_told_and_unseen_ones_are_not() -> None:
    X = rows_of(900)
    X[:, 0] = np.floor(np.sqrt(np.arange(900.0)))  # 30 levels, later ones more frequent
    X[100:200:2, 0] = UNSEEN
    counts = {level: int(np.sum(X[:, 0] == level)) for level in np.unique(X[:, 0])}
    most = sorted(counts, key=lambda level: (-counts[level], level))[:20]
    assert UNSEEN in most
    found = effect_of(Moved(stub(curved, (0,)), None), X, 0, True)
    assert found is not None
    assert sorted(found.values) == sorted(set(most) - {UNSEEN})
    assert {level: int(n) for level, n in zip(found.values, found.rows, strict=True)} == {
        level: counts[level] for level in most if level != UNSEEN
    }
    X[:, 0] = 3.0
    assert effect_of(Moved(stub(curved, (0,)), None), X, 0, True) is None
    X[:5, 0] = UNSEEN
    assert effect_of(Moved(stub(curved, (0,)), None), X, 0, True) is None
    X[5:9, 0] = 4.0
    assert effect_of(Moved(stub(curved, (0,)), None), X, 0, True) is not None


# --- the posterior ---------------------------------------------------------------------------------------------------


def kernel_model(landmarks: int = 12) -> tuple[Any, Array]:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 2.0, (50, 3))
    data = whole(X, curved(X) + 0.3 * rng.standard_normal(50))
    basis = eigenbasis_of(data, ArcsineKernel(0.5, 0.3), some_landmarks(data, landmarks), centred=True)
    network = kernel_variant.fit(data, basis, len(basis.values))
    # The target is a logarithm: the slope back differs from row to row.
    scale = replace(TargetScale(10.0, 2.0), transform="log", shape=5.0, g_mean=1.6, g_scale=0.2).ranged(-3.0, 4.0)
    model = SimpleNamespace(
        network=network,
        target_scale=scale,
        input_map=data.view.input_map,
        encoding=stub(curved).encoding,
        predict=lambda X: scale.back(network.predict(data.view.input_map.inputs(X))),
        from_scores=lambda inputs, z, times: scale.back(z)[:, None],
        check_finite=lambda y: None,
    )
    model.lambdas = basis.values[network.order]
    return model, X


def test_the_gain_is_the_shrunk_variance_of_left_out_errors_in_units_of_the_target() -> None:
    model, X = kernel_model()
    found = Posterior.of(model, X)
    assert found is not None
    facts = model.network.facts
    z = model.network.predict(model.input_map.inputs(X))
    h = 1e-6
    slope = np.mean([(model.target_scale.back(z + h) - model.target_scale.back(z - h)) / (2.0 * h)])
    expected = (slope * facts["leave_one_out_error"]) ** 2 * model.lambdas / (model.lambdas + facts["alpha"])
    np.testing.assert_allclose(found.gain, expected, rtol=1e-5)
    for lacking in ({"alpha": 0.1}, {"leave_one_out_error": 0.1}, {}, None):
        model.network = replace(model.network, facts=lacking)
        assert Posterior.of(model, X) is None
    model.network = replace(model.network.first(0), facts=facts)
    assert Posterior.of(model, X) is None
    exact = {"alpha": facts["alpha"], "leave_one_out_error": 0.1}
    model.network = replace(kernel_model()[0].network, facts=exact)
    assert Posterior.of(model, X) is not None
    model.network = replace(model.network, features=SimpleNamespace(norms=np.ones(3)))
    assert Posterior.of(model, X) is None


@pytest.mark.parametrize("partial_dependence", [False, True])
def test_the_band_has_the_posterior_variance_of_the_sums(partial_dependence: bool) -> None:
    """An effect is a linear function of predictions: what it weighs them with weighs the eigenfunctions, too."""
    model, X = kernel_model()
    posterior = Posterior.of(model, X)
    assert posterior is not None
    with_posterior = effect_of(Moved(model, posterior), X, 1, partial_dependence)
    alone = effect_of(Moved(model, None), X, 1, partial_dependence)
    assert with_posterior is not None
    assert alone is not None
    np.testing.assert_allclose(with_posterior.effect, alone.effect, atol=1e-10)
    variance = np.zeros(len(alone.values))
    for j, gain in enumerate(posterior.gain):
        phi = stub(lambda X, j=j: model.network.features.outputs(model.input_map.inputs(X))[:, j])
        of = effect_of(Moved(phi, None), X, 1, partial_dependence)
        assert of is not None
        variance += gain * of.effect**2
    np.testing.assert_allclose(with_posterior.band**2, alone.band**2 + 4.0 * variance, rtol=1e-8)


# --- pairs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("t", "scores"), [(31, 1), (620, 1), (30, 2), (4, 1)])
def test_strengths_are_those_of_loops_over_the_rows(t: int, scores: int) -> None:
    X = rows_of(t)

    def predict(X: Array) -> Array:
        return curved(X) if scores == 1 else np.column_stack([curved(X), X[:, 0] * X[:, 2]])

    found = pairs.pairs(predict, X, [0, 1, 2])
    few = X[:500]
    n = len(few)
    before = predict(few).reshape(n, -1)
    expected = {}
    for j, k in combinations(range(3), 2):
        total = 0.0
        for i in range(n):
            other = few[(i - n // 2) % n]
            one, two, both = few[i].copy(), few[i].copy(), few[i].copy()
            one[j], two[k], both[[j, k]] = other[j], other[k], other[[j, k]]
            D = predict(few[i][None]) - predict(one[None]) - predict(two[None]) + predict(both[None])
            total += float(np.sum(D**2))
        expected[j, k] = total / n / 4.0
    assert {(one.first, one.second): one.strength for one in found} == pytest.approx(
        {pair: np.sqrt(square) for pair, square in expected.items()}
    )
    variance = before.var(axis=0).sum()
    assert {(one.first, one.second): one.share for one in found} == pytest.approx(
        {pair: square / variance for pair, square in expected.items()}
    )
    assert [one.strength for one in found] == sorted((one.strength for one in found), reverse=True)


def test_few_rows_and_constant_predictions_have_no_pairs_or_shares() -> None:
    assert pairs.pairs(curved, rows_of(3), [0, 1]) == ()
    found = pairs.pairs(lambda X: np.ones(len(X)), rows_of(9), [2, 0, 1])
    assert [(one.first, one.second, one.strength, one.share) for one in found] == [
        (0, 1, 0.0, 0.0),
        (2, 0, 0.0, 0.0),
        (2, 1, 0.0, 0.0),
    ]
    small = pairs.pairs(lambda X: 1e-3 * X[:, 0] * X[:, 1], rows_of(40), [0, 1])
    assert small[0].share > 0.1


# --- residuals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [1, 4, 5, 9, 10, 14, 49, 51, 123])
def test_residuals_of_numbers_are_those_of_tenths_of_the_rows(t: int) -> None:
    rng = np.random.default_rng(t)
    values, errors = rng.permutation(t) * 1.5, rng.standard_normal(t)
    found = residuals.binned(np.append(values, np.nan), np.append(errors, 9.0), False)
    bins = max(1, min(10, t // 5))
    order = np.argsort(values)
    cuts = [0, *(int(np.ceil(t * k / bins - 1e-9)) for k in range(1, bins + 1))]
    assert len(found) == bins
    for one, low, high in zip(found, cuts[:-1], cuts[1:], strict=True):
        own = order[low:high]
        assert (one.low, one.high, one.rows) == (values[own].min(), values[own].max(), len(own))
        assert (one.mean, one.spread) == pytest.approx((errors[own].mean(), errors[own].std()))


def test_residuals_of_levels_are_those_of_the_twenty_most_frequent() -> None:
    values = np.concatenate([np.repeat(np.arange(21.0), 3), [5.0, 20.0], [np.nan]])
    errors = np.random.default_rng(0).standard_normal(len(values))
    found = residuals.binned(values, errors, True)
    # 19 is the last of those with three rows.
    assert [one.low for one in found] == [*map(float, range(19)), 20.0]
    for one in found:
        own = values == one.low
        assert (one.high, one.rows) == (one.low, own.sum())
        assert (one.mean, one.spread) == pytest.approx((errors[own].mean(), errors[own].std()))
    for is_level in (True, False):
        assert residuals.binned(np.full(3, np.nan), np.zeros(3), is_level) == ()
    assert [one.rows for one in residuals.binned(np.ones(30), np.zeros(30), False)] == [30]
