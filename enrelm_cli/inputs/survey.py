"""One pass over a table: counts, levels, ranges, a hash of its content, and an even sample of its rows.

The sample is the rows with the smallest hash of their content. It is the same for any order of the rows, any cutting
into batches and any file format, and the samples of two tables merge into the sample of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from enrelm_cli.fold.folds import Engine
from enrelm_cli.fold.hashing import SAMPLE_ROWS, SAMPLE_SALT, combine, first_rows, hash_numbers, hash_texts, rehash
from enrelm_cli.table.cells import number_text
from enrelm_cli.table.table import Batch, Kind, Roles, Table, numbers
from enrelm_cli.types import Keys

_DIGEST_SALTS = (SAMPLE_SALT + 1, SAMPLE_SALT + 2)
# Beyond this many a column's levels are no longer collected: its texts are no categories.
MOST_LEVELS = 100_000

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class InputColumn:
    """How a column is to be looked at: as a number or as a category."""

    name: str
    kind: Kind
    categorical: bool  # the user said so; texts are categories anyway

    @property
    def has_levels(self) -> bool:
        return self.categorical or self.kind is Kind.TEXT


# ------------------------------------------------------------------------------------------------ levels and keys


def coded(array: Any, kind: Kind) -> tuple[Codes, list[str | None]]:
    """A column of categories as (codes (t,), -1 where missing; the level of each code).

    `kind` is what the column was at fit: the levels of numbers are written one way only, '70', not '70.0' or '7e1'.
    """
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    codes: Codes = array.indices.fill_null(-1).to_numpy().astype(np.int64)
    levels = [level_of(value, kind) for value in array.dictionary.to_pylist()]
    missing = np.array([level is None for level in levels] + [True])
    return np.where(missing[codes], -1, codes), levels


def level_of(value: Any, kind: Kind) -> str | None:
    """The level that a cell means, for a column that was of this kind at fit; None where it is missing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return None if np.isnan(value) else number_text(value)
    text = str(value)
    if kind is Kind.NUMBER:
        return _canonical_number(text)
    if kind is Kind.BOOLEAN:
        return {"1": "true", "0": "false"}.get(text.strip(), text.strip().lower())
    return text


def _canonical_number(text: str) -> str | None:
    for candidate in (text, text.replace(",", ".")):
        if "_" in candidate:
            break
        try:
            value = float(candidate)
        except ValueError:
            continue
        return None if np.isnan(value) else number_text(value)
    return text


def hash_codes(codes: Codes, levels: Sequence[str | None]) -> Keys:
    """(t,) the hash of each row's level."""
    return hash_texts([*levels, None])[codes]


def row_keys(columns: Sequence[Keys], rows: int) -> Keys:
    """(t,) the key of each row from the hashes of its inputs, which are sorted by name."""
    return combine(columns, rows)


# ------------------------------------------------------------------------------------------------ what is learnt


@dataclass(frozen=True)
class ColumnFacts:
    """What one pass learnt about a column, from the rows that have a target."""

    missing: int = 0
    infinite: int = 0
    lowest: float = np.inf
    highest: float = -np.inf
    levels: Mapping[str, int] | None = None  # with their counts; None where the column has none, or too many
    too_many: bool = False

    def merge(self, other: ColumnFacts, most: int) -> ColumnFacts:
        levels, too_many = _joined_levels(self, other, most)
        return ColumnFacts(
            self.missing + other.missing,
            self.infinite + other.infinite,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
            levels,
            too_many,
        )


def _joined_levels(first: ColumnFacts, second: ColumnFacts, most: int) -> tuple[Mapping[str, int] | None, bool]:
    if first.too_many or second.too_many:
        return None, True
    if first.levels is None or second.levels is None:
        return None, False
    joined = dict(first.levels)
    for level, count in second.levels.items():
        joined[level] = joined.get(level, 0) + count
    return (None, True) if len(joined) > most else (joined, False)


