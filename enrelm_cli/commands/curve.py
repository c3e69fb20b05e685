"""curve: the errors of every size, and the sizes that they offer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from enrelm_cli.commands.facts import (
    constant_note,
    data_facts,
    settings_facts,
)
from enrelm_cli.commands.steps import (
    elm_band,
    fit_variant,
    paper_limit,
)
from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.dataset import encode, open_dataset
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.training import training
from enrelm_cli.judge import baselines
from enrelm_cli.phase_one.phase_one import PhaseOne
from enrelm_cli.report.reports import CurveReport
from enrelm_cli.settings import DataSettings, ElmSettings, EngineSettings, MethodSettings, SplitSettings
from enrelm_cli.stopwatch import Stopwatch

if TYPE_CHECKING:
    pass


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
        dataset = open_dataset(data, where, engine)
        encoded = encode(dataset, split)
        split_data = training(encoded.rows, encoded.split)
    phase_one = PhaseOne(split_data, method, timer)
    curves = tuple(fit_variant(name, phase_one, method, timer).curve for name in variants)
    band = None
    if elm is not None:
        with timer("random ELM"):
            band = elm_band(split_data, elm, method.max_neurons or paper_limit(split_data))
    return CurveReport(
        data=data_facts(dataset, encoded, split_data),
        curves=curves,
        elm=band,
        linear_error=baselines.linear_error(split_data, Side.VALIDATION),
        training_rows=split_data.T,
        validation_rows=encoded.rows.total - split_data.T,
        timings=timer.report(),
        settings=settings_facts(data, split, method, where),
        notes=constant_note(split_data),
    )
