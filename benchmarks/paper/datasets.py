"""The eight real datasets: where they come from, what they look like, and how a folder of files differs from that.

The datasets are not part of the project. What is known of each file is a fingerprint of every column, so that the
checker can name the column that differs without holding a single value of it.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.paper.fingerprints import FINGERPRINTS, Fingerprint


@dataclass(frozen=True)
class RealData:
    """One dataset of the paper."""

    name: str  # of the file, without .csv
    title: str  # in the paper
    target: str
    categorical: tuple[str, ...]  # one-hot encoded, as in the paper
    source: str  # page
    file: str  # on that page
    recipe: str  # from that file to ours


_UCI = "https://archive.ics.uci.edu/dataset"
_PORTO = "https://www.dcc.fc.up.pt/~ltorgo/Regression"
_ESL = "https://hastie.su.domains/ElemStatLearn"

REAL = (
    RealData(
        "abalone", "Abalone", "Rings", ("Sex",), f"{_UCI}/1/abalone", "abalone.data",
        "no header: name the nine columns as listed; nothing is left out. Sex (M, F, I) is one-hot encoded.",
    ),
    RealData(
        "auto_mpg", "Auto MPG", "mpg", ("model_year", "origin"), f"{_UCI}/9/auto+mpg", "auto-mpg.data",
        "columns separated by blanks, mpg first: leave out car_name and the six rows whose horsepower is '?', put mpg "
        "last. model_year and origin are one-hot encoded, cylinders is a number.",
    ),
    RealData(
        "cal_housing", "California Housing", "medianHouseValue", (), f"{_PORTO}/cal_housing.html", "cal_housing.data",
        "no header: name the nine columns as listed (they are those of cal_housing.domain). The target stays in "
        "dollars; the paper divides it by 100,000, which changes no relative error.",
    ),
    RealData(
        "delta_ailerons", "Delta Ailerons", "Sa", (), f"{_PORTO}/delta_ailerons.html", "delta_ailerons.data",
        "columns separated by blanks, no header: name the six columns as listed.",
    ),
    RealData(
        "la_ozone", "LA Ozone", "ozone", (), f"{_ESL}/data.html", "LAozone.data",
        "has a header; ozone comes first in it and last in ours. All nine inputs are kept, doy (day of the year) too.",
    ),
    RealData(
        "machine_cpu", "Machine CPU", "PRP", (), f"{_UCI}/29/computer+hardware", "machine.data",
        "no header: vendor, model, MYCT, MMIN, MMAX, CACH, CHMIN, CHMAX, PRP, ERP. Leave out vendor, model and ERP "
        "(somebody's prediction of PRP). The largest PRP is 1150; the paper prints 1550.",
    ),
    RealData(
        "prostate", "Prostate Cancer", "lpsa", (), f"{_ESL}/data.html", "prostate.data",
        "separated by tabs, with a header: leave out the row numbers and the column train.",
    ),
    RealData(
        "servo", "Servo", "class", ("motor", "screw", "pgain", "vgain"), f"{_UCI}/87/servo", "servo.data",
        "no header: motor, screw, pgain, vgain, class. All four inputs are one-hot encoded, the two gains too.",
    ),
)  # fmt: skip
BY_NAME = {one.name: one for one in REAL}


@dataclass(frozen=True)
class Verdict:
    """What the checker says of one file."""

    name: str
    state: str  # right, missing, differs
    details: tuple[str, ...] = ()


def fingerprint(cells: Sequence[str]) -> Fingerprint:
    """Of one column, independent of how its numbers are written (130 or 130.0)."""
    numbers = [_number(cell) for cell in cells]
    if all(value is not None for value in numbers):
        known = [value for value in numbers if value is not None]
        texts = [f"{value + 0.0:.9g}" for value in known]
        span = (min(known), max(known), math.fsum(known) / len(known)) if known else (0.0, 0.0, 0.0)
    else:
        texts, span = [cell.strip() for cell in cells], None
    return Fingerprint(_digest(texts), _digest(sorted(texts)), len(texts), span)


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _digest(texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def read_columns(path: Path) -> dict[str, list[str]]:
    """A CSV file with a header, as columns of texts; short rows are padded with nothing."""
    with path.open(newline="", encoding="utf-8-sig") as stream:
        header, *rows = [row for row in csv.reader(stream) if row] or [[]]
    return {
        name.strip(): [row[k] if k < len(row) else "" for row in rows] for k, name in enumerate(header) if name.strip()
    }


def check(folder: Path) -> list[Verdict]:
    """Every dataset's file: right, missing, or what differs."""
    return [check_file(one.name, folder / f"{one.name}.csv") for one in REAL]


