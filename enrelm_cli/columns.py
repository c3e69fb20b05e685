"""One target (t,) or several (t, q): the few operations whose spelling depends on it.

One target keeps its single axis, and every sum over it the bits that it always had.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.types import Array


def sum_by(place: NDArray[np.int64], y: Array, size: int) -> Array:
    """Sums of y over the rows of each place: (t,), (t, ...) -> (size, ...)."""
    if y.ndim == 1:
        return np.asarray(np.bincount(place, y, minlength=size), dtype=np.float64)
    return np.stack([np.bincount(place, column, minlength=size) for column in y.T], axis=1)


def squares(y: Array) -> Array | float:
    """Sum of squares of each column."""
    return float(y @ y) if y.ndim == 1 else np.einsum("ij,ij->j", y, y)


def lengths(c: Array) -> Array:
    """|c_j| of each row, of whatever width: (k, ...) -> (k,)."""
    length: Array = np.abs(c) if c.ndim == 1 else np.sqrt(np.einsum("ij,ij->i", c, c))
    return length


def beside(x: NDArray[Any], y: Array) -> NDArray[Any]:
    """x (t,), such as a weight of each row, in the shape in which it multiplies y (t, ...)."""
    return x if y.ndim == 1 else x[:, None]


def wide(y: Array) -> Array:
    """(t,) -> (t, 1); several stay as they are. There may be no rows: a chunk may have none of a side."""
    return y[:, None] if y.ndim == 1 else y


def plain(value: Array | float) -> Array | float:
    """A number as Python's own, several as they are."""
    return float(value) if np.ndim(value) == 0 else np.asarray(value)
