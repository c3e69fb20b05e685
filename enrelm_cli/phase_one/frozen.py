"""Sums of a hidden layer whose weights stay as they are, and of whatever else an updatable model's rows are summed by.

Of rows s = sigma(W x), kept for each side: n, sum s, S'S, S'y, y'y; and, where the layer stands for eigenvectors
phi(x) = K(x, Z) P, the sums of phi, phi^2 and phi y: beta_j = <y - ybar, phi_j> / <phi_j, phi_j>, which is U'y on the
rows that gave phi.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from enrelm_cli.columns import plain
from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.kernels.arcsine import Kernel
from enrelm_cli.model.features import BLOCK, HiddenLayer
from enrelm_cli.model.updating.frozen import Frozen, FrozenLandmarks, FrozenLayer
from enrelm_cli.phase_one.eigenbasis import EigenBasis, GramRows, Projection, SideSums, gram_sums
from enrelm_cli.phase_one.landmarks import Landmarks
from enrelm_cli.types import Array


@dataclass(frozen=True)
class LayerRows:
    """Partial: the sums of each side's rows."""

    view: View
    frozen: FrozenLayer
    sides: tuple[Side, ...]

    def __call__(self, chunk: Chunk) -> SideSums:
        present = self.view.split.sides(chunk)
        return SideSums({side: self._sums(self.view(chunk, side)) for side in self.sides if (present == side).any()})

    def _sums(self, chunk: Chunk) -> Sums:
        sums, phi = gram_sums(chunk, self.frozen.layer.outputs, self.frozen.size), self.frozen.phi
        if phi is None:
            return sums
        k = phi.size
        p, pp, py = np.zeros(k), np.zeros(k), np.zeros((k, *chunk.y.shape[1:]))
        for block in chunk.blocks(BLOCK):
            F = phi.outputs(block.X)
            p += block.weighted(F).sum(axis=0)
            pp += np.einsum("ij,ij->j", block.weighted(F), F)
            py += F.T @ block.weighted(block.y)
        return Sums({**sums.values, "p": p, "pp": pp, "py": py})


@dataclass(frozen=True)
class NoOutputs:
    """Partial: how many rows each side has, and the sums of their targets."""

    view: View
    sides: tuple[Side, ...]

    def __call__(self, chunk: Chunk) -> SideSums:
        present = self.view.split.sides(chunk)
        return SideSums({side: self._sums(self.view(chunk, side)) for side in self.sides if (present == side).any()})

    def _sums(self, chunk: Chunk) -> Sums:
        return gram_sums(chunk, _nothing, 0)


def _nothing(X: Array) -> Array:
    return np.zeros((len(X), 0))


def rows_of(frozen: Frozen, view: View, sides: tuple[Side, ...]) -> GramRows | LayerRows | NoOutputs:
    """The partial that sums what stays as it is."""
    if isinstance(frozen, FrozenLandmarks):
        prepared = frozen.kernel.prepare(frozen.Z)
        return GramRows(view, prepared, Projection(frozen.R, frozen.triangular), sides)
    return LayerRows(view, frozen, sides) if isinstance(frozen, FrozenLayer) else NoOutputs(view, sides)


@dataclass(frozen=True)
class LayerGram:
    """The sums of one layer over the rows of each side."""

    kernel: Kernel
    landmarks: Landmarks
    layer: HiddenLayer
    sums: SideSums

    def rows(self, sides: tuple[Side, ...]) -> int:
        return int(self.sums.total(sides)["rows"])

    def weight(self, sides: tuple[Side, ...]) -> float:
        return float(self.sums.total(sides)["n"])

    def of_target(self, place: int) -> LayerGram:
        """The same for one of several targets."""
        return replace(self, sums=self.sums.of_target(place))

    def eigenbasis(self, centred: bool, sides: tuple[Side, ...] = (Side.TRAIN,)) -> EigenBasis:
        """The neurons in place of eigenvectors: c is beta where phi is known, else S'(y - ybar)."""
        sums = self.sums.total(sides)
        n, k = float(sums["n"]), self.layer.size
        y_mean = sums["y"] / n
        c = sums["By"] - np.multiply.outer(sums["b"], y_mean)
        if "pp" in sums.values:
            projected = sums["py"] - np.multiply.outer(sums["p"], y_mean)
            c = (projected.T / np.maximum(sums["pp"], np.finfo(float).tiny)).T
        return EigenBasis(np.ones(k), self.layer, c, n, plain(y_mean), space=np.eye(k))

    def centred(self, sides: tuple[Side, ...]) -> Sums:
        """What a stagewise path needs: y centred, S as it is."""
        sums = self.sums.total(sides)
        n, y_mean = float(sums["n"]), sums["y"] / sums["n"]
        Sy = sums["By"] - np.multiply.outer(sums["b"], y_mean)
        yy = float(np.sum(sums["yy"] - n * y_mean**2))
        return Sums({"n": n, "s": sums["b"], "SS": sums["BB"], "Sy": Sy, "yy": yy})
