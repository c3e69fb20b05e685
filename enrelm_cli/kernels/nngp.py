"""Kernels of infinitely wide networks with any of our activations, through neural-tangents (the extra `nngp`).

Each activation but erf is a mixture of erfs, sigma(x) = E[erf(T x)] with T > 0 of density p:

    arctan     2/pi arctan x       p(t) = 2/sqrt(pi) exp(-t^2)

    algebraic  x / sqrt(1 + x^2)   p(t) = 2 t exp(-t^2)

    tanh       tanh x              T = 1 / (sqrt(2) D), D of Kolmogorov's distribution

(a logistic variable is 2 D Z, Z normal),
so its kernel is a mean of arcsine kernels, with G(q) = sqrt(2 q) T / sqrt(1 + 2 q T^2):

    K(q, q_aa, q_cc) = E[2/pi arcsin(rho G(q_aa) G'(q_cc))],    rho = q / sqrt(q_aa q_cc)

A Gauss rule for the angle arcsin G of each row, of GAUSS nodes, makes that a short double sum. It is symmetric, and
positive semi-definite whatever the rule's error, because a node and its weight depend on one row alone.
`stax.Elementwise` takes K, and stacks the layers. neural-tangents' own `ElementwiseNumerical` will not do: at q = 10,
which the paper's v = 1 gives ten inputs, 100 x 100 of its points are wrong by 7e-3 for tanh; 8 x 8 of these by 4e-11.

Error of K, the largest measured over several rho: tanh 1e-10 for q up to 1e6; arctan and algebraic 4e-9 at q = 10,
1e-7 at q = 50 (tests/kernels/test_nngp.py holds these), and beyond the tests 3e-6 at q = 400, 2e-4 at q = 1e6.
"""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass, field
from functools import cache, lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.extras import install_command
from enrelm_cli.kernels.arcsine import ArcsineKernel, Kernel
from enrelm_cli.types import Array

BACKEND = "neural-tangents"

# Nodes of the Gauss rule of a row: arctan and algebraic have long tails, hence a wider spread of angles.
GAUSS = {"tanh": 8, "arctan": 10, "algebraic": 10}
ACTIVATIONS = ("erf", *GAUSS)
# The trapezoidal rule in log t; at this step sum c erf(t x) is within 1e-12 of sigma(x) for every x.
_STEP = 0.15
_NEGLIGIBLE = 1e-13

# A tile of the kernel matrix: every call has this shape, so a network is compiled once; a few MB are in use at a time.
_TILE_ROWS, _TILE_COLUMNS = 128, 256
# neural-tangents multiplies two variances: inputs are kept inside this so that their product does not overflow.
_FAR = 1e50
# Beyond the second, every activation is a sign but for 1e-6 and the angles of a row are too close to tell apart.
_SMALLEST, _LARGEST = 1e-30, 1e12


@dataclass(frozen=True)
class NeuralTangentsKernel:
    """The kernel of a network with this activation; parameters as in `ArcsineKernel`. Only its use needs the extra."""

    activation: str = "erf"
    weight_variance: float | Array = 1.0  # () or (d,)
    bias_variance: float = 0.0
    depth: int = 1

    @property
    def backend(self) -> str:
        return BACKEND

    def gram(self, A: Array, C: Array) -> Array:
        """K(A_i, C_j) for all pairs of rows: (a, d), (c, d) -> (a, c)."""
        return self.prepare(C).against(A)

    def diagonal(self, A: Array) -> Array:
        """K(A_i, A_i): (a, d) -> (a,)."""
        return self.prepare(A).diagonal

    def prepare(self, C: Array) -> PreparedInputs:
        return PreparedInputs(self, self.scaled(C))

    def scaled(self, X: Array) -> Array:
        """Rows with sum_k v_k a_k c_k as their mean product over the inputs, which is what a `Dense` layer takes."""
        scale = np.sqrt(X.shape[1] * np.asarray(self.weight_variance))
        scaled: Array = np.clip(X * scale, -_FAR, _FAR)
        return scaled


@dataclass(frozen=True)
class PreparedInputs:
    """Scaled rows that other rows meet."""

    kernel: NeuralTangentsKernel
    rows: Array = field(repr=False)  # (c, d)

    @property
    def diagonal(self) -> Array:
        """K(x, x): (c,)."""
        network = _network(self.kernel)
        result = np.empty(len(self.rows))
        for rows, tile in _tiles(self.rows, _TILE_ROWS):
            result[rows] = network.variances(tile)[: rows.stop - rows.start]
        return result

    def against(self, A: Array) -> Array:
        """K(A, these rows): (a, c)."""
        network = _network(self.kernel)
        others = self.kernel.scaled(A)
        result = np.empty((len(others), len(self.rows)))
        for columns, right in _tiles(self.rows, _TILE_COLUMNS):
            for rows, left in _tiles(others, _TILE_ROWS):
                tile = network.covariances(left, right)
                result[rows, columns] = tile[: rows.stop - rows.start, : columns.stop - columns.start]
        return result


