"""The target as the method sees it, and predictions back in the target's own units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.inputs.checks import number
from enrelm_cli.inputs.maps.input_map import FAR
from enrelm_cli.types import Array


@dataclass(frozen=True)
class TargetScale:
    """z = (y - mean) / scale of the training rows."""

    mean: float
    scale: float  # standard deviation of the training target

    def forward(self, y: Array) -> Array:
        """(t,) -> (t,), in units of the training target's spread."""
        _, exponent = np.frexp(self.scale)
        shift = -int(exponent) if abs(int(exponent)) > 100 else 0
        # The difference of two targets near the end of the numbers is beyond it; so is a far one in a tiny unit.
        with np.errstate(over="ignore"):
            centred = np.ldexp(y, shift) - np.ldexp(self.mean, shift)
            scaled: Array = np.clip(centred / np.ldexp(self.scale, shift), -FAR, FAR)
        return scaled

    def back(self, z: Array) -> Array:
        """(t,) predictions of z -> predictions of y, which may overflow far outside of the training rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            y: Array = self.mean + self.scale * z
        return y

    def check(self) -> None:
        """ValueError unless it could have been fitted."""
        number("mean", self.mean)
        number("scale", self.scale, lowest=0.0)

    def to_document(self) -> dict[str, Any]:
        return dict(vars(self))

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> TargetScale:
        return TargetScale(**document)
