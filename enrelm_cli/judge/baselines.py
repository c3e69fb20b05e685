"""What the method is measured against: the random ELM and ordinary linear regression.

**Random ELM.** Hidden weights W ~ N(0, s^2) with s = 1/sqrt(d), S = erf(X W^T), output weights by least squares. As in
the paper, y is centred by the training mean and nothing else is added: no bias, no intercept, S as it comes. Sizes of
one realisation are nested (size l takes the first l rows of W; the paper draws every size anew), so that one QR gives
all of them. With [S y] = Q [R z; 0 rho]:

    training:    ||y - yhat_l||^2 = rho^2 + sum_(j > l) z_j^2
    other rows:  yhat_l = sum_(j <= l) (S R^-1)_j z_j

R of stacked rows is the R of their stacked R's, so rows come in blocks: memory does not grow with T.

**Linear regression** with an intercept, from the sums X^T X and X^T y: a partial of a fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from enrelm_cli.columns import squares as squares_of
from enrelm_cli.fold.folds import Chunk, LocalEngine, Sums
from enrelm_cli.fold.threads import side_by_side, threads_of
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.training import Training
from enrelm_cli.judge.curve import ElmBand
from enrelm_cli.judge.errors import RESOLVED, errors_of, relative_errors, relative_of
from enrelm_cli.kernels.activation import ERF, Activation
from enrelm_cli.model.features import HiddenLayer
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.eigenbasis import SideSums
from enrelm_cli.phase_one.least_squares import normal
from enrelm_cli.settings import ElmSettings
from enrelm_cli.types import Array
from enrelm_cli.variants._variant import paper_limit

# The random ELM


@dataclass(frozen=True)
class Spread:
    """A curve's distribution over realisations, for every size 1..n."""

    mean: Array  # (n,)
    std: Array  # (n,) divisor = number of realisations, as the paper's +-
    min: Array  # (n,)
    max: Array  # (n,)


@dataclass(frozen=True)
class ElmCurves:
    """Errors of the random ELM, Err(1)..Err(n), on the rows it was fitted to and on others."""

    train: Spread
    validation: Spread


@dataclass(frozen=True)
class NestedLeastSquares:
    """Least squares on the first l columns of S for every l at once: R and z above, without dependent columns."""

    R: Array  # (k, k) upper triangle of the independent columns
    z: Array  # (k,), or (k, q) of q targets
    columns: NDArray[np.int64]  # (k,) which columns of S they are, rising
    rest: float  # rho^2, what no column explains
    size: int  # n, columns of S altogether

    def training_squares(self) -> Array:
        """||y - yhat_l||^2 on the rows fitted, (n,). Summed from the tail: no small difference of large numbers."""
        tails = np.zeros(self.size + 1)
        tails[self.columns] = self.z**2 if self.z.ndim == 1 else np.einsum("ij,ij->i", self.z, self.z)
        return self.rest + np.cumsum(tails[::-1])[::-1][1:]

    def predictions(self, S: Array) -> Array:
        """yhat_l for every row of S and every l: (t, n) -> (t, n)."""
        return self._running(S, self._directions(S), self.z)

    def _directions(self, S: Array) -> Array:
        """S R^-1 of the independent columns: (t, k)."""
        if not len(self.columns):
            return np.zeros((len(S), 0))
        directions: Array = solve_triangular(self.R, S[:, self.columns].T, trans="T").T
        return directions

    def _running(self, S: Array, directions: Array, z: Array) -> Array:
        steps = np.zeros(S.shape)
        steps[:, self.columns] = directions * z
        return np.cumsum(steps, axis=1)

    def squares(self, S: Array, rows: Chunk) -> Array:
        """Squared errors of every size over these rows, summed over the targets: (t, n) -> (n,)."""
        directions, total, y = self._directions(S), np.zeros(self.size), rows.y
        for z, own in zip(self.z.T, y.T, strict=True) if y.ndim > 1 else [(self.z, y)]:
            gaps = self._running(S, directions, z)
            gaps -= own[:, None]
            total += np.einsum("ij,ij->j", rows.weighted(gaps), gaps)
        return total

    def coefficients(self, neurons: int) -> Array:
        """beta of size `neurons`, zero where a column adds nothing: (neurons, ...)."""
        k = int(np.searchsorted(self.columns, neurons))
        beta = np.zeros((neurons, *self.z.shape[1:]))
        if k:
            beta[self.columns[:k]] = solve_triangular(self.R[:k, :k], self.z[:k])
        return beta


