"""Writes the table of docs/activations.md: `make activations`, with the extra `nngp`, some minutes on two cores."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "activations.md"
BEGIN, END = "<!-- made by `make activations`: begin -->", "<!-- made by `make activations`: end -->"
TABLES = {"friedman": "y", "houses": "price"}
ACTIVATIONS = ("erf", "algebraic", "tanh", "arctan")
METHODS = ("kernel", "approximate", "incremental")
SPLITS = 3


def page(text: str, table: str) -> str:
    """The page with another table."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


def lines(name: str, activations: tuple[str, ...] = ACTIVATIONS) -> list[str]:
    """A row of the table for each activation, erf first: the others' seconds are over its."""
    found = {one: compared(name, one) for one in activations}
    erf = found["erf"]["kernel"]["fit_seconds"]
    return [
        f"| {name} | {activation} | {' | '.join(_error(methods[method]) for method in METHODS)} "
        f"| {methods['kernel']['fit_seconds'] / erf:.0f}× |"
        for activation, methods in found.items()
    ]


def compared(name: str, activation: str) -> dict[str, Any]:
    """What `enrelm compare` finds, by method."""
    words = [sys.executable, "-m", "enrelm_cli", "compare", str(ROOT / "sample_data" / f"{name}.csv")]
    words += ["--target", TABLES[name], "--activation", activation, "--repeats", str(SPLITS)]
    words += [word for method in METHODS for word in ("--method", method)]
    done = subprocess.run([*words, "--format", "json", "-q"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return {row["method"]: row for row in json.loads(done.stdout)["rows"]}


def _error(row: dict[str, Any]) -> str:
    return f"{row['error']:.3f} ± {row['error_std']:.3f}"


def main() -> None:
    head = ["table", "`--activation`", *(f"`{method}`" for method in METHODS), "time of `kernel`"]
    rows = [f"| {' | '.join(head)} |", f"| --- | --- |{' ---: |' * (len(METHODS) + 1)}"]
    for name in TABLES:
        rows += lines(name)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), "\n".join(rows)), encoding="utf-8")


if __name__ == "__main__":
    main()
