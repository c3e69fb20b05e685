"""What a report shows, in which order: facts, tables, remarks and commands, before anybody decides how they are drawn.

The terminal, Markdown and HTML all draw these blocks, so they cannot tell different stories.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from enrelm_cli.inputs.outcomes import Outcome
from enrelm_cli.report import words
from enrelm_cli.report.beside import DriftFacts, IntervalFacts, PredictReport, QuantileFacts
from enrelm_cli.report.blocks import (
    ALL,
    Block,
    Column,
    Command,
    Grid,
    Headline,
    Line,
    Remarks,
    bar,
    errors_line,
    facts_of,
    held_out,
    metrics_line,
    named_choices,
    read,
    result,
    times,
)
from enrelm_cli.report.check_view import check_view
from enrelm_cli.report.class_reports import class_facts_of
from enrelm_cli.report.class_view import (
    PROBABILITIES,
    class_candidates_grid,
    class_errors_line,
    class_result,
    classes_line,
    confusion_blocks,
)
from enrelm_cli.report.compare_view import compare_view
from enrelm_cli.report.curve_view import curve_view
from enrelm_cli.report.explain_report import ExplainReport
from enrelm_cli.report.explain_view import explain_view
from enrelm_cli.report.glossary import GlossaryReport
from enrelm_cli.report.reports import CheckReport, CompareReport, CurveReport, FitReport, InfoReport, Json
from enrelm_cli.report.targets.reports import OfTargets, TargetsCurve, TargetsInfo, TargetsPredict, TargetsReport
from enrelm_cli.report.targets.updates import TargetsUpdate, targets_update_view
from enrelm_cli.report.targets.views import targets_view
from enrelm_cli.report.updating.update_report import UpdateReport, history_grid, update_view

Fitted = FitReport | CurveReport | CompareReport | UpdateReport | TargetsUpdate
Report = Fitted | PredictReport | InfoReport | CheckReport | ExplainReport | GlossaryReport | OfTargets

# Relevances and levels beyond these are summed up in words.
_RELEVANCES = 10


def view(report: Report) -> list[Block]:
    """The blocks of any report."""
    if isinstance(report, TargetsReport | TargetsCurve | TargetsPredict | TargetsInfo):
        return targets_view(report, [view(one) for one in report.reports])
    if isinstance(report, FitReport):
        return fit_view(report)
    if isinstance(report, CurveReport):
        return curve_view(report)
    if isinstance(report, CompareReport):
        return compare_view(report)
    if isinstance(report, PredictReport):
        return predict_view(report)
    if isinstance(report, CheckReport):
        return check_view(report)
    if isinstance(report, ExplainReport):
        return explain_view(report)
    if isinstance(report, GlossaryReport):
        return glossary_view(report)
    if isinstance(report, UpdateReport):
        return update_view(report)
    if isinstance(report, TargetsUpdate):
        return targets_update_view(report)
    return info_view(report)


# --- fit --------------------------------------------------------------------------------------------------------------


def fit_view(report: FitReport) -> list[Block]:
    blocks: list[Block] = [fit_result(report)]
    blocks.append(
        facts_of(
            ("read", (read(report.data), *report.data.notes)),
            ("rows", fit_rows(report)),
            ("classes", () if report.classes is None else classes_line(report.classes)),
            ("neurons", () if "leaves" in report.facts or _one_size(report) else _chosen(report)),
            ("errors", fit_errors(report)),
            ("metrics", metrics_line(report.metrics)),
            ("probabilities", () if report.classes is None else PROBABILITIES[report.classes.probabilities]),
            ("warning", report.warnings),
            ("details", _found(report.facts)),
            ("intervals", intervals_line(report.intervals)),
            ("stopped", report.stop or ()),
            ("time", times(report.timings)),
            ("notes", report.notes),
            ("model", report.model or report.not_saved),
        )
    )
    if len(report.candidates) > 1:
        blocks.append(candidates_grid(report))
    if report.classes is not None:
        blocks += confusion_blocks(report.classes.classes, report.classes.validation)
    blocks += [_columns(report.columns)] if report.columns else []
    blocks += _relevance(report.relevance)
    if report.model:
        blocks.append(_predict_command(report.model))
    return blocks


def fit_result(report: FitReport) -> Headline:
    if report.classes is not None:
        return class_result(report.variant, report.classes)
    errors = report.validation_error, report.linear_error
    known = report.facts, None, report.selection, report.metrics
    return result(report.variant, report.neurons, errors, *known)


def fit_errors(report: FitReport) -> str:
    if report.classes is not None:
        return class_errors_line(report.classes.validation)
    return errors_line(report.train_error, report.validation_error, report.linear_error)


def _one_size(report: FitReport) -> bool:
    """Of classes: what has no sizes has no choice of them."""
    return report.classes is not None and report.curve is not None and report.curve.only_size is not None


def fit_rows(report: FitReport) -> str:
    text = held_out(report.training_rows, report.validation_rows, report.folds)
    return f"{text}; refitted on all {words.count(report.data.rows)}" if report.refit else text


def _predict_command(model: str) -> Command:
    return Command("next", words.shell(["enrelm", "predict", model, "new.csv"]))


# How the size was chosen, where the word alone would not say it.
_SELECTIONS = {"given": "as given", "all": "all: no smaller size is significantly better"}


def _chosen(report: FitReport) -> str:
    offered = " · ".join(
        f"{'/'.join(names)} {words.count(choice.neurons)} ({words.error(choice.error)})"
        for names, choice in named_choices(report.choices)
    )
    if report.choices.knee is None:
        offered += " · no clear knee"
    how = _SELECTIONS.get(report.selection, report.selection)
    text = f"{words.count(report.chosen_neurons)}, {how}; curve: {offered}"
    if report.neurons != report.chosen_neurons:
        text += f"; {words.count(report.neurons)} after the refit"
    return text


def _found(facts: dict[str, float]) -> str:
    return " · ".join(f"{words.label(name)} {words.fact(value)}" for name, value in facts.items())


def candidates_grid(report: FitReport) -> Grid:
    if report.classes is not None:
        return class_candidates_grid(report.candidates, report.variant)
    best = min((c.validation_error for c in report.candidates), default=1.0)
    worst = max((c.validation_error for c in report.candidates if math.isfinite(c.validation_error)), default=1.0)
    unit, durations = words.duration_column(c.seconds for c in report.candidates)
    lines = [
        Line(
            (
                c.variant,
                words.ABSENT if c.only_size else ALL if c.selection == ALL else words.count(c.neurons),
                words.error(c.train_error),
                words.error(c.validation_error),
                words.ratio(c.validation_error / best) if best > 0 else words.ABSENT,
                bar(c.validation_error, worst),
                time,
            ),
            marked=c.variant == report.variant,
        )
        for c, time in zip(report.candidates, durations, strict=True)
    ]
    return Grid(
        "variants",
        (
            Column("variant"),
            Column("neurons", number=True),
            Column("training error", number=True),
            Column("validation error", number=True),
            Column("vs best", number=True),
            Column(""),
            Column("time", unit, number=True),
        ),
        tuple(lines),
    )


def _columns(columns: Sequence[Outcome]) -> Grid:
    """What became of each."""
    heads = (Column("column"), Column("kind"), Column("inputs", number=True), Column("details", long=True))
    return Grid("columns", heads, tuple(Line((one.name, one.kind, str(one.inputs), one.details)) for one in columns))


def _relevance(relevance: Sequence[tuple[str, float]]) -> list[Block]:
    if not relevance:
        return []
    # At least one line; those of 0.0 % only in the remark.
    top = [pair for pair in relevance[:_RELEVANCES] if pair[1] >= 0.0005] or relevance[:1]
    largest = max(share for _, share in top)
    lines = [Line((name, words.percent(share), bar(share, largest))) for name, share in top]
    blocks: list[Block] = [
        Grid("column importance", (Column("column"), Column("share", number=True), Column("")), tuple(lines))
    ]
    rest = relevance[len(top) :]
    if rest:
        together = words.percent(sum(share for _, share in rest))
        blocks.append(Remarks((f"{words.counted(len(rest), 'more column')}: {together}",)))
    return blocks


def intervals_line(facts: Json) -> str:
    """What the widths of prediction intervals follow."""
    if not facts.get("left_out_errors"):
        return ""
    follow = [
        text for name, text in (("noise", "the noise"), ("off_data", "the distance from the data")) if facts[name]
    ]
    parts = [f"width follows {' and '.join(follow)}" if follow else "constant width"]
    if not facts["symmetric"]:
        parts.append("sides differ")
    ratio = facts.get("score_ratio")
    if ratio is not None and ratio < 1.0:
        parts.append(f"left-out interval score {words.percent(1.0 - ratio)} below that of a constant width")
    return " · ".join([*parts, f"from {words.counted(facts['left_out_errors'], 'left-out error')}"])


# --- predict and info -------------------------------------------------------------------------------------------------


def predict_view(report: PredictReport) -> list[Block]:
    facts: list[tuple[str, str | tuple[str, ...]]] = [("predicted", words.counted(report.rows, "row"))]
    if report.errors is not None:
        e = report.errors
        facts.append(
            (
                "errors",
                f"normalised RMSE {words.error(e.normalised_rmse)} (1 = predicting the mean)"
                f" · RMSE {words.fact(e.rmse)} · MAE {words.fact(e.mae)} · R² {words.error(e.r2)}"
                f", over {words.counted(e.rows, 'row')}",
            )
        )
    facts.append(("interval", tuple(map(_interval_line, report.intervals))))
    facts.append(("quantile", tuple(map(_quantile_line, report.quantiles))))
    if report.metrics is not None:
        judged = report.metrics
        facts.append(("errors", f"{class_errors_line(judged)}, over {words.counted(judged.rows, 'row')}"))
    if report.sets is not None:
        inside = "" if report.covered is None else f": {words.percent(report.covered)} of the known classes are inside"
        facts.append(("sets", f"{100 * report.sets:g} %{inside}"))
    facts.append(("drift", () if report.drift is None else _drift_line(report.drift)))
    facts.append(("time", times(report.timings)))
    facts.append(("notes", report.notes))
    judged_classes = report.metrics is not None and report.classes is not None
    return [facts_of(*facts), *(confusion_blocks(report.classes or (), judged) if judged_classes else [])]


def _interval_line(one: IntervalFacts) -> str:
    inside = "" if one.coverage is None else f": {words.percent(one.coverage)} of the known targets are inside"
    width = "" if one.mean_width is None else f", mean width {words.fact(one.mean_width)}"
    return f"{100 * one.level:g} %{inside}{width}"


def _quantile_line(one: QuantileFacts) -> str:
    below = "" if one.below is None else f": {words.percent(one.below)} of the known targets are below"
    return f"{one.quantile:g}{below}"


def _drift_line(drift: DriftFacts) -> str:
    shown = [
        f"{one.column} {one.psi:.2f}" for one in drift.columns[:_RELEVANCES] if one.psi is not None and one.drifted
    ]
    text = f"PSI above {drift.threshold:g}: {', '.join(shown)}" if shown else f"no column above PSI {drift.threshold:g}"
    if drift.far is not None:
        shares = words.percent(drift.far), words.percent(drift.far_at_fit)
        text += " · {} of the rows far from every landmark ({} at fit)".format(*shares)
    return text


def info_view(report: InfoReport) -> list[Block]:
    errors = report.validation_error, report.linear_error
    found = None if report.classes is None else class_facts_of(report.classes)
    headline = result(report.variant, report.neurons, errors, report.facts, None, report.selection, report.metrics)
    blocks: list[Block] = [headline if found is None else class_result(report.variant, found)]
    name, rows = report.data.get("name"), report.data.get("rows")
    parts = [str(name)] if name else []
    told = (report.train_error, *errors)
    if isinstance(rows, int):
        parts.append(words.counted(rows, "row"))
    blocks.append(
        facts_of(
            ("model", f"{report.path}, {words.size(report.bytes)}, written {report.written}"),
            ("target", report.target),
            (
                "inputs",
                f"{words.counted(len(report.inputs), 'input')} from {words.counted(len(report.columns), 'column')}",
            ),
            ("classes", () if found is None else classes_line(found)),
            ("errors", errors_line(*told) if found is None else class_errors_line(found.validation)),
            ("metrics", metrics_line(report.metrics)),
            ("probabilities", () if found is None else PROBABILITIES[found.probabilities]),
            ("warning", report.warnings),
            ("details", _found(report.facts)),
            ("intervals", intervals_line(report.intervals)),
            ("stopped", report.stop or ()),
            ("fitted on", ": ".join(parts) or "unknown data"),
            ("data hash", str(report.data.get("hash", ""))),
            ("updatable", "" if report.kept_bytes is None else f"keeps {words.size(report.kept_bytes)} of sums"),
            ("settings", _settings(report.settings)),
            ("versions", " · ".join(f"{name} {version}" for name, version in report.versions.items())),
            ("notes", report.notes),
        )
    )
    if found is not None:
        blocks += confusion_blocks(found.classes, found.validation)
    blocks.append(_columns(report.columns))
    blocks += _relevance(report.relevance)
    blocks += [history_grid(report.history)] if report.history else []
    blocks.append(_predict_command(report.path))
    return blocks


def glossary_view(report: GlossaryReport) -> list[Block]:
    blocks: list[Block] = []
    for chapter in report.chapters:
        blocks += [Headline(chapter.title)] if chapter.title else []
        blocks.append(facts_of(*((term.name, term.meaning) for term in chapter.terms)))
    return blocks


def _settings(settings: Json) -> str:
    return " · ".join(f"{name} {value}" for name, value in flat_settings(settings))


def flat_settings(settings: Json, prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as a list; what was not set is left out."""
    answer: list[tuple[str, str]] = []
    for key, value in settings.items():
        name = f"{prefix}{words.label(str(key))}"
        if isinstance(value, dict):
            answer += flat_settings(value, f"{name} ")
        elif isinstance(value, (list, tuple)):
            answer += [(name, ", ".join(str(item) for item in value))] if value else []
        elif value is not None:
            answer.append((name, {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)))
    return answer