def triangle(S: Array, y: Array) -> Array:
    """R of [S y]: (t, n), (t, ...) -> (n + q, n + q)."""
    R = _r(np.column_stack([S, y]))
    missing = R.shape[1] - R.shape[0]
    return np.concatenate([R, np.zeros((missing, R.shape[1]))]) if missing else R


def stacked(above: Array, below: Array) -> Array:
    """R of two sets of rows from the R of each."""
    return _r(np.concatenate([above, below]))


def _r(A: Array) -> Array:
    return np.asarray(np.linalg.qr(A, mode="r"), dtype=np.float64)


def nested_least_squares(triangular: Array, rows: int, targets: tuple[int, ...] = ()) -> NestedLeastSquares:
    """Read the nested fits off R of [S y]. A column whose own part R_jj is negligible (relative to the column, as
    numpy's lstsq counts rank) depends on those before it and adds nothing.
    """
    q = int(np.prod(targets))
    n = triangular.shape[1] - q
    negligible = np.finfo(float).eps * max(rows, n)
    lengths = np.linalg.norm(triangular[:, :n], axis=0)
    if (np.abs(np.diag(triangular)[:n]) > negligible * lengths).all():
        columns = np.arange(n, dtype=np.int64)
    else:
        columns = _independent_columns(triangular[:, :n], negligible)
        # Later columns were orthogonalised against directions that are only rounding: once more, without them.
        triangular = _r(triangular[:, [*columns, *range(n, n + q)]])
    k = len(columns)
    z = triangular[:k, k:].reshape(k, *targets)
    return NestedLeastSquares(triangular[:k, :k], z, columns, float(np.sum(triangular[k:, k:] ** 2)), n)


def _independent_columns(A: Array, negligible: float) -> NDArray[np.int64]:
    """Columns that are not combinations of those before them, by Gram-Schmidt done twice (once loses orthogonality)."""
    Q = np.zeros((A.shape[0], min(A.shape)))
    kept: list[int] = []
    for j in range(A.shape[1]):
        k = len(kept)
        if k == Q.shape[1]:
            break
        v = A[:, j]
        for _ in range(2):
            v = v - Q[:, :k] @ (Q[:, :k].T @ v)
        length = float(np.linalg.norm(v))
        if length > negligible * float(np.linalg.norm(A[:, j])):
            Q[:, k] = v / length
            kept.append(j)
    return np.array(kept, dtype=np.int64)


def elm_curve(S: Array, y: Array, S_valid: Array, y_valid: Array) -> tuple[Array, Array]:
    """Training and validation errors of every size 1..n from one QR: (T, n), (T,), (V, n), (V,) -> (n,), (n,).

    Both targets are centred by the training mean.
    """
    fit = nested_least_squares(triangle(S, y), len(y))
    squares = np.sum((y_valid[:, None] - fit.predictions(S_valid)) ** 2, axis=0)
    return relative_errors(fit.training_squares(), float(y @ y)), relative_errors(squares, float(y_valid @ y_valid))


def elm_weights(neurons: int, inputs: int, realization: np.random.SeedSequence, std: float | None = None) -> Array:
    """One realisation's hidden weights, (n, d). More neurons keep the first ones: row after row from one stream."""
    rng = np.random.default_rng(realization)
    return rng.standard_normal((neurons, inputs)) * (inputs**-0.5 if std is None else std)


