"""README's table of results and what it says of speed, from benchmarks/results.json: part of `make figures`."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mode
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results.json"
BEGIN = "<!-- made by `make figures` from benchmarks/results.json: begin -->"
END = "<!-- made by `make figures` from benchmarks/results.json: end -->"


def page(text: str) -> str:
    """README with its table, and the lines under it, made again."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return f"{before}{BEGIN}\n{table(results)}\n\n{speed(results)}\n{END}{after}"


def table(results: dict[str, Any]) -> str:
    """Errors on the tables that people have, the best one of each in bold."""
    found = _rows(results, "tables", "Mean error")
    shown = {"enrelm": "enrelm", "catboost": "CatBoost", "lightgbm": "LightGBM", "ridge": "ridge"}
    methods = [name for name in shown if name in found[0]]
    rows = []
    for cells in found:
        best = min((cells[name] for name in methods if cells[name] is not None), default=None)
        errors = ["-" if cells[one] is None else _bold(f"{cells[one]:.3f}", cells[one] == best) for one in methods]
        rows.append([cells["table"], f"{cells['rows']:,}", *errors])
    head = ["table", "rows", *(shown[name] for name in methods)]
    lines = [
        "Test error ‖y − ŷ‖ / ‖y − mean‖ with `--target` alone, compared with the defaults of gradient boosting; "
        f"mean of {_splits(found)}; nothing was chosen on the test rows:",
        "",
        f"| {' | '.join(head)} |",
        f"| --- | ---: |{' ---: |' * len(methods)}",
    ]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def speed(results: dict[str, Any]) -> str:
    """How long a fit takes, in memory and from disk, and beside boosting."""
    in_memory = _rows(results, "kernel", "Fit, tuned, on Friedman's function")
    from_disk = [row for row in _rows(results, "scale", "One fit from disk") if row["variant"] == "kernel"][-1]
    beside = _rows(results, "tables", "Our error over theirs, and our seconds")[-1]  # the geometric mean
    times = [f"{row['fit']:.2g} s for {row['rows']:,}" for row in in_memory if row["method"] == "enrelm kernel"]
    minutes, memory = from_disk["seconds"] / 60, from_disk["peak memory"] / 1e6
    slower = beside["seconds over CatBoost's"]
    return (
        f"On two cores, `--variant kernel` with tuning takes {', '.join(times[:-1])} and {times[-1]} rows of ten "
        f"numbers in memory,\nand {minutes:.2g} minutes and {memory:.0f} MB for {from_disk['rows']:,} rows from disk. "
        f"Gradient boosting is faster: on these tables `fit` takes\n{slower:.2g} times as long as CatBoost."
    )


def _rows(results: dict[str, Any], section: str, title: str) -> list[dict[str, Any]]:
    """The rows of a table, measured on all cores."""
    runs = results["sections"][section]["threads"]
    found = next(one for one in runs[max(runs, key=int)]["tables"] if one["title"] == title)
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def _splits(rows: list[dict[str, Any]]) -> str:
    """How many random splits: the usual number, and the tables that have another."""
    usual = mode(row["splits"] for row in rows)
    others = [f"{row['splits']} of {row['table']}" for row in rows if row["splits"] != usual]
    return f"{usual} random splits" + (f" ({', '.join(others)})" if others else "")


def _bold(text: str, best: bool) -> str:
    return f"**{text}**" if best else text


def main() -> None:
    README.write_text(page(README.read_text(encoding="utf-8")), encoding="utf-8")
