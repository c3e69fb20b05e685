"""Eigenvectors U and eigenvalues lambda of the training rows' kernel, and the functions phi that extend U to any row.

Nystroem, with landmarks Z, C = K(X, Z) and any R with R R' = K_ZZ^-1 (pseudo-inverse):

    B = C R,  B'B = V D V'   ->   U = B V D^(-1/2),  lambda = D,  phi(x) = K(x, Z) P,  P = R V D^(-1/2),  phi(x_i) = U_i

When every distinct row is a landmark this is exact, and one eigenproblem is enough. With n_z rows equal to row z:

    N^(1/2) K_ZZ N^(1/2) = Q L Q'   ->   U_z = Q_z / sqrt(n_z),  lambda = L,  P = N^(1/2) Q / L

`centred`: the same for the centred kernel H K H (H = I - 11'/T): columns of U then sum to zero and are orthonormal,
which is what a regression with a free intercept wants (the kernel variant). phi(x) = K(x, Z) P - offset.

Eigenvalues at or below CUT times the largest are dropped: repeated or dependent rows make a null space whose basis is
arbitrary, and below that ratio float64 leaves nothing of an eigenvector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack

from enrelm_cli.columns import plain, squares, sum_by, wide
from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Chunk, Sums, one_blas_thread
from enrelm_cli.fold.unlocked import triangular_product
from enrelm_cli.fold.weights import by_place
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.targets.rows import sums_with_target
from enrelm_cli.kernels.arcsine import Kernel, Prepared
from enrelm_cli.model.features import BLOCK, HiddenLayer, KernelFeatures
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.landmarks import Landmarks
from enrelm_cli.phase_one.shared import Shared
from enrelm_cli.types import Array, Keys

CUT = 1e-12


@dataclass(frozen=True)
class EigenBasis:
    """U and lambda of the training rows, largest eigenvalue first."""

    values: Array  # (k,) lambda
    features: KernelFeatures | HiddenLayer  # a layer where its weights stay as they are (frozen.py)
    c: Array  # (k,), or (k, q) of q targets: U'(y - y_mean) for the standardised target
    rows: float  # T, or the sum of the weights
    y_mean: Array | float = 0.0  # of the standardised target: 0 unless rows were added after it was standardised
    space: Array | None = None  # (., k): U = B V where the basis comes from Gram sums
    # Keys (m,) sorted and U_z (m, k): exact rows of U where every row is a landmark.
    exact: tuple[Keys, Array] | None = None
    shared: Shared = field(default_factory=Shared, compare=False, repr=False)  # by the bases of all targets

    def of_training(self, chunk: Chunk) -> Array:
        """Rows of U for standardised training rows: (t, k)."""
        if self.exact is None:
            return self.features.outputs(chunk.X)
        key, U = self.exact
        return U[np.searchsorted(key, chunk.twins)]

    def of_sample(self, chunk: Chunk) -> Array:
        """The same of rows of the sample, which are asked for again: not to be written into."""
        return self.shared.once(chunk.twins.tobytes(), self.values, lambda: self.of_training(chunk))

    def products(self, BB: Array) -> Array:
        """V'(B'B)V of the rows of a side: (k, k), not to be written into."""
        V = self.space
        assert V is not None
        return self.shared.once(("products", id(BB)), BB, lambda: V.T @ BB @ V)

    def take(self, order: NDArray[np.int64]) -> EigenBasis:
        exact = None if self.exact is None else (self.exact[0], np.ascontiguousarray(self.exact[1][:, order]))
        space = None if self.space is None else self.space[:, order]
        features = self.features.take(order)
        return EigenBasis(self.values[order], features, self.c[order], self.rows, self.y_mean, space, exact)


@dataclass(frozen=True)
class CountRows:
    """Partial: how many training rows each landmark stands for (their weight), and the sum of their targets."""

    view: View
    key: Keys  # (m,) sorted

    def __call__(self, chunk: Chunk) -> Sums:
        chunk = self.view(chunk, Side.TRAIN)
        place = np.searchsorted(self.key, chunk.twins)
        m = len(self.key)
        return Sums({"count": by_place(place, chunk.weight, m), "y": sum_by(place, chunk.weighted(chunk.y), m)})


@dataclass(frozen=True)
class SideSums:
    """Sums of each side's rows, kept apart: a refit to more sides adds them up instead of another pass."""

    sides: dict[Side, Sums]

    def merge(self, other: SideSums) -> SideSums:
        joined = dict(self.sides)
        for side, sums in other.sides.items():
            joined[side] = joined[side].merge(sums) if side in joined else sums
        return SideSums(joined)

    def of_target(self, place: int) -> SideSums:
        """The same for one of several targets."""
        return SideSums({side: sums_with_target(sums, place) for side, sums in self.sides.items()})

    def total(self, sides: Iterable[Side]) -> Sums:
        """Of these sides together."""
        return reduce(Sums.merge, [self.sides[side] for side in sides if side in self.sides])


