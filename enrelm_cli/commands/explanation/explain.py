"""explain: what a saved model has learnt, and where it errs, on a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enrelm_cli.commands.beside.judging import errors_of
from enrelm_cli.commands.explanation.summaries import fitted_data, summaries
from enrelm_cli.commands.saved import load_model
from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.folds import Engine, one_blas_thread
from enrelm_cli.inputs.encoding import UNSEEN, Column, moment_text
from enrelm_cli.inputs.predicting import open_for_predict
from enrelm_cli.judge.explanation.effects import Effect, Moved, Posterior, effect_of
from enrelm_cli.judge.explanation.gather import BadRow, Gather, Gathered, PlacedPiece, interval_ends, merged
from enrelm_cli.judge.explanation.pairs import pairs
from enrelm_cli.judge.explanation.residuals import binned
from enrelm_cli.model.model import Model
from enrelm_cli.names import close_names
from enrelm_cli.report.explain_report import (
    ColumnEffect,
    Coverage,
    EffectPoint,
    ExplainReport,
    PairEffect,
    ResidualRange,
    Residuals,
    WorstRow,
)
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.table.pieces import check_files
from enrelm_cli.table.table import ReadOptions
from enrelm_cli.types import Array

# Columns below this share of the prediction's variance are not drawn unless they are asked for.
_MATTERS = 0.005
_ROWS = 1000
_PAIRED = 8  # columns whose pairs are looked at
_SHOWN_PAIRS = 10
_PAIR = 0.001  # share of the prediction's variance below which a pair says nothing
_DRAWN = 600  # points of a residual plot


@dataclass(frozen=True)
class ExplainSettings:
    """What to look at."""

    columns: tuple[str, ...] = ()  # none: those that matter
    top: int = 12  # columns at most
    partial_dependence: bool = False
    worst: int = 10


def explain(
    path: str,
    sources: Sequence[str],
    wanted: ExplainSettings,
    read: ReadOptions,
    engine: Engine,
    target: str | None = None,
) -> ExplainReport:
    """One pass over the rows, then everything from its even sample."""
    timer = Stopwatch()
    model = load_model(path, "one is explained at a time: name it with --target", target)
    model.network.require()
    if model.classes is not None:
        raise UsageError(
            f"explain is for numbers so far; this model predicts classes of {model.encoding.target!r}",
            "see the shares of its columns with `enrelm info`",
        )
    _check_columns(model, wanted.columns)
    if engine.elsewhere:
        check_files(sources)
    opened = open_for_predict(sources, read, model.encoding, with_target=True)
    ends = interval_ends(model)
    with timer("rows"):
        function = Gather(model, np.array(list(ends.values())).ravel(), wanted.worst)
        found = merged(engine.map(map(PlacedPiece, opened), function, "predicting"))
    if found is None or not found.rows:
        raise DataError(f"{opened.label}: there are no rows", "name a table with rows that the model can predict")
    with timer("effects"):
        return explained(model, found, wanted, path, opened.label, tuple(ends), timer)


@one_blas_thread
def explained(
    model: Model,
    found: Gathered,
    wanted: ExplainSettings,
    path: str,
    name: str,
    levels: Sequence[float],
    timer: Stopwatch,
) -> ExplainReport:
    """The report of gathered rows."""
    X = found.sample.X[:_ROWS]
    chosen = _columns(model, wanted)
    posterior = Posterior.of(model, X)
    moved, shares = Moved(model, posterior), dict(model.card.relevance)
    effects = [effect_of(moved, X, k, wanted.partial_dependence) for k in chosen]
    columns = model.encoding.columns
    known = int(found.sums["known"])
    return ExplainReport(
        model=path,
        name=name,
        variant=model.card.variant,
        target=model.encoding.target,
        rows=found.rows,
        sample_rows=len(X),
        average=float(found.sample.y_hat[:_ROWS].mean()),
        way="partial dependence" if wanted.partial_dependence else "accumulated local effects",
        band=_band(posterior is not None, wanted.partial_dependence),
        effects=tuple(_effect(one, columns[one.column], shares) for one in effects if one is not None),
        relevance=model.card.relevance,
        pairs=_pairs(model, X, chosen[:_PAIRED]),
        errors=errors_of(found.sums, model.target_scale.scale) if known else None,
        residuals=_residuals(model, found, [one.column for one in effects if one is not None]) if known else (),
        worst=tuple(_worst(one, columns) for one in found.worst),
        calibration=_calibration(levels, found.sums["inside"], float(found.sums["weight"])),
        points=_points(found) if known else (),
        timings=timer.report(),
        notes=found.unseen.notes(),
        columns=summaries(model),
        fitted=fitted_data(model),
        settings=model.card.settings,
    )


def _check_columns(model: Model, names: Sequence[str]) -> None:
    known = [column.name for column in model.encoding.columns]
    for name in names:
        if name not in known:
            raise UsageError(f"the model has no column {name!r} (--column)", close_names(name, known))


def _columns(model: Model, wanted: ExplainSettings) -> list[int]:
    """Places of the columns to draw, the most relevant first."""
    places = {column.name: k for k, column in enumerate(model.encoding.columns)}
    if wanted.columns:
        return [places[name] for name in dict.fromkeys(wanted.columns)]
    ranked = [(name, share) for name, share in model.card.relevance if name in places]
    matters = [name for name, share in ranked if share >= _MATTERS] or [name for name, _ in ranked[:1]]
    return [places[name] for name in matters[: wanted.top]]


def _band(posterior: bool, dependence: bool) -> str:
    rows = "predictions over rows" if dependence else "local differences over rows"
    return f"± 2 standard errors: {rows}" + (", and the posterior of the kernel model" if posterior else "")


def _effect(one: Effect, column: Column, shares: dict[str, float]) -> ColumnEffect:
    points = tuple(
        EffectPoint(
            shown_value(float(value), column),
            _axis(float(value), k, column),
            float(y),
            float(y - s),
            float(y + s),
            int(n),
        )
        for k, (value, y, s, n) in enumerate(zip(one.values, one.effect, one.band, one.rows, strict=True))
    )
    return ColumnEffect(column.name, kind_of(column), shares.get(column.name), points, one.missing)


def kind_of(column: Column) -> str:
    return "levels" if column.levels is not None else "date" if column.is_date else "number"


def shown_value(value: float, column: Column) -> float | str | None:
    """A raw cell as people write it."""
    if np.isnan(value):
        return None
    if column.levels is not None:
        return "(unseen)" if value == UNSEEN else column.levels[int(value)]
    return moment_text(value) if column.is_date else value


def _axis(value: float, place: int, column: Column) -> float:
    return value if column.levels is None else float(place)


def _pairs(model: Model, X: Array, columns: Sequence[int]) -> tuple[PairEffect, ...]:
    names = [column.name for column in model.encoding.columns]
    found = [one for one in pairs(model, X, columns) if one.share >= _PAIR][:_SHOWN_PAIRS]
    return tuple(PairEffect(names[one.first], names[one.second], one.strength, one.share) for one in found)


def _residuals(model: Model, found: Gathered, columns: Sequence[int]) -> tuple[Residuals, ...]:
    sample = found.sample
    known = np.isfinite(sample.y)
    residuals, every = (sample.y - sample.y_hat)[known], model.encoding.columns
    along = [Residuals(None, "number", _ranges(sample.y_hat[known], residuals, None))]
    for k in columns:
        along.append(Residuals(every[k].name, kind_of(every[k]), _ranges(sample.X[known, k], residuals, every[k])))
    return tuple(along)


def _ranges(values: Array, residuals: Array, column: Column | None) -> tuple[ResidualRange, ...]:
    is_level = column is not None and column.levels is not None
    ranges = []
    for place, one in enumerate(binned(values, residuals, is_level)):
        low, high = (one.low, one.high) if column is None else (shown_value(v, column) for v in (one.low, one.high))
        at = float(place) if is_level else (one.low + one.high) / 2.0
        assert low is not None
        assert high is not None
        ranges.append(ResidualRange(low, high, at, one.rows, one.mean, one.spread))
    return tuple(ranges)


def _worst(one: BadRow, columns: Sequence[Column]) -> WorstRow:
    values = tuple((column.name, shown_value(float(x), column)) for column, x in zip(columns, one.X, strict=True))
    return WorstRow(one.file, one.row, one.line, one.y, one.y_hat, values)


def _calibration(levels: Sequence[float], inside: Array, weight: float) -> tuple[Coverage, ...]:
    if not weight > 0.0:
        return ()
    return tuple(Coverage(level, float(count) / weight) for level, count in zip(levels, inside, strict=True))


def _points(found: Gathered) -> tuple[tuple[float, float], ...]:
    sample = found.sample
    known = np.flatnonzero(np.isfinite(sample.y))[:_DRAWN]
    return tuple((float(sample.y_hat[i]), float(sample.y[i] - sample.y_hat[i])) for i in known)
