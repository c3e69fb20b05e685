"""Small regression problems, and the package's parts put together for them."""

from __future__ import annotations

import numpy as np

from enrelm_cli.inputs.split import Everything, Split
from enrelm_cli.inputs.training import Rows, Training, rows_of_arrays, training
from enrelm_cli.phase_one.landmarks import Landmarks, choose
from enrelm_cli.types import Array


def problem(seed: int = 0, T: int = 60, d: int = 6, noise: float = 0.3) -> tuple[Array, Array]:
    """Inputs of unlike scales and a smooth target with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, d))
    a, c = rng.standard_normal(d), rng.standard_normal(d)
    y = X @ a + np.sin(2.0 * X @ c) + noise * rng.standard_normal(T) + 5.0
    return X * (1.0 + np.arange(d)) + 3.0, y


def whole(X: Array, y: Array, split: Split | None = None) -> Training:
    """Every row trains."""
    return training(rows_of_arrays(X, y), split or Everything())


def all_landmarks(data: Training) -> Landmarks:
    return choose(data.sample(), data.T, None)


def some_landmarks(data: Training, m: int) -> Landmarks:
    return choose(data.sample(), data.T, m)


def with_rows(data: Training, rows: Rows) -> Training:
    return Training(rows, data.view, data.T)