@dataclass(frozen=True)
class Triangles:
    """R of [S y] for each realisation; R of stacked rows is the R of their stacked R's."""

    R: tuple[Array, ...]
    targets: tuple[int, ...] = ()  # (q,) of q targets

    def merge(self, other: Triangles) -> Triangles:
        return Triangles(tuple(stacked(a, b) for a, b in zip(self.R, other.R, strict=True)), self.targets)


@dataclass(frozen=True)
class TriangleRows:
    """Partial: R of [S y] over the training rows, for each realisation's weights."""

    view: View
    weights: tuple[Array, ...]  # (n, d) each
    sigma: Activation

    def __call__(self, chunk: Chunk) -> Triangles:
        chunk = self.view(chunk, Side.TRAIN)
        y, shape = chunk.rooted(chunk.y), chunk.y.shape[1:]
        return Triangles(tuple(triangle(chunk.rooted(self.sigma(chunk.X @ W.T)), y) for W in self.weights), shape)


@dataclass(frozen=True)
class NestedErrorRows:
    """Partial: squared errors of every size and realisation over one side's rows."""

    view: View
    side: Side
    weights: tuple[Array, ...]
    fits: tuple[NestedLeastSquares, ...]
    sigma: Activation

    def __call__(self, chunk: Chunk) -> Sums:
        chunk = self.view(chunk, self.side)
        squares = []
        for W, fit in zip(self.weights, self.fits, strict=True):
            squares.append(fit.squares(self.sigma(chunk.X @ W.T), chunk))
        return Sums({"squares": np.array(squares), "total": float(np.sum(squares_of(chunk.rooted(chunk.y))))})


@dataclass(frozen=True)
class RandomElm:
    """How the realisations are drawn."""

    neurons: int
    realizations: int = 20
    seed: int = 1234
    weight_std: float | None = None  # None: the paper's 1/sqrt(d)
    sigma: Activation = ERF

    def weights(self, inputs: int) -> list[Array]:
        """Realisation k is that of SeedSequence(seed).spawn(...)[k], however many are asked for."""
        seeds = np.random.SeedSequence(self.seed).spawn(self.realizations)
        return [elm_weights(self.neurons, inputs, one, self.weight_std) for one in seeds]


def elm_fits(data: Training, elm: RandomElm) -> list[tuple[Array, NestedLeastSquares]]:
    """Weights and nested fits of every realisation."""
    return _over_realizations(data, elm.weights(data.d), lambda folded, some: _fits(folded, some, elm))


def _fits(data: Training, weights: tuple[Array, ...], elm: RandomElm) -> list[tuple[Array, NestedLeastSquares]]:
    triangles = data.fold(TriangleRows(data.view, weights, elm.sigma), "random ELM")
    return [(W, nested_least_squares(R, data.T, triangles.targets)) for W, R in zip(weights, triangles.R, strict=True)]


def elm_curves(data: Training, elm: RandomElm, side: Side = Side.VALIDATION) -> ElmCurves:
    """The random ELM's errors for sizes 1..n over seeded realisations, on the training rows and on another side's."""

    def some_curves(folded: Training, weights: tuple[Array, ...]) -> list[tuple[Array, Array]]:
        fits = tuple(fit for _, fit in _fits(folded, weights, elm))
        sums = folded.fold(NestedErrorRows(folded.view, side, weights, fits, elm.sigma), "random ELM's errors")
        return [
            (relative_errors(fit.training_squares(), folded.weight), relative_errors(squares, float(sums["total"])))
            for fit, squares in zip(fits, sums["squares"], strict=True)
        ]

    curves = _over_realizations(data, elm.weights(data.d), some_curves)
    return ElmCurves(_spread([train for train, _ in curves]), _spread([valid for _, valid in curves]))


Some = TypeVar("Some")


def _over_realizations(
    data: Training, weights: list[Array], work: Callable[[Training, tuple[Array, ...]], list[Some]]
) -> list[Some]:
    """Rows in memory: threads share the realisations. Rows on disk: one pass serves all of them."""
    if not data.rows.in_memory:
        return work(data, tuple(weights))
    alone = replace(data, rows=replace(data.rows, engine=LocalEngine(1)))
    parts = side_by_side(lambda W: work(alone, (W,)), weights, threads_of(data.rows.engine))
    return [one for part in parts for one in part]


