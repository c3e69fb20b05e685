"""Raw rows -> the inputs X that a kernel sees: a map for each column, then one scaling.

    X = (E - mean) / scale,  E (t, all) what the columns' maps make of a raw row

Inputs that never vary on the training rows are left out. Inputs are first multiplied by a power of two (exact), so that
values such as 1e300 or 1e-300 neither overflow nor vanish.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.inputs.checks import integers, must, numbers, whole
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.inputs.maps.codes import CodeIndicators, CodeMeans
from enrelm_cli.inputs.maps.column_map import FAR, ColumnMap, Folds
from enrelm_cli.inputs.maps.few_rows import FEW, FewRows, few_rows
from enrelm_cli.inputs.maps.levels import LevelIndicators, LevelMeans
from enrelm_cli.inputs.maps.missing import Missing
from enrelm_cli.inputs.maps.numbers import Scores, Spikes, Squashed, ValueIndicators
from enrelm_cli.inputs.maps.plain import OneHot, Value
from enrelm_cli.types import Array

_KINDS: Mapping[str, Any] = {
    "value": Value,
    "one-hot": OneHot,
    "squashed": Squashed,
    "scores": Scores,
    "value-indicators": ValueIndicators,
    "spikes": Spikes,
    "level-indicators": LevelIndicators,
    "level-means": LevelMeans,
    "code-indicators": CodeIndicators,
    "code-means": CodeMeans,
    "missing": Missing,
}


@dataclass(frozen=True)
class Expansion:
    """The columns' maps side by side, before any scaling."""

    maps: tuple[ColumnMap, ...]

    @cached_property
    def width(self) -> int:
        return sum(one.width for one in self.maps)

    def __call__(self, raw: Array, fold: Folds | None = None) -> Array:
        """(t, columns) -> E (t, width); `fold` (t,) where the rows are training rows."""
        E = np.empty((len(raw), self.width))
        if len(raw) <= FEW and fold is None and not np.isnan(raw).any():
            self._few_rows.write(raw, E)
            return E
        at = 0
        for one in self.maps:
            one.write(raw[:, one.column], fold, E[:, at : at + one.width])
            at += one.width
        return E

    @cached_property
    def _few_rows(self) -> FewRows:
        return few_rows(self.maps)

    def names(self, columns: Sequence[Column]) -> tuple[str, ...]:
        return tuple(name for one in self.maps for name in one.names(columns[one.column]))

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """(width,) the column that each input comes from."""
        return tuple(one.column for one in self.maps for _ in range(one.width))


@dataclass(frozen=True)
class InputMap:
    """How a raw row becomes a row of X."""

    expansion: Expansion
    keep: NDArray[np.int64]  # (d,) which expanded inputs vary on the training rows
    exponent: NDArray[np.int64]  # (d,)
    mean: Array  # (d,) in units of 2^exponent
    scale: Array  # (d,) in units of 2^exponent

    @property
    def d(self) -> int:
        return len(self.keep)

    @property
    def by_fold(self) -> bool:
        """Training rows that are equal but in different folds have different inputs."""
        return any(one.by_fold for one in self.expansion.maps)

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """(d,) the column that each input comes from."""
        return tuple(self.expansion.groups[k] for k in self.keep)

    def names(self, columns: Sequence[Column]) -> tuple[str, ...]:
        """(d,) what each input is called."""
        names = self.expansion.names(columns)
        return tuple(names[k] for k in self.keep)

    def constant(self, columns: Sequence[Column]) -> tuple[str, ...]:
        """The inputs that are left out."""
        kept = set(self.keep.tolist())
        return tuple(name for k, name in enumerate(self.expansion.names(columns)) if k not in kept)

    def inputs(self, raw: Array, fold: Folds | None = None) -> Array:
        """(t, columns) -> (t, d); `fold` (t,) where the rows are training rows."""
        E = self.expansion(raw, fold)
        kept = E if self.d == E.shape[1] else E[:, self.keep]
        X = np.ldexp(kept, -self.exponent) if self.exponent.any() else kept
        X -= self.mean
        X /= self.scale
        if X.size and (np.max(X) > FAR or np.min(X) < -FAR):
            np.clip(X, -FAR, FAR, out=X)
        return X

    def check(self, columns: Sequence[Column]) -> None:
        """ValueError unless it could have been fitted to these columns."""
        for one in self.expansion.maps:
            whole("column", one.column, 0, len(columns) - 1)
            one.check(columns[one.column])
        d = len(self.keep)
        integers("keep", self.keep, (d,), 0, self.expansion.width - 1)
        must(d > 0 and bool(np.all(np.diff(self.keep) > 0)), "'keep' is not increasing")
        integers("exponent", self.exponent, (d,), -1100, 1100)
        numbers("mean", self.mean, (d,))
        numbers("scale", self.scale, (d,), lowest=0.0)
        must(bool(np.all(self.scale > 0.0)), "'scale' has a zero")

    def to_document(self) -> dict[str, Any]:
        return {
            "columns": [one.to_document() for one in self.expansion.maps],
            "keep": self.keep,
            "exponent": self.exponent,
            "mean": self.mean,
            "scale": self.scale,
        }

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> InputMap:
        maps = tuple(_map_of(one) for one in document["columns"])
        return InputMap(Expansion(maps), document["keep"], document["exponent"], document["mean"], document["scale"])


def _map_of(document: Mapping[str, Any]) -> ColumnMap:
    fields = {name: value for name, value in document.items() if name != "kind"}
    kind = document["kind"]
    if kind not in _KINDS:
        raise ValueError(f"a map of the kind {kind!r} is unknown")
    one: ColumnMap = _KINDS[kind](**fields)
    return one
