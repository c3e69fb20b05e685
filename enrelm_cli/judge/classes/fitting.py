"""Variants that tell classes apart: their probabilities, from scores that have not seen their rows, and their worth.

With folds (`--folds`, small tables) scores are of rows that validate, each once: they calibrate, and they choose. Else
those of the kernel variants are of training rows left out; of the paper's, of the validation rows. Where a variant can
also do logistic regression on its features, the lower log-loss of rows left out decides: training and validation rows
count alike, because the kernel was tuned on the former. For the same reason the scores of training rows can be too
sure: the slope of both together tempers that of the training rows alone, also after a refit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.inputs.classes.scale import ClassScale, Codes
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.training import Training
from enrelm_cli.judge.classes.calibration import LeftOutScores, calibrated, joined_scores, scores_of
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
class ClassFit:
    """A network and its probabilities."""

    network: Network
    calibration: Calibration
    misses: Array  # (t,) 1 - p of the own class of rows left out
    weight: Array | None  # (t,) of the same rows
    codes: Codes  # (t,) of the same rows
    log_loss: float  # of rows left out
    tempered: float = 1.0  # what the slope is multiplied by
    scores: LeftOutScores | None = None  # of training rows, where the variant can leave them out
    folded: tuple[tuple[Network, Calibration], ...] = ()  # of each fold; the calibration is of the others' rows

    @property
    def kind(self) -> str:
        return self.calibration.kind


def fit_classes(fitted: FittedVariant, method: MethodSettings) -> ClassFit:
    """Of one variant on the training rows: the better of least squares and logistic regression."""
    if len(fitted.folds) > 1:
        return _over_folds(fitted, method)
    variant, basis = fitted.variant, fitted.basis
    own = judged(variant, basis, fitted.network.first(fitted.chosen.neurons))
    other = variant.logistic(basis, method, own.network)
    fits = [own] if other is None else [own, judged(variant, basis, other)]
    held = [held_out(basis.data, one.network) for one in fits]
    losses = [
        one.log_loss + (rows.log_loss(one.calibration) if rows.rows else 0.0)
        for one, rows in zip(fits, held, strict=True)
    ]
    best = int(np.argmin(losses))
    return _tempered(fits[best], held[best])


def _over_folds(fitted: FittedVariant, method: MethodSettings) -> ClassFit:
    """Every row validates once: slope and prior are those of all of them, and a fold is judged by the others'."""
    ways = [[network for _, network in fitted.judged]]
    first = fitted.variant.logistic(fitted.basis, method, ways[0][0])
    if first is not None:
        others = [fitted.variant.logistic(basis, method, own, first) for basis, own in fitted.judged[1:]]
        ways.append([one for one in (first, *others) if one is not None])
    fits = [_folded(fitted, networks) for networks in ways if len(networks) == len(fitted.folds)]
    return min(fits, key=lambda one: one.log_loss)


def _folded(fitted: FittedVariant, networks: list[Network]) -> ClassFit:
    kind = "logits" if networks[0].logits else "temperature"
    parts = [held_out(basis.data, one) for (basis, _), one in zip(fitted.folds, networks, strict=True)]
    each = [calibrated(kind, joined_scores([*parts[:k], *parts[k + 1 :]])) for k in range(len(parts))]
    own = np.concatenate([part.own(one) for part, one in zip(parts, each, strict=True)])
    whole = joined_scores(parts)
    return ClassFit(
        networks[0],
        calibrated(kind, whole),
        1.0 - np.exp(own),
        whole.weight,
        whole.codes,
        float(-np.average(own, weights=whole.weight)),
        folded=tuple(zip(networks, each, strict=True)),
    )


