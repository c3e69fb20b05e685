"""The local variant: the kernel variant's landmarks for all rows, and an exact kernel inside leaves of them.

Above a few thousand rows landmarks are what limits the kernel variant; leaves see every row (`_pic.py` has the algebra,
`_leaves.py` the cuts, `_gather.py` the rows by leaf). Two passes over the leaves, in which only sums of the size of the
landmarks travel: the same for threads and for a cluster, where a leaf is a task.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from enrelm_cli.fold.folds import Chunk, Engine, LocalEngine, Sums, Tree, one_blas_thread
from enrelm_cli.model.leaves import Leaves
from enrelm_cli.model.local_features import LocalFeatures
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.eigenbasis import landmark_projection
from enrelm_cli.phase_one.landmarks import Landmarks
from enrelm_cli.phase_one.phase_one import Basis, Start, distinct_inputs
from enrelm_cli.settings import MethodSettings
from enrelm_cli.types import Array, Keys
from enrelm_cli.variants._gather import OutsideRows, bound, chosen, gathered
from enrelm_cli.variants._leaves import LeafRows, grow
from enrelm_cli.variants._pic import (
    Factor,
    FactorLeaf,
    FactorResidual,
    Global,
    LeafSums,
    LeafWeights,
    WeighFactor,
    WeighLeaf,
    solve,
)
from enrelm_cli.variants._variant import Variant
from enrelm_cli.variants.kernel import MIN_RIDGE, best_alpha

# Ridges that are tried, around that of the exact kernel on some rows (the best of the three on every table measured).
_AROUND = np.array([1 / 3, 1.0, 3.0])
# Rows of the leaves that try them, and rows that say around which.
_TRYING, _EXACT = 3000, 700

# Landmarks that are enough beside leaves (cal_housing: 0.408 with 1,000, 0.404 with 2,000 at three times the cost).
_ENOUGH = 1000
ONE_SIZE = "leaves have no nested sizes: the error is one number, drawn as a line"

Pieces = Sequence[Iterable[LeafRows]]


@dataclass(frozen=True)
class Fitted:
    """The weights of every leaf at one ridge."""

    alpha: float
    intercept: float
    leaves: list[LeafWeights]

    @property
    def rows(self) -> int:
        return sum(one.leaf.rows for one in self.leaves)

    def left_out(self, sample: Chunk) -> Array:
        """The error of each of these training rows when it is left out with its twins: (t,).

        Rows that are in no leaf have none; those of other rows stand for them.
        """
        key, y, errors = (np.concatenate(one) for one in zip(*map(_of_inputs, self.leaves), strict=True))
        order = np.argsort(key)
        place = order[np.minimum(np.searchsorted(key, sample.key, sorter=order), len(order) - 1)]
        known = key[place] == sample.key
        found: Array = sample.y - y[place] + errors[place]
        found[~known] = np.resize(found[known], np.count_nonzero(~known))
        return found


def _of_inputs(weights: LeafWeights) -> tuple[Keys, Array, Array]:
    """Every input of a leaf: its key, its mean target, and the error of that when it is left out."""
    return weights.leaf.key, weights.leaf.y, weights.errors


def fit(basis: Basis, method: MethodSettings) -> Network:
    """Leaves, the ridge that a part of them chooses by exact left-out errors, and the weights of all."""
    data, engine = basis.data, basis.data.rows.engine
    shared, landmarks = _shared(basis, method)
    below = bound(data.T, method.local_rows)
    # Cut where the rows are that the leaves will hold: none is empty.
    leaves = grow(chosen(data.sample(), below), min(data.T, method.local_rows), method.leaf_rows)
    with gathered(data, leaves, below) as rows:
        alpha = _ridge(shared, basis, _some(rows.pieces, rows.total))
        outside = None if rows.complete else data.fold(OutsideRows(data.view, shared, below), "rows in no leaf")
        keeps = rows.total * (method.leaf_rows + shared.size) * 8 <= data.rows.spare
        found = (fit_keeping if keeps else fit_again)(engine, shared, alpha, rows.pieces, outside)
    return _network(shared, landmarks, leaves, found, data.sample())


def _network(shared: Global, landmarks: Landmarks, leaves: Leaves, found: Fitted, sample: Chunk) -> Network:
    features, left_out = _features(shared, landmarks.Z, leaves, found), found.left_out(sample)
    facts = {
        "alpha": found.alpha,
        "leave_one_out_error": float(np.sqrt(np.mean(left_out**2))),
        "landmarks": len(landmarks.Z),
        "leaves": leaves.count,
        "rows_in_leaves": found.rows,
        "largest_leaf": int(np.diff(features.first).max()),
        "kernel_values_per_prediction": features.kernel_values,
        "numbers_in_model": features.numbers,
    }
    return Network(features, np.ones(1), found.intercept, ONE_SIZE, converged=True, facts=facts, left_out=left_out)


# --- the passes over the leaves --------------------------------------------------------------------------------------


def fit_again(engine: Engine, shared: Global, alpha: float, pieces: Pieces, outside: Sums | None) -> Fitted:
    """Two passes that factorise each leaf: nothing of the size of a leaf is kept or sent."""
    sums = engine.fold(pieces, LeafSums(shared, alpha), "leaves")
    solution = solve(sums, outside, alpha)
    weights = engine.map(pieces, WeighLeaf(shared, solution), "weights of the leaves")
    return Fitted(alpha, float(solution.w[-1]), list(weights))


def fit_keeping(engine: Engine, shared: Global, alpha: float, pieces: Pieces, outside: Sums | None) -> Fitted:
    """The same with the factors kept between the passes: the same bits in two thirds of the work."""
    return _kept(engine, shared, engine.map(pieces, FactorLeaf(shared, alpha), "leaves"), alpha, outside)


def _kept(
    engine: Engine, shared: Global, factored: Iterable[tuple[Factor, Sums]], alpha: float, outside: Sums | None
) -> Fitted:
    tree, factors = Tree(), []
    for factor, sums in factored:
        tree.add(sums)
        factors.append([factor])
    solution = solve(tree.result(), outside, alpha)
    weights = engine.map(factors, WeighFactor(shared.projection.R, solution), "weights of the leaves")
    return Fitted(alpha, float(solution.w[-1]), list(weights))


def _ridge(shared: Global, basis: Basis, pieces: Pieces) -> float:
    """The ridge with the least left-out error of some leaves, near that of exact kernel ridge regression.

    Here, wherever the other rows are: a few leaves, of which every ridge needs the same residuals.
    """
    engine = LocalEngine(getattr(basis.data.rows.engine, "threads", 0))
    residuals = [[one] for one in engine.map(pieces, shared.residual, "residuals")]
    alphas = np.maximum(_AROUND * _exact_ridge(basis), MIN_RIDGE)
    squares = []
    for alpha in alphas:
        tried = _kept(engine, shared, engine.map(residuals, FactorResidual(float(alpha)), ""), float(alpha), None)
        squares.append(sum(leaf.squares for leaf in tried.leaves))
    return max(best_alpha(alphas, np.array(squares)), MIN_RIDGE)


def _some(pieces: Pieces, rows: int) -> Pieces:
    """Leaves from all over the tree with about as many rows as it takes to choose a ridge."""
    wanted = max(round(len(pieces) * _TRYING / max(rows, 1)), 1)
    places = np.linspace(0, len(pieces) - 1, min(wanted, len(pieces))).round().astype(int)
    return [pieces[i] for i in np.unique(places)]


@one_blas_thread
def _exact_ridge(basis: Basis) -> float:
    """The ridge of exact kernel ridge regression on some rows: tuning has it, if there was any."""
    from enrelm_cli.phase_one.tuning.ridge import leave_one_out

    if basis.tuned.tuning is not None:
        return basis.tuned.tuning.alpha
    X, y = distinct_inputs(basis.data.sample())
    return leave_one_out(basis.tuned.kernel.gram(X[:_EXACT], X[:_EXACT]), y[:_EXACT]).alpha


# --- what they share, and what comes of them -------------------------------------------------------------------------


def _shared(basis: Basis, method: MethodSettings) -> tuple[Global, Landmarks]:
    kernel, landmarks = basis.tuned.kernel, _landmarks(basis, method)
    return Global(kernel, kernel.prepare(landmarks.Z), landmark_projection(kernel, landmarks)), landmarks


def _landmarks(basis: Basis, method: MethodSettings) -> Landmarks:
    """Those of the kernel variant, or the first of them where the leaves hold every row and nobody asked for more."""
    landmarks = basis.landmarks
    if landmarks.complete or method.landmarks is not None or method.local_rows < basis.data.T:
        return landmarks
    return Landmarks(landmarks.Z[:_ENOUGH], landmarks.key[:_ENOUGH], complete=False)


def _features(shared: Global, Z: Array, leaves: Leaves, found: Fitted) -> LocalFeatures:
    X, a, C = zip(*((one.leaf.X, one.a, one.c) for one in found.leaves), strict=True)
    first = np.cumsum([0, *(len(one) for one in X)])
    return LocalFeatures(shared.kernel, leaves, Z, np.array(C), np.concatenate(X), np.concatenate(a), first)


class Local(Variant):
    name = "local"
    start = Start.LEAVES
    regularised = True

    def fit(self, basis: Basis, method: MethodSettings, n: int) -> Network:
        return fit(basis, method)

    def left_out(self, basis: Basis, network: Network) -> Array:
        return np.zeros(0) if network.left_out is None else network.left_out

    def most_neurons(self, basis: Basis, method: MethodSettings) -> int:
        """One: the leaves have no nested sizes."""
        return 1

    def pays(self, basis: Basis) -> bool:
        """Where every row is a landmark, or repeats the inputs of one, the kernel variant is exact already."""
        landmarks = basis.landmarks
        return not landmarks.complete and 2 * len(np.unique(landmarks.Z, axis=0)) > len(landmarks.Z)


VARIANT = Local()
