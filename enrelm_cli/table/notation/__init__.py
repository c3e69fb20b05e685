"""Ways to write numbers and dates that a plain parser does not take.

A notation reads the distinct texts of a column at once. Which one a column is written in is decided over all of its
cells (census.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enrelm_cli.table.notation.dates import DATES, DateNotation, given_date
from enrelm_cli.table.notation.measures import MAX_UNIT, DurationNotation, MeasureNotation, PowerNotation
from enrelm_cli.table.notation.numbers import NumberNotation

__all__ = [
    "DATES",
    "DateNotation",
    "DurationNotation",
    "MeasureNotation",
    "Notation",
    "NumberNotation",
    "PowerNotation",
    "given_date",
    "notation_from_document",
    "number_notations",
]

Notation = NumberNotation | PowerNotation | DurationNotation | MeasureNotation | DateNotation


def number_notations(decimal: str) -> tuple[Notation, ...]:
    """Of a file whose decimal mark is said to be this, the plainest first.

    A point is the default, so it may yet turn out to be a comma.
    """
    marks = (".", ",") if decimal == "." else (",",)
    plain = [NumberNotation(mark) for mark in marks]
    powers = [PowerNotation(mark) for mark in marks]
    measures = [MeasureNotation(mark) for mark in marks]
    return (*plain, *powers, DurationNotation(), DurationNotation(minutes=True), *measures)


def notation_from_document(document: Mapping[str, Any]) -> Notation:
    """ValueError where it is none."""
    if "date" in document:
        return DateNotation(given_date(str(document["date"])).pattern, bool(document["zoned"]))
    if "duration" in document:
        return DurationNotation(document.get("clock") == "m:s")
    mark = document["power"] if "power" in document else document["decimal"]
    if mark not in (".", ","):
        raise ValueError(f"no way to write numbers: {document!r}")
    if "power" in document:
        return PowerNotation(str(mark))
    unit = document.get("unit")
    if unit is None:
        return NumberNotation(str(mark))
    if not isinstance(unit, str) or not 0 < len(unit) <= MAX_UNIT:
        raise ValueError(f"no unit: {unit!r}")
    return MeasureNotation(str(mark), unit)
