"""The algebra of the local part (PIC, partially independent conditional): a fold over leaves of m x m sums.

With landmarks Z, F = K(X, Z) R where R R' = K_ZZ^-1, and rows in leaves b,

    S = F F' + blockdiag(K_bb - F_b F_b') + alpha I.

The intercept is free: it is one more column of F, of ones, that no prior holds back. Rows with equal inputs are one row
of weight n: its noise is alpha/n, so every row of F, K and y is multiplied by sqrt(n) and the noise is alpha again.
For every leaf, with L_b L_b' = D_b = K_bb - F_b F_b' + alpha I, W_b = L_b^-1 F_b and v_b = L_b^-1 y_b:

    B = I_0 + sum_b W_b'W_b   (I_0: the identity with 0 for the intercept),   w = B^-1 sum_b W_b'v_b,
    a_b = L_b'^-1 (v_b - W_b w),   f(x) = F(x) w + (K(x, X_b) - F(x) F_b') a_b = K(x, Z) c_b + K(x, X_b) a_b + w_0,

with c_b = R (w - F_b'a_b). The error of a row when it and its twins are left out is exactly a_i / [S^-1]_ii, where
S^-1 is that of the free intercept and, with B = L L',

    diag = colsum((L_b^-1)²) - rowsum((D_b^-1 F_b L'^-1)²).

One leaf is exact kernel ridge regression. Rows that the local part does not see count with their sums F'F/alpha and
F'y/alpha: with no leaf at all, what is left is ridge regression on F, the kernel variant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enrelm_cli.columns import beside, wide
from enrelm_cli.fold.folds import Sums, one_blas_thread
from enrelm_cli.fold.unlocked import cholesky, lower_inverse, lower_solve, triangular_product
from enrelm_cli.fold.weights import times
from enrelm_cli.kernels.arcsine import Kernel, Prepared
from enrelm_cli.phase_one.eigenbasis import Projection
from enrelm_cli.types import Array, Keys
from enrelm_cli.variants._leaf_blocks import NO_BLOCK, BlockPart
from enrelm_cli.variants._leaves import LeafRows

# Of a row's own share: what rounding leaves where no other row is in any leaf.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Global:
    """What every leaf shares: the kernel and its landmarks."""

    kernel: Kernel
    prepared: Prepared  # landmarks
    projection: Projection

    @property
    def size(self) -> int:
        """Columns of F, the intercept's included."""
        return int(self.projection.R.shape[1]) + 1

    def features(self, X: Array, root: Array) -> Array:
        """F with its column of ones, row i times root_i: (n, d), (n,) -> (n, k + 1)."""
        F = np.empty((len(X), self.size))
        np.multiply(self.projection.of(self.prepared.against(X)), root[:, None], out=F[:, :-1])
        F[:, -1] = root
        return F

    def residual(self, leaf: LeafRows) -> Residual:
        root = np.sqrt(leaf.weight)
        F = self.features(leaf.X, root)
        D = self.kernel.gram(leaf.X, leaf.X)
        D *= root[:, None]
        D *= root
        D -= F[:, :-1] @ F[:, :-1].T
        return Residual(leaf, F, D)


@dataclass(frozen=True)
class Residual:
    """A leaf, and what the landmarks leave of its kernel."""

    leaf: LeafRows
    F: Array  # (n, k + 1)
    D: Array  # (n, n) K_bb - F_b F_b'

    def copy(self) -> Residual:
        return Residual(self.leaf, self.F.copy(), self.D.copy())

    def factor(self, alpha: float) -> Factor:
        """Overwrites F and D."""
        leaf, W, L = self.leaf, self.F, self.D
        L.flat[:: len(L) + 1] += alpha
        if not cholesky(L):
            # Rounding leaves K_bb - F_b F_b' at worst some 1e-10 below zero, and alpha is far above that.
            raise FloatingPointError("the covariance of a leaf is not positive definite")
        v = np.array(wide(beside(np.sqrt(leaf.weight), leaf.y) * leaf.y))
        lower_solve(L, W)
        lower_solve(L, v)
        return Factor(leaf, L, W, v)


