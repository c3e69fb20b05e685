"""New rows without the old ones: a stream of a hundred days, and what the rows that are there already cost.

Friedman's first function with ten inputs, whose linear part turns slowly into another over the days. Every night the
model of the day before predicts the day's rows and then gets them: left as it was, updated, updated with
`--forget 0.95`, or fitted afresh to all rows (on every tenth day, for its cost; its seconds are those of one fit).
Errors are relative to the spread of a day's targets (1 = predicting their mean). Seconds are CPU seconds on one
thread: those of wall clocks measure whatever else the machine does.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

import enrelm
from benchmarks.measuring import Plan
from benchmarks.outcome import FAST, Goal, Outcome, Table
from enrelm_cli.commands.synthetic import friedman
from enrelm_cli.commands.updating.update import Wanted, update
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.settings import ReadOptions
from enrelm_cli.types import Array

DAYS, FIRST, DAILY, EVERY = 100, 1000, 50, 10
SIZES, NEW, LANDMARKS = (10_000, 100_000, 1_000_000), 100_000, 300
OPTIONS = {"variant": "kernel", "landmarks": LANDMARKS, "tune_steps": 60, "threads": 1}


def run(plan: Plan) -> Outcome:
    outcome = Outcome(remarks=[str(__doc__).split("\n\n", 1)[1].replace("\n", " ").strip()])
    stream(plan, outcome)
    sizes(plan, outcome)
    return outcome


# ------------------------------------------------------------------------------------------------- a stream


@dataclass(frozen=True)
class Day:
    X: Array
    y: Array

    def write(self, path: Path) -> str:
        names = [f"x{k}" for k in range(self.X.shape[1])]
        columns = [*(pa.array(column) for column in self.X.T), pa.array(self.y)]
        csv.write_csv(pa.table(dict(zip([*names, "y"], columns, strict=True))), path)
        return str(path)


def day_of(number: int, rows: int) -> Day:
    """Day 0 is Friedman's function; by day 100 the parts of x_4 and x_5 have changed places."""
    made = friedman(rows, seed=1000 + number)
    turned = number / DAYS * 5.0 * (made.X[:, 4] - made.X[:, 3])
    return Day(made.X, made.y + turned)


def stream(plan: Plan, outcome: Outcome) -> None:
    days, first = (10, 300) if plan.quick else (DAYS, FIRST)
    paths = [day_of(0, first).write(plan.folder / "0.csv")]
    _, path = timed_fit(paths, plan.folder / "first.joblib")
    models = dict.fromkeys(("as it was", "updated", "updated, --forget 0.95", "fitted afresh"), path)
    errors: dict[str, list[float]] = {name: [] for name in models}
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for number in range(1, days + 1):
        today = day_of(number, DAILY)
        file = today.write(plan.folder / f"{number}.csv")
        due = number % EVERY == 0
        if due:
            # A fit of every row until yesterday, to be compared on the same day.
            spent, models["fitted afresh"] = timed_fit(paths, plan.folder / f"fresh{number}.joblib")
            seconds["fitted afresh"].append(spent)
        for name, model in models.items():
            if name != "fitted afresh" or due:
                errors[name].append(error_of(model, today))
        paths.append(file)
        for name, forget in (("updated", None), ("updated, --forget 0.95", 0.95)):
            output = plan.folder / f"{'forget' if forget else 'plain'}.joblib"
            seconds[name].append(timed_update(models[name], file, output, forget))
            models[name] = str(output)
    table = Table(
        f"A stream of {days} days: {first:,} rows, then {DAILY} a day",
        {"model": "text", "CPU s a day": "s", "error": "text", f"error, every {EVERY}th day": "e"},
    )
    for name, found in errors.items():
        every = found if name == "fitted afresh" else found[EVERY - 1 :: EVERY]
        own = "" if name == "fitted afresh" else f"{np.mean(found):.4f}"
        table.add(name, float(np.mean(seconds[name])) if seconds[name] else 0.0, own, float(np.mean(every)))
    outcome.tables.append(table)
    ratio = float(np.mean(seconds["fitted afresh"]) / np.mean(seconds["updated"]))
    outcome.goals.append(Goal("a fit of all rows takes so many times an update's seconds", ratio, 2.0, at_least=True))
    outcome.answers[FAST] = [
        f"A nightly `update` of {DAILY} rows takes {np.mean(seconds['updated']):.1f} CPU s, a fit of all rows so far "
        f"{ratio:.0f} times as long."
    ]


def timed_fit(paths: list[str], output: Path) -> tuple[float, str]:
    begun = time.process_time()
    enrelm.fit(paths, "y", updatable=True, **OPTIONS).save(output)
    return time.process_time() - begun, str(output)


def timed_update(model: str, new: str, output: Path, forget: float | None = None) -> float:
    begun = time.process_time()
    update(Wanted(model, (new,), forget=forget, output=str(output)), ReadOptions(), LocalEngine(1))
    return time.process_time() - begun


def error_of(model: str, day: Day) -> float:
    predicted = enrelm.load(model).predict(day.X)
    return float(np.sqrt(np.mean((day.y - predicted) ** 2)) / np.std(day.y))


# ------------------------------------------------------------------------------------------------- rows of before


def sizes(plan: Plan, outcome: Outcome) -> None:
    """Models of more and more rows, made by updates, and the seconds of the same new rows into each."""
    shapes, rows = ((1000, 3000), 1000) if plan.quick else (SIZES, NEW)
    new = day_of(1, rows).write(plan.folder / "new.csv")
    _, model = timed_fit([day_of(0, shapes[0]).write(plan.folder / "old.csv")], plan.folder / f"{shapes[0]}.joblib")
    table = Table(
        f"An update of {rows:,} rows, by the rows that the model has already",
        {"rows of the model": "n", "CPU s": "s", "model file": "B"},
    )
    found = []
    for k, size in enumerate(shapes):
        if k:
            more = day_of(200 + k, size - shapes[k - 1]).write(plan.folder / "old.csv")
            timed_update(model, more, plan.folder / f"{size}.joblib")
            model = str(plan.folder / f"{size}.joblib")
        found.append(min(timed_update(model, new, plan.folder / "out.joblib") for _ in range(2)))
        table.add(size, found[-1], Path(model).stat().st_size)
    outcome.tables.append(table)
    what = f"seconds into {shapes[-1]:,} rows over seconds into {shapes[0]:,}"
    outcome.goals.append(Goal(what, found[-1] / found[0], 1.2, at_least=False))
    outcome.remarks.append(
        f"Models of more than {shapes[0]:,} rows are made by updates, up to {shapes[-1]:,} and not 10 million, which "
        "would only take longer: a model of more rows keeps no more numbers than one of 8,192."
    )
