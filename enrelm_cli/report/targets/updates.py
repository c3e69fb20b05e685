"""The facts of a model of several targets whose rows have changed, and what is shown of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.report import words
from enrelm_cli.report.blocks import Block, Column, Command, Grid, Line, facts_of, times
from enrelm_cli.report.targets.views import headline
from enrelm_cli.report.updating.update_report import UpdateReport, history_grid

_ONCE = ("rows", "added", "training_rows", "validation_rows", "history", "notes", "timings", "model", "kind")


@dataclass(frozen=True)
class TargetsUpdate:
    """update, merge and fit --like of several targets."""

    reports: tuple[UpdateReport, ...]  # of each
    model: str | None = None

    @property
    def first(self) -> UpdateReport:
        return self.reports[0]

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(one.target for one in self.reports)

    @property
    def validation_error(self) -> float:
        """The mean of the targets'."""
        return float(np.mean([one.validation_error for one in self.reports]))

    @property
    def linear_error(self) -> float:
        return float(np.mean([one.linear_error for one in self.reports]))

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
        own = [{name: value for name, value in one.to_json().items() if name not in _ONCE} for one in self.reports]
        return {
            "targets": own,
            **{name: first[name] for name in _ONCE},
            "validation_error": self.validation_error,
            "linear_error": self.linear_error,
            "drift": self._worst_drift(),
            "model": self.model,
        }

    def _worst_drift(self) -> float | None:
        known = [one.drift for one in self.reports if one.drift is not None]
        return max(known) if known else None


_HEADS = (
    Column("target"),
    Column("neurons", number=True),
    Column("training", number=True),
    Column("validation", number=True),
    Column("linear", number=True),
    Column("before", number=True),
    Column("on the new rows", number=True),
)


def targets_update_view(report: TargetsUpdate) -> list[Block]:
    first = report.first
    counts = f"{first.training_rows:,} training, {first.validation_rows:,} validation"
    if first.added:
        counts = f"{words.counted(first.added, 'row')} added; {counts}"
    facts = facts_of(
        ("rows", counts), ("time", times(first.timings)), ("notes", first.notes), ("model", report.model or "")
    )
    grid = Grid("errors of each target (1 = predicting the mean)", _HEADS, tuple(map(_line, report.reports)))
    head = headline(first.kind, report.targets, report.validation_error, report.linear_error)
    blocks: list[Block] = [head, facts, grid, history_grid(first.history)]
    if report.model:
        blocks.append(Command("next", words.shell(["enrelm", "predict", report.model, "new.csv"])))
    return blocks


def _line(one: UpdateReport) -> Line:
    errors = (words.error(value) for value in (one.train_error, one.validation_error, one.linear_error))
    new = "" if one.new_rows_error is None else words.error(one.new_rows_error)
    return Line((one.target, words.count(one.neurons), *errors, words.error(one.validation_error_before), new))