def elm_band(data: Training, elm: ElmSettings, most: int | None) -> ElmBand:
    """The random ELM's curves over its realisations, up to the paper's limit unless told otherwise."""
    n = most or paper_limit(data.d, data.weight)
    curves = elm_curves(data, RandomElm(n, elm.realizations, elm.seed, elm.weight_std))
    train, valid = curves.train, curves.validation
    return ElmBand(valid.mean, valid.std, valid.min, valid.max, train.mean, train.min, train.max, elm.realizations)


def elm_band_over(folds: Sequence[Training], elm: ElmSettings, most: int | None) -> ElmBand:
    """The mean over folds of each, for the sizes that all of them have."""
    bands = [elm_band(data, elm, most) for data in folds]
    n = min(len(band.mean) for band in bands)

    def mean(name: str) -> Array:
        return np.asarray(np.mean([getattr(band, name)[:n] for band in bands], axis=0), dtype=np.float64)

    names = ("mean", "std", "low", "high", "train_mean", "train_low", "train_high")
    return ElmBand(**{name: mean(name) for name in names}, realizations=elm.realizations)


def elm_networks(data: Training, elm: RandomElm) -> tuple[Network, ...]:
    """The networks of the largest size, one for each realisation."""
    return tuple(
        Network(HiddenLayer(W, np.zeros(len(W)), elm.sigma), fit.coefficients(elm.neurons))
        for W, fit in elm_fits(data, elm)
    )


def _spread(curves: list[Array]) -> Spread:
    all_of_them = np.array(curves)
    return Spread(all_of_them.mean(axis=0), all_of_them.std(axis=0), all_of_them.min(axis=0), all_of_them.max(axis=0))


# Linear regression


@dataclass(frozen=True)
class Inputs:
    """Hidden outputs that are the inputs themselves."""

    size: int

    def outputs(self, X: Array) -> Array:
        copied: Array = X[:, : self.size].copy()
        return copied

    def combine(self, X: Array, beta: Array) -> Array:
        y_hat: Array = X @ beta
        return y_hat

    def take(self, order: NDArray[np.int64]) -> Inputs:
        raise NotImplementedError("linear regression has one size")


@dataclass(frozen=True)
class LinearRows:
    """Partial: the normal equations of each side's rows. Standardised training inputs and targets have mean zero."""

    view: View
    sides: tuple[Side, ...] = (Side.TRAIN,)

    def __call__(self, chunk: Chunk) -> SideSums:
        return SideSums({side: self._sums(self.view(chunk, side)) for side in self.sides})

    def _sums(self, chunk: Chunk) -> Sums:
        X, y = chunk.rooted(chunk.X), chunk.rooted(chunk.y)
        return Sums({"normal": normal(X, y), "yy": float(np.sum(squares_of(y))), "rows": chunk.rows})


def linear_network(data: Training, sums: SideSums | None = None) -> Network:
    """Least squares with an intercept: b = (X'X)^+ X'y.

    Dependent columns (one-hot) make X'X singular: the pseudo-inverse gives the shortest b of all that fit equally well.
    """
    sums = sums or data.fold(LinearRows(data.view), "linear regression")
    return Network(Inputs(data.d), sums.sides[Side.TRAIN]["normal"].solve())


def linear_error(data: Training, side: Side, sums: SideSums | None = None) -> float:
    """Err of linear regression on one side's rows, from that side's sums.

    An error that is a small difference of large sums is left to the rows.
    """
    sums = sums or data.fold(LinearRows(data.view, (Side.TRAIN, side)), "linear regression")
    network, judged = linear_network(data, sums), sums.sides[side]
    total = judged["yy"] + judged["normal"].change(network.beta)
    error = relative_of(Sums({"squares": np.array([total]), "total": judged["yy"], "rows": judged["rows"]}), side)
    return float(error[0] if error[0] > RESOLVED else errors_of(data, (network,), side)[0])
