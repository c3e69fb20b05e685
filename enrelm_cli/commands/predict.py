"""predict: a table through a saved model. Nothing that fits is imported, so that a batch job starts quickly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any, Protocol

import numpy as np

from enrelm_cli.commands.beside.bands import Bands, bands_of
from enrelm_cli.commands.beside.drift import DriftRows, drift_facts, drift_rows
from enrelm_cli.commands.beside.judging import errors_of, judged_sums
from enrelm_cli.commands.classes.predicting import (
    ClassesWanted,
    PredictClasses,
    class_columns,
    class_report,
    refuse_other_task,
)
from enrelm_cli.commands.saved import load_models
from enrelm_cli.commands.targets.predicting import (
    PredictTargets,
    targets_bands,
    targets_columns,
    targets_explained,
    targets_report,
)
from enrelm_cli.errors import UsageError
from enrelm_cli.files import atomic_writer
from enrelm_cli.fold.folds import Engine, Sums
from enrelm_cli.inputs.encoding import Unseen
from enrelm_cli.inputs.predicting import open_for_predict
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.model.explanation.columns import ExplainedClasses, ExplainedRows
from enrelm_cli.model.features import BLOCK_BYTES
from enrelm_cli.model.model import Model
from enrelm_cli.model.targets.models import TargetModels
from enrelm_cli.output_formats import CSV, OutputFormat
from enrelm_cli.report.beside import DriftFacts, PredictReport
from enrelm_cli.report.targets.reports import TargetsPredict
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.table.memory import ArrowSource
from enrelm_cli.table.output.choice import writer_of
from enrelm_cli.table.output.writer import Added, Writer
from enrelm_cli.table.pieces import check_files
from enrelm_cli.table.table import Batch, ReadOptions
from enrelm_cli.types import Array

# Bytes of a block whatever --memory says: less saves nothing beside the interpreter.
_LEAST = 1 << 16


@dataclass(frozen=True)
class DriftWanted:
    """Whether a table is compared with that of the fit, and what is too much."""

    reported: bool = False
    threshold: float | None = None

    def rows(self, model: Model) -> DriftRows | None:
        asked = self.reported or self.threshold is not None
        return drift_rows(model, self.threshold is not None) if asked else None


@dataclass(frozen=True)
class Wanted:
    """What to predict, and how it is written."""

    sources: tuple[str, ...]
    output: str
    ids: tuple[str, ...]
    append: bool
    intervals: tuple[float, ...]  # levels
    quantiles: tuple[float, ...]
    strict: bool
    read: ReadOptions
    memory: int | None = None  # bytes that rows on their way may take; None: what a block takes at most
    format: OutputFormat = CSV
    digits: int | None = None  # significant digits of numbers; None: all
    explain: bool = False  # with `average` and the effect of each column
    explain_top: int | None = None  # only so many of the largest effects of each row
    classes: ClassesWanted = field(default_factory=ClassesWanted)
    drift: DriftWanted = DriftWanted()

    def __post_init__(self) -> None:
        if self.append and self.ids:
            raise UsageError("--append already keeps every column", "leave out --id or --append")

    @property
    def with_parts(self) -> bool:
        return self.explain or self.explain_top is not None


class Predicting(Protocol):
    """What is written of a batch."""

    def __call__(self, batch: Batch) -> tuple[Any, Sums, Unseen]: ...


@dataclass(frozen=True)
class PredictBatch:
    """The written rows of a batch, and what they add to the report."""

    model: Model
    writer: Writer
    bands: Bands
    limit: int  # bytes of a block of rows
    explained: ExplainedRows | None = None

    def __call__(self, batch: Batch) -> tuple[Any, Sums, Unseen]:
        X, y, unseen = self.model.encoding.for_predict(batch)
        predicted, parts = self._predicted(X)
        scale = self.model.target_scale
        assert isinstance(scale, TargetScale)
        sums = judged_sums(y, predicted, self.model.encoding.weights(batch), scale, self.bands)
        return self.writer.part([*self._values(predicted), *parts], batch), sums, unseen

    def _predicted(self, X: Array) -> tuple[Array, list[Any]]:
        """Predictions with their bands, and what explains them."""
        if self.explained is None:
            return self.model.predict_with(X, self.bands.times, self.limit), []
        y_hat, parts = self.explained(X)
        if not len(self.bands.times):
            return y_hat[:, None], list(parts)
        return np.column_stack([y_hat, self.model.predict_with(X, self.bands.times, self.limit)[:, 1:]]), list(parts)

    def _values(self, predicted: Array) -> list[Any]:
        """The values of each column of `added_columns`, in the same order."""
        return list(predicted.T)


@dataclass(frozen=True)
class Compared:
    """The same, and what tells whether the rows are like those of the fit."""

    work: Predicting
    drift: DriftRows

    def __call__(self, batch: Batch) -> tuple[Any, Sums, Unseen]:
        part, sums, unseen = self.work(batch)
        X, _, _ = self.drift.model.encoding.for_predict(batch)
        return part, Sums({**sums.values, **self.drift(X).values}), unseen


@dataclass(frozen=True)
class PredictValues:
    """The predictions of a batch, as they are."""

    model: Model
    bands: Bands

    def __call__(self, batch: Batch) -> Array:
        X, _, _ = self.model.encoding.for_predict(batch)
        return self.model.predict_with(X, self.bands.times)


def predict_table(model: Model, table: ArrowSource, engine: Engine, bands: Bands) -> Array:
    """(t, 1 + k) predictions of a table in memory, read as the model's was, and what `bands` adds to them."""
    model.network.require()
    opened = open_for_predict((table,), ReadOptions(), model.encoding)
    parts = list(engine.map(opened, PredictValues(model, bands), "predicting"))
    return np.concatenate(parts) if parts else np.zeros((0, 1 + len(bands.times)))


