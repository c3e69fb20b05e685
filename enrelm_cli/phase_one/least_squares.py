"""Least squares B = X W of folded rows: from X'X and B'X, or from the rows while they are fewer than the columns.

X'X of 30 rows of 5,000 columns has 25 million numbers of rank 30, and its eigenvectors take a minute; X X' has 900.
Both give the shortest of all least-squares solutions, W = (X'X)^+ X'B = X'(X X')^+ B. One-hot columns make X'X
singular, so it is a pseudo-inverse, never an inverse: that of a singular matrix is rounding noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from enrelm_cli.fold.folds import one_blas_thread
from enrelm_cli.types import Array

# X'X of standardised inputs: a direction with less than this share of the largest is a dependence, not information.
DEPENDENT = 1e-12


@dataclass(frozen=True)
class NormalSums:
    """The sums of the normal equations."""

    XX: Array  # (d, d)
    BX: Array  # (k, d), or (d,)

    def sums(self) -> NormalSums:
        return self

    def __add__(self, other: Normal) -> NormalSums:
        theirs = other.sums()
        return NormalSums(self.XX + theirs.XX, self.BX + theirs.BX)

    def solve(self) -> Array:
        """W: (d, k), or (d,)."""
        return pseudo_solve(self.XX, self.BX.T)

    def change(self, w: Array) -> float:
        """|B - X w|^2 - |B|^2, summed over its columns."""
        if w.ndim > 1:
            return -2.0 * float(np.sum(w.T * self.BX)) + float(np.sum(w * (self.XX @ w)))
        return -2.0 * float(w @ self.BX) + float(w @ self.XX @ w)


@dataclass(frozen=True)
class FewRows:
    """The rows themselves: at most as many as X has columns, so never larger than their sums."""

    X: Array  # (t, d)
    B: Array  # (t, k), or (t,)

    def sums(self) -> NormalSums:
        return NormalSums(self.X.T @ self.X, self.B.T @ self.X)

    def __add__(self, other: Normal) -> Normal:
        if isinstance(other, FewRows) and len(self.X) + len(other.X) <= self.X.shape[1]:
            return FewRows(np.concatenate([self.X, other.X]), np.concatenate([self.B, other.B]))
        return self.sums() + other

    def solve(self) -> Array:
        """W: (d, k), or (d,)."""
        W: Array = self.X.T @ pseudo_solve(self.X @ self.X.T, self.B)
        return W

    def change(self, w: Array) -> float:
        """|B - X w|^2 - |B|^2, summed over its columns."""
        Xw = self.X @ w
        return -2.0 * float(np.vdot(Xw, self.B)) + float(np.vdot(Xw, Xw))


Normal = NormalSums | FewRows


def normal(X: Array, B: Array) -> Normal:
    """Rows of X and B, as what takes less."""
    rows = FewRows(X, B)
    return rows if len(X) <= X.shape[1] else rows.sums()


@one_blas_thread
def pseudo_solve(A: Array, B: Array) -> Array:
    """A^+ B for a symmetric A of standardised inputs."""
    values, vectors = linalg.eigh(A, check_finite=False)
    keep = values > DEPENDENT * values[-1]
    V = vectors[:, keep]
    solution: Array = (V / values[keep]) @ (V.T @ B)
    return solution
