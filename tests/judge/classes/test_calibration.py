"""Slope and prior against a minimiser that knows nothing of Newton; rows that count; rows that are joined."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from enrelm_cli.fold.weights import thinned
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.judge.classes import calibration
from enrelm_cli.judge.classes.calibration import LeftOutScores, calibrated, joined_scores, scores_of
from enrelm_cli.model.classes import Calibration
from enrelm_cli.types import Array

PULL = {"logits": 4.0, "temperature": 1e-3}


def rows_of(C: int, t: int, slope: float = 1.5, weighted: bool = True, seed: int = 0) -> LeftOutScores:
    """Scores, classes drawn with a slope of them, every ninth unknown."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((t, C))
    chances = np.exp(slope * scores)
    codes = np.array([rng.choice(C, p=row / row.sum()) for row in chances])
    codes[::9] = -1
    shares = np.broadcast_to(np.log(np.arange(1.0, C + 1) / np.arange(1.0, C + 1).sum()), scores.shape)
    return LeftOutScores(scores, shares, codes, rng.uniform(0.5, 2.0, t) if weighted else None)


def literal(kind: str, rows: LeftOutScores) -> Array:
    """(slope, prior): the sum of weighted log-losses and of half the pull, row by row."""
    known = np.flatnonzero(rows.codes >= 0)
    w, C = rows.weights, rows.scores.shape[1]
    doubt = 0.0 if kind == "logits" else 1.0 / (w[known].sum() / C + 2.0)
    start = np.array([1.0] if kind == "logits" else [2.0, 1.0])

    def objective(a: Array) -> float:
        found = 0.5 * PULL[kind] * float(np.sum((a - start) ** 2))
        for i in known:
            logits = a[0] * rows.scores[i] + (a[1] * rows.log_shares[i] if len(a) > 1 else 0.0)
            logs = logits - np.log(np.exp(logits).sum())
            others = [logs[c] for c in range(C) if c != rows.codes[i]]
            found -= w[i] * ((1.0 - doubt) * logs[rows.codes[i]] + doubt * float(np.mean(others)))
        return found

    best = optimize.minimize(objective, start, method="BFGS", options={"gtol": 1e-6}).x
    return np.append(best, [0.0] * (2 - len(best)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["logits", "temperature"])
@pytest.mark.parametrize("C", [2, 3])
def test_slope_and_prior_are_at_the_least_loss(kind: str, C: int, weighted: bool) -> None:
    rows = rows_of(C, 60, weighted=weighted)
    found = calibrated(kind, rows)
    assert found.kind == kind
    np.testing.assert_allclose([found.slope, found.prior], literal(kind, rows), rtol=1e-5)


@pytest.mark.parametrize("unit", [1e-3, 0.03, 40.0, 1e4])
def test_steps_that_go_too_far_are_halved(unit: float) -> None:
    """Scores in another unit have a slope in another, however far from the start that is; hardly pulled to it."""
    rows = rows_of(3, 1000)
    plain, found = (
        calibrated("temperature", LeftOutScores(one * rows.scores, rows.log_shares, rows.codes, 1e6 * rows.weights))
        for one in (1.0, unit)
    )
    assert (found.slope * unit, found.prior) == pytest.approx((plain.slope, plain.prior), rel=1e-5)


def test_scores_that_point_the_wrong_way_have_a_slope_of_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    assert calibrated("temperature", rows_of(3, 300, slope=-2.0)).slope == 0.0
    assert 0.0 < calibrated("temperature", rows_of(3, 900, slope=0.4)).slope < 1.0
    monkeypatch.setattr(calibration, "_STEEPEST", 0.25)
    assert calibrated("temperature", rows_of(3, 300)).slope == 0.25


@pytest.mark.parametrize("t", [0, 5])
def test_rows_of_no_known_class_leave_the_start(t: int) -> None:
    rows = rows_of(3, 5)
    none = LeftOutScores(rows.scores[:t], rows.log_shares[:t], np.full(t, -1), None)
    assert calibrated("logits", none) == Calibration("logits", 1.0, 0.0, pytest.approx(np.zeros(0)))
    found = calibrated("temperature", none)
    assert (found.slope, found.prior) == (2.0, 1.0)


@pytest.mark.parametrize(("numbers", "most"), [(4500.0, 1500), (4.0, 1000)])
def test_many_rows_are_thinned_evenly(numbers: float, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(3, 2500)
    kept = thinned(2500, most)
    few = LeftOutScores(rows.scores[kept], rows.log_shares[kept], rows.codes[kept], rows.weights[kept])
    expected = calibrated("temperature", few)
    monkeypatch.setattr(calibration, "_NUMBERS", numbers)
    found = calibrated("temperature", rows)
    assert (found.slope, found.prior) == pytest.approx((expected.slope, expected.prior), rel=1e-12)


def test_the_loss_is_the_weighted_mean_of_rows_and_of_none_infinite() -> None:
    rows, how = rows_of(3, 40), Calibration("temperature", 1.2, 0.7)
    codes = np.maximum(rows.codes, 0)
    rows = LeftOutScores(rows.scores, rows.log_shares, codes, rows.weight)
    losses = []
    for score, share, code in zip(rows.scores, rows.log_shares, codes, strict=True):
        p = np.exp(1.2 * score + 0.7 * share)
        losses.append(-np.log(p[code] / p.sum()))
    np.testing.assert_allclose(rows.own(how), -np.array(losses))
    assert rows.log_loss(how) == pytest.approx(np.average(losses, weights=rows.weight))
    plain = LeftOutScores(rows.scores, rows.log_shares, codes, None)
    assert plain.log_loss(how) == pytest.approx(np.mean(losses))
    assert LeftOutScores(rows.scores[:0], rows.log_shares[:0], codes[:0], None).log_loss(how) == np.inf


def test_joined_rows_count_once_where_others_have_weights() -> None:
    one, other = rows_of(3, 7, weighted=False), rows_of(3, 5, seed=1)
    assert other.weight is not None
    both = joined_scores([one, other])
    np.testing.assert_array_equal(both.weights, [*[1.0] * 7, *other.weight])
    np.testing.assert_array_equal(both.scores, np.vstack([one.scores, other.scores]))
    np.testing.assert_array_equal(both.log_shares, np.vstack([one.log_shares, other.log_shares]))
    np.testing.assert_array_equal(both.codes, [*one.codes, *other.codes])
    assert joined_scores([one, one]).weight is None


def test_scores_of_predictions_have_the_shares_of_all_rows() -> None:
    scale = ClassScale(np.array([3.0, 5.0, 2.0]))
    z = np.random.default_rng(2).standard_normal((4, 2))
    rows = scores_of(scale, z, np.array([0, 1, 2, -1]), np.ones(4))
    np.testing.assert_allclose(rows.scores, scale.spread * z @ scale.V.T)
    np.testing.assert_allclose(rows.log_shares, np.tile(np.log(np.array([3.5, 5.5, 2.5]) / 11.5), (4, 1)))
