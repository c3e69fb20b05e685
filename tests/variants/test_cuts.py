"""Cuts into leaves by trying all of them; leaves that are just small enough; rows of a leaf in any order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Chunk
from enrelm_cli.types import Array
from enrelm_cli.variants._leaves import LARGEST, best_cut, check_leaves, grow, leaf_rows, middle


def squares(parted: Array) -> float:
    return float(np.sum((parted - parted.mean(axis=0)) ** 2)) if len(parted) else 0.0


def literal_middle(x: Array) -> float | None:
    """Of the halves between neighbours, the one with nearest to half of the rows below; of two the lower."""
    values = np.unique(x)
    cuts = [0.5 * (a + b) for a, b in pairwise(values.tolist())]
    return min(cuts, key=lambda cut: (abs(2 * np.count_nonzero(x <= cut) - len(x)), cut)) if cuts else None


def tried(X: Array, parted: Array) -> int:
    """The input whose middle cut lowers the sum of squares most, of those that leave a quarter on each side."""
    gains, shares = [], []
    for x in X.T:
        at = literal_middle(x)
        assert at is not None
        low = x <= at
        gains.append(squares(parted) - squares(parted[low]) - squares(parted[~low]))
        shares.append(min(np.mean(low), np.mean(~low)))
    balanced = [k for k, share in enumerate(shares) if share >= 0.25]
    return max(balanced, key=lambda k: gains[k]) if balanced else int(np.argmax(shares))


@pytest.mark.parametrize("shares", [(0.5, 0.5, 0.5), (0.26, 0.5, 0.4), (0.74, 0.45, 0.1), (0.1, 0.2, 0.85)])
def test_the_best_cut_is_that_of_trying_all(shares: tuple[float, ...]) -> None:
    chosen = set()
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X = (rng.uniform(size=(40, 3)) < shares).astype(float)
        X[0], X[1] = 0.0, 1.0
        parted = 0.1 * (rng.standard_normal((40, 2)) + 0.5 * X[:, :2])
        found = best_cut(X, parted)
        assert found is not None
        assert found == (tried(X, parted), 0.5)
        chosen.add(found[0])
    assert len(chosen) > 1


def column(low: int, rows: int = 40) -> Array:
    return (np.arange(rows) >= low).astype(float)


def test_a_quarter_on_one_side_is_balanced() -> None:
    parted = column(10)[:, None]
    for low, expected in ((10, 0), (9, 1)):
        assert best_cut(np.column_stack([column(low), column(20)[::-1]]), parted) == (expected, 0.5)


def test_a_cut_that_parts_nothing_is_balanced_all_the_same() -> None:
    assert best_cut(np.column_stack([column(3), column(20)]), np.ones((40, 1))) == (1, 0.5)
    # The sum of squares falls by far less than 1.
    assert best_cut(np.column_stack([column(3), column(20)]), 1e-3 * column(3)[:, None]) == (1, 0.5)
    assert best_cut(np.column_stack([np.ones(40), column(20)]), np.ones((40, 1))) == (1, 0.5)


@pytest.mark.parametrize("seed", range(30))
def test_the_middle_is_halfway_between_two_rows(seed: int) -> None:
    x = np.random.default_rng(seed).integers(0, 6, 12).astype(float) ** 2
    assert middle(x) == literal_middle(x)


@pytest.mark.parametrize("x", [1.0, np.nextafter(1.0, 2.0)])
def test_neighbouring_numbers_are_cut_at_the_lower(x: float) -> None:
    X = np.repeat([x, np.nextafter(x, 2.0)], 10)
    assert middle(X) == middle(X[9:11]) == x
    assert middle(np.array([x, x + 4.0])) == x + 2.0
    sample = sample_of(X[:, None])
    leaves = grow(sample, 20, 10, sample.X)
    np.testing.assert_array_equal(np.bincount(leaves.of(sample.X)), [10, 10])


def sample_of(X: Array, **beside: Array) -> Chunk:
    keys = np.unique(X, axis=0, return_inverse=True)[1].reshape(-1).astype(np.uint64)
    return Chunk(X, np.arange(float(len(X))), keys, np.arange(len(X), dtype=np.uint64), 0, **beside)


@pytest.mark.parametrize("T", [32, 96])
def test_leaves_are_cut_until_they_are_just_small_enough(T: int) -> None:
    """32 rows of the sample, each of which stands for T / 32."""
    sample = sample_of(np.arange(32.0)[:, None])
    for leaves in (1, 2, 4, 8):
        assert grow(sample, T, T // leaves, sample.X).count == leaves
        assert grow(sample, T, T // leaves - 1, sample.X).count == 2 * leaves


@pytest.mark.parametrize("T", [40, 120])
def test_a_leaf_of_too_many_rows_with_equal_inputs_is_refused(T: int) -> None:
    """Counted once for each input: equal rows cost nothing; here all are of one leaf, and of as many inputs."""
    sample = sample_of(np.arange(40.0)[:, None])
    one = grow(sample, T, T, sample.X)
    assert one.count == 1
    check_leaves(one, sample, T, T // LARGEST)
    with pytest.raises(DataError, match=f"about {T} rows"):
        check_leaves(one, sample, T, T // LARGEST - 1)
    twins = sample_of(np.arange(40.0)[:, None] // 10)
    check_leaves(grow(twins, T, T, twins.X), twins, T, T // 40)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", [0, 2])
def test_rows_of_a_leaf_are_its_inputs_once_whatever_their_order(weighted: bool, targets: int) -> None:
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, (30, 2)).astype(float)
    y = rng.integers(0, 3, (30, targets) if targets else 30).astype(float)
    w = rng.uniform(0.5, 3.0, 30)
    group = X[:, 0].astype(np.uint64) + np.uint64(1)
    chunk = sample_of(X, group=group, **({"weight": w} if weighted else {}))
    chunk = Chunk(X, y, chunk.twins, chunk.unit, 0, weight=chunk.weight, group=group)
    leaf = leaf_rows([chunk])
    counts = w if weighted else np.ones(30)
    keys = np.unique(chunk.twins)
    np.testing.assert_array_equal(leaf.key, keys)
    for i, key in enumerate(keys):
        own = chunk.twins == key
        np.testing.assert_array_equal(leaf.X[i], X[own][0])
        assert leaf.block is not None
        assert leaf.block[i] == group[own][0]
        assert leaf.weight[i] == pytest.approx(counts[own].sum())
        np.testing.assert_allclose(leaf.y[i], np.average(y[own], axis=0, weights=counts[own]))
    assert leaf.rows == 30
    np.testing.assert_allclose(np.sort(leaf.y[leaf.input] + leaf.apart, axis=0), np.sort(y, axis=0), atol=1e-12)
    order = rng.permutation(30)
    again = leaf_rows([chunk.take(order[:11]), chunk.take(order[11:])])
    for name in ("X", "key", "y", "weight", "apart", "input", "row_weight"):
        np.testing.assert_array_equal(getattr(again, name), getattr(leaf, name))
