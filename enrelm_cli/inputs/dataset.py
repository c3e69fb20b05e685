"""From files to rows that a method can fold over: table, survey, split, encoding.

In memory where the table fits, from the files again in each pass where it does not (`--memory`): the same rows either
way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import Chunk, Engine
from enrelm_cli.fold.hashing import combine, hash_numbers
from enrelm_cli.fold.resources import available_memory
from enrelm_cli.inputs.encoding import Encoding
from enrelm_cli.inputs.screening import build_encoding
from enrelm_cli.inputs.split import Split, hash_split, mostly_repeats, paper_split, row_keys_of
from enrelm_cli.inputs.survey import Survey, survey
from enrelm_cli.inputs.training import Rows, cut, even_sample, piece_rows
from enrelm_cli.settings import DataSettings, EngineSettings, SplitSettings
from enrelm_cli.sizes import human_bytes
from enrelm_cli.table.load import load
from enrelm_cli.table.pieces import check_files
from enrelm_cli.table.table import Piece, Table, open_table, require_target

# Parsed columns and encoded rows of a CSV file take about this many times its size.
_EXPANSION = 4


@dataclass(frozen=True)
class Dataset:
    """A surveyed table."""

    table: Table
    survey: Survey
    settings: DataSettings
    engine: Engine
    in_memory: bool
    notes: tuple[str, ...]
    spare: int  # bytes of the memory allowed that the rows leave


def open_dataset(settings: DataSettings, where: EngineSettings, engine: Engine) -> Dataset:
    """Read and survey: one pass over the files, two where the table is larger than the memory allowed."""
    if settings.roles.target is None:
        require_target(settings.tables, settings.read)
    if engine.elsewhere:
        check_files(settings.sources)
    table = open_table(settings.tables, settings.read, settings.roles)
    in_memory, notes = placed(table, where)
    table = load(table, settings.roles, engine, in_memory)
    notes += table.notes
    known = survey(table, settings.roles, engine)
    for source in table.sources:
        source.check_unchanged()
    return Dataset(table, known, settings, engine, in_memory, notes, _spare(table, where) if in_memory else 0)


def _spare(table: Table, where: EngineSettings) -> int:
    """Bytes that the rows in memory leave of those that are allowed."""
    return max(_allowed(where) - _EXPANSION * (table.bytes or 0), 0)


def _allowed(where: EngineSettings) -> int:
    return where.memory or available_memory() // 2


def placed(table: Table, where: EngineSettings) -> tuple[bool, tuple[str, ...]]:
    """Whether the rows are kept in memory, and a note where they are not."""
    allowed, size = _allowed(where), table.bytes
    fits = size is None or _EXPANSION * size <= allowed
    if fits or where.engine == "dask":
        return where.engine != "dask", ()
    note = f"{human_bytes(size or 0)} of text: read again from disk in each pass to stay below {human_bytes(allowed)}"
    return False, (note,)


@dataclass(frozen=True)
class Encoded:
    """A dataset's raw rows under one split."""

    rows: Rows
    split: Split
    encoding: Encoding
    notes: tuple[str, ...]


def encode(dataset: Dataset, split: SplitSettings, test_size: float = 0.0) -> Encoded:
    """Rows with a side each."""
    if split.kind == "shuffle" and not dataset.in_memory:
        raise UsageError(
            "--split shuffle permutes the rows, so the table must fit in memory on one machine",
            "use --split hash (the default), or allow more with --memory",
        )
    encoding = build_encoding(dataset.survey, dataset.settings.roles, dataset.settings.missing)
    rows = _rows(dataset, encoding)
    sides: Split
    if split.kind == "shuffle":
        sides = paper_split(rows.total, split.seed, split.validation_size, test_size)
    else:
        sides = hash_split(rows.sample.key, rows.whole, split.seed, split.validation_size, test_size)
    return Encoded(rows, sides, encoding, (*dataset.notes, *encoding.notes))


def _rows(dataset: Dataset, encoding: Encoding) -> Rows:
    columns, target, filled = encoding.columns, encoding.target, encoding.missing == "fill"
    lowest, spare = dataset.survey.target.lowest, dataset.spare
    if dataset.in_memory:
        chunks = list(dataset.engine.map(dataset.table.pieces, encoding.chunk, "encoding", dataset.table.rows))
        table = _joined(chunks)
        sample = even_sample(table)
        if mostly_repeats(sample.key, table.rows):
            table = replace(table, key=row_keys_of(table.key, table.y))
            sample = even_sample(table)
        pieces, whole = cut(table, piece_rows(table.rows)), sample.rows == table.rows
        return Rows(pieces, sample, whole, table.rows, columns, target, dataset.engine, True, filled, lowest, spare)
    known = _surveyed_again(dataset, encoding) if encoding.left_out else dataset.survey
    sample = encoding.chunk(known.sample)
    total = known.rows - (known.incomplete if encoding.missing == "drop" else 0)
    by_target = mostly_repeats(sample.key, total)
    on_disk = [EncodedPiece(piece, encoding, by_target) for piece in dataset.table.pieces]
    sample = even_sample(with_target(sample)) if by_target else sample
    whole = known.sample_is_whole
    return Rows(on_disk, sample, whole, total, columns, target, dataset.engine, False, filled, lowest, spare)


def _surveyed_again(dataset: Dataset, encoding: Encoding) -> Survey:
    """Without the columns that are left out: rows that differ in nothing else are twins."""
    roles = replace(dataset.settings.roles, inputs=tuple(column.name for column in encoding.columns))
    return survey(dataset.table, roles, dataset.engine)


def _joined(chunks: Sequence[Chunk]) -> Chunk:
    """One chunk, its rows numbered without gaps."""
    X, y, key = (np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in ("X", "y", "key"))
    return Chunk(X, y, key, 0)


@dataclass(frozen=True)
class EncodedPiece:
    """A piece of a file as chunks: read, parsed and encoded wherever the fold runs."""

    piece: Piece
    encoding: Encoding
    by_target: bool  # a row's key counts its target: see `split.mostly_repeats`

    def __iter__(self) -> Iterator[Chunk]:
        for batch in self.piece:
            chunk = self.encoding.chunk(batch)
            yield with_target(chunk) if self.by_target else chunk


def with_target(chunk: Chunk) -> Chunk:
    """Keys of inputs and target: a stream cannot count the copies of a row."""
    return replace(chunk, key=combine([chunk.key, hash_numbers(chunk.y)]))
