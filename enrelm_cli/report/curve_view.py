"""The error curve: every variant's choices, and the fit that follows from them."""

from __future__ import annotations

import math

from enrelm_cli.judge.curve import Curve
from enrelm_cli.report import words
from enrelm_cli.report.blocks import (
    ALL,
    Block,
    Column,
    Command,
    Grid,
    Line,
    Remarks,
    facts_of,
    held_out,
    metrics_line,
    read,
    result,
    sizes_offered,
    times,
)
from enrelm_cli.report.reports import CurveReport


def curve_view(report: CurveReport) -> list[Block]:
    winner, taken = report.winner, report.winner.taken
    blocks: list[Block] = [
        result(
            winner.variant,
            None if winner.selection == ALL else taken.neurons,
            (taken.error, report.linear_error),
            only_size=winner.only_size,
            selection=winner.selection,
            metrics=report.metrics.get(winner.variant),
        )
    ]
    blocks.append(
        facts_of(
            ("read", (read(report.data), *report.data.notes)),
            ("rows", held_out(report.training_rows, report.validation_rows, report.folds)),
            ("metrics", metrics_line(report.metrics.get(winner.variant))),
            ("warning", report.warnings),
            ("stopped", tuple(_stopped(curve) for curve in report.curves if curve.stop)),
            ("time", times(report.timings)),
            ("notes", report.notes),
        )
    )
    blocks.append(_choices_grid(report, winner))
    without = [curve.variant for curve in report.curves if curve.choices.knee is None and curve.only_size is None]
    remarks = ["Errors are relative: 1 = predicting the training mean."]
    if report.classes:
        remarks.append("Error rate and log-loss are of the validation rows, with a slope that suits them at each size.")
    if without:
        remarks.append(f"No clear knee: {', '.join(without)}.")
    remarks += [f"{curve.variant}: {curve.only_size}, a horizontal line." for curve in report.curves if curve.only_size]
    blocks.append(Remarks(tuple(remarks)))
    blocks.append(Command("next", fit_command(report, winner)))
    return blocks


def _stopped(curve: Curve) -> str:
    if curve.only_size is not None:
        return f"{curve.variant}, {curve.only_size}: {curve.stop}"
    return f"{curve.variant}, after {words.counted(len(curve.train), 'neuron')}: {curve.stop}"


def _choices_grid(report: CurveReport, winner: Curve) -> Grid:
    lines: list[Line] = []
    for curve in report.curves:
        for names, choice in sizes_offered(curve):
            one = curve.only_size is not None
            lines.append(
                Line(
                    (
                        curve.variant,
                        words.ABSENT if one else ", ".join(names),
                        words.ABSENT if one else words.count(choice.neurons),
                        words.error(float(curve.train[choice.neurons - 1])),
                        words.error(choice.error),
                        *_of_classes(report, curve, choice.neurons),
                    ),
                    marked=curve is winner and choice.neurons == curve.taken.neurons,
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
                    *_no_classes(report),
                )
            )
        )
    absent = (words.ABSENT,) * 3
    linear = words.error(report.linear_error)
    lines.append(Line(("linear regression", *absent, linear, *_no_classes(report))))
    return Grid(
        "choices",
        (
            Column("variant"),
            Column("choice"),
            Column("neurons", number=True),
            Column("training error", number=True),
            Column("validation error", number=True),
            *([Column("error rate", number=True), Column("log-loss", number=True)] if report.classes else []),
        ),
        tuple(lines),
    )


def _of_classes(report: CurveReport, curve: Curve, n: int) -> tuple[str, ...]:
    """Error rate and log-loss of a size, where the target has classes."""
    if not report.classes:
        return ()
    known = report.classes[curve.variant]
    if n not in known.neurons:
        return _no_classes(report)
    rate, loss = known.at(n)
    return words.percent(rate), words.error(loss)


def _no_classes(report: CurveReport) -> tuple[str, ...]:
    return (words.ABSENT,) * 2 if report.classes else ()


def _last(value: float) -> float:
    return value if math.isfinite(value) else math.inf


def fit_command(report: CurveReport, winner: Curve) -> str:
    """The fit that the curve recommends."""
    if report.fit_command is not None:
        return report.fit_command
    command = ["enrelm", "fit", report.data.name, "--target", report.data.target, "--variant", winner.variant]
    return words.shell([*command, *size_options(winner), "-o", "model.joblib"])


def size_options(winner: Curve) -> tuple[str, ...]:
    """What makes fit take the chosen size of a curve; all neurons are what it takes by itself."""
    if winner.only_size is not None or winner.selection == ALL:
        return ()
    return ("--neurons", str(winner.taken.neurons))
