"""Which columns matter: the share of the prediction's variance that each one moves.

    S_k = 1/2 mean_i (f(x_i) - f(x_i with column k of another row))^2

which for independent columns is the total effect of column k (its own and its part in interactions) on f, in units of
the variance of y. The other row is half the sample away; the sample is in the order of a hash, so that is as good as
a random one, and the same every time. A column's one-hot inputs move together. Shares are S_k over their sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enrelm_cli.fold.folds import one_blas_thread
from enrelm_cli.fold.weights import Weights, first, mean
from enrelm_cli.model.network import Network
from enrelm_cli.types import Array

# Predictions to spend in all: a thousand rows for each of fifty columns (200,000 were an eighth of the fit of ames).
_PREDICTIONS = 50_000
_ROWS = (100, 1000)


@one_blas_thread
def shares(
    network: Network, X: Array, columns: Sequence[int], names: Sequence[str], weight: Weights = None
) -> tuple[tuple[str, float], ...]:
    """(t, d) standardised rows in hash order, the column of each input -> (name, share), largest share first."""
    distinct = sorted(set(columns))
    X = X[: int(np.clip(_PREDICTIONS // max(len(distinct), 1), *_ROWS))]
    column = np.asarray(columns)
    before = network.predict(X)
    effects = []
    for k in distinct:
        moved = X.copy()
        moved[:, column == k] = np.roll(X[:, column == k], len(X) // 2, axis=0)
        effects.append(0.5 * float(np.sum(mean((network.predict(moved) - before) ** 2, first(weight, len(X))))))
    total = sum(effects) or 1.0
    pairs = [(names[k], effect / total) for k, effect in zip(distinct, effects, strict=True)]
    return tuple(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))