@dataclass(frozen=True)
class Projection:
    """From rows of C = K(X, Z) to rows of B = C R, with R R' = K_ZZ^-1 (or its pseudo-inverse)."""

    R: Array  # (m, k), in Fortran order where it is triangular
    triangular: bool

    def of(self, C: Array) -> Array:
        """C R; C may be overwritten."""
        return triangular_product(C, self.R) if self.triangular else C @ self.R


@dataclass(frozen=True)
class GramRows:
    """Partial: n (the sum of weights), sum b, B'B, B'y, sum y and y'y of each side's rows, each times its weight."""

    view: View
    prepared: Prepared
    projection: Projection
    sides: tuple[Side, ...] = (Side.TRAIN,)

    def __call__(self, chunk: Chunk) -> SideSums:
        present = self.view.split.sides(chunk)
        return SideSums({side: self._sums(self.view(chunk, side)) for side in self.sides if (present == side).any()})

    def _sums(self, chunk: Chunk) -> Sums:
        return gram_sums(chunk, self._outputs, self.projection.R.shape[1])

    def _outputs(self, X: Array) -> Array:
        return self.projection.of(self.prepared.against(X))


def gram_sums(chunk: Chunk, outputs: Callable[[Array], Array], k: int) -> Sums:
    """The sums of rows b(x) (k,), whatever they are, over the rows of a chunk."""
    b, BB, By = np.zeros(k), np.zeros((k, k)), np.zeros((k, *chunk.y.shape[1:]))
    for block in chunk.blocks(BLOCK):
        B = outputs(block.X)
        wy, root = block.weighted(block.y), block.rooted(B)
        b += block.weighted(B).sum(axis=0)
        BB += root.T @ root
        By += B.T @ wy
    y, yy = chunk.weighted(chunk.y).sum(axis=0), squares(chunk.rooted(chunk.y))
    return Sums({"n": chunk.total, "b": b, "BB": BB, "By": By, "y": y, "yy": yy, "rows": chunk.rows})


@one_blas_thread
def symmetric_eigen(A: Array) -> tuple[Array, Array]:
    """Eigenvalues above CUT of the largest, largest first, and their vectors (this driver measured fastest)."""
    values, vectors = linalg.eigh(A, driver="evd", overwrite_a=True, check_finite=False)
    keep = np.flatnonzero(values > CUT * max(values[-1], 0.0))[::-1]
    if not len(keep):
        raise DataError(
            "the kernel of the landmarks is zero: every one of them is the mean row",
            "use more landmarks, or give the kernel a bias with --bias-variance 1",
        )
    return values[keep], np.ascontiguousarray(vectors[:, keep])


@one_blas_thread
def full_basis(kernel: Kernel, landmarks: Landmarks, counts: Sums, centred: bool) -> EigenBasis:
    """Every distinct training row is a landmark: one eigenproblem, exact. `counts` go by sorted key."""
    by_key = np.argsort(landmarks.key)
    Z, key = landmarks.Z[by_key], landmarks.key[by_key]
    n, y_sum = counts["count"], counts["y"]
    T = n.sum()
    K = kernel.gram(Z, Z)
    mean = np.zeros(len(Z))
    if centred:
        mean = K @ n / T
        K += (n @ mean) / T - mean[:, None] - mean[None, :]
    root = np.sqrt(n)
    K *= root[:, None]
    K *= root[None, :]
    values, Q = symmetric_eigen(K)
    U = Q / root[:, None]
    P = Q * root[:, None] / values
    if centred:
        # Columns of P sum to zero, but for rounding that a small eigenvalue magnifies.
        P -= (n / T)[:, None] * P.sum(axis=0)
    features = KernelFeatures(kernel, Z, P, mean @ P)
    return EigenBasis(values, features, U.T @ y_sum, float(T), exact=(key, U))