@dataclass(frozen=True)
class Factor:
    """One leaf at one alpha."""

    leaf: LeafRows
    L: Array  # (n, n), lower triangle
    W: Array  # (n, k + 1)
    v: Array  # (n, 1), or (n, q) of q targets

    def sums(self) -> Sums:
        """What the leaf adds to B and to B w."""
        return Sums({"WW": self.W.T @ self.W, "Wv": self.W.T @ self._shaped(self.v)})

    def _shaped(self, v: Array) -> Array:
        """(n, q) as the targets are: one has no axis of its own."""
        return v[:, 0] if self.leaf.y.ndim == 1 else v

    def weights(self, R: Array, solution: Solution) -> LeafWeights:
        """Overwrites L and W. F_b'a_b is W_b'(v_b - W_b w): F_b itself is not needed any more."""
        leaf, w = self.leaf, solution.w
        a = self.v - self.W @ w.reshape(len(w), -1)
        c = R @ (w[:-1] - self.W[:, :-1].T @ self._shaped(a))
        lower_solve(self.L, a, transposed=True)
        root, a = np.sqrt(leaf.weight), self._shaped(a)
        lower_solve(self.L, self.W, transposed=True)
        explained = triangular_product(self.W, solution.inverse)
        lower_inverse(self.L)
        inverse = np.tril(self.L)
        free = beside(self._free(inverse, explained) * root, a)
        part = None if leaf.block is None else self._part(leaf.block, inverse, explained, a, root)
        return LeafWeights(leaf, a * beside(root, a), c, a / free, part)

    @staticmethod
    def _part(block: Keys, inverse: Array, explained: Array, a: Array, root: Array) -> BlockPart:
        """What is needed of the rows that are left out with those of other leaves."""
        at = np.flatnonzero(block != NO_BLOCK)
        columns = inverse[:, at]
        return BlockPart(block[at], at, explained[at], columns.T @ columns, a[at], root[at])

    @staticmethod
    def _free(inverse: Array, explained: Array) -> Array:
        """diag S^-1 of the leaf's rows."""
        square = np.einsum("ij,ij->j", inverse, inverse)
        free: Array = np.maximum(square - np.einsum("ij,ij->i", explained, explained), _ROUNDING * square)
        return free


# --- what the engine runs over the leaves ----------------------------------------------------------------------------


@dataclass(frozen=True)
class LeafSums:
    """Partial over leaves: W'W and W'v."""

    shared: Global
    alpha: float

    def __call__(self, leaf: LeafRows) -> Sums:
        return self.shared.residual(leaf).factor(self.alpha).sums()


@dataclass(frozen=True)
class WeighLeaf:
    """A leaf's weights, once all leaves' sums are known."""

    shared: Global
    solution: Solution

    def __call__(self, leaf: LeafRows) -> LeafWeights:
        factor = self.shared.residual(leaf).factor(self.solution.alpha)
        return factor.weights(self.shared.projection.R, self.solution)


@dataclass(frozen=True)
class FactorLeaf:
    """The factor of a leaf, which is kept, and its sums."""

    shared: Global
    alpha: float

    def __call__(self, leaf: LeafRows) -> tuple[Factor, Sums]:
        factor = self.shared.residual(leaf).factor(self.alpha)
        return factor, factor.sums()


@dataclass(frozen=True)
class FactorResidual:
    """The same of a residual that other alphas will meet, too."""

    alpha: float

    def __call__(self, residual: Residual) -> tuple[Factor, Sums]:
        factor = residual.copy().factor(self.alpha)
        return factor, factor.sums()


@dataclass(frozen=True)
class WeighFactor:
    """The weights of a leaf whose factor was kept."""

    R: Array  # of the projection
    solution: Solution

    def __call__(self, factor: Factor) -> LeafWeights:
        return factor.weights(self.R, self.solution)


@dataclass(frozen=True)
class Solution:
    """w and the inverse factor of B."""

    alpha: float
    w: Array  # (k + 1, ...) the last is the intercept
    inverse: Array  # (k + 1, k + 1) L'^-1 with B = L L': upper triangular, in Fortran order


@one_blas_thread
def solve(leaves: Sums | None, outside: Sums | None, alpha: float) -> Solution:
    """From the sums of the leaves (WW, Wv) and of the rows that are in none (FF, Fy)."""
    B, h = np.zeros(()), np.zeros(())
    if leaves is not None:
        B, h = B + leaves["WW"], h + leaves["Wv"]
    if outside is not None:
        B, h = B + outside["FF"] / alpha, h + outside["Fy"] / alpha
    B.flat[: -1 : len(B) + 1] += 1.0  # no prior holds the intercept back
    if not cholesky(B):
        raise FloatingPointError("the sums of the leaves are not positive definite")
    w = h.reshape(len(h), -1).copy()
    lower_solve(B, w)
    lower_solve(B, w, transposed=True)
    lower_inverse(B)
    return Solution(alpha, w.reshape(h.shape), np.tril(B).T)


@dataclass(frozen=True)
class LeafWeights:
    """What a leaf adds to the prediction, and the errors of its inputs' mean targets when they are left out."""

    leaf: LeafRows
    a: Array  # (n, ...)
    c: Array  # (m, ...)
    errors: Array  # (n, ...) NaN where an input is never left out
    part: BlockPart | None = None

    @property
    def squares(self) -> float:
        """The sum of squared left-out errors of its rows."""
        squares = (self.leaf.apart + self.errors[self.leaf.input]) ** 2
        return float(np.nansum(times(self.leaf.row_weight, squares)))
