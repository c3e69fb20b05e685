"""From files to rows that a method can fold over: table, survey, encoding, split.

In memory where the table fits, from the files again in each pass where it does not (`--memory`): the same rows either
way. Each cell is hashed once in memory, and once per pass from disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.folds import Chunk, Engine, joined
from enrelm_cli.fold.hashing import SAMPLE_ROWS, combine, first_rows, hash_numbers, hash_targets, with_weights
from enrelm_cli.fold.resources import available_memory
from enrelm_cli.inputs.encoding import Encoding, known_rows
from enrelm_cli.inputs.marks import NO_MARKS, Marks, NoTime, marks_of, no_time
from enrelm_cli.inputs.screening import build_encoding
from enrelm_cli.inputs.split import (
    Cut,
    Everything,
    HeldSplit,
    Side,
    Split,
    hash_split,
    mostly_repeats,
    paper_split,
    single_rows,
    time_split,
    whole_rows,
)
from enrelm_cli.inputs.survey.cells import InputColumn
from enrelm_cli.inputs.survey.contents import ContentSums, SampledSurvey, content_sums, sampled_survey
from enrelm_cli.inputs.survey.facts import Survey, input_columns, survey
from enrelm_cli.inputs.training import Rows, SampledRows, cut, even_sample, piece_rows, sampled
from enrelm_cli.settings import DataSettings, EngineSettings, Roles, SplitSettings
from enrelm_cli.sizes import human_bytes
from enrelm_cli.table.load import load
from enrelm_cli.table.pieces import check_files
from enrelm_cli.table.table import Batch, Piece, Table, open_table, require_target
from enrelm_cli.types import Keys

# Parsed columns and encoded rows of a CSV file take about this many times its size.
_EXPANSION = 4


@dataclass(frozen=True)
class Dataset:
    """A table's rows, as numbers, before any split."""

    label: str  # of the table, for messages
    encoding: Encoding
    rows: Rows
    content_hash: str  # of names and content, whatever the order of rows, columns and files
    notes: tuple[str, ...]
    roles: Roles = field(default_factory=Roles)  # of the table's own columns
    groups: tuple[InputColumn, ...] = ()  # columns whose rows with equal cells are held out together


def open_dataset(
    settings: DataSettings, where: EngineSettings, engine: Engine, one_target: str | None = None
) -> Dataset:
    """Read, survey and encode: one pass over the files, two where the table is larger than the memory allowed.

    `one_target`: why several targets are refused, before any row is read.
    """
    if settings.roles.target is None:
        require_target(settings.tables, settings.read)
    if engine.elsewhere:
        check_files((*settings.sources, *settings.held))
    table = open_table(settings.tables, settings.read, settings.roles, settings.held)
    settings = replace(settings, roles=table.roles)
    refuse_several(table.roles, one_target)
    in_memory, notes = placed(table, where)
    table = load(table, settings.roles, engine, in_memory)
    spare = _spare(table, where)
    try:
        opened = _in_memory(table, settings, engine, spare) if in_memory else _on_disk(table, settings, engine)
    except NoTime:
        raise no_time(table, str(settings.roles.time)) from None
    for source in table.sources:
        source.check_unchanged()
    notes = (*notes, *table.notes, *opened.encoding.notes)
    return replace(opened, notes=notes, roles=settings.roles, groups=marks_of(table, settings.roles).groups)


def refuse_several(roles: Roles, why: str | None) -> None:
    """`why`: only one target is taken; None: only numbers are."""
    if roles.also and why is not None:
        raise UsageError(f"{len(roles.targets)} targets: {why}", "name one --target, and --drop the others")
    if roles.also and roles.task == "classification":
        raise UsageError("--task classification takes one target", "name one --target")


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


