"""The kernel of an infinitely wide hidden layer (algorithm 1, step 1).

For sigma = erf, w ~ N(0, diag(v)) and a bias of variance b, with q(a, c) = sum_k v_k a_k c_k + b:

    K(a, c) = E[erf(w.a + bias) erf(w.c + bias)] = 2/pi * arcsin( 2 q(a, c) / sqrt((1 + 2 q(a, a)) (1 + 2 q(c, c))) )

The paper's tables use v = 1 for every input and b = 0 (its text also says 1/d; only 1 gives its figures).
A deeper network (`depth` L) applies the same map again to q_l = K_{l-1} + b: its inner weights have variance 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from enrelm_cli.types import Array

# Standardised inputs beyond this can only be nonsense; kept inside it, no dot product overflows.
_FAR = 1e100


class Prepared(Protocol):
    """Rows that many others meet, with what the kernel needs of them alone."""

    @property
    def diagonal(self) -> Array: ...

    def against(self, A: Array) -> Array: ...


class Kernel(Protocol):
    """The kernel of an infinitely wide network, whatever its activation and whoever computes it."""

    @property
    def activation(self) -> str: ...

    @property
    def backend(self) -> str: ...

    @property
    def weight_variance(self) -> float | Array: ...

    @property
    def bias_variance(self) -> float: ...

    @property
    def depth(self) -> int: ...

    def gram(self, A: Array, C: Array) -> Array: ...

    def diagonal(self, A: Array) -> Array: ...

    def prepare(self, C: Array) -> Prepared: ...


@dataclass(frozen=True)
class ArcsineKernel:
    """The erf network's kernel: weight variance v (one for all inputs, or one each), bias variance b, depth."""

    weight_variance: float | Array = 1.0  # () or (d,)
    bias_variance: float = 0.0
    depth: int = 1

    @property
    def activation(self) -> str:
        return "erf"

    @property
    def backend(self) -> str:
        return "closed-form"

    def gram(self, A: Array, C: Array) -> Array:
        """K(A_i, C_j) for all pairs of rows: (a, d), (c, d) -> (a, c)."""
        return self.prepare(C).against(A)

    def diagonal(self, A: Array) -> Array:
        """K(A_i, A_i): (a, d) -> (a,)."""
        return self.prepare(A).diagonal

    def prepare(self, C: Array) -> PreparedRows:
        """The part of the kernel that sees only C, computed once where many chunks meet the same landmarks."""
        rows, p = unit_rows(C, self.weight_variance, self.bias_variance)
        diagonals = _diagonals(self, p)
        return PreparedRows(self, rows, diagonals)


@dataclass(frozen=True)
class PreparedRows:
    """Rows scaled so that one matrix product gives every arcsine's argument."""

    kernel: ArcsineKernel
    rows: Array = field(repr=False)  # (c, d + 1): [sqrt(2 v) x, sqrt(2 b)] / sqrt(1 + 2 q(x, x))
    diagonals: tuple[Array, ...] = field(repr=False)  # K_l(x, x) after each layer l, (c,) each

    @property
    def diagonal(self) -> Array:
        return self.diagonals[-1]

    def against(self, A: Array) -> Array:
        """K(A, these rows): (a, c)."""
        other = self.kernel.prepare(A)
        K: Array = other.rows @ self.rows.T
        arcsine(K, K)
        b = self.kernel.bias_variance
        for mine, theirs in zip(self.diagonals[:-1], other.diagonals[:-1], strict=True):
            # The next layer: r = 2 (K + b) / sqrt((1 + 2 (K_aa + b)) (1 + 2 (K_cc + b))).
            K += b
            K *= 2.0 / np.sqrt(1.0 + 2.0 * (theirs + b))[:, None]
            K *= 1.0 / np.sqrt(1.0 + 2.0 * (mine + b))[None, :]
            arcsine(K, K)
        return K


def unit_rows(X: Array, v: float | Array, b: float) -> tuple[Array, Array]:
    """Rows of [sqrt(2 v) x, sqrt(2 b)] / sqrt(p) with p = 1 + 2 q(x, x), and p: (n, d) -> (n, d + 1), (n,)."""
    scaled = np.empty((X.shape[0], X.shape[1] + 1))
    np.multiply(X, np.sqrt(2.0 * np.asarray(v)), out=scaled[:, :-1])
    np.clip(scaled[:, :-1], -_FAR, _FAR, out=scaled[:, :-1])
    scaled[:, -1] = np.sqrt(2.0 * b)
    p = 1.0 + np.einsum("ij,ij->i", scaled, scaled)
    scaled /= np.sqrt(p)[:, None]
    return scaled, p


def _diagonals(kernel: ArcsineKernel, p: Array) -> tuple[Array, ...]:
    r = (p - 1.0) / p
    layers = [arcsine(r, r)]
    for _ in range(kernel.depth - 1):
        q = layers[-1] + kernel.bias_variance
        r = 2.0 * q / (1.0 + 2.0 * q)
        layers.append(arcsine(r, r))
    return tuple(layers)


def arcsine(r: Array, out: Array, nearest: float = 1.0) -> Array:
    """`out` = 2/pi arcsin(r), which may be r itself. Rounding may leave r an ulp outside [-1, 1]: it is clipped."""
    np.clip(r, -nearest, nearest, out=r)
    np.arcsin(r, out=out)
    out *= 2.0 / np.pi
    return out
