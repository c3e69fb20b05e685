"""What fits on a screen of 80 by 24: the result, the errors, the next command. -v shows everything."""

from __future__ import annotations

from collections.abc import Sequence

from enrelm_cli.judge.curve import Curve
from enrelm_cli.report import words
from enrelm_cli.report.blocks import Block, Command, Facts, Grid, Remarks, facts_of, metrics_line, offered, read
from enrelm_cli.report.check_view import check_brief
from enrelm_cli.report.compare_view import compare_view, error_name, of_classes
from enrelm_cli.report.curve_view import curve_view
from enrelm_cli.report.explain_report import ExplainReport
from enrelm_cli.report.explain_view import explain_brief
from enrelm_cli.report.reports import CheckReport, CompareReport, CurveReport, FitReport, InfoReport
from enrelm_cli.report.targets.reports import TargetsCurve, TargetsInfo, TargetsPredict, TargetsReport
from enrelm_cli.report.targets.views import targets_brief
from enrelm_cli.report.views import Report, candidates_grid, fit_errors, fit_rows, fit_view, info_view, view

_COLUMNS = 4
# What is said of a model without -v.
_OF_A_MODEL = (
    "model",
    "target",
    "inputs",
    "classes",
    "errors",
    "metrics",
    "warning",
    "intervals",
    "fitted on",
    "updatable",
)
_EFFECTS = 5  # of a screen that shows a plot as well


def brief_view(report: Report) -> list[Block]:
    if isinstance(report, TargetsReport | TargetsCurve | TargetsPredict | TargetsInfo):
        return [*targets_brief(report), *_last_command(view(report))]
    if isinstance(report, FitReport):
        return _fit(report)
    if isinstance(report, CurveReport):
        return _curve(report)
    if isinstance(report, CompareReport):
        return _compare(report)
    if isinstance(report, CheckReport):
        return check_brief(report)
    if isinstance(report, ExplainReport):
        return explain_brief(report, _EFFECTS)
    if isinstance(report, InfoReport):
        return _info(report)
    return view(report)


def _info(report: InfoReport) -> list[Block]:
    headline, facts, *others = info_view(report)
    assert isinstance(facts, Facts)
    said = [(name, lines) for name, lines in facts.items if name in _OF_A_MODEL]
    notes = words.counted(len(report.notes), "note") + ", " if report.notes else ""
    more = f"{notes}settings and the table of columns: -v; effects and curve: --report FILE.html"
    brief = facts_of(*said, ("columns", _most_relevant(report.relevance)), ("more", more))
    return [headline, brief, *_last_command(others)]


def _fit(report: FitReport) -> list[Block]:
    headline, *others = fit_view(report)
    facts = facts_of(
        ("read", read(report.data)),
        ("rows", fit_rows(report)),
        ("errors", fit_errors(report)),
        ("metrics", metrics_line(report.metrics)),
        ("warning", report.warnings),
        ("columns", _most_relevant(report.relevance)),
        ("time", f"total {words.seconds(report.timings['total'])}" if "total" in report.timings else ""),
        ("notes", _counted([*report.data.notes, *report.notes])),
        ("model", report.model or report.not_saved or ""),
    )
    grid: list[Block] = [candidates_grid(report)] if len(report.candidates) > 1 else []
    return [headline, facts, *grid, *_last_command(others)]


def _curve(report: CurveReport) -> list[Block]:
    """The plot comes after the headline and shows the choices; here they are in figures, a line per variant."""
    headline, *others = curve_view(report)
    lines = [(curve.variant, _choices(curve)) for curve in report.curves]
    said = ("metrics", metrics_line(report.metrics.get(report.winner.variant))), ("warning", report.warnings)
    return [headline, facts_of(*lines, *said), *_last_command(others)]


def _choices(curve: Curve) -> str:
    if curve.only_size is not None:
        return f"{curve.only_size}, a horizontal line ({words.error(curve.choices.best.error)})"
    return offered(curve)


def _compare(report: CompareReport) -> list[Block]:
    blocks = compare_view(report)
    # One line of 80 columns: with nine methods the screen is full.
    spread = f"mean ± SD over {report.repeats} splits" if report.repeats > 1 else "one split"
    name = f"Relative {error_name(report)} (1 = the mean's)"
    name = f"Mean {error_name(report)} of predicted probabilities" if of_classes(report) else name
    remark = f"{name}, {spread}. More: -v."
    ties = [block for block in blocks[1:2] if isinstance(block, Remarks)]
    grid = [block for block in blocks if isinstance(block, Grid)][:1]
    return [blocks[0], *ties, *grid, Remarks((remark, *report.warnings)), *_last_command(blocks)]


def _last_command(blocks: Sequence[Block]) -> list[Block]:
    return [block for block in blocks[-1:] if isinstance(block, Command)]


def _most_relevant(relevance: Sequence[tuple[str, float]]) -> str:
    shown = [f"{name} {words.percent(share)}" for name, share in relevance[:_COLUMNS]]
    rest = len(relevance) - len(shown)
    return " · ".join([*shown, f"{rest} more"] if rest else shown)


def _counted(notes: Sequence[str]) -> str:
    """One note as it is, several as their number: they are read once, and with -v."""
    return notes[0] if len(notes) == 1 else f"{len(notes)} notes: -v shows them" if notes else ""