def split_of(rows: Rows, split: SplitSettings, test_size: float = 0.0, cut: Cut | None = None) -> Split:
    """A side for each row. `cut`: which of several in time, where rows that test are later than those that train."""
    sample = rows.sample
    if sample.held is not None:
        return _own_split(rows, split, sample.held, test_size)
    if sample.time is not None:
        _refuse_shuffle(split, "--time")
        return time_split(sample.time, split.validation_size, cut)
    if sample.group is not None:
        _refuse_shuffle(split, "--group")
    if split.kind != "shuffle":
        grouped = sample.group is not None
        return hash_split(sample.together, rows.whole, split.seed, split.validation_size, test_size, grouped)
    if not rows.in_memory:
        raise UsageError(
            "--split shuffle permutes the rows, so the table must fit in memory on one machine",
            "use --split hash (the default), or allow more with --memory",
        )
    return paper_split(rows.total, split.seed, split.validation_size, test_size)


def _own_split(rows: Rows, split: SplitSettings, held: NDArray[np.bool_], test_size: float) -> Split:
    """`test_size` 0: the user's own rows validate; else they test, and some of the others validate."""
    if not held.any() and rows.whole:
        option = "--test" if test_size else "--validation"
        raise DataError(f"no row of {option} has a target '{rows.target}'", "name files whose rows have one")
    if not test_size:
        _refuse_shuffle(split, "--validation")
        if split.validation_size != SplitSettings.validation_size:
            raise UsageError(
                "--validation names the validation rows, --validation-size takes some of DATA", "use one of the two"
            )
        return HeldSplit(Side.VALIDATION, Everything())
    _refuse_shuffle(split, "--test")
    others, grouped = rows.sample.together[~held], rows.sample.group is not None
    parted = hash_split(others, rows.whole, split.seed, split.validation_size, groups=grouped)
    return HeldSplit(Side.TEST, parted)


def _refuse_shuffle(split: SplitSettings, option: str) -> None:
    if split.kind == "shuffle":
        raise UsageError(f"{option} says which rows are held out, and so does --split shuffle", "use one of the two")


# --- in memory -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _EncodedBatch:
    """A batch's rows to fit, and what its cells' hashes add to the hash of the content."""

    chunk: Chunk
    target: Keys  # (t,) hashes of the targets
    weight: Keys | None  # (t,) of the weights
    sums: ContentSums


@dataclass(frozen=True)
class _EncodeBatch:
    """From a batch of cells to rows: one hash of each cell serves the rows' keys and the hash of the content."""

    encoding: Encoding
    columns: tuple[InputColumn, ...]  # also those that are left out
    marks: Marks

    def __call__(self, batch: Batch) -> _EncodedBatch:
        rows = self.encoding.hashed(batch)
        hashes = {column.name: key for column, key in zip(self.encoding.columns, rows.hashes, strict=True)}
        twins, present = combine(rows.hashes, batch.rows), known_rows(rows.y, rows.weight)
        target = hash_targets(rows.y)
        # The unit is a power of two: these are the hashes of the cells.
        weight = None if rows.weight is None else hash_numbers(rows.weight * self.encoding.weight_unit)
        whole = combine([self._hashes(column, hashes, batch) for column in self.columns]) if self._left_out else twins
        used = self.encoding.used(rows.X, rows.y, rows.weight)
        chunk = self.encoding.to_fit(rows, twins, batch, self.marks)
        of_cells = target if self.encoding.classes is None else self.encoding.target_hashes(rows.y)
        content = content_sums(whole[present], with_weights(of_cells, weight)[present])
        return _EncodedBatch(chunk, target[used], None if weight is None else weight[used], content)

    @property
    def _left_out(self) -> bool:
        return len(self.columns) > len(self.encoding.columns)

    def _hashes(self, column: InputColumn, hashes: dict[str, Keys], batch: Batch) -> Keys:
        found = hashes.get(column.name)
        return column.cells(batch.columns.column(column.name)).hashes() if found is None else found