def kernel_of(
    activation: str, backend: str, weight_variance: float | Array, bias_variance: float, depth: int
) -> Kernel:
    """erf by the closed form unless neural-tangents is asked for; every other activation by neural-tangents."""
    if activation not in ACTIVATIONS:
        raise ValueError(f"there is no kernel for the activation '{activation}'")
    if _closed(activation, backend):
        return ArcsineKernel(weight_variance, bias_variance, depth)
    return NeuralTangentsKernel(activation, weight_variance, bias_variance, depth)


def require(activation: str, backend: str) -> None:
    """Complain at once, and not after minutes of other work, where the kernel needs what is not installed."""
    if not _closed(activation, backend):
        load()


def _closed(activation: str, backend: str) -> bool:
    return activation == "erf" and backend != BACKEND


def _tiles(X: Array, size: int) -> list[tuple[slice, Array]]:
    """Blocks of exactly `size` rows and where they belong, the last one filled up with ones."""
    tiles = []
    for start in range(0, len(X), size):
        stop = min(start + size, len(X))
        tile = np.ones((size, X.shape[1]))
        tile[: stop - start] = X[start:stop]
        tiles.append((slice(start, stop), tile))
    return tiles


# ----------------------------------------------------------------------------------------------- activations as
# mixtures


@dataclass(frozen=True)
class Mixture:
    """sigma(x) = sum_i c_i erf(t_i x)."""

    t: Array  # (m,)
    c: Array  # (m,)


@cache
def mixture(activation: str) -> Mixture:
    """The activation as erfs, by the trapezoidal rule in log t."""
    t = np.exp(_STEP * np.arange(-220, 20))
    c = _STEP * t * _DENSITIES[activation](t)
    keep = c > _NEGLIGIBLE * _STEP
    return Mixture(t[keep], c[keep])


def _half_normal(t: Array) -> Array:
    density: Array = 2.0 / np.sqrt(np.pi) * np.exp(-(t**2))
    return density


def _rayleigh(t: Array) -> Array:
    density: Array = 2.0 * t * np.exp(-(t**2))
    return density


def _inverse_kolmogorov(t: Array) -> Array:
    """Of 1 / (sqrt(2) D): D's density is 8 D sum (-1)^(k+1) k^2 exp(-2 k^2 D^2); for small D, its Jacobi transform."""
    D = 1.0 / (np.sqrt(2.0) * t)
    k = np.arange(1, 13)[:, None]
    large = 8.0 * D * np.sum((-1.0) ** (k + 1) * k**2 * np.exp(-2.0 * k**2 * D**2), axis=0)
    e = ((2 * k - 1) * np.pi / D) ** 2 / 8.0
    small = np.sqrt(2.0 * np.pi) / D**2 * np.sum((2.0 * e - 1.0) * np.exp(-e), axis=0)
    density: Array = np.where(D < 0.8, small, large) * D / t
    return density


_DENSITIES = {"tanh": _inverse_kolmogorov, "arctan": _half_normal, "algebraic": _rayleigh}


# ---------------------------------------------------------------------------------------------------- neural-tangents


@dataclass(frozen=True)
class _Libraries:
    jax: Any
    jnp: Any
    stax: Any
    enable_x64: Any


@cache
def load() -> _Libraries:
    """jax and neural-tangents, or what to install."""
    # Asked for before jax looks for a GPU, and complains that it found none.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    # neural-tangents imports a bridge to TensorFlow that we do not use, which takes 6 s and writes to stderr from C++.
    bridge = "neural_tangents.experimental"
    placed = sys.modules.setdefault(bridge, ModuleType(bridge))
    try:
        with warnings.catch_warnings():
            # What neural-tangents uses of jax is deprecated: that is why its jax is pinned.
            warnings.simplefilter("ignore", DeprecationWarning)
            import jax
            import jax.numpy as jnp
            from jax.experimental import enable_x64
            from neural_tangents import stax
    except ImportError as problem:
        raise UsageError(
            f"this kernel needs neural-tangents, which is not installed ({problem})",
            f"install it with: {install_command('nngp')}",
        ) from problem
    except AttributeError as problem:
        raise UsageError(
            f"neural-tangents does not work with the installed jax ({problem})",
            f"install its pins with: {install_command('nngp')}",
        ) from problem
    finally:
        if sys.modules.get(bridge) is placed and not hasattr(placed, "__file__"):
            del sys.modules[bridge]
    return _Libraries(jax, jnp, stax, enable_x64)


