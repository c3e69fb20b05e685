"""curve: the errors of every size, and the sizes that they offer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from enrelm_cli.commands.choosing import Selected, select
from enrelm_cli.commands.classes.telling import tell_classes
from enrelm_cli.commands.facts import constant_note, data_facts, settings_facts
from enrelm_cli.commands.targets.choosing import dataset_of, select_targets
from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.dataset import Dataset, open_dataset
from enrelm_cli.judge.baselines import elm_band_over
from enrelm_cli.judge.classes.sizes import class_curve
from enrelm_cli.judge.doubts import warnings_of
from enrelm_cli.judge.trust import time_warning
from enrelm_cli.report.reports import CurveReport
from enrelm_cli.report.targets.reports import TargetsCurve
from enrelm_cli.settings import DataSettings, ElmSettings, EngineSettings, MethodSettings, SplitSettings
from enrelm_cli.stopwatch import Stopwatch


def curve(
    data: DataSettings,
    split: SplitSettings,
    method: MethodSettings,
    where: EngineSettings,
    variants: Iterable[str],
    elm: ElmSettings | None,
    engine: Engine,
    one_target: str | None = None,
) -> CurveReport | TargetsCurve:
    """The errors of every size, and the three choices that they offer. `one_target`: why several are refused."""
    timer = Stopwatch()
    with timer("reading"):
        dataset = open_dataset(data, where, engine, one_target)
    said = settings_facts(data, dataset.roles, split, method, where)
    if not dataset.rows.also:
        selected = select(dataset, split, method, tuple(variants), timer)
        return _report(dataset, selected, elm, method, said, timer)
    each = select_targets(dataset, split, method, tuple(variants), timer).each
    reports = [_report(dataset_of(dataset, k), one, elm, method, said, timer) for k, one in enumerate(each)]
    return TargetsCurve(tuple(reports), timer.report())


def _report(
    dataset: Dataset,
    selected: Selected,
    elm: ElmSettings | None,
    method: MethodSettings,
    said: dict[str, Any],
    timer: Stopwatch,
) -> CurveReport:
    """Of one target."""
    fitted = [one.fitted for one in selected.variants]
    told, classes = tell_classes(fitted, method, timer), {}
    winner = selected.winner.fitted if told is None else fitted[told.best]
    if told is not None:
        with timer("error curves"):
            classes = {one.variant.name: class_curve(one) for one in fitted}
    band = None
    if elm is not None:
        with timer("random ELM"):
            band = elm_band_over([one.data for one in selected.opened_folds], elm, method.max_neurons)
    return CurveReport(
        data=data_facts(selected.opened),
        curves=tuple(one.fitted.curve for one in selected.variants),
        elm=band,
        linear_error=selected.linear_error,
        training_rows=selected.training_rows,
        validation_rows=selected.validation_rows,
        timings=timer.report(),
        settings=said,
        notes=(*constant_note(selected.opened.data), *time_warning(dataset.rows)),
        chosen=winner.variant.name,
        metrics={one.fitted.variant.name: one.metrics for one in selected.variants if one.metrics is not None},
        linear_metrics=selected.linear,
        folds=selected.folds,
        warnings=warnings_of(dataset.rows, selected.winner.metrics),
        classes=classes,
    )