@dataclass(frozen=True)
class Sample:
    """Rows among which are the first ones in the order of `hashing.first_rows`; sorted once there are too many."""

    columns: Any  # pa.RecordBatch: inputs and target, raw
    key: Keys  # (s,) row keys
    target: Keys  # (s,) hashes of the targets

    @property
    def rows(self) -> int:
        return len(self.key)

    def smallest(self, rows: int) -> Sample:
        """The first `rows` of these, sorted."""
        places = first_rows(self.key, self.target, rows)
        columns = _compact(self.columns.take(pa.array(places)))
        return Sample(columns, self.key[places], self.target[places])

    def merge(self, other: Sample, rows: int) -> Sample:
        columns = _stacked([self.columns, other.columns])
        key, target = np.concatenate([self.key, other.key]), np.concatenate([self.target, other.target])
        both = Sample(columns, key, target)
        return both.smallest(rows) if both.rows > rows else both


def _stacked(batches: Sequence[Any]) -> Any:
    table = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    parts = table.to_batches()
    return parts[0] if parts else batches[0]


def _compact(columns: Any) -> Any:
    """The same rows, without the dictionary entries of the many rows that are not among them."""
    for place, column in enumerate(columns.columns):
        if pa.types.is_dictionary(column.type) and len(column.dictionary) > 2 * len(column) + 100:
            texts = column.dictionary_decode().dictionary_encode()
            columns = columns.set_column(place, columns.schema.names[place], texts)
    return columns


@dataclass(frozen=True)
class Facts:
    """The mergeable result of the pass."""

    columns: tuple[tuple[InputColumn, ColumnFacts], ...]
    target: ColumnFacts
    rows: int  # with a target
    without_target: int
    incomplete: int  # rows with a target and a missing input
    sums: tuple[int, ...]  # of the rows' hashes, modulo 2^64
    sample: Sample
    bound: Bound

    def merge(self, other: Facts) -> Facts:
        columns = tuple(
            (column, mine.merge(theirs, MOST_LEVELS))
            for (column, mine), (_, theirs) in zip(self.columns, other.columns, strict=True)
        )
        sample = self.sample.merge(other.sample, SAMPLE_ROWS)
        self.bound.tell(sample)
        return Facts(
            columns,
            self.target.merge(other.target, 0),
            self.rows + other.rows,
            self.without_target + other.without_target,
            self.incomplete + other.incomplete,
            tuple((a + b) % (1 << 64) for a, b in zip(self.sums, other.sums, strict=True)),
            sample,
            self.bound,
        )


class Bound:
    """The largest hash of any full sample so far. No row above it can be in the final one, so none need be kept.

    It only saves work: the sample is the same whether or not, and when, a batch comes to know it.
    """

    def __init__(self) -> None:
        self.highest = (1 << 64) - 1

    def tell(self, sample: Sample) -> None:
        if sample.rows < SAMPLE_ROWS:
            return
        order = rehash(sample.key, SAMPLE_SALT)
        # Ascending: no row of the sample is a second copy, so its last row has the largest hash that can matter.
        if (order[1:] > order[:-1]).all():
            self.highest = min(self.highest, int(order[-1]))


