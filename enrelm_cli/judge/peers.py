"""Rows of `compare` from scikit-learn (extra `baselines`): what a user would pick instead, on the same splits.

Each sees the same encoded, standardised training rows as our methods and chooses its own settings from them alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import Chunk
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.training import Training
from enrelm_cli.types import Array

PEERS = ("ridge", "nystroem+ridge", "hist-gradient-boosting")

_ALPHAS = np.logspace(-6.0, 4.0, 21)
_LANDMARKS = 500


def installed() -> bool:
    return find_spec("sklearn") is not None


@dataclass(frozen=True)
class Stacked:
    """Rows gathered in memory: scikit-learn does not fold."""

    parts: tuple[Chunk, ...]

    def merge(self, other: Stacked) -> Stacked:
        return Stacked(self.parts + other.parts)

    @property
    def X(self) -> Array:
        return np.concatenate([part.X for part in self.parts])

    @property
    def y(self) -> Array:
        return np.concatenate([part.y for part in self.parts])


@dataclass(frozen=True)
class SideRows:
    """Partial: one side's rows, standardised."""

    view: View
    side: Side

    def __call__(self, chunk: Chunk) -> Stacked:
        return Stacked((self.view(chunk, self.side),))


def fit_peer(name: str, data: Training, seed: int) -> Callable[[Array], Array]:
    """A function from standardised rows to standardised predictions."""
    if not installed():
        raise UsageError(f"'{name}' comes from scikit-learn, which is not installed", "pip install 'enrelm[baselines]'")
    if not data.rows.in_memory:
        raise UsageError(
            f"'{name}' needs the table in memory",
            "leave it out (--method kernel --method linear), or allow more with --memory",
        )
    rows = data.fold(SideRows(data.view, Side.TRAIN), "gathering rows")
    return _FITS[name](rows.X, rows.y, seed)


def _ridge(X: Array, y: Array, seed: int) -> Callable[[Array], Array]:
    from sklearn.linear_model import RidgeCV

    return _predictor(RidgeCV(_ALPHAS).fit(X, y))


def _nystroem(X: Array, y: Array, seed: int) -> Callable[[Array], Array]:
    """A 12-point grid over gamma; RidgeCV's own leave-one-out error chooses."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline

    best: Any = None
    for gamma in np.logspace(-3.0, 0.5, 12) / X.shape[1] * 10.0:
        features = Nystroem(gamma=gamma, n_components=min(_LANDMARKS, len(y)), random_state=seed)
        model = make_pipeline(features, RidgeCV(_ALPHAS)).fit(X, y)
        if best is None or model[-1].best_score_ > best[-1].best_score_:
            best = model
    return _predictor(best)


def _boosting(X: Array, y: Array, seed: int) -> Callable[[Array], Array]:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return _predictor(HistGradientBoostingRegressor(random_state=seed).fit(X, y))


def _predictor(model: Any) -> Callable[[Array], Array]:
    return lambda X: np.asarray(model.predict(X), dtype=np.float64)


_FITS = {"ridge": _ridge, "nystroem+ridge": _nystroem, "hist-gradient-boosting": _boosting}
