"""What the contributions of columns are measured from, as a model file keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.inputs.checks import must, number, numbers
from enrelm_cli.types import Array


@dataclass(frozen=True)
class Reference:
    """The even sample's average prediction and average path, in units of the target's spread."""

    average: float | Array  # (k,) of k scores of classes
    offsets: Array  # (columns,) mean a_k over the sample, or (k, columns); 0 for columns without inputs

    @staticmethod
    def stacked(parts: Sequence[Reference]) -> Reference:
        """Of several scores."""
        return Reference(np.array([one.average for one in parts]), np.stack([one.offsets for one in parts]))

    def of(self, score: int) -> Reference:
        """Of one of several scores."""
        return Reference(float(np.asarray(self.average)[score]), self.offsets[score])

    def to_document(self) -> dict[str, Any]:
        return {"average": self.average, "offsets": self.offsets}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Reference:
        return Reference(document["average"], document["offsets"])

    def check(self, columns: int, scores: tuple[int, ...] = ()) -> None:
        """ValueError unless it could be of a model of so many columns, and of (k,) scores where there are several."""
        if scores:
            numbers("average", self.average, scores)
        else:
            must(type(self.average) is float, "'average' is not a number")
            number("average", self.average)
        numbers("offsets", self.offsets, (*scores, columns))
