"""The columns of a table as a model remembers them: kind, inputs, missing cells, range and distribution."""

from __future__ import annotations

import numpy as np

from enrelm_cli.inputs.encoding import Column, moment_text
from enrelm_cli.inputs.outcomes import outcomes
from enrelm_cli.model.model import Model
from enrelm_cli.model.profile import ColumnProfile
from enrelm_cli.report.explain_report import ColumnSummary
from enrelm_cli.report.reports import DataFacts
from enrelm_cli.table.cells import number_text
from enrelm_cli.types import Array

_BARS = 12


def summaries(model: Model) -> tuple[ColumnSummary, ...]:
    """Of every column that was read, sorted by name."""
    known = {column.name: k for k, column in enumerate(model.encoding.columns)}
    found = []
    for one in outcomes(model.encoding, model.input_map):
        column = model.encoding.columns[known[one.name]] if one.name in known else None
        profile = model.profile.columns[known[one.name]] if column is not None and model.profile is not None else None
        missing = None if profile is None else float(profile.counts[-1]) / float(profile.counts.sum())
        values = "" if column is None else _values(column)
        bars = () if column is None or profile is None else _bars(column, profile)
        found.append(ColumnSummary(one.name, one.kind, one.inputs, one.details, missing, values, bars))
    return tuple(found)


def fitted_data(model: Model) -> DataFacts:
    """What the model was fitted to."""
    data, encoding = model.card.data, model.encoding
    inputs = model.input_map.names(encoding.columns)
    rows, hash = int(data.get("rows") or 0), str(data.get("hash", ""))
    return DataFacts(
        str(data.get("name") or "fitted table"), rows, len(encoding.columns), inputs, encoding.target, hash
    )


def _values(column: Column) -> str:
    if column.levels is not None:
        return f"{len(column.levels):,} levels"
    low, high = (_shown(value, column) for value in (column.lowest, column.highest))
    return f"{low} to {high}"


def _shown(value: float, column: Column) -> str:
    return moment_text(value) if column.is_date else number_text(float(f"{value:.6g}"))


def _bars(column: Column, profile: ColumnProfile) -> tuple[float, ...]:
    counts = profile.counts[:-2].astype(float)
    levels = column.levels is not None
    heights = np.sort(counts)[::-1][:_BARS] if levels else _along(column, profile.edges, counts)
    total = float(heights.sum())
    return tuple(float(height) / total for height in heights) if total > 0.0 else ()


def _along(column: Column, edges: Array, counts: Array) -> Array:
    """Cells in intervals of one length, straight between the quantiles; far tails are cut."""
    low, high = column.lowest, column.highest
    if not len(edges) or not low < high:
        return counts
    room = float(edges[-1] - edges[0]) / 2.0
    if room > 0.0:
        low, high = max(low, float(edges[0]) - room), min(high, float(edges[-1]) + room)
    # A value that is an edge belongs to the interval below it.
    places = np.concatenate([[min(column.lowest, float(edges[0]))], edges, [max(column.highest, float(edges[-1]))]])
    until = np.concatenate([[0.0], np.cumsum(counts)])
    heights: Array = np.diff(np.interp(np.linspace(low, high, _BARS + 1), places, until))
    return heights
