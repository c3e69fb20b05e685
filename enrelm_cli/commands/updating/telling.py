"""What is said of a model whose rows have changed: errors before and after, drift, history; of each target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from enrelm_cli.commands.updating.sums import Added
from enrelm_cli.inputs.survey.cells import InputColumn
from enrelm_cli.model.model import Model
from enrelm_cli.model.targets.models import AnyModel, TargetModels, each_of
from enrelm_cli.report.targets.updates import TargetsUpdate
from enrelm_cli.report.updating.update_report import Change, UpdateReport
from enrelm_cli.stopwatch import Stopwatch

AnyReport = UpdateReport | TargetsUpdate


def whose(model: Model, of: AnyModel) -> str:
    return f" of {model.encoding.target!r}" if isinstance(of, TargetModels) else ""


def kept_rows(model: AnyModel) -> int:
    return 0 if model.kept is None else model.kept.sums.rows()


def digest(model: AnyModel, added: Added) -> str:
    columns = tuple(InputColumn(one.name, one.kind, one.categorical) for one in model.encoding.columns)
    return added.content.digest(columns, model.encoding.target, model.encoding.also)


def validation_error_of(model: AnyModel) -> float:
    """The mean of the targets'."""
    return float(np.mean([one.card.validation_error for one in each_of(model)]))


def drifts(added: Added, model: AnyModel) -> list[float]:
    before = [_error_before(one) for one in each_of(model)]
    return [now / then if then > 0.0 else float("inf") for now, then in zip(added.errors, before, strict=True)]


def _error_before(model: Model) -> float:
    """On validation rows, in the units that new rows are judged in."""
    told = model.card.classes
    return model.card.validation_error if told is None else float(told["validation"]["log_loss"])


def unit_of(model: Model) -> str:
    return "error" if model.classes is None else "log-loss"


def told(made: AnyModel, earlier: tuple[dict[str, object], ...], *changes: Change) -> AnyModel:
    history = (*earlier, *(change.to_json() for change in changes))
    hashes = sorted(f"{entry['change']} {entry['hash']}" for entry in history)
    hashed = blake2b(repr(hashes).encode(), digest_size=16).hexdigest()
    if isinstance(made, TargetModels):
        return replace(made, models=tuple(_hashed(one, hashed) for one in made.models), history=history)
    return replace(_hashed(made, hashed), history=history)


def _hashed(model: Model, hashed: str) -> Model:
    return replace(model, card=replace(model.card, data={**model.card.data, "hash": hashed}))


def report_of(made: AnyModel, added: Added | None, before: AnyModel, timer: Stopwatch) -> AnyReport:
    """Of one target, or of each of several."""
    notes = [] if added is None else [*added.unseen.notes()]
    if added is not None and digest(before, added) in {str(entry["hash"]) for entry in before.history}:
        notes.append(
            "a table with exactly these rows is already in the history: they count twice, unless they were removed"
        )
    if added is not None and added.without:
        which = "without every target" if isinstance(made, TargetModels) else "without a target"
        notes.append(f"{added.without:,} rows {which}, or of weight 0, left out")
    reports = [
        _of_target(own, kept_rows(made), one, made.history, notes, timer)
        for own, one in zip(each_of(made), _against(before, added), strict=True)
    ]
    return TargetsUpdate(tuple(reports)) if isinstance(made, TargetModels) else reports[0]


@dataclass(frozen=True)
class _Before:
    """What a target's model was on its validation rows and on those that were added."""

    validation_error: float
    added: int = 0
    error: float | None = None
    drift: float | None = None


def _against(before: AnyModel, added: Added | None) -> list[_Before]:
    errors = [_error_before(one) for one in each_of(before)]
    if added is None:
        return [_Before(error) for error in errors]
    new = zip(errors, added.errors, drifts(added, before), strict=True)
    return [_Before(error, added.sums.rows(), own, drift) for error, own, drift in new]


def _of_target(
    made: Model, rows: int, before: _Before, history: tuple[dict[str, Any], ...], notes: Sequence[str], timer: Stopwatch
) -> UpdateReport:
    card = made.card
    return UpdateReport(
        neurons=card.neurons,
        rows=rows,
        added=before.added,
        training_rows=card.training_rows,
        validation_rows=card.validation_rows,
        train_error=card.train_error,
        validation_error=card.validation_error,
        linear_error=card.linear_error,
        validation_error_before=before.validation_error,
        new_rows_error=before.error,
        drift=before.drift,
        target=made.encoding.target,
        history=history,
        notes=tuple(notes),
        timings=timer.report(),
        kind=card.variant,
        classes=card.classes,
    )
