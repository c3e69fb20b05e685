"""New rows without the old ones: a stream of a hundred days, and what the rows that are there already cost.

Friedman's first function with ten inputs, whose linear part turns slowly into another over the days. Every night the
model of the day before predicts the day's rows and then gets them: left as it was, updated, updated with
`--forget 0.95`, or fitted afresh to all rows of the days before, every day, with a search of its own. Errors are
relative to the spread of a day's targets (1 = predicting their mean). Seconds are CPU seconds on one thread: those of
wall clocks measure whatever else the machine does.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

import enrelm
from benchmarks.measuring import Plan
from benchmarks.outcome import FAST, Goal, Outcome, Table
from enrelm_cli.commands.synthetic import friedman
from enrelm_cli.commands.updating.update import Wanted, like, update
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.settings import ReadOptions, Roles
from enrelm_cli.types import Array

DAYS, FIRST, DAILY = 100, 1000, 50
SIZES, NEW, MOST = (10_000, 100_000, 1_000_000, 10_000_000), 100_000, 1_000_000
OPTIONS = {"variant": "kernel", "landmarks": 300, "tune_steps": 20, "threads": 1}
# What a model is summed by does not change what a row costs with the rows of before.
FIXED = {
    "variant": "kernel",
    "landmarks": 100,
    "tune": False,
    "weight_variance": 0.3,
    "bias_variance": 0.3,
    "threads": 1,
}


def run(plan: Plan) -> Outcome:
    outcome = Outcome(remarks=[str(__doc__).split("\n\n", 1)[1].replace("\n", " ").strip()])
    # Both at once: CPU seconds do not mind.
    with ProcessPoolExecutor(2) as pool:
        for part in [pool.submit(stream, plan), pool.submit(sizes, plan)]:
            found = part.result()
            outcome.tables += found.tables
            outcome.goals += found.goals
            outcome.remarks += found.remarks
            outcome.answers |= found.answers
    return outcome


# ------------------------------------------------------------------------------------------------- a stream


@dataclass(frozen=True)
class Day:
    X: Array
    y: Array

    def write(self, path: Path) -> str:
        """CSV, or Parquet by the name's ending."""
        names = [f"x{k}" for k in range(self.X.shape[1])]
        columns = [*(pa.array(np.ascontiguousarray(column)) for column in self.X.T), pa.array(self.y)]
        table = pa.table(dict(zip([*names, "y"], columns, strict=True)))
        if path.suffix == ".parquet":
            parquet.write_table(table, path, compression="none", row_group_size=100_000)
        else:
            csv.write_csv(table, path)
        return str(path)


def day_of(number: int, rows: int) -> Day:
    """Day 0 is Friedman's function; by day 100 the parts of x_4 and x_5 have changed places."""
    made = friedman(rows, seed=1000 + number)
    turned = number / DAYS * 5.0 * (made.X[:, 4] - made.X[:, 3])
    return Day(made.X, made.y + turned)


