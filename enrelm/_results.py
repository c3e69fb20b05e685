"""Reports as objects for notebooks and scripts: their facts as attributes, a page's pieces as HTML, and a figure."""

from __future__ import annotations

import io
from typing import Any

from enrelm._errors import as_python
from enrelm_cli.report.explain_report import ExplainReport
from enrelm_cli.report.reports import CompareReport, CurveReport, FitReport
from enrelm_cli.report.views import Report
from enrelm_cli.show.screen import Screen
from enrelm_cli.types import Array


class Result:
    """What a run found. Every fact of the report is an attribute; `to_json()` has them as plain values.

    A notebook shows it as a piece of the page that `--report` writes, `print` as the command line does.
    """

    def __init__(self, report: Report) -> None:
        self.report = report

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "report":
            raise AttributeError(name)
        return getattr(self.report, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *vars(self.report)})

    def to_json(self) -> dict[str, Any]:
        """The facts as the command line's `--format json` prints them."""
        return self.report.to_json()

    def __repr__(self) -> str:
        from enrelm_cli.show.render import render

        out = io.TextIOWrapper(io.BytesIO(), "utf-8")
        render(self.report, "table", Screen.of(out, out, environment={}))
        return str(out.detach().getvalue().decode("utf-8")).rstrip()

    def _repr_html_(self) -> str:
        from enrelm_cli.show.page import fragment

        return fragment(self.report)

    def plot(self, path: str | None = None) -> Any:
        """The report's figure (matplotlib, the extra `plot`); with a path it is written there as well."""
        drawn = _drawn(self.report)
        from enrelm_cli.show import plots

        with as_python():
            if path is not None:
                plots.plot(drawn, path)
            figure = plots.figure(drawn)
        figure._repr_png_ = lambda: _png(figure)  # a notebook shows it, whatever matplotlib's backend is
        return figure


class CurveResult(Result):
    """Errors of every nested size; `train` and `validation` are those of the first variant."""

    report: CurveReport

    @property
    def neurons(self) -> Array:
        """(n,) 1, 2, ..., n."""
        import numpy as np

        return np.arange(1.0, len(self.train) + 1.0)

    @property
    def train(self) -> Array:
        """(n,) errors on the training rows."""
        return self.report.curves[0].train

    @property
    def validation(self) -> Array:
        """(n,) errors on the validation rows."""
        return self.report.curves[0].validation

    @property
    def choices(self) -> Any:
        """The sizes that the curve offers: best, knee, smallest."""
        return self.report.curves[0].choices


def curve_of_fit(report: FitReport) -> CurveReport:
    """The curve that the size was chosen on, as a report of its own."""
    assert report.curve is not None
    return CurveReport(
        data=report.data,
        curves=(report.curve,),
        elm=None,
        linear_error=report.linear_error,
        training_rows=report.training_rows,
        validation_rows=report.validation_rows,
        timings=report.timings,
        settings=report.settings,
        notes=report.notes,
    )


def _drawn(report: Any) -> CurveReport | CompareReport | ExplainReport:
    if isinstance(report, FitReport):
        return curve_of_fit(report)
    if isinstance(report, CurveReport | CompareReport | ExplainReport):
        return report
    raise ValueError("a model that was loaded from a file has no error curve to draw: see enrelm.curve")


def _png(figure: Any) -> bytes:
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=150)
    return drawn.getvalue()
