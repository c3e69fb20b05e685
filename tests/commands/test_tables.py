"""Tables as people have them: no option but --target, and nothing in them that makes a fit worse than without it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.cli_runner import succeed

Columns = dict[str, Sequence[object]]
# How it is fitted is not the subject: one split.
KERNEL = ("-t", "y", "--variant", "kernel", "--folds", 1)
SALES = 300


def write(path: Path, columns: Columns) -> Path:
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    return path


def error(folder: Path, fit: Columns, fresh: Columns, *options: object) -> float:
    """Normalised RMSE on fresh rows of a model that was told the target."""
    model, report = folder / "m.joblib", folder / "r.json"
    succeed("fit", write(folder / "fit.csv", fit), *KERNEL, "-o", model, *options)
    succeed("predict", model, write(folder / "new.csv", fresh), "-o", folder / "out.csv", "--report", report)
    return float(json.loads(report.read_text())["errors"]["normalised_rmse"])


def predictions(folder: Path, new: Columns) -> list[float]:
    output = folder / "out.csv"
    succeed("predict", folder / "m.joblib", write(folder / "new.csv", new), "-o", output)
    return [float(line) for line in output.read_text().split()[1:]]


def wiggly(rng: np.random.Generator, rows: int) -> Columns:
    x = rng.uniform(-3.0, 3.0, rows)
    return {"x": np.round(x, 4).tolist(), "y": np.round(np.sin(3.0 * x) + 0.2 * rng.standard_normal(rows), 4).tolist()}


def test_one_cell_of_1e12_changes_next_to_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    fit, fresh = wiggly(rng, 400), wiggly(rng, 800)
    clean = error(tmp_path, fit, fresh)
    spoilt = {**fit, "x": [1e12, *fit["x"][1:]]}
    assert error(tmp_path, spoilt, fresh) < 1.1 * clean


def test_500_useless_levels_beside_a_wiggly_input_do_no_harm(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    fit, fresh = wiggly(rng, 900), wiggly(rng, 1500)
    without = error(tmp_path, fit, fresh)
    for columns in (fit, fresh):
        columns["shop"] = [f"shop {i}" for i in rng.integers(0, 500, len(columns["y"]))]
    assert error(tmp_path, fit, fresh) < 1.03 * without


def test_new_customers_are_predicted_as_well_as_without_the_column(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    fit, fresh = wiggly(rng, 800), wiggly(rng, 800)
    known = rng.integers(0, 100, 800)
    effect = 0.5 * rng.standard_normal(100)
    fit["y"] = np.round(np.array(fit["y"], dtype=float) + effect[known], 4).tolist()
    fresh["y"] = np.round(np.array(fresh["y"], dtype=float) + 0.5 * rng.standard_normal(800), 4).tolist()
    without = error(tmp_path, fit, fresh)
    fit["customer"] = [f"c{i}" for i in known]
    fresh["customer"] = [f"new {i}" for i in range(800)]
    assert error(tmp_path, fit, fresh) < 1.1 * without


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Columns]:
    """A fitted table of dates, levels and numbers."""
    folder, rng = tmp_path_factory.mktemp("sales"), np.random.default_rng(4)
    days = rng.integers(0, 800, SALES)
    when = [str(np.datetime64("2020-01-01") + np.timedelta64(day, "D")) for day in days.tolist()]
    shop, size = rng.integers(0, 6, SALES), np.exp(rng.standard_normal(SALES))
    y = np.exp(0.5 * np.sin(2.0 * np.pi * days / 365.25) + 0.3 * shop + 0.2 * np.log(size))
    columns: Columns = {"when": when, "shop": [f"s{i}" for i in shop], "size": size.tolist(), "y": y.tolist()}
    succeed("fit", write(folder / "fit.csv", columns), *KERNEL, "-o", folder / "m.joblib")
    return folder, columns


@pytest.mark.parametrize("row", [("2020-05-05", "s9", 1), ("1066-10-14", "s1", 1), ("9999-12-31", "", -1e300)])
def test_an_unseen_level_a_far_value_and_a_new_date_stay_within_the_range(
    sales: tuple[Path, Columns], row: tuple[object, ...]
) -> None:
    folder, columns = sales
    y = np.array(columns["y"], dtype=float)
    margin = (y.max() - y.min()) / 20.0
    (found,) = predictions(folder, {name: [cell] for name, cell in zip(("when", "shop", "size"), row, strict=True)})
    assert y.min() - margin <= found <= y.max() + margin


def test_the_order_of_rows_and_columns_changes_nothing_beyond_rounding(sales: tuple[Path, Columns]) -> None:
    folder, columns = sales
    new = {name: values[:40] for name, values in columns.items()}
    before = predictions(folder, new)
    order = np.random.default_rng(5).permutation(SALES)
    shuffled = {name: [columns[name][i] for i in order] for name in reversed(columns)}
    succeed("fit", write(folder / "again.csv", shuffled), *KERNEL, "-o", folder / "m.joblib")
    np.testing.assert_allclose(predictions(folder, new), before, rtol=1e-6)


@pytest.mark.parametrize("bounds", [("--lower", "1.5"), ("--upper", "2"), ("--lower", "1", "--upper", "2.5")])
def test_known_bounds_hold_for_predictions_and_intervals(
    sales: tuple[Path, Columns], tmp_path: Path, bounds: tuple[str, ...]
) -> None:
    folder, _ = sales
    model, output = tmp_path / "m.joblib", tmp_path / "out.csv"
    succeed("fit", folder / "fit.csv", *KERNEL, "--tune-steps", 5, "-o", model, *bounds)
    succeed("predict", model, folder / "fit.csv", "--interval", "0.9", "-o", output)
    values = np.loadtxt(output, delimiter=",", skiprows=1)
    limits = dict(zip(bounds[::2], map(float, bounds[1::2]), strict=True))
    assert values.min() >= limits.get("--lower", -np.inf) - 1e-9
    assert values.max() <= limits.get("--upper", np.inf) + 1e-9
