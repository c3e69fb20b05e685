"""Activations of the hidden layer: invertible, odd, with values in [-1, 1] (the paper's requirement on sigma)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from enrelm_cli.kernel import Array

# Entries of an eigenvector reach +-1 where one row is an eigenvector of its own; sigma^-1 is infinite there.
_LARGEST = 1.0 - 2.0**-53


@dataclass(frozen=True)
class Activation:
    """sigma and its inverse, elementwise."""

    name: str
    _forward: Callable[[Array], Array]
    _inverse: Callable[[Array], Array]

    def __call__(self, z: Array) -> Array:
        return self._forward(z)

    def inverse(self, u: Array) -> Array:
        """sigma^-1(u), finite for every |u| <= 1."""
        return self._inverse(np.clip(u, -_LARGEST, _LARGEST))

    def __reduce__(self) -> tuple[Callable[[str], Activation], tuple[str]]:
        return (named, (self.name,))


def _arctan(z: Array) -> Array:
    return 2.0 / np.pi * np.arctan(z)


def _tan(u: Array) -> Array:
    result: Array = np.tan(np.pi / 2.0 * u)
    return result


def _algebraic(z: Array) -> Array:
    # hypot: the square of a large z would overflow.
    result: Array = z / np.hypot(1.0, z)
    return result


def _algebraic_inverse(u: Array) -> Array:
    result: Array = u / np.sqrt((1.0 - u) * (1.0 + u))
    return result


_ALL = {
    activation.name: activation
    for activation in (
        Activation("erf", special.erf, special.erfinv),
        Activation("tanh", np.tanh, np.arctanh),
        Activation("arctan", _arctan, _tan),
        Activation("algebraic", _algebraic, _algebraic_inverse),
    )
}
NAMES = tuple(_ALL)
ERF = _ALL["erf"]


def named(name: str) -> Activation:
    """The activation of that name."""
    return _ALL[name]
