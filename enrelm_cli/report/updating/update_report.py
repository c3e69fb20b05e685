"""The facts of a model whose rows have changed: update, merge, fit --like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from enrelm_cli.report import words
from enrelm_cli.report.blocks import Block, Column, Command, Grid, Line, errors_line, facts_of, result, times


@dataclass(frozen=True)
class Change:
    """What was done to a model's rows: a line of its history."""

    change: str
    rows: int
    hash: str  # of the table's content; "" where there was none
    validation_error: float  # afterwards

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class UpdateReport:
    neurons: int
    rows: int
    added: int
    training_rows: int
    validation_rows: int
    train_error: float
    validation_error: float
    linear_error: float
    validation_error_before: float
    new_rows_error: float | None  # of the model as it was
    drift: float | None  # that, over the validation error before
    target: str
    history: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    timings: dict[str, float]
    model: str | None = None
    kind: str = field(default="kernel")  # the variant
    classes: dict[str, Any] | None = None  # of a target that has some: as `fit` reports them

    @property
    def gated(self) -> float:
        """What `--fail-above` bounds."""
        return self.validation_error

    def noted(self, notes: Sequence[str]) -> UpdateReport:
        """With more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "notes": list(self.notes), "history": list(self.history)}


def update_view(report: UpdateReport) -> list[Block]:
    before = "" if report.new_rows_error is None else _on_new_rows(report)
    counts = f"{report.training_rows:,} training, {report.validation_rows:,} validation"
    if report.added:
        counts = f"{words.counted(report.added, 'row')} added; {counts}"
    facts = facts_of(
        ("rows", counts),
        ("errors", errors_line(report.train_error, report.validation_error, report.linear_error)),
        ("classes", _classes(report)),
        ("before", before),
        ("time", times(report.timings)),
        ("notes", report.notes),
        ("model", report.model or ""),
    )
    blocks: list[Block] = [result(report.kind, report.neurons, (report.validation_error, report.linear_error)), facts]
    blocks.append(history_grid(report.history))
    if report.model:
        line = words.shell(["enrelm", "predict", report.model, "new.csv"])
        blocks.append(Command("next", line))
    return blocks


def _on_new_rows(report: UpdateReport) -> str:
    """How the model did on rows that it had not seen."""
    assert report.new_rows_error is not None
    name = "error" if report.classes is None else "log-loss"
    text = f"{name} on the new rows {words.error(report.new_rows_error)}"
    return f"{text}, validation {name} {words.error(report.validation_error_before)}"


def _classes(report: UpdateReport) -> str:
    if report.classes is None:
        return ""
    judged = report.classes["validation"]
    told = f"accuracy {words.percent(judged['accuracy'])}, log-loss {words.error(judged['log_loss'])}"
    return f"{len(report.classes['classes'])}; {told} on validation rows of the sample"


def history_grid(history: tuple[dict[str, Any], ...]) -> Grid:
    """What was done to a model's rows, the last at the bottom."""
    columns = (Column("change"), Column("rows", number=True), Column("validation error", number=True), Column("hash"))
    lines = tuple(
        Line((str(one["change"]), f"{one['rows']:,}", words.error(one["validation_error"]), str(one["hash"])))
        for one in history
    )
    return Grid("history", columns, lines)
