"""The slope and the prior of probabilities, at the lowest log-loss of scores that have not seen their rows.

The log-loss of softmax(a score + b log share) is convex in (a, b): Newton's method with halved steps. A pull towards a
start of no opinion keeps perfectly separated scores finite. Logits were fitted as such: their slope is 1 unless the
rows say otherwise, and a few dozen rows that are all right say little.

Nor do they say that scores of least squares are never wrong. As Platt has it, a row counts as its own class with
probability (n + 1)/(n + 2), where n rows have a class on average, and as any other with the rest: the slope of 133 rows
of wine that are all right was such that each of the 4 wrong ones among 45 new rows cost 5 (log-loss 0.43, now 0.09).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.weights import thinned
from enrelm_cli.inputs.classes.scale import ClassScale, Codes
from enrelm_cli.model.classes import Calibration, log_softmax
from enrelm_cli.types import Array

_STEPS = 50
_SHORT, _DONE = 1e-4, 1e-12  # of a step
# One over the variance of the slope's prior: 1 +- 1/2 for logits; hardly any for least squares.
_PULL = {"logits": 4.0, "temperature": 1e-3}
_STEEPEST = 1e4
_NUMBERS = 2e6  # of rows times classes: two numbers need no more, and half a million rows of two classes are enough


@dataclass(frozen=True)
class LeftOutScores:
    """Scores of rows that the network has not seen, and their classes."""

    scores: Array  # (t, C)
    log_shares: Array  # (t, C) of the rows that it has seen
    codes: Codes  # (t,) below 0 where the class is unknown
    weight: Array | None

    @property
    def rows(self) -> int:
        return len(self.codes)

    @property
    def weights(self) -> Array:
        return np.ones(self.rows) if self.weight is None else self.weight

    def log_probabilities(self, calibration: Calibration) -> Array:
        """(t, C)."""
        return log_softmax(calibration.slope * self.scores + calibration.prior * self.log_shares)

    def own(self, calibration: Calibration) -> Array:
        """(t,) the logarithm of the probability of each row's class."""
        return self.log_probabilities(calibration)[np.arange(self.rows), self.codes]

    def log_loss(self, calibration: Calibration) -> float:
        """Mean over the rows; of none, as bad as can be."""
        return float(-np.average(self.own(calibration), weights=self.weight)) if self.rows else np.inf


def scores_of(scale: ClassScale, z: Array, codes: Codes, weight: Array | None = None) -> LeftOutScores:
    """Of predictions z (t, ...)."""
    scores = scale.scores(z)
    return LeftOutScores(scores, np.broadcast_to(scale.log_shares, scores.shape), codes, weight)


def joined_scores(parts: Sequence[LeftOutScores]) -> LeftOutScores:
    """The rows of all of them."""
    weight = None if all(one.weight is None for one in parts) else np.concatenate([one.weights for one in parts])
    scores, shares = (np.concatenate([getattr(one, name) for one in parts]) for name in ("scores", "log_shares"))
    return LeftOutScores(scores, shares, np.concatenate([one.codes for one in parts]), weight)


def calibrated(kind: str, rows: LeftOutScores) -> Calibration:
    """From scores of rows left out. Logits keep their own prior."""
    logits = kind == "logits"
    bases = [rows.scores] if logits else [rows.scores, rows.log_shares]
    start = np.array([1.0]) if logits else np.array([2.0, 1.0])
    most = max(1000, int(_NUMBERS / rows.scores.shape[1]))
    known = (rows.codes >= 0) & thinned(rows.rows, most)
    if not known.any():
        found = start
    else:
        F = np.stack([one[known] for one in bases], axis=2)
        found = _newton(F, _own(F, rows, known, logits), rows.weights[known], start, _PULL[kind])
    slope, prior = float(found[0]), (0.0 if logits else float(found[1]))
    return Calibration(kind, float(np.clip(slope, 0.0, _STEEPEST)), prior)


def _own(F: Array, rows: LeftOutScores, known: NDArray[np.bool_], logits: bool) -> Array:
    """(t, k) of F (t, C, k), each row's own class; of least squares with a share of the others."""
    own: Array = F[np.arange(len(F)), rows.codes[known]]
    classes = F.shape[1]
    if logits or classes < 2:
        return own
    doubt = 1.0 / (float(rows.weights[known].sum()) / classes + 2.0)
    others: Array = (F.sum(axis=1) - own) / (classes - 1)
    mixed: Array = (1.0 - doubt) * own + doubt * others
    return mixed


def _newton(F: Array, own: Array, w: Array, start: Array, pull: float) -> Array:
    """argmin of the mean log-loss of softmax(F a), of classes whose F are `own`: (t, C, k), (t, k) -> (k,)."""
    total = float(w.sum())

    def loss(a: Array) -> float:
        scores = F @ a
        most = scores.max(axis=1)
        log_p = own @ a - most - np.log(np.exp(scores - most[:, None]).sum(axis=1))
        return float(-(w @ log_p) / total + 0.5 * pull / total * np.sum((a - start) ** 2))

    a, value = start, loss(start)
    for _ in range(_STEPS):
        p = np.exp(log_softmax(F @ a))
        mean = np.einsum("tc,tck->tk", p, F)
        gradient = -(w @ (own - mean)) / total + pull / total * (a - start)
        second = np.einsum("t,tc,tck,tcl->kl", w, p, F, F, optimize=True) - np.einsum("t,tk,tl->kl", w, mean, mean)
        step = np.linalg.solve(second / total + (pull / total + 1e-12) * np.eye(len(a)), gradient)
        length, size = float(np.abs(step).max()), 1.0
        # A short step is Newton's own: the loss no longer tells it from rounding.
        while length * size > _SHORT and not loss(a - size * step) <= value:
            size *= 0.5
        a = a - size * step
        value = loss(a)
        if length < _DONE:
            break
    return a
