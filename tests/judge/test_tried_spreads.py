"""Which spread of a fit's errors is taken, literally; what spreads are tried; errors that nothing divides by."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.judge import intervals as judged
from enrelm_cli.judge.intervals import LeftOutRows
from enrelm_cli.judge.spread import Errors, grounds, landmarks_for, noise_of, off_of, tilt_of
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model.intervals import Intervals, Spread
from enrelm_cli.types import Array

ALPHA, WEIGHT = 0.5, 300.0


def rows_of(n: int, noise: float = 1.0, a: float = 1.0, b: float = 0.0) -> LeftOutRows:
    """Errors that grow by exp(noise f); predictions a f + b, with the same errors."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    f = X[:, 0] + 0.2 * X[:, 1]
    error = 0.4 * np.exp(noise * f) * rng.laplace(size=n)
    errors = Errors(X, a * f + b, np.abs(error), rng.uniform(0.5, 1.5, n), np.arange(n) % 5)
    return LeftOutRows(errors, a * f + b + error, TargetScale(0.0, 1.0))


def network(a: float = 1.0, b: float = 0.0) -> Any:
    return SimpleNamespace(predict=lambda X: a * (X[:, 0] + 0.2 * X[:, 1]) + b, facts={"alpha": ALPHA})


def basis_of(rows: LeftOutRows) -> Any:
    Z = np.random.default_rng(8).uniform(-1.0, 1.0, (400, 2))
    return SimpleNamespace(
        tuned=SimpleNamespace(kernel=ArcsineKernel(0.3, 1.0)),
        landmarks=SimpleNamespace(Z=Z),
        data=SimpleNamespace(weight=WEIGHT),
    )


