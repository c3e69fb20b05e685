"""Which rows train, which choose (validation) and which only judge (test).

`hash`: a row's side follows from a seeded hash of its unit, which is its inputs. It does not depend on the order of
the rows or on how a file is cut, rows with equal inputs fall on one side (no leak through twins), and a stream or a
cluster needs no permutation. Where nearly every row repeats the inputs of another, a row is its own unit: no level may
be held out that every other row has to know. A stream cannot number the copies of a row that are equal in inputs and
target: there, they are one unit. Without such copies it is split as in memory.

`--group`: the same by a hash of the group in place of the inputs.

`--time`: the latest rows are held out; rows of one time stay on one side.

`--validation`, `--test`: the rows of the user's own files are held out.

`shuffle`: the paper's permutation, numpy.random.RandomState(seed).permutation(T), whose first ceil(T/4) rows are held
out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.fold.hashing import combine, hash_numbers, rehash
from enrelm_cli.types import Array, Keys

_SPAN = 2**64
# Different salts make the choice of test rows and of validation rows independent of each other.
_TEST_SALT = 0x7E57
# So many distinct inputs leave every side its share without looking.
_MANY_KEYS = 2000
# Different keys that train, at least: two different rows; one group has more.
_LEAST_UNITS, _LEAST_GROUPS = 2, 1
# Where a fresh row has new inputs with no more than this probability, rows are split one by one.
_NEW = 0.1
# A table is no more than so many copies of one: rows that are equal more often have few inputs.
_MOST_COPIES = 4
_FEW_DIFFERENT = 20  # rows


class Side(IntEnum):
    TRAIN = 0
    VALIDATION = 1
    TEST = 2
    UNUSED = 3  # later than the test rows of a cut in time


Sides = NDArray[np.uint8]


class Split(Protocol):
    """Tells the side of every row of a chunk."""

    def sides(self, chunk: Chunk) -> Sides: ...


@dataclass(frozen=True)
class Everything:
    """Every row trains."""

    def sides(self, chunk: Chunk) -> Sides:
        return np.zeros(chunk.rows, np.uint8)


@dataclass(frozen=True)
class HashSplit:
    """Rows whose seeded hash lies below a bound are held out."""

    seed: int
    validation_below: int  # of 2^64
    test_below: int = 0  # of 2^64

    def sides(self, chunk: Chunk) -> Sides:
        return self.sides_of(chunk.together)

    def sides_of(self, key: Keys) -> Sides:
        sides = np.where(_below(rehash(key, self.seed), self.validation_below), Side.VALIDATION, Side.TRAIN)
        if self.test_below:
            sides = np.where(_below(rehash(key, self.seed ^ _TEST_SALT), self.test_below), Side.TEST, sides)
        return sides.astype(np.uint8)


@dataclass(frozen=True)
class RowSplit:
    """Sides listed row by row: the paper's permutation. Only for tables held in memory, whose rows have numbers."""

    listed: Sides  # (T,)

    def sides(self, chunk: Chunk) -> Sides:
        return self.listed[chunk.numbers()]


@dataclass(frozen=True)
class TimeSplit:
    """Rows train, validate and test one after the other; those from `end` on are not used."""

    validation: float  # the first time that validates
    test: float = np.inf
    end: float = np.inf

    def sides(self, chunk: Chunk) -> Sides:
        assert chunk.time is not None
        return np.searchsorted([self.validation, self.test, self.end], chunk.time, side="right").astype(np.uint8)


@dataclass(frozen=True)
class HeldSplit:
    """The rows of the user's own files are on one side; another split parts the others."""

    side: Side
    others: Split

    def sides(self, chunk: Chunk) -> Sides:
        assert chunk.held is not None
        return np.where(chunk.held, self.side, self.others.sides(chunk)).astype(np.uint8)


@dataclass(frozen=True)
class TrainOnValidation:
    """The same split with its test rows left out and its validation rows training: the refit inside a comparison."""

    split: Split

    def sides(self, chunk: Chunk) -> Sides:
        sides = self.split.sides(chunk)
        return np.where(sides == Side.VALIDATION, Side.TRAIN, sides).astype(np.uint8)


