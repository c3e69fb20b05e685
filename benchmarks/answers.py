"""What a user asks first, answered in sentences from the tables of the sections that were run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.outcome import ACCURATE, FAST, NOT, Outcome

Said = tuple[str, str]  # question, answer
_SIMPLE = ("linear", "ridge")
_BOOSTED = ("LightGBM", "CatBoost")
# Rows of a generated table that is named where boosting is ahead.
_LARGE, _OVER = 100_000, "over CatBoost's"
_TIME, _ERROR = "time / enrelm's", "error / enrelm's"


def answers(name: str, outcome: Outcome) -> Iterator[Said]:
    """Those that a section wrote itself, then those that its tables give."""
    for question, texts in outcome.answers.items():
        yield from ((question, text) for text in texts)
    tables = {
        table.title: [dict(zip(table.columns, row, strict=True)) for row in table.rows] for table in outcome.tables
    }
    finders = {"splits": _splits, "kernel": _kernel, "scale": _scale, "predict": _predict, "local": _local}
    if name in finders:
        yield from finders[name](tables)


def _splits(tables: dict[str, Any]) -> Iterator[Said]:
    rows = tables.get("Ten splits", [])
    if not rows:
        return
    won = sum(row["best"] == "kernel" for row in rows)
    others = [one for one in rows[0] if one not in ("data", "rows", "kernel", "best")]
    yield ACCURATE, f"Ten splits of {len(rows)} tables: the kernel variant is better than {', '.join(others)} on {won}."
    simple = [row["data"] for row in rows if row["best"] in _SIMPLE]
    if simple:
        yield (
            NOT,
            f"Linear or ridge regression does as well or better on {', '.join(simple)}: few rows, or a linear truth.",
        )


def _kernel(tables: dict[str, Any]) -> Iterator[Said]:
    rows = tables.get("Fit, tuned, on Friedman's function", [])
    most = max((row["rows"] for row in rows), default=0)
    by_method = {row["method"]: row for row in rows if row["rows"] == most}
    ours = by_method.get("enrelm kernel")
    if ours is None:
        return
    said = [
        f"{name} takes {row[_TIME]:.2g} times that for {row[_ERROR]:.2f} times the error"
        for name, row in by_method.items()
        if name in _BOOSTED
    ]
    yield FAST, f"A kernel fit of {most:,} rows in memory: {ours['fit']:.0f} s{''.join(f'; {one}' for one in said)}."


def _scale(tables: dict[str, Any]) -> Iterator[Said]:
    rows = [row for row in tables.get("One fit from disk", []) if row["variant"] == "kernel"]
    if rows:
        last = max(rows, key=lambda row: row["rows"])
        memory = last["peak memory"] / 1e6
        yield FAST, f"A kernel fit of {last['rows']:,} rows from disk: {last['seconds']:.0f} s and {memory:.0f} MB."


def _predict(tables: dict[str, Any]) -> Iterator[Said]:
    for row in tables.get("From CSV to CSV", []):
        if row["what"] == "enrelm predict":
            yield FAST, f"Predictions of {row['rows']:,} rows, CSV to CSV: {row['seconds']:.1f} s."


def _local(tables: dict[str, Any]) -> Iterator[Said]:
    """Of generated functions the largest, where boosting has less error than we do."""
    ours = [row for row in tables.get("Errors and seconds", []) if row["method"] == "local"]
    by_name = {row["table"]: row for row in sorted(ours, key=lambda row: row["training rows"])}
    behind = [row for row in by_name.values() if row["training rows"] >= _LARGE and (row[_OVER] or 0.0) > 1.0]
    for row in behind:
        over = f"{row['table']}, {row['training rows']:,} rows: {row[_OVER]:.1f} times CatBoost's error"
        yield NOT, f"Functions with steps along their inputs, which boosting's trees cut where they are ({over})."