@pytest.mark.parametrize("fewer", [0, 1])
@pytest.mark.parametrize("answers", list(product([True, False], repeat=3)))
def test_each_spread_has_to_be_better_than_the_best_so_far(
    answers: tuple[bool, bool, bool], fewer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off the data by anything, noise and unlike sides by a standard error; sides are of enough rows only."""
    rows = rows_of(judged._FEW_SIDES - fewer)
    signed, one = rows.z - rows.errors.f, np.ones(len(rows.z))
    noise: Any = object()
    tried = [
        (Spread(0.0, 1.0, None, None), np.linspace(0.5, 2.0, len(one))),
        (Spread(0.0, 1.0, noise, None), 1.0 / (1.0 + np.square(signed))),
    ]
    asked: list[tuple[Array, Array, float]] = []

    def better(score: Array, than: Array, weight: Array, errors: float = 1.0) -> bool:
        np.testing.assert_array_equal(weight, rows.weight)
        asked.append((score, than, errors))
        return answers[len(asked) - 1]

    monkeypatch.setattr(judged, "_better", better)
    found = judged._chosen(rows, tried)
    best, wide = Intervals(rows.scores(signed, one)), one
    constant = rows.scored(best, one)
    expected: list[tuple[Array, Array, float]] = []
    for (spread, own), errors, answer in zip(tried, (0.0, 1.0), answers, strict=False):
        new = Intervals(rows.scores(signed, own), spread=spread)
        expected.append((rows.scored(new, own), rows.scored(best, wide), errors))
        best, wide = (new, own) if answer else (best, wide)
    if not fewer:
        new = replace(best, symmetric=False)
        expected.append((rows.scored(new, wide), rows.scored(best, wide), 1.0))
        best = new if answers[2] else best
    assert [errors for *_, errors in asked] == [errors for *_, errors in expected]
    for one_asked, one_expected in zip(asked, expected, strict=True):
        np.testing.assert_array_equal(one_asked[:2], one_expected[:2])
    assert (found.intervals.spread, found.intervals.symmetric) == (best.spread, best.symmetric)
    np.testing.assert_array_equal(found.intervals.scores, best.scores)
    ratio = np.average(rows.scored(best, wide), weights=rows.weight) / np.average(constant, weights=rows.weight)
    assert found.ratio == pytest.approx(ratio, rel=1e-12)


def test_a_spread_by_the_prediction_does_not_depend_on_its_unit() -> None:
    [(spread, wide)] = judged._spreads(rows_of(400))
    [(moved, as_wide)] = judged._spreads(rows_of(400, a=3.0, b=7.0))
    np.testing.assert_allclose(as_wide, wide, rtol=1e-6)
    rows = rows_of(400)
    assert (spread.centre, spread.unit) == (pytest.approx(np.mean(rows.errors.f)), pytest.approx(np.std(rows.errors.f)))
    assert (moved.centre, moved.unit) == (pytest.approx(3.0 * spread.centre + 7.0), pytest.approx(3.0 * spread.unit))
    assert (spread.off, spread.tilt) == (None, None)
    # Of all rows, and without a fifth of them: much the same, and the truth up to a factor.
    own = spread.of(rows.errors.X, rows.errors.f)
    np.testing.assert_allclose(own, wide, rtol=0.25)
    assert np.corrcoef(np.log(own), rows.errors.f)[0, 1] > 0.98


def test_spreads_of_a_network_widen_off_the_data_and_beside_that_with_the_noise() -> None:
    rows = rows_of(400)
    errors, final = rows.errors, basis_of(rows)
    (off, wide), (both, with_noise) = judged._network_spreads(rows, final, network())
    Z, kernel = final.landmarks.Z[: landmarks_for(400)], final.tuned.kernel
    h = off_of(kernel, Z, errors, ALPHA, WEIGHT).h
    np.testing.assert_allclose(wide, np.sqrt(1.0 + h), rtol=1e-12)
    assert h.max() > 1e-3
    standard, of_Z = ((f - errors.f.mean()) / errors.f.std() for f in (errors.f, network().predict(Z)))
    beside = Z, of_Z, np.asarray(kernel.weight_variance)
    noise = noise_of(replace(errors, size=errors.size / wide), standard, grounds(standard, beside))
    assert noise is not None
    np.testing.assert_allclose(with_noise, wide * np.exp(noise.g), rtol=1e-9)
    assert off.noise is None
    assert both.noise is not None
    np.testing.assert_allclose(off.of(errors.X, errors.f), wide, rtol=0.05)
    np.testing.assert_allclose(both.of(errors.X, errors.f), with_noise, rtol=0.3)


def test_spreads_of_a_network_do_not_depend_on_the_unit_of_its_predictions() -> None:
    plain, moved = (
        judged._network_spreads(rows_of(400, a=a, b=b), basis_of(rows_of(400)), network(a, b))
        for a, b in ((1, 0), (3, 7))
    )
    for (_, wide), (_, as_wide) in zip(plain, moved, strict=True):
        np.testing.assert_allclose(as_wide, wide, rtol=1e-6)


def test_errors_of_one_size_have_no_noise_and_few_rows_no_spread() -> None:
    alike = rows_of(300, noise=0.0)
    assert judged._spreads(alike) == []
    [(off, _)] = judged._network_spreads(alike, basis_of(alike), network())
    assert off.noise is None
    assert judged._spreads(rows_of(judged._FEW, noise=3.0))
    few = rows_of(judged._FEW - 1, noise=3.0)
    assert judged._spreads(few) == judged._network_spreads(few, basis_of(few), network()) == []


@pytest.mark.parametrize("n", [999, 1000])
def test_many_rows_tilt_a_spread(n: int) -> None:
    errors = rows_of(n).errors
    log = 0.5 * errors.f  # half of what it should be
    spread, wide = judged._tilted(errors, Spread(0.0, 1.0, None, None), log)
    found = tilt_of(errors, log)
    assert (spread.tilt is None) == (found is None) == (n < 1000)
    np.testing.assert_array_equal(wide, np.exp(log if found is None else found.log))
    if spread.tilt is not None:
        slope = np.polyfit(errors.f, spread.tilt.of(log), 1)[0]
        assert slope == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    ("inside", "outside", "expected"),
    [(0.5, 1.0, 2.0), (1.0, 0.5, 1.0), (0.0, 1.0, 1.0), (0.0, 0.0, 1.0), (1e-200, 1e200, 1.0)],
)
def test_overfitting_of_errors_that_leave_nothing_to_divide_by_is_one(
    inside: float, outside: float, expected: float
) -> None:
    def view(rows: None, side: Side) -> Any:
        size = inside if side is Side.TRAIN else outside
        return SimpleNamespace(X=np.zeros((4, 1)), y=np.array([size, -size, size, -size]), weight=None)

    cut = SimpleNamespace(first=lambda n: SimpleNamespace(predict=lambda X: np.zeros(len(X))))
    data = SimpleNamespace(view=view, rows=SimpleNamespace(sample=None))
    winner: Any = SimpleNamespace(basis=SimpleNamespace(data=data), network=cut, chosen=SimpleNamespace(neurons=1))
    assert judged.overfitting(winner) == expected
