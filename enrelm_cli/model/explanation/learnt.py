"""What a model keeps of what it has learnt, for its page: a few kB of effects, pairs and the curve, no rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from enrelm_cli.inputs.checks import must, numbers, whole
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.types import Array

# Sizes of a curve that are kept, and points of an effect that a file may hold.
_SIZES, _POINTS = 100, 1000


def _none(columns: int) -> Array:
    return np.zeros((0, columns))


@dataclass(frozen=True)
class LearntEffect:
    """Of one column on the target, or on the score of one class."""

    column: int
    score: int  # the place of the class; 0 where the target is a number
    points: Array  # (v, 4): raw value (NaN: missing), effect, half the band, rows
    missing: int  # rows of the sample without a value


@dataclass(frozen=True)
class Learnt:
    """Of an even sample of rows."""

    rows: int
    scores: tuple[int, ...]  # places of the classes that were looked at; (0,) where the target is a number
    averages: Array  # (k,) prediction of each
    posterior: bool  # bands include the posterior of the kernel
    effects: tuple[LearntEffect, ...]
    pairs: Array  # (p, 4): places of two columns, strength, share; strongest first
    curve: Array = field(default_factory=lambda: _none(3))  # (s, 3): neurons, training and validation error
    widths: Array = field(default_factory=lambda: _none(2))  # (l, 2): level, mean width of intervals

    def to_document(self) -> dict[str, Any]:
        effects = [dict(vars(one)) for one in self.effects]
        return {**vars(self), "scores": list(self.scores), "effects": effects}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Learnt:
        effects = tuple(LearntEffect(**one) for one in document["effects"])
        return Learnt(**{**document, "scores": tuple(document["scores"]), "effects": effects})

    def check(self, columns: Sequence[Column], classes: int) -> None:
        """ValueError unless it could be of a model of these columns and so many classes (1: a number)."""
        whole("rows", self.rows, 0, 1 << 62)
        must(type(self.posterior) is bool, "'posterior' is neither true nor false")
        for place in self.scores:
            whole("scores", place, 0, max(classes - 1, 0))
        numbers("averages", self.averages, (len(self.scores),))
        for one in self.effects:
            _check_effect(one, columns, self.scores)
        numbers("pairs", self.pairs, (len(self.pairs), 4), lowest=0.0)
        must(bool(np.all(self.pairs[:, :2] < len(columns))), "'pairs' are of other columns")
        numbers("curve", self.curve, (len(self.curve), 3), lowest=0.0)
        must(bool(np.all(np.diff(self.curve[:, 0]) > 0.0)), "the sizes of the curve do not go up")
        must(not len(self.curve) or self.curve[-1, 0] <= 1 << 20, "the curve is too long")
        numbers("widths", self.widths, (len(self.widths), 2), lowest=0.0)


def thinned(train: Array, validation: Array) -> Array:
    """Errors (n,) of every size -> (s, 3), of sizes that are even on a logarithmic axis."""
    n = len(validation)
    places = np.unique(np.geomspace(1, n, _SIZES).round().astype(np.int64)) if n else np.zeros(0, np.int64)
    places = places[np.isfinite(train[places - 1]) & np.isfinite(validation[places - 1])]
    return np.column_stack([places.astype(float), train[places - 1], validation[places - 1]])


def _check_effect(one: LearntEffect, columns: Sequence[Column], scores: Sequence[int]) -> None:
    whole("column", one.column, 0, len(columns) - 1)
    must(one.score in scores, "an effect is of another class")
    whole("missing", one.missing, 0, 1 << 62)
    must(type(one.points) is np.ndarray and one.points.ndim == 2, "'points' are no table")
    must(1 <= len(one.points) <= _POINTS, "'points' are too many or none")
    levels = columns[one.column].levels
    values = one.points[:, 0]
    known = values[~np.isnan(values)]
    numbers("points", np.ascontiguousarray(one.points[:, 1:]), (len(one.points), 3))
    must(bool(np.all(np.isfinite(known))), "'points' are out of range")
    if levels is None:
        must(len(known) == len(values), "a value is missing")
    else:
        must(bool(np.all((known >= -1.0) & (known < len(levels)) & (known == np.floor(known)))), "levels are unknown")
