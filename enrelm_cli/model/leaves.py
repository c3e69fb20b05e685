"""Leaves: a small binary tree of cuts that parts the input space, and the rows that go to each of its leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.inputs.checks import integers, must, numbers
from enrelm_cli.types import Array

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Leaves:
    """Cut i sends a row to low[i] where x[column[i]] <= at[i], else to high[i]; -1 - b there is leaf b."""

    column: Integers  # (c,)
    at: Array  # (c,)
    low: Integers  # (c,)
    high: Integers  # (c,)

    @property
    def count(self) -> int:
        return len(self.at) + 1

    def of(self, X: Array) -> Integers:
        """The leaf of each row: (t, d) -> (t,)."""
        place = np.zeros(len(X), np.int64) if len(self.at) else np.full(len(X), -1)
        moving = np.flatnonzero(place >= 0)
        while len(moving):
            cut = place[moving]
            low = X[moving, self.column[cut]] <= self.at[cut]
            place[moving] = np.where(low, self.low[cut], self.high[cut])
            moving = moving[place[moving] >= 0]
        return -1 - place

    def groups(self, X: Array) -> Iterator[tuple[int, Integers]]:
        """Each leaf that has rows, and their places in X."""
        leaf = self.of(X)
        order = np.argsort(leaf, kind="stable")
        present, first = np.unique(leaf[order], return_index=True)
        for b, rows in zip(present, np.split(order, first[1:]) if len(order) else (), strict=True):
            yield int(b), rows

    def check(self, d: int) -> None:
        """ValueError unless every leaf is reached, and by one way only."""
        c = len(self.at)
        integers("column", self.column, (c,), 0, d - 1)
        numbers("at", self.at, (c,))
        for name, child in (("low", self.low), ("high", self.high)):
            integers(name, child, (c,), -self.count, c - 1)
            must(bool(np.all((child < 0) | (child > np.arange(c)))), f"'{name}' leads back to an earlier cut")
        reached = np.sort(np.concatenate([self.low, self.high]))
        expected = np.concatenate([np.arange(-self.count, 0), np.arange(1, c)]) if c else reached
        must(np.array_equal(reached, expected), "the leaves are not a tree")

    def to_document(self) -> dict[str, Any]:
        return {"column": self.column, "at": self.at, "low": self.low, "high": self.high}

    @staticmethod
    def from_document(document: dict[str, Any]) -> Leaves:
        return Leaves(document["column"], document["at"], document["low"], document["high"])
