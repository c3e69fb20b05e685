"""What an updatable model keeps of its rows: sums by side, and an even sample; both add up, and can be taken away.

The Gram sums are those of rows b = K(x, Z) R of the landmarks Z, and of the inputs with a column of ones for linear
regression beside them; each row times its weight. The sample is every row whose hash lies below a bound, which is
halved whenever there are too many of them: which rows it holds depends on the rows alone, not on their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.folds import Sums
from enrelm_cli.fold.hashing import SAMPLE_SALT, combine, hash_numbers, rehash
from enrelm_cli.fold.weights import Weights
from enrelm_cli.inputs.checks import must, number, numbers, truth, whole
from enrelm_cli.inputs.split import HashSplit, Side
from enrelm_cli.types import Array, Keys

# Rows of the sample that choose the ridge and give left-out errors, at most.
MOST = 8192
_SPAN = 1 << 64
SIDES = (Side.TRAIN, Side.VALIDATION)


@dataclass(frozen=True)
class KeptRows:
    """An even sample of rows as the kernel sees them, sorted by key."""

    X: Array  # (s, d) standardised inputs
    z: Array  # (s,) the target on its scale
    y: Array  # (s,) the target itself
    raw: Array  # (s, columns) before the map
    key: Keys  # (s,) hashes of the inputs
    weight: Weights = None  # (s,)
    below: int = _SPAN  # rows whose hash is below it are here

    @property
    def rows(self) -> int:
        return len(self.z)

    def merge(self, other: KeptRows) -> KeptRows:
        below = min(self.below, other.below)
        parts = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in _ROWS}
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate([self._weights, other._weights])
        return KeptRows(**parts, weight=weight, below=below)._within(below).thinned()

    @property
    def _weights(self) -> Array:
        return np.ones(self.rows) if self.weight is None else self.weight

    def _take(self, places: NDArray[Any]) -> KeptRows:
        weight = None if self.weight is None else self.weight[places]
        return replace(self, weight=weight, **{name: getattr(self, name)[places] for name in _ROWS})

    def _within(self, below: int) -> KeptRows:
        low = np.ones(self.rows, bool) if below >= _SPAN else rehash(self.key, SAMPLE_SALT) < np.uint64(below)
        kept = self if low.all() else self._take(np.flatnonzero(low))
        return replace(kept, below=below)

    def thinned(self) -> KeptRows:
        """At most MOST rows, sorted: whichever rows came first."""
        kept = self
        while kept.rows > MOST:
            kept = kept._within(kept.below // 2)
        return kept._take(np.lexsort((kept._weights, kept.y, kept.key)))

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
        return combine([self.key, hash_numbers(self.y), *weight])

    def scaled(self, factor: float) -> KeptRows:
        return replace(self, weight=self._weights * factor)


_ROWS = ("X", "z", "y", "raw", "key")


@dataclass(frozen=True)
class KeptSums:
    """Of some rows, through one view and one set of landmarks."""

    sides: dict[Side, Sums]
    sample: KeptRows
    low: float  # smallest and largest u
    high: float

    def merge(self, other: KeptSums) -> KeptSums:
        sides = dict(self.sides)
        for side, sums in other.sides.items():
            sides[side] = sides[side].merge(sums) if side in sides else sums
        ends = min(self.low, other.low), max(self.high, other.high)
        return KeptSums(sides, self.sample.merge(other.sample), *ends)

    def scaled(self, factor: float) -> KeptSums:
        """Every row counts for `factor` of what it did; rows stay rows."""
        sides = {
            side: Sums({name: value if name == "rows" else factor * value for name, value in sums.values.items()})
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

    def total(self, side: Side) -> Sums | None:
        return self.sides.get(side)


@dataclass(frozen=True)
class Kept:
    """The sums, and what a new row goes through on its way into them."""

    split: HashSplit
    Z: Array  # (m, d) landmarks
    R: Array  # (m, k) of the projection
    triangular: bool
    sums: KeptSums

    @property
    def bytes(self) -> int:
        arrays = [self.R, self.sums.sample.X, *(one["BB"] for one in self.sums.sides.values())]
        return int(sum(array.nbytes for array in arrays))

    def with_sums(self, sums: KeptSums) -> Kept:
        return replace(self, sums=sums)

    # --- in a file -----------------------------------------------------------------------------------------------

    def to_document(self) -> dict[str, Any]:
        sample = self.sums.sample
        return {
            "seed": self.split.seed,
            "validation_below": self.split.validation_below,
            "Z": self.Z,
            "R": self.R,
            "triangular": self.triangular,
            "sides": {side.name.lower(): _packed(sums) for side, sums in self.sums.sides.items()},
            "sample": {
                **{name: getattr(sample, name) for name in _ROWS},
                "weight": sample.weight,
                "below": sample.below,
            },
            "low": float(self.sums.low),
            "high": float(self.sums.high),
        }

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Kept:
        """ValueError, KeyError or TypeError unless it could have been written here."""
        whole("seed", document["seed"], 0, 2**32 - 1)
        whole("validation_below", document["validation_below"], 0, _SPAN)
        must(set(document["sides"]) <= {side.name.lower() for side in SIDES}, "a side is unknown")
        must(len(document["sides"]) > 0, "no side is kept")
        must(type(document["Z"]) is np.ndarray and document["Z"].ndim == 2, "'Z' is no matrix")
        (m, d), R = document["Z"].shape, document["R"]
        must(type(R) is np.ndarray and R.ndim == 2 and 0 < R.shape[1] <= m, "'R' is no matrix of the landmarks")
        numbers("Z", document["Z"], (m, d))
        numbers("R", R, (m, R.shape[1]))
        truth("triangular", document["triangular"])
        must(not document["triangular"] or R.shape[1] == m, "'R' is no triangle")
        number("low", document["low"])
        number("high", document["high"], lowest=document["low"])
        sides = {Side[name.upper()]: _unpacked(one, R.shape[1], d) for name, one in document["sides"].items()}
        sums = KeptSums(sides, _rows_of(document["sample"], d), document["low"], document["high"])
        split = HashSplit(document["seed"], document["validation_below"])
        R = np.asfortranarray(R) if document["triangular"] else R
        return Kept(split, document["Z"], R, document["triangular"], sums)


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


def _unpacked(packed: Mapping[str, Any], k: int, d: int) -> Sums:
    must(set(packed) == {"n", "rows", "b", "BB", "By", "y", "yy", "XX", "Xy"}, "the sums are those of another format")
    whole("rows", packed["rows"], 0, 1 << 62)
    for name in ("n", "yy"):
        number(name, packed[name], lowest=0.0)
    number("y", packed["y"])
    numbers("b", packed["b"], (k,))
    numbers("By", packed["By"], (k,))
    numbers("Xy", packed["Xy"], (d + 1,))
    values = dict(packed)
    for name, size in (("BB", k), ("XX", d + 1)):
        numbers(name, packed[name], (size * (size + 1) // 2,))
        full = np.zeros((size, size))
        full[np.tril_indices(size)] = packed[name]
        values[name] = full + np.tril(full, -1).T
    return Sums(values)


def _rows_of(document: Mapping[str, Any], d: int) -> KeptRows:
    must(type(document["z"]) is np.ndarray and document["z"].ndim == 1, "'z' is no column")
    s = len(document["z"])
    must(s <= MOST, "the sample is too large")
    numbers("X", document["X"], (s, d))
    numbers("z", document["z"], (s,))
    numbers("y", document["y"], (s,))
    raw = document["raw"]
    must(type(raw) is np.ndarray and raw.ndim == 2, "'raw' is no table")
    numbers("raw", np.where(np.isnan(raw), 0.0, raw), (s, raw.shape[1]))  # a cell may be missing
    key = document["key"]
    must(type(key) is np.ndarray and key.dtype == np.uint64 and key.shape == (s,), "'key' holds no hashes")
    if document["weight"] is not None:
        numbers("weight", document["weight"], (s,), lowest=0.0)
        must(bool(np.all(document["weight"] > 0.0)), "'weight' has a zero")
    whole("below", document["below"], 1, _SPAN)
    return KeptRows(*(document[name] for name in (*_ROWS, "weight", "below")))


def merged(parts: list[KeptSums]) -> KeptSums:
    return reduce(KeptSums.merge, parts)
