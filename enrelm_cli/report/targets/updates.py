"""The facts of a model of several targets whose rows have changed, and what is shown of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from enrelm_cli.report import words
from enrelm_cli.report.blocks import Block, facts_of, times
from enrelm_cli.report.targets.reports import Reports
from enrelm_cli.report.targets.views import errors_of_each, headline, predict_next
from enrelm_cli.report.updating.update_report import UpdateReport, history_grid

_ONCE = ("rows", "added", "training_rows", "validation_rows", "history", "notes", "timings", "model", "kind")


@dataclass(frozen=True)
class TargetsUpdate(Reports[UpdateReport]):
    """update, merge and fit --like of several targets."""

    model: str | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        return self.first.notes

    @property
    def gated(self) -> float:
        """The worst target's error, which `--fail-above` bounds."""
        return max(one.validation_error for one in self.reports)

    def noted(self, notes: Sequence[str]) -> TargetsUpdate:
        """With more notes."""
        return TargetsUpdate(tuple(one.noted(notes) for one in self.reports), self.model)

    def to_json(self) -> dict[str, Any]:
        first = self.first.to_json()
        return {
            "targets": self.own_json(_ONCE),
            **{name: first[name] for name in _ONCE},
            "validation_error": self.validation_error,
            "linear_error": self.linear_error,
            "drift": self._worst_drift(),
            "model": self.model,
        }

    def _worst_drift(self) -> float | None:
        known = [one.drift for one in self.reports if one.drift is not None]
        return max(known) if known else None


def targets_update_view(report: TargetsUpdate) -> list[Block]:
    first = report.first
    counts = f"{first.training_rows:,} training, {first.validation_rows:,} validation"
    if first.added:
        counts = f"{words.counted(first.added, 'row')} added; {counts}"
    facts = facts_of(
        ("rows", counts), ("time", times(first.timings)), ("notes", first.notes), ("model", report.model or "")
    )
    grid = errors_of_each(report.reports, ("before", "on the new rows"), _before_and_new)
    return [headline(first.kind, report), facts, grid, history_grid(first.history), *predict_next(report.model)]


def _before_and_new(one: UpdateReport) -> tuple[str, str]:
    new = "" if one.new_rows_error is None else words.error(one.new_rows_error)
    return words.error(one.validation_error_before), new
