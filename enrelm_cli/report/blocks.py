"""The blocks that reports are shown in, and the phrases that several reports share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from enrelm_cli.judge.curve import Choice, Choices
from enrelm_cli.report import words
from enrelm_cli.report.reports import DataFacts


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
    neurons: int,
    validation_error: float,
    linear_error: float,
    facts: Mapping[str, float] | None = None,
    only_size: str | None = None,
) -> Headline:
    leaves = (facts or {}).get("leaves")
    size = words.counted(neurons, "neuron")
    if leaves is not None:
        size = f"{int(leaves):,} {'leaf' if leaves == 1 else 'leaves'}"
    size = only_size or size
    text = f"{variant}, {size}: validation error {words.error(validation_error)}"
    beside = words.against_linear(validation_error, linear_error)
    return Headline(f"{text}, {beside}" if beside else text)


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
