"""Model files: a fitted model written, a saved one read."""

from __future__ import annotations

from dataclasses import replace

from enrelm_cli.model import artifact
from enrelm_cli.model.model import Model
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
