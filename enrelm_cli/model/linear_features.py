"""What linear models of classes predict with: a sum over inputs, as one hidden output.

f(x) = x B
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.inputs.checks import must, numbers
from enrelm_cli.types import Array


@dataclass(frozen=True)
class LinearFeatures:
    """f(x) as the only hidden output."""

    kind: ClassVar[str] = "linear"
    size: ClassVar[int] = 1
    B: Array  # (d,), or (d, q) of q targets

    def outputs(self, X: Array) -> Array:
        """(t, d) -> (t, 1), or (t, 1, q)."""
        return (X @ self.B)[:, None]

    def combine(self, X: Array, beta: Array) -> Array:
        """beta f(X): (t, ...)."""
        total: Array = beta[0] * (X @ self.B)
        return total

    def along(self, direction: Array) -> LinearFeatures:
        """Of q targets, those of one: f(x) times direction (q,)."""
        return LinearFeatures(self.B @ direction)

    def take(self, order: NDArray[np.int64]) -> LinearFeatures:
        if len(order) != 1 or order[0] != 0:
            raise ValueError("a linear model has one hidden output")
        return self

    @property
    def kernel_values(self) -> int:
        return 0

    def require(self) -> None:
        """Nothing that is not installed with this package."""

    def check(self, n: int, d: int) -> None:
        must(n == 1, "a linear model has one hidden output")
        must(self.B.ndim in (1, 2), "'B' has too many axes")
        numbers("B", self.B, (d, *self.B.shape[1:]))

    def to_document(self) -> dict[str, Any]:
        return {"B": self.B}

    @staticmethod
    def from_document(document: dict[str, Any]) -> LinearFeatures:
        return LinearFeatures(document["B"])
