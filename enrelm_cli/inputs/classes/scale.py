"""Classes as the method sees them: vertices of a regular simplex, and predictions of them back as scores of classes.

    z = (V_c - p V) / s for a row of class c,   V V' = I - 1 1'/C,   p the classes' shares of the training rows,

V (C, C - 1), s such that z has mean 0 and mean square 1 over the training rows. Then s z V' = e_c - p: least squares of
z is least squares of the classes' indicators, all classes alike, in C - 1 columns, and z = 0 stands for the shares p.
Two classes are one column, (y - p) / sqrt(p (1 - p)) of y = 0 and 1: regression on the coded target.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.columns import wide
from enrelm_cli.inputs.checks import must, numbers
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.inputs.targets.scale import SeveralScale
from enrelm_cli.types import Array

Codes = NDArray[np.int64]


def vertices(classes: int) -> Array:
    """(C, C - 1): orthonormal columns that sum to zero (Helmert's), so that V V' = I - 1 1'/C."""
    V = np.zeros((classes, classes - 1))
    for j in range(1, classes):
        V[:j, j - 1] = -1.0
        V[j, j - 1] = j
        V[:, j - 1] /= np.sqrt(j * (j + 1.0))
    return V


@dataclass(frozen=True)
class ClassScale:
    """Fixed by the training rows of each class; the raw target of a row is its class's place, 0 to C - 1."""

    kind: ClassVar[str] = "classes"
    transform: ClassVar[str] = "none"
    is_linear: ClassVar[bool] = True
    scale: ClassVar[float] = 1.0
    counts: Array  # (C,) weight of the training rows of each class

    @property
    def classes(self) -> int:
        return len(self.counts)

    @property
    def targets(self) -> tuple[int, ...]:
        """The shape of a row's z."""
        return () if self.classes == 2 else (self.classes - 1,)

    @cached_property
    def shares(self) -> Array:
        """(C,) as they are."""
        shares: Array = self.counts / self.counts.sum()
        return shares

    @cached_property
    def log_shares(self) -> Array:
        """(C,) with half a row added to each: a class that no training row has is rare, not impossible."""
        logarithm: Array = np.log((self.counts + 0.5) / (self.counts.sum() + 0.5 * self.classes))
        return logarithm

    @cached_property
    def V(self) -> Array:
        return vertices(self.classes)

    @cached_property
    def spread(self) -> float:
        """s."""
        return float(np.sqrt(self.shares @ np.sum(self._centred**2, axis=1)))

    @cached_property
    def _centred(self) -> Array:
        centred: Array = self.V - self.shares @ self.V
        return centred

    @cached_property
    def _coded(self) -> Array:
        """(C, ...) z of each class."""
        return (self._centred / self.spread).reshape(self.classes, *self.targets)

    def forward(self, y: Array) -> Array:
        """z: (t,) places of classes -> (t, ...)."""
        coded: Array = self._coded[y.astype(np.int64)]
        return coded

    def codes(self, z: Array) -> Codes:
        """The class of each row whose z is that of a class: (t, ...) -> (t,)."""
        centred = wide(z) * self.spread + self.shares @ self.V
        codes: Codes = np.argmax(centred @ self.V.T, axis=1)
        return codes

    def scores(self, z: Array) -> Array:
        """Predictions z as differences from the shares: (t, ...) -> (t, C), whose rows sum to zero."""
        scores: Array = (wide(z) * self.spread) @ self.V.T
        return scores

    def of_probabilities(self, p: Array) -> Array:
        """z whose scores are p less the shares: (t, C) -> (t, ...)."""
        return ((p - self.shares) @ self.V / self.spread).reshape(len(p), *self.targets)

    def units(self, z: Array) -> Array:
        return z

    def predicted(self, z: Array) -> Array:
        return z

    def smeared(self, errors: Array, weight: Array | None = None) -> ClassScale:
        return self

    def check(self) -> None:
        """ValueError unless it could have been fitted."""
        numbers("counts", self.counts, (len(self.counts),), lowest=0.0)
        must(int(np.count_nonzero(self.counts)) >= 2, "there are fewer than two classes")

    def to_document(self) -> dict[str, Any]:
        return {"kind": self.kind, "counts": self.counts}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> ClassScale:
        must(set(document) == {"kind", "counts"}, "the fields are those of another format")
        return ClassScale(document["counts"])


# How a model sees its target, and how a method sees the target, whatever it is.
ModelScale = TargetScale | ClassScale
Scale = ModelScale | SeveralScale


def scale_from(document: Mapping[str, Any]) -> ModelScale:
    """Of a model file."""
    return ClassScale.from_document(document) if "kind" in document else TargetScale.from_document(document)
