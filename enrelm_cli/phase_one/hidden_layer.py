"""The hidden layer computed from the data (algorithm 1, step 3): W = sigma^-1(U') X (X'X)^+.

Rows are samples here (the paper's X is transposed).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.training import Training
from enrelm_cli.kernels.activation import Activation
from enrelm_cli.model.features import BLOCK, HiddenLayer
from enrelm_cli.phase_one.eigenbasis import EigenBasis
from enrelm_cli.phase_one.least_squares import FewRows, NormalSums
from enrelm_cli.types import Array


@dataclass(frozen=True)
class InverseRows:
    """Partial: the normal equations X W' = sigma^-1(U) of the training rows."""

    view: View
    basis: EigenBasis
    sigma: Activation

    def __call__(self, chunk: Chunk) -> Sums:
        chunk = self.view(chunk, Side.TRAIN)
        t, d = chunk.X.shape
        if t > d:
            return Sums({"normal": self._sums(chunk)})
        return Sums({"normal": FewRows(chunk.rooted(chunk.X), chunk.rooted(self._inverse(chunk)))})

    def _inverse(self, chunk: Chunk) -> Array:
        return self.sigma.inverse(self.basis.of_training(chunk))

    def _sums(self, chunk: Chunk) -> NormalSums:
        """The columns of U may be many: blocks stay in cache."""
        BX = np.zeros((len(self.basis.values), chunk.X.shape[1]))
        for block in chunk.blocks(BLOCK):
            BX += self._inverse(block).T @ block.weighted(block.X)
        X = chunk.rooted(chunk.X)
        return NormalSums(X.T @ X, BX)


def layer_of(data: Training, basis: EigenBasis, sigma: Activation) -> HiddenLayer:
    """W of the eigenvectors of a basis: one pass over the rows."""
    sums = data.fold(InverseRows(data.view, basis, sigma), "hidden layer")
    W = sums["normal"].solve().T
    return HiddenLayer(np.ascontiguousarray(W), np.zeros(len(W)), sigma)
