"""What a section hands to the report: tables of raw numbers, goals with what was measured, remarks, points to plot."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Table:
    """Rows under columns; a column's kind says how its numbers are written: s, x, n, e(rror), g(ap), B, % or text."""

    title: str
    columns: dict[str, str]
    rows: list[list[Any]] = field(default_factory=list)

    def add(self, *cells: Any) -> None:
        assert len(cells) == len(self.columns)
        self.rows.append(list(cells))


@dataclass(frozen=True)
class Goal:
    """`measured` should be at least (or at most) `bound`."""

    what: str
    measured: float
    bound: float
    at_least: bool
    unit: str = "x"

    @property
    def met(self) -> bool:
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound


# What a user asks first.
ACCURATE, FAST, NOT = "How accurate is it?", "How fast is it?", "When is it the wrong tool?"


@dataclass
class Outcome:
    """All of a section."""

    tables: list[Table] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    points: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[str, list[str]] = field(default_factory=dict)  # to the questions that open the report

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(document: dict[str, Any]) -> Outcome:
        return Outcome(
            [Table(**table) for table in document["tables"]],
            [Goal(**goal) for goal in document["goals"]],
            document["remarks"],
            document["points"],
            document.get("answers", {}),
        )
