"""The facts of a run with several targets: those of each target, and what they have in common.

`to_json` has the common facts, and a list `targets` with an entry of each target as a run of it alone reports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.report.beside import DriftFacts, PredictReport
from enrelm_cli.report.reports import CurveReport, FitReport, InfoReport

Json = dict[str, Any]


def _unlike(documents: Sequence[Json], apart: Sequence[str]) -> list[Json]:
    """Each without what is said once for all."""
    return [{name: value for name, value in one.items() if name not in apart} for one in documents]


@dataclass(frozen=True)
class TargetsReport:
    """A fit of several targets."""

    reports: tuple[FitReport, ...]  # of each
    timings: dict[str, float]
    model: str | None = None
    not_saved: str = FitReport.not_saved

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(one.data.target for one in self.reports)

    @property
    def first(self) -> FitReport:
        return self.reports[0]

    @property
    def validation_error(self) -> float:
        """The mean of the targets', which chose the variant."""
        return float(np.mean([one.validation_error for one in self.reports]))

    @property
    def linear_error(self) -> float:
        return float(np.mean([one.linear_error for one in self.reports]))

    def worst(self, metric: str) -> FitReport:
        """The target with the largest error: what `--fail-above` bounds."""
        return max(self.reports, key=lambda one: one.gated(metric))

    def gated(self, metric: str) -> float:
        return self.worst(metric).gated(metric)

    def gate_name(self, metric: str) -> str:
        return f"{self.first.gate_name(metric)} of {self.worst(metric).data.target!r}"

    def to_json(self) -> Json:
        first = self.first.to_json()
        common = ("task", "variant", "inputs", "columns", "rows", "training_rows", "validation_rows", "refit", "folds")
        once = (*common, "settings", "timings", "model")
        own = _unlike([one.to_json() for one in self.reports], once)
        return {
            "targets": [{"target": name, **one} for name, one in zip(self.targets, own, strict=True)],
            **{name: first[name] for name in common},
            "validation_error": self.validation_error,
            "linear_error": self.linear_error,
            "worst_target": self.worst("normalised-rmse").data.target,
            "data": {**first["data"], "target": list(self.targets)},
            "settings": first["settings"],
            "timings": self.timings,
            "model": self.model,
        }


@dataclass(frozen=True)
class TargetsCurve:
    """The curves of several targets."""

    reports: tuple[CurveReport, ...]
    timings: dict[str, float]
    fit_command: str | None = None  # to type next, where the caller knows how the table was named

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(one.data.target for one in self.reports)

    @property
    def chosen(self) -> str:
        """The variant that a fit takes."""
        return self.reports[0].winner.variant

    def to_json(self) -> Json:
        first = self.reports[0].to_json()
        once = ("settings", "timings", "fit_command")
        own = _unlike([one.to_json() for one in self.reports], once)
        return {
            "targets": [{"target": name, **one} for name, one in zip(self.targets, own, strict=True)],
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
        own = _unlike([one.to_json() for one in self.reports], ("rows", "notes", "timings", "drift"))
        return {
            "rows": self.rows,
            "targets": [{"target": name, **one} for name, one in zip(self.targets, own, strict=True)],
            "drift": None if self.drift is None else self.drift.to_json(),
            "notes": list(self.notes),
            "timings": self.timings,
        }


@dataclass(frozen=True)
class TargetsInfo:
    """What a saved model of several targets is."""

    reports: tuple[InfoReport, ...]  # of each
    kept_bytes: int | None = None  # sums of the rows, where they can be added to
    history: tuple[Json, ...] = ()

    @property
    def first(self) -> InfoReport:
        return self.reports[0]

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(one.target for one in self.reports)

    def to_json(self) -> Json:
        first = self.first.to_json()
        common = ("path", "variant", "task", "inputs", "columns", "settings", "versions", "written", "bytes", "folds")
        own = _unlike([one.to_json() for one in self.reports], (*common, "kept_bytes", "history"))
        return {
            "targets": own,
            **{name: first[name] for name in common},
            "validation_error": float(np.mean([one.validation_error for one in self.reports])),
            "linear_error": float(np.mean([one.linear_error for one in self.reports])),
            "data": {**first["data"], "target": list(self.targets)},
            "kept_bytes": self.kept_bytes,
            "history": list(self.history),
        }


OfTargets = TargetsReport | TargetsCurve | TargetsPredict | TargetsInfo
