"""The steps of a fit that only classes need: probabilities of each variant, and which of them is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from enrelm_cli.inputs.classes.rare import CountBySide
from enrelm_cli.inputs.split import Everything, Side
from enrelm_cli.inputs.training import Rows
from enrelm_cli.judge.classes.fitting import Calibrated, ClassFit, class_scale, fit_classes, metrics_of
from enrelm_cli.judge.classes.metrics import Metrics
from enrelm_cli.judge.fitting import FittedVariant
from enrelm_cli.report.class_reports import ClassFacts
from enrelm_cli.settings import MethodSettings
from enrelm_cli.stopwatch import Stopwatch


@dataclass(frozen=True)
class ToldApart:
    """Every variant's probabilities, and what they are worth on the validation rows."""

    fits: tuple[ClassFit, ...]
    validation: tuple[Metrics, ...]

    @property
    def best(self) -> int:
        """The lowest log-loss of rows that were not seen: those left out of the training rows and the validation rows.

        A small table has too few validation rows to decide alone.
        """
        return min(range(len(self.fits)), key=self._loss)

    def _loss(self, k: int) -> float:
        one, judged = self.fits[k], self.validation[k]
        left_out = len(one.misses)
        return (left_out * one.log_loss + judged.rows * judged.log_loss) / (left_out + judged.rows)


def tell_classes(fitted: Sequence[FittedVariant], method: MethodSettings, timer: Stopwatch) -> ToldApart | None:
    """None where the target is a number."""
    if fitted[0].basis.data.rows.classes is None:
        return None
    with timer("probabilities"):
        fits = tuple(fit_classes(one, method) for one in fitted)
        validation = tuple(_validated(one, fit) for one, fit in zip(fitted, fits, strict=True))
    return ToldApart(fits, validation)


def _validated(fitted: FittedVariant, fit: ClassFit) -> Metrics:
    data = fitted.basis.data
    return metrics_of(data, (Calibrated(fit.network, fit.calibration, class_scale(data)),), Side.VALIDATION)[0]


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
