"""I-ENR-ELM (algorithm 3): forward stagewise regression of y on the centred hidden outputs S.

A step takes the column most correlated with the residual, j = argmax |<r, S_j>|, and moves beta_j by
step = eps <r, S_j> / |S_j|^2. No step needs the rows: with c = S'r and G = S'S,

    c <- c - step G_j        |r|^2 <- |r|^2 - 2 step c_j + step^2 G_jj

where the c_j on the right is the one before the step. The paper's loop runs while #J <= n, so it lets one column more
than n in and stops; we stop before it, which changes none of the first n weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from enrelm_cli.columns import lengths, squares
from enrelm_cli.fold.folds import Chunk, Sums, one_blas_thread
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.training import Training
from enrelm_cli.kernels import activation
from enrelm_cli.kernels.activation import Activation
from enrelm_cli.model.features import BLOCK, HiddenLayer
from enrelm_cli.model.network import Network
from enrelm_cli.model.updating.frozen import Frozen, FrozenLayer
from enrelm_cli.phase_one.eigenbasis import EigenBasis
from enrelm_cli.phase_one.hidden_layer import layer_of
from enrelm_cli.phase_one.phase_one import Basis, Start
from enrelm_cli.settings import MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants._variant import Variant

MAX_STEPS = 100_000


class Stop(Enum):
    """Why the iteration stopped; the value is what the user reads."""

    TOLERANCE = "converged: a step improved the relative residual by less than the tolerance"
    NEURONS = "reached the largest number of neurons"
    STEPS = "reached the largest number of steps; raise --max-steps or --tolerance"
    EXHAUSTED = "the residual is uncorrelated with every neuron"


@dataclass(frozen=True)
class GramOfLayer:
    """Partial: n, sum s, S'S, S'y and y'y of the training rows, each times its weight."""

    view: View
    layer: HiddenLayer
    y_mean: Array | float = 0.0

    def __call__(self, chunk: Chunk) -> Sums:
        chunk = self.view(chunk, Side.TRAIN)
        k = self.layer.size
        s, SS, Sy, yy = np.zeros(k), np.zeros((k, k)), np.zeros((k, *chunk.y.shape[1:])), 0.0
        for block in chunk.blocks(BLOCK):
            S, y = self.layer.outputs(block.X), block.y - self.y_mean
            wy, root = block.weighted(y), block.rooted(S)
            s += block.weighted(S).sum(axis=0)
            SS += root.T @ root
            Sy += S.T @ wy
            yy += float(np.sum(squares(block.rooted(y))))
        return Sums({"n": chunk.total, "s": s, "SS": SS, "Sy": Sy, "yy": yy})


@dataclass(frozen=True)
class Path:
    """The columns in the order they first came in, their weights, and why the path ended."""

    order: NDArray[np.int64]  # (n,)
    beta: Array  # (n, ...)
    means: Array  # (n,) of the hidden outputs over the training rows
    steps: int
    stop: Stop


@one_blas_thread
def stagewise(sums: Sums, n: int, epsilon: float, tolerance: float, max_steps: int = MAX_STEPS) -> Path:
    """Forward stagewise regression from the Gram matrix of uncentred outputs."""
    T, means = sums["n"], sums["s"] / sums["n"]
    G = sums["SS"] - T * np.outer(means, means)
    c = np.array(sums["Sy"])  # y is centred
    norms = np.diag(G).copy()
    # A constant column (all its weights zero) has no direction; rounding must not give it one.
    dead = norms <= 1e-14 * max(float(norms.max(initial=0.0)), np.finfo(float).tiny)
    c[dead] = 0.0
    G[:, dead] = 0.0
    G[dead, :] = 0.0
    kind = _OneTarget if c.ndim == 1 else _SeveralTargets
    state = kind(c, G, norms, epsilon)
    entered: list[int] = []
    inside = [False] * len(c)
    square = float(sums["yy"])
    y_norm, previous = math.sqrt(square), np.inf
    stop, steps = Stop.STEPS, 0
    while steps < max_steps:
        j = state.longest()
        if j is None:
            stop = Stop.EXHAUSTED
            break
        if not inside[j]:
            if len(entered) == n:
                stop = Stop.NEURONS
                break
            entered.append(j)
            inside[j] = True
        square = max(state.move(j, square), 0.0)
        steps += 1
        norm = math.sqrt(square)
        if (previous - norm) / y_norm < tolerance:
            stop = Stop.TOLERANCE
            break
        previous = norm
    order = np.array(entered, dtype=np.int64)
    return Path(order, np.array(state.beta)[order], means[order], steps, stop)


