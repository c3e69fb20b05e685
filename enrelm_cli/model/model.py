"""What predicts: encoding, input map, target scale and one network, whatever the variant; its document in a file.

yhat(x) = back(sum_j beta_j s_j(input map of x)), back to the target's own units
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from enrelm_cli.errors import DataError, ModelFileError
from enrelm_cli.inputs.checks import must, number, whole
from enrelm_cli.inputs.classes.scale import ClassScale, ModelScale, scale_from
from enrelm_cli.inputs.encoding import Encoding
from enrelm_cli.inputs.maps.input_map import InputMap
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.kernels.arcsine import Kernel
from enrelm_cli.model.card import ModelCard
from enrelm_cli.model.classes import Calibration, labels
from enrelm_cli.model.explanation.learnt import Learnt
from enrelm_cli.model.explanation.reference import Reference
from enrelm_cli.model.features import BLOCK_BYTES, KernelFeatures, block_rows
from enrelm_cli.model.intervals import Intervals
from enrelm_cli.model.local_features import LocalFeatures
from enrelm_cli.model.network import Network
from enrelm_cli.model.profile import FAR, Profile, nearest, profile_of
from enrelm_cli.model.updating.kept import Kept
from enrelm_cli.types import Array

# Characters of the names of all inputs: a column's name stands before each of its levels.
_NAMES = 1 << 28
# Landmarks that rows are compared with, and rows of the fit that say how near they are as a rule.
_NEAR, _PROFILED = 500, 4096


@dataclass(frozen=True)
class Model:
    encoding: Encoding
    input_map: InputMap
    target_scale: ModelScale
    network: Network
    card: ModelCard
    intervals: Intervals = field(default_factory=Intervals)
    reference: Reference | None = None  # what contributions are measured from; None in models of earlier versions
    calibration: Calibration | None = None  # of classes: how their probabilities are made
    profile: Profile | None = None  # what the columns looked like at fit; None in models of earlier versions
    learnt: Learnt | None = None  # what its page shows of effects; None in models of earlier versions
    kept: Kept | None = None  # sums of its rows, where they can be added to
    history: tuple[dict[str, Any], ...] = ()  # what was done to its rows since (--updatable)

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The classes that it tells apart; None where it predicts a number."""
        return None if self.encoding.classes is None else self.encoding.classes.levels

    def probabilities(self, X: Array, limit: int = BLOCK_BYTES) -> Array:
        """Raw rows to probabilities of the classes: (t, columns) -> (t, C)."""
        scale = self.target_scale
        assert isinstance(scale, ClassScale)
        assert self.calibration is not None
        blocks = self.blocks(X, limit)
        z = np.concatenate([self.network.predict(self.input_map.inputs(block)) for block in blocks])
        if not np.isfinite(z).all():
            raise DataError(
                f"{int(np.count_nonzero(~np.isfinite(z)))} scores of '{self.encoding.target}' are beyond the largest "
                "number",
                "look for extreme values in the data",
            )
        return self.calibration.probabilities(scale, z)

    @property
    def landmarks(self) -> tuple[Kernel, Array] | None:
        """Some of the landmarks, in their order, which is that of a hash: an even choice of the rows at fit."""
        features = self.network.features
        return (features.kernel, features.Z[:_NEAR]) if isinstance(features, (KernelFeatures, LocalFeatures)) else None

    def profiled(self, X: Array) -> Model:
        """With the profile of raw rows (s, columns), an even sample of those of the fit."""
        near, landmarks = None, self.landmarks
        if landmarks is not None:
            near = float(np.quantile(nearest(*landmarks, self.input_map.inputs(X[:_PROFILED]), apart=True), FAR))
        return replace(self, profile=profile_of(self.encoding.columns, X, near))

    def predict(self, X: Array, limit: int = BLOCK_BYTES) -> Array:
        """Raw rows to predictions: (t, columns) -> (t,), in blocks of about `limit` bytes; places of classes."""
        if self.classes is not None:
            return labels(self.probabilities(X, limit)).astype(float)
        return self.predict_with(X, np.zeros(0), limit)[:, 0]

    def blocks(self, X: Array, limit: int) -> list[Array]:
        """A column of 10,000 levels makes 10,000 inputs of a raw number, a row meets every landmark."""
        numbers = max(self.input_map.expansion.width, self.network.held)
        rows = block_rows(numbers, most=max(len(X), 1), limit=limit)
        return [X[start : start + rows] for start in range(0, len(X), rows)] or [X]

    def predict_with(self, X: Array, times: Array, limit: int = BLOCK_BYTES) -> Array:
        """Predictions, and where they and so many spreads of errors lie: (t, columns), (k,) -> (t, 1 + k)."""
        predicted = np.concatenate([self._block(block, times) for block in self.blocks(X, limit)])
        self.check_finite(predicted[:, 0])
        return predicted

    def _block(self, raw: Array, times: Array) -> Array:
        # Far outside of the training rows, or with a target near the end of the numbers, a sum may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            X = self.input_map.inputs(raw)
            z = self.network.predict(X)
        return self.from_scores(X, z, times)

    def from_scores(self, X: Array, z: Array, times: Array) -> Array:
        """The same of inputs X (t, d) for which the network predicts z (t,)."""
        scale = self.target_scale
        assert isinstance(scale, TargetScale)
        y_hat = scale.back(z)[:, None]
        return np.hstack([y_hat, self.intervals.at(X, z, times, scale)]) if len(times) else y_hat

    def check_finite(self, y_hat: Array) -> None:
        if not np.isfinite(y_hat).all():
            count = int(np.count_nonzero(~np.isfinite(y_hat)))
            raise DataError(
                f"{count} of {len(y_hat)} predictions of '{self.encoding.target}' are beyond the largest number",
                "look for extreme values in the data, or fit again with the target in a larger unit",
            )

    def to_document(self) -> dict[str, Any]:
        return {
            "encoding": self.encoding.to_document(),
            "input_map": self.input_map.to_document(),
            "target_scale": self.target_scale.to_document(),
            "network": self.network.to_document(),
            "about": self.card.to_document(),
            "intervals": self.intervals.to_document(),
            "reference": None if self.reference is None else self.reference.to_document(),
            **({} if self.calibration is None else {"calibration": self.calibration.to_document()}),
            "profile": None if self.profile is None else self.profile.to_document(),
            **({} if self.learnt is None else {"learnt": self.learnt.to_document()}),
            **({} if self.kept is None else {"kept": self.kept.to_document(), "history": list(self.history)}),
        }

    @staticmethod
    def from_document(document: dict[str, Any]) -> Model:
        """Of a file that is sound as a file but may hold anything: what is no model is a ModelFileError."""
        try:
            model = Model(
                Encoding.from_document(document["encoding"]),
                InputMap.from_document(document["input_map"]),
                scale_from(document["target_scale"]),
                Network.from_document(document["network"]),
                ModelCard.from_document(document["about"]),
                _intervals(document),
                None if document.get("reference") is None else Reference.from_document(document["reference"]),
                Calibration.from_document(document["calibration"]) if "calibration" in document else None,
                None if document.get("profile") is None else Profile.from_document(document["profile"]),
                None if document.get("learnt") is None else Learnt.from_document(document["learnt"]),
                None if document.get("kept") is None else Kept.from_document(document["kept"]),
                tuple(document.get("history", ())),
            )
            _check(model, document)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as problem:
            what = f"'{problem.args[0]}' is missing" if isinstance(problem, KeyError) else str(problem)
            raise ModelFileError(
                f"the model file is whole, but is not a model of this format: {what}", "fit the model again"
            ) from problem
        return model


