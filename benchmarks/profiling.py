"""Where the time of fit and predict goes: the report's own phases, and the functions with the most time of their own.

The phases are those of a run on all cores. The functions come from cProfile on one thread, so that all of the work is
in the thread that it watches; functions of compiled code count as what called them into the profile.
"""

from __future__ import annotations

import json
import pstats
import sys
from pathlib import Path

from benchmarks import data
from benchmarks.measuring import Plan, child, enrelm
from benchmarks.outcome import Outcome, Table

TOP = 8


def run(plan: Plan) -> Outcome:
    outcome = Outcome(remarks=[str(__doc__).split("\n\n", 1)[1].replace("\n", " ").strip()])
    phases = Table("Phases", {"rows": "n", "command": "text", "total": "s", "seconds of each phase": "text"})
    top = Table("Functions", {"rows": "n", "command": "text", "share": "%", "own time": "s", "calls": "n"})
    top.columns |= {"function": "text"}
    for rows in (1_000,) if plan.quick else (1_000, 100_000, 1_000_000):
        path = data.friedman_file(rows, plan.folder / "profile.csv")
        for variant in ("incremental", "kernel"):
            model, report = plan.folder / "profile.joblib", plan.folder / "profile.json"
            fit = ("fit", path, "-t", "y", "--variant", variant, "-o", model, "-f", "json", "-q")
            predict = ("predict", model, path, "-o", plan.folder / "out.csv", "-q", "--report", report)
            done = child(enrelm(*fit), plan.folder)
            _phases(phases, rows, f"fit, {variant}", json.loads(done.out)["timings"], done.seconds)
            done = child(enrelm(*predict), plan.folder)
            _phases(phases, rows, f"predict, {variant}", json.loads(report.read_text())["timings"], done.seconds)
            _functions(top, rows, f"fit, {variant}", fit, plan.folder)
            _functions(top, rows, f"predict, {variant}", predict, plan.folder)
    outcome.tables += [phases, top]
    return outcome


def _phases(table: Table, rows: int, command: str, timings: dict[str, float], seconds: float) -> None:
    parts = {name: taken for name, taken in timings.items() if name != "total"}
    parts["start, end and the rest"] = seconds - sum(parts.values())
    ordered = sorted(parts.items(), key=lambda part: -part[1])
    table.add(rows, command, seconds, ", ".join(f"{name} {taken:.2f}" for name, taken in ordered))


def _functions(table: Table, rows: int, command: str, words: tuple[str | Path, ...], folder: Path) -> None:
    kept = folder / "profile.pstats"
    child([sys.executable, "-m", "cProfile", "-o", kept, "-m", "enrelm_cli", *words, "--threads", "1"], folder)
    stats = pstats.Stats(str(kept)).stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in stats.values())
    for (file, line, name), (_, calls, own, _, _) in sorted(stats.items(), key=lambda one: -one[1][2])[:TOP]:
        where = name if file == "~" else f"{'/'.join(Path(file).parts[-2:])}:{line} {name}"
        table.add(rows, command, own / total, own, calls, where)
