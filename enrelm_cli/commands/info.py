"""info: what a saved model is."""

from __future__ import annotations

import os
from datetime import datetime, timezone

from enrelm_cli.commands.saved import load_model
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.inputs.maps.input_map import InputMap
from enrelm_cli.inputs.maps.plain import OneHot, Value
from enrelm_cli.model.model import Model
from enrelm_cli.report.reports import InfoReport


def info(path: str) -> InfoReport:
    """What a saved model is."""
    model = load_model(path)
    card, facts = model.card, os.stat(path)
    return InfoReport(
        path=path,
        variant=card.variant,
        neurons=model.network.size,
        target=model.encoding.target,
        inputs=model.input_map.names(model.encoding.columns),
        columns=_columns(model),
        train_error=card.train_error,
        validation_error=card.validation_error,
        linear_error=card.linear_error,
        facts=card.facts,
        relevance=card.relevance,
        settings=card.settings,
        versions=card.versions,
        data=card.data,
        # The file itself holds no date: the same command gives the same bytes.
        written=datetime.fromtimestamp(facts.st_mtime, timezone.utc).isoformat(timespec="seconds"),
        bytes=facts.st_size,
        stop=card.stop,
        notes=card.notes,
    )


def _columns(model: Model) -> tuple[tuple[str, str, str], ...]:
    columns = model.encoding.columns
    return tuple((one.name, one.kind.value, _details(k, one, model.input_map)) for k, one in enumerate(columns))


def _details(place: int, column: Column, input_map: InputMap) -> str:
    parts = []
    if column.levels is not None:
        parts.append(f"{len(column.levels)} levels: " + ", ".join(column.levels))
    for one in input_map.expansion.maps:
        if one.column == place and isinstance(one, Value) and one.marked:
            parts.append(f"missing cells are filled with {one.fill:g}")
        if one.column == place and isinstance(one, OneHot) and one.marked:
            parts.append("missing cells are a level of their own")
    return "; ".join(parts)
