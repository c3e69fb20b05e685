"""fit: choose n on the validation rows, then refit to every row. Read this first.

files - table - encoding - split -> rows -> phase 1 -> variant -> curve -> choice of n -> refit -> Model -> artifact
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from enrelm_cli.commands import facts
from enrelm_cli.commands.choosing import Chosen, Selected, select, tie_note
from enrelm_cli.commands.classes.telling import class_facts, tell_classes, with_misses
from enrelm_cli.commands.explanation.learning import kept
from enrelm_cli.commands.steps import refit_everything
from enrelm_cli.commands.targets.choosing import dataset_of, select_targets
from enrelm_cli.commands.updating.update import check_updatable, for_updates, kept_of
from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.dataset import Dataset, open_dataset
from enrelm_cli.inputs.outcomes import outcomes
from enrelm_cli.inputs.targets.scale import SeveralScale
from enrelm_cli.inputs.training import Training
from enrelm_cli.judge.classes.fitting import refit_classes
from enrelm_cli.judge.classes.metrics import Metrics
from enrelm_cli.judge.doubts import warnings_of
from enrelm_cli.judge.fitting import FittedVariant, refit_variant, with_errors
from enrelm_cli.judge.intervals import intervals_of
from enrelm_cli.judge.relevance import shares
from enrelm_cli.judge.trust import copies_warning, time_warning
from enrelm_cli.model.explanation.contributions import reference_of
from enrelm_cli.model.model import Model
from enrelm_cli.model.network import Network
from enrelm_cli.model.targets.models import TargetModels
from enrelm_cli.phase_one.phase_one import Basis
from enrelm_cli.report.reports import Candidate, FitReport
from enrelm_cli.report.targets.reports import TargetsReport
from enrelm_cli.settings import DataSettings, EngineSettings, MethodSettings, SplitSettings
from enrelm_cli.stopwatch import Stopwatch


def fit(
    data: DataSettings,
    split: SplitSettings,
    method: MethodSettings,
    where: EngineSettings,
    variant: str,
    engine: Engine,
    updatable: bool = False,
) -> tuple[FitReport, Model] | tuple[TargetsReport, TargetModels]:
    """Choose n and variant on rows that validate, then refit on all rows (unless told not to).

    `updatable`: the model keeps sums of its rows, from which its weights are made.
    """
    timer = Stopwatch()
    if updatable:
        check_updatable(data.roles, data.held, split)
    with timer("reading"):
        dataset = open_dataset(data, where, engine)
    names: tuple[str, ...] = () if variant == "auto" else (variant,)
    if updatable:
        names, split = for_updates(names, split, dataset)
    said = facts.settings_facts(data, dataset.roles, split, method, where)
    if dataset.rows.also:
        return _fit_targets(dataset, split, method, names, said, timer, updatable)
    selected = select(dataset, split, method, names, timer)
    report, model, winner = _finished(dataset, selected, method, said, timer)
    (model,) = _explained((model,), dataset, (report,), timer)
    if updatable:
        with timer("sums to keep"):
            (made,), whole = kept_of((model,), winner.variant, winner.basis, method, dataset, engine)
        assert isinstance(whole, Model)
        report, model = made.reported(report), whole
    return replace(report, timings=timer.report()), model


def _fit_targets(
    dataset: Dataset,
    split: SplitSettings,
    method: MethodSettings,
    variants: tuple[str, ...],
    said: dict[str, Any],
    timer: Stopwatch,
    updatable: bool,
) -> tuple[TargetsReport, TargetModels]:
    """Several targets: phase 1 of all together, then each as if it were alone."""
    selected = select_targets(dataset, split, method, variants, timer)
    with timer("refit"):
        finals = selected.refitted(method) or [one.winner.fitted.basis for one in selected.each]
    parts = [
        _finished(dataset_of(dataset, k), one, method, said, timer, final)
        for k, (one, final) in enumerate(zip(selected.each, finals, strict=True))
    ]
    reports = [report for report, _, _ in parts]
    models = _explained(TargetModels.sharing([model for _, model, _ in parts]).models, dataset, reports, timer)
    whole = TargetModels(models)
    if updatable:
        variant, engine = parts[0][2].variant, dataset.rows.engine
        with timer("sums to keep"):
            made, kept_whole = kept_of(models, variant, selected.basis, method, dataset, engine)
        assert isinstance(kept_whole, TargetModels)
        reports, whole = [own.reported(report) for own, report in zip(made, reports, strict=True)], kept_whole
    return TargetsReport(tuple(reports), timer.report()), whole


def _finished(
    dataset: Dataset,
    selected: Selected,
    method: MethodSettings,
    said: dict[str, Any],
    timer: Stopwatch,
    final: Basis | None = None,
) -> tuple[FitReport, Model, FittedVariant]:
    """The model of one target, what is said of it, and what chose its size. `final`: phase 1 of the refit, if known."""
    fitted = [one.fitted for one in selected.variants]
    told = tell_classes(fitted, method, timer)
    best = told.best if told else selected.variants.index(selected.winner)
    winner = fitted[best]
    winner.network.forget()  # it was judged: the next model needs the memory
    with timer("refit"):
        if final is None:
            final = refit_everything(winner.basis, method, selected.opened) if method.refit else winner.basis
        chosen = None if told is None else refit_classes(winner, told.fits[best], final, method)
        network = refit_variant(winner, final, method) if chosen is None else chosen.network
    if chosen is None:
        final = with_errors(winner.variant, final, network)
        left_out = winner.variant.left_out(final, network)
        with timer("intervals"):
            found = intervals_of(winner, final, network, left_out)
        left_out, weight = facts.own_errors(final.data, left_out)
    else:
        found, left_out, weight = None, np.zeros(0), None
    report = FitReport(
        data=facts.data_facts(selected.opened, winner.basis.data),
        variant=winner.variant.name,
        neurons=network.size,
        chosen_neurons=winner.chosen.neurons,
        selection=winner.selection,
        choices=winner.curve.choices,
        train_error=winner.train_error,
        validation_error=winner.chosen.error,
        linear_error=selected.linear_error,
        training_rows=selected.training_rows,
        validation_rows=selected.validation_rows,
        refit=method.refit,
        candidates=tuple(
            _candidate(one, told.validation[k] if told else None) for k, one in enumerate(selected.variants)
        ),
        stop=winner.network.stop,
        facts=facts.network_facts(network, final, left_out, weight),
        relevance=_relevance(network, final.data),
        timings={},
        model=None,
        settings=said,
        curve=winner.curve,
        columns=outcomes(dataset.encoding, final.data.view.input_map),
        notes=(
            *facts.fit_notes(final, method, winner.chosen.neurons),
            *facts.class_notes(selected.opened),
            *(facts.two_values_note(dataset.rows) + tie_note(selected) if told is None else ()),
        ),
        intervals={} if found is None else found.facts(),
        metrics=selected.winner.metrics,
        linear_metrics=selected.linear,
        folds=selected.folds,
        warnings=(
            *warnings_of(dataset.rows, selected.winner.metrics),
            *time_warning(dataset.rows),
            *copies_warning(fitted),
        ),
        classes=None if told is None or chosen is None else class_facts(dataset.rows, told, chosen),
        sample=dataset.rows.sample,
    )
    view, card = final.data.view, facts.card_of(report)
    assert not isinstance(view.target_scale, SeveralScale)
    model = Model(dataset.encoding, view.input_map, view.target_scale, network, card)
    if chosen is not None:
        model = replace(model, calibration=with_misses(chosen, dataset.encoding))
    if found is not None:
        model = replace(model, intervals=found.intervals)
    return report, model, winner


def _explained(
    models: Sequence[Model], dataset: Dataset, reports: Sequence[FitReport], timer: Stopwatch
) -> tuple[Model, ...]:
    """With what their pages show and what later tables are compared with. Of several targets they share features."""
    X, explained = dataset.rows.sample.X, []
    for model, report in zip(models, reports, strict=True):
        with timer("explanation"):
            told = replace(model, reference=reference_of(model, X))
            told = replace(told, learnt=kept(told, X, report.curve))
        with timer("profile"):
            explained.append(told.profiled(X))
    return tuple(explained)


def _candidate(one: Chosen, judged: Metrics | None) -> Candidate:
    """`judged`: of classes."""
    fitted, chosen = one.fitted, one.fitted.chosen
    errors = fitted.train_error, chosen.error
    found = Candidate(fitted.variant.name, chosen.neurons, *errors, one.seconds, fitted.curve.only_size)
    found = replace(found, metrics=one.metrics, as_good=one.as_good, selection=fitted.selection)
    return found if judged is None else replace(found, accuracy=judged.accuracy, log_loss=judged.log_loss)


def _relevance(network: Network, data: Training) -> tuple[tuple[str, float], ...]:
    names = [column.name for column in data.rows.columns]
    sample = data.sample()
    return shares(network, sample.X, data.view.input_map.groups, names, sample.weight)