@dataclass(frozen=True)
class CountSides:
    """Partial: how many rows each side has, and their weights."""

    split: Split

    def __call__(self, chunk: Chunk) -> Sums:
        sides, most = self.split.sides(chunk), len(Side)
        return Sums({"sides": np.bincount(sides, minlength=most), "weights": np.bincount(sides, chunk.weight, most)})


def paper_split(rows: int, seed: int, validation_size: float, test_size: float = 0.0) -> RowSplit:
    """The first ceil(size * T) rows of the permutation are held out, the rest train, as in the paper."""
    order = np.random.RandomState(seed).permutation(rows)
    test = int(np.ceil(rows * test_size))
    validation = int(np.ceil((rows - test) * validation_size))
    if rows - test - validation < 2 or validation < 1:
        raise _too_few(rows)
    listed = np.zeros(rows, np.uint8)
    listed[order[:test]] = Side.TEST
    listed[order[test : test + validation]] = Side.VALIDATION
    return RowSplit(listed)


@dataclass(frozen=True)
class Cut:
    """One of several cuts in time: what comes before it trains, the next rows test."""

    number: int  # from 0 on
    cuts: int
    test_size: float

    @property
    def window(self) -> tuple[float, float]:
        """Where the test rows begin and end, as shares of all rows in the order of time.

        The windows follow each other up to the last row. Each has the share of rows that tests; less where that would
        leave the first cut less than half of all rows to train on.
        """
        share = min(self.test_size, 0.5 / self.cuts)
        later = self.cuts - self.number
        return 1.0 - later * share, 1.0 - (later - 1) * share


def time_split(time: Array, validation_size: float, cut: Cut | None = None) -> TimeSplit:
    """The latest rows validate; those of a cut's window test, and the latest before it validate. `time` (s,) of the
    even sample: every row of a table up to its size.
    """
    test = end = np.inf
    if cut is not None:
        begin, stop = cut.window
        test = moment(time, begin)
        end = np.inf if cut.number == cut.cuts - 1 else moment(time, stop)
        if not test < end:
            raise DataError(
                f"{len(np.unique(time)):,} different times are too few for {cut.cuts} cuts", "ask for fewer: --repeats"
            )
    return TimeSplit(moment(time[time < test], 1.0 - validation_size), test, end)


def moment(time: Array, before: float) -> float:
    """The time with the share of rows before it that is nearest to the one wanted; both parts have rows."""
    distinct, counts = np.unique(time, return_counts=True)
    if len(distinct) < 3 or len(time) < 4:
        raise DataError(
            f"{len(time):,} rows with {len(distinct)} different times are too few to split by time",
            "name another column with --time, or leave it out",
        )
    earlier = np.cumsum(counts)[:-1]
    return float(distinct[1 + int(np.argmin(np.abs(earlier - before * len(time))))])


def hash_split(
    key: Keys, whole: bool, seed: int, validation_size: float, test_size: float = 0.0, groups: bool = False
) -> HashSplit:
    """A split of the rows with these keys; `whole`: they are all the rows, so the bounds can be exact.

    For a table larger than the sample the bound is the fraction itself, which its count of rows then meets to within
    a small fraction of a percent; unless its rows repeat so few inputs that a side might stay empty.
    """
    if not whole and len(np.unique(key)) >= _MANY_KEYS:
        return HashSplit(seed, int(validation_size * _SPAN), int(test_size * _SPAN))
    if not 0.0 < validation_size < 1.0 or not 0.0 <= test_size < 1.0:
        raise UsageError("--validation-size must lie between 0 and 1", "the default is --validation-size 0.25")
    least = _LEAST_GROUPS if groups else _LEAST_UNITS
    # Whoever tests leaves enough for validation rows, too.
    test_below = _bound(rehash(key, seed ^ _TEST_SALT), test_size, least + groups, groups) if test_size else 0
    if test_below:
        key = key[~_below(rehash(key, seed ^ _TEST_SALT), test_below)]
    return HashSplit(seed, _bound(rehash(key, seed), validation_size, least, groups), test_below)


