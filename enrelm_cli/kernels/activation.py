"""Activations of the hidden layer: invertible, odd, with values in [-1, 1] (the paper's requirement on sigma)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.types import Array

# Entries of an eigenvector reach +-1 where one row is an eigenvector of its own; sigma^-1 is infinite there.
_LARGEST = 1.0 - 2.0**-53


@dataclass(frozen=True)
class Activation:
    """sigma, its inverse and its slope, elementwise."""

    name: str
    _forward: Callable[[Array], Array]
    _inverse: Callable[[Array], Array]
    _slope: Callable[[Array], Array]

    def __call__(self, z: Array) -> Array:
        return self._forward(z)

    def inverse(self, u: Array) -> Array:
        """sigma^-1(u), finite for every |u| <= 1."""
        return self._inverse(u if _small(u) else np.clip(u, -_LARGEST, _LARGEST))

    def slope(self, z: Array) -> Array:
        """sigma'(z)."""
        return self._slope(z)

    def __reduce__(self) -> tuple[Callable[[str], Activation], tuple[str]]:
        return (named, (self.name,))


# Entries of U are about 1/sqrt(T), so most arguments are small: there an odd series of five terms is exact to rounding,
# and several times faster than the general function (erf 2.5, erfinv 3.5 times).
_SMALL = 0.03
_SERIES_BLOCK = 1 << 15
_ERF_SERIES = 2.0 / np.sqrt(np.pi) * np.array([1.0, -1.0 / 3.0, 1.0 / 10.0, -1.0 / 42.0, 1.0 / 216.0])
_ERFINV_SERIES = (
    np.sqrt(np.pi)
    / 2.0
    * np.array([1.0, np.pi / 12, 7 * np.pi**2 / 480, 127 * np.pi**3 / 40320, 4369 * np.pi**4 / 5806080])
)


def _odd_series(x: Array, coefficients: Array) -> Array:
    """x (c_0 + c_1 x^2 + c_2 x^4 + ...), in blocks that stay in cache."""
    flat = np.ascontiguousarray(x).ravel()
    result = np.empty_like(flat)
    for start in range(0, flat.size, _SERIES_BLOCK):
        part, out = flat[start : start + _SERIES_BLOCK], result[start : start + _SERIES_BLOCK]
        square = part * part
        np.multiply(square, coefficients[-1], out=out)
        for coefficient in coefficients[-2:0:-1]:
            out += coefficient
            out *= square
        out += coefficients[0]
        out *= part
    return result.reshape(x.shape)


def _small(x: Array) -> bool:
    return x.size > 0 and float(np.max(x)) <= _SMALL and float(np.min(x)) >= -_SMALL


def _erf(z: Array) -> Array:
    return _odd_series(z, _ERF_SERIES) if _small(z) else _special().erf(z)


def _erfinv(u: Array) -> Array:
    return _odd_series(u, _ERFINV_SERIES) if _small(u) else _special().erfinv(u)


def _special() -> Any:
    """scipy.special, when the series is not enough: loading it takes 0.1 s, much of a small `predict`."""
    from scipy import special

    return special


def _erf_slope(z: Array) -> Array:
    slope: Array = 2.0 / np.sqrt(np.pi) * np.exp(-np.square(np.clip(z, -30.0, 30.0)))
    return slope


def _tanh_slope(z: Array) -> Array:
    slope: Array = 1.0 - np.square(np.tanh(z))
    return slope


def _arctan(z: Array) -> Array:
    return 2.0 / np.pi * np.arctan(z)


def _arctan_slope(z: Array) -> Array:
    # hypot: the square of a large z would overflow.
    slope: Array = 2.0 / np.pi / np.hypot(1.0, z) / np.hypot(1.0, z)
    return slope


def _tan(u: Array) -> Array:
    result: Array = np.tan(np.pi / 2.0 * u)
    return result


def _algebraic(z: Array) -> Array:
    # hypot: the square of a large z would overflow.
    result: Array = z / np.hypot(1.0, z)
    return result


def _algebraic_slope(z: Array) -> Array:
    slope: Array = (1.0 / np.hypot(1.0, z)) ** 3
    return slope


def _algebraic_inverse(u: Array) -> Array:
    result: Array = u / np.sqrt((1.0 - u) * (1.0 + u))
    return result


_ALL = {
    activation.name: activation
    for activation in (
        Activation("erf", _erf, _erfinv, _erf_slope),
        Activation("tanh", np.tanh, np.arctanh, _tanh_slope),
        Activation("arctan", _arctan, _tan, _arctan_slope),
        Activation("algebraic", _algebraic, _algebraic_inverse, _algebraic_slope),
    )
}
NAMES = tuple(_ALL)
ERF = _ALL["erf"]


def named(name: str) -> Activation:
    """The activation of that name."""
    return _ALL[name]