def _tempered(one: ClassFit, held: LeftOutScores) -> ClassFit:
    """With the ratio of the slope of rows left out and validation rows, each half, to that of rows left out."""
    scores = one.scores
    if scores is None or not held.rows or not scores.rows or not one.calibration.slope > 0.0:
        return one
    half = (scores.rows + held.rows) / 2.0
    halves = [replace(rows, weight=rows.weights / rows.weights.sum() * half) for rows in (scores, held)]
    both = calibrated(one.kind, joined_scores(halves))
    return _with_slope(replace(one, tempered=both.slope / one.calibration.slope), scores)


def _with_slope(one: ClassFit, scores: LeftOutScores) -> ClassFit:
    """The slope tempered, and what rows left out miss with it."""
    calibration = replace(one.calibration, slope=one.calibration.slope * one.tempered)
    return replace(one, calibration=calibration, misses=1.0 - np.exp(scores.own(calibration)))


def refit_classes(fitted: FittedVariant, chosen: ClassFit, basis: Basis, method: MethodSettings) -> ClassFit:
    """The same on the rows of another basis."""
    variant = fitted.variant
    if basis is fitted.basis:
        return chosen
    network = None
    if chosen.network.logits and not fitted.network.logits:
        network = variant.logistic(basis, method, None, chosen.network)
    # Least squares stays where no row is left out any more.
    network = network or refit_variant(fitted, basis, method)
    again = None if chosen.folded else judged(variant, basis, network)
    if again is None or again.scores is None:
        # No row is left out of this fit: probabilities stay those that the validation rows gave.
        return replace(chosen, network=network)
    return _with_slope(replace(again, tempered=chosen.tempered), again.scores)


def judged(variant: Variant, basis: Basis, network: Network) -> ClassFit:
    """Calibrated on rows left out."""
    left_out = _left_out(variant, basis, network)
    scores = left_out or held_out(basis.data, network)
    calibration = calibrated("logits" if network.logits else "temperature", scores)
    own = scores.own(calibration)
    loss = float(-np.average(own, weights=scores.weight)) if scores.rows else np.inf
    return ClassFit(network, calibration, 1.0 - np.exp(own), scores.weight, scores.codes, loss, scores=left_out)


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
    return scores_of(scale, z, scale.codes(rows.y), rows.weight)


def held_out(data: Training, network: Predictor) -> LeftOutScores:
    """The validation rows of the sample."""
    rows, scale = data.view(data.rows.sample, Side.VALIDATION), class_scale(data)
    return scores_of(scale, network.predict(rows.X), scale.codes(rows.y), rows.weight)


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


def validated(fitted: FittedVariant, fit: ClassFit) -> Metrics:
    """Of the validation rows; of all folds, each by the network and the calibration of the others."""
    each = fit.folded or ((fit.network, fit.calibration),)
    bases = [basis for basis, _ in fitted.folds] if fit.folded else [fitted.basis]
    passes = [
        judge_rows(basis.data, (Calibrated(network, calibration, class_scale(basis.data)),), Side.VALIDATION)
        for basis, (network, calibration) in zip(bases, each, strict=True)
    ]
    return figures(reduce(Sums.merge, passes), 1, Side.VALIDATION)[0]


def metrics_of(data: Training, classifiers: tuple[Classifier, ...], side: Side) -> tuple[Metrics, ...]:
    """Of each classifier over one side's rows."""
    return figures(judge_rows(data, classifiers, side), len(classifiers), side)


def judge_rows(data: Training, classifiers: tuple[Classifier, ...], side: Side) -> Sums:
    return data.fold(ClassErrorRows(data.view, classifiers, side), "predicting")


def figures(sums: Sums, classifiers: int, side: Side) -> tuple[Metrics, ...]:
    names = {name.split(" ", 1)[1] for name in sums.values}
    found = [metrics(Sums({name: sums[f"{k} {name}"] for name in names})) for k in range(classifiers)]
    if any(one is None for one in found):
        raise DataError(
            f"the split left no {side.name.lower()} rows",
            "choose another split with --seed, or more rows with --validation-size",
        )
    return tuple(one for one in found if one is not None)
