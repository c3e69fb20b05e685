"""The inverse of a large symmetric matrix on several threads, whose bits do not depend on how many there are.

Blocks K of rows are swept one after the other. With P = A_KK and B = A_:K,

    A_ij <- A_ij - B_i P⁻¹ B_jᵀ,   A_iK <- B_i P⁻¹,   A_KK <- -P⁻¹      (i, j outside K)

leaves -A⁻¹ when every block was swept; the determinants of the P multiply to that of A, and rows yᵀ below A become
yᵀ A⁻¹. A strip of rows needs nothing but B of the others, so strips are shared among threads: one product each, at the
speed of a matrix product, where LAPACK's Cholesky factor and inverse reach two thirds of it and keep to one thread.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from enrelm_cli.fold.unlocked import cholesky, cholesky_inverse, lower_solve, subtract_product
from enrelm_cli.types import Array

_BLOCK = 200
_SWEPT = 1500  # rows from which two threads gain more than the factor loses


@dataclass(frozen=True)
class Inverted:
    """What else a sweep gives; A⁻¹ itself takes A's place."""

    log_det: float
    a: Array  # (n, q) A⁻¹ y
    squares: Array  # (q,) yᵀ A⁻¹ y


def invert(A: Array, y: Array, threads: int) -> Inverted | None:
    """The lower triangle of A (n, n) <- that of A⁻¹, its upper one of no use; None where A is not positive definite."""
    return _factored(A, y) if len(A) < _SWEPT else _swept(A, y, threads)


def _factored(A: Array, y: Array) -> Inverted | None:
    if not cholesky(A):
        return None
    log_det, a = 2.0 * float(np.log(np.diagonal(A)).sum()), y.copy()
    lower_solve(A, a)
    squares = np.einsum("ij,ij->j", a, a)
    lower_solve(A, a, transposed=True)
    return Inverted(log_det, a, squares) if cholesky_inverse(A) else None


def _swept(A: Array, y: Array, threads: int) -> Inverted | None:
    n, q = y.shape
    blocks = [slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK)]
    below, squares, log_det = y.T.copy(), np.zeros(q), 0.0
    with ThreadPoolExecutor(threads) as pool:
        for own in blocks:
            P = A[own, own].copy()
            if not cholesky(P):
                return None
            log_det += 2.0 * float(np.log(np.diagonal(P)).sum())
            if not cholesky_inverse(P):
                return None
            P = np.tril(P) + np.tril(P, -1).T
            B = np.concatenate([A[own, : own.start].T, A[own.start :, own]])
            before = below[:, own].copy()
            turned = before @ P
            below -= turned @ B.T
            below[:, own] = turned
            squares += np.einsum("ij,ij->i", turned, before)
            # The longest strips first: nobody waits for one at the end.
            others = [strip for strip in reversed(blocks) if strip != own]
            deque(pool.map(partial(_sweep, A, B, P, own), others), maxlen=0)
            A[own, own] = -P
        deque(pool.map(partial(_negate, A), blocks), maxlen=0)
    return Inverted(log_det, below.T, squares)


def _sweep(A: Array, B: Array, P: Array, own: slice, strip: slice) -> None:
    """One block's sweep of a strip of rows, as far as the diagonal."""
    turned = B[strip] @ P
    subtract_product(A[strip, : strip.stop], turned, B[: strip.stop])
    if strip.start > own.start:
        A[strip, own] = turned
    else:
        A[own, strip] = turned.T


def _negate(A: Array, strip: slice) -> None:
    np.negative(A[strip, : strip.stop], out=A[strip, : strip.stop])
