"""One pass over the rows to explain: an even sample, the worst rows and their places, errors and coverage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import Sums
from enrelm_cli.fold.hashing import combine, first_rows, hash_numbers
from enrelm_cli.fold.weights import Weights, times, total
from enrelm_cli.inputs.encoding import UNSEEN, Unseen
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.judge.classes.metrics import class_sums
from enrelm_cli.model.classes import labels
from enrelm_cli.model.model import Model
from enrelm_cli.table.csv_pieces import lines_before, records
from enrelm_cli.table.pieces import Batch, CsvBlock, Piece
from enrelm_cli.types import Array, Keys

# Of the even sample: residuals are drawn of all of it, effects of its first rows.
SAMPLE = 4096
LEVELS = (0.5, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Sample:
    """Rows in the order of their hash."""

    X: Array  # (s, columns) raw
    y: Array  # (s,) NaN where it is unknown
    y_hat: Array  # (s,)
    keys: Keys  # (s,)

    @staticmethod
    def of(X: Array, y: Array, y_hat: Array) -> Sample:
        keys = combine([hash_numbers(np.ascontiguousarray(column)) for column in X.T], len(X))
        return Sample(X, y, y_hat, keys).first()

    def first(self) -> Sample:
        places = first_rows(self.keys, hash_numbers(self.y), SAMPLE)
        return Sample(self.X[places], self.y[places], self.y_hat[places], self.keys[places])

    def merge(self, other: Sample) -> Sample:
        parts = zip(vars(self).values(), vars(other).values(), strict=True)
        return Sample(*(np.concatenate(pair) for pair in parts)).first()


@dataclass(frozen=True)
class BadRow:
    """A row far from its prediction."""

    row: int  # in the table, from 1
    file: str
    line: int | None  # in its file, where that has lines
    X: Array  # (columns,)
    y: float  # the place of its class, where it has one
    y_hat: float
    gap: float  # how far

    @property
    def order(self) -> tuple[float, int]:
        return (-self.gap, self.row)


@dataclass(frozen=True)
class Gathered:
    """What is known of all rows; mergeable, in the order of the rows."""

    rows: int
    sample: Sample
    worst: tuple[BadRow, ...]  # the worst first
    sums: Sums
    unseen: Unseen
    most: int  # of the worst

    def merge(self, other: Gathered) -> Gathered:
        moved = tuple(replace(one, row=one.row + self.rows) for one in other.worst)
        worst = tuple(sorted((*self.worst, *moved), key=lambda one: one.order)[: self.most])
        sums, unseen = self.sums.merge(other.sums), self.unseen.merge(other.unseen)
        return Gathered(self.rows + other.rows, self.sample.merge(other.sample), worst, sums, unseen, self.most)


@dataclass(frozen=True)
class Placed:
    """A batch, and the piece of a file that it is of."""

    batch: Batch
    piece: Piece
    start: int  # rows of the piece before it

    @property
    def rows(self) -> int:
        return self.batch.rows

    def worst(
        self, X: Array, y: Array, y_hat: Array, gap: Array, known: NDArray[np.int64], most: int
    ) -> tuple[BadRow, ...]:
        """The rows of the batch with the largest gaps, among those that are known."""
        bad = known[np.argsort(-gap[known], kind="stable")[:most]]
        return tuple(
            BadRow(int(i) + 1, self.batch.origin, line, X[i], float(y[i]), float(y_hat[i]), float(gap[i]))
            for i, line in zip(bad, self.lines(bad.tolist()), strict=True)
        )

    def lines(self, places: Iterable[int]) -> list[int | None]:
        """The lines of some rows of the batch; None where the file has none."""
        if not isinstance(self.piece, CsvBlock):
            return [None for _ in places]
        block, source = self.piece.block, self.piece.source
        starts = records(block.data, source.delimiter, source.one_column).start
        return [block.line + lines_before(block.data, int(starts[self.start + place])) for place in places]


@dataclass(frozen=True)
class PlacedPiece:
    """A piece whose batches remember it."""

    piece: Piece

    def __iter__(self) -> Iterator[Placed]:
        start = 0
        for batch in self.piece:
            yield Placed(batch, self.piece, start)
            start += batch.rows


@dataclass(frozen=True)
class Gather:
    """Partial: what a batch adds."""

    model: Model
    ends: Array  # (2 levels,) lower and upper of each interval, in units of the spread
    worst: int

    def __call__(self, placed: Placed) -> Gathered:
        X, y, unseen = self.model.encoding.for_predict(placed.batch)
        predicted = self.model.predict_with(X, self.ends)
        y_hat, weight = predicted[:, 0], self.model.encoding.weights(placed.batch)
        known = np.flatnonzero(np.isfinite(y) if weight is None else np.isfinite(y) & (weight > 0.0))
        worst = placed.worst(X, y, y_hat, np.abs(y - y_hat), known, self.worst)
        sums = self.sums(y[known], predicted[known], None if weight is None else weight[known])
        return Gathered(len(y), Sample.of(X, y, y_hat), worst, sums, unseen, self.worst)

    def sums(self, y: Array, predicted: Array, w: Weights) -> Sums:
        scale = self.model.target_scale
        assert isinstance(scale, TargetScale)
        # In units of the training spread, so that squares of large or tiny targets stay in range.
        centred = scale.standard(y)
        gap = centred - scale.standard(predicted[:, 0])
        lower, upper = predicted[:, 1::2], predicted[:, 2::2]
        inside = ((lower <= y[:, None]) & (y[:, None] <= upper)).astype(float)
        return Sums(
            {
                "known": len(y),
                "weight": total(w, len(y)),
                "squares": float(gap @ times(w, gap)),
                "absolute": float(times(w, np.abs(gap)).sum()),
                "y": float(times(w, centred).sum()),
                "yy": float(centred @ times(w, centred)),
                "inside": times(w, inside).sum(axis=0),
            }
        )


@dataclass(frozen=True)
class GatherClasses:
    """The same of classes: a row is far from its prediction where its class has a low probability."""

    model: Model
    worst: int

    def __call__(self, placed: Placed) -> Gathered:
        X, y, unseen = self.model.encoding.for_predict(placed.batch)
        p, weight = self.model.probabilities(X), self.model.encoding.weights(placed.batch)
        known = np.flatnonzero(np.isfinite(y) if weight is None else np.isfinite(y) & (weight > 0.0))
        codes = np.where(np.isfinite(y), y, UNSEEN).astype(np.int64)
        own = np.where(codes >= 0, p[np.arange(len(p)), np.maximum(codes, 0)], 0.0)
        y_hat = labels(p).astype(float)
        worst = placed.worst(X, y, y_hat, 1.0 - own, known, self.worst)
        sums = class_sums(p[known], codes[known], None if weight is None else weight[known])
        counted = Sums({"known": len(known), **sums.values})
        return Gathered(len(y), Sample.of(X, y, y_hat), worst, counted, unseen, self.worst)


def gathered(model: Model, X: Array, y: Array) -> Gathered:
    """Of rows that are in memory already: none of them is named as bad."""
    if model.classes is not None:
        p, codes = model.probabilities(X), y.astype(np.int64)
        judged = Sums({"known": len(y), **class_sums(p, codes).values})
        return Gathered(len(y), Sample.of(X, y, labels(p).astype(float)), (), judged, Unseen(), 0)
    gather = Gather(model, np.zeros(0), 0)
    predicted = model.predict_with(X, gather.ends)
    sums = gather.sums(y, predicted, None)
    return Gathered(len(y), Sample.of(X, y, predicted[:, 0]), (), sums, Unseen(), 0)


def interval_ends(model: Model) -> dict[float, tuple[float, float]]:
    """Of the intervals that the model can make, by their level."""
    found: dict[float, tuple[float, float]] = {}
    for level in LEVELS if len(model.intervals.scores) else ():
        try:
            found[level] = model.intervals.ends(level)
        except UsageError:  # it has too few left-out errors for this level
            continue
    return found


def merged(parts: Iterable[Any]) -> Gathered | None:
    """In the order of the rows."""
    total: Gathered | None = None
    for part in parts:
        total = part if total is None else total.merge(part)
    return total
