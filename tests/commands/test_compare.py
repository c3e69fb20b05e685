"""compare as a whole: the same rows, the same errors, phase 1 once a split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.commands import steps
from enrelm_cli.commands.compare import ComparePlan, compare
from enrelm_cli.commands.fit import fit
from enrelm_cli.commands.steps import split_rows
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.inputs.dataset import open_dataset
from enrelm_cli.inputs.split import Side
from enrelm_cli.report.reports import CompareReport
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

METHOD = MethodSettings(kernel=KernelSettings(tune_rows=100, tune_steps=20))


def settings(path: Path) -> DataSettings:
    return DataSettings((str(path),), Roles(target="y"), ReadOptions())


def compared(path: Path, *methods: str, protocol: str = "test", repeats: int = 2) -> CompareReport:
    plan = ComparePlan(methods, protocol, repeats, 0.25)
    elm = ElmSettings(realizations=3)
    return compare(settings(path), SplitSettings(), METHOD, EngineSettings(), elm, plan, LocalEngine(1))


def test_linear_regressions_error_is_that_of_numpy_on_the_same_rows(sample_data: Path) -> None:
    path = sample_data / "linear.csv"
    row = compared(path, "linear").rows[0]
    dataset = open_dataset(settings(path), EngineSettings(), LocalEngine(1))
    for seed, error in zip((1234, 1235), row.errors, strict=True):
        opened = split_rows(dataset, SplitSettings(seed=seed), 0.25)
        chunks = [chunk for piece in opened.dataset.rows.pieces for chunk in piece]
        X, y = (np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in ("X", "y"))
        test = np.concatenate([opened.split.sides(chunk) == Side.TEST for chunk in chunks])
        A = np.column_stack([X, np.ones(len(y))])
        b, *_ = np.linalg.lstsq(A[~test], y[~test], rcond=None)
        expected = np.linalg.norm(y[test] - A[test] @ b) / np.linalg.norm(y[test] - y[~test].mean())
        assert error == pytest.approx(expected, rel=1e-9)
    assert row.error == pytest.approx(np.mean(row.errors))
    assert row.error_std == pytest.approx(np.std(row.errors))


def test_phase_one_is_computed_once_for_each_start_of_a_split(
    sample_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    computed = steps.bases_of
    monkeypatch.setattr(steps, "bases_of", lambda *a: (asked.extend(one.start.name for one in a[0]), computed(*a))[1])
    compared(sample_data / "linear.csv", "approximate", "incremental", "kernel", repeats=1)
    assert sorted(asked) == ["PAPER", "TUNED"]


def test_the_papers_protocol_reports_the_minimum_of_the_held_out_curve(sample_data: Path) -> None:
    report = compared(sample_data / "linear.csv", "approximate", "incremental", "elm", protocol="paper")
    errors = {row.method: row.error for row in report.rows}
    for curve in report.curves:
        assert errors[curve.variant] == pytest.approx(curve.validation.min(), rel=1e-9)
    assert report.elm is not None
    assert errors["elm"] == pytest.approx(report.elm.mean.min(), rel=1e-9)
    assert report.sizes == {"train": 225, "validation": 75, "test": 0}


def test_every_method_alone_has_the_error_it_has_in_company(sample_data: Path) -> None:
    methods = ("approximate", "kernel", "elm", "linear")
    together = {row.method: row.errors for row in compared(sample_data / "network.csv", *methods).rows}
    for name in methods:
        assert compared(sample_data / "network.csv", name).rows[0].errors == pytest.approx(together[name], rel=1e-12)


def test_auto_keeps_the_variant_with_the_smallest_validation_error(sample_data: Path) -> None:
    data = settings(sample_data / "friedman.csv")
    report, model = fit(data, SplitSettings(), METHOD, EngineSettings(), "auto", LocalEngine(1))
    errors = {one.variant: one.validation_error for one in report.candidates}
    assert report.variant == min(errors, key=lambda name: errors[name]) == model.card.variant
    assert report.validation_error == errors[report.variant]
    assert model.network.size == report.neurons


def test_the_errors_of_a_fit_are_those_of_its_predictions(sample_data: Path) -> None:
    """Without a refit the model is the one whose errors are reported: it must make them on the same rows."""
    data = settings(sample_data / "linear.csv")
    method = MethodSettings(refit=False)
    report, model = fit(data, SplitSettings(), method, EngineSettings(), "approximate", LocalEngine(1))
    opened = split_rows(open_dataset(data, EngineSettings(), LocalEngine(1)), SplitSettings())
    chunks = [chunk for piece in opened.dataset.rows.pieces for chunk in piece]
    X, y = (np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in ("X", "y"))
    sides = np.concatenate([opened.split.sides(chunk) for chunk in chunks])
    mean = y[sides == Side.TRAIN].mean()
    for side, error in ((Side.TRAIN, report.train_error), (Side.VALIDATION, report.validation_error)):
        gap = y[sides == side] - model.predict(X[sides == side])
        assert error == pytest.approx(np.linalg.norm(gap) / np.linalg.norm(y[sides == side] - mean), rel=1e-9)
