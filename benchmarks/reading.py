"""Reading a numeric CSV into encoded rows, against pyarrow.csv.read_csv and conversion to one float64 matrix.

enrelm's side ends with the matrix too, and has by then also decided the types over the whole table, counted missing
cells, hashed every row and split the rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import csv

from benchmarks import data
from benchmarks.measuring import Plan, alternately
from benchmarks.outcome import Goal, Outcome, Table
from enrelm_cli.dataset import Dataset, DataSettings, encode, open_dataset
from enrelm_cli.folds import LocalEngine
from enrelm_cli.settings import EngineSettings, SplitSettings
from enrelm_cli.table import ReadOptions, Roles


def opened(path: Path) -> Dataset:
    where = EngineSettings(memory=10**12)
    return open_dataset(DataSettings((str(path),), Roles(target="y"), ReadOptions()), where, LocalEngine())


def by_arrow(path: Path) -> Any:
    return np.column_stack([column.to_numpy() for column in csv.read_csv(path).columns])


def run(plan: Plan) -> Outcome:
    rows = 50_000 if plan.quick else 1_000_000
    path = data.friedman_file(rows, plan.folder / "reading.csv")
    contenders = {
        "enrelm: read, survey, encode": lambda: encode(opened(path), SplitSettings()).rows.total,
        "enrelm: read, survey": lambda: opened(path).survey.rows,
        "pyarrow: read, convert": lambda: len(by_arrow(path)),
        "pyarrow: read": lambda: csv.read_csv(path).num_rows,
    }
    runs = alternately(contenders, 3 if plan.quick else 7)
    base = runs["pyarrow: read, convert"].median
    table = Table(
        "Reading", {"what": "text", "rows": "n", "seconds": "s", "CPU": "s", "over pyarrow": "x", "MB/s": "n"}
    )
    size = path.stat().st_size
    for name, mine in runs.items():
        assert mine.result == rows
        table.add(name, rows, mine.median, mine.median_cpu, mine.median / base, round(size / mine.median / 1e6))
    ratio = runs["enrelm: read, survey, encode"].median / base
    goal = Goal(f"reading {rows:,} rows: time over pyarrow's with conversion", ratio, 1.5, at_least=False)
    return Outcome([table], [goal], [str(__doc__).split("\n\n", 1)[1].replace("\n", " ").strip()])
