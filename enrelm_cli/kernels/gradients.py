"""Slopes of the arcsine kernel: how sum_j w_j K(x, c_j) changes with every input, in closed form.

With s = [sqrt(2 v) x, sqrt(2 b)], p = 1 + |s|^2, u = s / sqrt(p) and r_j = u . u_j (arcsine.py), one layer gives

    df/ds = (h - u (u . h)) / sqrt(p),   h = sum_j D_j u_j,   D_j = w_j (2/pi) / sqrt(1 - r_j^2)

and each further layer multiplies D by its own slope; its scaling by K(x, x) adds a part along s. Two matrix products
for each block of rows, whatever the number of inputs.
"""

from __future__ import annotations

import numpy as np

from enrelm_cli.kernels.arcsine import PreparedRows, arcsine, unit_rows
from enrelm_cli.types import Array

# r is 1 only for rows at infinity; nearer than this the slope of the arcsine is rounding.
_NEAREST = 1.0 - 1e-14


def gradient(rows: PreparedRows, X: Array, w: Array) -> Array:
    """d/dx of sum_j w_j K(x, row j) at every row of X: (t, d), (c,) -> (t, d)."""
    v, b = rows.kernel.weight_variance, rows.kernel.bias_variance
    u, p = unit_rows(X, v, b)
    r = u @ rows.rows.T
    layers = [np.clip(r, -_NEAREST, _NEAREST, out=r)]  # r of each layer
    own = rows.kernel.prepare(X).diagonals if rows.kernel.depth > 1 else (p,)
    scales = []  # sqrt((1 + 2 (K_aa + b)) (1 + 2 (K_cc + b))) between the layers
    for mine, theirs in zip(own[:-1], rows.diagonals[:-1], strict=True):
        scales.append(np.sqrt(np.outer(1.0 + 2.0 * (mine + b), 1.0 + 2.0 * (theirs + b))))
        K = arcsine(layers[-1].copy(), np.empty_like(layers[-1]))
        layers.append(np.clip(2.0 * (K + b) / scales[-1], -_NEAREST, _NEAREST))
    D = _slope(layers[-1])
    D *= w
    along = np.zeros(len(X))  # df / dK(x, x) of the layer below
    for mine, scale, below, above in zip(own[-2::-1], scales[::-1], layers[-2::-1], layers[:0:-1], strict=True):
        q = mine + b
        along = along * _diagonal_slope(q) if along.any() else along
        along -= np.einsum("ij,ij->i", D, above) / (1.0 + 2.0 * q)
        D *= 2.0 / scale
        D *= _slope(below)
    h = D @ rows.rows
    h -= u * np.einsum("ij,ij->i", u, h)[:, None]
    h /= np.sqrt(p)[:, None]
    if along.any():
        # K(x, x) = 2/pi arcsin((p - 1) / p), and dp = 2 s . ds with s = u sqrt(p).
        h += u * (2.0 * along * 2.0 / np.pi / (np.sqrt(p) * np.sqrt(2.0 * p - 1.0)))[:, None]
    slopes: Array = h[:, :-1] * np.sqrt(2.0 * np.asarray(v))
    return slopes


def _slope(r: Array) -> Array:
    """d/dr of 2/pi arcsin(r)."""
    result = r * r
    np.subtract(1.0, result, out=result)
    np.sqrt(result, out=result)
    np.divide(2.0 / np.pi, result, out=result)
    return result


def _diagonal_slope(q: Array) -> Array:
    """d/dq of 2/pi arcsin(2 q / (1 + 2 q))."""
    slope: Array = 2.0 / np.pi * 2.0 / ((1.0 + 2.0 * q) * np.sqrt(1.0 + 4.0 * q))
    return slope