@dataclass(frozen=True)
class _Network:
    """Compiled for tiles of one shape, in float64 on the CPU."""

    libraries: _Libraries
    _covariances: Any
    _variances: Any

    def covariances(self, A: Array, C: Array) -> Array:
        return self._call(self._covariances, A, C)

    def variances(self, A: Array) -> Array:
        return self._call(self._variances, A)

    def _call(self, function: Any, *arrays: Array) -> Array:
        jax = self.libraries.jax
        # For these calls only: another user of jax in this process keeps the settings it has.
        with self.libraries.enable_x64(), jax.default_device(jax.devices("cpu")[0]):
            return np.asarray(function(*arrays))


def _network(kernel: NeuralTangentsKernel) -> _Network:
    return _compiled(kernel.activation, float(kernel.bias_variance), kernel.depth)


@lru_cache(maxsize=8)
def _compiled(activation: str, bias_variance: float, depth: int) -> _Network:
    libraries = load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = layers(libraries.stax, _layer(activation), bias_variance, depth)
    covariances = libraries.jax.jit(lambda A, C: network(A, C, "nngp"))
    variances = libraries.jax.jit(lambda A: network(A, A[:1], "cov1"))
    return _Network(libraries, covariances, variances)


def layers(stax: Any, layer: Any, bias_variance: float, depth: int) -> Any:
    """The kernel function of `depth` layers, with an activation after each and nothing behind the last."""
    dense = stax.Dense(1, W_std=1.0, b_std=np.sqrt(bias_variance))
    return stax.serial(*[dense, layer] * depth)[2]


def _layer(activation: str) -> Any:
    stax = load().stax
    if activation == "erf":
        return stax.Erf()
    # The last argument gives the tangent kernel, which nothing asks for; left out, it would be made by autodiff.
    return stax.Elementwise(None, _dual(activation), lambda q, q_aa, q_cc: q)


def _dual(activation: str) -> Any:
    """K(q, q_aa, q_cc) of one layer, for jax."""
    jnp = load().jnp

    def dual(q: Any, q_aa: Any, q_cc: Any) -> Any:
        g, c = _gauss(activation, q_aa)
        h, e = _gauss(activation, q_cc)
        root = jnp.sqrt(jnp.maximum(q_aa, _SMALLEST)) * jnp.sqrt(jnp.maximum(q_cc, _SMALLEST))
        rho = jnp.clip(q / root, -1.0, 1.0)
        return 2.0 / np.pi * jnp.sum(c[:, None] * e[None, :] * jnp.arcsin(rho * (g[:, None] * h[None, :])))

    return dual


def _gauss(activation: str, q: Any) -> tuple[Any, Any]:
    """Nodes and weights of G(q): a Gauss rule for its angle arctan(sqrt(2 q) T), by Lanczos and Golub-Welsch."""
    jax, jnp = load().jax, load().jnp
    rule, n = mixture(activation), GAUSS[activation]
    angle = jnp.arctan(jnp.sqrt(2.0 * jnp.clip(q, _SMALLEST, _LARGEST)) * rule.t)
    # Angles of a row with a small variance are all tiny: scaled, they are as far apart as any other's.
    scale = angle[-1]
    z, root = angle / scale, np.sqrt(rule.c)

    # A loop and not Python's: unrolled, the compiler takes minutes over it.
    def step(k: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        basis, diagonal, beside = state  # (n + 1, m), (n,), (n,)
        r = z * basis[k]
        diagonal = diagonal.at[k].set(basis[k] @ r)
        # Twice against every earlier vector: once loses orthogonality as the rule grows.
        r = r - (basis @ r) @ basis
        r = r - (basis @ r) @ basis
        norm = jnp.sqrt(r @ r)
        return basis.at[k + 1].set(r / norm), diagonal, beside.at[k].set(norm)

    first = jnp.zeros((n + 1, len(z))).at[0].set(root / np.sqrt(rule.c.sum()))
    _, diagonal, beside = jax.lax.fori_loop(0, n, step, (first, jnp.zeros(n), jnp.zeros(n)))
    off = beside[:-1]
    values, vectors = jnp.linalg.eigh(jnp.diag(diagonal) + jnp.diag(off, 1) + jnp.diag(off, -1))
    return jnp.sin(values * scale), rule.c.sum() * vectors[0] ** 2