@dataclass(frozen=True)
class _Surveyor:
    """What is learnt from one batch."""

    columns: tuple[InputColumn, ...]
    target: str | None  # None: every row counts as one with a target
    bound: Bound

    def __call__(self, batch: Batch) -> Facts:
        target = np.zeros(batch.rows) if self.target is None else numbers(batch.columns.column(self.target))
        present = ~np.isnan(target)
        without = int(len(target) - np.count_nonzero(present))
        rows = batch.columns if not without else batch.columns.filter(pa.array(present))
        y = target if not without else target[present]
        facts, hashes, incomplete = [], [], np.zeros(len(y), dtype=bool)
        for column in self.columns:
            fact, keys, missing = _look(rows.column(column.name), column)
            facts.append((column, fact))
            hashes.append(keys)
            incomplete |= missing
        key = row_keys(hashes, len(y))
        y_hash = hash_numbers(y)
        whole = combine([key, y_hash])
        with np.errstate(over="ignore"):
            sums = tuple(int(rehash(whole, salt).sum(dtype=np.uint64)) for salt in _DIGEST_SALTS)
        return Facts(
            tuple(facts),
            _number_facts(y),
            len(y),
            without,
            int(np.count_nonzero(incomplete)),
            sums,
            self._sample(rows, key, y_hash),
            self.bound,
        )

    def _sample(self, rows: Any, key: Keys, y_hash: Keys) -> Sample:
        order = rehash(key, SAMPLE_SALT)
        names = [column.name for column in self.columns] + ([] if self.target is None else [self.target])
        rows = rows.select(sorted(names))
        low = order <= np.uint64(self.bound.highest)
        if not low.all():
            rows, key, y_hash = _compact(rows.filter(pa.array(low))), key[low], y_hash[low]
        sample = Sample(rows, key, y_hash)
        return sample.smallest(SAMPLE_ROWS) if sample.rows > SAMPLE_ROWS else sample


def _look(array: Any, column: InputColumn) -> tuple[ColumnFacts, Keys, NDArray[np.bool_]]:
    """(facts, hash of each cell, which cells are missing)."""
    if column.has_levels:
        codes, levels = coded(array, column.kind)
        missing = codes < 0
        counts = np.bincount(codes[~missing], minlength=len(levels))
        seen: dict[str, int] = {}
        for i in np.flatnonzero(counts).tolist():
            level = levels[i]
            if level is not None:
                seen[level] = seen.get(level, 0) + int(counts[i])
        too_many = len(seen) > MOST_LEVELS
        facts = ColumnFacts(int(missing.sum()), levels=None if too_many else seen, too_many=too_many)
        return facts, hash_codes(codes, levels), missing
    values = numbers(array)
    return _number_facts(values), hash_numbers(values), np.isnan(values)


def _number_facts(values: NDArray[np.float64]) -> ColumnFacts:
    missing = int(np.count_nonzero(np.isnan(values)))
    if missing == len(values):
        return ColumnFacts(missing)
    infinite = int(np.count_nonzero(np.isinf(values)))
    return ColumnFacts(missing, infinite, float(np.nanmin(values)), float(np.nanmax(values)))


# ------------------------------------------------------------------------------------------------ the survey


@dataclass(frozen=True)
class Survey:
    """What the whole table is like."""

    table: Table = field(repr=False)
    roles: Roles
    columns: tuple[tuple[InputColumn, ColumnFacts], ...]  # the inputs, sorted by name
    target: ColumnFacts
    rows: int  # with a target
    without_target: int
    incomplete: int  # rows with a target and a missing input
    content_hash: str  # of names and content, whatever the order of rows, columns and files
    sample: Batch = field(repr=False)  # raw rows with the smallest hashes, ascending
    sample_keys: Keys = field(repr=False)  # (s,)

    @property
    def sample_is_whole(self) -> bool:
        """The sample is every row that has a target."""
        return len(self.sample_keys) == self.rows


def survey(table: Table, roles: Roles, engine: Engine) -> Survey:
    """One fold over the pieces of a loaded table."""
    columns = tuple(InputColumn(name, table.kinds[name], name in roles.categorical) for name in roles.used(table.names))
    surveyor = _Surveyor(columns, roles.target, Bound())
    facts = engine.fold(table.pieces, surveyor, "survey", table.rows)
    sample = facts.sample.smallest(SAMPLE_ROWS)
    return Survey(
        table=table,
        roles=roles,
        columns=facts.columns,
        target=facts.target,
        rows=facts.rows,
        without_target=facts.without_target,
        incomplete=facts.incomplete,
        content_hash=_digest(columns, roles.target, facts),
        sample=Batch(sample.columns, -1, table.label),
        sample_keys=sample.key,
    )


def _digest(columns: Sequence[InputColumn], target: str | None, facts: Facts) -> str:
    content = repr(([column.name for column in columns], target, facts.rows, facts.sums))
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
