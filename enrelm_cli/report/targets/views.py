"""What is shown of several targets: a line for each, then what a run of each alone shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from enrelm_cli.report import words
from enrelm_cli.report.blocks import (
    Block,
    Column,
    Command,
    Facts,
    Grid,
    Headline,
    Line,
    facts_of,
    held_out,
    metrics_line,
    offered,
    read,
    times,
)
from enrelm_cli.report.reports import FitReport, InfoReport
from enrelm_cli.report.targets.reports import (
    OfTargets,
    Reports,
    TargetsCurve,
    TargetsInfo,
    TargetsPredict,
    TargetsReport,
)
from enrelm_cli.report.updating.update_report import UpdateReport, history_grid

Shown = TypeVar("Shown", bound=FitReport | InfoReport | UpdateReport)


def targets_view(report: OfTargets, each: Sequence[list[Block]]) -> list[Block]:
    """`each`: the blocks of each target alone."""
    if isinstance(report, TargetsReport):
        return [*targets_brief(report), *_apart(report.targets, each), *predict_next(report.model)]
    if isinstance(report, TargetsCurve):
        return [*targets_brief(report), *_apart(report.targets, each), *_fit(report)]
    if isinstance(report, TargetsInfo):
        return [*targets_brief(report), *_apart(report.targets, each), *predict_next(report.first.path)]
    return targets_brief(report)


def targets_brief(report: OfTargets) -> list[Block]:
    """What fits on a screen."""
    if isinstance(report, TargetsReport):
        return _fitted(report)
    if isinstance(report, TargetsCurve):
        return _curves(report)
    if isinstance(report, TargetsInfo):
        return _info(report)
    return _predicted(report)


def _apart(targets: Sequence[str], each: Sequence[list[Block]]) -> list[Block]:
    """The blocks of each target under its name, without their last command."""
    blocks: list[Block] = []
    for name, own in zip(targets, each, strict=True):
        head, *others = own
        text = head.text if isinstance(head, Headline) else ""
        blocks.append(Headline(f"{name}: {text}"))
        blocks += [_own_facts(one) if isinstance(one, Facts) else one for one in others if not isinstance(one, Command)]
    return blocks


# What is said once for all targets.
_ONCE = ("read", "rows", "time", "model", "settings", "versions", "fitted on", "data hash", "inputs", "next")


def _own_facts(facts: Facts) -> Facts:
    return Facts(tuple(one for one in facts.items if one[0] not in _ONCE))


def predict_next(model: str | None) -> list[Block]:
    return [Command("next", words.shell(["enrelm", "predict", model, "new.csv"]))] if model else []


def _fit(report: TargetsCurve) -> list[Block]:
    return [Command("next", report.fit_command)] if report.fit_command else []


# --- fit and info -----------------------------------------------------------------------------------------------------

_TITLE = "errors of each target (1 = predicting the mean)"
_ERRORS = ("neurons", "training", "validation", "linear")


def errors_of_each(reports: Sequence[Shown], more: Sequence[str], told: Callable[[Shown], Sequence[str]]) -> Grid:
    """A line for each target; `told` says what stands under the heads `more`."""
    heads = (Column("target"), *(Column(name, number=True) for name in (*_ERRORS, *more)))
    lines = []
    for one in reports:
        errors = (words.error(value) for value in (one.train_error, one.validation_error, one.linear_error))
        lines.append(Line((one.target, words.count(one.neurons), *errors, *told(one))))
    return Grid(_TITLE, heads, tuple(lines))


def _metrics_of_each(reports: Sequence[FitReport | InfoReport]) -> Grid:
    return errors_of_each(reports, ("RMSE", "R²"), _rmse_and_r2)


def _rmse_and_r2(one: FitReport | InfoReport) -> tuple[str, str]:
    metrics = one.metrics
    if metrics is None:
        return "", ""
    rmse, r2 = (words.rounded(metrics.value(name), metrics.spread(name)) for name in ("rmse", "r2"))
    return rmse, r2


def headline(variant: str, report: Reports[Any]) -> Headline:
    counted, error = words.counted(len(report.targets), "target"), report.validation_error
    text = f"{variant}, {counted}: mean validation error {words.error(error)}"
    beside = words.against_linear(error, report.linear_error)
    return Headline(f"{text}, {beside}" if beside else text)


def _fitted(report: TargetsReport) -> list[Block]:
    first = report.first
    refitted = f"; refitted on all {words.count(first.data.rows)}" if first.refit else ""
    held = held_out(first.training_rows, first.validation_rows, first.folds)
    warnings = tuple(f"{one.target}: {text}" for one in report.reports for text in one.warnings)
    facts = facts_of(
        ("read", (_read(report), *first.data.notes)),
        ("rows", f"{held}{refitted}"),
        ("warning", warnings),
        ("time", times(report.timings)),
        ("model", report.model or report.not_saved),
    )
    return [headline(first.variant, report), facts, _metrics_of_each(report.reports)]


def _read(report: TargetsReport) -> str:
    first = report.first.data
    return f"{read(first).rpartition(', target ')[0]}, targets {', '.join(report.targets)}"


def _info(report: TargetsInfo) -> list[Block]:
    first = report.first
    facts = facts_of(
        ("model", f"{first.path}, {words.size(first.bytes)}, written {first.written}"),
        ("targets", ", ".join(report.targets)),
        ("inputs", f"{words.counted(len(first.inputs), 'input')} from {words.counted(len(first.columns), 'column')}"),
        ("fitted on", words.counted(int(first.data["rows"]), "row")),
        ("data hash", str(first.data.get("hash", ""))),
        ("updatable", "" if report.kept_bytes is None else f"keeps {words.size(report.kept_bytes)} of sums"),
        ("versions", " · ".join(f"{name} {version}" for name, version in first.versions.items())),
    )
    history = [history_grid(report.history)] if report.history else []
    return [headline(first.variant, report), facts, _metrics_of_each(report.reports), *history]


# --- curve and predict ------------------------------------------------------------------------------------------------


def _curves(report: TargetsCurve) -> list[Block]:
    lines = []
    for name, one in zip(report.targets, report.reports, strict=True):
        said = one.winner.only_size or offered(one.winner)
        lines.append((name, (said, metrics_line(one.metrics.get(one.winner.variant)))))
    return [headline(report.chosen, report), facts_of(*lines)]


def _predicted(report: TargetsPredict) -> list[Block]:
    facts = facts_of(
        ("predicted", f"{words.counted(report.rows, 'row')}, targets {', '.join(report.targets)}"),
        ("time", times(report.timings)),
        ("notes", report.notes),
    )
    known = [(name, one) for name, one in zip(report.targets, report.reports, strict=True) if one.errors is not None]
    levels = [f"{100 * one.level:g} % inside" for one in (known[0][1].intervals if known else ())]
    heads = (
        Column("target"),
        Column("normalised RMSE", number=True),
        Column("RMSE", number=True),
        Column("MAE", number=True),
        Column("R²", number=True),
        *(Column(level, number=True) for level in levels),
    )
    lines = []
    for name, one in known:
        e = one.errors
        assert e is not None
        numbers = words.error(e.normalised_rmse), words.fact(e.rmse), words.fact(e.mae), words.error(e.r2)
        inside = ["" if two.coverage is None else words.percent(two.coverage) for two in one.intervals]
        lines.append(Line((name, *numbers, *inside)))
    grid: list[Block] = [Grid(_TITLE, heads, tuple(lines))] if lines else []
    return [facts, *grid]
