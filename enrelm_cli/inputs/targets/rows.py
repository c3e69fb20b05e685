"""One of several targets: rows, and sums over them, as a fit of that target alone has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from enrelm_cli.fold.folds import Chunk, Sums


@dataclass(frozen=True)
class OneTarget:
    """A piece of a table whose rows have several targets, with one of them."""

    piece: Iterable[Chunk]
    place: int

    def __iter__(self) -> Iterator[Chunk]:
        return (with_target(chunk, self.place) for chunk in self.piece)


def with_target(chunk: Chunk, place: int) -> Chunk:
    """y (t, q) -> (t,)."""
    return replace(chunk, y=np.ascontiguousarray(chunk.y[:, place]))


# Sums that have a column for each target, the last axis.
_OF_TARGETS = ("By", "Xy", "py", "y", "yy")


def sums_with_target(sums: Sums, place: int) -> Sums:
    """Of sums of several targets."""
    own = {name: np.asarray(sums[name])[..., place] for name in _OF_TARGETS if name in sums.values}
    return Sums({**sums.values, **{name: float(v) if v.ndim == 0 else v.copy() for name, v in own.items()}})
