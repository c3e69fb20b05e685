"""explain: what a saved model has learnt, and where it errs, on a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from enrelm_cli.commands.beside.judging import errors_of
from enrelm_cli.commands.explanation.learning import ROWS, TOP, columns_that_matter, learn
from enrelm_cli.commands.explanation.subjects import Subject, subject, subjects_of
from enrelm_cli.commands.explanation.summaries import fitted_data, summaries
from enrelm_cli.commands.saved import load_model
from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.encoding import UNSEEN, Column, moment_text
from enrelm_cli.inputs.predicting import open_for_predict
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.judge.classes.metrics import metrics
from enrelm_cli.judge.explanation.gather import (
    BadRow,
    Gather,
    GatherClasses,
    Gathered,
    PlacedPiece,
    interval_ends,
    merged,
)
from enrelm_cli.judge.explanation.residuals import binned
from enrelm_cli.model.explanation.learnt import Learnt, LearntEffect
from enrelm_cli.model.model import Model
from enrelm_cli.names import close_names
from enrelm_cli.redaction import redacted
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
from enrelm_cli.table.memory import ArrowSource
from enrelm_cli.table.pieces import check_files
from enrelm_cli.table.table import ReadOptions
from enrelm_cli.types import Array

_DRAWN = 600  # points of a residual plot


@dataclass(frozen=True)
class ExplainSettings:
    """What to look at."""

    columns: tuple[str, ...] = ()  # none: those that matter
    top: int = TOP  # columns at most
    partial_dependence: bool = False
    worst: int = 10
    classes: tuple[str, ...] = ()  # none: the second of two, each of a few, the most frequent of many


def explain(
    path: str,
    sources: Sequence[str],
    wanted: ExplainSettings,
    read: ReadOptions,
    engine: Engine,
    target: str | None = None,
) -> ExplainReport:
    """One pass over the rows, then everything from its even sample."""
    model = load_model(path, "one is explained at a time: name it with --target", target, read.anonymous)
    if engine.elsewhere:
        check_files(sources)
    return explain_model(model, tuple(sources), wanted, read, engine, path)


def explain_model(
    model: Model,
    sources: Sequence[str | ArrowSource],
    wanted: ExplainSettings,
    read: ReadOptions,
    engine: Engine,
    path: str,
) -> ExplainReport:
    """The same of a model in memory, and of tables in files or in memory."""
    timer = Stopwatch()
    model.network.require()
    subjects = subjects_of(model, wanted.classes)
    _check_columns(model, wanted.columns)
    opened = open_for_predict(sources, read, model.encoding, with_target=True)
    ends = interval_ends(model) if model.classes is None else {}
    with timer("rows"):
        numbers = Gather(model, np.array(list(ends.values())).ravel(), wanted.worst)
        function = numbers if model.classes is None else GatherClasses(model, wanted.worst)
        found = merged(engine.map(map(PlacedPiece, opened), function, "predicting"))
    if found is None or not found.rows:
        raise DataError(f"{opened.label}: there are no rows", "name a table with rows that the model can predict")
    with timer("effects"):
        columns = columns_that_matter(model, wanted.columns, wanted.top)
        learnt = learn(model, found.sample.X[:ROWS], subjects, columns, wanted.partial_dependence)
    return explained(model, found, learnt, wanted, path, opened.label, tuple(ends), timer)


def explained(
    model: Model,
    found: Gathered,
    learnt: Learnt,
    wanted: ExplainSettings,
    path: str,
    name: str,
    levels: Sequence[float],
    timer: Stopwatch,
) -> ExplainReport:
    """The report of gathered rows."""
    known, places = int(found.sums["known"]), list(dict.fromkeys(one.column for one in learnt.effects))
    scale, columns = model.target_scale, model.encoding.columns
    numbers = isinstance(scale, TargetScale)
    report = learnt_report(model, learnt, path, name, wanted.partial_dependence)
    return replace(
        report,
        rows=found.rows,
        errors=errors_of(found.sums, scale.scale) if known and numbers else None,
        metrics=metrics(found.sums) if known and not numbers else None,
        residuals=_residuals(model, found, places, learnt.scores) if known else (),
        worst=tuple(_worst(one, columns, model.classes) for one in found.worst),
        calibration=_calibration(levels, found.sums["inside"], float(found.sums["weight"])) if numbers else (),
        points=_points(found) if known and numbers else (),
        timings=timer.report(),
        notes=(*found.unseen.notes(), *_class_note(model, learnt, wanted)),
    )


def learnt_report(
    model: Model, learnt: Learnt, path: str, name: str, partial_dependence: bool = False
) -> ExplainReport:
    """What a model has learnt, without any row: nothing is judged."""
    columns, shares = model.encoding.columns, dict(model.card.relevance)
    subjects = {place: subject(model, place) for place in learnt.scores}
    return ExplainReport(
        model=redacted(path),
        name=name,
        variant=model.card.variant,
        target=model.encoding.target,
        rows=int(model.card.data.get("rows") or 0),
        sample_rows=learnt.rows,
        average=float(learnt.averages[0]),
        way="partial dependence" if partial_dependence else "accumulated local effects",
        band=_band(learnt.posterior, partial_dependence),
        effects=tuple(_effect(one, columns[one.column], shares, subjects[one.score]) for one in learnt.effects),
        relevance=model.card.relevance,
        pairs=tuple(
            PairEffect(columns[int(first)].name, columns[int(second)].name, float(strength), float(share))
            for first, second, strength, share in learnt.pairs
        ),
        errors=None,
        residuals=(),
        worst=(),
        calibration=(),
        points=(),
        timings={},
        columns=summaries(model),
        fitted=fitted_data(model),
        settings=model.card.settings,
        averages=tuple((one.name, float(mean)) for one, mean in zip(subjects.values(), learnt.averages, strict=True)),
        classes=tuple(one.of for one in subjects.values() if one.of is not None),
    )


def _class_note(model: Model, learnt: Learnt, wanted: ExplainSettings) -> tuple[str, ...]:
    every = len(model.classes or ())
    if wanted.classes or every <= max(len(learnt.scores), 2):
        return ()
    return (f"effects on the {len(learnt.scores)} most frequent of {every:,} classes; others with --of-class NAME",)


def _check_columns(model: Model, names: Sequence[str]) -> None:
    known = [column.name for column in model.encoding.columns]
    for name in names:
        if name not in known:
            raise UsageError(f"the model has no column {name!r} (--column)", close_names(name, known))


def _band(posterior: bool, dependence: bool) -> str:
    rows = "predictions over rows" if dependence else "local differences over rows"
    return f"± 2 standard errors: {rows}" + (", and the posterior of the kernel model" if posterior else "")


def _effect(one: LearntEffect, column: Column, shares: dict[str, float], on: Subject) -> ColumnEffect:
    points = tuple(
        EffectPoint(
            shown_value(float(value), column),
            _axis(float(value), k, column),
            float(y),
            float(y - s),
            float(y + s),
            int(n),
        )
        for k, (value, y, s, n) in enumerate(one.points)
    )
    return ColumnEffect(column.name, kind_of(column), shares.get(column.name), points, one.missing, on.of, on.name)


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


def _residuals(model: Model, found: Gathered, columns: Sequence[int], scores: Sequence[int]) -> tuple[Residuals, ...]:
    """Target less prediction; of one class, 1 or 0 less its probability."""
    sample = found.sample
    known = np.isfinite(sample.y)
    y, y_hat, every = sample.y[known], sample.y_hat[known], model.encoding.columns
    if model.classes is not None:
        if len(scores) > 1:
            return ()
        y, y_hat = (y == scores[0]).astype(float), model.probabilities(sample.X[known])[:, scores[0]]
    along = [Residuals(None, "number", _ranges(y_hat, y - y_hat, None))]
    for k in columns:
        along.append(Residuals(every[k].name, kind_of(every[k]), _ranges(sample.X[known, k], y - y_hat, every[k])))
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


def _worst(one: BadRow, columns: Sequence[Column], classes: tuple[str, ...] | None) -> WorstRow:
    values = tuple((column.name, shown_value(float(x), column)) for column, x in zip(columns, one.X, strict=True))
    if classes is None:
        return WorstRow(one.file, one.row, one.line, one.y, one.y_hat, values)
    target = "(unseen)" if one.y == UNSEEN else classes[int(one.y)]
    return WorstRow(one.file, one.row, one.line, target, classes[int(one.y_hat)], values, 1.0 - one.gap)


def _calibration(levels: Sequence[float], inside: Array, weight: float) -> tuple[Coverage, ...]:
    if not weight > 0.0:
        return ()
    return tuple(Coverage(level, float(count) / weight) for level, count in zip(levels, inside, strict=True))


def _points(found: Gathered) -> tuple[tuple[float, float], ...]:
    sample = found.sample
    known = np.flatnonzero(np.isfinite(sample.y))[:_DRAWN]
    return tuple((float(sample.y_hat[i]), float(sample.y[i] - sample.y_hat[i])) for i in known)
