"""Errors of networks on one side's rows, from the rows themselves or from sums that phase 1 has kept.

Err(l) = sqrt( sum_i (y_i - yhat_il)^2 / sum_i (y_i - ybar)^2 ),  l = 1..n

y in the target's own units, whatever scale the network was fitted on. Curves are of predictions that are not clipped to
the range of the training rows; what compare reports of its test rows is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from enrelm_cli.columns import squares as squares_of
from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Chunk, Sums, Together
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.training import Training
from enrelm_cli.judge.losses import Losses, relative_losses
from enrelm_cli.model.classes import log_softmax
from enrelm_cli.model.features import HiddenLayer, KernelFeatures
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.eigenbasis import SideSums, nested_squares
from enrelm_cli.phase_one.phase_one import Basis
from enrelm_cli.types import Array

# Rows of a block of a curve: the running sums of a block stay in cache. Those of few sizes are of more rows.
_BLOCK, _NUMBERS = 512, 1 << 18
# Targets that each have a running sum; the errors of more follow from products of the hidden outputs.
_MANY = 20
# Below this relative error the differences of sums that give it have lost too many digits: the rows are read instead.
RESOLVED = 1e-4


class Predictor(Protocol):
    """Standardised rows to standardised predictions."""

    def predict(self, X: Array) -> Array: ...


class Classifier(Protocol):
    """Standardised rows to probabilities of classes: (t, d) -> (t, C)."""

    def probabilities(self, X: Array) -> Array: ...


@dataclass(frozen=True)
class CurveRows:
    """Partial (algorithm 4): the squared error of every size 1..n over each side's rows, by one running sum a row.

    With `power` 1 the sums are of the errors' sizes.
    """

    view: View
    network: Network
    sides: tuple[Side, ...]
    power: int = 2

    def __call__(self, chunk: Chunk) -> SideSums:
        return SideSums({side: self._sums(self.view(chunk, side)) for side in self.sides})

    def _sums(self, chunk: Chunk) -> Sums:
        scale = self.view.target_scale
        squares = np.zeros(self.network.size)
        for block in chunk.blocks(max(_BLOCK, _NUMBERS // self.network.size)):
            if self.network.logits:
                gaps = self._coded(block) - block.y
                squares += float(np.vdot(gaps, gaps))
                continue
            if self.network.beta.ndim > 1:
                squares += self._squares_of_several(block)
                continue
            terms = self.network.features.outputs(block.X)
            terms *= self.network.beta
            np.cumsum(terms, axis=1, out=terms)
            if scale.transform == "none":
                terms -= (block.y - self.network.intercept)[:, None]
            else:
                terms = scale.predicted(terms + self.network.intercept) - scale.units(block.y)[:, None]
            squares += self._summed(block, terms)
        u = scale.units(chunk.y)
        total = np.sum(squares_of(chunk.rooted(u))) if self.power == 2 else np.abs(chunk.weighted(u)).sum()
        return Sums({"squares": squares, "total": total, "rows": chunk.rows})

    def _summed(self, block: Chunk, terms: Array) -> Array:
        """Of the errors (t, n) of a block's rows: (n,)."""
        if self.power == 1:
            return np.asarray(np.abs(block.weighted(terms)).sum(axis=0), dtype=np.float64)
        return np.asarray(np.einsum("ij,ij->j", block.weighted(terms), terms), dtype=np.float64)

    def _coded(self, block: Chunk) -> Array:
        """Probabilities of logistic regression, which has one size, as codes of classes."""
        scale = self.view.target_scale
        assert isinstance(scale, ClassScale)
        return scale.of_probabilities(np.exp(log_softmax(scale.scores(self.network.predict(block.X)))))

    def _squares_of_several(self, block: Chunk) -> Array:
        """Summed over the targets, each by a running sum of its own."""
        squares = np.zeros(self.network.size)
        outputs, intercept = self.network.features.outputs(block.X), np.asarray(self.network.intercept)
        own = block.y - intercept
        if self.power == 2 and outputs.ndim == 2 and own.shape[1] > _MANY:
            return self._squares_of_many(block, outputs, own)
        for c, beta in enumerate(self.network.beta.T):
            # Leaves have an output of their own for each target.
            terms = np.cumsum((outputs if outputs.ndim == 2 else outputs[:, :, c]) * beta, axis=1)
            terms -= own[:, c, None]
            squares += self._summed(block, terms)
        return squares

    def _squares_of_many(self, block: Chunk, S: Array, own: Array) -> Array:
        """sum_i |r_i|^2 - 2 sum_j r_i'beta_j S_ij + sum_jk S_ij S_ik beta_j'beta_k: three products, whatever the size.

        Classes are never told so well that the difference would lose its digits.
        """
        rooted = block.rooted(S)
        products = self._inner * (rooted.T @ rooted)
        square = 2.0 * np.tril(products, -1).sum(axis=1) + np.diag(products)
        cross = np.einsum("ij,ij->j", block.weighted(S), own @ self.network.beta.T)
        return float(np.sum(squares_of(block.rooted(own)))) + np.cumsum(square - 2.0 * cross)

    @cached_property
    def _inner(self) -> Array:
        """(n, n): beta_j'beta_k."""
        inner: Array = self.network.beta @ self.network.beta.T
        return inner


