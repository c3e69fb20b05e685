"""Several targets side by side as phase 1 sees them: z = (z_1, ..., z_q), each on its own scale.

Phase 2 has one target at a time, and the scale of that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.types import Array


@dataclass(frozen=True)
class SeveralScale:
    """The scale of each target."""

    transform: ClassVar[str] = "none"  # of all of them together
    is_linear: ClassVar[bool] = True
    scale: ClassVar[float] = 1.0
    spread: ClassVar[float] = 1.0
    scales: tuple[TargetScale, ...]

    def forward(self, y: Array) -> Array:
        """z: (t, q) -> (t, q)."""
        return np.column_stack([scale.forward(y[:, k]) for k, scale in enumerate(self.scales)])

    def standard(self, y: Array) -> Array:
        """u: (t, q) -> (t, q)."""
        return np.column_stack([scale.standard(y[:, k]) for k, scale in enumerate(self.scales)])

    def units(self, z: Array) -> Array:
        """u of targets z: (t, q) -> (t, q)."""
        return np.column_stack([scale.units(z[:, k]) for k, scale in enumerate(self.scales)])

    def predicted(self, z: Array) -> Array:
        """u of predictions z: (t, q) -> (t, q)."""
        return np.column_stack([scale.predicted(z[:, k]) for k, scale in enumerate(self.scales)])

    def smeared(self, errors: Array, weight: Array | None = None) -> SeveralScale:
        """With left-out errors (r, q) of z."""
        each = [scale.smeared(errors[:, k], weight) for k, scale in enumerate(self.scales)]
        return SeveralScale(tuple(each))
