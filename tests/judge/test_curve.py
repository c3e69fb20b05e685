"""The three choices of a neuron count, on curves whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from enrelm_cli.judge.curve import Choice, Curve, ElmBand, best, choices, knee, smallest
from enrelm_cli.judge.errors import relative_error, relative_errors
from enrelm_cli.types import Array

finite_curves = arrays(np.float64, st.integers(1, 60), elements=st.floats(0.01, 10.0))
quick = settings(max_examples=60, deadline=None)


def corner(at: int, n: int, low: float = 0.3, high: float = 1.0) -> Array:
    """Straight down from `high` at one neuron to `low` at `at` neurons, flat from there on."""
    return np.maximum(low, high - (high - low) * np.arange(n) / (at - 1))


def noisy(curve: Array, std: float, seed: int) -> Array:
    return curve + std * np.random.default_rng(seed).standard_normal(len(curve))


# best and smallest


def test_best_is_the_first_of_equal_minima() -> None:
    assert best(np.array([0.9, 0.5, 0.7, 0.5])) == Choice(2, 0.5)


def test_smallest_takes_the_fewest_neurons_within_one_percent() -> None:
    curve = np.array([0.9, 0.6, 0.504, 0.52, 0.5])
    assert smallest(curve) == Choice(3, 0.504)
    assert smallest(curve, within=0.25) == Choice(2, 0.6)
    assert smallest(curve, within=0.0) == Choice(5, 0.5)


def test_a_curve_of_one_point_offers_that_point_and_no_knee() -> None:
    offered = choices(np.array([0.4]))
    assert offered.best == offered.smallest == Choice(1, 0.4)
    assert offered.knee is None


def test_a_perfect_fit_is_within_one_percent_of_itself_only() -> None:
    assert smallest(np.array([0.1, 0.0, 0.0])) == Choice(2, 0.0)


def test_sizes_without_a_number_are_never_chosen() -> None:
    offered = choices(np.array([np.nan, 0.9, 0.3, np.inf, np.nan]))
    assert offered.best == offered.smallest == Choice(3, 0.3)


@pytest.mark.parametrize("curve", [[], [np.nan], [np.inf, np.nan]])
def test_a_curve_without_any_finite_error_is_refused(curve: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one finite"):
        best(np.array(curve))


@quick
@given(finite_curves)
def test_best_is_a_minimum_and_smallest_is_not_larger(curve: Array) -> None:
    offered = choices(curve)
    assert offered.best.error == curve.min()
    assert offered.smallest.neurons <= offered.best.neurons
    assert offered.smallest.error <= 1.01 * curve.min()


# knee


@pytest.mark.parametrize("at", [2, 5, 12, 40])
@pytest.mark.parametrize("n", [100, 500])
def test_the_knee_of_a_sharp_corner_is_the_corner(at: int, n: int) -> None:
    found = knee(corner(at, n))
    assert found is not None
    assert found.neurons == at


@pytest.mark.parametrize("seed", range(20))
def test_noise_moves_the_knee_by_little(seed: int) -> None:
    found = knee(noisy(corner(12, 150), 0.02, seed))
    assert found is not None
    assert 9 <= found.neurons <= 17


def test_the_knee_of_a_decay_is_where_it_has_mostly_happened() -> None:
    curve = 0.4 + 0.6 * np.exp(-np.arange(200) / 8.0)
    found = knee(curve)
    assert found is not None
    assert 8 < found.neurons < 32


def test_a_rise_after_the_minimum_does_not_move_the_knee() -> None:
    flat = corner(15, 120)
    rising = flat + np.where(np.arange(120) > 50, 0.02 * (np.arange(120) - 50.0), 0.0)
    assert knee(rising) == knee(flat)


def test_an_exploding_or_infinite_tail_does_not_move_the_knee() -> None:
    flat = corner(15, 120)
    wild = flat.copy()
    wild[100:] = 1e12
    wild[110:] = np.inf
    assert knee(wild) == knee(flat)


def test_spikes_are_never_the_knee() -> None:
    curve = corner(10, 100)
    curve[3], curve[30] = 5.0, 3.0
    found = knee(curve)
    assert found is not None
    assert found.neurons == 10


@pytest.mark.parametrize("n", [2, 3, 10, 300])
def test_a_flat_line_and_a_straight_line_have_no_knee(n: int) -> None:
    assert knee(np.full(n, 0.7)) is None
    assert knee(np.linspace(1.0, 0.2, n)) is None
    assert knee(np.linspace(0.2, 1.0, n)) is None


def test_a_noisy_straight_line_has_no_knee() -> None:
    assert [knee(noisy(np.linspace(1.0, 0.3, 200), 0.02, seed)) for seed in range(50)] == [None] * 50


def test_a_flat_line_with_noise_hardly_ever_has_a_knee() -> None:
    found = [knee(noisy(np.full(100, 0.7), 0.05, seed)) for seed in range(200)]
    assert sum(choice is not None for choice in found) <= 4


@pytest.mark.parametrize("n", [11, 101, 501])
def test_a_curve_that_bends_evenly_has_no_clear_knee(n: int) -> None:
    x = np.linspace(0.0, 1.0, n)
    assert knee(1.0 - np.sqrt(1.0 - (1.0 - x) ** 2)) is None  # a quarter circle
    assert knee((1.0 - x) ** 2) is None
    assert knee(np.cos(np.pi * x)) is None


@quick
@given(finite_curves)
def test_the_knee_is_a_new_minimum_and_comes_no_later_than_the_best(curve: Array) -> None:
    found = knee(curve)
    if found is not None:
        assert found.neurons <= best(curve).neurons
        assert (curve[: found.neurons - 1] > found.error).all()


@quick
@given(st.integers(0, 10_000), st.floats(0.01, 100.0), st.floats(-5.0, 5.0), st.floats(0.0, 0.05))
def test_unit_and_offset_of_the_errors_do_not_move_the_knee(seed: int, scale: float, shift: float, std: float) -> None:
    curve = noisy(corner(12, 100), std, seed)
    one, other = knee(curve), knee(scale * curve + shift)
    assert (one and one.neurons) == (other and other.neurons)


@quick
@given(st.integers(2, 30), st.integers(0, 400))
def test_a_longer_flat_tail_does_not_move_the_knee(at: int, more: int) -> None:
    curve = corner(at, 3 * at + 30)
    assert knee(np.append(curve, np.full(more, curve[-1]))) == knee(curve)


# Err


def test_predicting_the_training_mean_has_error_one() -> None:
    y = np.array([1.0, 2.0, 4.0])
    assert relative_error(y, np.full(3, 7.0), 7.0) == 1.0


def test_err_is_the_ratio_of_norms() -> None:
    rng = np.random.default_rng(1)
    y, y_hat = rng.standard_normal((2, 50))
    expected = np.linalg.norm(y - y_hat) / np.linalg.norm(y - 0.3)
    assert relative_error(y, y_hat, 0.3) == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose(relative_errors(np.array([4.0, 1.0]), 16.0), [0.5, 0.25])


def test_rounding_below_zero_counts_as_no_error() -> None:
    assert relative_errors(np.array([-1e-18]), 1.0)[0] == 0.0


def test_a_constant_target_has_error_zero_or_infinity() -> None:
    np.testing.assert_array_equal(relative_errors(np.array([0.0, 1e-9]), 0.0), [0.0, np.inf])


def literal_knee(e: Array) -> int | None:
    """The docstring of `knee`, size by size."""
    n, lowest = len(e), int(np.argmin(e))
    drop = e[0] - e[lowest]
    if drop <= 0.0 or n < 3:
        return None
    y = [(one - e[lowest]) / drop for one in e]
    judged = y[: max(3 * (lowest + 1), 30)]
    bends = [abs(judged[k + 2] - 2.0 * judged[k + 1] + judged[k]) for k in range(len(judged) - 2)]
    noise = float(np.median(bends)) / (0.6745 * 6.0**0.5)
    s = next(size for size in range(1, n + 1) if y[size - 1] <= max(0.05, 2.0 * noise))
    w = min(n, 3 * s)
    depth = [1.0 - (size - 1) / (w - 1) - y[size - 1] for size in range(1, w + 1)]
    deepest = max(range(w), key=lambda k: depth[k])
    clear = 6.0 * noise < 1.0 and depth[deepest] > 2.0**0.5 - 1.0 + 2.0 * noise
    return deepest + 1 if clear else None


def test_the_knee_is_the_one_that_its_formula_says() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(600):
        n = int(rng.integers(3, 120))
        at = np.arange(n)
        pace, noise, rise = rng.uniform(0.5, 30.0), 10.0 ** rng.uniform(-5.0, -1.0), rng.choice([0.0, 0.3])
        e = 0.4 + 0.6 * np.exp(-at / pace) + rise * at / n + noise * rng.standard_normal(n)
        chosen = knee(e)
        found.append(None if chosen is None else chosen.neurons)
        assert found[-1] == literal_knee(e)
    assert {None, 3, 10} < set(found)


def test_curves_count_their_neurons_from_one() -> None:
    e = np.array([0.9, 0.5])
    band = ElmBand(e, e, e, e, e, e, e, 7).to_json()
    assert [point["neurons"] for point in band["curve"]] == [1, 2]
    curve = Curve("kernel", e, e, choices(e), None, False, 2).to_json()
    assert [point["neurons"] for point in curve["curve"]] == [1, 2]
    assert curve["choices"]["best"] == {"neurons": 2, "validation_error": 0.5}


@pytest.mark.parametrize(
    ("curve", "neurons"),
    [
        # The noise of the sizes up to three times the lowest counts: of a shorter or a longer stretch of these curves
        # it would move the knee to 10, or hide it.
        (
            "1 .85 .72 .63 .56 .5 .46 .42 .39 .37 .36 .34 .33 .33 .32 .32 .31 .44 .46 .42 .4 .36 .35 .36 .31 .36 .44"
            " .51 .49 .4 .31 .43 .64 .38 .43 .54 .52 .44 .48 .32 .51 .36 .56 .34 .5 .43 .38 .36 .66 .32 .39 .31 .85"
            " .52",
            9,
        ),
        (
            "1 .72 .56 .46 .39 .36 .33 .32 .31 .31 .3 .3 .3 .48 .65 .5 .5 .48 .45 .57 .46 .43 .36 .42 .52 .45 .34 .45"
            " .4 .58 .36 .59 .33 .38 .67 .31 .41 .35 .37 .39 .49",
            5,
        ),
        # Deep enough, but the drop is not six times the noise.
        ("1 .3 .56 .6 .34 .38 .5 .49 .37", None),
    ],
)
def test_noise_is_measured_where_the_knee_may_be(curve: str, neurons: int | None) -> None:
    found = knee(np.array([float(error) for error in curve.split()]))
    assert (found and found.neurons) == neurons


def test_a_curve_takes_what_a_fit_took_and_alone_the_best() -> None:
    e = np.array([0.9, 0.5, 0.6])
    alone = Curve("kernel", e, e, choices(e), None, False, 3)
    assert alone.taken == Choice(2, 0.5)
    fitted = replace(alone, chosen=Choice(3, 0.6))
    assert fitted.taken == Choice(3, 0.6)
    assert alone.to_json()["chosen"] is None
    assert fitted.to_json()["chosen"] == {"neurons": 3, "validation_error": 0.6}
