"""How good probabilities of classes are: sums over rows that merge, and the figures that they give.

Accuracy, balanced accuracy (mean share of each class that is found), log-loss, Brier score (sum over classes of squared
differences), expected calibration error (top class, 15 bins), AUC of two classes, and the confusion table. A row whose
class the model does not know is wrong, with a probability of 0 for its class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.fold.folds import Sums
from enrelm_cli.inputs.classes.scale import Codes
from enrelm_cli.model.classes import labels
from enrelm_cli.types import Array

BINS = 15
# Bins of the second class's logit, for the ROC curve: as fine as figures can tell.
_LOGITS, _FARTHEST = 4096, 20.0
# Classes up to which a document has the whole confusion table; of more, which are mostly noughts, the other cells.
_WHOLE_TABLE = 50
_LEAST = 1e-15  # probability that a logarithm is taken of


def class_sums(p: Array, codes: Codes, weight: Array | None = None, threshold: float | None = None) -> Sums:
    """Of rows with probabilities p (t, C) and the places of their classes, -1 where it is unknown."""
    t, C = p.shape
    w = np.ones(t) if weight is None else weight
    found = labels(p, threshold)
    known = codes >= 0
    own = np.where(known, p[np.arange(t), np.maximum(codes, 0)], 0.0)
    brier = np.einsum("ij,ij->i", p, p) - 2.0 * own + 1.0
    confidence = p[np.arange(t), found]
    place = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    right = (found == codes).astype(float)
    pairs = np.bincount(codes[known] * C + found[known], w[known], minlength=C * C)
    sums = {
        "rows": t,
        "weight": float(w.sum()),
        "right": float(w @ right),
        "loss": float(w @ -np.log(np.maximum(own, _LEAST))),
        "brier": float(w @ brier),
        "confusion": pairs.reshape(C, C).astype(float),
        "bins": np.stack([np.bincount(place, one, minlength=BINS) for one in (w, w * right, w * confidence)]),
    }
    if C == 2:
        sums["roc"] = _by_logit(p[known, 1], codes[known], w[known])
        sums["shares"] = _by_share(p[known, 1], codes[known], w[known])
    return Sums(sums)


def _by_logit(p: Array, codes: Codes, w: Array) -> Array:
    """(2, bins): weight of each class by the logit of the second."""
    p = np.clip(p, _LEAST, 1.0 - _LEAST)
    logit = np.clip(np.log(p) - np.log1p(-p), -_FARTHEST, _FARTHEST)
    place = np.minimum(((logit + _FARTHEST) / (2 * _FARTHEST) * _LOGITS).astype(np.int64), _LOGITS - 1)
    return np.bincount(codes * _LOGITS + place, w, minlength=2 * _LOGITS).reshape(2, _LOGITS).astype(float)


def _by_share(p: Array, codes: Codes, w: Array) -> Array:
    """(3, bins): weight, weight of the second class and its probability, by that probability."""
    place = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    return np.stack([np.bincount(place, one, minlength=BINS) for one in (w, w * codes, w * p)])


@dataclass(frozen=True)
class Metrics:
    """Figures of some rows."""

    rows: int
    accuracy: float
    balanced_accuracy: float
    log_loss: float
    brier: float
    ece: float  # expected calibration error
    auc: float | None  # of two classes
    confusion: tuple[tuple[float, ...], ...]  # rows by class (down) and predicted class (across)
    reliability: tuple[tuple[float, float, float], ...] = ()  # (mean probability, share, weight) of each bin
    roc: tuple[tuple[float, float], ...] = ()  # (false, true) positive rates

    @property
    def error_rate(self) -> float:
        return 1.0 - self.accuracy

    def to_json(self) -> dict[str, Any]:
        figures = {name: value for name, value in vars(self).items() if name not in ("reliability", "roc", "confusion")}
        bins = [{"probability": p, "share": share, "weight": w} for p, share, w in self.reliability]
        roc = [{"false": false, "true": true} for false, true in self.roc]
        whole = len(self.confusion) <= _WHOLE_TABLE
        confusion = {
            "confusion": [list(row) for row in self.confusion] if whole else None,
            "confusion_cells": None if whole else _cells(self.confusion),
        }
        return {**figures, **confusion, "reliability": bins, "roc": roc}


Table = tuple[tuple[float, ...], ...]


def _cells(confusion: Table) -> list[list[float]]:
    """[place of the class, place of the predicted class, rows] of each cell that has some."""
    return [[i, j, rows] for i, row in enumerate(confusion) for j, rows in enumerate(row) if rows]


def confusion_of(document: Mapping[str, Any], classes: int) -> Table:
    """What `to_json` gave; models of before have the whole table, however many classes there are."""
    if document["confusion"] is not None:
        return tuple(tuple(row) for row in document["confusion"])
    table = np.zeros((classes, classes))
    for i, j, rows in document["confusion_cells"]:
        table[int(i), int(j)] = rows
    return tuple(tuple(row) for row in table.tolist())


def metrics(sums: Sums) -> Metrics | None:
    """None of no rows."""
    if not sums["rows"] or not sums["weight"] > 0.0:
        return None
    total = sums["weight"]
    confusion: Array = sums["confusion"]
    each = confusion.sum(axis=1)
    present = each > 0.0
    recalls = np.diag(confusion)[present] / each[present]
    weight, right, confidence = sums["bins"]
    two = "roc" in sums.values
    return Metrics(
        rows=int(sums["rows"]),
        accuracy=float(sums["right"] / total),
        balanced_accuracy=float(recalls.mean()) if len(recalls) else 0.0,
        log_loss=float(sums["loss"] / total),
        brier=float(sums["brier"] / total),
        ece=float(np.abs(right - confidence).sum() / total),
        auc=_auc(sums["roc"]) if two else None,
        confusion=tuple(tuple(float(value) for value in row) for row in confusion),
        reliability=_reliability(*(sums["shares"] if two else (weight, right, confidence))),
        roc=_roc(sums["roc"]) if two else (),
    )


def _auc(roc: Array) -> float | None:
    """The chance that a row of the second class has the larger logit; equal ones count half."""
    negative, positive = roc
    if not negative.sum() or not positive.sum():
        return None
    below = np.cumsum(negative) - 0.5 * negative
    return float(positive @ below / (negative.sum() * positive.sum()))


def _roc(roc: Array) -> tuple[tuple[float, float], ...]:
    negative, positive = (np.concatenate([[0.0], np.cumsum(one[::-1])]) for one in roc)
    if not negative[-1] or not positive[-1]:
        return ()
    points = np.unique(np.column_stack([negative / negative[-1], positive / positive[-1]]), axis=0)
    thinned = points[np.unique(np.linspace(0, len(points) - 1, min(len(points), 200)).astype(int))]
    return tuple((float(x), float(y)) for x, y in thinned)


def _reliability(weight: Array, right: Array, p: Array) -> tuple[tuple[float, float, float], ...]:
    full = np.flatnonzero(weight > 0.0)
    return tuple((float(p[i] / weight[i]), float(right[i] / weight[i]), float(weight[i])) for i in full)
