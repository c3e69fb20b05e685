"""The slope and the prior of probabilities, at the lowest log-loss of scores that have not seen their rows.

The log-loss of softmax(a score + b log share) is convex in (a, b): Newton's method with halved steps. A few dozen rows
that are all right do not say that the next one is: as in Platt's method, a class of N rows has one more that is right
and one that is wrong, so that each of its rows counts as (N + 1) / (N + 2) right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enrelm_cli.inputs.classes.scale import ClassScale, Codes
from enrelm_cli.model.classes import Calibration, log_softmax
from enrelm_cli.types import Array

_STEPS = 50
# In units of rows, towards the start: two classes that no score tells apart have no slope of their own.
_PULL = 1e-3
_STEEPEST = 1e4
# A step so small is right, although the log-loss has no digits left to say so; one that small ends the search. The
# same rows in another order then agree to 1e-8.
_SMALL, _CONVERGED = 1e-5, 1e-12


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
    known = rows.codes >= 0
    found = start
    if known.any():
        F = np.stack([one[known] for one in bases], axis=2)
        found = _newton(F, rows.codes[known], rows.weights[known], start)
    slope, prior = float(found[0]), (0.0 if logits else float(found[1]))
    return Calibration(kind, float(np.clip(slope, 0.0, _STEEPEST)), prior)


def _newton(F: Array, codes: Codes, w: Array, start: Array) -> Array:
    """argmin of the mean log-loss of softmax(F a): (t, C, k) -> (k,)."""
    t, C = F.shape[:2]
    total, counts = float(w.sum()), np.bincount(codes, w, minlength=C)
    wrong = (1.0 / (counts + 2.0) / (C - 1))[codes]  # (t,) of each other class
    right = 1.0 - (C - 1) * wrong
    # What the features of a row's class are on average.
    target = (right - wrong)[:, None] * F[np.arange(t), codes] + wrong[:, None] * F.sum(axis=1)

    def loss(a: Array) -> float:
        log_p = log_softmax(F @ a)
        own = (right - wrong) * log_p[np.arange(t), codes] + wrong * log_p.sum(axis=1)
        return float(-(w @ own) / total + 0.5 * _PULL / total * np.sum((a - start) ** 2))

    a, value = start, loss(start)
    for _ in range(_STEPS):
        p = np.exp(log_softmax(F @ a))
        mean = np.einsum("tc,tck->tk", p, F)
        gradient = -(w @ (target - mean)) / total + _PULL / total * (a - start)
        second = np.einsum("t,tc,tck,tcl->kl", w, p, F, F, optimize=True) - np.einsum("t,tk,tl->kl", w, mean, mean)
        step = np.linalg.solve(second / total + (_PULL / total + 1e-12) * np.eye(len(a)), gradient)
        longest = float(np.abs(step).max())
        if longest <= _SMALL:
            a = a - step
            if longest < _CONVERGED:
                break
            continue
        size = 1.0
        while size > 1e-6 and not loss(a - size * step) <= value:
            size *= 0.5
        if size <= 1e-6:
            break
        a = a - size * step
        value = loss(a)
    return a
