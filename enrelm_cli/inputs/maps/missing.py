"""Where a number or a date was missing, as an input of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.inputs import checks
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.inputs.maps.column_map import Folds
from enrelm_cli.inputs.maps.numbers import RARE
from enrelm_cli.types import Array


@dataclass(frozen=True)
class Missing:
    """1 where the cell is missing, else 0."""

    column: int
    width = 1
    shared = False
    by_fold = False
    least_spread = RARE

    def names(self, column: Column) -> list[str]:
        return [f"{column.name} is missing"]

    def write(self, raw: Array, fold: Folds | None, out: Array) -> None:
        out[:, 0] = np.isnan(raw)

    def check(self, column: Column) -> None:
        checks.must(column.levels is None, f"missing cells of {column.name!r} are a level")

    def to_document(self) -> dict[str, Any]:
        return {"kind": "missing", **vars(self)}
