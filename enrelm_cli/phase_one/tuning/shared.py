"""Stage 1 of tuning: one weight variance v for all inputs, b and depth, by the exact leave-one-out error.

A coarse grid on the first rows, then a pattern search that halves its step; a small table then goes on from there with
all of its rows. X Xᵀ is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from enrelm_cli.phase_one.tuning.budget import Budget, Spent
from enrelm_cli.phase_one.tuning.hyper import PRIOR_ALPHA, PRIOR_B, PRIOR_VD, Hyper, TuneSettings, log_prior
from enrelm_cli.phase_one.tuning.ridge import ALPHAS, leave_one_out
from enrelm_cli.types import Array

_FIRST_ROWS = 300  # of the grid and the depth
_MOST_ROWS = 400
_DEPTH_GAIN = 0.01  # a deeper kernel costs more at every prediction: it must lower the squared error by this share
_DEPTHS = (1, 2, 3)

Point = tuple[float, float]  # log2(v d), log2 b


class _SharedError:
    """log of the leave-one-out error with weak priors, as a function of (log2 v d, log2 b, depth); X Xᵀ once."""

    def __init__(self, X: Array, y: Array, settings: TuneSettings, budget: Budget) -> None:
        self.S = X @ X.T
        self.y = y
        self.d = X.shape[1]
        self.settings = settings
        self.budget = budget
        self.seen: dict[tuple[float, float, int], tuple[float, float]] = {}

    @property
    def free(self) -> tuple[bool, bool]:
        """Whether v and b are tuned."""
        return self.settings.weight_variance is None, self.settings.bias_variance is None

    def variances(self, point: Point) -> tuple[float, float]:
        v, b = self.settings.weight_variance, self.settings.bias_variance
        return 2.0 ** point[0] / self.d if v is None else v, 2.0 ** point[1] if b is None else b

    def __call__(self, point: Point, depth: int) -> float:
        key = (point[0], point[1], depth)
        if key not in self.seen:
            self.budget.take()
            v, b = self.variances(point)
            ridge = leave_one_out(_gram_of_products(self.S, v, b, depth), self.y)
            # A target that the kernel fits exactly has no logarithm: 1e-12 is far below any noise.
            value = 0.5 * len(self.y) * np.log(ridge.errors + 1e-12) + log_prior(np.log(ALPHAS), PRIOR_ALPHA)
            value += log_prior(point[0] * np.log(2.0), PRIOR_VD) + log_prior(point[1] * np.log(2.0), PRIOR_B)
            best = int(np.argmin(value))
            self.seen[key] = (float(value[best]), float(ALPHAS[best]))
        return self.seen[key][0]

    def best_seen(self, otherwise: Point, depth: int) -> tuple[Point, int]:
        if not self.seen:
            return otherwise, depth
        *where, depth = min(self.seen, key=lambda key: self.seen[key][0])
        return (where[0], where[1]), depth

    def found(self, point: Point, depth: int) -> Hyper:
        v, b = self.variances(point)
        _, alpha = self.seen.get((point[0], point[1], depth), (0.0, 1e-2))  # not even one step: untested
        return Hyper(np.float64(v) * np.ones(()), b, alpha, depth)


def _gram_of_products(S: Array, v: float, b: float, depth: int) -> Array:
    """K of `depth` layers from the products S = X Xᵀ: (n, n) -> (n, n)."""
    K = v * S
    for _ in range(depth):
        K += b
        root = np.sqrt(2.0 / (1.0 + 2.0 * np.diagonal(K)))
        K *= root[:, None]
        K *= root
        np.clip(K, -1.0, 1.0, out=K)
        np.arcsin(K, out=K)
        K *= 2.0 / np.pi
    return K


def search_shared(X: Array, y: Array, polish: bool, settings: TuneSettings, budget: Budget) -> Hyper:
    """v, b and depth by leave-one-out error: on the first rows, and around their best once more on all (`polish`)."""
    error = _SharedError(X[:_FIRST_ROWS], y[:_FIRST_ROWS], settings, budget)
    best: Point = (-1.0, 0.0) if error.free[0] else (0.0, 0.0)
    depth = settings.depth or 1
    try:
        best, depth = _coarse(error, best, depth)
    except Spent:
        return error.found(*error.best_seen(best, depth))
    if not polish or len(y) <= _FIRST_ROWS:
        return error.found(best, depth)
    finer = _SharedError(X[:_MOST_ROWS], y[:_MOST_ROWS], settings, budget)
    try:
        for point in _pattern(best, 0.5, partial(finer, depth=depth), finer.free):
            best = point
    except Spent:
        best, depth = finer.best_seen(best, depth)
    return finer.found(best, depth)


def _coarse(error: _SharedError, best: Point, depth: int) -> tuple[Point, int]:
    """The best of a grid and of a pattern search around it, and its depth."""
    v_axis = (-4.0, -1.0, 2.0) if error.free[0] else (0.0,)
    b_axis = (0.0, -3.0) if error.free[1] else (0.0,)
    at_depth = partial(error, depth=depth)
    best = min([best, *((i, j) for i in v_axis for j in b_axis)], key=at_depth)
    for point in _pattern(best, 2.0, at_depth, error.free):
        best = point
    return (best, depth) if error.settings.depth is not None else _try_depths(error, best)


def _try_depths(error: _SharedError, best: Point) -> tuple[Point, int]:
    """The shallowest depth that is not clearly beaten."""
    gain = 0.5 * len(error.y) * _DEPTH_GAIN
    chosen, depth = best, 1
    for deeper in _DEPTHS[1:]:
        at_depth = partial(error, depth=deeper)
        # Inner layers flatten the kernel: a larger v may make up for it.
        start = min([best, (best[0] + 2.0, best[1])] if error.free[0] else [best], key=at_depth)
        if at_depth(start) > error(chosen, depth) - gain:
            break
        for point in _pattern(start, 1.0, at_depth, error.free):
            start = point
        chosen, depth = start, deeper
    return chosen, depth


def _pattern(best: Point, step: float, error: Callable[[Point], float], free: tuple[bool, bool]) -> Iterator[Point]:
    """Each better point: one step along each axis that is free, half the step where none is better, down to 1/2."""
    while step >= 0.5:
        around = [(best[0] + i * step, best[1]) for i in (1, -1) if free[0]]
        around += [(best[0], best[1] + j * step) for j in (1, -1) if free[1]]
        around = [(min(max(i, -10.0), 12.0), min(max(j, -8.0), 10.0)) for i, j in around]
        nearer = min([best, *around], key=error)
        if nearer == best:
            step /= 2.0
        best = nearer
        yield best
