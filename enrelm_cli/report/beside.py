"""The report of predictions: errors, intervals, quantiles, and how the table differs from that of the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.judge.classes.metrics import Metrics as ClassMetrics

Json = dict[str, Any]


@dataclass(frozen=True)
class IntervalFacts:
    level: float
    coverage: float | None  # share of known targets inside
    mean_width: float | None


@dataclass(frozen=True)
class QuantileFacts:
    quantile: float
    below: float | None  # share of known targets at or below it


@dataclass(frozen=True)
class ColumnDrift:
    """How a column of a table to predict differs from what it was at fit."""

    column: str
    psi: float | None  # population stability index, less what chance gives; None where rows are too few to tell
    noise: float | None  # what chance alone hardly exceeds
    drifted: bool
    is_date: bool  # time goes on: that is no alarm
    missing: float  # share of cells
    missing_at_fit: float
    out_of_range: int  # cells below the lowest or above the highest at fit
    unseen: int  # cells with a level unseen at fit


@dataclass(frozen=True)
class DriftFacts:
    threshold: float
    columns: tuple[ColumnDrift, ...]  # the largest index first
    far: float | None  # share of rows that are far from every landmark; None without landmarks
    far_at_fit: float
    too_far: bool

    @property
    def alarms(self) -> tuple[str, ...]:
        """What has drifted, in words."""
        found = [
            f"column {one.column!r} (PSI {one.psi:.2f})" for one in self.columns if one.drifted and not one.is_date
        ]
        far = [f"{100 * (self.far or 0.0):.1f} % of the rows are far from every landmark"] if self.too_far else []
        return (*found, *far)

    def to_json(self) -> Json:
        columns = [dict(vars(one)) for one in self.columns]
        return {**vars(self), "columns": columns, "alarms": list(self.alarms)}


@dataclass(frozen=True)
class Errors:
    """How far predictions are from known targets."""

    rows: int
    normalised_rmse: float  # |y - yhat| / |y - training mean|: 1 is what predicting the training mean gives
    rmse: float
    mae: float
    r2: float

    def to_json(self) -> Json:
        return {name: (value if np.isfinite(value) else None) for name, value in vars(self).items()}


@dataclass(frozen=True)
class PredictReport:
    rows: int
    errors: Errors | None  # where the target column is present
    notes: tuple[str, ...]
    timings: dict[str, float]
    intervals: tuple[IntervalFacts, ...] = ()
    quantiles: tuple[QuantileFacts, ...] = ()
    drift: DriftFacts | None = None

    @property
    def has_known_targets(self) -> bool:
        return self.errors is not None or self.metrics is not None

    @property
    def interval(self) -> float | None:
        """Of the first; `intervals` has them all."""
        return self.intervals[0].level if self.intervals else None

    @property
    def coverage(self) -> float | None:
        return self.intervals[0].coverage if self.intervals else None

    sets: float | None = None  # coverage that sets of classes were asked for
    covered: float | None = None  # and have
    metrics: ClassMetrics | None = None  # of classes, where the target column is present
    classes: tuple[str, ...] | None = None

    def to_json(self) -> Json:
        judged = self.metrics or self.errors
        return {
            "rows": self.rows,
            "classes": None if self.classes is None else list(self.classes),
            "metrics": None if judged is None else judged.to_json(),
            "set": self.sets,
            "set_coverage": self.covered,
            "errors": None if self.errors is None else self.errors.to_json(),
            "interval": self.interval,
            "coverage": self.coverage,
            "intervals": [dict(vars(one)) for one in self.intervals],
            "quantiles": [dict(vars(one)) for one in self.quantiles],
            "drift": None if self.drift is None else self.drift.to_json(),
            "notes": list(self.notes),
            "timings": self.timings,
        }
