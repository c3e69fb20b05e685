"""README's table of results, from benchmarks/results.json: part of `make figures`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results.json"
BEGIN = "<!-- made by `make figures` from benchmarks/results.json: begin -->"
END = "<!-- made by `make figures` from benchmarks/results.json: end -->"


def page(text: str) -> str:
    """README with its table made again."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(json.loads(RESULTS.read_text(encoding='utf-8')))}\n{END}{after}"


def table(results: dict[str, Any]) -> str:
    """The tables that people have, where they were measured; else the paper's."""
    found = _tables(results, "tables")
    return (
        _everyday(found["Mean error"]) if "Mean error" in found else _papers(_tables(results, "splits")["Ten splits"])
    )


def _tables(results: dict[str, Any], section: str) -> dict[str, Any]:
    runs = results["sections"].get(section, {"threads": {}})["threads"]
    last = runs[max(runs, key=int)] if runs else {"tables": []}
    return {one["title"]: one for one in last["tables"]}


def _everyday(found: dict[str, Any]) -> str:
    names = list(found["columns"])
    shown = {"enrelm": "enrelm", "catboost": "CatBoost", "lightgbm": "LightGBM", "ridge": "ridge"}
    methods = [name for name in shown if name in names]
    rows = []
    for row in found["rows"]:
        cells = dict(zip(names, row, strict=True))
        best = min((cells[name] for name in methods if cells[name] is not None), default=None)
        errors = ["-" if cells[one] is None else _bold(f"{cells[one]:.3f}", cells[one] == best) for one in methods]
        rows.append([cells["table"], f"{cells['rows']:,}", *errors])
    said = "with `--target` alone, beside the defaults of gradient boosting; mean over random splits"
    return _markdown(said, ["table", "rows", *(shown[name] for name in methods)], rows)


def _papers(found: dict[str, Any]) -> str:
    names = list(found["columns"])
    shown = {
        "kernel": "`kernel`",
        "linear": "linear",
        "elm": "random ELM",
        "hist-gradient-boosting": "gradient boosting",
    }
    rows = []
    for row in found["rows"]:
        cells = dict(zip(names, row, strict=True))
        best = min(shown, key=lambda one: float(cells[one].split()[0]))
        errors = [_bold(cells[one], one == best) for one in shown]
        rows.append([cells["data"], f"{cells['rows']:,}", *errors])
    rows.sort(key=lambda row: int(row[1].replace(",", "")))
    return _markdown("mean ± standard deviation of ten random splits", ["table", "rows", *shown.values()], rows)


def _bold(text: str, best: bool) -> str:
    return f"**{text}**" if best else text


def _markdown(said: str, head: list[str], rows: list[list[str]]) -> str:
    lines = [f"Test error ‖y − ŷ‖ / ‖y − mean‖, {said}; nothing was chosen on the test rows:", ""]
    lines += [f"| {' | '.join(head)} |", f"| --- | ---: |{' ---: |' * (len(head) - 2)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def main() -> None:
    README.write_text(page(README.read_text(encoding="utf-8")), encoding="utf-8")
