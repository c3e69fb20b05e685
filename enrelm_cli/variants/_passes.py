"""The passes over the leaves, in which only sums of the size of the landmarks travel (the algebra is in `_pic.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from enrelm_cli.columns import plain
from enrelm_cli.fold.folds import Chunk, Engine, Sums, Tree
from enrelm_cli.kernels.arcsine import Kernel
from enrelm_cli.phase_one.eigenbasis import landmark_projection
from enrelm_cli.phase_one.landmarks import Landmarks
from enrelm_cli.types import Array, Keys
from enrelm_cli.variants._leaf_blocks import block_errors, merge_key
from enrelm_cli.variants._leaves import LeafRows
from enrelm_cli.variants._pic import Factor, FactorLeaf, Global, LeafSums, LeafWeights, WeighFactor, WeighLeaf, solve

Pieces = Sequence[Iterable[LeafRows]]


def shared_by(kernel: Kernel, landmarks: Landmarks) -> Global:
    """What every leaf needs."""
    return Global(kernel, kernel.prepare(landmarks.Z), landmark_projection(kernel, landmarks))


@dataclass(frozen=True)
class Fitted:
    """The weights of every leaf at one ridge."""

    alpha: float
    intercept: Array | float
    leaves: list[LeafWeights]

    @property
    def rows(self) -> int:
        return sum(one.leaf.rows for one in self.leaves)

    def left_out(self, sample: Chunk) -> Array:
        """The error of each of these training rows when it is left out with its twins, or with its block: (t, ...).

        Rows that are in no leaf, or in no block that is left out, have none. Those of other rows stand for them, but
        not for rows that are earlier than all that is left out.
        """
        own = merge_key(sample)
        key, y, errors = (np.concatenate(one) for one in zip(*map(_of_inputs, self.leaves), strict=True))
        order = np.argsort(key)
        place = order[np.minimum(np.searchsorted(key, own, sorter=order), len(order) - 1)]
        known = (key[place] == own) & ~np.isnan(errors[place].reshape(len(own), -1)[:, 0])
        found: Array = sample.y - y[place] + errors[place]
        if sample.time is not None and self.leaves[0].leaf.block is not None:
            found[~known] = np.nan
        else:
            found[~known] = np.resize(found[known], (np.count_nonzero(~known), *found.shape[1:]))
        return found if known.any() else found[:0]


def _of_inputs(weights: LeafWeights) -> tuple[Keys, Array, Array]:
    """Every input of a leaf: its key, its mean target, and the error of that when it is left out."""
    return weights.leaf.key, weights.leaf.y, weights.errors


def without_blocks(leaves: list[LeafWeights]) -> list[LeafWeights]:
    """The errors of inputs that are left out with those of other leaves."""
    parts = [one.part for one in leaves if one.part is not None]
    if not parts:
        return leaves
    errors = block_errors(parts, [len(one.errors) for one in leaves], leaves[0].errors.shape[1:])
    return [replace(one, errors=mine, part=None) for one, mine in zip(leaves, errors, strict=True)]


def fit_again(engine: Engine, shared: Global, alpha: float, pieces: Pieces, outside: Sums | None) -> Fitted:
    """Two passes that factorise each leaf: nothing of the size of a leaf is kept or sent."""
    sums = engine.fold(pieces, LeafSums(shared, alpha), "leaves")
    solution = solve(sums, outside, alpha)
    weights = engine.map(pieces, WeighLeaf(shared, solution), "weights of the leaves")
    return Fitted(alpha, plain(solution.w[-1]), without_blocks(list(weights)))


def fit_keeping(engine: Engine, shared: Global, alpha: float, pieces: Pieces, outside: Sums | None) -> Fitted:
    """The same with the factors kept between the passes: the same bits in two thirds of the work."""
    return fit_factors(engine, shared, engine.map(pieces, FactorLeaf(shared, alpha), "leaves"), alpha, outside)


def fit_factors(
    engine: Engine, shared: Global, factored: Iterable[tuple[Factor, Sums]], alpha: float, outside: Sums | None
) -> Fitted:
    """From the factors of all leaves, which are overwritten."""
    tree, factors = Tree(), []
    for factor, sums in factored:
        tree.add(sums)
        factors.append([factor])
    solution = solve(tree.result(), outside, alpha)
    weights = engine.map(factors, WeighFactor(shared.projection.R, solution), "weights of the leaves")
    return Fitted(alpha, plain(solution.w[-1]), without_blocks(list(weights)))
