"""Robust inputs: no cell upsets them, levels are judged by rows that did not make them, dates have a calendar."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from enrelm_cli.fold.folds import Chunk, LocalEngine
from enrelm_cli.inputs.encoding import UNSEEN, Column
from enrelm_cli.inputs.maps.column_map import EVERY_ROW, FOLDS, folds_of
from enrelm_cli.inputs.maps.dates import DAY, DAYS, PARTS, VALUE, part_of, parts_for
from enrelm_cli.inputs.maps.input_map import Expansion, InputMap
from enrelm_cli.inputs.maps.levels import PRIOR, LevelIndicators, LevelMeans, LevelSums, indicators, means
from enrelm_cli.inputs.maps.numbers import KNOTS, Form, Scores, Spikes, Squashed, ValueIndicators, number_maps
from enrelm_cli.inputs.maps.robust import copies, robust_maps, scaled
from enrelm_cli.inputs.split import Everything
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.table.table import Kind
from enrelm_cli.types import Array, Keys

NUMBER = Column("x", Kind.NUMBER, None, 0.0, False)
cells = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, 1.0, 1e12, np.nan]))


def keys(rows: int) -> Keys:
    return np.arange(rows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def robust(raw: Array, columns: tuple[Column, ...], y: Array | None = None) -> InputMap | None:
    """The robust map of rows that all train."""
    y = np.linspace(-1.0, 1.0, len(raw)) if y is None else y
    levels = {k: len(column.levels) for k, column in enumerate(columns) if column.levels is not None}
    sums = LevelSums(Everything(), TargetScale(0.0, 1.0), levels)(Chunk(raw, y, keys(len(raw)), keys(len(raw)), 0))
    expansion = Expansion(robust_maps(columns, raw, {k: sums[str(k)] for k in levels}, calendar=True))
    return scaled(expansion, raw, folds_of(keys(len(raw))))


# ----------------------------------------------------------------------------------------------------------- numbers


@settings(deadline=None)
@example(np.array([0.0, 1.79769313e308, *[-8.98846567e307] * 7]), np.zeros(5))
@given(arrays(float, st.integers(1, 60), elements=cells), arrays(float, 5, elements=cells))
def test_inputs_of_any_numbers_are_finite_and_small(fitted: Array, new: Array) -> None:
    found = robust(fitted[:, None], (NUMBER,))
    if found is None:
        assert len(np.unique(np.append(fitted, np.nan))) <= 2  # one value, or no value, and no missing cell beside it
        return
    for rows in (fitted, new):
        X = found.inputs(rows[:, None])
        assert np.isfinite(X).all()
        # Three of the squashed are as far as anything goes, in units of their own spread.
        assert np.abs(X).max() <= 4.0 * np.sqrt(len(fitted)) + 1.0


@pytest.mark.parametrize("share", [[5, 30, 5], [13, 14, 13]], ids=["mostly 0", "even"])
@pytest.mark.parametrize("step", [5e-324, 1e-310])
def test_numbers_as_small_as_any_are_told_apart_and_can_be_read_from_the_model(step: float, share: list[int]) -> None:
    x = np.repeat([-1.0, 0.0, 1.0], share) * step
    for one in number_maps(0, VALUE, x):
        one.check(NUMBER)
    found = robust(x[:, None], (NUMBER,))
    assert found is not None
    X = found.inputs(np.array([[-step], [0.0], [step], [1.0]]))
    assert np.isfinite(X).all()
    assert np.all(np.diff(X[:3, 0]) > 0.5)
    assert np.abs(X).max() < 20.0


def test_a_far_cell_leaves_the_others_where_they_were() -> None:
    x = np.random.default_rng(0).standard_normal(500)
    spoilt = np.append(x[:-1], 1e12)
    for before, after in zip(number_maps(0, VALUE, x), number_maps(0, VALUE, spoilt), strict=True):
        out = [np.empty((499, 1)) for _ in range(2)]
        for one, to in zip((before, after), out, strict=True):
            one.write(x[:-1], None, to)
        moved = np.abs(out[0] - out[1])
        assert np.median(moved) < 0.01
        assert moved.max() < 0.6  # the largest value is the second largest now


def test_a_constant_with_one_exception_is_at_most_ten_spreads_away() -> None:
    x = np.zeros(100_000)
    x[7] = 1e12
    found = robust(x[:, None], (NUMBER,))
    assert found is not None
    assert np.abs(found.inputs(np.array([[1e12], [0.0], [-5.0]]))).max() <= 10.0


def test_normal_scores_are_normal_and_have_few_knots() -> None:
    x = np.exp(3.0 * np.random.default_rng(1).standard_normal(5000))
    (score,) = [one for one in number_maps(0, VALUE, x) if isinstance(one, Scores)]
    assert len(score.knots) <= KNOTS
    out = np.empty((5000, 1))
    score.write(x, None, out)
    quantiles = np.quantile(out, [0.025, 0.16, 0.5, 0.84, 0.975])
    np.testing.assert_allclose(quantiles, [-1.96, -1.0, 0.0, 1.0, 1.96], atol=0.06)
    far = np.empty((2, 1))
    score.write(np.array([-1e300, 1e300]), None, far)
    np.testing.assert_array_equal(far.ravel(), [out.min(), out.max()])


def test_a_few_values_are_also_categories_and_another_value_is_the_average() -> None:
    x = np.repeat([1.0, 2.0, 7.0], [30, 20, 50])
    maps = number_maps(0, VALUE, x)
    assert [type(one) for one in maps] == [Squashed, Scores, ValueIndicators]
    out = np.empty((3, 3))
    maps[2].write(np.array([2.0, 5.0, np.nan]), None, out)
    np.testing.assert_array_equal(out, [[0, 1, 0], [0.3, 0.2, 0.5], [0.3, 0.2, 0.5]])
    assert len(number_maps(0, VALUE, np.arange(25.0))) == 2


def test_a_value_that_a_tenth_of_the_rows_have_is_marked_among_many() -> None:
    x = np.r_[np.zeros(40), np.full(11, 7.5), np.full(9, 3.0), np.linspace(0.1, 6.0, 40)]
    squashed, scores, spikes = number_maps(0, VALUE, x, form=Form.MARKED)
    assert [type(one) for one in (squashed, scores, spikes)] == [Squashed, Scores, Spikes]
    spikes.check(NUMBER)
    out = np.empty((4, 2))
    spikes.write(np.array([0.0, 7.5, 3.0, np.nan]), None, out)
    np.testing.assert_array_equal(out, [[1, 0], [0, 1], [0, 0], [0.4, 0.11]])
    # Nine of seventy rows may be chance.
    assert len(number_maps(0, VALUE, np.r_[np.zeros(9), np.linspace(0.1, 6.0, 61)], form=Form.MARKED)) == 2
    assert len(number_maps(0, VALUE, x)) == 2


def test_equal_weights_mark_the_same_values_as_repeated_rows() -> None:
    values = np.linspace(0.0, 1.0, 30)
    weight = np.r_[12.0, np.full(28, 2.0), 11.0]
    weighted, repeated = (
        number_maps(0, VALUE, *one, form=Form.MARKED)[-1]
        for one in ((values, weight), (np.repeat(values, weight.astype(int)), None))
    )
    assert isinstance(weighted, Spikes)
    assert isinstance(repeated, Spikes)
    np.testing.assert_array_equal(weighted.values, repeated.values)
    np.testing.assert_allclose(weighted.shares, repeated.shares)


def test_a_missing_cell_is_the_average_and_has_an_input_of_its_own() -> None:
    raw = np.array([[1.0], [2.0], [4.0], [np.nan]] * 10)
    found = robust(raw, (Column("x", Kind.NUMBER, None, 1.0, True),))
    assert found is not None
    names = found.names((NUMBER,))
    X = found.inputs(np.array([[np.nan]]))[0]
    assert names[-1] == "x is missing"
    assert X[-1] > 1.0
    np.testing.assert_allclose(X[:2], 0.0, atol=1e-12)


def test_a_copy_of_a_column_is_left_out() -> None:
    x = np.random.default_rng(2).standard_normal(50)
    raw = np.column_stack([x, x + 1.0, x, np.where(x > 0, np.nan, x)])
    assert copies(raw) == {2: 0}
    found = robust(raw, (NUMBER,) * 4)
    assert found is not None
    assert set(found.groups) == {0, 1, 3}


# ------------------------------------------------------------------------------------------------------------- dates


@settings(deadline=None)
@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)))
def test_parts_of_a_date_are_those_of_the_calendar(moment: datetime) -> None:
    moment = moment.replace(microsecond=0)
    raw = np.array([(moment - datetime(1970, 1, 1)).total_seconds() * 1e6, np.nan])
    found = [part_of(raw, part) for part in PARTS[2:]]
    expected = [moment.weekday(), moment.month, moment.timetuple().tm_yday, moment.hour]
    assert [values[0] for values in found] == expected
    assert all(np.isnan(values[1]) for values in found)


@pytest.mark.parametrize(("days", "hours", "parts"), [(5, 24, 1), (40, 24, 2), (100, 24, 3), (700, 24, 4), (700, 1, 5)])
def test_a_calendar_has_the_parts_that_the_dates_can_tell_apart(days: int, hours: int, parts: int) -> None:
    raw = np.arange(0.0, days * 24, hours) * DAY / 24.0
    assert len(parts_for(raw, calendar=True)) == parts
    assert parts_for(raw, calendar=False) == (DAYS,)


# ------------------------------------------------------------------------------------------------------------ levels


def text(levels: int) -> Column:
    return Column("t", Kind.TEXT, tuple(f"l{i:04}" for i in range(levels)), 0.0, False)


def test_rare_levels_are_pooled_and_an_unseen_one_is_rare() -> None:
    one = indicators(0, 4, np.array([50.0, 30.0, 4.0, 2.0, 0.0]))
    assert one is not None
    out = np.empty((6, 3))
    one.write(np.array([0, 1, 2, 3, UNSEEN, np.nan]), None, out)
    np.testing.assert_array_equal(out, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 1]])
    assert one.names(text(4)) == ["t=l0000", "t=l0001", "t is rare"]


def test_without_rare_levels_an_unseen_one_is_the_average_row() -> None:
    found = robust(np.repeat([[0.0], [1.0], [2.0]], 10, axis=0), (text(3),))
    assert found is not None
    np.testing.assert_allclose(found.inputs(np.array([[UNSEEN]])), 0.0, atol=1e-12)


def test_indicators_of_a_column_share_one_scale() -> None:
    raw = np.repeat([0.0, 1.0, 2.0], [900, 90, 10])[:, None]
    found = robust(raw, (text(3),))
    assert found is not None
    p = np.array([0.9, 0.09, 0.01])
    np.testing.assert_allclose(found.scale, np.sqrt(np.sum(p * (1.0 - p))))


def test_two_levels_are_one_input() -> None:
    one = indicators(0, 2, np.array([6.0, 9.0, 0.0]))
    assert isinstance(one, LevelIndicators)
    assert one.width == 1


def test_a_training_row_sees_the_mean_of_the_other_folds_only() -> None:
    rng = np.random.default_rng(3)
    raw, y, key = rng.integers(0, 7, (400, 1)).astype(float), rng.standard_normal(400), keys(400)
    sums = LevelSums(Everything(), TargetScale(0.0, 1.0), {0: 7})(Chunk(raw, y, key, key, 0))
    fold = folds_of(key)
    one = means(0, sums["0"])
    out = np.empty((400, 2))
    one.write(raw[:, 0], fold, out)
    for i in range(0, 400, 37):
        others = (raw[:, 0] == raw[i, 0]) & (fold != fold[i])
        np.testing.assert_allclose(out[i], [y[others].sum() / (others.sum() + PRIOR), np.log1p(others.sum())])
    new, later = np.empty((2, 2)), np.empty((1, 2))
    one.write(np.array([3.0, UNSEEN]), None, new)
    one.write(np.array([3.0]), np.array([EVERY_ROW]), later)
    level = raw[:, 0] == 3.0
    np.testing.assert_allclose(new[0, 0], y[level].sum() / (level.sum() + PRIOR))
    np.testing.assert_array_equal(new[1], 0.0)
    np.testing.assert_array_equal(later, new[:1])


def test_sums_by_level_and_fold_merge_over_any_cutting_of_the_rows() -> None:
    rng = np.random.default_rng(4)
    chunk = Chunk(rng.integers(0, 500, (3000, 1)).astype(float), rng.standard_normal(3000), keys(3000), keys(3000), 0)
    partial = LevelSums(Everything(), TargetScale(0.0, 1.0), {0: 500})
    whole = partial(chunk)["0"]
    assert whole.shape == (2, 502, FOLDS)
    for rows in (1, 700):
        pieces = [[chunk.between(i, i + rows)] for i in range(0, 3000, rows)]
        np.testing.assert_allclose(LocalEngine(2).fold(pieces, partial, "levels")["0"], whole, atol=1e-12)


def test_many_rare_levels_have_a_mean_and_many_frequent_ones_do_not() -> None:
    few_rows = np.repeat(np.arange(300.0), 3)[:, None]
    many_rows = np.repeat(np.arange(30.0), 30)[:, None]
    for raw, levels, wanted in ((few_rows, 300, True), (many_rows, 30, False)):
        found = robust(raw, (text(levels),))
        assert found is not None
        assert any(isinstance(one, LevelMeans) for one in found.expansion.maps) is wanted


# --------------------------------------------------------------------------------------------------------- documents


def mixed() -> tuple[Array, tuple[Column, ...]]:
    rng = np.random.default_rng(5)
    days = rng.integers(0, 900, 600) * DAY
    x = np.where(rng.random(600) < 0.1, np.nan, rng.standard_normal(600))
    raw = np.column_stack([x, rng.integers(0, 4, 600), rng.integers(0, 200, 600), rng.integers(0, 3, 600), days])
    small, many = Column("small", Kind.NUMBER, None, 0.0, False), replace(text(200), name="many")
    columns = (NUMBER, small, many, text(3), Column("d", Kind.DATE, None, 0.0, False))
    return raw, columns


def test_a_map_comes_back_from_its_document_as_it_was() -> None:
    raw, columns = mixed()
    found = robust(raw, columns)
    assert found is not None
    again = InputMap.from_document(found.to_document())
    again.check(columns)
    assert {type(one) for one in again.expansion.maps} == {type(one) for one in found.expansion.maps}
    np.testing.assert_array_equal(again.inputs(raw), found.inputs(raw))
    assert len(set(found.names(columns))) == found.d


@pytest.mark.parametrize("place", range(12))
def test_a_map_of_another_column_is_refused(place: int) -> None:
    raw, columns = mixed()
    found = robust(raw, columns)
    assert found is not None
    maps = found.to_document()["columns"]
    one = InputMap.from_document({**found.to_document(), "columns": [maps[place % len(maps)]]}).expansion.maps[0]
    for k, column in enumerate(columns):
        if k != one.column and (column.levels is None) is not (columns[one.column].levels is None):
            with pytest.raises(ValueError, match=r"."):
                one.check(column)
