"""Reports made by hand, for the tests of everything that draws them."""

from __future__ import annotations

import numpy as np

from enrelm_cli.inputs.outcomes import Outcome
from enrelm_cli.judge.curve import Choice, Choices, choices
from enrelm_cli.report.beside import Errors, IntervalFacts, PredictReport
from enrelm_cli.report.reports import (
    Candidate,
    CompareReport,
    CompareRow,
    Curve,
    CurveReport,
    DataFacts,
    ElmBand,
    FitReport,
    InfoReport,
)
from enrelm_cli.types import Array

DATA = DataFacts(
    name="cal_housing.csv",
    rows=20_640,
    columns=9,
    inputs=(*(f"x{k}" for k in range(8)), "near=bay", "near=inland"),
    target="median_house_value",
    hash="3f1a",
    notes=("207 missing cells of total_bedrooms were filled with the median, 435", "id was dropped: it is constant"),
)

SETTINGS = {
    "split": {"kind": "hash", "validation_size": 0.25, "seed": 1234},
    "method": {"select": "best", "neurons": None, "tolerance": 1e-5, "refit": True},
}


def falling(n: int, start: float, floor: float, pace: float, rise: float = 0.0) -> Array:
    """A curve that falls from start to floor, and may rise again."""
    at = np.arange(n, dtype=np.float64)
    return floor + (start - floor) * np.exp(-at / pace) + rise * at / n


def curve(variant: str, n: int, start: float, floor: float, pace: float, stop: str | None = None) -> Curve:
    validation = falling(n, start, floor, pace, rise=0.03)
    train = falling(n, start * 0.98, floor * 0.9, pace)
    return Curve(variant, train, validation, choices(validation), stop, stop is not None, 400)


KERNEL = curve("kernel", 300, 0.96, 0.4421, 14.0)
APPROXIMATE = curve("approximate", 300, 0.97, 0.6021, 3.0)
INCREMENTAL = curve("incremental", 9, 0.9, 0.61, 1.5, "a step improved the error by less than the tolerance")


def elm_band(n: int = 200) -> ElmBand:
    mean = falling(n, 1.02, 0.55, 30.0, rise=0.1)
    return ElmBand(mean, mean * 0.03, mean * 0.93, mean * 1.09 + 0.02, mean * 0.9, mean * 0.85, mean * 0.97, 20)


def fit_report(**changes: object) -> FitReport:
    facts: dict[str, object] = {
        "data": DATA,
        "variant": "kernel",
        "neurons": 187,
        "chosen_neurons": 187,
        "selection": "best",
        "choices": Choices(Choice(187, 0.459), Choice(31, 0.4822), Choice(102, 0.4631)),
        "train_error": 0.41234,
        "validation_error": 0.459,
        "linear_error": 0.6079,
        "training_rows": 15_480,
        "validation_rows": 5_160,
        "refit": True,
        "candidates": (
            Candidate("kernel", 187, 0.41234, 0.459, 3.2),
            Candidate("approximate", 12, 0.601, 0.608, 0.31),
            Candidate("incremental", 7, 0.6093, 0.616, 0.0123),
        ),
        "stop": None,
        "facts": {"alpha": 0.0123456, "leave_one_out_error": 0.4471, "landmarks": 1000.0, "depth": 1.0},
        "relevance": tuple((f"input_{k:02d}", 2.0 ** -(k + 1)) for k in range(14)),
        "timings": {"reading": 0.123, "tuning": 2.1, "hidden layer": 0.0004, "refit": 75.0, "total": 77.3},
        "model": "house model.joblib",
        "settings": SETTINGS,
        "notes": ("1,000 of 15,480 rows are landmarks",),
    }
    return FitReport(**{**facts, **changes})  # type: ignore[arg-type]


def curve_report(*curves: Curve, elm: ElmBand | None = None) -> CurveReport:
    return CurveReport(
        data=DATA,
        curves=curves or (KERNEL,),
        elm=elm,
        linear_error=0.6079,
        training_rows=15_480,
        validation_rows=5_160,
        timings={"reading": 0.1, "fitting": 3.0, "total": 3.1},
        settings=SETTINGS,
        notes=(),
    )


def compare_report(name: str = "cal_housing.csv", protocol: str = "test", repeats: int = 5) -> CompareReport:
    spread = repeats > 1
    rows = (
        CompareRow("kernel", 181.4, 0.4612, 0.0051 if spread else None, 3.412, 0.0412),
        CompareRow("hist-gradient-boosting", None, 0.4699, 0.0049 if spread else None, 1.2, 0.03),
        CompareRow("elm", 96.0, 0.5731, 0.0112, 12.1, 0.0071),
        CompareRow("linear", None, 0.6079, 0.0044 if spread else None, 0.0021, 0.00004),
        CompareRow("approximate", 12.2, 0.6081, 0.0046 if spread else None, 0.31, 0.0061),
        CompareRow("incremental", 7.0, 0.6163, 0.0051 if spread else None, 0.0123, 0.0011),
    )
    return CompareReport(
        data=DataFacts(name, 20_640, 8, tuple(f"x{k}" for k in range(8)), "median_house_value", "3f1a"),
        protocol=protocol,
        rows=rows,
        repeats=repeats,
        seeds=tuple(range(1234, 1234 + repeats)),
        curves=(APPROXIMATE, INCREMENTAL, KERNEL),
        elm=elm_band(),
        sizes={"training": 11_610, "validation": 3_870, "test": 5_160}
        if protocol == "test"
        else {"training": 15_480, "validation": 5_160, "test": 0},
        timings={"reading": 0.1, "total": 88.0},
        settings=SETTINGS,
        threads=2,
    )


PREDICT = PredictReport(
    rows=1_000_000,
    errors=Errors(1_000_000, 0.4712, 53_123.4, 36_001.2, 0.778),
    notes=("near: 3 rows have a level unseen at fit: 'island'",),
    timings={"predicting": 1.25},
    intervals=(IntervalFacts(0.9, 0.9012, 172_000.0),),
)

INFO = InfoReport(
    path="house.joblib",
    variant="kernel",
    neurons=187,
    target="median_house_value",
    inputs=DATA.inputs,
    columns=(
        Outcome("median_income", "number", 2, "missing cells: 3.5"),
        Outcome("near", "text", 2, "2 levels: bay, inland"),
        Outcome("[red]x[/red]", "number", 1, ""),
    ),
    train_error=0.41234,
    validation_error=0.459,
    linear_error=0.6079,
    facts={"alpha": 0.0123456, "landmarks": 1000.0},
    relevance=(("median_income", 0.75), ("near=bay", 0.25)),
    settings={**SETTINGS, "threads": 2},
    versions={"enrelm": "0.1.0", "numpy": "2.4.0"},
    data={"name": "cal_housing.csv", "rows": 20_640, "hash": "3f1a"},
    written="2026-05-04 12:00",
    bytes=1_234_567,
)
