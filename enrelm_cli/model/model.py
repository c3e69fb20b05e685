"""What predicts: encoding, standardisation and one network, whatever the variant; and its document in a file.

yhat(x) = y_mean + y_scale * sum_j beta_j s_j(standardised x)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.errors import DataError, ModelFileError, UsageError
from enrelm_cli.inputs.encoding import Encoding
from enrelm_cli.inputs.standard import Standard
from enrelm_cli.model.features import HiddenLayer, KernelFeatures
from enrelm_cli.model.network import Network
from enrelm_cli.table.parsing import Kind
from enrelm_cli.types import Array

# Order statistics of the left-out errors kept for prediction intervals.
_KEPT = 4096
_LARGEST = float(np.finfo(float).max)
# Hidden layers that --depth admits.
MAX_DEPTH = 20


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
        # Far outside of the training rows, or with a target near the end of the numbers, a sum may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            y_hat: Array = standard.y_mean + standard.y_scale * self.network.predict(standard.inputs(X))
        if not np.isfinite(y_hat).all():
            count = int(np.count_nonzero(~np.isfinite(y_hat)))
            raise DataError(
                f"{count} of {len(y_hat)} predictions of '{self.encoding.target}' are beyond the largest number",
                "look for extreme values in the data, or fit again with the target in a larger unit",
            )
        return y_hat

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
        """Of a file that is sound as a file but may hold anything: what is no model is a ModelFileError."""
        try:
            model = Model(
                Encoding.from_document(document["encoding"]),
                Standard.from_document(document["standard"]),
                Network.from_document(document["network"]),
                document["about"],
                document["left_out"],
            )
            _check(model, document["encoding"])
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as problem:
            what = f"'{problem.args[0]}' is missing" if isinstance(problem, KeyError) else str(problem)
            raise ModelFileError(
                f"the model file is whole, but is no model of this format: {what}", "fit the model again"
            ) from problem
        return model


# ------------------------------------------------------------------------------------- what a file may hold


def _check(model: Model, encoding: dict[str, Any]) -> None:
    """ValueError unless types, shapes and ranges are those of a model that could have been fitted."""
    _check_encoding(model.encoding, encoding)
    _check_standard(model.standard, len(model.encoding.inputs))
    _check_network(model.network, len(model.standard.keep))
    # An error may be infinite: of a row that the others say nothing about, in a unit near the end of the numbers.
    _numbers("left_out", np.minimum(model.left_out, _LARGEST), (len(model.left_out),), lowest=0.0)
    _must(bool(np.all(model.left_out[1:] >= model.left_out[:-1])), "'left_out' is not sorted")
    _check_about(model.about)


def _check_encoding(encoding: Encoding, document: dict[str, Any]) -> None:
    names = [column.name for column in encoding.columns]
    _must(len(names) > 0 and len(set(names)) == len(names), "columns are missing or repeated")
    _must(names == sorted(names), "columns are not sorted")
    for column, raw in zip(encoding.columns, document["columns"], strict=True):
        texts = [raw["name"], raw["kind"], *(raw["levels"] or ())]
        _must(all(type(text) is str for text in texts), "a column's name, kind or level is no text")
        _must(type(raw["indicator"]) is bool, f"column {column.name!r} has no 'indicator'")
        _number("origin", column.origin)
        if column.levels is None:
            _must(column.kind is not Kind.TEXT and column.kind is not Kind.VERBATIM, "a text column has no levels")
            _number("fill", column.fill)
        else:
            _must(list(column.levels) == sorted(set(column.levels)), f"levels of {column.name!r} are repeated")


def _check_standard(standard: Standard, inputs: int) -> None:
    d = len(standard.keep)
    _integers("keep", standard.keep, (d,), 0, inputs - 1)
    _must(d > 0 and bool(np.all(np.diff(standard.keep) > 0)), "'keep' does not go up")
    _integers("exponent", standard.exponent, (d,), -1100, 1100)
    _numbers("mean", standard.mean, (d,))
    _numbers("scale", standard.scale, (d,), lowest=0.0)
    _must(bool(np.all(standard.scale > 0.0)), "'scale' has a zero")
    _number("y_mean", standard.y_mean)
    _number("y_scale", standard.y_scale, lowest=0.0)
    _must(type(standard.rows) is int and standard.rows >= 0, "'rows' is no count")


def _check_network(network: Network, d: int) -> None:
    n, features = network.size, network.features
    _numbers("beta", network.beta, (n,))
    _number("intercept", network.intercept)
    _must(network.stop is None or type(network.stop) is str, "'stop' is no text")
    if isinstance(features, HiddenLayer):
        _numbers("W", features.W, (n, d))
        _numbers("offset", features.offset, (n,))
        return
    _must(isinstance(features, KernelFeatures), "'kind' is unknown")
    assert isinstance(features, KernelFeatures)
    kernel = features.kernel
    _numbers("Z", features.Z, (len(features.Z), d))
    _numbers("P", features.P, (len(features.Z), n))
    _numbers("offset", features.offset, (n,))
    if isinstance(kernel.weight_variance, np.ndarray):
        _numbers("weight_variance", kernel.weight_variance, (d,), lowest=0.0)
    else:
        _number("weight_variance", kernel.weight_variance, lowest=0.0)
    _number("bias_variance", kernel.bias_variance, lowest=0.0)
    _must(type(kernel.depth) is int and 1 <= kernel.depth <= MAX_DEPTH, "'depth' is out of range")


def _check_about(about: Any) -> None:
    """What `info` shows and `predict` quotes."""
    _must(type(about) is dict, "'about' is no dictionary")
    _must(type(about["variant"]) is str, "'variant' is no text")
    for name in ("train_error", "validation_error", "linear_error"):
        _must(about[name] is None or type(about[name]) in (int, float), f"'{name}' is no number")
    for name in ("settings", "versions", "data", "facts"):
        _must(type(about[name]) is dict, f"'{name}' is no dictionary")
    _must(all(type(value) in (int, float) for value in about["facts"].values()), "'facts' are no numbers")
    _must(about["stop"] is None or type(about["stop"]) is str, "'stop' is no text")
    _must(type(about["notes"]) is list and all(type(note) is str for note in about["notes"]), "'notes' are no texts")
    _must(type(about["relevance"]) is list, "'relevance' is no list")
    for entry in about["relevance"]:
        _must(type(entry["input"]) is str and type(entry["share"]) in (int, float), "'relevance' is no list of shares")


def _must(good: bool, problem: str) -> None:
    if not good:
        raise ValueError(problem)


def _number(name: str, value: Any, lowest: float = -np.inf) -> None:
    _must(type(value) in (int, float) and bool(np.isfinite(value)) and value >= lowest, f"'{name}' is out of range")


def _numbers(name: str, array: Any, shape: tuple[int, ...], lowest: float = -np.inf) -> None:
    _must(type(array) is np.ndarray and array.dtype == np.float64, f"'{name}' is no array of numbers")
    _must(array.shape == shape, f"'{name}' has the shape {array.shape} instead of {shape}")
    _must(bool(np.all(np.isfinite(array) & (array >= lowest))), f"'{name}' holds what is out of range")


def _integers(name: str, array: Any, shape: tuple[int, ...], lowest: int, highest: int) -> None:
    _must(type(array) is np.ndarray and array.dtype == np.int64, f"'{name}' is no array of integers")
    _must(array.shape == shape, f"'{name}' has the shape {array.shape} instead of {shape}")
    _must(bool(np.all((array >= lowest) & (array <= highest))), f"'{name}' holds what is out of range")


def order_statistics(errors: Array) -> Array:
    """|errors| sorted, at most _KEPT of them, evenly by rank."""
    ordered = np.sort(np.abs(errors))
    if len(ordered) <= _KEPT:
        return ordered
    ranks = np.ceil((np.arange(1, _KEPT + 1)) / (_KEPT + 1) * (len(ordered) + 1)).astype(int) - 1
    kept: Array = ordered[np.minimum(ranks, len(ordered) - 1)]
    return kept
