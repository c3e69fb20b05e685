"""Row keys: by content, the same everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enrelm_cli.fold.hashing import SAMPLE_SALT, combine, first_rows, hash_numbers, hash_texts, rehash


def test_the_hashes_never_change_between_versions_and_platforms() -> None:
    # Golden values: a model's split and landmarks depend on them.
    assert hash_numbers(np.array([0.0, 1.0, -1.0])).tolist() == [
        16294208416658607535,
        9860564707913756141,
        12238684544974067098,
    ]
    assert hash_texts(["a", "Zürich", None]).tolist() == [3405396810240292928, 636548684707296368, 7883959562216040225]
    keys = combine([hash_numbers(np.array([1.0, 2.0])), hash_texts(["a", "b"])])
    assert keys.tolist() == [17739464928780654396, 17593856456035342131]
    assert rehash(keys, 1234).tolist() == [12491910817162001587, 17217538534029467939]


def test_minus_zero_equals_zero_and_all_missing_cells_are_equal() -> None:
    other_nan = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    keys = hash_numbers(np.array([0.0, -0.0, np.nan, other_nan, -np.nan]))
    assert keys[0] == keys[1]
    assert len({*keys[2:].tolist(), *hash_texts([None]).tolist()}) == 1


def test_hashing_leaves_its_arguments_alone() -> None:
    values = np.array([1.0, -0.0, np.nan])
    keys = hash_numbers(values)
    before = keys.copy()
    combine([keys, keys])
    rehash(keys, 3)
    assert np.signbit(values[1])
    np.testing.assert_array_equal(keys, before)


def test_the_order_of_columns_counts_and_no_columns_give_one_key() -> None:
    a, b = hash_numbers(np.array([1.0])), hash_numbers(np.array([2.0]))
    assert combine([a, b]) != combine([b, a])
    assert len(set(combine([], rows=3).tolist())) == 1
    with pytest.raises(ValueError, match="no columns"):
        combine([])


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=50, unique=True))
def test_different_numbers_have_different_hashes(values: list[float]) -> None:
    distinct = {value + 0.0 for value in values}
    assert len(set(hash_numbers(np.array(values)).tolist())) == len(distinct)


def test_hashes_of_a_regular_grid_are_even_and_salts_are_independent() -> None:
    keys = combine([hash_numbers(np.arange(100_000.0)), hash_numbers(np.zeros(100_000))])
    first, second = rehash(keys, 0), rehash(keys, 1)
    low = first < np.uint64(1 << 62)
    # A quarter each, to within five standard deviations of a fair draw.
    assert abs(low.mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 100_000)
    assert abs((second[low] < np.uint64(1 << 62)).mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 25_000)
    for bit in range(64):
        share = ((first >> np.uint64(bit)) & np.uint64(1)).mean()
        assert abs(share - 0.5) < 6 * 0.5 / np.sqrt(100_000)


def test_first_rows_take_every_input_once_before_any_twice() -> None:
    keys = np.repeat(hash_numbers(np.arange(5.0)), [100, 1, 50, 3, 1])
    targets = hash_numbers(np.arange(len(keys), dtype=float))
    chosen = keys[first_rows(keys, targets, 8)]
    assert len(set(chosen[:5].tolist())) == 5
    assert len(set(chosen[5:].tolist())) == 3


@pytest.mark.parametrize("copies", [1, 2, 7, 400])
def test_first_rows_of_many_are_those_of_a_full_sort(copies: int) -> None:
    rng = np.random.default_rng(1)
    keys = hash_numbers(rng.permutation(np.repeat(np.arange(4000.0 // copies), copies)))
    targets = hash_numbers(rng.standard_normal(len(keys)))
    order = rehash(keys, SAMPLE_SALT)
    seen: dict[int, int] = {}
    ranked = []
    for place in np.lexsort((targets, order)).tolist():
        key = int(keys[place])
        seen[key] = seen.get(key, -1) + 1
        ranked.append((seen[key], int(order[place]), place))
    expected = [place for _, _, place in sorted(ranked)]
    assert first_rows(keys, targets, 300).tolist() == expected[:300]


def test_first_rows_do_not_depend_on_how_rows_are_cut_or_ordered() -> None:
    rng = np.random.default_rng(0)
    keys = hash_numbers(rng.integers(0, 40, 500).astype(float))
    targets = hash_numbers(rng.integers(0, 9, 500).astype(float))
    whole = first_rows(keys, targets, 120)
    expected = list(zip(keys[whole].tolist(), targets[whole].tolist(), strict=True))
    order = rng.permutation(500)
    kept: list[int] = []
    for part in np.array_split(order, 7):
        places = np.concatenate([np.array(kept, dtype=np.int64), part])
        kept = places[first_rows(keys[places], targets[places], 120)].tolist()
    assert list(zip(keys[kept].tolist(), targets[kept].tolist(), strict=True)) == expected
