"""From predictions of coded classes to probabilities, labels and sets of classes.

    p = softmax(slope * score + prior * log share),   score = s z V'   (inputs/classes/scale.py)

Least squares gives scores that are differences from the shares: slope is one over a temperature. Logistic regression
gives logits: their slope is near 1 and their prior 0. Both are fitted to rows that the scores have not seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.errors import UsageError
from enrelm_cli.inputs.checks import must, number, numbers
from enrelm_cli.inputs.classes.scale import ClassScale, Codes
from enrelm_cli.types import Array

# How probabilities are made; the text is what the user reads.
KINDS = ("temperature", "logits")
_KEPT = 4096  # misses of a model file


@dataclass(frozen=True)
class Calibration:
    """Fitted to left-out scores."""

    kind: str  # temperature: scores of least squares; logits: those of logistic regression
    slope: float
    prior: float
    misses: Array = field(default_factory=lambda: np.zeros(0))  # (q,) 1 - p of the classes of rows left out, sorted

    def log_probabilities(self, scale: ClassScale, z: Array) -> Array:
        """(t, ...) -> (t, C)."""
        return log_softmax(self.slope * scale.scores(z) + self.prior * scale.log_shares)

    def probabilities(self, scale: ClassScale, z: Array) -> Array:
        """(t, ...) -> (t, C), whose rows sum to 1."""
        p = np.exp(self.log_probabilities(scale, z))
        p /= p.sum(axis=1, keepdims=True)
        return p

    def with_misses(self, misses: Array, weight: Array | None = None) -> Calibration:
        """At most _KEPT of them, evenly by rank; a row of weight 2 has two."""
        order = np.argsort(misses, kind="stable")
        ordered, ends = misses[order], np.cumsum(np.ones(len(order)) if weight is None else weight[order])
        if not len(ordered):
            return replace(self, misses=ordered)
        count = max(1, round(float(ends[-1])))
        # Of each row of a table that repeats them, the middle.
        ranks = np.linspace(0, count - 1, min(count, _KEPT)).round() + 0.5
        places = np.searchsorted(ends, ranks * ends[-1] / count)
        return replace(self, misses=ordered[np.minimum(places, len(ordered) - 1)])

    def width(self, level: float) -> float:
        """How far below 1 the probability of a class in a set may be: the ceil(level (q + 1))-th smallest miss.

        A row left out of a fit and a new row are alike, so that the sets hold a new row's class about as often.
        """
        if not 0.0 < level < 1.0:
            raise UsageError(f"--set {level} must lie between 0 and 1", "try --set 0.9")
        rank = int(np.ceil(level * (len(self.misses) + 1)))
        return float(self.misses[rank - 1]) if rank <= len(self.misses) else 1.0

    def check(self) -> None:
        """ValueError unless it could have been fitted."""
        must(self.kind in KINDS, f"the probabilities {self.kind!r} are unknown")
        number("slope", self.slope, lowest=0.0)
        number("prior", self.prior)
        numbers("misses", self.misses, (len(self.misses),), lowest=0.0)
        must(len(self.misses) <= _KEPT and bool(np.all(np.diff(self.misses) >= 0.0)), "'misses' are not sorted")

    def to_document(self) -> dict[str, Any]:
        return dict(vars(self))

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Calibration:
        must(set(document) == {"kind", "slope", "prior", "misses"}, "the fields are those of another format")
        return Calibration(**document)


def log_softmax(logits: Array) -> Array:
    """(t, C) -> (t, C)."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p: Array = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return log_p


def labels(p: Array, threshold: float | None = None) -> Codes:
    """(t, C) -> (t,): the most probable class; of two, the second where its probability reaches the threshold."""
    if threshold is not None:
        return (p[:, 1] >= threshold).astype(np.int64)
    codes: Codes = np.argmax(p, axis=1)
    return codes


def sets(p: Array, width: float) -> NDArray[np.bool_]:
    """(t, C): the classes of probability 1 - width or more, and the most probable one in any case.

    `width` is a quantile of 1 - p of the true class of left-out rows: the sets cover a new row's class as often.
    """
    inside: NDArray[np.bool_] = 1.0 - p <= width
    inside[np.arange(len(p)), np.argmax(p, axis=1)] = True
    return inside
