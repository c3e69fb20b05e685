"""What predicts: encoding, standardisation and one network, whatever the variant; and its document in a file.

yhat(x) = y_mean + y_scale * sum_j beta_j s_j(standardised x)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.encoding import Encoding
from enrelm_cli.errors import ModelFileError, UsageError
from enrelm_cli.kernel import Array
from enrelm_cli.network import Network
from enrelm_cli.standard import Standard

# Order statistics of the left-out errors kept for prediction intervals.
_KEPT = 4096


@dataclass(frozen=True)
class Model:
    encoding: Encoding
    standard: Standard
    network: Network
    about: dict[str, Any]  # variant, errors, settings, versions, data: what `info` shows
    left_out: Array  # (q,) sorted |error| of training rows left out, in units of the target; empty where unknown

    def predict(self, X: Array) -> Array:
        """Encoded rows to predictions: (t, all encoded inputs) -> (t,)."""
        standard = self.standard
        return standard.y_mean + standard.y_scale * self.network.predict(standard.inputs(X))

    def half_width(self, level: float) -> float:
        """Half of a prediction interval: the ceil(level (q + 1))-th smallest left-out error (split-conformal rank).

        A row left out of a fit and a new row are exchangeable, so the interval covers a new target with probability
        `level`, up to what choosing the settings on the same rows cost.
        """
        if not 0.0 < level < 1.0:
            raise UsageError(f"--interval {level} must lie between 0 and 1", "try --interval 0.9")
        count = len(self.left_out)
        if not count:
            raise UsageError(
                f"this {self.about['variant']} model has no left-out errors to make intervals from",
                "fit it again with --variant kernel",
            )
        rank = int(np.ceil(level * (count + 1)))
        if rank > count:
            raise UsageError(
                f"--interval {level} needs more than the {count} left-out errors of this model",
                f"use at most --interval {np.floor(100 * count / (count + 1)) / 100:g}",
            )
        return float(self.left_out[rank - 1])

    def to_document(self) -> dict[str, Any]:
        return {
            "encoding": self.encoding.to_document(),
            "standard": self.standard.to_document(),
            "network": self.network.to_document(),
            "about": self.about,
            "left_out": self.left_out,
        }

    @staticmethod
    def from_document(document: dict[str, Any]) -> Model:
        try:
            return Model(
                Encoding.from_document(document["encoding"]),
                Standard.from_document(document["standard"]),
                Network.from_document(document["network"]),
                document["about"],
                document["left_out"],
            )
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise ModelFileError(
                f"the model file lacks something that a model of this format has: {problem}", "fit the model again"
            ) from problem


def order_statistics(errors: Array) -> Array:
    """|errors| sorted, at most _KEPT of them, evenly by rank."""
    ordered = np.sort(np.abs(errors))
    if len(ordered) <= _KEPT:
        return ordered
    ranks = np.ceil((np.arange(1, _KEPT + 1)) / (_KEPT + 1) * (len(ordered) + 1)).astype(int) - 1
    kept: Array = ordered[np.minimum(ranks, len(ordered) - 1)]
    return kept
