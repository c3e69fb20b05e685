"""predict, CSV to CSV: a hidden layer of 20 neurons, 10 inputs, whole processes.

The stagewise path of Friedman's 10 inputs ends with 10 neurons (the hidden outputs are nearly linear in the inputs), so
the 20 neurons are those of the approximate variant: predicting is the same computation. Measured against pyarrow alone,
which reads the file and writes one of its columns, and against LightGBM (100 trees) with pandas reading and writing.
Prediction columns have every digit of a double and those of the file six decimals, so pyarrow is also timed writing
full doubles.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks import data
from benchmarks.measuring import Plan, child, children, enrelm, missing
from benchmarks.outcome import Goal, Outcome, Table

ARROW = """
import sys
from pyarrow import csv
table = csv.read_csv(sys.argv[1])
csv.write_csv(table.select(["y"]), sys.argv[2])
"""
ARROW_DIGITS = """
import sys
import pyarrow.compute as pc
import pyarrow as pa
from pyarrow import csv
table = csv.read_csv(sys.argv[1])
csv.write_csv(pa.table({"y": pc.divide(table["y"], 3.0)}), sys.argv[2])
"""
LIGHTGBM_FIT = """
import sys
import lightgbm, pandas
table = pandas.read_csv(sys.argv[1])
model = lightgbm.LGBMRegressor(random_state=0, verbosity=-1).fit(table.drop(columns="y"), table["y"])
model.booster_.save_model(sys.argv[2])
"""
LIGHTGBM = """
import sys
import lightgbm, pandas
table = pandas.read_csv(sys.argv[1])
y = lightgbm.Booster(model_file=sys.argv[2]).predict(table.drop(columns="y"))
pandas.DataFrame({"prediction": y}).to_csv(sys.argv[3], index=False)
"""
NEURONS = 20


def small_model(folder: Path) -> Path:
    """A hidden layer of 20 neurons."""
    rows, model = data.friedman_file(20_000, folder / "fit.csv"), folder / "small.joblib"
    words = ("--variant", "approximate", "--neurons", str(NEURONS), "-o", model, "-f", "json")
    facts = json.loads(child(enrelm("fit", rows, "-t", "y", *words), folder).out)
    assert facts["neurons"] == NEURONS, facts["neurons"]
    return model


def run(plan: Plan) -> Outcome:
    outcome = Outcome(remarks=[str(__doc__).split("\n\n", 1)[1].replace("\n", " ").strip()])
    rows = 50_000 if plan.quick else 1_000_000
    folder, python = plan.folder, sys.executable
    model, table = small_model(folder), data.friedman_file(rows, folder / "predict.csv")
    commands = {
        "enrelm predict": enrelm("predict", model, table, "-o", folder / "ours.csv", "-q"),
        "pyarrow, one column": [python, "-c", ARROW, table, folder / "arrow.csv"],
        "pyarrow, full doubles": [python, "-c", ARROW_DIGITS, table, folder / "digits.csv"],
    }
    absent = missing("lightgbm", "pandas")
    outcome.remarks += [f"{name} is left out: {why}" for name, why in absent.items()]
    if not absent:
        child([python, "-c", LIGHTGBM_FIT, folder / "fit.csv", folder / "trees.txt"], folder)
        trees = (folder / "trees.txt", folder / "trees.csv")
        commands["LightGBM + pandas"] = [python, "-c", LIGHTGBM, table, *trees]
    runs = children(commands, 2 if plan.quick else 5, folder)
    own = runs["enrelm predict"].median
    columns = {"rows": "n", "what": "text", "seconds": "s", "CPU": "s", "peak memory": "B", "enrelm / it": "x"}
    shown = Table("From CSV to CSV", columns | {"spread": "%"})
    for name, mine in runs.items():
        last = mine.result
        shown.add(rows, name, mine.median, last.cpu, last.peak, own / mine.median, mine.spread)
    outcome.tables.append(shown)
    arrow = own / runs["pyarrow, one column"].median
    outcome.goals.append(Goal(f"predict, {rows:,} rows: time over pyarrow's alone", arrow, 1.5, at_least=False))
    if not absent:
        trees_ratio = own / runs["LightGBM + pandas"].median
        outcome.goals.append(Goal(f"predict, {rows:,} rows: time over LightGBM's", trees_ratio, 1.0, at_least=False))
    return outcome
