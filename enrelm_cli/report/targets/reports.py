"""The facts of a run with several targets: those of each target, and what they have in common.

`to_json` has the common facts, and a list `targets` with an entry of each target as a run of it alone reports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from enrelm_cli.report.beside import DriftFacts, PredictReport
from enrelm_cli.report.reports import CurveReport, FitReport, InfoReport

Json = dict[str, Any]


class OfTarget(Protocol):
    """The report of a target alone."""

    @property
    def target(self) -> str: ...
    @property
    def validation_error(self) -> float: ...
    @property
    def linear_error(self) -> float: ...
    def to_json(self) -> Json: ...


Report = TypeVar("Report", bound=OfTarget)


def own_json(
    targets: Sequence[str], reports: Sequence[OfTarget] | Sequence[PredictReport], once: Sequence[str]
) -> list[Json]:
    """An entry of each target, without what is said once for all."""
    documents = ({name: value for name, value in one.to_json().items() if name not in once} for one in reports)
    return [{"target": name, **one} for name, one in zip(targets, documents, strict=True)]


@dataclass(frozen=True)
class Reports(Generic[Report]):
    """What a run says of each target."""

    reports: tuple[Report, ...]

    @property
    def first(self) -> Report:
        return self.reports[0]

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(one.target for one in self.reports)

    @property
    def validation_error(self) -> float:
        """The mean of the targets', which chooses the variant."""
        return float(np.mean([one.validation_error for one in self.reports]))

    @property
    def linear_error(self) -> float:
        return float(np.mean([one.linear_error for one in self.reports]))

    def own_json(self, once: Sequence[str]) -> list[Json]:
        return own_json(self.targets, self.reports, once)


@dataclass(frozen=True)
class TargetsReport(Reports[FitReport]):
    """A fit of several targets."""

    timings: dict[str, float]
    model: str | None = None
    not_saved: str = FitReport.not_saved

    def worst(self, metric: str) -> FitReport:
        """The target with the largest error: what `--fail-above` bounds."""
        return max(self.reports, key=lambda one: one.gated(metric))

    def gated(self, metric: str) -> float:
        return self.worst(metric).gated(metric)

    def gate_name(self, metric: str) -> str:
        return f"{self.first.gate_name(metric)} of {self.worst(metric).target!r}"

    def to_json(self) -> Json:
        first = self.first.to_json()
        common = ("task", "variant", "inputs", "columns", "rows", "training_rows", "validation_rows", "refit", "folds")
        return {
            "targets": self.own_json((*common, "settings", "timings", "model")),
            **{name: first[name] for name in common},
            "validation_error": self.validation_error,
            "linear_error": self.linear_error,
            "worst_target": self.worst("normalised-rmse").target,
            "data": {**first["data"], "target": list(self.targets)},
            "settings": first["settings"],
            "timings": self.timings,
            "model": self.model,
        }


@dataclass(frozen=True)
class TargetsCurve(Reports[CurveReport]):
    """The curves of several targets."""

    timings: dict[str, float]
    fit_command: str | None = None  # to type next, where the caller knows how the table was named

    @property
    def chosen(self) -> str:
        """The variant that a fit takes."""
        return self.first.winner.variant

    def to_json(self) -> Json:
        first = self.first.to_json()
        return {
            "targets": self.own_json(("settings", "timings", "fit_command")),
            "chosen_variant": self.chosen,
            "folds": first["folds"],
            "rows": first["rows"],
            "data": {**first["data"], "target": list(self.targets)},
            "settings": first["settings"],
            "timings": self.timings,
            "fit_command": self.fit_command,
        }


@dataclass(frozen=True)
class TargetsPredict:
    """Predictions of several targets."""

    targets: tuple[str, ...]
    reports: tuple[PredictReport, ...]  # of each: errors, intervals, quantiles
    rows: int
    notes: tuple[str, ...]
    timings: dict[str, float]
    drift: DriftFacts | None = None

    @property
    def has_known_targets(self) -> bool:
        return any(one.has_known_targets for one in self.reports)

    def to_json(self) -> Json:
        return {
            "rows": self.rows,
            "targets": own_json(self.targets, self.reports, ("rows", "notes", "timings", "drift")),
            "drift": None if self.drift is None else self.drift.to_json(),
            "notes": list(self.notes),
            "timings": self.timings,
        }


@dataclass(frozen=True)
class TargetsInfo(Reports[InfoReport]):
    """What a saved model of several targets is."""

    kept_bytes: int | None = None  # sums of the rows, where they can be added to
    history: tuple[Json, ...] = ()

    def to_json(self) -> Json:
        first = self.first.to_json()
        common = ("path", "variant", "task", "inputs", "columns", "settings", "versions", "written", "bytes", "folds")
        return {
            "targets": self.own_json((*common, "kept_bytes", "history")),
            **{name: first[name] for name in common},
            "validation_error": self.validation_error,
            "linear_error": self.linear_error,
            "data": {**first["data"], "target": list(self.targets)},
            "kept_bytes": self.kept_bytes,
            "history": list(self.history),
        }


OfTargets = TargetsReport | TargetsCurve | TargetsPredict | TargetsInfo
