"""The rows that a method may fold over, each with a side, and the map that they are seen through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enrelm_cli.fold.folds import Chunk, Engine, LocalEngine, S, joined
from enrelm_cli.fold.hashing import SAMPLE_ROWS, combine, first_rows, hash_numbers, hash_targets, with_weights
from enrelm_cli.fold.weights import thinned
from enrelm_cli.inputs.classes.scale import Scale
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.inputs.maps.input_map import Expansion, InputMap
from enrelm_cli.inputs.maps.plain import plain_maps
from enrelm_cli.inputs.moments import (
    CountClasses,
    MomentsOf,
    class_scale_of,
    exponents,
    input_map_of,
    target_scales_of,
)
from enrelm_cli.inputs.split import Side, Split
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.targets.rows import OneTarget, with_target
from enrelm_cli.inputs.targets.scale import SeveralScale
from enrelm_cli.table.table import Kind
from enrelm_cli.types import Array

# Rows of a piece of an in-memory table: enough pieces for every thread, each large enough for BLAS.
PIECE_ROWS = 8192


@dataclass(frozen=True)
class Rows:
    """A table's rows with a known target, as pieces of raw chunks, and the even sample that the survey kept."""

    pieces: Sequence[Iterable[Chunk]]
    sample: Chunk  # sorted by hash; every row where `whole`
    whole: bool
    total: int
    columns: tuple[Column, ...]
    target: str
    engine: Engine
    in_memory: bool = True
    filled: bool = True  # missing cells are filled, and marked by an input of their own
    time: str | None = None  # the column along which later rows are held out
    lowest_target: float = -np.inf  # of every row, whichever its side
    classes: tuple[str, ...] | None = None  # sorted; a row's target is the place of its class. None: a number
    spare: int = 1 << 30  # bytes that a fit may keep beside the rows to save work
    also: tuple[tuple[str, float], ...] = ()  # more targets, each with its lowest value: y of a chunk is (t, q) then

    @property
    def targets(self) -> tuple[str, ...]:
        return (self.target, *(name for name, _ in self.also))

    def of_target(self, place: int) -> Rows:
        """The rows with one of several targets, as a fit of it alone has them."""
        name, lowest = ((self.target, self.lowest_target), *self.also)[place]
        pieces = [OneTarget(piece, place) for piece in self.pieces]
        sample = with_target(self.sample, place)
        return replace(self, pieces=pieces, sample=sample, target=name, lowest_target=lowest, also=())

    def fold(self, partial: Callable[[Chunk], S], label: str) -> S:
        return self.engine.fold(self.pieces, partial, label, self.total)


def even_sample(chunk: Chunk) -> Chunk:
    """The rows with the smallest hash of their unit, sorted by it; those of one unit by the hash of their targets."""
    weight = None if chunk.weight is None else hash_numbers(chunk.weight)
    return chunk.take(first_rows(chunk.unit, with_weights(hash_targets(chunk.y), weight), SAMPLE_ROWS))


@dataclass(frozen=True)
class SampledRows:
    """How many rows there are, and an even sample of them; mergeable."""

    rows: int
    sample: Chunk

    def merge(self, other: SampledRows) -> SampledRows:
        return SampledRows(self.rows + other.rows, even_sample(joined([self.sample, other.sample], -1)))


def sampled(chunk: Chunk) -> SampledRows:
    """Partial: an even sample of a chunk."""
    return SampledRows(chunk.rows, even_sample(chunk))


def rows_of_arrays(
    X: Array, y: Array, engine: Engine | None = None, names: tuple[str, ...] | None = None, **beside: Any
) -> Rows:
    """Rows of arrays in memory: the library's way in where there is no file. `beside`: more fields of the chunk."""
    twins = combine([hash_numbers(np.ascontiguousarray(column)) for column in X.T])
    chunk = Chunk(np.ascontiguousarray(X, dtype=float), np.asarray(y, dtype=float), twins, twins, 0, **beside)
    names = names or tuple(f"x{k + 1}" for k in range(X.shape[1]))
    columns = tuple(_column_of(name, values) for name, values in zip(names, chunk.X.T, strict=True))
    sample = even_sample(chunk)
    whole = sample.rows == chunk.rows
    pieces, lowest = cut(chunk, piece_rows(chunk.rows)), float(np.min(chunk.y))
    return Rows(pieces, sample, whole, chunk.rows, columns, "y", engine or LocalEngine(), lowest_target=lowest)


