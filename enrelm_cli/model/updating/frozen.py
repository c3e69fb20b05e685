"""What the sums of an updatable model are of: functions b(x) of a row that stay as they are when rows come later.

landmarks:  b(x) = K(x, Z) R              the kernel variant: ridge and weights follow from B'B and B'y
layer:      b(x) = sigma(W x)             the paper's: output weights follow from S'S and S'y
rows:       none; every row is kept       leaves, and logistic regression, need the rows themselves
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from enrelm_cli.inputs.checks import must, numbers, truth
from enrelm_cli.kernels.arcsine import Kernel
from enrelm_cli.model.features import HiddenLayer, KernelFeatures, check_kernel, kernel_document, kernel_from
from enrelm_cli.types import Array


@dataclass(frozen=True)
class FrozenLandmarks:
    """b(x) = K(x, Z) R."""

    kind: ClassVar[str] = "landmarks"
    every_row: ClassVar[bool] = False
    kernel: Kernel
    Z: Array  # (m, d)
    R: Array  # (m, k) of the projection, in Fortran order where it is triangular
    triangular: bool

    @property
    def size(self) -> int:
        return int(self.R.shape[1])

    def check(self, d: int) -> None:
        m = len(self.Z)
        numbers("Z", self.Z, (m, d))
        must(type(self.R) is np.ndarray and self.R.ndim == 2 and 0 < self.size <= m, "'R' is not a matrix of landmarks")
        numbers("R", self.R, (m, self.size))
        truth("triangular", self.triangular)
        must(not self.triangular or self.size == m, "'R' is not triangular")
        check_kernel(self.kernel, d)

    def to_document(self) -> dict[str, Any]:
        return {**kernel_document(self.kernel), "Z": self.Z, "R": self.R, "triangular": self.triangular}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> FrozenLandmarks:
        R, triangular = document["R"], document["triangular"]
        R = np.asfortranarray(R) if triangular is True else R
        return FrozenLandmarks(kernel_from(dict(document)), document["Z"], R, triangular)


@dataclass(frozen=True)
class FrozenLayer:
    """b(x) = sigma(W x) of hidden weights W; where P is there also phi(x) = K(x, Z) P, which W stands for."""

    kind: ClassVar[str] = "layer"
    every_row: ClassVar[bool] = False
    kernel: Kernel
    layer: HiddenLayer
    Z: Array  # (m, d), of no rows where phi is not wanted
    P: Array  # (m, k), or (0, 0)

    @property
    def size(self) -> int:
        return self.layer.size

    @cached_property
    def phi(self) -> KernelFeatures | None:
        return KernelFeatures(self.kernel, self.Z, self.P, np.zeros(self.size)) if len(self.Z) else None

    def check(self, d: int) -> None:
        must(self.size > 0, "the layer has no neuron")
        self.layer.check(self.size, d)
        numbers("Z", self.Z, (len(self.Z), d))
        numbers("P", self.P, (len(self.Z), self.size) if len(self.Z) else (0, 0))
        check_kernel(self.kernel, d)

    def to_document(self) -> dict[str, Any]:
        return {**kernel_document(self.kernel), "layer": self.layer.to_document(), "Z": self.Z, "P": self.P}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> FrozenLayer:
        layer = HiddenLayer.from_document(document["layer"])
        return FrozenLayer(kernel_from(dict(document)), layer, document["Z"], document["P"])


@dataclass(frozen=True)
class FrozenInputs:
    """No function of a row: every one of them is kept. Landmarks, if there are any, stay."""

    kind: ClassVar[str] = "rows"
    every_row: ClassVar[bool] = True
    size: ClassVar[int] = 0
    kernel: Kernel
    Z: Array  # (m, d)

    def check(self, d: int) -> None:
        numbers("Z", self.Z, (len(self.Z), d))
        check_kernel(self.kernel, d)

    def to_document(self) -> dict[str, Any]:
        return {**kernel_document(self.kernel), "Z": self.Z}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> FrozenInputs:
        return FrozenInputs(kernel_from(dict(document)), document["Z"])


Frozen = FrozenLandmarks | FrozenLayer | FrozenInputs
_KINDS: dict[str, type[Frozen]] = {one.kind: one for one in (FrozenLandmarks, FrozenLayer, FrozenInputs)}


def frozen_document(frozen: Frozen) -> dict[str, Any]:
    return {"kind": frozen.kind, **frozen.to_document()}


def frozen_from(document: Mapping[str, Any]) -> Frozen:
    """ValueError, KeyError or TypeError unless it could have been written here."""
    must(type(document["kind"]) is str and document["kind"] in _KINDS, "what the sums are of is unknown")
    must(type(document["Z"]) is np.ndarray and document["Z"].ndim == 2, "'Z' is not a matrix")
    frozen: Frozen = _KINDS[document["kind"]].from_document(document)
    must(document["backend"] == frozen.kernel.backend, "the kernel is unknown")
    frozen.check(document["Z"].shape[1])
    return frozen
