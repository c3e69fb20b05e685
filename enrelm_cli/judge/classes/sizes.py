"""The error rate and the log-loss of every size of a variant, as the error curve has its relative errors.

At each size the scores of the validation rows (of all folds) become probabilities by the slope and the prior that suit
these rows best: two numbers, which a curve of its own would not change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.inputs.split import Side
from enrelm_cli.judge.classes.calibration import LeftOutScores, calibrated, joined_scores, scores_of
from enrelm_cli.judge.classes.fitting import class_scale, held_out
from enrelm_cli.judge.curve import Choice, Curve
from enrelm_cli.judge.fitting import FittedVariant
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import Basis
from enrelm_cli.types import Array

_SIZES = 48  # that are looked at beside those on offer
_NUMBERS = 4e6  # of rows times classes: more rows would draw the same line


@dataclass(frozen=True)
class ClassCurve:
    """At some sizes, which go up."""

    neurons: tuple[int, ...]
    error_rate: tuple[float, ...]
    log_loss: tuple[float, ...]

    def at(self, n: int) -> tuple[float, float]:
        """Error rate and log-loss of a size that was looked at."""
        place = self.neurons.index(n)
        return self.error_rate[place], self.log_loss[place]

    def to_json(self) -> list[dict[str, Any]]:
        return [
            {"neurons": n, "error_rate": rate, "log_loss": loss}
            for n, rate, loss in zip(self.neurons, self.error_rate, self.log_loss, strict=True)
        ]


def class_curve(fitted: FittedVariant) -> ClassCurve:
    """Of the validation rows; sizes on offer are among those that are looked at."""
    folds = fitted.folds or ((fitted.basis, fitted.network),)
    if fitted.curve.only_size is not None:
        return _judged([1], iter([[held_out(basis.data, network) for basis, network in folds]]))
    most = min(len(fitted.curve.validation), *(network.size for _, network in folds))
    sizes = [n for n in sizes_of(fitted.curve) if n <= most]
    parts = [_nested(basis, network, sizes) for basis, network in folds]
    return _judged(sizes, (list(each) for each in zip(*parts, strict=True)))


def sizes_of(curve: Curve) -> list[int]:
    most = len(curve.validation)
    offered: list[Choice | None] = [*vars(curve.choices).values(), curve.chosen]
    even = np.unique(np.geomspace(1, most, min(_SIZES, most)).round().astype(int))
    return sorted({most, *even.tolist(), *(one.neurons for one in offered if one is not None)})


def _nested(basis: Basis, network: Network, sizes: list[int]) -> Iterator[LeftOutScores]:
    """Of each size, by a running sum over the neurons."""
    data, scale = basis.data, class_scale(basis.data)
    rows = data.view(data.rows.sample, Side.VALIDATION)
    rows = rows.between(0, max(1, int(_NUMBERS / scale.classes)))
    terms, codes = network.features.outputs(rows.X), scale.codes(rows.y)
    z: Array = np.zeros((rows.rows, *network.beta.shape[1:])) + network.intercept
    before = 0
    for n in sizes:
        z = z + terms[:, before:n] @ network.beta[before:n]
        before = n
        yield scores_of(scale, z, codes, rows.weight)


def _judged(sizes: list[int], parts: Iterator[list[LeftOutScores]]) -> ClassCurve:
    rates, losses = [], []
    for each in parts:
        rows = joined_scores(each)
        calibration = calibrated("temperature", rows)
        wrong = np.argmax(rows.log_probabilities(calibration), axis=1) != rows.codes
        rates.append(float(np.average(wrong, weights=rows.weight)))
        losses.append(rows.log_loss(calibration))
    return ClassCurve(tuple(sizes), tuple(rates), tuple(losses))
