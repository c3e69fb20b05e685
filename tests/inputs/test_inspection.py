"""What is found in columns and rows: of each kind one that is there, and none where nothing is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enrelm_cli.inputs.inspection.alone import drift, explained, ranks
from enrelm_cli.inputs.inspection.walk import run_of

ROWS = 400


def noise(seed: int, rows: int = ROWS) -> Any:
    return np.random.default_rng(seed).standard_normal(rows)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30))
def test_ranks_are_those_of_a_sorted_list_shared_by_equals(values: list[int]) -> None:
    got = ranks(np.array(values, dtype=float))
    for value, rank in zip(values, got, strict=True):
        places = [i + 1 for i, other in enumerate(sorted(values)) if other == value]
        assert rank == pytest.approx(np.mean(places))


@pytest.mark.parametrize("seed", range(20))
def test_a_column_that_says_nothing_explains_nothing(seed: int) -> None:
    y = noise(seed)
    assert abs(explained(noise(seed + 100), y, ordered=True)) < 0.25
    levels = np.random.default_rng(seed).integers(0, 20, ROWS).astype(float)
    assert abs(explained(levels, y, ordered=False)) < 0.15


@pytest.mark.parametrize("how", [lambda y: 3 * y + 1, np.exp, lambda y: np.round(y, 2), lambda y: -np.arctan(y)])
def test_a_copy_of_the_target_on_any_scale_explains_it(how: Any) -> None:
    y = noise(1)
    assert explained(how(y), y, ordered=True) > 0.99


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.95])
def test_the_share_that_a_column_explains_is_measured(share: float) -> None:
    x, e = noise(1, 4000), noise(2, 4000)
    y = np.sqrt(share) * np.sin(2.0 * x) / np.std(np.sin(2.0 * x)) + np.sqrt(1.0 - share) * e
    assert explained(x, y, ordered=True) == pytest.approx(share, abs=0.06)


def test_cells_that_are_missing_where_the_target_is_low_tell_the_target() -> None:
    y = (noise(1) > 0.0).astype(float)
    assert explained(np.where(y > 0.0, noise(2), np.nan), y, ordered=True) > 0.98


def test_texts_that_differ_in_every_row_explain_nothing() -> None:
    assert explained(np.arange(50.0), np.arange(50.0), ordered=False) == pytest.approx(0.0)


def test_one_far_target_does_not_hide_a_leak() -> None:
    y = noise(1)
    y[0] = 1e12
    assert explained(2.0 * y, y, ordered=True) > 0.99


@pytest.mark.parametrize("seed", range(20))
def test_a_target_without_a_trend_does_not_drift(seed: int) -> None:
    _, chance = drift(np.random.default_rng(seed).uniform(0, 1, ROWS), noise(seed))
    assert chance > 1e-6


def test_a_trend_and_a_season_are_a_drift() -> None:
    time = np.random.default_rng(1).uniform(0.0, 1.0, ROWS)
    for signal in (2.0 * time, np.sin(6.0 * time)):
        share, chance = drift(time, signal + noise(3))
        assert share > 0.05
        assert chance < 1e-6


@given(st.lists(st.integers(-3, 3), max_size=12), st.integers(0, 12))
def test_a_run_is_the_same_however_the_rows_are_cut(values: list[int], at: int) -> None:
    array = np.array(values, dtype=float)
    whole, parts = run_of(array), run_of(array[:at]).merge(run_of(array[at:]))
    assert (whole.count, whole.rising, whole.falling, whole.squares) == (
        parts.count,
        parts.rising,
        parts.falling,
        parts.squares,
    )
    assert whole.distinct == parts.distinct == len(set(values))


def test_the_number_of_values_beyond_those_kept_is_estimated() -> None:
    run = run_of(np.arange(60_000.0))
    assert not run.is_exact
    assert run.distinct == pytest.approx(60_000, rel=0.06)
