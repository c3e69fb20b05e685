"""Hidden outputs s(x) of a fitted model: the layer computed from the data, and the kernel's own eigenfunctions.

Kept apart from what fits them, and free of scipy: this is all that a batch of predictions needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.kernels import activation, nngp
from enrelm_cli.kernels.activation import Activation
from enrelm_cli.kernels.arcsine import Kernel
from enrelm_cli.types import Array

# Rows of a block of the kernel matrix: with 1,000 landmarks it stays inside a core's cache share.
BLOCK = 1024
# Numbers of a block, at most: 64 MB, however many landmarks or inputs a model file holds.
_LARGEST_BLOCK = 1 << 23
# Numbers of a block of hidden outputs.
_CACHED = 1 << 15


def block_rows(columns: int, most: int = BLOCK) -> int:
    """How many rows of so many numbers each are computed at a time."""
    return max(1, min(most, _LARGEST_BLOCK // max(columns, 1)))


class Features(Protocol):
    """Hidden outputs of any kind."""

    def outputs(self, X: Array) -> Array: ...

    def combine(self, X: Array, beta: Array) -> Array: ...

    def take(self, order: NDArray[np.int64]) -> Any: ...

    @property
    def size(self) -> int: ...


@dataclass(frozen=True)
class HiddenLayer:
    """s(x) = sigma(W x) - offset."""

    kind: ClassVar[str] = "hidden layer"
    W: Array  # (n, d)
    offset: Array  # (n,) zero, or the mean of the training outputs where the variant centres them
    sigma: Activation = activation.ERF

    def outputs(self, X: Array) -> Array:
        """(t, d) -> (t, n)."""
        return self.sigma(X @ self.W.T) - self.offset

    def combine(self, X: Array, beta: Array) -> Array:
        """s(X) beta: (t,)."""
        result = np.empty(len(X))
        # As many rows at a time as keep their hidden outputs in cache.
        rows = max(_CACHED // max(len(beta), 1), 1)
        for start in range(0, len(X), rows):
            block = slice(start, start + rows)
            np.matmul(self.sigma(X[block] @ self.W.T), beta, out=result[block])
        result -= self.offset @ beta
        return result

    def take(self, order: NDArray[np.int64]) -> HiddenLayer:
        return replace(self, W=self.W[order], offset=self.offset[order])

    @property
    def size(self) -> int:
        return len(self.W)

    def to_document(self) -> dict[str, Any]:
        return {"W": self.W, "offset": self.offset, "activation": self.sigma.name}

    @staticmethod
    def from_document(document: dict[str, Any]) -> HiddenLayer:
        return HiddenLayer(document["W"], document["offset"], activation.named(document["activation"]))


@dataclass(frozen=True)
class KernelFeatures:
    """phi(x) = K(x, Z) P - offset: hidden outputs that are the kernel's own eigenfunctions."""

    kind: ClassVar[str] = "kernel"
    kernel: Kernel
    Z: Array  # (m, d)
    P: Array  # (m, k)
    offset: Array  # (k,)

    def outputs(self, X: Array) -> Array:
        """(t, d) -> (t, k)."""
        prepared = self.kernel.prepare(self.Z)
        result = np.empty((len(X), self.P.shape[1]))
        rows = block_rows(len(self.Z))
        for start in range(0, len(X), rows):
            block = slice(start, start + rows)
            np.matmul(prepared.against(X[block]), self.P, out=result[block])
        result -= self.offset
        return result

    def combine(self, X: Array, beta: Array) -> Array:
        """phi(X) beta without forming phi: (t,)."""
        prepared, weights, rows = self.kernel.prepare(self.Z), self.P @ beta, block_rows(len(self.Z))
        parts = [prepared.against(X[start : start + rows]) @ weights for start in range(0, len(X), rows)]
        total: Array = np.concatenate(parts) if parts else np.zeros(0)
        return total - self.offset @ beta

    def take(self, order: NDArray[np.int64]) -> KernelFeatures:
        return replace(self, P=np.ascontiguousarray(self.P[:, order]), offset=self.offset[order])

    @property
    def size(self) -> int:
        return int(self.P.shape[1])

    def to_document(self) -> dict[str, Any]:
        kernel = self.kernel
        return {
            "activation": kernel.activation,
            "backend": kernel.backend,
            "weight_variance": kernel.weight_variance,
            "bias_variance": kernel.bias_variance,
            "depth": kernel.depth,
            "Z": self.Z,
            "P": self.P,
            "offset": self.offset,
        }

    @staticmethod
    def from_document(document: dict[str, Any]) -> KernelFeatures:
        activation, backend = document["activation"], document["backend"]
        kernel = nngp.kernel_of(
            activation, backend, document["weight_variance"], document["bias_variance"], document["depth"]
        )
        return KernelFeatures(kernel, document["Z"], document["P"], document["offset"])