class _OneTarget:
    """c = S'r. A step is some microseconds: Python's own numbers and two calls of BLAS make it half of what numpy's
    would be.
    """

    def __init__(self, c: Array, G: Array, norms: Array, epsilon: float) -> None:
        self.c, self.G, self.norms, self.epsilon = c, G, norms.tolist(), epsilon
        self.beta = [0.0] * len(c)

    def longest(self) -> int | None:
        """argmax |c|, if the residual has a direction left."""
        j = int(blas.idamax(self.c))
        return None if self.c[j] == 0.0 else j

    def move(self, j: int, square: float) -> float:
        """Moves beta_j and c; |r|^2 after the step."""
        correlation, norm = float(self.c[j]), self.norms[j]
        step = self.epsilon * correlation / norm
        self.beta[j] += step
        blas.daxpy(self.G[j], self.c, a=-step)  # c -= step G_j
        return float(square - 2.0 * step * correlation + step * step * norm)


class _SeveralTargets:
    """C = S'R: the column of S whose row of C is longest moves the weights of all targets."""

    def __init__(self, c: Array, G: Array, norms: Array, epsilon: float) -> None:
        self.c, self.G, self.norms, self.epsilon = c, G, norms, epsilon
        self.beta = np.zeros_like(c)

    def longest(self) -> int | None:
        lengths_of_rows = lengths(self.c)
        j = int(np.argmax(lengths_of_rows))
        return None if lengths_of_rows[j] == 0.0 else j

    def move(self, j: int, square: float) -> float:
        correlation = self.c[j].copy()
        step = self.epsilon * correlation / self.norms[j]
        self.beta[j] += step
        self.c -= np.outer(self.G[j], step)
        return square - 2.0 * float(step @ correlation) + float(step @ step) * float(self.norms[j])


@dataclass(frozen=True)
class StagewiseSettings:
    """epsilon None is the paper's 1/sqrt(T)."""

    epsilon: float | None = None
    tolerance: float = 1e-5
    max_steps: int = MAX_STEPS


def fit(
    data: Training,
    basis: EigenBasis,
    sigma: Activation,
    n: int,
    settings: StagewiseSettings,
    hidden: HiddenLayer | None = None,
) -> Network:
    """Algorithm 3 on the outputs of every neuron of the basis. `hidden`: their weights, if known."""
    layer = hidden or layer_of(data, basis, sigma)
    gram = data.fold(GramOfLayer(data.view, layer, basis.y_mean), "stagewise Gram matrix")
    # Neurons are no columns of the eigenbasis, whose sums tell nothing of their errors.
    return replace(walked(layer, gram, basis.y_mean, n, data.weight, settings), order=None)


def walked(
    layer: HiddenLayer, gram: Sums, y_mean: Array | float, n: int, T: float, settings: StagewiseSettings
) -> Network:
    """The path of a layer's sums over T rows."""
    epsilon = settings.epsilon or T**-0.5
    path = stagewise(gram, n, epsilon, settings.tolerance, settings.max_steps)
    chosen = replace(layer.take(path.order), offset=path.means)
    converged = path.stop is Stop.TOLERANCE
    facts: dict[str, float] = {"steps": path.steps}
    return Network(chosen, path.beta, y_mean, path.stop.value, converged, path.order, facts)


class Incremental(Variant):
    name = "incremental"
    start = Start.PAPER
    complexity = 20
    from_sums = True
    hidden = True

    def fit(self, basis: Basis, method: MethodSettings, n: int) -> Network:
        # The weights of the first n neurons go on moving while later ones come in: the path is walked to its end.
        steps = StagewiseSettings(method.epsilon, method.tolerance, method.max_steps)
        sigma, most, frozen = activation.named(method.kernel.activation), self.most_neurons(basis, method), basis.layer
        if frozen is not None:
            sums = frozen.centred(basis.sides)
            return walked(frozen.layer, sums, basis.eigen.y_mean, most, basis.data.weight, steps)
        return fit(basis.data, basis.eigen, sigma, most, steps, basis.hidden)

    def freeze(self, basis: Basis, method: MethodSettings) -> Frozen:
        """The hidden weights of every eigenvector: the path is walked again from S'S and S'y."""
        data, sigma = basis.data, activation.named(method.kernel.activation)
        layer = basis.hidden or layer_of(data, basis.eigen, sigma)
        return FrozenLayer(basis.tuned.kernel, layer, np.zeros((0, data.d)), np.zeros((0, 0)))


VARIANT = Incremental()