@dataclass(frozen=True)
class ErrorRows:
    """Partial: squared errors of several networks over one side's rows, in one pass."""

    view: View
    networks: tuple[Predictor, ...]
    side: Side

    def __call__(self, chunk: Chunk) -> Sums:
        chunk, scale = self.view(chunk, self.side), self.view.target_scale
        u = scale.units(chunk.y)
        gaps = [scale.predicted(network.predict(chunk.X)) - u for network in self.networks]
        squares = np.array([float(np.sum(chunk.weighted(gap**2))) for gap in gaps])
        return Sums({"squares": squares, "total": float(np.sum(squares_of(chunk.rooted(u)))), "rows": chunk.rows})


def relative_errors(squared: Array, total: float) -> Array:
    """Err(l) = sqrt( sum_i (y_i - yhat_il)^2 / sum_i (y_i - ybar)^2 ) from the two sums over rows: (n,), () -> (n,).

    Where every target equals the training mean there is nothing to relate to: a perfect prediction has error 0, any
    other an infinite one.
    """
    return relative_losses(squared, total, 2)


def relative_error(y: Array, y_hat: Array, y_mean: float) -> float:
    """||y - yhat|| / ||y - ybar|| with ybar the training mean."""
    squared = np.array([float(np.sum((y - y_hat) ** 2))])
    return float(relative_errors(squared, float(np.sum((y - y_mean) ** 2)))[0])


def curve_of(basis: Basis, network: Network, side: Side) -> Array:
    """Err(1..n) over one side's rows."""
    return curves_of([(basis, network)], (side,))[0][side]


def curves_of(networks: Sequence[tuple[Basis, Network]], sides: tuple[Side, ...]) -> list[dict[Side, Array]]:
    """Err(1..n) of each network over each side's rows."""
    return [{side: losses.relative(side) for side, losses in one.items()} for one in losses_of(networks, sides)]


def losses_of(
    networks: Sequence[tuple[Basis, Network]], sides: tuple[Side, ...], power: int = 2
) -> list[dict[Side, Losses]]:
    """The sums behind each curve: from those of phase 1 where they can tell, the others in one pass."""
    curves = [{side: losses_from_sums(*one, side, power) for side in sides} for one in networks]
    unknown = [tuple(side for side, losses in curve.items() if losses is None) for curve in curves]
    read = [k for k, sides in enumerate(unknown) if sides]
    if read:
        partials = tuple(CurveRows(networks[k][0].data.view, networks[k][1], unknown[k], power) for k in read)
        parts = networks[read[0]][0].data.fold(Together(partials), "error curves")
        for k, sums in zip(read, parts.values, strict=True):
            curves[k].update({side: _losses(sums.sides[side], power) for side in unknown[k]})
    return [{side: losses for side, losses in curve.items() if losses is not None} for curve in curves]


def _losses(sums: Sums, power: int) -> Losses:
    return Losses(sums["squares"], float(sums["total"]), float(sums["rows"]), power)


def errors_from_sums(basis: Basis, network: Network, side: Side) -> Array | None:
    """Err(1..n) without a pass, for columns of the basis itself; None where only the rows can tell."""
    losses = losses_from_sums(basis, network, side)
    return None if losses is None else losses.relative(side)


def losses_from_sums(basis: Basis, network: Network, side: Side, power: int = 2) -> Losses | None:
    """The sums of squares from those that phase 1 has kept."""
    if power != 2:
        return None
    gram = basis.gram
    if basis.data.view.target_scale.transform != "none" or network.order is None or basis.eigen.space is None:
        return None
    if gram is None or side not in gram.sums.sides:
        return None
    sums = gram.sums.total((side,))
    assert isinstance(network.features, (HiddenLayer, KernelFeatures))
    squares = nested_squares(basis.eigen, sums, network, network.features.offset)
    losses = Losses(squares, float(np.sum(sums["yy"])), float(sums["n"]), power)
    return losses if np.min(relative_errors(losses.values, losses.total)) > RESOLVED else None


def errors_of(data: Training, networks: tuple[Predictor, ...], side: Side) -> Array:
    """Err of each network over one side's rows."""
    return relative_of(data.fold(ErrorRows(data.view, networks, side), "predicting"), side)


def relative_of(sums: Sums, side: Side) -> Array:
    """No rows have no error; nought would pass for a perfect one."""
    if not int(sums["rows"]):
        raise DataError(
            f"the split left no {side.name.lower()} rows",
            "choose another split with --seed, or more rows with --validation-size",
        )
    return relative_errors(sums["squares"], float(sums["total"]))
