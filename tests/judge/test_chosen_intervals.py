"""How intervals are judged: the interval score, literally; weights; too few rows; the factor of left-out errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enrelm_cli.fold.folds import Chunk
from enrelm_cli.inputs.split import Side, Sides, Split, hash_split
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.inputs.training import rows_of_arrays, training
from enrelm_cli.judge import intervals as judged
from enrelm_cli.judge.fitting import FittedVariant, fit_variant
from enrelm_cli.judge.intervals import Found, LeftOutRows, intervals_of
from enrelm_cli.judge.spread import Errors, standard_error
from enrelm_cli.model.intervals import Intervals, order_statistics
from enrelm_cli.phase_one.phase_one import basis_of, tune
from enrelm_cli.settings import KernelSettings, MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants import named
from tests.problems import problem

PLAIN = TargetScale(10.0, 2.0)
LOG = replace(PLAIN, transform="log", shape=5.0, g_mean=1.6, g_scale=0.2).ranged(-3.0, 4.0)


def rows_of(n: int, scale: TargetScale, weight: Array | None = None) -> LeftOutRows:
    rng = np.random.default_rng(n)
    f = rng.uniform(-1.0, 1.0, n)
    z = f + 0.5 * rng.standard_normal(n)
    errors = Errors(f[:, None], f, np.abs(z - f), np.ones(n) if weight is None else weight, np.arange(n) % 5)
    return LeftOutRows(errors, z, scale)


@pytest.mark.parametrize("own_units", [False, True])
@pytest.mark.parametrize("scale", [PLAIN, LOG], ids=["plain", "log"])
@pytest.mark.parametrize("bounds", [(None, None), (9.5, None), (None, 10.5), (9.5, 10.5)])
def test_the_score_is_the_width_and_twenty_times_what_lies_outside(
    scale: TargetScale, own_units: bool, bounds: tuple[float | None, float | None]
) -> None:
    scale = scale.bounded(*bounds)
    rows, wide = rows_of(60, scale), np.linspace(0.5, 1.5, 60)
    intervals = Intervals(np.linspace(-1.0, 1.0, 60), own_units=own_units)
    low, high = intervals.ends(0.9)
    ends = []
    for end in (low, high):
        u = scale.predicted(rows.errors.f) + wide * end if own_units else scale.end_units(rows.errors.f + wide * end)
        y = scale.mean + scale.scale * u
        ends.append(np.clip(y, *(far if one is None else one for one, far in zip(bounds, (-1e9, 1e9), strict=True))))
    y = scale.mean + scale.scale * scale.units(rows.z)
    outside = np.maximum(ends[0] - y, 0.0) + np.maximum(y - ends[1], 0.0)
    expected = (ends[1] - ends[0] + 20.0 * outside) / scale.scale
    np.testing.assert_allclose(rows.scored(intervals, wide), expected, rtol=1e-9, atol=1e-12)
    assert np.count_nonzero(outside) > 2


def test_scores_are_ranked_by_weight() -> None:
    signed, wide = np.linspace(-3.0, 5.0, 40), np.linspace(1.0, 2.0, 40)
    weight = np.where(np.arange(40) < 10, 3.0, 0.5)
    found = rows_of(40, PLAIN, weight).scores(signed, wide)
    np.testing.assert_array_equal(found, order_statistics(signed / wide, weight))
    assert not np.array_equal(found, np.sort(signed / wide))


@pytest.mark.parametrize(("n", "enough"), [(8, False), (9, True)])
def test_intervals_are_compared_where_the_rows_are_enough_for_one(n: int, enough: bool) -> None:
    rows = rows_of(n, PLAIN)
    found = judged._chosen(rows, [])
    np.testing.assert_allclose(found.intervals.scores, np.sort(rows.z - rows.errors.f))
    assert (found.ratio, found.optimism) == (1.0 if enough else None, 1.0)
    assert not found.intervals.own_units


def test_errors_that_are_no_numbers_are_not_compared() -> None:
    rows = rows_of(50, PLAIN)
    spoilt = replace(rows, z=np.where(np.arange(50) == 7, np.inf, rows.z))
    assert judged._chosen(spoilt, []).ratio is None


def fitted_with(weight: Array | None) -> FittedVariant:
    X, y = problem(1, T=240)
    rows = rows_of_arrays(X, y, weight=weight)
    data = training(rows, hash_split(rows.sample.unit, True, 3, 0.25))
    method = MethodSettings(kernel=KernelSettings(tune=False, weight_variance=0.3, bias_variance=0.2))
    variant = named("kernel")
    return fit_variant(variant, basis_of(tune(data, method, variant.start), method), method)


def weighted_fit() -> FittedVariant:
    return fitted_with(np.where(problem(1, T=240)[0][:, 0] > 3.0, 4.0, 1.0))


def found_with(weight: Array | None, **patched: Any) -> Found:
    fitted = fitted_with(weight)
    errors = fitted.variant.left_out(fitted.basis, fitted.network)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in patched.items():
            patch.setattr(judged, name, value)
        return intervals_of(fitted, fitted.basis, fitted.network, errors)


def test_left_out_errors_are_multiplied_with_their_optimism() -> None:
    plain, wider = (found_with(None, optimism=lambda _, by=by: by) for by in (1.0, 1.5))
    np.testing.assert_allclose(wider.intervals.scores, 1.5 * plain.intervals.scores, rtol=1e-12)
    assert (plain.optimism, wider.optimism) == (1.0, 1.5)


@pytest.mark.parametrize("exact", [False, True])
def test_spreads_beside_the_prediction_are_of_networks_that_leave_rows_out(exact: bool) -> None:
    fitted, tried = fitted_with(None), []
    errors = fitted.variant.left_out(fitted.basis, fitted.network) if exact else np.zeros(0)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_spreads", "_network_spreads"):
            patch.setattr(judged, name, lambda *_, name=name: tried.append(name) or [])
        intervals_of(fitted, fitted.basis, fitted.network, errors)
    assert tried == ["_network_spreads" if exact else "_spreads"]


def test_weights_count_in_intervals_and_their_unit_does_not() -> None:
    weight = np.where(problem(1, T=240)[0][:, 0] > 3.0, 4.0, 1.0)
    seen: list[Array] = []

    def chosen(rows: LeftOutRows, tried: judged.Tried) -> Found:
        seen.append(rows.weight)
        return Found(Intervals(np.zeros(9)), None, 1.0)

    found_with(weight, _chosen=chosen)
    found_with(None, _chosen=chosen)
    assert {*np.unique(np.round(seen[0] / seen[0].min(), 9)).tolist()} == {1.0, 4.0}
    assert seen[0].mean() == pytest.approx(1.0)
    np.testing.assert_array_equal(seen[1], 1.0)


@pytest.mark.parametrize("own", [False, True])
def test_one_width_is_in_the_units_in_which_errors_are_alike(own: bool) -> None:
    rng = np.random.default_rng(3)
    f, noise = rng.uniform(-4.0, 2.5, 300), rng.standard_normal(300)
    z = f + 0.3 * noise
    if own:
        u = LOG.predicted(f) + 0.3 * noise
        z = (np.log(np.maximum(u + LOG.shape, 0.1)) - LOG.g_mean) / LOG.g_scale
    errors = Errors(f[:, None], f, np.abs(z - f), np.ones(300), np.arange(300) % 5)
    found = judged._chosen(LeftOutRows(errors, z, LOG), [])
    assert found.intervals.own_units == own
    expected = LOG.units(z) - LOG.predicted(f) if own else z - f
    np.testing.assert_allclose(found.intervals.scores, np.sort(expected), atol=1e-9)


def test_a_score_is_better_by_so_many_standard_errors() -> None:
    rng = np.random.default_rng(4)
    than, weight = rng.uniform(1.0, 2.0, 100), rng.uniform(0.5, 3.0, 100)
    noise = rng.standard_normal(100)
    noise -= np.average(noise, weights=weight)
    for by in (0.2, 0.9, 1.1, 1.9, 2.1):
        gain = noise + by * standard_error(noise, weight)
        for errors in (0.0, 1.0, 2.0):
            assert judged._better(than - gain, than, weight, errors) == (by > errors)
    assert not judged._better(than, than, weight, 0.0)


def test_what_is_enough_to_learn_a_spread_from() -> None:
    n = judged._FEW
    rng = np.random.default_rng(5)
    f, size, fold = 0.1 * rng.uniform(-1.0, 1.0, n), rng.uniform(0.0, 0.5, n), np.arange(n) % 5
    rows = Errors(f[:, None], f, size, np.ones(n), fold)
    assert judged._enough(rows)
    assert not judged._enough(rows.first(n - 1))
    assert not judged._enough(replace(rows, size=np.where(np.arange(n) == 3, np.inf, size)))
    assert not judged._enough(replace(rows, f=np.full(n, 0.5)))
    assert not judged._enough(replace(rows, size=np.where(np.arange(n) < n // 5, 1.0, 0.0)))
    for more, enough in ((0, True), (1, False)):
        largest = int(np.floor(judged._LARGEST_FOLD * n)) + more
        assert judged._enough(replace(rows, fold=np.where(np.arange(n) < largest, 0, 1 + fold))) == enough


def mean_sizes(winner: FittedVariant, inside: Array, own: Array | None) -> tuple[list[float], list[float]]:
    """Mean |error| of rows left out and of validation rows, and the squares of their relative standard errors."""
    data = winner.basis.data
    held_out = data.view(data.rows.sample, Side.VALIDATION)
    outside = np.abs(held_out.y - winner.network.predict(held_out.X))
    pairs = ((inside, own), (outside, held_out.weight))
    means = [float(np.average(one, weights=weight)) for one, weight in pairs]
    return means, [one.var() / (len(one) * mean**2) for (one, _), mean in zip(pairs, means, strict=True)]


@pytest.mark.parametrize(("expected", "known"), [(0.0, 0.05), (0.1, 0.05), (0.2, 0.05), (0.2, 1.0)])
def test_optimism_is_what_is_expected_moved_to_what_was_measured_by_its_weight(
    expected: float, known: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    winner = weighted_fit()
    data = winner.basis.data
    monkeypatch.setattr(judged, "_PRIOR", known)
    monkeypatch.setattr(judged, "_expected", lambda _: expected)
    inside = np.abs(winner.variant.left_out(winner.basis, winner.network))
    means, variances = mean_sizes(winner, inside, data.sample_weights())
    prior = min(judged._PRIOR, judged._PRIOR_ROWS / np.sqrt(data.T)) ** 2
    weight = prior / (prior + sum(variances))
    literal = expected + weight * (np.log(means[1] / means[0]) - expected)
    assert judged.optimism(winner) == pytest.approx(np.exp(max(literal, 0.0)), rel=1e-9)
    monkeypatch.setattr(judged, "_OPTIMISM_ROWS", data.T)
    assert judged.optimism(winner) == pytest.approx(np.exp(max(literal, 0.0)), rel=1e-9)
    monkeypatch.setattr(judged, "_OPTIMISM_ROWS", data.T - 1)
    assert judged.optimism(winner) == 1.0


@pytest.mark.parametrize("size", [0.0, np.inf])
def test_errors_that_cannot_be_compared_leave_the_optimism_that_is_expected(
    size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    winner = weighted_fit()
    monkeypatch.setattr(judged, "_expected", lambda _: 0.2)
    monkeypatch.setattr(type(winner.variant), "left_out", lambda *_: np.full(winner.basis.data.T, size))
    assert judged.optimism(winner) == pytest.approx(np.exp(0.2))


def test_groups_count_once() -> None:
    rows = weighted_fit().basis.data.sample()
    assert judged._apart(rows) == rows.rows
    assert judged._apart(replace(rows, group=np.arange(rows.rows, dtype=np.uint64) // np.uint64(6))) == rows.rows / 6


@pytest.mark.parametrize(("T", "expected"), [(100, (3 + judged._HELD * 4 + 1) / 100), (8, 0.25)])
def test_a_tuned_column_costs_a_row(T: int, expected: float) -> None:
    data = SimpleNamespace(d=7, T=T, view=SimpleNamespace(input_map=SimpleNamespace(groups=("a", "a", "b", "c"))))
    basis: Any = SimpleNamespace(tuned=SimpleNamespace(tuning=object()), data=data)
    assert judged._expected(basis) == pytest.approx(expected)
    basis.tuned.tuning = None
    assert judged._expected(basis) == 0.0


def test_overfitting_is_the_ratio_of_validation_to_training_errors_and_never_below_one() -> None:
    winner = weighted_fit()
    view, rows = winner.basis.data.view, winner.basis.data.rows.sample
    means = []
    for side in (Side.TRAIN, Side.VALIDATION):
        chunk = view(rows, side)
        means.append(np.average(np.abs(chunk.y - winner.network.predict(chunk.X)), weights=chunk.weight))
    assert means[1] > means[0] > 0.0
    assert judged.overfitting(winner) == pytest.approx(means[1] / means[0], rel=1e-9)
    swapped = replace(view, split=Swapped(view.split))
    basis: Any = SimpleNamespace(data=SimpleNamespace(view=swapped, rows=winner.basis.data.rows))
    assert judged.overfitting(replace(winner, basis=basis)) == 1.0


@dataclass(frozen=True)
class Swapped:
    """Validation rows train, and the others validate."""

    split: Split

    def sides(self, chunk: Chunk) -> Sides:
        return np.where(self.split.sides(chunk) == Side.TRAIN, Side.VALIDATION, Side.TRAIN).astype(np.uint8)
