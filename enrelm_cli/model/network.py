"""A trained family of nested networks: the first l hidden outputs and their weights are the network of size l.

yhat_l(x) = sum_{j<=l} beta_j s_j(x), in the units of the standardised target. Nothing from here on asks which variant
made it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.inputs.checks import must, number, numbers
from enrelm_cli.model.features import Features, HiddenLayer, KernelFeatures, OnlyFields, WeightedKernel
from enrelm_cli.model.linear_features import LinearFeatures
from enrelm_cli.model.local_features import LocalFeatures
from enrelm_cli.types import Array

# Features that a model file may hold.
_SAVED = (HiddenLayer, KernelFeatures, LocalFeatures, LinearFeatures)
_KINDS = {one.kind: one for one in _SAVED}


@dataclass(frozen=True)
class Network(OnlyFields):
    """Hidden outputs in order of importance and their weights."""

    features: Features
    beta: Array  # (n,), or (n, q) of q targets
    intercept: Array | float = 0.0
    stop: str | None = None  # why the iteration that chose them stopped
    converged: bool = False  # it stopped by itself: a larger network would be the same one
    order: NDArray[np.int64] | None = None  # (n,) which columns of the eigenbasis they are, where they are some
    facts: dict[str, float] | None = None  # what the variant found on its way: steps, alpha, leave-one-out error
    left_out: Array | None = None  # (q,) errors of training rows left out, where the variant found them on its way
    logits: bool = False  # it predicts logits of classes, not their codes; `left_out` are logits then, not errors

    @property
    def size(self) -> int:
        return len(self.beta)

    def first(self, n: int) -> Network:
        """The network of the first n neurons, or of all where there are fewer."""
        n = min(n, self.size)
        order = None if self.order is None else self.order[:n]
        return replace(self, features=self.features.take(np.arange(n)), beta=self.beta[:n], order=order)

    def along(self, direction: Array) -> Network:
        """Of several targets, the network of one number: predictions times direction (q,)."""
        features, beta = self.features, self.beta
        if beta.ndim == 1:  # of one target there are two directions
            return replace(
                self, beta=beta * direction[0], intercept=float(self.intercept * direction[0]), left_out=None
            )
        if isinstance(features, (LocalFeatures, LinearFeatures)):
            features, beta = features.along(beta[0] * direction), np.ones(1)
        else:
            beta = beta @ direction
        intercept = float(np.broadcast_to(self.intercept, direction.shape) @ direction)
        return replace(self, features=features, beta=beta, intercept=intercept, left_out=None)

    def predict(self, X: Array) -> Array:
        """Standardised rows to standardised predictions: (t, d) -> (t, ...)."""
        return self.intercept + (self._combined(X) if self.size else np.zeros((len(X), *self.beta.shape[1:])))

    def of_kernel(self, K: Array) -> Array:
        """The same of rows whose kernel values (t, m) are known, where the features are the kernel's."""
        assert isinstance(self._combined, WeightedKernel)
        return self.intercept + self._combined.of(K)

    @cached_property
    def _combined(self) -> Callable[[Array], Array]:
        """X -> s(X) beta; small batches would spend their time on what is the same for all."""
        if isinstance(self.features, KernelFeatures):
            return self.features.weighted(self.beta)
        return partial(self.features.combine, beta=self.beta)

    def forget(self) -> None:
        """Frees what predictions were prepared with, where that is large."""
        if isinstance(self.features, LocalFeatures):
            self.features.forget()

    def require(self) -> None:
        """Complain before any output where predicting needs something that is not installed."""
        if isinstance(self.features, _SAVED):
            self.features.require()

    @property
    def kernel_values(self) -> int:
        """That a row takes at most."""
        return self.features.kernel_values if isinstance(self.features, _SAVED) else 0

    @property
    def held(self) -> int:
        """Kernel values of a row that a block of rows holds at once. Leaves have blocks of their own, and gain from all
        the rows that there are: a thousand leaves see few of a small block each.
        """
        return 0 if isinstance(self.features, LocalFeatures) else self.kernel_values

    def check(self, d: int, targets: tuple[int, ...] = ()) -> None:
        """ValueError unless it could have been fitted to d inputs, and to several targets where there are (q,)."""
        if targets:
            numbers("beta", self.beta, (self.size, *targets))
            numbers("intercept", np.asarray(self.intercept) + np.zeros(targets), targets)
        else:
            numbers("beta", self.beta, (self.size,))
            number("intercept", self.intercept)
        must(self.stop is None or type(self.stop) is str, "'stop' is not text")
        assert isinstance(self.features, _SAVED)
        self.features.check(self.size, d)

    def to_document(self) -> dict[str, Any]:
        # Linear regression has features of its own, and is never saved.
        assert isinstance(self.features, _SAVED)
        return {
            "kind": self.features.kind,
            "features": self.features.to_document(),
            "beta": self.beta,
            "intercept": self.intercept,
            "stop": self.stop,
            "facts": self.facts or {},
            **({"logits": True} if self.logits else {}),
        }

    @staticmethod
    def from_document(document: dict[str, Any]) -> Network:
        if document["kind"] not in _KINDS:
            raise ValueError("'kind' is unknown")
        features: Features = _KINDS[document["kind"]].from_document(document["features"])
        facts, logits = document["facts"], bool(document.get("logits", False))
        return Network(features, document["beta"], document["intercept"], document["stop"], facts=facts, logits=logits)
