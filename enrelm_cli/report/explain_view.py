"""What a model has learnt: effects, pairs, errors, worst rows and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from enrelm_cli.report import words
from enrelm_cli.report.blocks import Block, Column, Command, Grid, Headline, Line, Remarks, Spark, facts_of, times
from enrelm_cli.report.class_view import class_errors_line
from enrelm_cli.report.explain_report import ColumnEffect, EffectPoint, ExplainReport, WorstRow

_BARS = 12
_VALUES = 3  # columns of a worst row that a terminal shows
_LEAST = 1e-4
_LOG_ODDS = "Log-odds are log(p / (1 - p)): 0 is an even chance, +1 makes it 73 %, +2 88 %."
_SCORES = "A score is log p of a class minus the mean over classes: +1 means 2.7 times the odds against the others."


def explain_view(report: ExplainReport) -> list[Block]:
    """Everything but the plots."""
    blocks: list[Block] = [_headline(report), explain_facts(report)]
    blocks += [effects_grid(report.effects)] if report.effects else []
    blocks += [pairs_grid(report)] if report.pairs else []
    blocks += [residuals_grid(report)] if report.residuals else []
    blocks += [worst_grid(report, _VALUES)] if report.worst else []
    blocks += [calibration_grid(report)] if report.calibration else []
    return [*blocks, next_command(report)]


def explain_brief(report: ExplainReport, columns: int) -> list[Block]:
    """What fits on a screen beside a plot of the first column."""
    pairs = " · ".join(f"{one.first} × {one.second} {words.percent(one.share)}" for one in report.pairs[:3])
    worst = " · ".join(f"{one.place} ({_miss(one)})" for one in report.worst[:3])
    effects = strongest(report.effects)
    inside = " · ".join(f"{100 * one.level:g} %: {words.percent(one.inside)}" for one in report.calibration)
    grid: list[Block] = [effects_grid(effects[:columns])] if effects else []
    rest = len(effects) - columns
    facts = facts_of(
        ("together", pairs),
        ("errors", _errors(report).replace(" (1 = predicting the mean)", "")),
        ("worst", worst),
        ("intervals", f"{inside} inside" if inside else ""),
        ("more", f"{words.counted(rest, 'more column')}: -v" if rest > 0 else ""),
    )
    return [_headline(report), *grid, *([facts] if facts.items else []), next_command(report)]


def strongest(effects: Sequence[ColumnEffect]) -> tuple[ColumnEffect, ...]:
    """One effect for each column: of several classes, on that which it moves most."""
    best: dict[str, ColumnEffect] = {}
    for one in effects:
        if one.name not in best or one.span > best[one.name].span:
            best[one.name] = one
    return tuple(best.values())


def _miss(one: WorstRow) -> str:
    if one.residual is not None:
        return signed(one.residual)
    return f"{one.target}: {words.percent(one.probability or 0.0)}"


def _headline(report: ExplainReport) -> Headline:
    if not report.effects:
        return Headline(f"{report.target}: no column moves the prediction")
    first = strongest(report.effects)[0]
    moved = "it" if first.of is None else f"the {first.on}"
    text = f"{report.target}: {first.name} moves {moved} by {words.fact(rounded(first.span))}"
    if first.share is not None:
        text += f" ({words.percent(first.share)} of the predictions' variance)"
    if report.pairs:
        text += f"; {report.pairs[0].first} and {report.pairs[0].second} act together most"
    return Headline(text)


def explain_facts(report: ExplainReport) -> Block:
    return facts_of(
        ("read", f"{report.name}: {words.counted(report.rows, 'row')}; {report.model}, {report.variant}"),
        ("effects", f"{report.way} over {words.counted(report.sample_rows, 'row')}; band {report.band}"),
        ("average", f"{_averages(report)}, to which effects add"),
        ("errors", _errors(report)),
        ("time", times(report.timings)),
        ("notes", report.notes),
    )


def _averages(report: ExplainReport) -> str:
    if not report.classes:
        return words.fact(rounded(report.average))
    return " · ".join(f"{name} {words.fact(rounded(value))}" for name, value in report.averages)


_SEEN = "; too good where the model was fitted to these rows"


def _errors(report: ExplainReport) -> str:
    """A model does not keep its rows, so it cannot say whether it has seen these."""
    if report.metrics is not None:
        return class_errors_line(report.metrics) + _SEEN
    e = report.errors
    if e is None:
        return ""
    return (
        f"normalised RMSE {words.error(e.normalised_rmse)} (1 = predicting the mean) · RMSE {words.fact(e.rmse)}"
        f" · R² {words.error(e.r2)}{_SEEN}"
    )


def effects_grid(effects: Sequence[ColumnEffect]) -> Grid:
    classes = len({one.of for one in effects}) > 1
    heads = (
        Column("column"),
        *((Column("class"),) if classes else ()),
        Column("share", number=True),
        Column("lowest", number=True),
        Column("at"),
        Column("highest", number=True),
        Column("at"),
        Column("shape"),
    )
    lines = []
    for one in effects:
        share = words.ABSENT if one.share is None else words.percent(one.share)
        ends = [(signed(point.effect), value_text(point)) for point in (one.lowest, one.highest)]
        of = (one.of or words.ABSENT,) if classes else ()
        lines.append(Line((one.name, *of, share, *ends[0], *ends[1], Spark(shape(one)))))
    return Grid("effects", heads, tuple(lines))


def shape(effect: ColumnEffect) -> tuple[float, ...]:
    """Heights along the axis, from 0 to 1."""
    values = np.array([point.effect for point in effect.points])
    if effect.kind != "levels" and len(values) > _BARS:
        at = np.array([point.at for point in effect.points])
        values = np.interp(np.linspace(at[0], at[-1], _BARS), at, values)
    heights = values - values.min()
    largest = float(heights.max()) or 1.0
    return tuple(float(height) / largest for height in heights[:_BARS])


def pairs_grid(report: ExplainReport) -> Grid:
    largest = max(one.share for one in report.pairs)
    heads = (Column("columns that act together"), Column("strength", number=True), Column("share", number=True))
    lines = [
        Line((f"{one.first} × {one.second}", words.fact(rounded(one.strength)), words.percent(one.share)))
        for one in report.pairs
        if largest > 0.0
    ]
    return Grid("pairs", heads, tuple(lines))


def residuals_grid(report: ExplainReport) -> Grid:
    """Along the prediction."""
    first = report.residuals[0]
    heads = ("from", "to", "rows", "mean residual", "spread")
    lines = [
        Line(
            (
                words.fact(rounded(float(one.low))),
                words.fact(rounded(float(one.high))),
                words.count(one.rows),
                signed(one.mean),
                words.fact(rounded(one.spread)),
            )
        )
        for one in first.ranges
    ]
    return Grid("residuals by prediction", tuple(Column(name, number=True) for name in heads), tuple(lines))


def worst_grid(report: ExplainReport, columns: int | None) -> Grid:
    """The first columns are those that matter most."""
    names = [one.name for one in strongest(report.effects)][:columns] or [name for name, _ in report.worst[0].values][
        :columns
    ]
    if report.classes:
        heads = [Column("row"), Column("class"), Column("prediction"), Column("p of class", number=True)]
    else:
        heads = [Column("row"), *(Column(name, number=True) for name in ("target", "prediction", "residual"))]
    heads += [Column(name) for name in names]
    lines = [Line((_place(one, report), *_figures(one), *_values(one, names))) for one in report.worst]
    return Grid("worst rows", tuple(heads), tuple(lines))


def _place(one: WorstRow, report: ExplainReport) -> str:
    several = len({row.file for row in report.worst}) > 1
    return f"{one.file}, {one.place}" if several else one.place


def _figures(one: WorstRow) -> tuple[str, str, str]:
    if isinstance(one.target, str) or isinstance(one.prediction, str) or one.residual is None:
        return str(one.target), str(one.prediction), words.percent(one.probability or 0.0)
    return words.fact(rounded(one.target)), words.fact(rounded(one.prediction)), signed(one.residual)


def _values(one: WorstRow, names: Sequence[str]) -> list[str]:
    known = dict(one.values)
    return [cell_text(known[name]) for name in names]


def calibration_grid(report: ExplainReport) -> Grid:
    heads = (Column("interval", number=True), Column("targets inside", number=True))
    lines = [Line((f"{100 * one.level:g} %", words.percent(one.inside))) for one in report.calibration]
    return Grid("intervals", heads, tuple(lines))


def next_command(report: ExplainReport) -> Command:
    return Command("next", words.shell(["enrelm", "explain", report.model, report.name, "--report", "explain.html"]))


def remarks(report: ExplainReport) -> Remarks:
    """What the figures are of, for the page."""
    units = (
        "on the " + ", ".join(name for name, _ in report.averages) if report.classes else f"in units of {report.target}"
    )
    lines = [f"Effects are {report.way} {units}; the band is {report.band}."]
    if report.classes:
        lines.append(_SCORES if len(report.averages) > 1 else _LOG_ODDS)
    if report.residuals:
        what = f"{report.classes[0]} (1 or 0) minus its probability" if report.classes else "target minus prediction"
        lines.append(f"Residuals are {what}. Rows that the model was fitted to have smaller ones.")
    return Remarks(tuple(lines))


# --- numbers ---------------------------------------------------------------------------------------------------------


def rounded(value: float) -> float:
    """Four digits: more is noise in an effect."""
    return float(f"{value:.4g}") if math.isfinite(value) else value


def signed(value: float) -> str:
    text = words.fact(rounded(value))
    return f"+{text}" if value > 0.0 else text


def value_text(point: EffectPoint) -> str:
    return cell_text(point.value)


def cell_text(value: float | str | None) -> str:
    if value is None:
        return "(missing)"
    return value if isinstance(value, str) else f"{value:.6g}"