def _column_of(name: str, values: Array) -> Column:
    missing = np.isnan(values)
    present = values[~missing] if not missing.all() else np.zeros(1)
    return Column(name, Kind.NUMBER, None, float(np.min(present)), bool(missing.any()), highest=float(np.max(present)))


def piece_rows(rows: int) -> int:
    """Rows of a piece of a table in memory: enough pieces for some threads, and few enough sums to add up.

    It depends on the table alone, never on the cores: the pieces decide how sums are rounded.
    """
    return min(max(rows // 8, 2048), PIECE_ROWS)


def cut(chunk: Chunk, rows: int) -> list[list[Chunk]]:
    """A chunk as pieces of at most so many rows."""
    return [[chunk.between(i, i + rows)] for i in range(0, max(chunk.rows, 1), rows)]


@dataclass(frozen=True)
class Training:
    """Rows with a side each, seen through a map that the training ones gave."""

    rows: Rows
    view: View
    T: int  # training rows
    target_range: tuple[float, float] = (0.0, 0.0)  # smallest and largest target of the training rows
    total_weight: float | None = None  # of the training rows; None: T
    also_ranges: tuple[tuple[float, float], ...] = ()  # of the targets after the first

    @property
    def weight(self) -> float:
        """What the training rows count for: T, where they have no weights."""
        return self.T if self.total_weight is None else self.total_weight

    @property
    def d(self) -> int:
        return self.view.input_map.d

    def fold(self, partial: Callable[[Chunk], S], label: str) -> S:
        return self.rows.fold(partial, label)

    def sample(self) -> Chunk:
        """The sample's training rows, standardised, in the order of their hash."""
        return self.view(self.rows.sample, Side.TRAIN)

    def sample_weights(self) -> Array | None:
        """(t,) of the sample's training rows; None where rows have none."""
        sample = self.rows.sample
        return None if sample.weight is None else sample.weight[self.view.split.sides(sample) == Side.TRAIN]

    def fold_sample(self, partial: Callable[[Chunk], S], most: int | None = None) -> S:
        """The same over the sample's training rows, or at most so many of them, here: they are in memory anyway."""
        sample = self.sample()
        if most is not None and most < sample.rows:
            sample = sample.where(thinned(sample.rows, most))
        return LocalEngine(getattr(self.rows.engine, "threads", 0)).fold(
            cut(sample, PIECE_ROWS // 8), partial, "sample"
        )

    def of_target(self, place: int) -> Training:
        """The same rows with one of several targets, on its own scale."""
        scale = self.view.target_scale
        assert isinstance(scale, SeveralScale)
        view = replace(self.view, target_scale=scale.scales[place])
        ends = (self.target_range, *self.also_ranges)[place]
        return replace(self, rows=self.rows.of_target(place), view=view, target_range=ends, also_ranges=())

    def through(self, input_map: InputMap, target_scale: Scale) -> Training:
        """The same rows through another map."""
        return replace(self, view=View(self.view.split, input_map, target_scale))


def training(rows: Rows, split: Split) -> Training:
    """Rows through plain, standardised inputs. One pass: the moments of the training rows."""
    is_training = split.sides(rows.sample) == Side.TRAIN
    expansion = Expansion(plain_maps(rows.columns, rows.filled, rows.sample.X, is_training, rows.sample.weight))
    exponent = exponents(expansion(rows.sample.X), rows.sample.y)
    moments = rows.fold(MomentsOf(split, Side.TRAIN, expansion, exponent), "moments")
    scale: Scale
    if rows.classes is not None:
        counted = rows.fold(CountClasses(split, Side.TRAIN, len(rows.classes)), "counting classes")
        scale = class_scale_of(counted["counts"], rows.target)
    elif rows.also:
        scale = SeveralScale(target_scales_of(moments, exponent, rows.targets))
    else:
        (scale,) = target_scales_of(moments, exponent, rows.targets)
    inputs = input_map_of(expansion, moments, exponent, expansion.names(rows.columns))
    low, high = (np.ldexp(end, exponent)[expansion.width :] for end in (moments.low, moments.high))
    ranges = tuple(zip(low.tolist(), high.tolist(), strict=True))
    return Training(rows, View(split, inputs, scale), moments.count, ranges[0], moments.weight, ranges[1:])