def mostly_repeats(key: Keys, rows: int, target: Keys | None = None) -> bool:
    """A fresh row most likely repeats inputs that are known: it is judged by rows that do, not by inputs held out.

    Good and Turing: the chance of a new input is the share of inputs seen once. `key` (s,) of the even sample, which
    has every input of a table with fewer inputs than it has rows. `target` (s,): a file that was read twice repeats
    its rows, which says nothing of fresh ones.
    """
    if target is not None and len(key) == rows:
        key = _without_copies(key, target)
        rows = len(key)
    _, counts = np.unique(key, return_counts=True)
    if len(key) == rows:
        return int(np.count_nonzero(counts == 1)) <= _NEW * rows
    return len(counts) < len(key) and len(counts) <= _NEW * rows


def _without_copies(key: Keys, target: Keys) -> Keys:
    """Of rows that are equal in inputs and target, the first, unless there is another reason for it: a few inputs that
    say the target have many rows each, and few inputs or targets are equal by chance, but then not all equally often.
    """
    _, first, copies = np.unique(combine([key, target]), return_index=True, return_counts=True)
    few = len(first) < _FEW_DIFFERENT or 2 * len(np.unique(target)) <= len(first)
    by_chance = few and math.gcd(*np.unique(copies).tolist()) == 1
    return key if by_chance or len(key) > _MOST_COPIES * len(first) else key[first]


def single_rows(twins: Keys, target: Keys, weight: Keys | None = None) -> Keys:
    """A unit for each row: the hash of its inputs, of its target, and of how many rows like it come before it.

    Rows that are alike in everything may change places: which of them has which key makes no difference.
    """
    whole = combine([twins, target])
    order = np.argsort(whole, kind="stable") if weight is None else np.lexsort((weight, whole))
    ascending = whole[order]
    begins = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    copy = np.arange(len(whole)) - np.repeat(begins, np.diff(np.append(begins, len(whole))))
    numbered = np.empty(len(whole))
    numbered[order] = copy
    return combine([whole, hash_numbers(numbered)])


def whole_rows(twins: Keys, target: Keys) -> Keys:
    """The same where rows are not counted: every copy of a row is in the unit of the first."""
    return combine([combine([twins, target]), hash_numbers(np.zeros(len(twins)))])


def _below(hashed: Keys, bound: int) -> NDArray[np.bool_]:
    # A bound of 2^64 itself does not fit the type that it bounds.
    return np.ones(len(hashed), bool) if bound >= _SPAN else hashed < np.uint64(bound)


def _bound(hashed: Keys, size: float, least: int, groups: bool) -> int:
    """The bound that holds out nearest to ceil(size * rows) rows and leaves the others so many keys at least."""
    distinct, counts = np.unique(hashed, return_counts=True)
    if len(distinct) <= least or len(hashed) < 4:
        raise _too_few_groups(len(distinct), least + 1) if groups else _too_few(len(hashed), len(distinct))
    held_out = np.cumsum(counts)[:-least]
    wanted = int(np.ceil(size * len(hashed)))
    return int(distinct[1 + int(np.argmin(np.abs(held_out - wanted)))])


def _too_few_groups(found: int, wanted: int) -> DataError:
    groups = "1 group is" if found == 1 else f"{found} groups are"
    return DataError(
        f"{groups} too few: whole groups are held out (--group), so {wanted} are needed at least",
        "name a column with more different values, or leave --group out",
    )


def _too_few(rows: int, distinct: int | None = None) -> DataError:
    if distinct == 1 and rows >= 4:
        return DataError(
            f"all {rows} rows have the same inputs: they cannot be split into training and validation rows",
            "add a column that varies, or check --drop and --inputs",
        )
    if distinct is not None and rows >= 4:
        return DataError(
            f"the inputs of the {rows} rows take only {distinct} different values: rows with equal inputs stay on one "
            "side, so no two different ones are left to train on",
            "--split shuffle separates them, or add a column that varies",
        )
    return DataError(
        f"{rows} usable rows are too few to split into training and validation rows",
        "give at least 4 rows with a target",
    )
