"""Rows of `compare` from other libraries, where they are installed: what a user would pick instead, on the same splits.

Each sees the same encoded, standardised training rows as our methods and chooses its own settings from them alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.extras import install_command
from enrelm_cli.fold.folds import Chunk
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.training import Training
from enrelm_cli.types import Array

_ALPHAS = np.logspace(-6.0, 4.0, 21)
_LANDMARKS = 500


def installed(package: str) -> bool:
    return find_spec(package) is not None


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

    @property
    def weight(self) -> Array | None:
        weights = [part.weight for part in self.parts if part.weight is not None]
        return np.concatenate(weights) if weights else None


@dataclass(frozen=True)
class SideRows:
    """Partial: one side's rows, standardised."""

    view: View
    side: Side

    def __call__(self, chunk: Chunk) -> Stacked:
        return Stacked((self.view(chunk, self.side),))


@dataclass(frozen=True)
class Peer:
    """A regressor with the interface that scikit-learn made common."""

    name: str
    library: str
    package: str  # to import
    fit: Callable[[Array, Array, Array | None, int], Any]  # X, y, weights and a seed -> something that can predict
    extra: str | None  # of ours that brings it; None: its package is called as it is imported
    complexity: int  # beside that of our variants


@dataclass(frozen=True)
class FittedPeer:
    model: Any

    def predict(self, X: Array) -> Array:
        return np.asarray(self.model.predict(X), dtype=np.float64) if len(X) else np.zeros(0)


def check_peer(peer: Peer, data: Training) -> None:
    """It is installed, and has what it needs."""
    if not installed(peer.package):
        problem = f"'{peer.name}' comes from {peer.library}, which is not installed"
        raise UsageError(problem, install_command(peer.extra) if peer.extra else f"pip install {peer.package}")
    if not data.rows.in_memory:
        raise UsageError(
            f"'{peer.name}' needs the table in memory",
            "leave it out (--method kernel --method linear), or allow more with --memory",
        )


def fit_peer(peer: Peer, data: Training, seed: int) -> FittedPeer:
    check_peer(peer, data)
    rows = data.fold(SideRows(data.view, Side.TRAIN), "gathering rows")
    return FittedPeer(peer.fit(rows.X, rows.y, rows.weight, seed))


def _ridge(X: Array, y: Array, weight: Array | None, seed: int) -> Any:
    from sklearn.linear_model import RidgeCV

    return RidgeCV(_ALPHAS).fit(X, y, sample_weight=weight)


def _nystroem(X: Array, y: Array, weight: Array | None, seed: int) -> Any:
    """A 12-point grid over gamma; RidgeCV's own leave-one-out error chooses."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline

    best: Any = None
    for gamma in np.logspace(-3.0, 0.5, 12) / X.shape[1] * 10.0:
        features = Nystroem(gamma=gamma, n_components=min(_LANDMARKS, len(y)), random_state=seed)
        model = make_pipeline(features, RidgeCV(_ALPHAS)).fit(X, y, ridgecv__sample_weight=weight)
        if best is None or model[-1].best_score_ > best[-1].best_score_:
            best = model
    return best


def _boosting(X: Array, y: Array, weight: Array | None, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=seed).fit(X, y, sample_weight=weight)


def _catboost(X: Array, y: Array, weight: Array | None, seed: int) -> Any:
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(random_seed=seed, verbose=False, allow_writing_files=False)
    return model.fit(X, y, sample_weight=weight)


def _lightgbm(X: Array, y: Array, weight: Array | None, seed: int) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(random_state=seed, verbose=-1).fit(X, y, sample_weight=weight)


PEERS = (
    Peer("ridge", "scikit-learn", "sklearn", _ridge, "sklearn", 1),
    Peer("nystroem+ridge", "scikit-learn", "sklearn", _nystroem, "sklearn", 35),
    Peer("hist-gradient-boosting", "scikit-learn", "sklearn", _boosting, "sklearn", 50),
    Peer("catboost", "CatBoost", "catboost", _catboost, None, 50),
    Peer("lightgbm", "LightGBM", "lightgbm", _lightgbm, None, 50),
)