def check_file(name: str, path: Path) -> Verdict:
    """One file against what is known of it."""
    if not path.is_file():
        return Verdict(name, "missing", (f"there is no {path}",))
    try:
        found = {column: fingerprint(cells) for column, cells in read_columns(path).items()}
    except (OSError, UnicodeDecodeError, csv.Error) as reason:
        return Verdict(name, "differs", (f"cannot be read as CSV: {reason}",))
    details = tuple(_differences(FINGERPRINTS[name], found))
    return Verdict(name, "differs" if details else "right", details)


def _differences(known: dict[str, Fingerprint], found: dict[str, Fingerprint]) -> list[str]:
    rows, wanted = next(iter(found.values())).rows if found else 0, next(iter(known.values())).rows
    details = [] if rows == wanted else [f"{rows} rows, not {wanted}"]
    spare = {name: one for name, one in found.items() if name not in known}
    for name, one in known.items():
        if name in found:
            continue
        twin = next((other for other, print_ in spare.items() if print_.ordered == one.ordered), None)
        if twin is not None:
            spare.pop(twin)
        details.append(f"column {name!r} is missing" if twin is None else f"column {name!r} is called {twin!r} here")
    details += [f"column {name!r} does not belong there" for name in spare]
    if rows != wanted:
        return details
    changed = [name for name, one in known.items() if name in found and found[name].ordered != one.ordered]
    moved = [name for name in changed if found[name].unordered == known[name].unordered]
    if moved and len(moved) == len(changed):
        details.append("the same values in another order of rows: the paper's split numbers the rows of its files")
        return details
    return details + [f"column {name!r}: {_gap(known[name], found[name])}" for name in changed]


def _gap(known: Fingerprint, found: Fingerprint) -> str:
    if known.span is None or found.span is None:
        kinds = ("text" if known.span is None else "numbers", "text" if found.span is None else "numbers")
        return "other values" if kinds[0] == kinds[1] else f"{kinds[1]} instead of {kinds[0]}"
    if known.unordered == found.unordered:
        return "the same values in another order"
    low, high, mean = known.span
    return (
        f"other values: {found.span[0]:.6g} to {found.span[1]:.6g}, mean {found.span[2]:.6g}; "
        f"not {low:.6g} to {high:.6g}, mean {mean:.6g}"
    )


def data_page() -> str:
    """DATA.md: how a reader gets each file."""
    lines = [
        "# The eight real datasets",
        "",
        "They are not part of this project. Each comes from a public page; the file is CSV with a header, unscaled,",
        "categories as labels, **rows in the order of the source** (the paper's split numbers them), target last.",
        "`python -m benchmarks.paper --check FOLDER` tells which files of a folder are right, which are",
        "missing and which column, row count or value differs; the fingerprints it compares with are in",
        "`benchmarks/paper/fingerprints.py`.",
        "",
    ]
    for one in REAL:
        columns = FINGERPRINTS[one.name]
        rows = next(iter(columns.values())).rows
        categories = ", ".join(one.categorical) or "none"
        lines += [
            f"## {one.title}: `{one.name}.csv`",
            f"- source: <{one.source}>, file `{one.file}`",
            f"- {rows:,} rows; columns: {', '.join(columns)}; target: {one.target}; one-hot encoded: {categories}",
            f"- from the source to our file: {one.recipe}",
            "",
        ]
    return "\n".join(lines)