@dataclass(frozen=True)
class PredictParts:
    """The contributions of a batch, as they are: (t, columns of `names`)."""

    model: Model

    @property
    def parts(self) -> ExplainedRows | ExplainedClasses:
        return ExplainedRows.of(self.model) if self.model.classes is None else ExplainedClasses.of(self.model)

    @property
    def names(self) -> tuple[str, ...]:
        return (*(("prediction",) if self.model.classes is None else ()), *self.parts.names)

    def __call__(self, batch: Batch) -> Array:
        X, parts = self.model.encoding.for_predict(batch)[0], self.parts
        if isinstance(parts, ExplainedRows):
            y_hat, columns = parts(X)
            return np.column_stack([y_hat, *columns])
        return np.column_stack(parts(X, np.zeros(len(X), dtype=np.int64)))


def table_contributions(model: Model, table: ArrowSource, engine: Engine) -> tuple[tuple[str, ...], Array]:
    """Names and values (t, k) of what each column adds to the predictions of a table in memory."""
    model.network.require()
    function = PredictParts(model)
    opened = open_for_predict((table,), ReadOptions(), model.encoding)
    parts = list(engine.map(opened, function, "predicting"))
    return function.names, np.concatenate(parts) if parts else np.zeros((0, len(function.names)))


def predict(path: str, wanted: Wanted, engine: Engine) -> PredictReport | TargetsPredict:
    """Stream the table through the model: bounded memory, rows in their order, the file whole or not there."""
    timer = Stopwatch()
    loaded = load_models(path, wanted.read.anonymous)
    models = loaded if isinstance(loaded, TargetModels) else None
    model = loaded.models[0] if isinstance(loaded, TargetModels) else loaded
    model.network.require()
    if models is not None:
        models.require()
    refuse_other_task(model, bool(wanted.intervals or wanted.quantiles), wanted.classes)
    bands = bands_of(model, wanted.intervals, wanted.quantiles)
    each = () if models is None else targets_bands(models, wanted.intervals, wanted.quantiles)
    if engine.elsewhere:
        check_files(wanted.sources)
    limit = _share(wanted.memory, engine)
    read = _within(limit, wanted.read, len(model.encoding.columns))
    opened = open_for_predict(
        wanted.sources,
        read,
        model.encoding if models is None else models.encoding,
        wanted.ids,
        wanted.strict,
        wanted.append,
        with_target=True,
        typed=wanted.format.is_typed,
    )
    work: Predicting
    if models is not None:
        parted = targets_explained(models, wanted.explain_top) if wanted.with_parts else ()
        usual = targets_columns(models, each, parted)
    elif model.classes is None:
        explained = ExplainedRows.of(model, wanted.explain_top) if wanted.with_parts else None
        usual = added_columns(bands, explained)
    else:
        scored = ExplainedClasses.of(model, wanted.explain_top) if wanted.with_parts else None
        usual = class_columns(model, wanted.classes, scored)
    drift = wanted.drift.rows(model)
    added = _with_free_names(usual, opened.beside)
    writer = writer_of(wanted.format, opened.layout, opened.kept, added, opened.sources, wanted.digits)
    totals: list[tuple[Sums, Unseen]] = []
    if models is not None:
        work = PredictTargets(models, writer, each, limit, parted)
    elif model.classes is None:
        work = PredictBatch(model, writer, bands, limit, explained)
    else:
        work = PredictClasses(model, writer, wanted.classes, wanted.classes.width(model), limit, scored)
    work = work if drift is None else Compared(work, drift)

    def parts() -> Iterator[Any]:
        for part, sums, unseen in engine.map(opened, work, "predicting"):
            merged = (totals[0][0].merge(sums), totals[0][1].merge(unseen)) if totals else (sums, unseen)
            totals[:] = [merged]
            yield part

    with atomic_writer(wanted.output) as stream:
        writer.write(stream, parts())
    sums, unseen = totals[0] if totals else (None, Unseen())
    rows = 0 if sums is None else int(sums["rows"])
    drifted = None if sums is None or drift is None else drift_facts(drift, sums, rows, wanted.drift.threshold)
    notes = (*_renamed(usual, added), *unseen.notes(), *_drifted(drifted, wanted.drift))
    if model.classes is not None:
        return replace(class_report(model, wanted.classes, rows, sums, notes, timer.report()), drift=drifted)
    if models is not None:
        return targets_report(models, each, sums, notes, timer.report(), drifted)
    known = 0 if sums is None else int(sums["known"])
    weight = 0.0 if sums is None else float(sums["weight"])
    scale = model.target_scale
    assert isinstance(scale, TargetScale)
    return PredictReport(
        rows=rows,
        errors=None if sums is None or not known else errors_of(sums, scale.scale),
        intervals=() if sums is None else bands.interval_facts(sums, weight, scale),
        quantiles=() if sums is None else bands.quantile_facts(sums, weight),
        notes=notes,
        timings=timer.report(),
        drift=drifted,
    )


