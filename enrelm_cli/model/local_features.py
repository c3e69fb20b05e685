"""What the local variant predicts with: a kernel on landmarks, and in each leaf on its own rows.

    f(x) = K(x, Z) c_b + K(x, X_b) a_b   for x in leaf b

m + n_b kernel values and one product a row. It is one hidden output: the leaves have no nested sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.inputs.checks import integers, must, numbers
from enrelm_cli.kernels import nngp
from enrelm_cli.kernels.arcsine import Kernel, Prepared
from enrelm_cli.model.features import OnlyFields, block_rows, check_kernel, kernel_document, kernel_from
from enrelm_cli.model.leaves import Integers, Leaves
from enrelm_cli.types import Array

_KEPT = (
    12_000_000  # numbers of prepared leaves: a million rows of ten inputs; beyond, a leaf is prepared where it is met
)


@dataclass(frozen=True)
class LocalFeatures(OnlyFields):
    """f(x) as the only hidden output."""

    kind: ClassVar[str] = "local"
    size: ClassVar[int] = 1
    kernel: Kernel
    leaves: Leaves
    Z: Array = field(repr=False)  # (m, d) landmarks
    C: Array = field(repr=False)  # (leaves, m), or (leaves, m, q) of q targets
    X: Array = field(repr=False)  # (N, d) distinct training rows, leaf after leaf
    a: Array = field(repr=False)  # (N, ...)
    first: Integers = field(repr=False)  # (leaves + 1,) where the rows of each leaf start

    def outputs(self, X: Array) -> Array:
        """(t, d) -> (t, 1), or (t, 1, q): a column of its own for each target."""
        return self._values(X)[:, None]

    def combine(self, X: Array, beta: Array) -> Array:
        """beta f(X): (t, ...)."""
        total: Array = beta[0] * self._values(X)
        return total

    def _values(self, X: Array) -> Array:
        """Rows of a leaf stand together, so that a block of them meets the landmarks at once."""
        values = np.empty((len(X), *self.a.shape[1:]))
        leaf = self.leaves.of(X)
        order = np.argsort(leaf, kind="stable")
        height = block_rows(self.kernel_values)
        for start in range(0, len(X), height):
            places = order[start : start + height]
            block, present = X[places], leaf[places]
            K = self._landmarks.against(block)
            cuts = [0, *(np.flatnonzero(np.diff(present)) + 1), len(places)]
            for first, last in pairwise(cuts):
                b, part = int(present[first]), slice(first, last)
                a = self.a[self.first[b] : self.first[b + 1]]
                values[places[part]] = K[part] @ self.C[b] + self._rows_of(b).against(block[part]) @ a
        return values

    @cached_property
    def _landmarks(self) -> Prepared:
        return self.kernel.prepare(self.Z)

    @cached_property
    def _prepared(self) -> dict[int, Prepared]:
        """By leaf, as rows come to it: a thousand leaves see a few rows of each chunk."""
        return {}

    def _rows_of(self, b: int) -> Prepared:
        found = self._prepared.get(b)
        if found is None:
            found = self.kernel.prepare(self.X[self.first[b] : self.first[b + 1]])
            if (len(self._prepared) + 1) * self._largest * (self.X.shape[1] + 1) <= _KEPT:
                # Threads that come at the same time compute the same.
                self._prepared[b] = found
        return found

    def forget(self) -> None:
        """Frees what leaves have prepared; who predicts again prepares again."""
        self._prepared.clear()

    def along(self, direction: Array) -> LocalFeatures:
        """Of q targets, those of one: f(x) times direction (q,)."""
        return replace(self, C=self.C @ direction, a=self.a @ direction)

    def take(self, order: NDArray[np.int64]) -> LocalFeatures:
        if len(order) != 1 or order[0] != 0:
            raise ValueError("the local variant has one hidden output")
        return self

    @property
    def _largest(self) -> int:
        """Rows of the largest leaf."""
        return int(np.diff(self.first).max())

    @property
    def kernel_values(self) -> int:
        """That a prediction takes at most."""
        return len(self.Z) + self._largest

    @property
    def numbers(self) -> int:
        """That a model file holds of it."""
        return self.Z.size + self.C.size + self.X.size + self.a.size

    def require(self) -> None:
        nngp.require(self.kernel.activation, self.kernel.backend)

    def check(self, n: int, d: int) -> None:
        must(n == 1, "the local variant has one hidden output")
        self.leaves.check(d)
        check_kernel(self.kernel, d)
        numbers("Z", self.Z, (len(self.Z), d))
        targets = self.a.shape[1:]
        must(len(targets) <= 1, "'a' has too many axes")
        numbers("C", self.C, (self.leaves.count, len(self.Z), *targets))
        numbers("X", self.X, (len(self.X), d))
        numbers("a", self.a, (len(self.X), *targets))
        integers("first", self.first, (self.leaves.count + 1,), 0, len(self.X))
        must(self.first[0] == 0 and self.first[-1] == len(self.X), "'first' leaves rows out")
        must(bool(np.all(np.diff(self.first) >= 0)), "'first' is not increasing")

    def to_document(self) -> dict[str, Any]:
        own = {"Z": self.Z, "C": self.C, "X": self.X, "a": self.a, "first": self.first}
        return {**kernel_document(self.kernel), "leaves": self.leaves.to_document(), **own}

    @staticmethod
    def from_document(document: dict[str, Any]) -> LocalFeatures:
        kernel, leaves = kernel_from(document), Leaves.from_document(document["leaves"])
        Z, C, X, a, first = (document[name] for name in ("Z", "C", "X", "a", "first"))
        return LocalFeatures(kernel, leaves, Z, C, X, a, first)
