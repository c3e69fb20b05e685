"""Model files: a fitted model written, a saved one read."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TypeVar

from enrelm_cli.errors import UsageError
from enrelm_cli.model import artifact
from enrelm_cli.model.model import Model
from enrelm_cli.model.targets.models import TargetModels, is_of_targets
from enrelm_cli.remote import address_of, is_remote, seen
from enrelm_cli.report.reports import FitReport
from enrelm_cli.report.targets.reports import TargetsReport
from enrelm_cli.stopwatch import Stopwatch

Saved = TypeVar("Saved", bound=FitReport | TargetsReport)


def save(report: Saved, model: Model | TargetModels, path: str) -> Saved:
    """Write the model's file; the report says where it went."""
    timer = Stopwatch()
    artifact.save(model.to_document(), path)
    timings = {**report.timings, "saving": timer.total, "total": report.timings["total"] + timer.total}
    return replace(report, model=path, timings=timings)


def load_models(path: str, anonymous: bool | None = None) -> Model | TargetModels:
    """Of one target, or of several. `anonymous`: an object, without credentials."""
    document = artifact.load(path, anonymous=anonymous)
    return TargetModels.from_document(document) if is_of_targets(document) else Model.from_document(document)


def load_model(
    path: str, why: str = "this takes one", target: str | None = None, anonymous: bool | None = None
) -> Model:
    """Of one target: the named one of several. `why`: what takes one only."""
    model = load_models(path, anonymous)
    if isinstance(model, TargetModels):
        if target is None:
            named = ", ".join(model.targets)
            raise UsageError(
                f"{path} predicts {len(model.targets)} targets ({named}), and {why}", "fit one target alone"
            )
        return model.of(target)
    if target not in (None, model.encoding.target):
        raise UsageError(f"{path} predicts {model.encoding.target!r}, not {target!r}", "leave out --target")
    return model


def content_of(path: str) -> bytes:
    """The bytes of a model file that was loaded."""
    with artifact.opened(path) as file:
        return file.read()


def place_of(path: str) -> tuple[float, int]:
    """(seconds since 1970 when it was written, bytes) of a model file that was loaded."""
    if is_remote(path) and address_of(path).is_object:
        found = seen(address_of(path))
        return found.changed / 1e9, found.size
    if is_remote(path):
        return 0.0, len(content_of(path))
    facts = os.stat(path)
    return facts.st_mtime, facts.st_size
