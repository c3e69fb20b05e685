"""Charts of classes: points of the figures, and their place on the page of a fit and of its model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from enrelm_cli.judge.classes.metrics import class_sums, metrics
from enrelm_cli.show.chart import Line, Point
from enrelm_cli.show.class_charts import class_charts
from tests.cli_runner import succeed


def test_reliability_and_roc_show_the_figures_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(500)
    judged = metrics(class_sums(np.column_stack([1 - p, p]), (rng.random(500) < p).astype(np.int64)))
    assert judged is not None
    charts = dict(class_charts("kernel", ("no", "yes"), judged))
    points = [mark for mark in charts["reliability"].marks if isinstance(mark, Point)]
    assert [(one.x, one.y) for one in points] == [(a, b) for a, b, _ in judged.reliability]
    curve = charts["roc"].marks[1]
    assert isinstance(curve, Line)
    np.testing.assert_array_equal(np.column_stack([curve.x, curve.y]), judged.roc)
    area = float(np.sum(np.diff(curve.x) * (curve.y[1:] + curve.y[:-1]) / 2))
    assert judged.auc is not None
    assert abs(area - judged.auc) < 0.01


def test_three_classes_have_no_roc() -> None:
    p = np.full((6, 3), 1 / 3)
    judged = metrics(class_sums(p, np.array([0, 1, 2, 0, 1, 2])))
    assert judged is not None
    assert [name for name, _ in class_charts("kernel", ("a", "b", "c"), judged)] == ["reliability"]


def test_the_pages_of_a_fit_and_of_its_model_draw_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(80)
    kinds = np.where(x + 0.5 * rng.standard_normal(80) > 0, "<yes>", "no")
    lines = [f"{a:.5f},{kind}" for a, kind in zip(x, kinds, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["x,kind", *lines]) + "\n")
    page, again, model = (tmp_path / name for name in ("fit.html", "info.html", "m.joblib"))
    succeed("fit", tmp_path / "t.csv", "-t", "kind", "--variant", "logistic", "-o", model, "--report", page)
    succeed("info", model, "--report", again)
    for text in (page.read_text(), again.read_text()):
        assert "Reliability: calibration error" in text
        assert "ROC: area" in text
        assert "&lt;yes&gt;" in text
        assert "<yes>" not in text
