"""The tables people have fit with no option but --target: text, dates, holes, skew, many levels."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

from benchmarks.tables import TABLES
from tests.cli_runner import succeed

# Enough rows to have the levels, dates and holes of the whole table; every row where it is short.
ROWS = 600


def head(path: Path, folder: Path) -> tuple[Path, str]:
    """Every k-th row of a table, at most ROWS of them, and the name of its target, which is last."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    some = folder / path.name
    with some.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows[:: -(-len(rows) // ROWS)]])
    return some, header[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_a_public_table_fits_with_its_target_alone_and_predicts_every_row(
    public_tables: Path, tmp_path: Path, name: str
) -> None:
    table, target = head(public_tables / f"{name}.csv", tmp_path)
    model, output = tmp_path / "m.joblib", tmp_path / "out.csv"
    report = json.loads(succeed("fit", table, "--target", target, "-o", model, "-f", "json", "-q").stdout)
    assert report["validation_error"] < 1.0
    succeed("predict", model, table, "-o", output, "-q")
    with output.open(newline="") as file, table.open(newline="", encoding="utf-8") as given:
        predictions = [float(row["prediction"]) for row in csv.DictReader(file)]
        assert len(predictions) == sum(1 for _ in csv.reader(given)) - 1
    assert all(math.isfinite(value) for value in predictions)
