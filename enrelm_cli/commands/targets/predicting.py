"""predict, of a model of several targets: the columns of each, called as usual with the target's name in them.

`prediction_a`, `lower_a`, `upper_a`; with --explain also `average_a`, and `effect_a_x` of column x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enrelm_cli.commands.beside.bands import Bands, bands_of
from enrelm_cli.commands.beside.judging import errors_of, judged_sums
from enrelm_cli.fold.folds import Engine, Sums
from enrelm_cli.inputs.encoding import Unseen
from enrelm_cli.inputs.predicting import open_for_predict
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.model.explanation.columns import ExplainedRows
from enrelm_cli.model.targets.models import TargetModels
from enrelm_cli.report.beside import DriftFacts, PredictReport
from enrelm_cli.report.targets.reports import TargetsPredict
from enrelm_cli.table.memory import ArrowSource
from enrelm_cli.table.output.writer import Added, Writer
from enrelm_cli.table.table import Batch, ReadOptions
from enrelm_cli.types import Array


@dataclass(frozen=True)
class PredictTargets:
    """The written rows of a batch, and what they add to the report."""

    models: TargetModels
    writer: Writer
    bands: tuple[Bands, ...]  # of each target
    limit: int  # bytes of a block of rows
    explained: tuple[ExplainedRows, ...] = ()  # of each target, or none

    def __call__(self, batch: Batch) -> tuple[Any, Sums, Unseen]:
        first = self.models.models[0].encoding
        X, _, unseen = first.for_predict(batch)
        weight = first.weights(batch)
        predicted = self.models.predict_with(X, [one.times for one in self.bands], self.limit)
        parts: list[list[Any]] = [[] for _ in predicted]
        for k, explain in enumerate(self.explained):
            # Of the same sum that the effects are parts of.
            predicted[k][:, 0], own_parts = explain(X)
            parts[k] = list(own_parts)
        sums: dict[str, Any] = {"rows": len(X)}
        for k, (model, bands) in enumerate(zip(self.models.models, self.bands, strict=True)):
            scale = model.target_scale
            assert isinstance(scale, TargetScale)
            own = judged_sums(model.encoding.known_target(batch), predicted[k], weight, scale, bands)
            sums |= {f"{k} {name}": value for name, value in own.values.items()}
        columns = [column for one, more in zip(predicted, parts, strict=True) for column in (*one.T, *more)]
        return self.writer.part(columns, batch), Sums(sums), unseen


@dataclass(frozen=True)
class PredictTargetValues:
    """The predictions of a batch, as they are."""

    models: TargetModels
    times: tuple[Array, ...]

    def __call__(self, batch: Batch) -> list[Array]:
        X, _, _ = self.models.models[0].encoding.for_predict(batch)
        return self.models.predict_with(X, self.times)


def predict_targets_table(
    models: TargetModels, table: ArrowSource, engine: Engine, times: Sequence[Array]
) -> list[Array]:
    """(t, 1 + k) of each target, of a table in memory."""
    models.require()
    opened = open_for_predict((table,), ReadOptions(), models.encoding)
    parts = list(engine.map(opened, PredictTargetValues(models, tuple(times)), "predicting"))
    if not parts:
        return [np.zeros((0, 1 + len(one))) for one in times]
    return [np.concatenate([part[k] for part in parts]) for k in range(len(times))]


def targets_explained(models: TargetModels, top: int | None) -> tuple[ExplainedRows, ...]:
    return tuple(ExplainedRows.of(one, top) for one in models.models)


def targets_bands(models: TargetModels, levels: Sequence[float], shares: Sequence[float]) -> tuple[Bands, ...]:
    return tuple(bands_of(one, levels, shares) for one in models.models)


def targets_columns(
    models: TargetModels, bands: Sequence[Bands], explained: Sequence[ExplainedRows]
) -> tuple[Added, ...]:
    """`prediction_a`, `lower_a`, `upper_a`, `average_a`, `effect_a_x`, ..., `prediction_b`, ..."""
    added: list[Added] = []
    for k, (target, one) in enumerate(zip(models.targets, bands, strict=True)):
        added += [Added(f"{name}_{target}") for name in ("prediction", *one.names)]
        if explained:
            pairs = zip(explained[k].names, explained[k].are_texts, strict=True)
            added += [Added(_of_target(name, target), is_text) for name, is_text in pairs]
    return tuple(added)


def _of_target(name: str, target: str) -> str:
    """`effect_x` of target a is `effect_a_x`."""
    what, _, of = name.partition("_")
    return f"{what}_{target}_{of}" if of else f"{what}_{target}"


def targets_report(
    models: TargetModels,
    bands: Sequence[Bands],
    sums: Sums | None,
    notes: tuple[str, ...],
    timings: dict[str, float],
    drift: DriftFacts | None,
) -> TargetsPredict:
    rows = 0 if sums is None else int(sums["rows"])
    reports = []
    for k, (model, one) in enumerate(zip(models.models, bands, strict=True)):
        report = PredictReport(rows, None, (), {})
        if sums is not None:
            own = Sums({name.partition(" ")[2]: v for name, v in sums.values.items() if name.startswith(f"{k} ")})
            scale, weight = model.target_scale, float(own["weight"])
            assert isinstance(scale, TargetScale)
            report = replace(
                report,
                errors=errors_of(own, scale.scale) if int(own["known"]) else None,
                intervals=one.interval_facts(own, weight, scale),
                quantiles=one.quantile_facts(own, weight),
            )
        reports.append(report)
    return TargetsPredict(models.targets, tuple(reports), rows, notes, timings, drift)
