"""Variants that tell classes apart: their probabilities, from scores that have not seen their rows, and their worth.

Scores of the kernel variants are of training rows left out; of the paper's, of the validation rows. Where a variant can
also do logistic regression on its features, the lower log-loss of rows left out decides: training and validation rows
count alike, because the kernel was tuned on the former. For the same reason the scores of training rows can be too
sure: the slope of both together tempers that of the training rows alone, also after a refit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.inputs.classes.scale import ClassScale, Codes
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.training import Training
from enrelm_cli.judge.classes.calibration import calibrated
from enrelm_cli.judge.classes.metrics import Metrics, class_sums, metrics
from enrelm_cli.judge.errors import Classifier, Predictor
from enrelm_cli.judge.fitting import FittedVariant, refit_variant
from enrelm_cli.model.classes import Calibration
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import Basis
from enrelm_cli.settings import MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants._variant import Variant


def class_scale(data: Training) -> ClassScale:
    scale = data.view.target_scale
    assert isinstance(scale, ClassScale)
    return scale


@dataclass(frozen=True)
class LeftOutScores:
    """Predictions of rows that the network has not seen, and their classes."""

    z: Array  # (t, ...)
    codes: Codes  # (t,)
    weight: Array | None


@dataclass(frozen=True)
class ClassFit:
    """A network and its probabilities."""

    network: Network
    calibration: Calibration
    misses: Array  # (t,) 1 - p of the own class of rows left out
    weight: Array | None  # (t,) of the same rows
    log_loss: float
    tempered: float = 1.0  # what the slope is multiplied by

    @property
    def kind(self) -> str:
        return self.calibration.kind


def fit_classes(fitted: FittedVariant, method: MethodSettings) -> ClassFit:
    """Of one variant on the training rows: the better of least squares and logistic regression."""
    variant, basis = fitted.variant, fitted.basis
    own = judged(variant, basis, fitted.network.first(fitted.chosen.neurons))
    other = variant.logistic(basis, method)
    fits = [own] if other is None else [own, judged(variant, basis, other)]
    held = [held_out(basis.data, one.network) for one in fits]
    losses = [one.log_loss + _loss(basis.data, one, rows) for one, rows in zip(fits, held, strict=True)]
    best = int(np.argmin(losses))
    return _tempered(variant, basis, fits[best], held[best])


def _tempered(variant: Variant, basis: Basis, one: ClassFit, held: LeftOutScores) -> ClassFit:
    """With the ratio of the slope of rows left out and validation rows, each half, to that of rows left out."""
    scores = _left_out(variant, basis, one.network)
    if scores is None or not len(held.codes) or not len(scores.codes) or not one.calibration.slope > 0.0:
        return one
    weights = [np.full(len(rows.codes), 1.0 / len(rows.codes)) for rows in (scores, held)]
    weight = np.concatenate(weights) * (len(scores.codes) + len(held.codes)) / 2.0
    z, codes = np.concatenate([scores.z, held.z]), np.concatenate([scores.codes, held.codes])
    both = calibrated(one.kind, class_scale(basis.data), z, codes, weight)
    return _with_slope(basis, replace(one, tempered=both.slope / one.calibration.slope), scores)


def _with_slope(basis: Basis, one: ClassFit, scores: LeftOutScores) -> ClassFit:
    """The slope tempered, and what rows left out miss with it."""
    calibration = replace(one.calibration, slope=one.calibration.slope * one.tempered)
    log_p = calibration.log_probabilities(class_scale(basis.data), scores.z)[np.arange(len(scores.codes)), scores.codes]
    return replace(one, calibration=calibration, misses=1.0 - np.exp(log_p))


def _loss(data: Training, one: ClassFit, rows: LeftOutScores) -> float:
    log_p = one.calibration.log_probabilities(class_scale(data), rows.z)[np.arange(len(rows.codes)), rows.codes]
    return float(-np.average(log_p, weights=rows.weight)) if len(log_p) else 0.0


def refit_classes(fitted: FittedVariant, chosen: ClassFit, basis: Basis, method: MethodSettings) -> ClassFit:
    """The same on the rows of another basis."""
    variant = fitted.variant
    if basis is fitted.basis:
        return chosen
    if chosen.network.logits and not fitted.network.logits:
        network = variant.logistic(basis, method, chosen.network)
        assert network is not None
    else:
        network = refit_variant(fitted, basis, method)
    if _left_out(variant, basis, network) is None:
        # No row is left out of this fit: probabilities stay those that the validation rows gave.
        return replace(chosen, network=network)
    scores = _left_out(variant, basis, network)
    assert scores is not None
    return _with_slope(basis, replace(judged(variant, basis, network), tempered=chosen.tempered), scores)


def judged(variant: Variant, basis: Basis, network: Network) -> ClassFit:
    """Calibrated on rows left out."""
    scale = class_scale(basis.data)
    scores = _left_out(variant, basis, network) or held_out(basis.data, network)
    kind = "logits" if network.logits else "temperature"
    calibration = calibrated(kind, scale, scores.z, scores.codes, scores.weight)
    log_p = calibration.log_probabilities(scale, scores.z)[np.arange(len(scores.codes)), scores.codes]
    w = np.ones(len(log_p)) if scores.weight is None else scores.weight
    loss = float(-(w @ log_p) / w.sum()) if len(w) else np.inf
    return ClassFit(network, calibration, 1.0 - np.exp(log_p), scores.weight, loss)


def _left_out(variant: Variant, basis: Basis, network: Network) -> LeftOutScores | None:
    """Training rows of the sample; None where the variant cannot leave them out."""
    scale, sample = class_scale(basis.data), basis.data.sample()
    if network.logits:
        assert network.left_out is not None
        rows, z = sample.between(0, len(network.left_out)), network.left_out
    else:
        errors = variant.left_out(basis, network)
        if not len(errors):
            return None
        # Rows whose fold has none to be judged by have no error.
        known = ~np.isnan(errors if errors.ndim == 1 else errors[:, 0])
        rows, z = sample.where(known), (sample.y - errors)[known]
    return LeftOutScores(z, scale.codes(rows.y), rows.weight)


def held_out(data: Training, network: Predictor) -> LeftOutScores:
    """The validation rows of the sample."""
    rows = data.view(data.rows.sample, Side.VALIDATION)
    return LeftOutScores(network.predict(rows.X), class_scale(data).codes(rows.y), rows.weight)


@dataclass(frozen=True)
class Calibrated:
    """A network as a classifier of standardised rows."""

    network: Predictor
    calibration: Calibration
    scale: ClassScale

    def probabilities(self, X: Array) -> Array:
        return self.calibration.probabilities(self.scale, self.network.predict(X))


@dataclass(frozen=True)
class ClassErrorRows:
    """Partial: what the probabilities of several classifiers are worth on one side's rows, in one pass."""

    view: View
    classifiers: tuple[Classifier, ...]
    side: Side

    def __call__(self, chunk: Chunk) -> Sums:
        rows, scale = self.view(chunk, self.side), self.view.target_scale
        assert isinstance(scale, ClassScale)
        codes = scale.codes(rows.y)
        sums = [class_sums(one.probabilities(rows.X), codes, rows.weight).values for one in self.classifiers]
        return Sums({f"{k} {name}": value for k, one in enumerate(sums) for name, value in one.items()})


def metrics_of(data: Training, classifiers: tuple[Classifier, ...], side: Side) -> tuple[Metrics, ...]:
    """Of each classifier over one side's rows."""
    sums = data.fold(ClassErrorRows(data.view, classifiers, side), "predicting")
    names = {name.split(" ", 1)[1] for name in sums.values}
    found = [metrics(Sums({name: sums[f"{k} {name}"] for name in names})) for k in range(len(classifiers))]
    if any(one is None for one in found):
        raise DataError(
            f"the split left no {side.name.lower()} rows",
            "choose another split with --seed, or more rows with --validation-size",
        )
    return tuple(one for one in found if one is not None)
