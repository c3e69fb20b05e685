"""curve: the errors of every size, and the sizes that they offer."""

from __future__ import annotations

from collections.abc import Iterable

from enrelm_cli.commands.facts import constant_note, data_facts, settings_facts
from enrelm_cli.commands.steps import fit_variants, open_rows, phase_one
from enrelm_cli.fold.folds import Engine
from enrelm_cli.judge.baselines import elm_band
from enrelm_cli.judge.trust import time_warning
from enrelm_cli.report.reports import CurveReport
from enrelm_cli.settings import DataSettings, ElmSettings, EngineSettings, MethodSettings, SplitSettings
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.variants import named


def curve(
    data: DataSettings,
    split: SplitSettings,
    method: MethodSettings,
    where: EngineSettings,
    variants: Iterable[str],
    elm: ElmSettings | None,
    engine: Engine,
) -> CurveReport:
    """The errors of every size, and the three choices that they offer."""
    timer = Stopwatch()
    with timer("reading"):
        opened = open_rows(data, split, where, engine)
    chosen = [named(name) for name in variants]
    # All of them are those that are for such a target; one alone says itself what it is not for.
    chosen = [one for one in chosen if one.predicts(opened.data)] or chosen
    phase = phase_one(opened.data, method, [one.start for one in chosen], timer)
    curves = tuple(one.curve for one, _ in fit_variants(chosen, phase.starts, method, timer))
    band = None
    if elm is not None:
        with timer("random ELM"):
            band = elm_band(opened.data, elm, method.max_neurons)
    return CurveReport(
        data=data_facts(opened),
        curves=curves,
        elm=band,
        linear_error=phase.linear_error(opened.data),
        training_rows=opened.data.T,
        validation_rows=opened.validation_rows,
        timings=timer.report(),
        settings=settings_facts(data, opened.dataset.roles, split, method, where),
        notes=(*constant_note(opened.data), *time_warning(opened.data.rows)),
    )
