"""The slope and the prior of probabilities, at the lowest log-loss of scores that have not seen their rows.

The log-loss of softmax(a score + b log share) is convex in (a, b): Newton's method with halved steps. A weak pull
towards a start of no opinion keeps perfectly separated scores finite.
"""

from __future__ import annotations

import numpy as np

from enrelm_cli.inputs.classes.scale import ClassScale, Codes
from enrelm_cli.model.classes import Calibration, log_softmax
from enrelm_cli.types import Array

_STEPS = 50
# In units of rows: a separated sample would else want an infinite slope.
_PULL = 1e-3
_STEEPEST = 1e4


def calibrated(kind: str, scale: ClassScale, z: Array, codes: Codes, weight: Array | None = None) -> Calibration:
    """From left-out predictions z (t, ...) and the classes of their rows. Logits keep their own prior."""
    scores = scale.scores(z)
    bases = [scores] if kind == "logits" else [scores, np.broadcast_to(scale.log_shares, scores.shape)]
    start = np.array([1.0]) if kind == "logits" else np.array([2.0, 1.0])
    w = np.ones(len(codes)) if weight is None else weight
    known = codes >= 0
    if not known.any():
        found = start
    else:
        found = _newton(np.stack([one[known] for one in bases], axis=2), codes[known], w[known], start)
    slope, prior = float(found[0]), (0.0 if kind == "logits" else float(found[1]))
    return Calibration(kind, float(np.clip(slope, 0.0, _STEEPEST)), prior)


def _newton(F: Array, codes: Codes, w: Array, start: Array) -> Array:
    """argmin of the mean log-loss of softmax(F a): (t, C, k) -> (k,)."""
    t = len(codes)
    total = float(w.sum())

    def loss(a: Array) -> float:
        log_p = log_softmax(F @ a)
        return float(-(w @ log_p[np.arange(t), codes]) / total + 0.5 * _PULL / total * np.sum((a - start) ** 2))

    a, value = start, loss(start)
    for _ in range(_STEPS):
        p = np.exp(log_softmax(F @ a))
        mean = np.einsum("tc,tck->tk", p, F)
        gradient = -(w @ (F[np.arange(t), codes] - mean)) / total + _PULL / total * (a - start)
        second = np.einsum("t,tc,tck,tcl->kl", w, p, F, F, optimize=True) - np.einsum("t,tk,tl->kl", w, mean, mean)
        step = np.linalg.solve(second / total + (_PULL / total + 1e-12) * np.eye(len(a)), gradient)
        size = 1.0
        while size > 1e-6 and not loss(a - size * step) <= value:
            size *= 0.5
        if size <= 1e-6:
            break
        a = a - size * step
        value, before = loss(a), value
        if before - value < 1e-10:
            break
    return a
