"""Tables whose truth is known: the paper's 48 synthetic datasets and Friedman's first function.

    y_l = f(x_l) + e_l,  e_l ~ N(0, var(f(x)) / SNR)

The 48 are all combinations of rows (300, 1200), inputs d (20, 80), function f (two), distribution of x (three) and SNR
(2, 10), numbered 1..48 in that order with the SNR running fastest:

- x: `uniform` on [-2 pi, 2 pi], `independent` standard Gaussian, or `toeplitz` Gaussian with cov(x_i, x_j) = 0.8^|i-j|;
- f: `linear` a.x + c with a, c uniform on [-2, 2], or `network` sum_k b_k / (1 + exp(-w_k.x)), k = 1..100, with
  w_kj ~ N(0, 1/d) and b_k ~ N(0, 1/100).

The paper does not publish its draws, so these are datasets of the same law, not the same numbers.

Rows come in blocks of BLOCK, each from its own seeded stream, and var(f) is the law's, not the sample's: row 7 is the
same row whether 300 rows are asked for or ten million, in one array or in chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from typing import BinaryIO

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.types import Array

BLOCK = 16_384
TOEPLITZ_RHO = 0.8
HIDDEN_NEURONS = 100

# What a seeded stream is for: the last part of its key, so that no two uses share random numbers.
_FUNCTION, _INPUTS, _NOISE, _REFERENCE = range(4)
_FRIEDMAN = 0  # the paper numbers its datasets from 1


class Distribution(str, Enum):
    """How the inputs of a row are drawn."""

    UNIFORM = "uniform"
    INDEPENDENT = "independent"
    TOEPLITZ = "toeplitz"


class Function(str, Enum):
    """The regression function behind the noise."""

    LINEAR = "linear"
    NETWORK = "network"


@dataclass(frozen=True)
class Recipe:
    """One line of the paper's table of synthetic datasets."""

    number: int
    rows: int
    inputs: int
    distribution: Distribution
    function: Function
    snr: float

    @property
    def description(self) -> str:
        law = {
            Distribution.UNIFORM: "uniform inputs",
            Distribution.INDEPENDENT: "independent Gaussian inputs",
            Distribution.TOEPLITZ: "Toeplitz Gaussian inputs",
        }[self.distribution]
        truth = {Function.LINEAR: "linear function", Function.NETWORK: "shallow network"}[self.function]
        return f"dataset {self.number}: {self.rows} rows, {self.inputs} {law}, {truth}, SNR {self.snr:g}"


@dataclass(frozen=True)
class Synthetic:
    """A table, or consecutive rows of one."""

    X: Array  # (T, d)
    y: Array  # (T,)
    signal: Array  # (T,) f(x), the part of y that is not noise
    noise_std: float
    names: tuple[str, ...]  # (d + 1,) inputs, then the target
    description: str


@dataclass(frozen=True)
class _Law:
    """Everything that all blocks of a table share."""

    seed: int
    key: int
    inputs: int
    draw: Callable[[np.random.Generator, int], Array]  # rows -> (rows, d)
    f: Callable[[Array], Array]  # (rows, d) -> (rows,)
    noise_std: float
    description: str


def _recipes() -> tuple[Recipe, ...]:
    factors = product((300, 1200), (20, 80), Function, Distribution, (2.0, 10.0))
    return tuple(
        Recipe(number, rows, inputs, distribution, function, snr)
        for number, (rows, inputs, function, distribution, snr) in enumerate(factors, start=1)
    )


RECIPES = _recipes()


def recipe(number: int) -> Recipe:
    """The paper's dataset `number`, 1..48."""
    if not 1 <= number <= len(RECIPES):
        raise UsageError(f"There is no synthetic dataset {number}.", f"The paper's are numbered 1 to {len(RECIPES)}.")
    return RECIPES[number - 1]


def generate(number: int, seed: int, rows: int | None = None) -> Synthetic:
    """The paper's dataset `number` in one piece; `rows` overrides how many."""
    return _joined(list(chunks(number, seed, rows)))


def chunks(number: int, seed: int, rows: int | None = None) -> Iterator[Synthetic]:
    """The same rows as `generate`, at most BLOCK at a time: memory does not grow with `rows`."""
    chosen = recipe(number)
    if rows is not None:
        chosen = replace(chosen, rows=rows)
    return _blocks(_law(chosen, seed), chosen.rows)


def friedman(rows: int, inputs: int = 10, noise: float = 1.0, seed: int = 0) -> Synthetic:
    """Friedman's first function: x uniform on [0, 1]^d, d >= 5 of which the first five matter, e ~ N(0, noise^2),

    y = 10 sin(pi x_1 x_2) + 20 (x_3 - 1/2)^2 + 10 x_4 + 5 x_5 + e.
    """
    return _joined(list(friedman_chunks(rows, inputs, noise, seed)))


def friedman_chunks(rows: int, inputs: int = 10, noise: float = 1.0, seed: int = 0) -> Iterator[Synthetic]:
    """The same rows as `friedman`, at most BLOCK at a time."""
    if inputs < 5:
        raise UsageError(f"Friedman's function needs at least 5 inputs, not {inputs}.")
    if noise < 0.0:
        raise UsageError(f"A standard deviation cannot be negative: {noise:g}.")
    description = f"Friedman's first function: {rows} rows, {inputs} inputs, noise {noise:g}"
    law = _Law(seed, _FRIEDMAN, inputs, lambda rng, t: rng.random((t, inputs)), _friedman, noise, description)
    return _blocks(law, rows)


