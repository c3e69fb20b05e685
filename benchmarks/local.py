"""The local variant (landmarks for the whole, exact kernels inside leaves) beside boosting and the kernel variant.

Real tables are split as in `tables`, seed 1234; generated ones have as many fresh rows to be judged on as to be fitted.
`smooth` is Friedman's function with noise 0.5; `jumps` adds steps along three of its inputs. Every method runs on all
cores, one after the other. Our seconds are those of the whole command, start, reading and tuning included; the others'
are those of `fit` and `predict` alone. The last table has the kernel variant of before the tuning was rewritten.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.contest import ROOT, Program, Result, Split, judge, split_table
from benchmarks.measuring import Plan, child
from benchmarks.outcome import Goal, Outcome, Table

REAL = {"cal_housing": "ENRELM_PAPER_DATA", "bike_hour": "ENRELM_TABLES", "house_16H": "ENRELM_TABLES"}
REAL |= {"kc_house": "ENRELM_TABLES"}
LAWS = ("smooth", "jumps")
SIZES = (20_000, 100_000, 1_000_000)
SLOWER = {20_000: 5.0, 100_000: 3.0, 1_000_000: 2.0}  # times CatBoost's seconds, at most
BELOW = {"cal_housing": 0.39, "bike_hour": 0.225}
METHODS = ("local", "kernel", "catboost", "lightgbm", "hist-gradient-boosting")
# At the largest size: what is asked for (a table of 100 MB of text is then read from disk in each pass), the most GB
# that may be in use (libraries, sums of the landmarks and the model, which holds every row, come on top), and the most
# seconds of a command: what takes longer is stopped and said, and the rest goes on.
MEMORY, PEAK, LIMIT = "300M", 1.0, 1200.0
BEFORE, BEFORE_SIZES = "eb5eba7", (500, 2_000, 20_000)  # the revision before the tuning was rewritten
WRITE = """
import sys
import numpy as np
law, rows, seed, path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
rng = np.random.default_rng(seed)
with open(path, "w") as file:
    file.write(",".join([*(f"x{k}" for k in range(1, 11)), "y"]) + "\\n")
    for start in range(0, rows, 50_000):
        X = rng.random((min(50_000, rows - start), 10))
        y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
        if law == "jumps":
            y += 4.0 * (X[:, 5] > 0.4) - 3.0 * (X[:, 6] > X[:, 7]) + 2.0 * np.floor(5.0 * X[:, 3])
        np.savetxt(file, np.column_stack([X, y + 0.5 * rng.standard_normal(len(y))]), fmt="%.6f", delimiter=",")
