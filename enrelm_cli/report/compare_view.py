"""Methods side by side on one table, and their ranks over several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from enrelm_cli.report import words
from enrelm_cli.report.blocks import Block, Column, Command, Grid, Headline, Line, Remarks, bar, facts_of, read, times
from enrelm_cli.report.reports import CompareReport, CompareRow, Json

_METRICS = {"rmse": "RMSE", "mae": "MAE", "r2": "R²"}
_PARTS = {"train": "training"}


def compare_view(report: CompareReport) -> list[Block]:
    best = report.rows[0]
    linear = next((row.error for row in report.rows if row.method == "linear"), math.nan)
    beside = words.against_linear(best.error, linear) if best.method != "linear" and not of_classes(report) else ""
    return [
        Headline(
            f"{report.data.name}: {best.method} is best, {error_name(report)} {_mean_std(best)}"
            + (f", {beside}" if beside else "")
        ),
        *_ties(report),
        facts_of(("read", (read(report.data), *report.data.notes)), ("time", times(report.timings))),
        _compare_grid(report),
        *_metrics_grid(report),
        Remarks(tuple(compare_remarks(report))),
        *_next(report),
    ]


def _ties(report: CompareReport) -> list[Block]:
    """Which methods are as good as the best, and the simplest of them."""
    best, *others = report.ties or (report.rows[0].method,)
    if not others:
        return []
    text = f"Within a standard error: {', '.join(others)}."
    simplest = "" if report.recommended == best else f" Recommended: {report.recommended}, the simplest."
    return [Remarks((text + simplest,))]


def _next(report: CompareReport) -> list[Block]:
    if report.fit_command is None:
        return []
    other = report.ours is not None and report.recommended != report.ours
    told = f"{report.recommended} is not a variant of `fit`; of those that are, {report.ours} is recommended."
    return [*([Remarks((told,))] if other else []), Command("next", report.fit_command)]


def error_name(report: CompareReport) -> str:
    """Only an error of rows that chose nothing is called a test error."""
    what = "log-loss" if of_classes(report) else "error"
    return f"validation {what}" if report.protocol == "paper" else f"test {what}"


def of_classes(report: CompareReport) -> bool:
    return report.task == "classification"


def _mean_std(row: CompareRow) -> str:
    return words.error(row.error) + ("" if row.error_std is None else f" ± {words.error(row.error_std)}")


def _compare_grid(report: CompareReport) -> Grid:
    rows = report.rows
    best = rows[0].error
    worst = max((row.error for row in rows if math.isfinite(row.error)), default=1.0)
    fit_unit, fits = words.duration_column(row.fit_seconds for row in rows)
    predict_unit, predicts = words.duration_column(row.predict_seconds for row in rows)
    lines = [
        Line(
            (
                row.method,
                words.ABSENT if row.neurons is None else words.count(row.neurons),
                *([] if row.classes is None else [words.percent(row.classes["accuracy"])]),
                _mean_std(row),
                words.ratio(row.error / best) if best > 0 else words.ABSENT,
                bar(row.error, worst),
                fit_time,
                predict_time,
            ),
            marked=row.method == (report.recommended or rows[0].method),
        )
        for row, fit_time, predict_time in zip(rows, fits, predicts, strict=True)
    ]
    return Grid(
        "",
        (
            Column("method"),
            Column("neurons", "mean" if report.repeats > 1 else "", number=True),
            *([Column("accuracy", number=True)] if of_classes(report) else []),
            Column(error_name(report), "" if of_classes(report) else "relative", number=True),
            Column("vs best", number=True),
            Column(""),
            Column("fit", fit_unit, number=True),
            Column("predict", predict_unit, number=True),
        ),
        tuple(lines),
    )


def _metrics_grid(report: CompareReport) -> list[Block]:
    """The same errors in the target's unit."""
    lines = [
        Line(
            (row.method, *(words.rounded(row.metrics.value(one), row.metrics.spread(one)) for one in _METRICS)),
            marked=row.method == (report.recommended or report.rows[0].method),
        )
        for row in report.rows
        if row.metrics is not None
    ]
    columns = (Column("method"), *(Column(name, number=True) for name in _METRICS.values()))
    return [Grid(f"{error_name(report)}s of {report.data.target}", columns, tuple(lines))] if lines else []


