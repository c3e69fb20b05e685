"""Which columns act together: the part of the prediction that two of them do not add up to.

    D = f(x) - f(x, j of another row) - f(x, k of another row) + f(x, both of that row)

is zero where columns j and k only add up. For independent columns the mean of D^2 / 4 is the variance of the
interaction of the two (and of those with further columns that contain both). The other row is half the sample away,
as in relevance.py: the sample is in the order of a hash.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from enrelm_cli.columns import wide
from enrelm_cli.types import Array

_ROWS = 500


@dataclass(frozen=True)
class Pair:
    """Two columns."""

    first: int
    second: int
    strength: float  # standard deviation of their interaction, in units of the target
    share: float  # of the variance of the predictions


def pairs(predict: Callable[[Array], Array], X: Array, columns: Sequence[int]) -> tuple[Pair, ...]:
    """Every pair of the columns, strongest first; raw rows (t, columns) in the order of a hash.

    Predictions are (t,), or (t, k) of k scores, whose squares add up.
    """
    X = X[:_ROWS]
    if len(X) < 4:
        return ()
    other = np.roll(X, len(X) // 2, axis=0)
    before = wide(predict(X))
    variance = float(before.var(axis=0).sum())

    def moved(*which: int) -> Array:
        rows = X.copy()
        rows[:, which] = other[:, which]
        return wide(predict(rows))

    alone = {k: moved(k) for k in columns}
    found = []
    for j, k in combinations(columns, 2):
        square = float(np.square(before - alone[j] - alone[k] + moved(j, k)).sum(axis=1).mean()) / 4.0
        found.append(Pair(j, k, float(np.sqrt(square)), square / variance if variance > 0.0 else 0.0))
    return tuple(sorted(found, key=lambda pair: (-pair.strength, pair.first, pair.second)))
