"""Which rows train."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.folds import Chunk
from enrelm_cli.fold.hashing import hash_numbers
from enrelm_cli.inputs.split import (
    Cut,
    HashSplit,
    HeldSplit,
    Side,
    TrainOnValidation,
    _without_copies,
    hash_split,
    mostly_repeats,
    paper_split,
    single_rows,
    time_split,
    whole_rows,
)
from enrelm_cli.types import Keys
from tests import paper


def keys(rows: int, seed: int = 0) -> Keys:
    return hash_numbers(np.random.default_rng(seed).standard_normal(rows))


def chunk(key: Keys, row: int = 0) -> Chunk:
    return Chunk(np.zeros((len(key), 1)), np.zeros(len(key)), key, key, row)


@pytest.mark.parametrize("rows", [97, 330, 1001])
def test_the_shuffle_is_the_papers_permutation(rows: int) -> None:
    train, held_out = paper.paper_split(rows)
    sides = paper_split(rows, 1234, 0.25).sides(chunk(keys(rows)))
    assert set(np.flatnonzero(sides == Side.TRAIN)) == set(train)
    assert set(np.flatnonzero(sides == Side.VALIDATION)) == set(held_out)


@pytest.mark.parametrize("rows", [8, 97, 1000])
def test_a_hash_split_of_distinct_rows_has_exactly_the_size_asked_for(rows: int) -> None:
    key = keys(rows)
    sides = hash_split(key, True, 1234, 0.25).sides_of(key)
    assert np.count_nonzero(sides == Side.VALIDATION) == int(np.ceil(rows / 4))


def test_a_hash_split_of_a_larger_table_is_near_the_size_asked_for() -> None:
    key = keys(200_000)
    sides = hash_split(key[:5000], False, 7, 0.25, 0.1).sides_of(key)
    assert abs(np.mean(sides == Side.TEST) - 0.1) < 0.004
    assert abs(np.mean(sides[sides != Side.TEST] == Side.VALIDATION) - 0.25) < 0.005


def test_the_side_of_a_row_depends_on_its_inputs_and_the_seed_only() -> None:
    key = keys(500)
    split = hash_split(key, True, 1, 0.25, 0.2)
    order = np.random.default_rng(1).permutation(500)
    again = hash_split(key[order], True, 1, 0.25, 0.2)
    np.testing.assert_array_equal(split.sides_of(key)[order], again.sides_of(key[order]))
    other = hash_split(key, True, 2, 0.25, 0.2)
    assert (other.sides_of(key) != split.sides_of(key)).any()


def test_twins_fall_on_one_side() -> None:
    key = np.repeat(keys(40), 5)
    sides = hash_split(key, True, 3, 0.25).sides_of(key).reshape(40, 5)
    assert (sides == sides[:, :1]).all()


@pytest.mark.parametrize("seed", range(6))
def test_three_distinct_rows_leave_two_of_them_to_train_on(seed: int) -> None:
    key = np.repeat(keys(3), [9, 1, 1])
    sides = hash_split(key, True, seed, 0.25).sides_of(key)
    assert len(np.unique(key[sides == Side.TRAIN])) == 2
    assert len(np.unique(key[sides == Side.VALIDATION])) == 1


def test_two_distinct_rows_cannot_be_split_by_hash_and_the_hint_names_the_other_split() -> None:
    with pytest.raises(DataError, match="only 2 different values") as caught:
        hash_split(np.repeat(keys(2), [9, 1]), True, 5, 0.25)
    assert "--split shuffle" in str(caught.value.hint)


def test_equal_rows_cannot_be_split() -> None:
    with pytest.raises(DataError, match="same inputs"):
        hash_split(np.repeat(keys(1), 10), True, 1, 0.25)


def test_too_few_rows_cannot_be_split() -> None:
    with pytest.raises(DataError, match="3 usable rows are too few"):
        hash_split(keys(3), True, 1, 0.25)
    with pytest.raises(DataError, match="too few"):
        paper_split(2, 1234, 0.25)


def test_the_refit_inside_a_comparison_trains_on_validation_rows_and_never_on_test_rows() -> None:
    key = keys(300)
    split = hash_split(key, True, 1, 0.25, 0.25)
    before, after = split.sides(chunk(key)), TrainOnValidation(split).sides(chunk(key))
    np.testing.assert_array_equal(after == Side.TEST, before == Side.TEST)
    assert set(after.tolist()) == {Side.TRAIN, Side.TEST}


def test_a_size_outside_zero_and_one_is_refused() -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        hash_split(keys(20), True, 1, 1.5)


@pytest.mark.parametrize(
    ("distinct", "rows", "repeats"), [(5, 400, True), (12, 60, True), (2, 8, True), (350, 400, False)]
)
def test_inputs_that_mostly_repeat_are_told_from_those_that_do_not(distinct: int, rows: int, repeats: bool) -> None:
    place = np.arange(rows) % distinct
    assert mostly_repeats(keys(distinct)[place], rows) is repeats


@pytest.mark.parametrize("classes", [0, 2])
@pytest.mark.parametrize("times", [2, 3])
def test_a_table_that_was_read_twice_does_not_repeat_inputs(classes: int, times: int) -> None:
    y = np.random.default_rng(0).integers(0, classes or 10**9, 200).astype(float)
    key, target = np.tile(keys(200), times), hash_numbers(np.tile(y, times))
    assert mostly_repeats(key, len(key))
    assert not mostly_repeats(key, len(key), target)


def test_rows_that_are_equal_because_inputs_are_few_do_repeat() -> None:
    rng = np.random.default_rng(0)
    for distinct in (5, 40):
        place = rng.integers(0, distinct, 400)
        for y in (rng.integers(0, 2, 400), rng.normal(size=400), place):  # by chance, never, always
            assert mostly_repeats(keys(distinct)[place], 400, hash_numbers(y.astype(float)))


def test_ten_rows_of_three_inputs_that_say_the_target_do_repeat() -> None:
    place = np.repeat([0, 1, 2], [3, 4, 3])
    assert mostly_repeats(keys(3)[place], 10, hash_numbers(place.astype(float)))


def test_rows_of_one_input_get_a_key_each_whatever_their_order() -> None:
    rng = np.random.default_rng(0)
    key, y = keys(3)[rng.integers(0, 3, 200)], hash_numbers(rng.integers(0, 2, 200))
    found = single_rows(key, y)
    assert len(np.unique(found)) == 200
    order = rng.permutation(200)
    np.testing.assert_array_equal(np.sort(single_rows(key[order], y[order])), np.sort(found))


def test_rows_are_units_in_a_stream_as_in_memory_but_for_copies() -> None:
    key, y = keys(3)[np.arange(30) % 3], hash_numbers(np.arange(30.0))
    np.testing.assert_array_equal(whole_rows(key, y), single_rows(key, y))
    y[:] = y[0]
    assert len(np.unique(whole_rows(key, y))) == 3


@pytest.mark.parametrize(("rows", "test", "validation"), [(100, 20, 20), (101, 21, 20), (7, 2, 2)])
def test_the_shuffle_holds_out_test_rows_first_and_validation_rows_of_the_rest(
    rows: int, test: int, validation: int
) -> None:
    sides = paper_split(rows, 1, 0.25, 0.2).sides(chunk(keys(rows)))
    order = np.random.RandomState(1).permutation(rows)
    np.testing.assert_array_equal(
        sides[order], [Side.TEST] * test + [Side.VALIDATION] * validation + [Side.TRAIN] * (rows - test - validation)
    )


def test_a_shuffle_that_leaves_two_training_rows_is_the_smallest() -> None:
    assert np.count_nonzero(paper_split(3, 1, 0.25).listed == Side.TRAIN) == 2
    with pytest.raises(DataError, match="too few"):
        paper_split(3, 1, 0.5)


@pytest.mark.parametrize(("validation", "test"), [(0.25, 0.5), (0.5, 0.1)])
def test_a_hash_split_holds_out_exactly_the_test_rows_and_then_the_share_of_the_rest(
    validation: float, test: float
) -> None:
    key = keys(200)
    sides = hash_split(key, True, 5, validation, test).sides_of(key)
    assert np.count_nonzero(sides == Side.TEST) == int(np.ceil(200 * test))
    assert np.count_nonzero(sides == Side.VALIDATION) == int(np.ceil((200 - np.ceil(200 * test)) * validation))


def test_a_large_table_of_few_distinct_inputs_is_split_exactly() -> None:
    key = np.repeat(keys(1999), 5)
    for whole in (True, False):
        assert hash_split(key, whole, 1, 0.25) == hash_split(key, True, 1, 0.25)
    many = keys(2000)
    assert hash_split(many, False, 1, 0.25).validation_below == 2**62
    assert hash_split(many, False, 1, 0.25, 0.5).test_below == 2**63


def test_four_rows_can_be_split_by_hash() -> None:
    key = keys(4)
    assert np.count_nonzero(hash_split(key, True, 1, 0.25).sides_of(key) == Side.TRAIN) == 3


@pytest.mark.parametrize("size", [0.0, 1.0])
def test_a_split_of_nothing_or_everything_is_refused(size: float) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        hash_split(keys(20), True, 1, size)


def test_a_table_that_is_its_own_sample_is_split_exactly_however_many_inputs_it_has() -> None:
    key = keys(3001)
    sides = hash_split(key, True, 1, 0.25).sides_of(key)
    assert np.count_nonzero(sides == Side.VALIDATION) == 751


def test_a_bound_above_every_hash_holds_out_all_rows() -> None:
    assert set(HashSplit(1, 2**64).sides_of(keys(50)).tolist()) == {Side.VALIDATION}


def test_four_rows_that_cannot_be_split_are_told_why() -> None:
    with pytest.raises(DataError, match="all 4 rows have the same inputs"):
        hash_split(np.repeat(keys(1), 4), True, 1, 0.25)
    with pytest.raises(DataError, match="the inputs of the 4 rows take only 2 different values"):
        hash_split(np.repeat(keys(2), 2), True, 1, 0.25)


def repeated(*counts: int) -> Keys:
    """So many rows of each of several inputs."""
    return np.repeat(np.arange(len(counts), dtype=np.uint64), counts)


@pytest.mark.parametrize(
    ("key", "rows", "repeats"),
    [
        (repeated(1, 9), 10, True),  # one of ten is new: exactly the share
        (repeated(1, 1, 8), 10, False),
        (repeated(2, 2, 2, 2, 2), 10, True),
        (repeated(*[1] * 10), 10, False),
        (repeated(*[2] * 10), 200, True),  # a sample: ten inputs, which are no more than a tenth of the rows
        (repeated(*[2] * 10), 100, True),
        (repeated(*[2] * 10), 99, False),
        (repeated(*[1] * 10), 1000, False),  # nothing repeats in the sample
        (repeated(*[2] * 5, *[1] * 5), 1000, True),
    ],
)
def test_rows_mostly_repeat_where_a_fresh_one_is_new_with_a_tenth_at_most(key: Keys, rows: int, repeats: bool) -> None:
    assert mostly_repeats(key, rows) is repeats


def test_the_key_of_a_row_does_not_depend_on_rows_that_are_unlike_it() -> None:
    key, y = repeated(3, 1, 2), hash_numbers(np.array([1.0, 1.0, 2.0, 1.0, 5.0, 5.0]))
    alone, order = single_rows(key, y), np.array([5, 2, 0, 4])
    assert len(set(alone.tolist())) == len(y)
    among = single_rows(key[order], y[order])
    assert {*among.tolist()} == {alone[0], alone[2], alone[4], alone[5]}


def test_what_is_left_of_a_permutation_must_be_enough_to_train_on() -> None:
    assert np.bincount(paper_split(8, 1, 0.25, 0.25).listed).tolist() == [4, 2, 2]
    with pytest.raises(DataError, match="too few"):
        paper_split(4, 1, 0.25, 0.5)


def test_without_test_rows_nothing_is_below_their_bound_and_all_rows_cannot_be_test_rows() -> None:
    key = np.random.default_rng(0).integers(0, 2**63, 50).astype(np.uint64)
    assert hash_split(key, True, 1, 0.25).test_below == 0
    for size in (1.0, 1.5, -0.1):
        with pytest.raises(UsageError):
            hash_split(key, True, 1, 0.25, size)


def test_cuts_in_time_follow_each_other_and_validate_on_the_latest_rows_before_them() -> None:
    time = np.arange(100.0)
    whole = time_split(time, 0.25)
    assert (whole.validation, whole.test, whole.end) == (75.0, np.inf, np.inf)
    first, last = (time_split(time, 0.25, Cut(number, 2, 0.1)) for number in (0, 1))
    # A quarter of the rows before the window validates.
    assert (first.validation, first.test, first.end) == (60.0, 80.0, 90.0)
    assert (last.validation, last.test, last.end) == (67.0, 90.0, np.inf)


def test_too_few_times_are_refused() -> None:
    assert time_split(np.array([0.0, 1.0, 2.0, 2.0]), 0.5).validation == 2.0
    for few in ([0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 1.0]):
        with pytest.raises(DataError, match="too few to split by time"):
            time_split(np.array(few), 0.25)
    with pytest.raises(DataError, match="4 different times are too few for 4 cuts"):
        time_split(np.array([0.0, 1.0, 2.0, 3.0]), 0.25, Cut(1, 4, 0.1))


def test_three_groups_train_validate_and_test() -> None:
    """However many rows are to test, two groups are left for the other sides."""
    key = np.repeat(hash_numbers(np.arange(3.0)), 5)
    split = hash_split(key, True, 0, 0.25, 0.9, groups=True)
    assert {*split.sides_of(key).tolist()} == {Side.TRAIN, Side.VALIDATION, Side.TEST}


@pytest.mark.parametrize(("different", "kept"), [(19, 20), (20, 20)])
def test_one_copy_among_few_rows_is_chance_and_among_twenty_it_is_a_copy(different: int, kept: int) -> None:
    key = hash_numbers(np.append(np.arange(float(different)), 0.0))
    assert len(_without_copies(key, key)) == kept


@pytest.mark.parametrize(("groups", "test_size", "said"), [(1, 0.0, "1 group is"), (2, 0.25, "2 groups are")])
def test_too_few_groups_are_counted(groups: int, test_size: float, said: str) -> None:
    key = np.repeat(hash_numbers(np.arange(float(groups))), 5)
    with pytest.raises(DataError, match=said):
        hash_split(key, True, 0, 0.25, test_size, groups=True)


@pytest.mark.parametrize(("targets", "kept"), [(20, 41), (21, 40)])
def test_one_copy_is_chance_where_targets_are_half_as_many_as_rows(targets: int, kept: int) -> None:
    place = np.append(np.arange(40.0), 0.0)
    assert len(_without_copies(hash_numbers(place), hash_numbers(place % targets))) == kept


@pytest.mark.parametrize(("times", "kept"), [(4, 20), (5, 100)])
def test_up_to_four_copies_are_of_a_file_that_was_read_again(times: int, kept: int) -> None:
    key = hash_numbers(np.tile(np.arange(20.0), times))
    assert len(_without_copies(key, key)) == kept


def test_which_of_two_equal_rows_has_which_key_depends_on_their_weights_and_not_on_their_order() -> None:
    same, weight = hash_numbers(np.zeros(2)), hash_numbers(np.array([1.0, 2.0]))
    ours, other = single_rows(same, same, weight), single_rows(same, same, weight[::-1].copy())
    assert ours[0] != ours[1]
    np.testing.assert_array_equal(ours, other[::-1])


@pytest.mark.parametrize("side", [Side.VALIDATION, Side.TEST])
def test_rows_of_the_users_own_files_are_on_their_side_and_the_others_are_split(side: Side) -> None:
    held = np.arange(200) % 7 == 0
    rows = replace(chunk(keys(200)), held=held)
    others = HashSplit(3, 2**62)
    sides = HeldSplit(side, others).sides(rows)
    assert set(sides[held]) == {side}
    np.testing.assert_array_equal(sides[~held], others.sides(rows)[~held])
    assert set(sides[~held]) == {Side.TRAIN, Side.VALIDATION}
