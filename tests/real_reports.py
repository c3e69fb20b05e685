"""Reports that the program really produced, on the sample tables. Only clocks, paths and versions are set by hand."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from enrelm_cli.commands import check, compare, curve, fit, info, predict, saved
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.report.beside import PredictReport
from enrelm_cli.report.reports import CheckReport, CompareReport, CurveReport, FitReport, InfoReport
from enrelm_cli.settings import (
    DataSettings,
    ElmSettings,
    EngineSettings,
    KernelSettings,
    MethodSettings,
    ReadOptions,
    Roles,
    SplitSettings,
)

FOLDER = Path(__file__).parents[1] / "sample_data"
ELM = ElmSettings(realizations=3)
# Untuned: what the tuning finds may change from version to version, what is said of it may not.
METHOD = MethodSettings(kernel=KernelSettings(tune=False))
SPLIT, WHERE = SplitSettings(), EngineSettings(threads=1)
THREE = ("approximate", "incremental", "kernel")


def data(name: str, target: str, **roles: Any) -> DataSettings:
    return DataSettings((str(FOLDER / name),), Roles(target, **roles))


HOUSES = data("houses.csv", "price", drop=("house_id",))
FRIEDMAN = data("friedman.csv", "y")


def engine() -> LocalEngine:
    return LocalEngine(1)


def timeless(report: Any) -> Any:
    """The report with a clock of its own and without the folder that it lies in."""
    clock = {name: 0.25 * k for k, name in enumerate(report.timings, 1)}
    return replace(report, timings=clock, data=replace(report.data, name=Path(report.data.name).name))


@cache
def fitted() -> tuple[FitReport, Any]:
    report, model = fit.fit(HOUSES, SPLIT, METHOD, WHERE, "auto", engine())
    candidates = tuple(replace(one, seconds=0.5 * k) for k, one in enumerate(report.candidates, 1))
    return replace(timeless(report), candidates=candidates, model="model.joblib"), model


def fit_report() -> FitReport:
    return fitted()[0]


@cache
def curve_report(*variants: str, with_elm: bool = False) -> CurveReport:
    elm = ELM if with_elm else None
    report: CurveReport = timeless(curve.curve(FRIEDMAN, SPLIT, METHOD, WHERE, variants, elm, engine()))
    return report


@cache
def compare_report(protocol: str, repeats: int) -> CompareReport:
    plan = compare.ComparePlan((*THREE, "elm", "linear"), protocol, repeats, 0.25)
    report = timeless(compare.compare(FRIEDMAN, SPLIT, METHOD, WHERE, ELM, plan, engine()))
    rows = tuple(replace(row, fit_seconds=0.5 * k, predict_seconds=0.003 * k) for k, row in enumerate(report.rows, 1))
    told: CompareReport = replace(
        report,
        rows=rows,
        fit_command="enrelm fit friedman.csv -t y --variant kernel -o model.joblib",
    )
    return told


@cache
def saved_reports() -> tuple[PredictReport, InfoReport]:
    report, model = fitted()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.joblib")
        saved.save(report, model, path)
        wanted = predict.Wanted(
            (str(FOLDER / "houses.csv"),), f"{folder}/out.csv", (), False, (0.9,), (0.1,), False, ReadOptions()
        )
        predicted = predict.predict(path, wanted, engine())
        described = info.info(path)
    described = replace(
        described,
        path="model.joblib",
        bytes=98_765,
        written="2026-05-04 12:00",
        versions={"enrelm": "0.1.0", "numpy": "2.4.0"},
    )
    return replace(predicted, timings={"total": 1.25}), described


@cache
def check_report() -> CheckReport:
    report = check.check(data("houses.csv", "price"), WHERE, engine())
    return replace(report, name="houses.csv", next_command="enrelm fit houses.csv --target price -o model.joblib")


REPORTS = {
    "fit": fit_report,
    "curve": lambda: curve_report("kernel"),
    "curves": lambda: curve_report(*THREE, with_elm=True),
    "compare": lambda: compare_report("test", 2),
    "compare-paper": lambda: compare_report("paper", 1),
    "predict": lambda: saved_reports()[0],
    "info": lambda: saved_reports()[1],
    "check": check_report,
}
