"""What the contributions of columns are measured from, as a model file keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from enrelm_cli.inputs.checks import must, number, numbers
from enrelm_cli.types import Array


@dataclass(frozen=True)
class Reference:
    """The even sample's average prediction and average path, in units of the target's spread."""

    average: float
    offsets: Array  # (columns,) mean a_k over the sample; 0 for columns without inputs

    def to_document(self) -> dict[str, Any]:
        return {"average": self.average, "offsets": self.offsets}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Reference:
        return Reference(document["average"], document["offsets"])

    def check(self, columns: int) -> None:
        """ValueError unless it could be of a model of so many columns."""
        must(type(self.average) is float, "'average' is no number")
        number("average", self.average)
        numbers("offsets", self.offsets, (columns,))