"""


def run(plan: Plan) -> Outcome:
    plan = replace(plan, limit=LIMIT)
    outcome = Outcome(remarks=[str(__doc__).split("\n\n", 1)[1].replace("\n", " ").strip()])
    columns = {"table": "text", "training rows": "n", "method": "text", "error": "e", "over CatBoost's": "x"}
    columns |= {"seconds": "s", "over CatBoost's seconds": "x", "predict": "s", "peak memory": "B"}
    table = Table("Errors and seconds", columns)
    # Large ones first: what this process holds when it starts a child is counted as the child's memory.
    for rows in (3_000,) if plan.quick else reversed(SIZES):
        for law in LAWS:
            if not plan.tables or law in plan.tables:
                _generated(law, rows, table, outcome, plan)
    for name, variable in REAL.items():
        folder = os.environ.get(variable)
        if not folder:
            outcome.remarks.append(f"{name} is left out: {variable} does not name its folder.")
        elif name in plan.tables or (not plan.tables and not plan.quick):
            _real(split_table(Path(folder) / f"{name}.csv", 1234, plan.folder), table, outcome, plan)
    outcome.tables.append(table)
    if not plan.tables:
        outcome.tables.append(_before(outcome, plan))
    return outcome


def _generated(law: str, rows: int, table: Table, outcome: Outcome, plan: Plan) -> None:
    bounded = ("--memory", MEMORY) if rows == SIZES[-1] else ()
    results = _contest(generate(law, rows, plan.folder), bounded, table, outcome, plan)
    name = f"{law}, {rows:,} rows"
    local, kernel = results["local"], results["kernel"]
    if local.error is None:
        return
    if (slower := _over(local.fit_seconds, results["catboost"].fit_seconds)) is not None and rows in SLOWER:
        outcome.goals.append(Goal(f"local, {name}: seconds over CatBoost's", slower, SLOWER[rows], at_least=False))
    if bounded and kernel.error is not None:
        times = local.predict_seconds / kernel.predict_seconds
        outcome.goals.append(Goal(f"local, {name}: predict over the kernel variant's", times, 5.0, at_least=False))
        peak, goal = local.peak / 1e9, f"local, {name}: peak with --memory {MEMORY}"
        outcome.goals.append(Goal(goal, peak, PEAK, at_least=False, unit=" GB"))


def _real(split: Split, table: Table, outcome: Outcome, plan: Plan) -> None:
    results = _contest(split, (), table, outcome, plan)
    ours, boosted = results["local"].error, results["catboost"].error
    if ours is not None and boosted is not None:
        outcome.goals.append(Goal(f"local, {split.name}: error over CatBoost's", ours / boosted, 1.0, at_least=False))
    if ours is not None and split.name in BELOW:
        outcome.goals.append(Goal(f"local, {split.name}: error", ours, BELOW[split.name], at_least=False, unit=""))


def _contest(split: Split, options: tuple[str, ...], table: Table, outcome: Outcome, plan: Plan) -> dict[str, Result]:
    results = {}
    for method in METHODS:
        ours = method in ("local", "kernel")
        words = ("--variant", method, *options) if ours else ()
        results[method] = judge("enrelm" if ours else method, split, plan, words)
    boosted = results["catboost"]
    for method, one in results.items():
        if one.problem:
            outcome.remarks.append(f"{split.name}, {split.rows:,} rows: {method} failed: {one.problem}")
        over = (_over(one.error, boosted.error), one.fit_seconds, _over(one.fit_seconds, boosted.fit_seconds))
        table.add(split.name, split.rows, method, one.error, *over, one.predict_seconds, one.peak or None)
    return results


def _over(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours and theirs else None


def generate(law: str, rows: int, folder: Path) -> Split:
    files = [folder / f"{law}-{rows}-{part}.csv" for part in ("train", "test")]
    for seed, path in enumerate(files):
        child([sys.executable, "-c", WRITE, law, str(rows), str(seed), path], folder)
    return Split(law, *files, rows, 10)


def _before(outcome: Outcome, plan: Plan) -> Table:
    """The kernel variant's fit against that of an older revision, in turns."""
    columns = {"rows": "n", "before": "s", "now": "s", "times faster": "x", "error before": "e", "error now": "e"}
    table = Table(f"The kernel variant before ({BEFORE}) and now, smooth", columns)
    older = _checkout(BEFORE, plan.folder / "before")
    if older is None:
        outcome.remarks.append(f"The kernel variant before: left out, there is no revision {BEFORE} here.")
        return table
    for rows in BEFORE_SIZES[:1] if plan.quick else BEFORE_SIZES:
        split = generate("smooth", rows, plan.folder)
        words = ("--variant", "kernel")
        then, now = judge("enrelm", split, plan, words, older), judge("enrelm", split, plan, words)
        if then.error is None or now.error is None:
            continue
        faster, worse = then.fit_seconds / now.fit_seconds, now.error / then.error
        table.add(rows, then.fit_seconds, now.fit_seconds, faster, then.error, now.error)
        name = f"kernel, smooth, {rows:,} rows"
        outcome.goals.append(Goal(f"{name}: times faster than {BEFORE}", faster, 3.0, at_least=True))
        outcome.goals.append(Goal(f"{name}: error over that of {BEFORE}", worse, 1.01, at_least=False))
    return table


def _checkout(revision: str, folder: Path) -> Program | None:
    folder.mkdir()
    archive: Any = subprocess.run(
        ["git", "archive", revision, "enrelm_cli"], cwd=ROOT, capture_output=True, check=False
    )
    if archive.returncode:
        return None
    subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)
    return Program(revision, ("env", f"PYTHONPATH={folder}", sys.executable, "-m", "enrelm_cli"))
