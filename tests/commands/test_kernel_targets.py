"""The kernel variant on the paper's eight datasets: everything chosen on training rows, judged on held-out rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli_runner import succeed

# Each lies below the best figure that the paper prints for any method. machine_cpu was held to 0.33 with standardised
# inputs; robust ones took the mean of ten splits from 0.52 to 0.37, and this split, one of 52 rows, from 0.28 to 0.34.
SMALL = [
    ("prostate", 0.6465, ()),
    ("servo", 0.36, ("motor", "screw", "pgain", "vgain")),
    ("machine_cpu", 0.354, ()),
    ("la_ozone", 0.48, ()),
    ("auto_mpg", 0.355, ("model_year", "origin")),
]
LARGE = [("abalone", 0.665, ("Sex",)), ("delta_ailerons", 0.535, ()), ("cal_housing", 0.46, ())]


def held_out_error(name: str, categories: tuple[str, ...], data: Path, folder: Path) -> float:
    """Fit the training rows of the paper's split, predict the others."""
    header, *rows = (data / f"{name}.csv").read_text().splitlines()
    order = np.random.RandomState(1234).permutation(len(rows))
    held_out = int(np.ceil(len(rows) / 4))
    parts = {"test": order[:held_out], "train": order[held_out:]}
    for part, chosen in parts.items():
        (folder / f"{part}.csv").write_text("\n".join([header, *(rows[i] for i in chosen)]) + "\n")
    words = [word for column in categories for word in ("--categorical", column)]
    model, report = folder / "model.joblib", folder / "errors.json"
    succeed("fit", folder / "train.csv", "-t", header.split(",")[-1], "--variant", "kernel", *words, "-o", model)
    succeed("predict", model, folder / "test.csv", "-o", folder / "out.csv", "--report", report)
    error: float = json.loads(report.read_text())["errors"]["normalised_rmse"]
    return error


@pytest.mark.parametrize(("name", "bound", "categories"), SMALL)
def test_small_tables_beat_every_figure_of_the_paper(
    name: str, bound: float, categories: tuple[str, ...], paper_data: Path, tmp_path: Path
) -> None:
    assert held_out_error(name, categories, paper_data, tmp_path) < bound


@pytest.mark.slow
@pytest.mark.parametrize(("name", "bound", "categories"), LARGE)
def test_large_tables_beat_every_figure_of_the_paper(
    name: str, bound: float, categories: tuple[str, ...], paper_data: Path, tmp_path: Path
) -> None:
    assert held_out_error(name, categories, paper_data, tmp_path) < bound
