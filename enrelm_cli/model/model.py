"""What predicts: encoding, input map, target scale and one network, whatever the variant; its document in a file.

yhat(x) = back(sum_j beta_j s_j(input map of x)), back to the target's own units
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.errors import DataError, ModelFileError, UsageError
from enrelm_cli.inputs.checks import must, numbers
from enrelm_cli.inputs.encoding import Encoding
from enrelm_cli.inputs.maps.input_map import InputMap
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.model.card import ModelCard
from enrelm_cli.model.explanation.reference import Reference
from enrelm_cli.model.features import BLOCK_BYTES, block_rows
from enrelm_cli.model.network import Network
from enrelm_cli.types import Array

# Order statistics of the left-out errors kept for prediction intervals.
_KEPT = 4096
_LARGEST = float(np.finfo(float).max)
# Characters of the names of all inputs: a column's name stands before each of its levels.
_NAMES = 1 << 28


@dataclass(frozen=True)
class Model:
    encoding: Encoding
    input_map: InputMap
    target_scale: TargetScale
    network: Network
    card: ModelCard
    left_out: Array  # (q,) sorted |error| of training rows left out, in units of the target; empty where unknown
    reference: Reference | None = None  # what contributions are measured from; None in models of earlier versions

    def predict(self, X: Array, limit: int = BLOCK_BYTES) -> Array:
        """Raw rows to predictions: (t, columns) -> (t,), with about `limit` bytes at a time."""
        # Far outside of the training rows, or with a target near the end of the numbers, a sum may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            y_hat = self.target_scale.back(self._standardised(X, limit))
        if not np.isfinite(y_hat).all():
            count = int(np.count_nonzero(~np.isfinite(y_hat)))
            raise DataError(
                f"{count} of {len(y_hat)} predictions of '{self.encoding.target}' are beyond the largest number",
                "look for extreme values in the data, or fit again with the target in a larger unit",
            )
        return y_hat

    def _standardised(self, X: Array, limit: int) -> Array:
        """In blocks: a column of 10,000 levels makes 10,000 inputs of a raw number, a row meets every landmark."""
        numbers = max(self.input_map.expansion.width, self.network.kernel_values)
        rows = block_rows(numbers, most=max(len(X), 1), limit=limit)
        blocks = [X[start : start + rows] for start in range(0, len(X), rows)] or [X]
        return np.concatenate([self.network.predict(self.input_map.inputs(block)) for block in blocks])

    def half_width(self, level: float) -> float:
        """Half of a prediction interval: the ceil(level (q + 1))-th smallest left-out error (the jackknife).

        A row left out of a fit and a new row are alike, so the interval covers a new target about as often as `level`
        says. It is no guarantee: settings were chosen on the same rows, which costs a little coverage of small tables
        (measured at 0.9: 0.87 with 60 rows, 0.89 to 0.90 from 150 on).
        """
        if not 0.0 < level < 1.0:
            raise UsageError(f"--interval {level} must lie between 0 and 1", "try --interval 0.9")
        count = len(self.left_out)
        if not count:
            raise UsageError(
                f"this {self.card.variant} model has no left-out errors to make intervals from",
                "fit it again with --variant kernel or local",
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
            "input_map": self.input_map.to_document(),
            "target_scale": self.target_scale.to_document(),
            "network": self.network.to_document(),
            "about": self.card.to_document(),
            "left_out": self.left_out,
            "reference": None if self.reference is None else self.reference.to_document(),
        }

    @staticmethod
    def from_document(document: dict[str, Any]) -> Model:
        """Of a file that is sound as a file but may hold anything: what is no model is a ModelFileError."""
        try:
            model = Model(
                Encoding.from_document(document["encoding"]),
                InputMap.from_document(document["input_map"]),
                TargetScale.from_document(document["target_scale"]),
                Network.from_document(document["network"]),
                ModelCard.from_document(document["about"]),
                document["left_out"],
                None if document.get("reference") is None else Reference.from_document(document["reference"]),
            )
            _check(model, document)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as problem:
            what = f"'{problem.args[0]}' is missing" if isinstance(problem, KeyError) else str(problem)
            raise ModelFileError(
                f"the model file is whole, but is no model of this format: {what}", "fit the model again"
            ) from problem
        return model


# ------------------------------------------------------------------------------------- what a file may hold


def _check(model: Model, document: dict[str, Any]) -> None:
    """ValueError unless types, shapes and ranges are those of a model that could have been fitted."""
    model.encoding.check(document["encoding"])
    model.input_map.check(model.encoding.columns)
    _check_width(model)
    model.target_scale.check()
    model.network.check(model.input_map.d)
    # An error may be infinite: of a row that the others say nothing about, in a unit near the end of the numbers.
    numbers("left_out", np.minimum(model.left_out, _LARGEST), (len(model.left_out),), lowest=0.0)
    must(bool(np.all(model.left_out[1:] >= model.left_out[:-1])), "'left_out' is not sorted")
    if model.reference is not None:
        model.reference.check(len(model.encoding.columns))


def _check_width(model: Model) -> None:
    """A small file must not ask for much: one map of a kind for a column or for each part of its dates, and names of
    inputs that fit into memory.
    """
    maps = [(type(one), one.column, getattr(one, "part", "")) for one in model.input_map.expansion.maps]
    must(len(set(maps)) == len(maps), "a column has the same map twice")
    names = sum(len(one.name) * (len(one.levels or ()) + 1) for one in model.encoding.columns)
    must(names <= _NAMES, "the names of its inputs are too long")


def order_statistics(errors: Array, weight: Array | None = None) -> Array:
    """|errors| sorted, at most _KEPT of them, evenly by rank; with weights as many, evenly by weight."""
    if weight is not None:
        return _weighted_ranks(np.abs(errors), weight)
    ordered = np.sort(np.abs(errors))
    if len(ordered) <= _KEPT:
        return ordered
    ranks = np.ceil((np.arange(1, _KEPT + 1)) / (_KEPT + 1) * (len(ordered) + 1)).astype(int) - 1
    kept: Array = ordered[np.minimum(ranks, len(ordered) - 1)]
    return kept


def _weighted_ranks(errors: Array, weight: Array) -> Array:
    """The k-th of q: the smallest error that k/(q + 1) of the weight, and a row of mean weight, do not exceed."""
    order = np.argsort(errors, kind="stable")
    q, mean = min(len(errors), _KEPT), weight.mean() if len(weight) else 1.0
    wanted = np.arange(1, q + 1) / (q + 1) * (weight.sum() + mean)
    places = np.searchsorted(np.cumsum(weight[order]), wanted * (1.0 - 1e-12))
    ranked: Array = errors[order][np.minimum(places, len(errors) - 1)]
    return ranked
