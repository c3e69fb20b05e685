"""From files to rows that a method can fold over: table, survey, split, encoding.

In memory where the table fits, from the files again in each pass where it does not (`--memory`): the same rows either
way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import Chunk, Engine
from enrelm_cli.fold.resources import available_memory
from enrelm_cli.inputs.encoding import Encoding, build_encoding
from enrelm_cli.inputs.split import RowSplit, Side, Split, hash_split, paper_split
from enrelm_cli.inputs.survey import Survey, survey
from enrelm_cli.inputs.training import Rows, cut, even_sample, piece_rows
from enrelm_cli.settings import DataSettings, EngineSettings, SplitSettings
from enrelm_cli.sizes import human_bytes
from enrelm_cli.table.pieces import check_files
from enrelm_cli.table.table import Piece, Table, load, open_table, require_target
from enrelm_cli.types import Keys

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


def open_dataset(settings: DataSettings, where: EngineSettings, engine: Engine) -> Dataset:
    """Read and survey: one pass over the files, two where the table is larger than the memory allowed."""
    if settings.roles.target is None:
        require_target(settings.sources, settings.read)
    if engine.elsewhere:
        check_files(settings.sources)
    table = open_table(settings.sources, settings.read, settings.roles)
    allowed = where.memory or available_memory() // 2
    size = table.bytes
    fits = size is None or _EXPANSION * size <= allowed
    in_memory = fits and where.engine == "local"
    notes: tuple[str, ...] = ()
    if not fits and where.engine == "local":
        notes = (
            f"{human_bytes(size or 0)} of text: read again from disk in each pass to stay below {human_bytes(allowed)}",
        )
    table = load(table, settings.roles, engine, in_memory)
    known = survey(table, settings.roles, engine)
    for source in table.sources:
        source.check_unchanged()
    return Dataset(table, known, settings, engine, in_memory, notes)


@dataclass(frozen=True)
class Encoded:
    """A dataset under one split: its encoding knows the medians of the training rows only."""

    rows: Rows
    split: Split
    encoding: Encoding
    notes: tuple[str, ...]


def encode(dataset: Dataset, split: SplitSettings, test_size: float = 0.0) -> Encoded:
    """Rows with a side each."""
    if split.kind == "shuffle":
        return _encode_shuffled(dataset, split, test_size)
    known = dataset.survey
    sides = hash_split(known.sample_keys, known.sample_is_whole, split.seed, split.validation_size, test_size)
    encoding = _encoding(dataset, lambda keys: sides.sides_of(keys) == Side.TRAIN)
    return Encoded(_rows(dataset, encoding), sides, encoding, (*dataset.notes, *encoding.notes))


def _encode_shuffled(dataset: Dataset, split: SplitSettings, test_size: float) -> Encoded:
    if not dataset.in_memory:
        raise UsageError(
            "--split shuffle permutes the rows, so the table must fit in memory on one machine",
            "use --split hash (the default), or allow more with --memory",
        )
    # Medians for missing cells come from all rows here: the permutation numbers rows, and the sample knows only keys.
    encoding = _encoding(dataset, lambda keys: np.ones(len(keys), bool))
    rows = _rows(dataset, encoding)
    sides: RowSplit = paper_split(rows.total, split.seed, split.validation_size, test_size)
    return Encoded(rows, sides, encoding, (*dataset.notes, *encoding.notes))


def encode_everything(dataset: Dataset) -> Encoding:
    """The encoding of a model fitted to every row."""
    return _encoding(dataset, lambda keys: np.ones(len(keys), bool))


def reencode(dataset: Dataset, encoding: Encoding) -> Rows:
    """The dataset's rows under another encoding."""
    return _rows(dataset, encoding)


def _encoding(dataset: Dataset, training: Callable[[Keys], NDArray[np.bool_]]) -> Encoding:
    return build_encoding(dataset.survey, dataset.settings.roles, dataset.settings.missing, training)


def _rows(dataset: Dataset, encoding: Encoding) -> Rows:
    target = encoding.target or ""
    if dataset.in_memory:
        chunks = list(dataset.engine.map(dataset.table.pieces, encoding.chunk, "encoding", dataset.table.rows))
        pieces, sample = _numbered(chunks)
        total = sum(chunk.rows for piece in pieces for chunk in piece)
        whole = sample.rows == total
        return Rows(pieces, sample, whole, total, encoding.inputs, encoding.groups, target, dataset.engine)
    known = dataset.survey
    sample = encoding.chunk(known.sample)
    pieces_on_disk = [EncodedPiece(piece, encoding) for piece in dataset.table.pieces]
    whole = known.sample_is_whole
    total = known.rows - (known.incomplete if dataset.settings.missing == "drop" else 0)
    names, groups = encoding.inputs, encoding.groups
    return Rows(pieces_on_disk, sample, whole, total, names, groups, target, dataset.engine, in_memory=False)


def _numbered(chunks: Sequence[Chunk]) -> tuple[list[list[Chunk]], Chunk]:
    """Chunks in pieces of a good size, their rows numbered without gaps, and the even sample of them all."""
    whole = Chunk(
        np.concatenate([chunk.X for chunk in chunks]),
        np.concatenate([chunk.y for chunk in chunks]),
        np.concatenate([chunk.key for chunk in chunks]),
        0,
    )
    return cut(whole, piece_rows(whole.rows)), even_sample(whole)


@dataclass(frozen=True)
class EncodedPiece:
    """A piece of a file as chunks: read, parsed and encoded wherever the fold runs."""

    piece: Piece
    encoding: Encoding

    def __iter__(self) -> Iterator[Chunk]:
        for batch in self.piece:
            yield self.encoding.chunk(batch)
