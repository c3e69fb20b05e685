"""The steps of a fit that only classes need: probabilities of each variant, and which of them is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enrelm_cli.inputs.classes.rare import CountBySide
from enrelm_cli.inputs.encoding import Encoding
from enrelm_cli.inputs.split import Everything
from enrelm_cli.inputs.training import Rows
from enrelm_cli.judge.classes.fitting import ClassFit, fit_classes, validated
from enrelm_cli.judge.classes.metrics import Metrics
from enrelm_cli.judge.fitting import FittedVariant
from enrelm_cli.model.classes import Calibration
from enrelm_cli.report.class_reports import ClassFacts
from enrelm_cli.settings import MethodSettings
from enrelm_cli.stopwatch import Stopwatch

# What a calibration that has seen the rows is worth, at most.
_SEEN = 1.1


@dataclass(frozen=True)
class ToldApart:
    """Every variant's probabilities, and what they are worth on the validation rows."""

    fits: tuple[ClassFit, ...]
    validation: tuple[Metrics, ...]
    handicaps: tuple[float, ...]

    @property
    def best(self) -> int:
        """The lowest log-loss of the validation rows.

        What has a ridge of its own is calibrated on rows left out, and with folds all are calibrated on the rows of the
        others. Else the paper's variants are calibrated on the validation rows themselves, and have to be better by
        more than that is worth on a few dozen of them.
        """
        return min(range(len(self.fits)), key=lambda k: self.validation[k].log_loss * self.handicaps[k])


def tell_classes(fitted: Sequence[FittedVariant], method: MethodSettings, timer: Stopwatch) -> ToldApart | None:
    """None where the target is a number."""
    if fitted[0].basis.data.rows.classes is None:
        return None
    with timer("probabilities"):
        fits = tuple(fit_classes(one, method) for one in fitted)
        validation = tuple(validated(one, fit) for one, fit in zip(fitted, fits, strict=True))
    fair = [one.variant.regularised or bool(fit.folded) for one, fit in zip(fitted, fits, strict=True)]
    return ToldApart(fits, validation, tuple(1.0 if each else _SEEN for each in fair))


def with_misses(chosen: ClassFit, encoding: Encoding) -> Calibration:
    """The calibration, with what sets are made of.

    Sets promise something of rows as they come: a row has its own weight, and not that of its class.
    """
    weight = chosen.weight
    if weight is not None and encoding.class_weights is not None:
        weight = weight / np.array(encoding.class_weights)[chosen.codes]
    return chosen.calibration.with_misses(chosen.misses, weight)


def class_facts(rows: Rows, told: ToldApart, chosen: ClassFit) -> ClassFacts:
    """Of the best variant."""
    assert rows.classes is not None
    counts = rows.fold(CountBySide(Everything(), len(rows.classes)), "counting classes")["counts"].sum(axis=1)
    return ClassFacts(
        classes=rows.classes,
        counts=tuple(int(count) for count in counts),
        probabilities=chosen.kind,
        left_out_log_loss=told.fits[told.best].log_loss,
        validation=told.validation[told.best],
    )
