"""A hash of a table's content, and an even sample of its rows, in the same pass as the survey.

The sample is the rows with the smallest hash of their content. It is the same for any order of the rows, any cutting
into batches and any file format, and the samples of two tables merge into the sample of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from enrelm_cli.fold.folds import Engine
from enrelm_cli.fold.hashing import SAMPLE_ROWS, SAMPLE_SALT, combine, first_rows, hash_numbers, rehash, with_weights
from enrelm_cli.inputs.survey.cells import Cells, InputColumn, NumberCells
from enrelm_cli.inputs.survey.facts import (
    Facts,
    Survey,
    TargetRows,
    facts_of,
    input_columns,
    target_columns,
    target_rows,
)
from enrelm_cli.table.table import Batch, Roles, Table
from enrelm_cli.types import Keys

_DIGEST_SALTS = (SAMPLE_SALT + 1, SAMPLE_SALT + 2)


@dataclass(frozen=True)
class ContentSums:
    """Of the rows' hashes, each modulo 2^64: what the content hash is made of."""

    rows: int
    sums: tuple[int, ...]

    def merge(self, other: ContentSums) -> ContentSums:
        sums = tuple((a + b) % (1 << 64) for a, b in zip(self.sums, other.sums, strict=True))
        return ContentSums(self.rows + other.rows, sums)

    def digest(self, columns: Sequence[InputColumn], target: str | None, also: Sequence[str] = ()) -> str:
        """Of names and content, whatever the order of rows, columns and files. `also`: more targets."""
        targets = [target, *also] if also else target
        content = repr(([column.name for column in columns], targets, self.rows, self.sums))
        return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def content_sums(key: Keys, target: Keys) -> ContentSums:
    """From the hashes of every input together, and of the target."""
    whole = combine([key, target])
    with np.errstate(over="ignore"):
        return ContentSums(len(key), tuple(int(rehash(whole, salt).sum(dtype=np.uint64)) for salt in _DIGEST_SALTS))


@dataclass(frozen=True)
class Sample:
    """Rows among which are the first ones in the order of `hashing.first_rows`; sorted once there are too many."""

    columns: Any  # pa.RecordBatch: inputs and target, raw
    key: Keys  # (s,) hashes of the inputs
    target: Keys  # (s,) hashes of the targets, and of the weights where there are any

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
class _Surveyed:
    """The mergeable result of the pass."""

    facts: Facts
    sums: ContentSums
    sample: Sample
    bound: Bound

    def merge(self, other: _Surveyed) -> _Surveyed:
        sample = self.sample.merge(other.sample, SAMPLE_ROWS)
        self.bound.tell(sample)
        return _Surveyed(self.facts.merge(other.facts), self.sums.merge(other.sums), sample, self.bound)


@dataclass(frozen=True)
class _Surveyor:
    """What is learnt from one batch."""

    columns: tuple[InputColumn, ...]
    targets: tuple[InputColumn, ...]  # none: every row counts as one with a target
    weight: str | None
    bound: Bound

    def __call__(self, batch: Batch) -> _Surveyed:
        rows = target_rows(batch, self.columns, self.targets, self.weight)
        key = combine([cells.hashes() for cells in rows.cells], rows.rows)
        hashes = [_target_hashes(one) for one in (rows.target, *rows.also)]
        target = hashes[0] if len(hashes) == 1 else combine(hashes)
        target = with_weights(target, None if rows.weight is None else hash_numbers(rows.weight))
        return _Surveyed(facts_of(rows), content_sums(key, target), self._sample(rows, key, target), self.bound)

    def _sample(self, rows: TargetRows, key: Keys, target: Keys) -> Sample:
        names = [column.name for column in (*self.columns, *self.targets)]
        names += [] if self.weight is None else [self.weight]
        batch = rows.batch.select(sorted(names))
        low = rehash(key, SAMPLE_SALT) <= np.uint64(self.bound.highest)
        if not low.all():
            batch, key, target = _compact(batch.filter(pa.array(low))), key[low], target[low]
        sample = Sample(batch, key, target)
        return sample.smallest(SAMPLE_ROWS) if sample.rows > SAMPLE_ROWS else sample


def _target_hashes(target: Cells) -> Keys:
    return hash_numbers(target.values) if isinstance(target, NumberCells) else target.hashes()


@dataclass(frozen=True, kw_only=True)
class SampledSurvey(Survey):
    """What the whole table is like, what its content hashes to, and an even sample of its rows that have a target."""

    content_hash: str  # of names and content, whatever the order of rows, columns and files
    sample: Batch = field(repr=False)  # raw rows with the smallest hashes, ascending
    sample_keys: Keys = field(repr=False)  # (s,) hashes of the sample's inputs

    @property
    def sample_is_whole(self) -> bool:
        """The sample is every row that has a target."""
        return len(self.sample_keys) == self.rows


def sampled_survey(table: Table, roles: Roles, engine: Engine) -> SampledSurvey:
    """All of it in one fold over the pieces of a loaded table: each cell is hashed once."""
    columns, targets = input_columns(table, roles), target_columns(table, roles)
    found = engine.fold(table.pieces, _Surveyor(columns, targets, roles.weight, Bound()), "survey", table.rows)
    sample = found.sample.smallest(SAMPLE_ROWS)
    return SampledSurvey(
        **vars(found.facts),
        table=table,
        roles=roles,
        content_hash=found.sums.digest(columns, roles.target, roles.also),
        sample=Batch(sample.columns, -1, table.label),
        sample_keys=sample.key,
    )
