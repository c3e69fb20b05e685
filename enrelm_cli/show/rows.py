"""Reports for programs: JSON documents and rows of CSV, numbers in full."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from enrelm_cli.judge.metrics import Metrics
    from enrelm_cli.report.reports import CheckReport, CurveReport
    from enrelm_cli.report.views import Report


def as_json(document: Any, ascii_only: bool) -> str:
    text = json.dumps(finite(document), indent=2, allow_nan=False, ensure_ascii=ascii_only)
    # A file name that is not UTF-8 reaches us with lone surrogates, which only JSON's own escapes can carry.
    return (
        json.dumps(finite(document), indent=2, allow_nan=False) if re.search("[\ud800-\udfff]", text) else text
    ) + "\n"


def finite(value: Any) -> Any:
    """JSON knows neither NaN nor infinity nor numpy's numbers."""
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if hasattr(value, "tolist"):
        return finite(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def as_csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _plain(value) for name, value in row.items()})
    return out.getvalue()


def _plain(value: Any) -> Any:
    value = finite(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else value


def rows_of(report: Report) -> list[dict[str, Any]]:
    """The rows of the CSV: numbers in full, absent ones empty."""
    from enrelm_cli.report.beside import PredictReport
    from enrelm_cli.report.explain_report import ExplainReport, csv_rows
    from enrelm_cli.report.glossary import GlossaryReport
    from enrelm_cli.report.reports import CheckReport, CompareReport, CurveReport, FitReport
    from enrelm_cli.report.targets.reports import TargetsCurve, TargetsInfo, TargetsPredict, TargetsReport
    from enrelm_cli.report.targets.updates import TargetsUpdate
    from enrelm_cli.report.updating.update_report import UpdateReport

    if isinstance(report, TargetsReport | TargetsCurve | TargetsPredict | TargetsInfo | TargetsUpdate):
        reports: Sequence[Report] = report.reports
        pairs = zip(report.targets, reports, strict=True)
        return [{"target": name, **row} for name, one in pairs for row in rows_of(one)]
    if isinstance(report, FitReport):
        knee = report.choices.knee
        return [
            {
                "data": report.data.name,
                "target": report.data.target,
                "variant": report.variant,
                "neurons": report.neurons,
                "selection": report.selection,
                "train_error": report.train_error,
                "validation_error": report.validation_error,
                "linear_error": report.linear_error,
                "rows": report.data.rows,
                "training_rows": report.training_rows,
                "validation_rows": report.validation_rows,
                "best": report.choices.best.neurons,
                "knee": None if knee is None else knee.neurons,
                "smallest": report.choices.smallest.neurons,
                "refit": report.refit,
                "stop": report.stop,
                "seconds": report.timings.get("total", sum(report.timings.values())),
                "model": report.model,
                "folds": report.folds,
                **_metrics(report.metrics),
            }
        ]
    if isinstance(report, CurveReport):
        return _curve_points(report)
    if isinstance(report, CompareReport):
        best = report.rows[0].error
        return [
            {
                "method": row.method,
                "neurons": row.neurons,
                "error": row.error,
                "error_std": row.error_std,
                "ratio": row.error / best if best else None,
                "fit_seconds": row.fit_seconds,
                "predict_seconds": row.predict_seconds,
                "protocol": report.protocol,
                "repeats": report.repeats,
                "data": report.data.name,
                **_metrics(row.metrics),
                "as_good": row.as_good,
                "recommended": row.method == report.recommended,
            }
            for row in report.rows
        ]
    if isinstance(report, PredictReport):
        e = report.errors
        names = ("normalised_rmse", "rmse", "mae", "r2")
        return [
            {
                "rows": report.rows,
                **{name: None if e is None else getattr(e, name) for name in names},
                "interval": report.interval,
                "coverage": report.coverage,
            }
        ]
    if isinstance(report, CheckReport):
        return _found(report)
    if isinstance(report, ExplainReport):
        return csv_rows(report)
    if isinstance(report, GlossaryReport):
        terms: list[dict[str, Any]] = report.to_json()["terms"]
        return terms
    document = report.to_json()
    if isinstance(report, UpdateReport):
        return [{name: value for name, value in document.items() if name not in ("history", "notes", "timings")}]
    kept = "path variant neurons target train_error validation_error linear_error stop written bytes"
    return [{name: document[name] for name in kept.split()}]


def _metrics(metrics: Metrics | None) -> dict[str, Any]:
    return {name: None if metrics is None else getattr(metrics, name) for name in ("rmse", "mae", "r2")}


def _found(report: CheckReport) -> list[dict[str, Any]]:
    """A row for each column, with what was found in it; then a row for each finding that is of no column."""
    names = ["role", "kind", "inputs", "details", "missing", "missing_share", "distinct", "lowest", "highest"]
    by_column: dict[str | None, list[str]] = {}
    known = {column.name for column in report.columns}
    for one in report.findings:
        by_column.setdefault(one.column if one.column in known else None, []).append(f"{one.level}: {one.line}")
    rows = [
        {"column": one.name, **{name: getattr(one, name) for name in names}, "findings": by_column.get(one.name, [])}
        for one in report.columns
    ]
    rows += [{"column": None, **dict.fromkeys(names), "findings": [line]} for line in by_column.get(None, [])]
    empty: dict[str, Any] = {"column": None, **dict.fromkeys(names), "findings": []}
    return [{**row, "findings": " | ".join(row["findings"])} for row in rows or [empty]]


def _curve_points(report: CurveReport) -> list[dict[str, Any]]:
    """A row for each size of each variant; the random ELM is a variant with a spread."""
    rows: list[dict[str, Any]] = [
        {"variant": curve.variant, "neurons": n, "train_error": float(train), "validation_error": float(validation)}
        for curve in report.curves
        for n, (train, validation) in enumerate(zip(curve.train, curve.validation, strict=True), 1)
    ]
    elm = report.elm
    if elm is None:
        return rows
    spread = ("validation_std", "validation_min", "validation_max")
    rows = [{**row, **dict.fromkeys(spread)} for row in rows]
    for n, values in enumerate(zip(elm.train_mean, elm.mean, elm.std, elm.low, elm.high, strict=True), 1):
        named = zip(("train_error", "validation_error", *spread), map(float, values), strict=True)
        rows.append({"variant": "elm", "neurons": n, **dict(named)})
    return rows
