"""Charts of classes: whether probabilities keep their word, and what a threshold between two classes trades."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enrelm_cli.judge.classes.metrics import Metrics
from enrelm_cli.report import words
from enrelm_cli.show.axes import Scale
from enrelm_cli.show.chart import INK, Axis, Chart, Line, Mark, Point

_ENDS = np.array([0.0, 1.0])
_WHOLE = Scale(0.0, 1.0)
_FEWEST = 5.0  # rows of a bin that says something


def class_charts(variant: str, classes: Sequence[str], judged: Metrics) -> list[tuple[str, Chart]]:
    """Each with a name for its place on a page."""
    charts = [("reliability", reliability_chart(variant, classes, judged))]
    return [*charts, ("roc", roc_chart(variant, classes, judged))] if judged.roc else charts


def reliability_chart(variant: str, classes: Sequence[str], judged: Metrics) -> Chart:
    """How often it is so against the probability that was given: on the dotted line where they agree.

    Of two classes it is the second's probability, of more that of the predicted class.
    """
    bins = [one for one in judged.reliability if one[2] >= _FEWEST] or list(judged.reliability)
    p, share, rows = (np.array(each, float) for each in zip(*bins, strict=True)) if bins else (np.zeros(0),) * 3
    of = f"probability of {classes[1]}" if len(classes) == 2 else "probability of the predicted class"
    so = f"rows that are {classes[1]}" if len(classes) == 2 else "predictions that are right"
    errors = np.sqrt(np.maximum(share * (1.0 - share), 0.0) / np.maximum(rows, 1.0))
    points = [
        Point("± standard error", variant, float(x), float(y), spread=float(error))
        for x, y, error in zip(p, share, errors, strict=True)
    ]
    marks: list[Mark] = [Line("as promised", INK, _ENDS, _ENDS, "dotted"), Line("", variant, p, share), *points]
    title = f"Reliability: calibration error {words.percent(judged.ece)}"
    return Chart(title, Axis(of, _WHOLE), Axis(so, _WHOLE), tuple(marks))


def roc_chart(variant: str, classes: Sequence[str], judged: Metrics) -> Chart:
    """Rows of the second class that are found against rows of the first that are taken for it, at every threshold."""
    false, true = (np.array(each) for each in zip(*judged.roc, strict=True))
    marks: tuple[Mark, ...] = (Line("chance", INK, _ENDS, _ENDS, "dotted"), Line(variant, variant, false, true))
    title = "ROC" if judged.auc is None else f"ROC: area {words.error(judged.auc)}"
    return Chart(
        title, Axis(f"{classes[0]} taken for {classes[1]}", _WHOLE), Axis(f"{classes[1]} found", _WHOLE), marks
    )
