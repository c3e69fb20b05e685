"""Model files: a fitted model written, a saved one read."""

from __future__ import annotations

import os
from dataclasses import replace

from enrelm_cli.model import artifact
from enrelm_cli.model.model import Model
from enrelm_cli.remote import address_of, is_remote, seen
from enrelm_cli.report.reports import FitReport
from enrelm_cli.stopwatch import Stopwatch


def save(report: FitReport, model: Model, path: str) -> FitReport:
    """Write the model's file; the report says where it went."""
    timer = Stopwatch()
    artifact.save(model.to_document(), path)
    timings = {**report.timings, "saving": timer.total, "total": report.timings["total"] + timer.total}
    return replace(report, model=path, timings=timings)


def load_model(path: str) -> Model:
    return Model.from_document(artifact.load(path))


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