@one_blas_thread
def landmark_projection(kernel: Kernel, landmarks: Landmarks) -> Projection:
    """R = L'^-1 from K_ZZ = L L' where the landmarks are independent, and Q L^(-1/2) from its eigenvectors where not.

    B'B has the same eigenvalues either way, and the rows of B carry a relative rounding error of eps / rho in the
    direction of relative eigenvalue rho. (Forming C'C and multiplying by R afterwards would take half the time and
    make that eps / rho^2: predictions would then depend on the order of the rows in the seventh digit.)
    """
    K = kernel.gram(landmarks.Z, landmarks.Z)
    L, failed = lapack.dpotrf(K, lower=1, clean=1)
    # The smallest pivot bounds the smallest eigenvalue, the trace the largest.
    if not failed and np.diag(L).min() ** 2 > CUT * np.trace(K):
        inverse, _ = lapack.dtrtri(L, lower=1)
        return Projection(np.asfortranarray(inverse.T), triangular=True)
    values, Q = symmetric_eigen(K)
    return Projection(Q / np.sqrt(values), triangular=False)


@one_blas_thread
def landmark_basis(kernel: Kernel, landmarks: Landmarks, R: Array, gram: Sums, centred: bool) -> EigenBasis:
    """The eigenbasis that the Gram sums of all training rows give."""
    T, mean, y_mean = gram["n"], gram["b"] / gram["n"], gram["y"] / gram["n"]
    BB = gram["BB"] - T * np.outer(mean, mean) if centred else gram["BB"].copy()
    values, V = symmetric_eigen(BB)
    V = V / np.sqrt(values)
    offset = mean @ V if centred else np.zeros(len(values))
    c = V.T @ (gram["By"] - np.multiply.outer(gram["b"], y_mean))
    features = KernelFeatures(kernel, landmarks.Z, R @ V, offset)
    return EigenBasis(values, features, c, float(T), plain(y_mean), space=V, shared=Shared.of(c))


@one_blas_thread
def nested_squares(basis: EigenBasis, gram: Sums, network: Network, offset: Array) -> Array:
    """sum_i |y_i - yhat_il|^2 of every nested size l from the Gram sums of those rows, summed over targets: (n,).

    Neuron j is V_j'b - o_j, b a row of B. The prediction of size l is sum_{j<=l} beta_j (V_j'b - o_j) + intercept; its
    products with itself and with y are prefix sums: of beta_j beta_k (V'B'BV)_jk, which no target changes, of beta_j
    V_j'(sum b), beta_j o_j and beta_j V_j'(B'y).
    """
    order, V = network.order, basis.space
    assert V is not None
    assert order is not None
    beta = wide(network.beta)
    G, n = basis.products(gram["BB"])[np.ix_(order, order)], gram["n"]
    own = 2.0 * (np.tril(G, -1) @ beta) + np.diag(G)[:, None] * beta
    s = np.cumsum(beta * (V.T @ gram["b"])[order, None], axis=0)
    o = np.cumsum(beta * offset[:, None], axis=0)
    y, yy, intercept = np.atleast_1d(gram["y"]), np.atleast_1d(gram["yy"]), np.atleast_1d(network.intercept)
    square = np.cumsum(beta * own, axis=0) - 2.0 * s * o + n * o**2
    cross = np.cumsum(beta * wide(V.T @ gram["By"])[order], axis=0) - intercept * s - (y - n * intercept) * o
    errors = yy - 2.0 * intercept * y + n * intercept**2 - 2.0 * cross + square
    squares_of_sizes: Array = errors.sum(axis=1)
    return squares_of_sizes
