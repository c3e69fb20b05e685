"""A trained family of nested networks: the first l hidden outputs and their weights are the network of size l.

yhat_l(x) = sum_{j<=l} beta_j s_j(x), in the units of the standardised target. Nothing from here on asks which variant
made it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.kernels import nngp
from enrelm_cli.model.features import Features, HiddenLayer, KernelFeatures
from enrelm_cli.types import Array

# Rows of a block of a curve: the running sums of a block stay in cache.
_BLOCK = 512


@dataclass(frozen=True)
class Network:
    """Hidden outputs in order of importance and their weights."""

    features: Features
    beta: Array  # (n,)
    intercept: float = 0.0
    stop: str | None = None  # why the iteration that chose them stopped
    order: NDArray[np.int64] | None = None  # (n,) which columns of the eigenbasis they are, where they are some
    facts: dict[str, float] | None = None  # what the variant found on its way: steps, alpha, leave-one-out error

    @property
    def size(self) -> int:
        return len(self.beta)

    def first(self, n: int) -> Network:
        """The network of the first n neurons."""
        order = None if self.order is None else self.order[:n]
        return replace(self, features=self.features.take(np.arange(n)), beta=self.beta[:n], order=order)

    def predict(self, X: Array) -> Array:
        """Standardised rows to standardised predictions: (t, d) -> (t,)."""
        return self.intercept + (self.features.combine(X, self.beta) if self.size else np.zeros(len(X)))

    def require(self) -> None:
        """Complain before any output where predicting needs something that is not installed."""
        if isinstance(self.features, KernelFeatures):
            nngp.require(self.features.kernel.activation, self.features.kernel.backend)

    def to_document(self) -> dict[str, Any]:
        # Linear regression has features of its own, and is never saved.
        assert isinstance(self.features, KernelFeatures | HiddenLayer)
        return {
            "kind": "kernel" if isinstance(self.features, KernelFeatures) else "hidden layer",
            "features": self.features.to_document(),
            "beta": self.beta,
            "intercept": self.intercept,
            "stop": self.stop,
            "facts": self.facts or {},
        }

    @staticmethod
    def from_document(document: dict[str, Any]) -> Network:
        kind = KernelFeatures if document["kind"] == "kernel" else HiddenLayer
        features: Features = kind.from_document(document["features"])
        return Network(features, document["beta"], document["intercept"], document["stop"], facts=document["facts"])


@dataclass(frozen=True)
class CurveRows:
    """Partial (algorithm 4): the squared error of every size 1..n over one side's rows, by one running sum a row."""

    view: View
    network: Network
    side: Side

    def __call__(self, chunk: Chunk) -> Sums:
        chunk = self.view(chunk, self.side)
        squares = np.zeros(self.network.size)
        for block in chunk.blocks(_BLOCK):
            terms = self.network.features.outputs(block.X)
            terms *= self.network.beta
            np.cumsum(terms, axis=1, out=terms)
            terms -= (block.y - self.network.intercept)[:, None]
            squares += np.einsum("ij,ij->j", terms, terms)
        return Sums({"squares": squares, "total": chunk.y @ chunk.y, "rows": chunk.rows})


@dataclass(frozen=True)
class ErrorRows:
    """Partial: squared errors of several networks over one side's rows, in one pass."""

    view: View
    networks: tuple[Network, ...]
    side: Side

    def __call__(self, chunk: Chunk) -> Sums:
        chunk = self.view(chunk, self.side)
        squares = [float(np.sum((network.predict(chunk.X) - chunk.y) ** 2)) for network in self.networks]
        return Sums({"squares": np.array(squares), "total": float(chunk.y @ chunk.y), "rows": chunk.rows})


def relative_errors(squared: Array, total: float) -> Array:
    """Err(l) = sqrt( sum_i (y_i - yhat_il)^2 / sum_i (y_i - ybar)^2 ) from the two sums over rows: (n,), () -> (n,).

    Where every target equals the training mean there is nothing to relate to: a perfect prediction has error 0, any
    other an infinite one.
    """
    # The sums come from differences that rounding may leave a hair below zero.
    squared = np.maximum(squared, 0.0)
    if total > 0.0:
        return np.sqrt(squared / total)
    return np.where(squared > 0.0, np.inf, 0.0)


def relative_error(y: Array, y_hat: Array, y_mean: float) -> float:
    """||y - yhat|| / ||y - ybar|| with ybar the training mean."""
    squared = np.array([float(np.sum((y - y_hat) ** 2))])
    return float(relative_errors(squared, float(np.sum((y - y_mean) ** 2)))[0])
