"""What the pages of `fit --report` and `info --report` show beside their reports."""

from __future__ import annotations

import numpy as np

from enrelm_cli.commands.explanation.explain import ExplainSettings, explained
from enrelm_cli.commands.explanation.summaries import fitted_data, summaries
from enrelm_cli.commands.info import info_of
from enrelm_cli.commands.saved import load_model
from enrelm_cli.fold.folds import Chunk
from enrelm_cli.judge.explanation.gather import gathered, interval_ends
from enrelm_cli.model.model import Model
from enrelm_cli.report.explain_report import ModelPage
from enrelm_cli.report.reports import FitReport
from enrelm_cli.stopwatch import Stopwatch


def fit_page(report: FitReport, model: Model) -> ModelPage:
    """Effects and residuals of the table's own sample."""
    sample = report.sample
    if sample is None or model.classes is not None:
        return ModelPage(report, summaries(model), None, (), report.data)
    wanted, path = ExplainSettings(worst=0), report.model or "model.joblib"
    # Coverage of the rows that a model was fitted to says nothing: widths do.
    found = explained(model, gathered(model, sample.X, sample.y), wanted, path, report.data.name, (), Stopwatch())
    return ModelPage(report, summaries(model), found, _widths(model, sample), report.data)


def info_page(path: str) -> ModelPage:
    """Of a saved model alone: it keeps no row, so it has no effects to show."""
    model = load_model(path, "a page shows one")
    return ModelPage(info_of(model, path), summaries(model), None, (), fitted_data(model))


def _widths(model: Model, sample: Chunk) -> tuple[tuple[float, float], ...]:
    ends = interval_ends(model)
    if not ends:
        return ()
    places = model.predict_with(sample.X[:1000], np.array(list(ends.values())).ravel())
    widths = places[:, 2::2] - places[:, 1::2]
    return tuple(zip(ends, widths.mean(axis=0).tolist(), strict=True))
