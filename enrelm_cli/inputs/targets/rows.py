"""One of several targets: rows as a fit of that target alone has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from enrelm_cli.fold.folds import Chunk


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