# ------------------------------------------------------------------------------------- what a file may hold


def _check(model: Model, document: dict[str, Any]) -> None:
    """ValueError unless types, shapes and ranges are those of a model that could have been fitted."""
    model.encoding.check(document["encoding"])
    model.input_map.check(model.encoding.columns)
    _check_width(model)
    model.target_scale.check()
    scale = model.target_scale
    classes = isinstance(scale, ClassScale)
    must(classes is (model.classes is not None), "classes need a scale of classes")
    must(classes is (model.calibration is not None), "classes, and they alone, have probabilities")
    must(classes or not model.network.logits, "logits are of classes")
    if isinstance(scale, ClassScale):
        must(scale.classes == len(model.classes or ()), "the scale is of other classes")
    if model.calibration is not None:
        model.calibration.check()
    model.network.check(model.input_map.d, scale.targets if isinstance(scale, ClassScale) else ())
    model.intervals.check(model.input_map.d)
    if model.reference is not None:
        scores = scale.targets and (scale.classes,) if isinstance(scale, ClassScale) else ()
        model.reference.check(len(model.encoding.columns), scores)
    if model.profile is not None:
        model.profile.check(model.encoding.columns)
    if model.learnt is not None:
        model.learnt.check(model.encoding.columns, scale.classes if isinstance(scale, ClassScale) else 1)
    if model.kept is not None:
        must(model.kept.frozen.Z.shape[1] == model.input_map.d, "the sums are of other inputs")
        must(model.kept.sums.sample.raw.shape[1] == len(model.encoding.columns), "the sample is of other columns")
        must(model.kept.classes == len(model.classes or ()), "the sums are of other classes")
        must(model.kept.targets == (scale.targets if isinstance(scale, ClassScale) else ()), "sums of other targets")
    check_history(model.history)


def check_history(history: Sequence[Any]) -> None:
    """ValueError unless each entry is a change of a model's rows."""
    for entry in history:
        must(type(entry) is dict and set(entry) == {"change", "rows", "hash", "validation_error"}, "odd history")
        must(all(type(entry[name]) is str for name in ("change", "hash")), "the history holds no texts")
        whole("rows", entry["rows"], 0, 1 << 62)
        number("validation_error", entry["validation_error"], lowest=0.0)


def _check_width(model: Model) -> None:
    """A small file must not ask for much: one map of a kind for a column or for each part of its dates, and names of
    inputs that fit into memory.
    """
    maps = [(type(one), one.column, getattr(one, "part", "")) for one in model.input_map.expansion.maps]
    must(len(set(maps)) == len(maps), "a column has the same map twice")
    names = sum(len(one.name) * (len(one.levels or ()) + 1) for one in model.encoding.columns)
    must(names <= _NAMES, "the names of its inputs are too long")


def _intervals(document: dict[str, Any]) -> Intervals:
    """Older models have sorted |errors| of left-out rows instead, in units of the target."""
    if "intervals" in document:
        return Intervals.from_document(document["intervals"])
    errors = np.asarray(document["left_out"]) / max(document["target_scale"]["scale"], np.finfo(float).tiny)
    return Intervals(errors, own_units=True, signed=False)