def write_csv(dataset: Synthetic, stream: BinaryIO, header: bool = True, decimals: int | None = 6) -> None:
    """The table as CSV, target last. Six decimals by default: the last bits of exp and of a dot product differ between
    machines, and a rounded file does not; None writes every bit.
    """
    import pyarrow as pa
    from pyarrow import csv

    values = np.column_stack([dataset.X, dataset.y])
    if decimals is not None:
        values = np.round(values, decimals) + 0.0  # + 0.0: no "-0"
    if header:
        stream.write((",".join(dataset.names) + "\n").encode())
    table = pa.table(list(np.asfortranarray(values).T), names=list(dataset.names))
    csv.write_csv(table, stream, csv.WriteOptions(include_header=False))


def _blocks(law: _Law, rows: int) -> Iterator[Synthetic]:
    if rows < 1:
        raise UsageError(f"A table needs at least one row, not {rows}.")
    return (_block(law, start // BLOCK, min(BLOCK, rows - start)) for start in range(0, rows, BLOCK))


def _block(law: _Law, index: int, rows: int) -> Synthetic:
    # Inputs and noise have a stream each: then a block cut short is a prefix of the whole block.
    X = law.draw(_stream(law.seed, law.key, _INPUTS, index), rows)
    signal = law.f(X)
    noise = law.noise_std * _stream(law.seed, law.key, _NOISE, index).standard_normal(rows)
    names = (*(f"x{j}" for j in range(1, law.inputs + 1)), "y")
    return Synthetic(X, signal + noise, signal, law.noise_std, names, law.description)


def _joined(parts: list[Synthetic]) -> Synthetic:
    if len(parts) == 1:
        return parts[0]
    return replace(
        parts[0],
        X=np.concatenate([part.X for part in parts]),
        y=np.concatenate([part.y for part in parts]),
        signal=np.concatenate([part.signal for part in parts]),
    )


def _law(chosen: Recipe, seed: int) -> _Law:
    rng = _stream(seed, chosen.number, _FUNCTION)
    draw = _input_law(chosen.distribution, chosen.inputs)
    if chosen.function is Function.LINEAR:
        a = rng.uniform(-2.0, 2.0, chosen.inputs)
        c = float(rng.uniform(-2.0, 2.0))
        f = _linear(a, c)
        variance = float(a @ _covariance(chosen.distribution, chosen.inputs) @ a)
    else:
        W = rng.standard_normal((HIDDEN_NEURONS, chosen.inputs)) / np.sqrt(chosen.inputs)
        b = rng.standard_normal(HIDDEN_NEURONS) / np.sqrt(HIDDEN_NEURONS)
        f = _network(W, b)
        # No closed form: a sample of its own, so that the noise does not depend on how many rows are asked for.
        variance = float(np.var(f(draw(_stream(seed, chosen.number, _REFERENCE), BLOCK))))
    return _Law(seed, chosen.number, chosen.inputs, draw, f, float(np.sqrt(variance / chosen.snr)), chosen.description)


def _stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _input_law(distribution: Distribution, d: int) -> Callable[[np.random.Generator, int], Array]:
    def uniform(rng: np.random.Generator, rows: int) -> Array:
        return rng.uniform(-2.0 * np.pi, 2.0 * np.pi, (rows, d))

    def independent(rng: np.random.Generator, rows: int) -> Array:
        return rng.standard_normal((rows, d))

    def toeplitz(rng: np.random.Generator, rows: int) -> Array:
        # x_j = rho x_(j-1) + sqrt(1 - rho^2) z_j has exactly the covariance rho^|i-j|.
        X = rng.standard_normal((rows, d))
        for j in range(1, d):
            X[:, j] = TOEPLITZ_RHO * X[:, j - 1] + np.sqrt(1.0 - TOEPLITZ_RHO**2) * X[:, j]
        return X

    return {
        Distribution.UNIFORM: uniform,
        Distribution.INDEPENDENT: independent,
        Distribution.TOEPLITZ: toeplitz,
    }[distribution]


def _covariance(distribution: Distribution, d: int) -> Array:
    """The law's covariance of the inputs, (d, d)."""
    if distribution is Distribution.UNIFORM:
        return np.eye(d) * (4.0 * np.pi) ** 2 / 12.0
    if distribution is Distribution.INDEPENDENT:
        return np.eye(d)
    j = np.arange(d)
    toeplitz: Array = TOEPLITZ_RHO ** np.abs(j[:, None] - j[None, :])
    return toeplitz


def _linear(a: Array, c: float) -> Callable[[Array], Array]:
    def f(X: Array) -> Array:
        signal: Array = X @ a + c
        return signal

    return f


def _network(W: Array, b: Array) -> Callable[[Array], Array]:
    def f(X: Array) -> Array:
        signal: Array = (1.0 / (1.0 + np.exp(-(X @ W.T)))) @ b
        return signal

    return f


def _friedman(X: Array) -> Array:
    x1, x2, x3, x4, x5 = X[:, :5].T
    signal: Array = 10.0 * np.sin(np.pi * x1 * x2) + 20.0 * (x3 - 0.5) ** 2 + 10.0 * x4 + 5.0 * x5
    return signal
