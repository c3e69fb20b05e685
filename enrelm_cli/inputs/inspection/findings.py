"""What is worth saying about a table before it is fitted: what stops a fit, what to look at, what was decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from enrelm_cli.errors import UserError

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One of them."""

    level: Level  # error: the table cannot be fitted; warning: the fit may mislead; note: what was decided
    kind: str  # one word for programs
    column: str | None
    text: str
    option: str | None = None  # what to type
    effect: str | None = None  # what that does, or how to solve it without an option

    @property
    def line(self) -> str:
        """For people."""
        remedy = " ".join(filter(None, (self.option, self.effect)))
        between = "\n  " if "\n" in self.text else " " if self.text.endswith(",") else "; "
        return f"{self.text}{between}{remedy}" if remedy else self.text

    @property
    def why(self) -> str:
        """Of a column that is left out: the reason alone."""
        return self.text.partition("left out: ")[2]

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def two_values(target: str | None = None) -> Finding:
    """A number with two values is rather a class."""
    text = f"target{'' if target is None else f' {target!r}'}: two values, fitted as numbers"
    return Finding("note", "target", target, text, "--task classification", "makes them classes with probabilities")


def unfit(kind: str, problem: UserError, column: str | None = None) -> Finding:
    """An error that a fit would end with."""
    return Finding("error", kind, column, problem.problem, None, problem.hint)
