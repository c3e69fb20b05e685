"""What an updatable model keeps of its rows: sums by side, and an even sample; both add up, and can be taken away.

The Gram sums are those of rows b(x) (frozen.py), and of the inputs with a column of ones for linear regression beside
them; each row times its weight. The sample is every row whose hash lies below a bound, which is halved whenever there
are too many of them: which rows it holds depends on the rows alone, not on their order. Where b(x) is nothing, the
sample is every row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.columns import plain, wide
from enrelm_cli.fold.folds import Sums
from enrelm_cli.fold.hashing import SAMPLE_SALT, combine, hash_numbers, hash_targets, rehash
from enrelm_cli.fold.weights import Weights
from enrelm_cli.inputs.checks import must, number, numbers, truth, whole
from enrelm_cli.inputs.classes.rare import KeptClasses
from enrelm_cli.inputs.split import HashSplit, Side, Split
from enrelm_cli.inputs.survey.cells import InputColumn
from enrelm_cli.inputs.targets.rows import sums_with_target
from enrelm_cli.model.updating.frozen import Frozen, FrozenLayer, frozen_document, frozen_from
from enrelm_cli.table.table import Kind
from enrelm_cli.types import Array, Keys

# Rows of the sample that choose the ridge and give left-out errors, at most.
MOST = 8192
_SPAN = 1 << 64
SIDES = (Side.TRAIN, Side.VALIDATION)


@dataclass(frozen=True)
class KeptRows:
    """An even sample of rows as the kernel sees them, sorted by key."""

    X: Array  # (s, d) standardised inputs
    y: Array  # (s,) the target, (s, q) several; of classes its place
    raw: Array  # (s, columns) before the map
    key: Keys  # (s,) hashes of the inputs
    weight: Weights = None  # (s,)
    group: Keys | None = None  # (s,) rows of one are held out together; None: those with equal inputs
    below: int = _SPAN  # rows whose hash is below it are here
    every: bool = False  # none is left out, however many there are

    @property
    def rows(self) -> int:
        return len(self.y)

    def merge(self, other: KeptRows) -> KeptRows:
        below = min(self.below, other.below)
        parts = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in _ROWS}
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate([self._weights, other._weights])
        group = None if self.group is None or other.group is None else np.concatenate([self.group, other.group])
        return KeptRows(**parts, weight=weight, group=group, below=below, every=self.every)._within(below).thinned()

    @property
    def _weights(self) -> Array:
        return np.ones(self.rows) if self.weight is None else self.weight

    def _take(self, places: NDArray[Any]) -> KeptRows:
        rows = {name: getattr(self, name)[places] for name in _ROWS}
        weight = None if self.weight is None else self.weight[places]
        return replace(self, weight=weight, group=None if self.group is None else self.group[places], **rows)

    def _within(self, below: int) -> KeptRows:
        low = np.ones(self.rows, bool) if below >= _SPAN else rehash(self.key, SAMPLE_SALT) < np.uint64(below)
        kept = self if low.all() else self._take(np.flatnonzero(low))
        return replace(kept, below=below)

    def thinned(self) -> KeptRows:
        """At most MOST rows, sorted: whichever rows came first."""
        kept = self
        while kept.rows > MOST and not self.every:
            kept = kept._within(kept.below // 2)
        group = () if kept.group is None else (kept.group,)
        return kept._take(np.lexsort((*group, kept._weights, *wide(kept.y).T, kept.key)))

    def without(self, gone: KeptRows) -> tuple[KeptRows, int]:
        """The others, and how many of `gone` are not here although they should be."""
        gone = gone._within(min(self.below, gone.below))
        mine, theirs = self._identity(), gone._identity()
        order = np.argsort(mine, kind="stable")
        names, first, count = np.unique(mine[order], return_index=True, return_counts=True)
        wanted, many = np.unique(theirs, return_counts=True)
        place = np.minimum(np.searchsorted(names, wanted), max(len(names) - 1, 0))
        here = np.where(names[place] == wanted, count[place], 0) if len(names) else np.zeros(len(wanted), int)
        taken = np.minimum(here, many)
        places = [order[first[p] : first[p] + n] for p, n in zip(place, taken, strict=True) if n]
        left = np.setdiff1d(np.arange(self.rows), np.concatenate(places)) if places else np.arange(self.rows)
        return self._take(left), int((many - taken).sum())

    def _identity(self) -> Keys:
        weight = () if self.weight is None else (hash_numbers(self.weight),)
        group = () if self.group is None else (self.group,)
        return combine([self.key, hash_targets(self.y), *weight, *group])

    def of_target(self, place: int) -> KeptRows:
        return replace(self, y=np.ascontiguousarray(self.y[:, place]))

    def scaled(self, factor: float) -> KeptRows:
        return replace(self, weight=self._weights * factor)


_ROWS = ("X", "y", "raw", "key")
_COUNTS = ("rows", "counts")  # of rows, whatever their weights


@dataclass(frozen=True)
class KeptSums:
    """Of some rows, through one view and one set of landmarks."""

    sides: dict[Side, Sums]
    sample: KeptRows
    low: Array | float  # smallest and largest u; (q,) of several targets
    high: Array | float

    def merge(self, other: KeptSums) -> KeptSums:
        sides = dict(self.sides)
        for side, sums in other.sides.items():
            sides[side] = sides[side].merge(sums) if side in sides else sums
        ends = plain(np.minimum(self.low, other.low)), plain(np.maximum(self.high, other.high))
        return KeptSums(sides, self.sample.merge(other.sample), *ends)

    def scaled(self, factor: float) -> KeptSums:
        """Every row counts for `factor` of what it did; rows stay rows."""
        sides = {
            side: Sums({name: value if name in _COUNTS else factor * value for name, value in sums.values.items()})
            for side, sums in self.sides.items()
        }
        return replace(self, sides=sides, sample=self.sample.scaled(factor))

    def without(self, gone: KeptSums) -> tuple[KeptSums, int]:
        """The sums of the other rows, and how many of `gone` were certainly never here."""
        sides = dict(self.sides)
        for side, sums in gone.sides.items():
            taken = Sums({name: -value for name, value in sums.values.items()})
            sides[side] = sides[side].merge(taken) if side in sides else taken
        sample, strangers = self.sample.without(gone.sample)
        return replace(self, sides=sides, sample=sample), strangers

    def rows(self, *sides: Side) -> int:
        return sum(int(self.sides[side]["rows"]) for side in sides or SIDES if side in self.sides)

    def of_target(self, place: int) -> KeptSums:
        """The same for one of several targets."""
        sides = {side: sums_with_target(sums, place) for side, sums in self.sides.items()}
        ends = (float(np.asarray(end)[place]) for end in (self.low, self.high))
        return KeptSums(sides, self.sample.of_target(place), *ends)


@dataclass(frozen=True)
class Kept:
    """The sums, and what a new row goes through on its way into them."""

    hashed: HashSplit
    frozen: Frozen
    sums: KeptSums
    rare: tuple[int, ...] = ()  # places of classes whose rows all train
    targets: tuple[int, ...] = ()  # the shape of a row's target as the method sees it
    classes: int = 0  # how many, where the target has some
    groups: tuple[InputColumn, ...] = ()  # columns whose rows with equal cells are held out together

    @property
    def split(self) -> Split:
        return KeptClasses(self.hashed, self.rare) if self.rare else self.hashed

    @property
    def bytes(self) -> int:
        arrays = [*vars(self.frozen).values(), *vars(self.sums.sample).values()]
        arrays += [value for one in self.sums.sides.values() for value in one.values.values()]
        if isinstance(self.frozen, FrozenLayer):
            arrays.append(self.frozen.layer.W)
        return int(sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)))

    def of_target(self, place: int) -> Kept:
        """What a model of one of several targets keeps."""
        return replace(self, sums=self.sums.of_target(place), targets=())

    def with_sums(self, sums: KeptSums) -> Kept:
        return replace(self, sums=sums)

    # --- in a file -----------------------------------------------------------------------------------------------

    def to_document(self) -> dict[str, Any]:
        sample = self.sums.sample
        return {
            "seed": self.hashed.seed,
            "validation_below": self.hashed.validation_below,
            "rare": list(self.rare),
            "targets": list(self.targets),
            "classes": self.classes,
            "of": frozen_document(self.frozen),
            "sides": {side.name.lower(): _packed(sums) for side, sums in self.sums.sides.items()},
            "sample": {
                **{name: getattr(sample, name) for name in _ROWS},
                "weight": sample.weight,
                "below": sample.below,
                **({} if sample.group is None else {"group": sample.group}),
            },
            **({"groups": [_column_document(one) for one in self.groups]} if self.groups else {}),
            "low": plain(self.sums.low),
            "high": plain(self.sums.high),
        }

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Kept:
        """ValueError, KeyError or TypeError unless it could have been written here."""
        whole("seed", document["seed"], 0, 2**32 - 1)
        whole("validation_below", document["validation_below"], 0, _SPAN)
        whole("classes", document["classes"], 0, 1 << 20)
        must(type(document["rare"]) is list and type(document["targets"]) is list, "no list of classes")
        for name, most in (("rare", max(document["classes"] - 1, 0)), ("targets", 1 << 20)):
            for one in document[name]:
                whole(name, one, 0, most)
        must(set(document["sides"]) <= {side.name.lower() for side in SIDES}, "a side is unknown")
        must(len(document["sides"]) > 0, "no side is kept")
        frozen = frozen_from(document["of"])
        d = frozen.Z.shape[1]
        shape = _Shapes(frozen, d, tuple(document["targets"]), document["classes"])
        sides = {Side[name.upper()]: shape.unpacked(one) for name, one in document["sides"].items()}
        several = () if shape.classes else shape.targets
        _check_ends(document["low"], document["high"], several)
        sample = _rows_of(document["sample"], d, frozen.every_row, several)
        sums = KeptSums(sides, sample, document["low"], document["high"])
        split = HashSplit(document["seed"], document["validation_below"])
        groups = tuple(_column_of(one) for one in document.get("groups", ()))
        must(bool(groups) is (sample.group is not None), "groups without the columns that name them")
        return Kept(split, frozen, sums, tuple(document["rare"]), shape.targets, shape.classes, groups)


def _column_document(column: InputColumn) -> dict[str, Any]:
    return {"name": column.name, "kind": column.kind.value, "categorical": column.categorical}


def _column_of(document: Mapping[str, Any]) -> InputColumn:
    must(type(document["name"]) is str, "a column of groups has no name")
    truth("categorical", document["categorical"])
    return InputColumn(document["name"], Kind(document["kind"]), document["categorical"])


_SYMMETRIC = ("BB", "XX")


def _packed(sums: Sums) -> dict[str, Any]:
    """Of a symmetric matrix, its lower triangle row by row."""
    packed: dict[str, Any] = {}
    for name, value in sums.values.items():
        if name in _SYMMETRIC:
            packed[name] = value[np.tril_indices(len(value))]
        else:
            packed[name] = int(value) if name == "rows" else value if np.ndim(value) else float(value)
    return packed


@dataclass(frozen=True)
class _Shapes:
    """Of the sums of one side."""

    frozen: Frozen
    d: int
    targets: tuple[int, ...]
    classes: int

    def unpacked(self, packed: Mapping[str, Any]) -> Sums:
        """ValueError unless they could have been summed."""
        k, q = self.frozen.size, self.targets
        shapes = {"b": (k,), "By": (k, *q), "Xy": (self.d + 1, *q), "y": q, "yy": q}
        if isinstance(self.frozen, FrozenLayer) and len(self.frozen.Z):
            shapes |= {"p": (k,), "pp": (k,), "py": (k, *q)}
        if self.classes:
            shapes["counts"] = (self.classes,)
        symmetric = {"BB": k, "XX": self.d + 1}
        must(set(packed) == {"n", "rows", *shapes, *symmetric}, "the sums are those of another format")
        whole("rows", packed["rows"], 0, 1 << 62)
        number("n", packed["n"], lowest=0.0)
        values = dict(packed)
        for name, shape in shapes.items():
            lowest = 0.0 if name in ("yy", "counts") else -np.inf
            if shape == ():
                number(name, packed[name], lowest)
            else:
                numbers(name, packed[name], shape, lowest)
        for name, size in symmetric.items():
            numbers(name, packed[name], (size * (size + 1) // 2,))
            full = np.zeros((size, size))
            full[np.tril_indices(size)] = packed[name]
            values[name] = full + np.tril(full, -1).T
        return Sums(values)


def _check_ends(low: Any, high: Any, several: tuple[int, ...]) -> None:
    """Of u: numbers, or one for each of several targets."""
    if not several:
        number("low", low)
        number("high", high, lowest=low)
        return
    numbers("low", low, several)
    numbers("high", high, several)
    must(bool(np.all(low <= high)), "'low' is above 'high'")


def _rows_of(document: Mapping[str, Any], d: int, every: bool, several: tuple[int, ...]) -> KeptRows:
    must(type(document["y"]) is np.ndarray and document["y"].ndim == 1 + len(several), "'y' has another width")
    s = len(document["y"])
    must(every or s <= MOST, "the sample is too large")
    numbers("X", document["X"], (s, d))
    numbers("y", document["y"], (s, *several))
    raw = document["raw"]
    must(type(raw) is np.ndarray and raw.ndim == 2, "'raw' is not a table")
    numbers("raw", np.where(np.isnan(raw), 0.0, raw), (s, raw.shape[1]))  # a cell may be missing
    key = document["key"]
    must(type(key) is np.ndarray and key.dtype == np.uint64 and key.shape == (s,), "'key' holds no hashes")
    if document["weight"] is not None:
        numbers("weight", document["weight"], (s,), lowest=0.0)
        must(bool(np.all(document["weight"] > 0.0)), "'weight' has a zero")
    whole("below", document["below"], 1, _SPAN)
    must(not every or document["below"] == _SPAN, "rows are missing")
    group = document.get("group")
    if group is not None:
        must(type(group) is np.ndarray and group.dtype == np.uint64 and group.shape == (s,), "'group' holds no hashes")
    rows = {name: document[name] for name in (*_ROWS, "weight", "below")}
    return KeptRows(**rows, group=group, every=every)


def merged(parts: list[KeptSums]) -> KeptSums:
    return reduce(KeptSums.merge, parts)
