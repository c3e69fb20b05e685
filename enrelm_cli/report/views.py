"""What a report shows, in which order: facts, tables, remarks and commands, before anybody decides how they are drawn.

The terminal, Markdown and HTML all draw these blocks, so they cannot tell different stories.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from enrelm_cli.judge.curve import Choice, Choices, Curve
from enrelm_cli.report import words
from enrelm_cli.report.reports import (
    CompareReport,
    CompareRow,
    CurveReport,
    DataFacts,
    FitReport,
    InfoReport,
    Json,
    PredictReport,
)

Report = FitReport | CurveReport | CompareReport | PredictReport | InfoReport

# Relevances and levels beyond these are summed up in words.
_RELEVANCES = 10
_PARTS = {"train": "training"}


@dataclass(frozen=True)
class Bar:
    """A share of a full bar."""

    share: float  # 0..1


Cell = str | Bar


@dataclass(frozen=True)
class Column:
    name: str
    unit: str = ""
    number: bool = False  # set to the right, never cut, never wrapped


@dataclass(frozen=True)
class Line:
    cells: tuple[Cell, ...]
    marked: bool = False


@dataclass(frozen=True)
class Headline:
    """The result in one line."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Labels and what they say; a value may have several lines."""

    items: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Grid:
    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Remarks:
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A line to paste into a shell."""

    purpose: str
    line: str


Block = Headline | Facts | Grid | Remarks | Command


def view(report: Report) -> list[Block]:
    """The blocks of any report."""
    if isinstance(report, FitReport):
        return fit_view(report)
    if isinstance(report, CurveReport):
        return curve_view(report)
    if isinstance(report, CompareReport):
        return compare_view(report)
    if isinstance(report, PredictReport):
        return predict_view(report)
    return info_view(report)


# --- fit --------------------------------------------------------------------------------------------------------------


def fit_view(report: FitReport) -> list[Block]:
    errors = report.validation_error, report.linear_error
    blocks: list[Block] = [_result(report.variant, report.chosen_neurons, *errors, report.facts)]
    blocks.append(
        _facts(
            ("read", (_read(report.data), *report.data.notes)),
            ("rows", _fit_rows(report)),
            ("neurons", () if "leaves" in report.facts else _chosen(report)),
            ("errors", _errors(report.train_error, report.validation_error, report.linear_error)),
            ("found", _found(report.facts)),
            ("stopped", report.stop or ()),
            ("time", _times(report.timings)),
            ("notes", report.notes),
            ("model", report.model or report.not_saved),
        )
    )
    if len(report.candidates) > 1:
        blocks.append(_candidates(report))
    blocks += _relevance(report.relevance)
    if report.model:
        blocks.append(_predict_command(report.model))
    return blocks


def _result(
    variant: str, neurons: int, validation_error: float, linear_error: float, facts: Mapping[str, float] | None = None
) -> Headline:
    leaves = (facts or {}).get("leaves")
    size = (
        words.counted(neurons, "neuron") if leaves is None else f"{int(leaves):,} {'leaf' if leaves == 1 else 'leaves'}"
    )
    text = f"{variant}, {size}: validation error {words.error(validation_error)}"
    beside = words.against_linear(validation_error, linear_error)
    return Headline(f"{text}, {beside}" if beside else text)


def _read(data: DataFacts) -> str:
    text = f"{data.name}: {words.counted(data.rows, 'row')}, {words.counted(data.columns, 'column')}"
    if len(data.inputs) != data.columns:
        text += f" as {words.counted(len(data.inputs), 'input')}"
    return f"{text}, target {data.target}"


def _fit_rows(report: FitReport) -> str:
    text = f"{words.count(report.training_rows)} trained, {words.count(report.validation_rows)} chose the size"
    return f"{text}; then fitted again on all {words.count(report.data.rows)}" if report.refit else text


def _predict_command(model: str) -> Command:
    return Command("predict with it", words.shell(["enrelm", "predict", model, "new.csv"]))


# How the size was chosen, where the word alone would not say it.
_SELECTIONS = {"given": "as given", "all": "all: fewer are not better by more than chance"}


def _chosen(report: FitReport) -> str:
    offered = " · ".join(
        f"{'/'.join(names)} {words.count(choice.neurons)} ({words.error(choice.error)})"
        for names, choice in named_choices(report.choices)
    )
    if report.choices.knee is None:
        offered += " · no clear knee"
    how = _SELECTIONS.get(report.selection, report.selection)
    text = f"{words.count(report.chosen_neurons)}, {how}; the curve offers {offered}"
    if report.neurons != report.chosen_neurons:
        text += f"; {words.count(report.neurons)} in the model fitted to all rows"
    return text


def named_choices(choices: Choices) -> list[tuple[tuple[str, ...], Choice]]:
    """The choices by size, the names of equal ones together."""
    together: dict[int, tuple[list[str], Choice]] = {}
    for name, choice in (("best", choices.best), ("knee", choices.knee), ("smallest", choices.smallest)):
        if choice is not None:
            together.setdefault(choice.neurons, ([], choice))[0].append(name)
    return [(tuple(names), choice) for _, (names, choice) in sorted(together.items())]


def _errors(train: float, validation: float, linear: float) -> str:
    return (
        f"training {words.error(train)} · validation {words.error(validation)}"
        f" · linear regression {words.error(linear)} (1 = predicting the mean)"
    )


def _found(facts: dict[str, float]) -> str:
    return " · ".join(f"{words.label(name)} {words.fact(value)}" for name, value in facts.items())


def _times(timings: dict[str, float]) -> str:
    parts = [f"{words.label(name)} {words.seconds(value)}" for name, value in timings.items() if name != "total"]
    total = timings.get("total", sum(timings.values()))
    return " · ".join([*parts, f"in all {words.seconds(total)}"]) if timings else ""


def _candidates(report: FitReport) -> Grid:
    best = min((c.validation_error for c in report.candidates), default=1.0)
    worst = max((c.validation_error for c in report.candidates if math.isfinite(c.validation_error)), default=1.0)
    unit, durations = words.duration_column(c.seconds for c in report.candidates)
    lines = [
        Line(
            (
                c.variant,
                words.count(c.neurons),
                words.error(c.train_error),
                words.error(c.validation_error),
                words.ratio(c.validation_error / best) if best > 0 else words.ABSENT,
                _bar(c.validation_error, worst),
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
            Column("to best", number=True),
            Column(""),
            Column("time", unit, number=True),
        ),
        tuple(lines),
    )


def _bar(value: float, largest: float) -> Bar:
    return Bar(min(1.0, max(0.0, value / largest)) if math.isfinite(value) and largest > 0 else 1.0)


def _relevance(relevance: Sequence[tuple[str, float]]) -> list[Block]:
    if not relevance:
        return []
    # At least one line; those of 0.0 % only in the remark.
    top = [pair for pair in relevance[:_RELEVANCES] if pair[1] >= 0.0005] or relevance[:1]
    largest = max(share for _, share in top)
    lines = [Line((name, words.percent(share), _bar(share, largest))) for name, share in top]
    blocks: list[Block] = [
        Grid("columns that matter", (Column("column"), Column("share", number=True), Column("")), tuple(lines))
    ]
    rest = relevance[len(top) :]
    if rest:
        together = words.percent(sum(share for _, share in rest))
        blocks.append(Remarks((f"and {words.counted(len(rest), 'more column')}, {together} together",)))
    return blocks


# --- curve ------------------------------------------------------------------------------------------------------------


def curve_view(report: CurveReport) -> list[Block]:
    winner = best_curve(report.curves)
    blocks: list[Block] = [
        _result(winner.variant, winner.choices.best.neurons, winner.choices.best.error, report.linear_error)
    ]
    blocks.append(
        _facts(
            ("read", (_read(report.data), *report.data.notes)),
            ("rows", f"{words.count(report.training_rows)} trained, {words.count(report.validation_rows)} validate"),
            ("stopped", tuple(_stopped(curve) for curve in report.curves if curve.stop)),
            ("time", _times(report.timings)),
            ("notes", report.notes),
        )
    )
    blocks.append(_choices_grid(report, winner))
    without = [curve.variant for curve in report.curves if curve.choices.knee is None]
    remarks = ["Errors are relative: 1 is what predicting the training mean gives."]
    if without:
        remarks.append(f"No clear knee: {', '.join(without)}.")
    blocks.append(Remarks(tuple(remarks)))
    blocks.append(Command("fit it", fit_command(report, winner)))
    return blocks


def _stopped(curve: Curve) -> str:
    return f"{curve.variant}, after {words.counted(len(curve.train), 'neuron')}: {curve.stop}"


def best_curve(curves: Sequence[Curve]) -> Curve:
    return min(curves, key=lambda curve: curve.choices.best.error)


def _choices_grid(report: CurveReport, winner: Curve) -> Grid:
    lines: list[Line] = []
    for curve in report.curves:
        for names, choice in named_choices(curve.choices):
            lines.append(
                Line(
                    (
                        curve.variant,
                        ", ".join(names),
                        words.count(choice.neurons),
                        words.error(float(curve.train[choice.neurons - 1])),
                        words.error(choice.error),
                    ),
                    marked=curve is winner and "best" in names,
                )
            )
    if report.elm is not None and len(report.elm.mean):
        at = min(range(len(report.elm.mean)), key=lambda i: _last(float(report.elm.mean[i])) if report.elm else 0.0)
        lines.append(
            Line(
                (
                    f"elm, mean of {report.elm.realizations}",
                    "best",
                    words.count(at + 1),
                    words.error(float(report.elm.train_mean[at])),
                    words.error(float(report.elm.mean[at])),
                )
            )
        )
    lines.append(
        Line(("linear regression", words.ABSENT, words.ABSENT, words.ABSENT, words.error(report.linear_error)))
    )
    return Grid(
        "choices",
        (
            Column("variant"),
            Column("choice"),
            Column("neurons", number=True),
            Column("training error", number=True),
            Column("validation error", number=True),
        ),
        tuple(lines),
    )


def _last(value: float) -> float:
    return value if math.isfinite(value) else math.inf


def fit_command(report: CurveReport, winner: Curve) -> str:
    """The fit that the curve recommends."""
    if report.fit_command is not None:
        return report.fit_command
    command = ["enrelm", "fit", report.data.name, "--target", report.data.target, "--variant", winner.variant]
    return words.shell([*command, "--neurons", str(winner.choices.best.neurons), "-o", "model.joblib"])


# --- compare ----------------------------------------------------------------------------------------------------------


def compare_view(report: CompareReport) -> list[Block]:
    best = report.rows[0]
    linear = next((row.error for row in report.rows if row.method == "linear"), math.nan)
    beside = words.against_linear(best.error, linear) if best.method != "linear" else ""
    return [
        Headline(
            f"{report.data.name}: {best.method} is best, {error_name(report)} {_mean_std(best)}"
            + (f", {beside}" if beside else "")
        ),
        _facts(("read", (_read(report.data), *report.data.notes)), ("time", _times(report.timings))),
        _compare_grid(report),
        Remarks(tuple(compare_remarks(report))),
    ]


def error_name(report: CompareReport) -> str:
    """Only an error of rows that chose nothing is called a test error."""
    return "validation error" if report.protocol == "paper" else "test error"


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
                _mean_std(row),
                words.ratio(row.error / best) if best > 0 else words.ABSENT,
                _bar(row.error, worst),
                fit_time,
                predict_time,
            ),
            marked=row is rows[0],
        )
        for row, fit_time, predict_time in zip(rows, fits, predicts, strict=True)
    ]
    return Grid(
        "",
        (
            Column("method"),
            Column("neurons", "mean" if report.repeats > 1 else "", number=True),
            Column(error_name(report), "relative", number=True),
            Column("to best", number=True),
            Column(""),
            Column("fit", fit_unit, number=True),
            Column("predict", predict_unit, number=True),
        ),
        tuple(lines),
    )


def compare_remarks(report: CompareReport) -> list[str]:
    """What the figures are of, in words."""
    sizes = {part: rows for part, rows in report.sizes.items() if rows}
    lines: list[str] = []
    if report.protocol == "paper":
        held = sizes.get("test") or sizes.get("validation")
        rows = f"{words.count(held)} rows" if held else "rows"
        lines.append(
            f"Protocol paper: the number of neurons was chosen on the very {rows} whose error is shown, as the paper "
            "does. Such an error is not a test error: new rows will do somewhat worse."
        )
    else:
        lines.append(
            "Protocol test: the number of neurons was chosen on validation rows inside the training part; the error is "
            "of test rows that chose nothing."
        )
    if sizes:
        lines.append(
            "Rows: " + ", ".join(f"{words.count(rows)} {_PARTS.get(part, part)}" for part, rows in sizes.items())
        )
    lines.append(_splits(report))
    lines.append(_clock(report))
    lines.append(
        "Errors are relative: 1 is what predicting the training mean gives. To best: ratio to the smallest error."
    )
    lines.extend(report.notes)
    return lines


def _splits(report: CompareReport) -> str:
    text = f"Splits: {words.count(report.repeats)}, {_seeds(report.seeds)}"
    if any(row.error_std is not None for row in report.rows):
        if report.repeats > 1:
            text += "; ± is the standard deviation over the splits"
        else:
            many = "" if report.elm is None else f"{report.elm.realizations} "
            text += f"; ± is the standard deviation over the ELM's {many}realisations"
    return text + "."


def _clock(report: CompareReport) -> str:
    text = "Times: fit is the whole search for the size, predict is of the rows whose error is shown"
    if report.repeats > 1:
        text += "; medians over the splits"
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
                _bar(standing.rank, worst),
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
        Column("to best", "geom. mean", number=True),
        Column(""),
        Column("tables", number=True),
    )
    names = ", ".join(report.data.name for report in reports)
    return [
        Headline(f"Ranks over {len(reports)} tables"),
        Grid("", columns, tuple(lines)),
        Remarks((f"Tables: {names}.",)),
    ]


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
    if report.interval is not None:
        inside = (
            "" if report.coverage is None else f": {words.percent(report.coverage)} of the known targets lie inside"
        )
        facts.append(("interval", f"{100 * report.interval:g} %{inside}"))
    facts.append(("time", _times(report.timings)))
    facts.append(("notes", report.notes))
    return [_facts(*facts)]


def info_view(report: InfoReport) -> list[Block]:
    errors = report.validation_error, report.linear_error
    blocks: list[Block] = [_result(report.variant, report.neurons, *errors, report.facts)]
    rows = report.data.get("rows")
    data = str(report.data.get("name", "unknown data"))
    if isinstance(rows, int):
        data += f": {words.counted(rows, 'row')}"
    blocks.append(
        _facts(
            ("model", f"{report.path}, {words.size(report.bytes)}, written {report.written}"),
            ("target", report.target),
            (
                "inputs",
                f"{words.counted(len(report.inputs), 'input')} from {words.counted(len(report.columns), 'column')}",
            ),
            ("errors", _errors(report.train_error, report.validation_error, report.linear_error)),
            ("found", _found(report.facts)),
            ("stopped", report.stop or ()),
            ("fitted on", data),
            ("data hash", str(report.data.get("hash", ""))),
            ("settings", _settings(report.settings)),
            ("versions", " · ".join(f"{name} {version}" for name, version in report.versions.items())),
            ("notes", report.notes),
        )
    )
    lines = tuple(Line((name, kind, details)) for name, kind, details in report.columns)
    blocks.append(Grid("columns", (Column("column"), Column("kind"), Column("details")), lines))
    blocks += _relevance(report.relevance)
    blocks.append(_predict_command(report.path))
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


def _facts(*items: tuple[str, str | Iterable[str]]) -> Facts:
    kept = ((name, (value,) if isinstance(value, str) else tuple(value)) for name, value in items if value)
    return Facts(tuple((name, value) for name, value in kept if value and value != ("",)))
