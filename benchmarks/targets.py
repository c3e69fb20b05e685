"""Several targets: what a fit of two and of five costs beside a fit of one, at a given kernel.

Eight inputs; each target is a smooth function of two of them, with noise. Nothing is tuned, so what is shared is one
reading, one pass over the rows and one eigenproblem; each target has its own ridge, size, intervals and effects. The
ratios are within one run, of CPU seconds on one thread; the smaller of two runs.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

import enrelm
from benchmarks.measuring import Plan
from benchmarks.outcome import Goal, Outcome, Table

ROWS, COUNTS, INPUTS = 4000, (1, 2, 5), 8
OPTIONS = {"variant": "kernel", "tune": False, "weight_variance": 0.1, "bias_variance": 0.5, "threads": 1}


def run(plan: Plan) -> Outcome:
    outcome = Outcome(remarks=[str(__doc__).split("\n\n", 1)[1].replace("\n", " ").strip()])
    table = made(400 if plan.quick else ROWS)
    found = {count: min(seconds(table, count) for _ in range(2)) for count in COUNTS}
    shown = Table(
        f"A fit of {table.num_rows:,} rows at a given kernel, by its targets",
        {"targets": "n", "CPU s": "s", "over one target": "x", "over a fit of each": "x"},
    )
    for count, spent in found.items():
        shown.add(count, spent, spent / found[1], spent / (count * found[1]))
    outcome.tables.append(shown)
    outcome.goals.append(Goal("a fit of two targets over a fit of one", found[2] / found[1], 1.1, at_least=False))
    outcome.goals.append(Goal("a fit of five targets over five fits", found[5] / (5 * found[1]), 0.6, at_least=False))
    return outcome


def made(rows: int) -> pa.Table:
    """Inputs x0 to x7 and targets t0 to t4."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(rows, INPUTS))
    columns = {f"x{k}": X[:, k] for k in range(INPUTS)}
    for k in range(max(COUNTS)):
        columns[f"t{k}"] = np.sin(3.0 * X[:, k]) + X[:, (k + 1) % INPUTS] + 0.3 * rng.standard_normal(rows)
    return pa.table({name: np.ascontiguousarray(values) for name, values in columns.items()})


def seconds(table: pa.Table, count: int) -> float:
    targets = [f"t{k}" for k in range(count)]
    part = table.select([*(f"x{k}" for k in range(INPUTS)), *targets])
    begun = time.process_time()
    enrelm.fit(part, targets if count > 1 else targets[0], **OPTIONS)
    return time.process_time() - begun
