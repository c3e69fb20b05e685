"""Classifiers of other libraries, on the same rows as our methods: what a user would pick instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.training import Training
from enrelm_cli.judge.classes.fitting import class_scale
from enrelm_cli.judge.peers import Peer, SideRows, check_peer
from enrelm_cli.types import Array


@dataclass(frozen=True)
class FittedClassifier:
    """Its probabilities, for all classes: one without training rows has none."""

    model: Any
    classes: int

    def probabilities(self, X: Array) -> Array:
        p = np.zeros((len(X), self.classes))
        if len(X):
            p[:, np.asarray(self.model.classes_).astype(int)] = self.model.predict_proba(X)
        return p


def fit_classifier(peer: Peer, data: Training, seed: int) -> FittedClassifier:
    check_peer(peer, data)
    scale = class_scale(data)
    rows = data.fold(SideRows(data.view, Side.TRAIN), "gathering rows")
    return FittedClassifier(peer.fit(rows.X, scale.codes(rows.y).astype(float), rows.weight, seed), scale.classes)


def _logistic(X: Array, y: Array, weight: Array | None, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=2000).fit(X, y.astype(int), sample_weight=weight)


def _svm(X: Array, y: Array, weight: Array | None, seed: int) -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    folds = int(max(2, min(5, np.bincount(y.astype(int))[np.unique(y).astype(int)].min())))
    return CalibratedClassifierCV(SVC(random_state=seed), cv=folds, ensemble=False).fit(
        X, y.astype(int), sample_weight=weight
    )


def _boosting(X: Array, y: Array, weight: Array | None, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed).fit(X, y.astype(int), sample_weight=weight)


def _catboost(X: Array, y: Array, weight: Array | None, seed: int) -> Any:
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(random_seed=seed, verbose=False, allow_writing_files=False)
    return model.fit(X, y.astype(int), sample_weight=weight)


def _lightgbm(X: Array, y: Array, weight: Array | None, seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, verbose=-1).fit(X, y.astype(int), sample_weight=weight)


CLASSIFIERS = (
    Peer("logistic-regression", "scikit-learn", "sklearn", _logistic, "sklearn", 1),
    Peer("svm", "scikit-learn", "sklearn", _svm, "sklearn", 35),
    Peer("hist-gradient-boosting", "scikit-learn", "sklearn", _boosting, "sklearn", 50),
    Peer("catboost", "CatBoost", "catboost", _catboost, None, 50),
    Peer("lightgbm", "LightGBM", "lightgbm", _lightgbm, None, 50),
)
