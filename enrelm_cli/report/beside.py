"""Beside predictions in their report: intervals, quantiles, and how the table differs from that of the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
