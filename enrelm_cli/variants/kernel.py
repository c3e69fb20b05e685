"""The kernel variant, this project's own: the kernel's eigenfunctions phi are the hidden outputs.

The paper looks for an oracle phi with phi(x_i) = U_i and says that it does not exist. It does: the Nystroem extension
phi_j(x) = sum_i K(x, x_i) U_ij / lambda_j. On centred, orthonormal columns, ridge regression with a free intercept is
a filter:

    beta_j = c_j lambda_j / (lambda_j + alpha),  c = U'y,  leverage h_i = 1/T + sum_j U_ij^2 lambda_j / (lambda_j +
    alpha)

and the error of row i when it is left out is exactly (y_i - yhat_i) / (1 - h_i). alpha minimises the sum of their
squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.columns import beside, lengths, plain, sum_by
from enrelm_cli.fold.folds import Chunk, Sums, one_blas_thread
from enrelm_cli.fold.weights import by_place
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.inputs.training import Training
from enrelm_cli.model.features import BLOCK
from enrelm_cli.model.network import Network
from enrelm_cli.model.updating.frozen import Frozen, FrozenLandmarks
from enrelm_cli.phase_one.eigenbasis import EigenBasis, landmark_projection
from enrelm_cli.phase_one.left_out import block_of, tried
from enrelm_cli.phase_one.phase_one import Basis, Start
from enrelm_cli.phase_one.tuning.ridge import best_alpha
from enrelm_cli.settings import MethodSettings
from enrelm_cli.types import Array, Keys
from enrelm_cli.variants._left_out import blocks_left_out, errors_of_blocks, fold_blocks
from enrelm_cli.variants._logistic import FELT, RIDGES, affordable, fit_logistic, problem, rows_for
from enrelm_cli.variants._near_copies import NearCopies, near_copies
from enrelm_cli.variants._variant import Variant

# The kernel is at most 1, so alpha compares noise with signal. Less than this trusts the target to its last digit,
# which extrapolates wildly on a few hundred heavy-tailed rows (machine_cpu, mean error of ten splits: 0.58, not 0.49).
MIN_RIDGE = 1e-5
_POINTS, _FEW_POINTS, _MANY = 45, 15, 20
# Multiply-adds that the errors of all alphas may take, and the rows that they are of at least.
_WORK, _CHOOSING = 2e10, 500
# What rounding leaves of a row's share outside the span of U where it has none.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Twins:
    """Rows with equal inputs: how many there are of each (their weight), and the mean of their targets."""

    key: Keys  # (u,) sorted
    count: Array  # (u,)
    y: Array  # (u, ...)

    def of(self, rows: Chunk) -> tuple[Array, Array]:
        """(count, mean target) for each row."""
        place = np.searchsorted(self.key, rows.alike())
        return self.count[place], self.y[place]


def twins(sample: Chunk, T: int) -> Twins:
    """Counted in the sample, and scaled up where it is not every row."""
    key, place = np.unique(sample.alike(), return_inverse=True)
    count = by_place(place, sample.weight, len(key))
    mean = sum_by(place, sample.weighted(sample.y), len(key)) / beside(count, sample.y)
    return Twins(key, count * max(T / sample.rows, 1.0), mean)


@dataclass(frozen=True)
class LeftOut:
    """The error of every standardised training row when it and its twins are left out, for each alpha.

    A twin that stays in would tell a row's target. With n rows of one input, of leverage h and mean target ybar each,
    the error without them all is (y_i - ybar) + (ybar - yhat) / (1 - n h): the usual formula for n = 1.

    Written with 1 - lambda/(lambda+alpha) = alpha/(lambda+alpha), so that neither the residual nor 1 - n h is a
    difference of nearly equal numbers when alpha is small: ybar - yhat = (ybar - U c) + U (c alpha/(lambda+alpha)),
    and likewise for h.
    """

    basis: EigenBasis
    shrunk: Array  # (k, a): alpha / (lambda + alpha), 1 for a column that is left out
    twins: Twins

    def errors(self, rows: Chunk) -> Array:
        """(t, a), or (t, a, q) of q targets."""
        basis, shrunk = self.basis, self.shrunk
        n, mean = self.twins.of(rows)
        U = basis.of_sample(rows)
        residual = (mean - basis.y_mean - U @ basis.c)[:, None] + self._shrunk(U)
        leverages = np.square(U)
        leverages *= n[:, None]
        outside = 1.0 - n / basis.rows - leverages.sum(axis=1)
        outside[outside < _ROUNDING] = 0.0
        free = outside[:, None] + leverages @ shrunk
        free = np.maximum(free, np.finfo(float).tiny)
        errors: Array = (rows.y - mean)[:, None] + residual / (free if rows.y.ndim == 1 else free[:, :, None])
        return errors

    def _shrunk(self, U: Array) -> Array:
        """U (c alpha/(lambda+alpha)) for every alpha."""
        c, shrunk = self.basis.c, self.shrunk
        if c.ndim == 1:
            return U @ (c[:, None] * shrunk)
        k, q = c.shape
        return (U @ (c[:, None, :] * shrunk[:, :, None]).reshape(k, -1)).reshape(len(U), -1, q)

    def __call__(self, chunk: Chunk) -> Sums:
        """Partial: the sum of squared left-out errors for each alpha."""
        squares = np.zeros((self.shrunk.shape[1], *chunk.y.shape[1:]))
        for block in chunk.blocks(BLOCK):
            errors = self.errors(block)
            squares += np.einsum("ij...,ij...->j...", block.weighted(errors), errors)
        return Sums({"squares": squares, "rows": chunk.total})


def grid(basis: EigenBasis) -> Array:
    """The alphas that are tried: fewer for many targets, whose errors are those of each alpha and target."""
    points = _POINTS if basis.c.ndim == 1 or basis.c.shape[1] <= _MANY else _FEW_POINTS
    alphas: Array = np.geomspace(MIN_RIDGE, max(10.0 * float(basis.values[0]), 1.0), points)
    return alphas


def _rows_that_choose(shrunk: int, targets: int) -> int:
    """How many rows choose alpha, of an even sample: those of many targets have as many errors each."""
    return max(_CHOOSING, int(_WORK / (shrunk * targets)))


@dataclass(frozen=True)
class Filtered:
    """Columns by |beta|, largest first."""

    order: NDArray[np.int64]  # (n,)
    beta: Array  # (n, ...)


def filtered(basis: EigenBasis, alpha: float, n: int) -> Filtered:
    """Ridge-filtered weights of the n columns that matter most."""
    beta = (basis.c.T * basis.values / (basis.values + alpha)).T
    order = np.argsort(-lengths(beta), kind="stable")[:n]
    return Filtered(order, beta[order])


def fit(data: Training, basis: EigenBasis, n: int) -> Network:
    """Filter by the alpha with the smallest leave-one-out error.

    The errors are those of the rows of the sample: every training row of a table up to its size, an even choice above
    it, and above the work of hundreds of classes.
    """
    alphas, sample = grid(basis), data.sample()
    block = block_of(sample)
    alphas = tried(alphas, block, len(basis.values))
    shrunk = alphas / (basis.values[:, None] + alphas)
    if block is None:
        rows = _rows_that_choose(shrunk.size, int(basis.c[0].size))
        left_out = data.fold_sample(LeftOut(basis, shrunk, twins(sample, data.T)), rows)
    else:
        left_out = fold_blocks(data, block, blocks_left_out(basis, shrunk, sample))
    squares = left_out["squares"] if basis.c.ndim == 1 else left_out["squares"].sum(axis=1)
    alpha = best_alpha(alphas, squares)
    error = float(np.sqrt(squares.min() / left_out["rows"]))
    chosen = filtered(basis, alpha, n)
    facts = {"alpha": alpha, "leave_one_out_error": error}
    features = basis.features.take(chosen.order)
    return Network(features, chosen.beta, basis.y_mean, order=chosen.order, facts=facts)


@one_blas_thread
def left_out_errors(data: Training, basis: EigenBasis, alpha: float, n: int) -> Array:
    """The error of every training row of the sample when it is left out of the network of n neurons, standardised.

    With its group; or with all later rows, and NaN for those that are never left out.
    """
    shrunk = np.ones((len(basis.values), 1))
    kept = filtered(basis, alpha, n).order
    shrunk[kept, 0] = alpha / (basis.values[kept] + alpha)
    sample = data.sample()
    block = block_of(sample)
    if block is not None:
        return errors_of_blocks(sample, block, blocks_left_out(basis, shrunk, sample))
    left_out = LeftOut(basis, shrunk, twins(sample, data.T))
    return np.concatenate([left_out.errors(block)[:, 0] for block in sample.blocks(BLOCK)])


def fit_classes(data: Training, basis: EigenBasis, before: Network | None) -> Network | None:
    """Logistic regression on the kernel's eigenfunctions: gamma_j sqrt(lambda_j) phi_j with a ridge on gamma.

    On the rows of the sample, or on as many of them as the work allows: its left-out log-loss says whether that pays.
    None where it allows too few.
    """
    scale = data.view.target_scale
    assert isinstance(scale, ClassScale)
    alphas = RIDGES if before is None else np.array([(before.facts or {})["alpha"]])
    kept = np.flatnonzero(basis.values > FELT * float(alphas[-1]))
    kept = kept if len(kept) else np.arange(1)
    sample, size = data.sample(), (len(kept), scale.classes, len(RIDGES))
    if before is None and not affordable(*size, sample.rows):
        return None
    sample = sample.between(0, max(rows_for(*size), len(kept)))
    part, root = basis.take(kept), np.sqrt(basis.values[kept])
    U = np.concatenate([part.of_training(block) for block in sample.blocks(BLOCK)])
    found = fit_logistic(problem(U * root, sample, scale), alphas)
    beta = found.gamma * root[:, None]
    order = np.argsort(-lengths(beta), kind="stable")
    facts = {"alpha": found.alpha, "logistic_rows": sample.rows, "left_out_log_loss": found.loss}
    shape = (-1, *scale.targets)
    return Network(
        part.features.take(order),
        beta[order].reshape(len(kept), *scale.targets),
        plain(found.intercept.reshape(scale.targets)),
        order=kept[order],
        facts=facts,
        left_out=found.left_out.reshape(shape),
        logits=True,
    )


class Kernel(Variant):
    name = "kernel"
    start = Start.TUNED
    complexity = 30
    from_sums = True
    regularised = True

    def fit(self, basis: Basis, method: MethodSettings, n: int) -> Network:
        return fit(basis.data, basis.eigen, n)

    def freeze(self, basis: Basis, method: MethodSettings) -> Frozen:
        """Landmarks and kernel: ridge and weights follow from the sums of rows K(x, Z) R."""
        kernel = basis.tuned.kernel
        projection = landmark_projection(kernel, basis.landmarks)
        return FrozenLandmarks(kernel, basis.landmarks.Z, projection.R, projection.triangular)

    def logistic(
        self, basis: Basis, method: MethodSettings, own: Network | None, before: Network | None = None
    ) -> Network | None:
        return fit_classes(basis.data, basis.eigen, before)

    def left_out(self, basis: Basis, network: Network) -> Array:
        alpha = (network.facts or {})["alpha"]
        return left_out_errors(basis.data, basis.eigen, alpha, network.size)

    def near_copies(self, basis: Basis, network: Network) -> NearCopies | None:
        alpha = (network.facts or {})["alpha"]
        return near_copies(basis.data, basis.eigen, basis.tuned.kernel, alpha)


VARIANT = Kernel()