def _in_memory(table: Table, settings: DataSettings, engine: Engine, spare: int) -> Dataset:
    """What the columns are is decided before a cell is hashed: rows are hashed without columns that are left out."""
    found = survey(table, settings.roles, engine)
    encoding = build_encoding(found, settings.roles, settings.missing)
    columns = input_columns(table, settings.roles)
    encode = _EncodeBatch(encoding, columns, marks_of(table, settings.roles))
    parts = list(engine.map(table.pieces, encode, "encoding", table.rows))
    chunk, target = joined([part.chunk for part in parts], 0), np.concatenate([part.target for part in parts])
    weights = [part.weight for part in parts if part.weight is not None]
    weight = np.concatenate(weights) if weights else None
    places = first_rows(chunk.twins, with_weights(target, weight), SAMPLE_ROWS)
    if mostly_repeats(chunk.twins[places], chunk.rows, target[places]):
        chunk = replace(chunk, unit=single_rows(chunk.twins, target, weight))
        places = first_rows(chunk.unit, with_weights(target, weight), SAMPLE_ROWS)
    counted = SampledRows(chunk.rows, chunk.take(places))
    rows = _rows(cut(chunk, piece_rows(chunk.rows)), counted, found, encoding, engine)
    sums = reduce(ContentSums.merge, [part.sums for part in parts])
    rows = replace(rows, in_memory=True, spare=spare)
    return Dataset(table.label, encoding, rows, sums.digest(columns, encoding.target, encoding.also), ())


def _rows(
    pieces: Sequence[Iterable[Chunk]], counted: SampledRows, found: Survey, encoding: Encoding, engine: Engine
) -> Rows:
    return Rows(
        pieces=pieces,
        sample=counted.sample,
        whole=counted.sample.rows == counted.rows,
        total=counted.rows,
        columns=encoding.columns,
        target=encoding.target,
        engine=engine,
        in_memory=False,
        spare=0,
        filled=encoding.missing == "fill",
        lowest_target=found.target.lowest,
        also=tuple((name, facts.lowest) for name, facts in zip(encoding.also, found.also, strict=True)),
        time=found.roles.time,
        classes=None if encoding.classes is None else encoding.classes.levels,
    )


# --- from disk -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncodedPiece:
    """A piece of a file as chunks: read, parsed and encoded wherever the fold runs."""

    piece: Piece
    encoding: Encoding
    single: bool = False  # rows are units of their own: see `split.mostly_repeats`
    marks: Marks = NO_MARKS

    def __iter__(self) -> Iterator[Chunk]:
        for batch in self.piece:
            chunk = self.encoding.chunk(batch, self.marks)
            yield _as_units(chunk) if self.single else chunk


def _as_units(chunk: Chunk) -> Chunk:
    return replace(chunk, unit=whole_rows(chunk.twins, hash_targets(chunk.y)))


def _on_disk(table: Table, settings: DataSettings, engine: Engine) -> Dataset:
    found = sampled_survey(table, settings.roles, engine)
    encoding = build_encoding(found, settings.roles, settings.missing)
    marks = marks_of(table, settings.roles)
    pieces = [EncodedPiece(piece, encoding, marks=marks) for piece in table.pieces]
    # The survey's sample knows nothing of marks.
    counted = (None if marks else _sample(found, encoding)) or _sample_again(pieces, table, engine)
    if mostly_repeats(counted.sample.twins, counted.rows, hash_targets(counted.sample.y)):
        pieces = [replace(piece, single=True) for piece in pieces]
        whole = counted.sample.rows == counted.rows
        sample = even_sample(_as_units(counted.sample))
        counted = replace(counted, sample=sample) if whole else _sample_again(pieces, table, engine)
    rows = _rows(pieces, counted, found, encoding, engine)
    return Dataset(table.label, encoding, rows, found.content_hash, ())


def _sample(found: SampledSurvey, encoding: Encoding) -> SampledRows | None:
    """The survey's own sample. None where it is another's: of other columns, or short of the rows that are dropped."""
    dropped = found.incomplete if encoding.missing == "drop" else 0
    if encoding.left_out or (dropped and not found.sample_is_whole):
        return None
    (X, y), weight = encoding.numbers(found.sample), encoding.weights(found.sample)
    keys = found.sample_keys
    sample = Chunk(X, y, keys, keys, found.sample.row, weight=encoding.weighed(y, weight))
    sample = sample.where(encoding.used(X, y, weight))
    return SampledRows(found.rows - dropped, sample)


def _sample_again(pieces: list[EncodedPiece], table: Table, engine: Engine) -> SampledRows:
    """One pass: rows that differ only in columns that are left out are twins."""
    return engine.fold(pieces, sampled, "sample of the rows", table.rows)