def stream(plan: Plan) -> Outcome:
    outcome = Outcome()
    days, first = (10, 300) if plan.quick else (DAYS, FIRST)
    paths = [day_of(0, first).write(plan.folder / "0.csv")]
    _, path = timed_fit(paths, plan.folder / "first.joblib")
    models = dict.fromkeys(("as it was", "updated", "updated, --forget 0.95", "fitted afresh"), path)
    errors: dict[str, list[float]] = {name: [] for name in models}
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for number in range(1, days + 1):
        today = day_of(number, DAILY)
        for name, model in models.items():
            errors[name].append(error_of(model, today))
        file = today.write(plan.folder / f"{number}.csv")
        paths.append(file)
        spent, _ = timed_fit(paths, plan.folder / "fresh.joblib")
        seconds["fitted afresh"].append(spent)
        models["fitted afresh"] = str(plan.folder / "fresh.joblib")
        for name, forget in (("updated", None), ("updated, --forget 0.95", 0.95)):
            output = plan.folder / f"{'forget' if forget else 'plain'}.joblib"
            seconds[name].append(timed_update(models[name], file, output, forget))
            models[name] = str(output)
    table = Table(
        f"A stream of {days} days: {first:,} rows, then {DAILY} a day",
        {"model": "text", "CPU s a day": "s", "CPU s on the last days": "s", "error": "e"},
    )
    for name, found in errors.items():
        spent = [float(np.mean(part)) if part else 0.0 for part in (seconds[name], seconds[name][-5:])]
        table.add(name, *spent, float(np.mean(found)))
    outcome.tables.append(table)
    ratio = float(np.mean(seconds["fitted afresh"]) / np.mean(seconds["updated"]))
    outcome.goals.append(Goal("a fit of all rows takes so many times an update's seconds", ratio, 2.0, at_least=True))
    behind = float(np.mean(errors["updated, --forget 0.95"]) / np.mean(errors["fitted afresh"]))
    outcome.goals.append(
        Goal("error of updates that forget over that of a fit every day", behind, 1.02, at_least=False)
    )
    outcome.answers[FAST] = [
        f"A nightly `update` of {DAILY} rows takes {np.mean(seconds['updated']):.1f} CPU s, a fit of all rows so far "
        f"{ratio:.1f} times as long."
    ]
    return outcome


def timed_fit(paths: list[str], output: Path, options: dict[str, Any] = OPTIONS) -> tuple[float, str]:
    begun = time.process_time()
    enrelm.fit(paths, "y", updatable=True, **options).save(output)
    return time.process_time() - begun, str(output)


def timed_update(model: str, new: str, output: Path, forget: float | None = None) -> float:
    begun = time.process_time()
    update(Wanted(model, (new,), forget=forget, output=str(output)), ReadOptions(), LocalEngine(1))
    return time.process_time() - begun


def error_of(model: str, day: Day) -> float:
    predicted = enrelm.load(model).predict(day.X)
    return float(np.sqrt(np.mean((day.y - predicted) ** 2)) / np.std(day.y))


# ------------------------------------------------------------------------------------------------- rows of before


def sizes(plan: Plan) -> Outcome:
    """Models of more and more rows, made by updates, and the seconds of the same new rows into each."""
    outcome = Outcome()
    shapes, rows, most = ((1000, 3000), 1000, 1000) if plan.quick else (SIZES, NEW, MOST)
    new = day_of(1, rows).write(plan.folder / "new.csv")
    old = day_of(0, shapes[0]).write(plan.folder / "old.csv")
    _, model = timed_fit([old], plan.folder / "model.joblib", FIXED)
    table = Table(
        f"An update of {rows:,} rows, by the rows that the model has already",
        {"rows of the model": "n", "CPU s": "s", "model file": "B"},
    )
    alone = min(timed_like(model, new) for _ in range(2))
    table.add(0, alone, Path(model).stat().st_size)
    have, found = shapes[0], []
    for size in shapes:
        while have < size:
            more = day_of(1000 + have // 1000, min(size - have, most)).write(plan.folder / "old.parquet")
            timed_update(model, more, Path(model))
            have += min(size - have, most)
        found.append(min(timed_update(model, new, plan.folder / "out.joblib") for _ in range(2)))
        table.add(size, found[-1], Path(model).stat().st_size)
    outcome.tables.append(table)
    last, first = f"{shapes[-1]:,}", f"{shapes[0]:,}"
    outcome.goals.append(Goal(f"seconds into {last} rows over seconds into {first}", found[-1] / found[0], 1.2, False))
    outcome.goals.append(
        Goal(f"seconds into {last} rows over a `fit --like` of the new rows alone", found[-1] / alone, 1.2, False)
    )
    outcome.remarks.append(
        f"Models of more than {first} rows are made by updates with Parquet files of at most {most:,} rows; that of no "
        "rows is `fit --like` of the new rows alone. A model of more rows keeps no more numbers than one of 8,192."
    )
    return outcome


def timed_like(parent: str, new: str) -> float:
    begun = time.process_time()
    like(parent, (new,), Roles(), ReadOptions(), LocalEngine(1))
    return time.process_time() - begun
