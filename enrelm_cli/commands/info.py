"""info: what a saved model is."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import Any

from enrelm_cli.commands.saved import load_model
from enrelm_cli.inputs.encoding import Encoding
from enrelm_cli.report.reports import InfoReport


def info(path: str) -> InfoReport:
    """What a saved model is."""
    model = load_model(path)
    about, facts = model.about, os.stat(path)
    keep = model.standard.keep
    return InfoReport(
        path=path,
        variant=about["variant"],
        neurons=model.network.size,
        target=model.encoding.target,
        inputs=tuple(model.encoding.inputs[k] for k in keep),
        columns=_columns(model.encoding),
        train_error=about["train_error"],
        validation_error=about["validation_error"],
        linear_error=about["linear_error"],
        facts=about["facts"],
        relevance=tuple((entry["input"], entry["share"]) for entry in about["relevance"]),
        settings=about["settings"],
        versions=about["versions"],
        data=about["data"],
        # The file itself holds no date: the same command gives the same bytes.
        written=datetime.fromtimestamp(facts.st_mtime, timezone.utc).isoformat(timespec="seconds"),
        bytes=facts.st_size,
        stop=about["stop"],
        notes=tuple(about["notes"]),
    )


def _columns(encoding: Encoding) -> tuple[tuple[str, str, str], ...]:
    return tuple((column.name, column.kind.value, _details(column)) for column in encoding.columns)


def _details(column: Any) -> str:
    parts = []
    if column.levels is not None:
        parts.append(f"{len(column.levels)} levels: " + ", ".join(column.levels))
    if column.indicator and column.levels is None:
        parts.append(f"missing cells are filled with {column.fill:g}")
    elif column.indicator:
        parts.append("missing cells are a level of their own")
    return "; ".join(parts)