def _drifted(drift: DriftFacts | None, wanted: DriftWanted) -> tuple[str, ...]:
    """A note for each alarm; with a threshold they are an error instead."""
    alarms = () if drift is None or wanted.threshold is not None else drift.alarms
    return tuple(f"unlike the training table: {alarm}" for alarm in alarms)


def _share(memory: int | None, engine: Engine) -> int:
    """Bytes of one block: every thread has one of text, one of inputs, one of kernel values and one of output."""
    threads = int(getattr(engine, "workers", 1))
    return BLOCK_BYTES if memory is None else max(min(BLOCK_BYTES, memory // (4 * threads)), _LEAST)


def _within(limit: int, read: ReadOptions, columns: int) -> ReadOptions:
    """Batches that keep to the limit, too."""
    rows = max(1, limit // (8 * max(columns, 1)))
    return replace(read, block_bytes=min(read.block_bytes, limit), batch_rows=min(read.batch_rows, rows))


def added_columns(bands: Bands, explained: ExplainedRows | None) -> tuple[Added, ...]:
    """The columns that predictions are written to. To add one: here its name, in `PredictBatch._values` its values."""
    names = ("prediction", *bands.names)
    parts = () if explained is None else zip(explained.names, explained.are_texts, strict=True)
    return (*map(Added, names), *(Added(name, is_text) for name, is_text in parts))


def _with_free_names(added: Sequence[Added], taken: Sequence[str]) -> tuple[Added, ...]:
    """Unlike those of the table, and unlike each other: `effect_a_b_c` may be of column c and of column b_c."""
    named: list[Added] = []
    for one in added:
        named.append(replace(one, name=_free_name(one.name, (*taken, *(other.name for other in named)))))
    return tuple(named)


def _free_name(name: str, taken: Sequence[str]) -> str:
    """The name, or prediction_2, prediction_3 ... where the table has such a column already."""
    return next(one for one in chain([name], (f"{name}_{i}" for i in count(2))) if one not in taken)


def _renamed(usual: Sequence[Added], added: Sequence[Added]) -> tuple[str, ...]:
    """A note where the columns are not called as usual."""
    pairs = [(one.name, other.name) for one, other in zip(usual, added, strict=True) if one.name != other.name]
    twice = {one.name for k, one in enumerate(usual) if one.name in {other.name for other in usual[:k]}}
    return tuple(
        f"{'there is another' if name in twice else 'the table has a'} column {name!r}: ours is called {other!r}"
        for name, other in pairs
    )
