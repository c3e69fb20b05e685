"""The inputs of a few rows without missing cells: one operation for all columns of a kind instead of one for each.

The numbers are those of the maps themselves, to the last bit; ten rows of ten columns take a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.inputs.maps.column_map import ColumnMap
from enrelm_cli.inputs.maps.dates import VALUE
from enrelm_cli.inputs.maps.numbers import Scores, Squashed, squash
from enrelm_cli.types import Array

Places = NDArray[np.int64]

# Beyond so many rows a column at a time is as fast.
FEW = 256


@dataclass(frozen=True)
class FewRows:
    """Every map of an expansion, with the place of its first input."""

    squashed: tuple[Places, Places, Array, Array]  # (k,) each: places, columns, centres, units
    scores: tuple[tuple[int, Scores], ...]
    others: tuple[tuple[int, ColumnMap], ...]

    def write(self, raw: Array, out: Array) -> None:
        """Fill `out` (t, width) from raw rows (t, columns) without a missing cell."""
        places, columns, centre, unit = self.squashed
        if len(places):
            out[:, places] = squash(raw[:, columns], centre, unit)
        for place, one in self.scores:
            out[:, place] = np.interp(raw[:, one.column], one.knots, one.scores)
        for place, other in self.others:
            other.write(raw[:, other.column], None, out[:, place : place + other.width])


def few_rows(maps: Sequence[ColumnMap]) -> FewRows:
    ends = np.cumsum([0, *(one.width for one in maps)])
    placed = list(zip(ends[:-1].tolist(), maps, strict=True))
    squashed = [(place, one) for place, one in placed if isinstance(one, Squashed) and one.part == VALUE]
    scores = tuple((place, one) for place, one in placed if isinstance(one, Scores) and one.part == VALUE)
    together = {place for place, _ in (*squashed, *scores)}
    return FewRows(
        (
            np.array([place for place, _ in squashed], dtype=np.int64),
            np.array([one.column for _, one in squashed], dtype=np.int64),
            np.array([one.centre for _, one in squashed]),
            np.array([one.unit for _, one in squashed]),
        ),
        scores,
        tuple((place, one) for place, one in placed if place not in together),
    )
