"""Hidden outputs s(x) of a fitted model: the layer computed from the data, and the kernel's own eigenfunctions.

Kept apart from what fits them, and free of scipy: this is all that a batch of predictions needs.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.columns import plain
from enrelm_cli.inputs.checks import must, number, numbers
from enrelm_cli.kernels import activation, nngp
from enrelm_cli.kernels.activation import Activation
from enrelm_cli.kernels.arcsine import Kernel, Prepared
from enrelm_cli.types import Array

# Rows of a block of the kernel matrix: with 1,000 landmarks it stays inside a core's cache share.
BLOCK = 1024
# Bytes of a block, at most, however many landmarks or inputs a model file holds.
BLOCK_BYTES = 1 << 26
# Numbers of a block of hidden outputs.
_CACHED = 1 << 15
# Hidden layers that --depth admits.
MAX_DEPTH = 20


def block_rows(columns: int, most: int = BLOCK, limit: int = BLOCK_BYTES) -> int:
    """How many rows of so many numbers each are computed at a time: a multiple of BLOCK where it is above it."""
    rows = max(1, min(most, limit // (8 * max(columns, 1))))
    return rows if rows < BLOCK or rows == most else rows - rows % BLOCK


class OnlyFields:
    """A dataclass that is sent, or copied, without what was computed from its fields."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


class Features(Protocol):
    """Hidden outputs of any kind."""

    @property
    def size(self) -> int: ...

    def outputs(self, X: Array) -> Array: ...

    def combine(self, X: Array, beta: Array) -> Array: ...

    def take(self, order: NDArray[np.int64]) -> Any: ...


class SavedFeatures(Features, Protocol):
    """Hidden outputs that a model file may hold."""

    @property
    def kind(self) -> str: ...

    @property
    def kernel_values(self) -> int:
        """That a row takes at most."""

    def require(self) -> None:
        """Complain before any output where predicting needs something that is not installed."""

    def check(self, n: int, d: int) -> None:
        """ValueError unless these could have been fitted: n hidden outputs of d inputs."""

    def to_document(self) -> dict[str, Any]: ...


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
        """s(X) beta: (t, ...)."""
        result = np.empty((len(X), *beta.shape[1:]))
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

    @property
    def kernel_values(self) -> int:
        return 0

    def require(self) -> None:
        """Nothing that is not installed with this package."""

    def check(self, n: int, d: int) -> None:
        numbers("W", self.W, (n, d))
        numbers("offset", self.offset, (n,))

    def to_document(self) -> dict[str, Any]:
        return {"W": self.W, "offset": self.offset, "activation": self.sigma.name}

    @staticmethod
    def from_document(document: dict[str, Any]) -> HiddenLayer:
        return HiddenLayer(document["W"], document["offset"], activation.named(document["activation"]))


@dataclass(frozen=True)
class KernelFeatures(OnlyFields):
    """phi(x) = K(x, Z) P - offset: hidden outputs that are the kernel's own eigenfunctions."""

    kind: ClassVar[str] = "kernel"
    kernel: Kernel
    Z: Array  # (m, d)
    P: Array  # (m, k)
    offset: Array  # (k,)

    @cached_property
    def prepared(self) -> Prepared:
        """The landmarks as the kernel wants them, once for all blocks of rows."""
        return self.kernel.prepare(self.Z)

    @cached_property
    def norms(self) -> Array:
        """(k,): P' K_ZZ P, which is 1/lambda of an eigenfunction; once for all models that have these features."""
        norms: Array = np.einsum("ij,ij->j", self.P, self.kernel.gram(self.Z, self.Z) @ self.P)
        return norms

    def outputs(self, X: Array) -> Array:
        """(t, d) -> (t, k)."""
        prepared = self.prepared
        result = np.empty((len(X), self.P.shape[1]))
        rows = block_rows(len(self.Z))
        for start in range(0, len(X), rows):
            block = slice(start, start + rows)
            np.matmul(prepared.against(X[block]), self.P, out=result[block])
        result -= self.offset
        return result

    def combine(self, X: Array, beta: Array) -> Array:
        """phi(X) beta without forming phi: (t, ...)."""
        return self.weighted(beta)(X)

    def weighted(self, beta: Array) -> WeightedKernel:
        """X -> phi(X) beta."""
        return WeightedKernel(self.prepared, self.P @ beta, plain(self.offset @ beta))

    def take(self, order: NDArray[np.int64]) -> KernelFeatures:
        return replace(self, P=np.ascontiguousarray(self.P[:, order]), offset=self.offset[order])

    @property
    def size(self) -> int:
        return int(self.P.shape[1])

    @property
    def kernel_values(self) -> int:
        return len(self.Z)

    def require(self) -> None:
        nngp.require(self.kernel.activation, self.kernel.backend)

    def check(self, n: int, d: int) -> None:
        numbers("Z", self.Z, (len(self.Z), d))
        numbers("P", self.P, (len(self.Z), n))
        numbers("offset", self.offset, (n,))
        check_kernel(self.kernel, d)

    def to_document(self) -> dict[str, Any]:
        return {**kernel_document(self.kernel), "Z": self.Z, "P": self.P, "offset": self.offset}

    @staticmethod
    def from_document(document: dict[str, Any]) -> KernelFeatures:
        return KernelFeatures(kernel_from(document), document["Z"], document["P"], document["offset"])


@dataclass(frozen=True)
class WeightedKernel:
    """K(x, Z) w - c: what a prediction needs that no row changes is computed once."""

    landmarks: Prepared
    weights: Array  # (m, ...)
    constant: Array | float

    def __call__(self, X: Array) -> Array:
        """(t, d) -> (t, ...)."""
        rows = block_rows(len(self.weights))
        parts = [self.of(self.landmarks.against(X[start : start + rows])) for start in range(0, len(X), rows)]
        return np.concatenate(parts) if parts else np.zeros((0, *self.weights.shape[1:]))

    def of(self, K: Array) -> Array:
        """The same of kernel values (t, m)."""
        combined: Array = K @ self.weights - self.constant
        return combined


# --- a kernel in a document ------------------------------------------------------------------------------------------


def kernel_document(kernel: Kernel) -> dict[str, Any]:
    return {
        "activation": kernel.activation,
        "backend": kernel.backend,
        "weight_variance": kernel.weight_variance,
        "bias_variance": kernel.bias_variance,
        "depth": kernel.depth,
    }


def kernel_from(document: dict[str, Any]) -> Kernel:
    activation, backend = document["activation"], document["backend"]
    return nngp.kernel_of(
        activation, backend, document["weight_variance"], document["bias_variance"], document["depth"]
    )


def check_kernel(kernel: Kernel, d: int) -> None:
    if isinstance(kernel.weight_variance, np.ndarray):
        numbers("weight_variance", kernel.weight_variance, (d,), lowest=0.0)
    else:
        number("weight_variance", kernel.weight_variance, lowest=0.0)
    number("bias_variance", kernel.bias_variance, lowest=0.0)
    must(type(kernel.depth) is int and 1 <= kernel.depth <= MAX_DEPTH, "'depth' is out of range")