def compare_remarks(report: CompareReport) -> list[str]:
    """What the figures are of, in words."""
    sizes = {part: rows for part, rows in report.sizes.items() if rows}
    lines: list[str] = []
    if report.protocol == "paper":
        held = sizes.get("test") or sizes.get("validation")
        rows = f"{words.count(held)} rows" if held else "rows"
        lines.append(
            f"Protocol paper: the size is chosen on the same {rows} whose error is shown, as in the paper. "
            "This is not a test error: expect somewhat more on new rows."
        )
    else:
        lines.append(
            "Protocol test: the size is chosen on validation rows; the error is measured on separate test rows."
        )
    if sizes:
        lines.append(
            "Rows: " + ", ".join(f"{words.count(rows)} {_PARTS.get(part, part)}" for part, rows in sizes.items())
        )
    lines.append(_splits(report))
    lines.append(_clock(report))
    relative = "Errors are relative: 1 = predicting the training mean. vs best: ratio to the smallest error."
    loss = "Errors are mean log-losses of the predicted probabilities. vs best: ratio to the smallest."
    lines.append(loss if of_classes(report) else relative)
    if report.repeats > 1:
        lines.append(
            "As good as the best: the mean difference over the splits is within its standard error. "
            "★ marks the simplest of them."
        )
    lines.extend([*report.warnings, *report.notes])
    return lines


def _splits(report: CompareReport) -> str:
    text = f"Splits: {words.count(report.repeats)}, {_seeds(report.seeds)}"
    if report.time is not None:
        text = f"Cuts in time ({report.time}): {words.count(report.repeats)}; each tests on rows later than all others"
    if any(row.error_std is not None for row in report.rows):
        if report.repeats > 1:
            text += "; ± is the standard deviation over splits"
        else:
            many = "" if report.elm is None else f"{report.elm.realizations} "
            text += f"; ± is the standard deviation over the ELM's {many}realisations"
    return text + "."


def _clock(report: CompareReport) -> str:
    text = "Times: fit includes the search for the size; predict covers the rows whose error is shown"
    if report.repeats > 1:
        text += "; medians over splits"
    return f"{text}; on {words.counted(report.threads, 'thread')}." if report.threads else f"{text}."


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return "seeds " + ", ".join(str(seed) for seed in seeds)


@dataclass(frozen=True)
class Standing:
    """A method over several tables."""

    method: str
    rank: float  # mean; equal errors share the mean of their ranks
    wins: int
    ratio: float  # geometric mean of error / smallest error
    tables: int

    def to_json(self) -> Json:
        return {
            "method": self.method,
            "mean_rank": self.rank,
            "wins": self.wins,
            "mean_ratio": self.ratio,
            "tables": self.tables,
        }


def standings(reports: Sequence[CompareReport]) -> list[Standing]:
    """Mean rank of every method, smallest first."""
    ranks: dict[str, list[float]] = {}
    ratios: dict[str, list[float]] = {}
    for report in reports:
        errors = [row.error for row in report.rows]
        for row in report.rows:
            below, equal = sum(e < row.error for e in errors), sum(e == row.error for e in errors)
            ranks.setdefault(row.method, []).append(below + (equal + 1) / 2)
            ratios.setdefault(row.method, []).append(row.error / errors[0] if errors[0] > 0 else 1.0)
    answer = [
        Standing(
            method,
            sum(of) / len(of),
            sum(rank < 1.75 for rank in of),
            math.exp(sum(math.log(max(r, 1e-300)) for r in ratios[method]) / len(of)),
            len(of),
        )
        for method, of in ranks.items()
    ]
    return sorted(answer, key=lambda standing: (standing.rank, standing.method))


def ranks_view(reports: Sequence[CompareReport]) -> list[Block]:
    """The summary under several comparisons."""
    table = standings(reports)
    worst = max(standing.rank for standing in table)
    lines = [
        Line(
            (
                standing.method,
                f"{standing.rank:.2f}",
                words.count(standing.wins),
                words.ratio(standing.ratio),
                bar(standing.rank, worst),
                words.count(standing.tables),
            ),
            marked=standing is table[0],
        )
        for standing in table
    ]
    columns = (
        Column("method"),
        Column("mean rank", "1 = best", number=True),
        Column("wins", "tables", number=True),
        Column("vs best", "geom. mean", number=True),
        Column(""),
        Column("tables", number=True),
    )
    names = ", ".join(report.data.name for report in reports)
    return [
        Headline(f"Ranks over {len(reports)} tables"),
        Grid("", columns, tuple(lines)),
        Remarks((f"Tables: {names}.",)),
    ]
