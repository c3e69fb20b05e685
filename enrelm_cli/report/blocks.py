"""The blocks that reports are shown in, and the phrases that several reports share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from enrelm_cli.judge.curve import Choice, Choices, Curve
from enrelm_cli.judge.metrics import Metrics
from enrelm_cli.report import words
from enrelm_cli.report.reports import DataFacts

# How a size was chosen where every neuron is kept.
ALL = "all"


@dataclass(frozen=True)
class Bar:
    """A share of a full bar."""

    share: float  # 0..1


@dataclass(frozen=True)
class Spark:
    """A tiny bar chart of shares."""

    shares: tuple[float, ...]


Cell = str | Bar | Spark


@dataclass(frozen=True)
class Column:
    name: str
    unit: str = ""
    number: bool = False  # set to the right, never cut, never wrapped
    long: bool = False  # sentences, which a page wraps


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


def result(
    variant: str,
    neurons: int | None,
    errors: tuple[float, float],
    facts: Mapping[str, float] | None = None,
    only_size: str | None = None,
    selection: str | None = None,
    metrics: Metrics | None = None,
) -> Headline:
    """`neurons`: of the model; None where all are kept, and how many those are is known after the refit.

    `errors`: of the validation rows, and of linear regression on them.
    """
    validation_error, linear_error = errors
    leaves = (facts or {}).get("leaves")
    every = "all " if selection == ALL else ""
    size = f"{every}neurons" if neurons is None else f"{every}{words.counted(neurons, 'neuron')}"
    if leaves is not None:
        size = f"{int(leaves):,} {'leaf' if leaves == 1 else 'leaves'}"
    size = only_size or size
    text = f"{variant}, {size}: validation error {uncertain(validation_error, metrics)}"
    beside = words.against_linear(validation_error, linear_error)
    return Headline(f"{text}, {beside}" if beside else text)


def uncertain(validation_error: float, metrics: Metrics | None) -> str:
    """With its standard error, where that is known."""
    spread = None if metrics is None else metrics.spread("normalised-rmse")
    if metrics is None or spread is None or not math.isclose(metrics.normalised_rmse, validation_error, rel_tol=1e-6):
        return words.error(validation_error)
    return words.rounded(validation_error, spread)


def metrics_line(metrics: Metrics | None) -> str:
    """RMSE, MAE and R², to the digits that the data know."""
    if metrics is None:
        return ""
    named = (("RMSE", "rmse"), ("MAE", "mae"), ("R²", "r2"))
    return " · ".join(f"{name} {words.rounded(metrics.value(one), metrics.spread(one))}" for name, one in named)


def held_out(training: int, validation: int, folds: int) -> str:
    """Which rows train, and which choose."""
    if folds > 1:
        return f"{folds} folds: {words.count(validation)} rows validate once each"
    return f"{words.count(training)} training, {words.count(validation)} validation"


def read(data: DataFacts) -> str:
    text = f"{data.name}: {words.counted(data.rows, 'row')}, {words.counted(data.columns, 'column')}"
    if len(data.inputs) != data.columns:
        text += f" as {words.counted(len(data.inputs), 'input')}"
    return f"{text}, target {data.target}"


def named_choices(choices: Choices) -> list[tuple[tuple[str, ...], Choice]]:
    """The choices by size, the names of equal ones together."""
    together: dict[int, tuple[list[str], Choice]] = {}
    for name, choice in (("best", choices.best), ("knee", choices.knee), ("smallest", choices.smallest)):
        if choice is not None:
            together.setdefault(choice.neurons, ([], choice))[0].append(name)
    return [(tuple(names), choice) for _, (names, choice) in sorted(together.items())]


def sizes_offered(curve: Curve) -> list[tuple[tuple[str, ...], Choice]]:
    """The same, and the size that a fit takes where it is another one."""
    named = named_choices(curve.choices)
    if curve.chosen is None or any(choice.neurons == curve.chosen.neurons for _, choice in named):
        return named
    return sorted([*named, ((curve.selection or "chosen",), curve.chosen)], key=lambda one: one[1].neurons)


def offered(curve: Curve) -> str:
    """The sizes and their errors, in a line."""
    return " · ".join(
        f"{'/'.join(names)} {words.count(choice.neurons)} ({words.error(choice.error)})"
        for names, choice in sizes_offered(curve)
    )


def errors_line(train: float, validation: float, linear: float) -> str:
    return (
        f"training {words.error(train)} · validation {words.error(validation)}"
        f" · linear regression {words.error(linear)} (1 = predicting the mean)"
    )


def times(timings: dict[str, float]) -> str:
    parts = [f"{words.label(name)} {words.seconds(value)}" for name, value in timings.items() if name != "total"]
    total = timings.get("total", sum(timings.values()))
    return " · ".join([*parts, f"total {words.seconds(total)}"]) if timings else ""


def bar(value: float, largest: float) -> Bar:
    return Bar(min(1.0, max(0.0, value / largest)) if math.isfinite(value) and largest > 0 else 1.0)


def facts_of(*items: tuple[str, str | Iterable[str]]) -> Facts:
    kept = ((name, (value,) if isinstance(value, str) else tuple(value)) for name, value in items if value)
    return Facts(tuple((name, value) for name, value in kept if value and value != ("",)))
