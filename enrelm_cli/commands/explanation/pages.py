"""What the pages of `fit --report` and `info --report` show beside their reports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from enrelm_cli.commands.explanation.explain import ExplainSettings, explained, learnt_report
from enrelm_cli.commands.explanation.summaries import fitted_data, summaries
from enrelm_cli.commands.info import info, info_of
from enrelm_cli.commands.saved import load_models
from enrelm_cli.judge.curve import Choice, Choices, Curve
from enrelm_cli.judge.explanation.gather import gathered
from enrelm_cli.model.model import Model
from enrelm_cli.model.targets.models import AnyModel, each_of
from enrelm_cli.report.explain_report import ModelPage, TargetPages
from enrelm_cli.report.reports import FitReport
from enrelm_cli.report.targets.reports import TargetsInfo, TargetsReport
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.types import Array


def fit_page(report: FitReport | TargetsReport, model: AnyModel) -> ModelPage | TargetPages:
    """Of one target, or of each of several."""
    if isinstance(report, FitReport):
        return _fit_page(report, each_of(model)[0])
    # The file holds all of them.
    named = [replace(one, model=report.model) for one in report.reports]
    pages = (_fit_page(one, own) for one, own in zip(named, each_of(model), strict=True))
    return TargetPages(report, tuple(pages))


def _fit_page(report: FitReport, model: Model) -> ModelPage:
    """Effects and residuals of the table's own sample."""
    sample, learnt = report.sample, model.learnt
    if sample is None or learnt is None:
        return ModelPage(report, summaries(model), None, (), report.data, report.curve)
    wanted, path = ExplainSettings(worst=0), report.model or "model.joblib"
    # Coverage of the rows that a model was fitted to says nothing: widths do.
    rows = gathered(model, sample.X, sample.y)
    found = explained(model, rows, learnt, wanted, path, report.data.name, (), Stopwatch())
    return ModelPage(report, summaries(model), found, _widths(model), report.data, report.curve)


def info_page(path: str) -> ModelPage | TargetPages:
    """Of a saved model alone: it keeps no row, but what it had learnt from them."""
    model, report = load_models(path), info(path)
    pages = tuple(_info_page(one, path) for one in each_of(model))
    return TargetPages(report, pages) if isinstance(report, TargetsInfo) else pages[0]


def _info_page(model: Model, path: str) -> ModelPage:
    report, data = info_of(model, path), fitted_data(model)
    if model.learnt is None:
        return ModelPage(report, summaries(model), None, (), data)
    found = learnt_report(model, model.learnt, path, data.name)
    return ModelPage(report, summaries(model), found, _widths(model), data, kept_curve(model, model.learnt.curve))


def kept_curve(model: Model, errors: Array) -> Curve | None:
    """From the sizes that a model keeps, (s, 3)."""
    if not len(errors):
        return None
    sizes, train, validation = errors.T
    every = np.arange(1.0, sizes[-1] + 1.0)
    least = int(np.argmin(validation))
    best = Choice(int(sizes[least]), float(validation[least]))
    train, validation = (np.interp(every, sizes, one) for one in (train, validation))
    return Curve(model.card.variant, train, validation, Choices(best, None, best), None, False, len(every))


def _widths(model: Model) -> tuple[tuple[float, float], ...]:
    return () if model.learnt is None else tuple((float(level), float(width)) for level, width in model.learnt.widths)
