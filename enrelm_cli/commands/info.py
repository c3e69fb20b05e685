"""info: what a saved model is."""

from __future__ import annotations

from datetime import datetime, timezone

from enrelm_cli.commands.saved import load_models, place_of
from enrelm_cli.inputs.outcomes import outcomes
from enrelm_cli.judge.metrics import Metrics
from enrelm_cli.model.model import Model
from enrelm_cli.model.targets.models import TargetModels
from enrelm_cli.redaction import redacted
from enrelm_cli.report.reports import InfoReport
from enrelm_cli.report.targets.reports import TargetsInfo


def info(path: str) -> InfoReport | TargetsInfo:
    """What a saved model is."""
    model = load_models(path)
    if isinstance(model, TargetModels):
        kept = None if model.kept is None else model.kept.bytes
        return TargetsInfo(tuple(info_of(one, path) for one in model.models), kept, model.history)
    return info_of(model, path)


def info_of(model: Model, path: str) -> InfoReport:
    """Of one target."""
    card, (seconds, size) = model.card, place_of(path)
    return InfoReport(
        path=redacted(path),
        variant=card.variant,
        neurons=model.network.size,
        target=model.encoding.target,
        inputs=model.input_map.names(model.encoding.columns),
        columns=outcomes(model.encoding, model.input_map),
        train_error=card.train_error,
        validation_error=card.validation_error,
        linear_error=card.linear_error,
        facts=card.facts,
        relevance=card.relevance,
        settings=card.settings,
        versions=card.versions,
        data={"name": None, **card.data},  # models of version 0.1 knew the file's name
        # The file itself holds no date: the same command gives the same bytes.
        written=datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds"),
        bytes=size,
        stop=card.stop,
        notes=card.notes,
        intervals=model.intervals.facts(),
        classes=card.classes,
        chosen_neurons=card.chosen_neurons,
        selection=card.selection,
        metrics=None if card.metrics is None else Metrics.from_json(card.metrics),
        linear_metrics=None if card.linear_metrics is None else Metrics.from_json(card.linear_metrics),
        folds=card.folds,
        warnings=card.warnings,
        kept_bytes=None if model.kept is None else model.kept.bytes,
        history=model.history,
    )
