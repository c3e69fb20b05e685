"""Reading a numeric CSV, against pyarrow.csv.read_csv and conversion to one float64 matrix.

enrelm's reader decides the types over the whole table, not from its first block. What `fit` does before its first
pass is the last line: by then it has also counted missing cells, hashed every cell and row, taken the sample and split
the rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import csv

from benchmarks import data
from benchmarks.measuring import Plan, alternately
from benchmarks.outcome import Goal, Outcome, Table
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.inputs.dataset import Dataset, DataSettings, open_dataset
from enrelm_cli.settings import EngineSettings
from enrelm_cli.table.kinds import numbers
from enrelm_cli.table.load import load
from enrelm_cli.table.table import ReadOptions, Roles, open_table


def opened(path: Path) -> Dataset:
    where = EngineSettings(memory=10**12)
    return open_dataset(DataSettings((str(path),), Roles(target="y"), ReadOptions()), where, LocalEngine())


def as_matrix(path: Path) -> Any:
    roles = Roles(target="y")
    table = load(open_table([str(path)], ReadOptions(), roles), roles, LocalEngine(), in_memory=True)
    batches = [batch.columns for piece in table.pieces for batch in piece]
    return np.concatenate([np.column_stack([numbers(column) for column in batch.columns]) for batch in batches])


def by_arrow(path: Path) -> Any:
    return np.column_stack([column.to_numpy() for column in csv.read_csv(path).columns])


def run(plan: Plan) -> Outcome:
    rows = 50_000 if plan.quick else 1_000_000
    path = data.friedman_file(rows, plan.folder / "reading.csv")
    contenders = {
        "pyarrow: read": lambda: csv.read_csv(path).num_rows,
        "pyarrow: read, convert": lambda: len(by_arrow(path)),
        "enrelm: read, convert": lambda: len(as_matrix(path)),
        "enrelm: read, survey, encode": lambda: opened(path).rows.total,
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
    ratio = runs["enrelm: read, convert"].median / base
    goal = Goal(f"reading {rows:,} rows: time over pyarrow's with conversion", ratio, 1.5, at_least=False)
    return Outcome([table], [goal], [str(__doc__).split("\n\n", 1)[1].replace("\n", " ").strip()])
