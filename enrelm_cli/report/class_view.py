"""What is shown of classes: the result in a line, figures of probabilities, the confusion table, all variants."""

from __future__ import annotations

from collections.abc import Sequence

from enrelm_cli.judge.classes.metrics import Metrics
from enrelm_cli.report import words
from enrelm_cli.report.blocks import Block, Column, Grid, Headline, Line, Remarks, bar
from enrelm_cli.report.class_reports import ClassFacts
from enrelm_cli.report.reports import Candidate

# More classes than this are shown as the pairs that are confused most.
_TABLE, _PAIRS = 10, 10


def class_result(variant: str, facts: ClassFacts) -> Headline:
    judged = facts.validation
    return Headline(
        f"{variant}, {len(facts.classes):,} classes: {figures(judged)}"
        f" on {words.counted(judged.rows, 'validation row')}"
    )


def figures(judged: Metrics) -> str:
    return f"accuracy {words.percent(judged.accuracy)}, log-loss {words.error(judged.log_loss)}"


def class_errors_line(judged: Metrics) -> str:
    parts = [
        f"accuracy {words.percent(judged.accuracy)}",
        f"balanced {words.percent(judged.balanced_accuracy)}",
        f"log-loss {words.error(judged.log_loss)}",
        f"Brier {words.error(judged.brier)}",
        f"calibration error {words.percent(judged.ece)}",
    ]
    if judged.auc is not None:
        parts.append(f"AUC {words.error(judged.auc)}")
    return " · ".join(parts)


def classes_line(facts: ClassFacts) -> str:
    """The classes by their rows, the largest first."""
    pairs = sorted(zip(facts.classes, facts.counts, strict=True), key=lambda pair: (-pair[1], pair[0]))
    shown = " · ".join(f"{name} {words.count(count)}" for name, count in pairs[:8])
    return shown + (f" · {len(pairs) - 8} more" if len(pairs) > 8 else "")


PROBABILITIES = {
    "temperature": "least squares and a temperature fitted to left-out scores",
    "logits": "logistic regression, for its lower left-out log-loss",
}


def confusion_blocks(classes: Sequence[str], judged: Metrics) -> list[Block]:
    """A table of classes down and predicted ones across, or the pairs that are confused most."""
    counts = judged.confusion
    if len(classes) <= _TABLE:
        columns = (Column("class"), *(Column(name, number=True) for name in classes))
        lines = [
            Line((name, *(words.count(round(value)) for value in row)))
            for name, row in zip(classes, counts, strict=True)
        ]
        return [Grid("confusion (down: class, across: predicted)", columns, tuple(lines))]
    pairs = [
        (counts[i][j], classes[i], classes[j])
        for i in range(len(classes))
        for j in range(len(classes))
        if i != j and counts[i][j] > 0
    ]
    pairs.sort(key=lambda one: (-one[0], one[1], one[2]))
    lines = [Line((name, other, words.count(round(value)))) for value, name, other in pairs[:_PAIRS]]
    columns = (Column("class"), Column("predicted"), Column("rows", number=True))
    rest: list[Block] = [Remarks((f"{len(pairs) - _PAIRS:,} more pairs",))] if len(pairs) > _PAIRS else []
    return [Grid("confused most", columns, tuple(lines)), *rest] if lines else []


def class_candidates_grid(candidates: Sequence[Candidate], chosen: str) -> Grid:
    worst = max((one.log_loss or 0.0 for one in candidates), default=1.0)
    unit, durations = words.duration_column(one.seconds for one in candidates)
    lines = [
        Line(
            (
                one.variant,
                words.ABSENT if one.only_size else words.count(one.neurons),
                words.percent(one.accuracy or 0.0),
                words.error(one.log_loss or 0.0),
                bar(one.log_loss or 0.0, worst),
                time,
            ),
            marked=one.variant == chosen,
        )
        for one, time in zip(candidates, durations, strict=True)
    ]
    heads = (
        Column("variant"),
        Column("neurons", number=True),
        Column("accuracy", number=True),
        Column("log-loss", number=True),
        Column(""),
        Column("time", unit, number=True),
    )
    return Grid("variants", heads, tuple(lines))
