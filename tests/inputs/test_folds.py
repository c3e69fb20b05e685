"""Folds: every row validates once, whatever the order of the rows; rows that stay together are in one fold."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.inputs.folds import FoldSplit, fold_count, fold_splits
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.training import Rows, rows_of_arrays
from enrelm_cli.settings import SplitSettings
from tests.problems import problem


def rows_of(T: int) -> Rows:
    X, y = problem(1, T=T)
    return rows_of_arrays(X, y)


@pytest.mark.parametrize("folds", [2, 5, 30, 103])
def test_every_row_validates_once_and_folds_are_of_one_size(folds: int) -> None:
    rows = rows_of(103)
    held = np.array([one.sides(rows.sample) == Side.VALIDATION for one in fold_splits(rows, SplitSettings(), folds)])
    np.testing.assert_array_equal(held.sum(axis=0), 1)
    assert held.sum(axis=1).max() - held.sum(axis=1).min() <= 1


def test_folds_do_not_depend_on_the_order_of_the_rows() -> None:
    X, y = problem(1, T=60)
    order = np.random.default_rng(0).permutation(60)
    ours, other = rows_of_arrays(X, y), rows_of_arrays(X[order], y[order])
    assert fold_splits(ours, SplitSettings(), 5) == fold_splits(other, SplitSettings(), 5)
    assert fold_splits(ours, SplitSettings(), 5) != fold_splits(ours, SplitSettings(seed=1), 5)


def test_rows_of_one_group_are_in_one_fold() -> None:
    rows = rows_of(60)
    group = np.repeat(np.arange(12, dtype=np.uint64), 5)
    rows = replace(rows, sample=replace(rows.sample, group=group))
    for split in fold_splits(rows, SplitSettings(), 4):
        held = split.sides(rows.sample) == Side.VALIDATION
        assert {len(np.unique(held[group == one])) for one in range(12)} == {1}
    assert fold_count(rows, SplitSettings(), single=False) == 5
    with pytest.raises(DataError, match="12 groups"):
        fold_splits(rows, SplitSettings(), 13)


def test_folds_in_time_train_on_what_is_earlier_and_the_first_has_every_row() -> None:
    rows = rows_of(80)
    rows = replace(rows, sample=replace(rows.sample, time=np.arange(80.0)))
    splits = fold_splits(rows, SplitSettings(), 4)
    for split in splits:
        sides = split.sides(rows.sample)
        assert np.all(np.diff(sides.astype(int)) >= 0)
        assert np.count_nonzero(sides == Side.VALIDATION) == 10
    assert set(splits[0].sides(rows.sample)) == {Side.TRAIN, Side.VALIDATION}
    held = [one.sides(rows.sample) == Side.VALIDATION for one in splits]
    np.testing.assert_array_equal(np.sum(held, axis=0), np.repeat([0, 1], 40))


def test_few_rows_have_five_folds_and_many_one_split() -> None:
    auto = SplitSettings()
    assert [fold_count(rows_of(T), auto, single=False) for T in (4, 6, 999, 1000)] == [4, 5, 5, 1]
    small = rows_of(100)
    assert fold_count(small, auto, single=True) == 1
    assert fold_count(small, replace(auto, kind="shuffle"), single=False) == 1
    assert fold_count(small, replace(auto, validation_size=0.3), single=False) == 1
    assert fold_count(small, replace(auto, folds=3), single=True) == 3
    held = replace(small, sample=replace(small.sample, held=np.zeros(100, bool)))
    assert fold_count(held, auto, single=False) == 1
    with pytest.raises(UsageError, match="--validation"):
        fold_splits(held, auto, 3)
    with pytest.raises(UsageError, match="shuffle"):
        fold_splits(small, replace(auto, kind="shuffle"), 3)
    assert fold_count(replace(small, classes=("a", "b")), auto, single=False) == 5


def test_three_different_inputs_make_folds_and_two_do_not() -> None:
    X = np.repeat([[1.0], [2.0], [3.0]], 4, axis=0)
    assert len(fold_splits(rows_of_arrays(X, np.arange(12.0)), SplitSettings(), 2)) == 2
    with pytest.raises(DataError, match="only 2 different inputs"):
        fold_splits(rows_of_arrays(X[:8], np.arange(8.0)), SplitSettings(), 2)


def test_folds_of_a_table_larger_than_its_sample_are_equal_shares_of_all_hashes() -> None:
    rows = replace(rows_of(60), whole=False)
    bounds = [0, 2**64 // 3, 2 * 2**64 // 3, 2**64]
    splits = fold_splits(rows, SplitSettings(), 3)
    assert splits == tuple(FoldSplit(SplitSettings().seed, *pair) for pair in pairwise(bounds))


@pytest.mark.parametrize("seed", range(5))
def test_every_fold_has_rows_however_many_one_group_has(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.permutation([1, 1, 1, 1, 100])
    group = np.repeat(np.arange(5, dtype=np.uint64), counts)
    rows = rows_of(104)
    rows = replace(rows, sample=replace(rows.sample, group=group))
    held = [one.sides(rows.sample) == Side.VALIDATION for one in fold_splits(rows, SplitSettings(), 4)]
    assert all(one.any() for one in held)
    np.testing.assert_array_equal(np.sum(held, axis=0), 1)
