"""Ten rows predicted 10,000 times from Python: microseconds per call.

Friedman's first function, 2,000 rows and 10 inputs. Every library predicts the same ten rows through its scikit-learn
estimator, from a numpy array and from a pandas frame; blocks of calls take turns, and the median block counts. Trees
and kernels have the libraries' defaults; enrelm's kernel model has 1,000 landmarks.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measuring import Plan, missing
from benchmarks.outcome import Goal, Outcome, Table
from enrelm import EnrelmRegressor
from enrelm_cli.commands.synthetic import friedman

ROWS, AT_ONCE, BLOCKS = 2000, 10, 10
OURS, PAPER = "enrelm kernel", "enrelm approximate"


def run(plan: Plan) -> Outcome:
    outcome = Outcome(remarks=[str(__doc__).split("\n\n", 1)[1].replace("\n", " ").strip()])
    calls = 200 if plan.quick else 10_000
    made = friedman(300 if plan.quick else ROWS)
    X, y = made.X, made.y
    absent = missing("pandas", "lightgbm", "catboost", "sklearn")
    outcome.remarks += [f"{name} is left out: {why}" for name, why in absent.items()]
    models = {name: make().fit(X, y) for name, make in contenders(absent).items()}
    kinds: dict[str, Any] = {"array": np.ascontiguousarray(X[:AT_ONCE])}
    framed: dict[str, Any] = {}
    if "pandas" not in absent:
        import pandas

        frame = pandas.DataFrame(X, columns=[f"input{k}" for k in range(X.shape[1])])
        kinds["data frame"] = frame.head(AT_ONCE)
        framed = {name: make().fit(frame, y) for name, make in contenders(absent).items()}
    columns = {"library": "text", "from": "text", "µs per call": "n", "enrelm kernel / it": "x"}
    table = Table("Ten rows at a time", columns)
    for kind, rows in kinds.items():
        of_kind = models if kind == "array" else framed
        times = measured({name: partial(model.predict, rows) for name, model in of_kind.items()}, calls)
        for name, seconds in times.items():
            table.add(name, kind, round(1e6 * seconds), times[OURS] / seconds)
        others = [seconds for name, seconds in times.items() if not name.startswith("enrelm")]
        if others:
            what = f"ten rows, {kind}: enrelm kernel's time over the quickest other's"
            outcome.goals.append(Goal(what, times[OURS] / min(others), 1.0, at_least=False))
    outcome.tables.append(table)
    return outcome


def contenders(absent: dict[str, str]) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        OURS: lambda: EnrelmRegressor(variant="kernel", landmarks=1000, tune_steps=50, threads=1),
        PAPER: lambda: EnrelmRegressor(variant="approximate", neurons=20, threads=1),
    }
    if "lightgbm" not in absent:
        from lightgbm import LGBMRegressor

        found["LightGBM"] = lambda: LGBMRegressor(verbosity=-1, n_jobs=1)
    if "catboost" not in absent:
        from catboost import CatBoostRegressor

        found["CatBoost"] = lambda: CatBoostRegressor(verbose=False, allow_writing_files=False, thread_count=1)
    if "sklearn" not in absent:
        from sklearn.kernel_ridge import KernelRidge

        found["scikit-learn KernelRidge"] = lambda: KernelRidge(kernel="rbf")
    return found


def measured(calls: dict[str, Callable[[], Any]], times: int) -> dict[str, float]:
    """Seconds per call: the median of blocks that take turns."""
    blocks: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(BLOCKS):
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            for _ in range(times // BLOCKS):
                call()
            blocks[name].append((time.perf_counter() - start) / (times // BLOCKS))
    return {name: statistics.median(seconds) for name, seconds in blocks.items()}
