"""The hidden layer computed from the data (algorithm 1, step 3): W = sigma^-1(U') X (X'X)^+.

One-hot columns make X'X singular, so it is a pseudo-inverse, never an inverse: inverting a singular matrix gives
weights that are rounding noise. Rows are samples here (the paper's X is transposed).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from enrelm_cli.fold.folds import Chunk, Sums, one_blas_thread
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.kernels.activation import Activation
from enrelm_cli.model.features import BLOCK, HiddenLayer
from enrelm_cli.phase_one.eigenbasis import EigenBasis
from enrelm_cli.types import Array

# X'X of standardised inputs: a direction with less than this share of the largest is a dependence, not information.
DEPENDENT = 1e-12


@dataclass(frozen=True)
class InverseRows:
    """Partial: X'X and sigma^-1(U)'X of the training rows."""

    view: View
    basis: EigenBasis
    sigma: Activation

    def __call__(self, chunk: Chunk) -> Sums:
        chunk = self.view(chunk, Side.TRAIN)
        UX = np.zeros((len(self.basis.values), chunk.X.shape[1]))
        for block in chunk.blocks(BLOCK):
            UX += self.sigma.inverse(self.basis.of_training(block)).T @ block.X
        return Sums({"XX": chunk.X.T @ chunk.X, "UX": UX})


def hidden_layer(sums: Sums, sigma: Activation) -> HiddenLayer:
    """W from the folded sums."""
    W = pseudo_solve(sums["XX"], sums["UX"].T).T
    return HiddenLayer(np.ascontiguousarray(W), np.zeros(len(W)), sigma)


@one_blas_thread
def pseudo_solve(A: Array, B: Array) -> Array:
    """A^+ B for a symmetric A of standardised inputs: the shortest of all least-squares solutions."""
    values, vectors = linalg.eigh(A, check_finite=False)
    keep = values > DEPENDENT * values[-1]
    V = vectors[:, keep]
    solution: Array = (V / values[keep]) @ (V.T @ B)
    return solution
