"""Logistic regression in its parts: the work that it may take, its ridges, its folds, its start and its scale."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enrelm_cli.fold.folds import Chunk
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.phase_one.tuning.ridge import best_alpha
from enrelm_cli.types import Array
from enrelm_cli.variants import _logistic
from enrelm_cli.variants._logistic import FOLDS, Problem, affordable, fit_logistic, problem, rows_for


def problem_of(C: int = 3, t: int = 120, k: int = 4, unit: float = 1.0) -> Problem:
    rng = np.random.default_rng(C)
    X = rng.standard_normal((t, k)) * unit ** np.linspace(-1.0, 1.0, k)
    best = X @ (rng.standard_normal((k, C)) / unit ** np.linspace(-1.0, 1.0, k)[:, None])
    codes = np.argmax(best + rng.gumbel(size=(t, C)), axis=1)
    w = rng.uniform(0.5, 2.0, t)
    return Problem(X, ClassScale(np.bincount(codes, w, C)), codes, w, rng.integers(0, FOLDS, t))


def p_of(scores: Array) -> Array:
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


# --- the work --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "classes", "alphas"), [(1000, 10, 5), (7, 2, 6), (4000, 40, 1), (4000, 40, 5)])
def test_the_rows_are_those_that_the_work_allows(k: int, classes: int, alphas: int) -> None:
    """25 steps of 2 k + 50 multiply-adds for each row and class; five folds at every ridge, and once more at the best.

    Ridges are tried on 1,500 rows at most.
    """
    rows = rows_for(k, classes, alphas)

    def work(rows: int) -> float:
        each = 25.0 * classes * (2 * k + 50)
        return 5 * each * (alphas * min(rows, 1500) + rows)

    assert work(rows) <= 6e10 < work(rows + 1)


def test_both_sides_of_the_rows_that_choose() -> None:
    assert rows_for(4000, 40, 5) < 1500 < rows_for(1000, 10, 5)


def test_it_is_tried_where_the_work_allows_a_thousand_rows_or_five_of_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_logistic, "rows_for", lambda k, classes, alphas: k)
    for k, classes, rows, expected in (
        (1000, 3, 5000, True),
        (999, 3, 5000, False),
        (999, 3, 999, True),
        (998, 3, 999, False),
        (2000, 400, 5000, True),
        (1999, 400, 5000, False),
    ):
        assert affordable(k, classes, 5, rows) == expected


def test_rows_of_no_weight_count_once() -> None:
    scale = ClassScale(np.array([2.0, 2.0]))
    keys = np.arange(4, dtype=np.uint64)
    codes = np.array([0, 1, 1, 0])
    X = np.ones((4, 2))
    for weight in (None, np.array([1.0, 2.0, 3.0, 4.0])):
        rows = Chunk(X, scale.forward(codes.astype(float)), keys, keys, 0, weight=weight)
        found = problem(X, rows, scale)
        np.testing.assert_array_equal(found.weight, np.ones(4) if weight is None else weight)
        np.testing.assert_array_equal(found.codes, codes)
        assert found.fold.max() < FOLDS


# --- a row -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [2, 5])
def test_loss_gaps_and_curvature_are_those_of_a_softmax(C: int) -> None:
    one = problem_of(C, 30)
    W = np.random.default_rng(1).standard_normal((5, C))
    scores = W[0] + one.features @ W[1:]
    np.testing.assert_allclose(one.scores(W), scores)
    p = p_of(scores)
    own, gaps = one.own_and_gaps(scores.copy())
    np.testing.assert_allclose(own, np.log(p[np.arange(30), one.codes]))
    np.testing.assert_allclose(gaps, p - np.eye(C)[one.codes], atol=1e-15)
    assert one.loss(scores) == pytest.approx(-np.average(own, weights=one.weight))
    # The mean of the second derivatives along C - 1 directions that sum to zero.
    second = [np.trace(np.diag(row) - np.outer(row, row)) / (C - 1) for row in p]
    np.testing.assert_allclose(one.curvature(scores.copy()), second)


def test_scores_may_be_large() -> None:
    one = problem_of(3, 2)
    own, _ = one.own_and_gaps(np.array([[900.0, 0.0, 0.0], [0.0, -900.0, 900.0]]))
    assert np.isfinite(own).all()


# --- the ridge -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("losses", "tried", "best"),
    [
        ([1.0, 0.9, 0.8, 0.7, 0.6], 5, 4),
        ([1.0, 1.051, 0.5, 0.5, 0.5], 2, 0),  # clearly worse
        ([1.0, 1.05, 0.9, 0.8, 0.7], 5, 4),  # not clearly
        ([1.0, 1.04, 1.03, 0.5, 0.5], 3, 0),  # worse twice
        ([1.0, 1.04, 0.9, 0.94, 0.95], 5, 2),
        ([1.0, 1.04, 0.9, 0.95, 0.1], 4, 2),
        ([2.0, 2.09, 1.9, 1.8, 1.7], 5, 4),
        ([0.1, 0.104, 0.09, 0.08, 0.07], 5, 4),
        ([1.0, 1.0, 1.01, 1.04, 0.5], 4, 1),
        ([3.0, 0.9, 1.0, 0.5, 0.5], 3, 1),
        ([0.5, 0.4, 0.41, 0.3, 0.31], 5, 3),
    ],
)
def test_smaller_ridges_are_tried_while_they_may_be_better(
    losses: list[float], tried: int, best: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    alphas = np.geomspace(1.0, 1e-4, 5)
    seen: list[tuple[float, Any]] = []

    def without_folds(one: Any, alpha: float, starts: Any) -> Any:
        seen.append((alpha, starts))
        return losses[len(seen) - 1], {len(seen) - 1: np.zeros(1)}

    monkeypatch.setattr(_logistic, "_without_folds", without_folds)
    one: Any = SimpleNamespace(loss=lambda loss: loss)
    alpha, starts = _logistic._chosen(one, alphas)
    assert [a for a, _ in seen] == alphas[:tried].tolist()
    # A ridge starts where the one before ended.
    assert [list(given) for _, given in seen] == [[], *([k] for k in range(tried - 1))]
    assert list(starts) == [best]
    assert alpha == best_alpha(alphas[:tried], np.array(losses[:tried]))


@pytest.mark.parametrize("alphas", [np.array([0.3]), np.array([0.3, 0.03])])
def test_one_ridge_is_not_chosen_and_two_are(alphas: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    one, asked = problem_of(), []
    chosen = _logistic._chosen

    def noted(few: Problem, given: Array) -> Any:
        asked.append(len(few.codes))
        return chosen(few, given)

    monkeypatch.setattr(_logistic, "_chosen", noted)
    monkeypatch.setattr(_logistic, "_CHOOSING", 70)
    found = fit_logistic(one, alphas)
    assert asked == ([] if len(alphas) == 1 else [70])
    assert alphas.min() <= found.alpha <= alphas.max()
    assert found.loss == pytest.approx(one.loss(found.left_out @ (one.scale.spread * one.scale.V.T)))


# --- folds and starts ------------------------------------------------------------------------------------------------


def test_the_fit_of_all_rows_starts_at_the_mean_of_those_without_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    one = problem_of()
    one = Problem(one.features, one.scale, one.codes, one.weight, np.arange(120) % 3)
    calls: list[tuple[int, Any]] = []

    def minimum(part: Problem, alpha: float, start: Any) -> Array:
        calls.append((len(part.codes), start))
        return np.full((5, 3), float(len(calls)))

    monkeypatch.setattr(_logistic, "_minimum", minimum)
    fit_logistic(one, np.array([0.3]))
    assert [rows for rows, _ in calls] == [80, 80, 80, 120]
    assert [start for _, start in calls[:3]] == [None, None, None]
    np.testing.assert_array_equal(calls[3][1], np.full((5, 3), 2.0))
    # One fold leaves no rows to fit to.
    calls.clear()
    found = fit_logistic(Problem(one.features, one.scale, one.codes, one.weight, np.zeros(120, int)), np.array([0.3]))
    assert calls == [(120, None)]
    assert found.loss == pytest.approx(np.log(3.0))


@pytest.mark.parametrize("C", [2, 3])
def test_a_descent_starts_at_the_shares_or_where_it_is_told(C: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In units of the curvature there; the objective's gradient is that of differences."""
    one, alpha = problem_of(C), 0.3
    seen: list[Any] = []

    def minimize(objective: Any, x: Array, **_: Any) -> Any:
        seen[:] = [objective, x]
        return SimpleNamespace(x=x)

    monkeypatch.setattr(_logistic, "minimize", minimize)
    found = _logistic._minimum(one, alpha, None)
    shares = np.zeros((5, C))
    counts = one.scale.counts + 0.5
    shares[0] = np.log(counts) - np.log(counts).mean()
    np.testing.assert_allclose(found, shares, atol=1e-12)
    start = np.random.default_rng(2).standard_normal((5, C))
    np.testing.assert_allclose(_logistic._minimum(one, alpha, start.copy()), start)
    objective, x = seen
    F = np.column_stack([np.ones(120), one.features])
    curved = one.weight * one.curvature(F @ start)
    ridge = np.array([0.0, *[alpha / one.scale.spread**2] * 4])
    root = np.sqrt(np.einsum("t,tk,tk->k", curved, F, F) + ridge)[:, None]
    np.testing.assert_allclose(x.reshape(5, C), start * root)
    own = np.log(p_of(F @ start)[np.arange(120), one.codes])
    value, gradient = objective(x)
    assert value == pytest.approx(-one.weight @ own + 0.5 * float(np.sum(ridge[:, None] * start**2)))
    steps = 1e-5 * np.eye(len(x))
    differences = [(objective(x + step)[0] - objective(x - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-6)


def test_a_feature_of_nothing_has_a_scale() -> None:
    one = problem_of()
    none = Problem(np.zeros((120, 4)), one.scale, one.codes, one.weight, one.fold)
    found = _logistic._minimum(none, 0.0, None)
    np.testing.assert_allclose(found[1:], 0.0)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("C", [2, 4])
def test_thirty_steps_are_enough_whatever_the_units_of_the_features(C: int) -> None:
    """Features of units a million times apart: scaled by their curvature they are alike."""
    one, alpha = problem_of(C, 200, 8, unit=1e3), 1e-9
    W = _logistic._minimum(one, alpha, None)
    own, gaps = one.own_and_gaps(one.scores(W))
    scaled = np.column_stack([np.ones(200), one.features / one.features.std(axis=0)])
    gradient = scaled.T @ (gaps * one.weight[:, None])
    # Of 250 rows' weight: a share of a thousandth.
    assert np.abs(gradient).max() < 0.25
    assert -np.average(own, weights=one.weight) < 0.9 * np.log(C)
