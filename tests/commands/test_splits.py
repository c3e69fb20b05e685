"""Errors that hold on new rows: the examples of the issue, with the option that gives the right number and without."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import enrelm
from enrelm_cli.commands import fit
from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.settings import (
    DataSettings,
    EngineSettings,
    KernelSettings,
    MethodSettings,
    ReadOptions,
    Roles,
    SplitSettings,
)
from enrelm_cli.types import Array
from tests.cli_runner import run

NEW = 10_000


@dataclass(frozen=True)
class Simulated:
    """Rows, their groups, and fresh rows of groups that nobody has seen."""

    X: Array
    y: Array
    group: Array
    X_new: Array
    y_new: Array


def near_copies(seed: int, origins: int, new: int = NEW, copies: int = 4, d: int = 3) -> Simulated:
    """Each row with three near-copies, whose targets share what the inputs cannot tell."""
    rng = np.random.default_rng(seed)

    def rows(origins: int, copies: int) -> tuple[Array, Array]:
        Z = rng.standard_normal((origins, d))
        y = np.sin(Z[:, 0]) + 0.5 * Z[:, 1] + 0.7 * rng.standard_normal(origins)
        X = np.repeat(Z, copies, axis=0)
        return X + 0.01 * rng.standard_normal(X.shape), np.repeat(y, copies) + 0.02 * rng.standard_normal(len(X))

    X, y = rows(origins, copies)
    return Simulated(X, y, np.repeat(np.arange(origins), copies), *rows(new, 1))


def random_effects(seed: int, groups: int, size: int = 6) -> Simulated:
    """A random effect for each group, beside an input that is one for the whole group."""
    rng = np.random.default_rng(seed)

    def rows(groups: int, size: int) -> tuple[Array, Array, Array]:
        group = np.repeat(np.arange(groups), size)
        X = rng.standard_normal((len(group), 3))
        X[:, 2] = rng.standard_normal(groups)[group]
        y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.5 * X[:, 2] + rng.standard_normal(groups)[group]
        return X, y + 0.3 * rng.standard_normal(len(group)), group

    X, y, group = rows(groups, size)
    return Simulated(X, y, group, *rows(NEW, 1)[:2])


@dataclass(frozen=True)
class Judged:
    reported: float
    fresh: float
    coverage: float
    warnings: list[str]


def judged(data: Simulated, groups: bool, **options: object) -> Judged:
    model = enrelm.EnrelmRegressor(variant="kernel", **options).fit(
        data.X, data.y, groups=data.group if groups else None
    )
    predicted, lower, upper = np.asarray(model.predict(data.X_new, return_interval=0.9)).T
    fresh = np.linalg.norm(data.y_new - predicted) / np.linalg.norm(data.y_new - data.y.mean())
    coverage = np.mean((lower <= data.y_new) & (data.y_new <= upper))
    report = model.report_.to_json()
    return Judged(report["validation_error"], float(fresh), float(coverage), report["warnings"])


def test_near_copies_are_warned_of_and_a_group_gives_the_error_of_new_rows() -> None:
    data = near_copies(0, origins=100, new=2000)
    plain, grouped = (judged(data, groups, folds=1, tune_steps=30, bias_variance=0.3) for groups in (False, True))
    assert plain.reported < 0.3 < 0.6 < plain.fresh
    assert plain.coverage < 0.4
    assert any("--group" in one and "near-copies" in one for one in plain.warnings)
    assert grouped.reported == pytest.approx(grouped.fresh, abs=0.15)
    assert grouped.coverage == pytest.approx(0.9, abs=0.1)
    assert grouped.warnings == []


@pytest.mark.parametrize("d", [1, 2, 5])
def test_rows_that_are_near_by_chance_are_not_warned_of(d: int) -> None:
    rng = np.random.default_rng(d)
    X = rng.standard_normal((400, d))
    for noise in (0.0, 0.5):
        y = np.sin(2.0 * X[:, 0]) + X.sum(axis=1) + noise * rng.standard_normal(400)
        model = enrelm.EnrelmRegressor(variant="kernel", tune=False, weight_variance=0.5, bias_variance=0.5).fit(X, y)
        warnings = [one for one in model.report_.to_json()["warnings"] if not one.startswith("an R² ")]
        assert warnings == []


def sales(path: Path, days: int, later: int, seed: int = 1) -> tuple[Path, Path]:
    """Daily sales: weekends, promotions, prices, and a level that wanders; the next half-year in a file of its own."""
    rng = np.random.default_rng(seed)
    total = days + later
    level, noise = np.zeros(total), rng.standard_normal(total)
    for day in range(1, total):
        level[day] = 0.98 * level[day - 1] + 1.2 * noise[day]
    dates = [datetime.date(2022, 1, 3) + datetime.timedelta(day) for day in range(total)]
    weekend = np.array([date.weekday() >= 5 for date in dates])
    promotion, price = rng.integers(0, 2, total), 10.0 + 0.5 * rng.standard_normal(total)
    y = 100.0 + 8.0 * weekend + 6.0 * promotion - 6.0 * (price - 10.0) + level + rng.standard_normal(total)
    lines = [f"{a},{b},{c:.3f},{e:.3f}" for a, b, c, e in zip(dates, promotion, price, y, strict=True)]
    files = path / "sales.csv", path / "later.csv"
    for file, part in zip(files, (lines[:days], lines[days:]), strict=True):
        file.write_text("\n".join(["date,promotion,price,sales", *part]) + "\n")
    return files


def later_error(model: enrelm.EnrelmRegressor, file: Path, mean: float) -> float:
    import pyarrow.csv

    table = pyarrow.csv.read_csv(file)
    y = table.column("sales").to_numpy()
    return float(np.linalg.norm(y - model.predict(table.drop_columns(["sales"]))) / np.linalg.norm(y - mean))


def test_sales_by_time_report_the_error_of_later_days_and_warn_without(tmp_path: Path) -> None:
    now, later = sales(tmp_path, 500, 180)
    mean = float(np.mean([float(line.rsplit(",", 1)[1]) for line in now.read_text().splitlines()[1:]]))
    plain, timed = (
        enrelm.fit(str(now), "sales", variant="kernel", folds=1, tune_steps=30, **options)
        for options in ({}, {"time": "date"})
    )
    flattered, honest = (one.report_.to_json() for one in (plain, timed))
    assert flattered["validation_error"] < 0.5 * later_error(plain, later, mean)
    assert any("--time date" in one for one in flattered["warnings"])
    assert honest["validation_error"] == pytest.approx(later_error(timed, later, mean), rel=0.35)
    assert honest["warnings"] == []
    assert later_error(timed, later, mean) < later_error(plain, later, mean)


def test_check_names_time_until_it_is_used(tmp_path: Path) -> None:
    now, _ = sales(tmp_path, 300, 10)
    found = run("check", str(now), "-t", "sales")
    assert "--time date" in found.stdout
    assert "--time date" not in run("check", str(now), "-t", "sales", "--time", "date").stdout.replace(
        "sales.csv --target sales --time date", ""
    )


def test_compare_by_time_tests_on_later_rows_over_several_cuts(tmp_path: Path) -> None:
    now, later = sales(tmp_path, 300, 60)
    result = enrelm.compare(str(now), "sales", method=["linear", "approximate"], time="date", repeats=3).to_json()
    assert result["sizes"]["unused"] > 0
    assert len(result["rows"][0]["errors"]) == 3
    own = enrelm.compare(str(now), "sales", method=["linear"], test=[str(later)]).to_json()
    assert own["sizes"]["test"] == 60
    assert own["repeats"] == 1


def test_the_users_own_validation_rows_choose_and_join_the_refit(tmp_path: Path) -> None:
    now, later = sales(tmp_path, 300, 60)
    report = enrelm.fit(str(now), "sales", variant="approximate", validation=[str(later)]).report_.to_json()
    assert (report["training_rows"], report["validation_rows"], report["data"]["rows"]) == (300, 60, 360)
    assert report["settings"]["split"]["validation_files"] == 1
    curve = enrelm.curve(str(now), "sales", variant="approximate", validation=[str(later)])
    assert float(np.min(curve.validation)) == pytest.approx(report["validation_error"])


def test_a_protocol_with_a_split_of_its_own_refuses_others(tmp_path: Path) -> None:
    now, later = sales(tmp_path, 60, 10)
    for options, flag in (({"time": "date"}, "--time"), ({"test": [str(later)]}, "--test")):
        with pytest.raises((UsageError, ValueError), match=flag.lstrip("-")):
            enrelm.compare(str(now), "sales", method=["linear"], protocol="paper", **options)


@pytest.mark.slow
@pytest.mark.parametrize("make", [near_copies, random_effects])
def test_errors_and_intervals_of_groups_hold_on_fresh_ones(make: object) -> None:
    """Mean of four tables: the coverage within 2 points, the error within 2 standard errors of that mean."""
    groups, seeds = 200, range(4)
    found = [judged(make(seed, groups), True, tune_steps=100) for seed in seeds]  # type: ignore[operator]
    coverage = np.mean([one.coverage for one in found])
    gap = np.mean([one.reported - one.fresh for one in found])
    # Of n groups that validate the error has about 1/sqrt(2 n) of it as its standard error.
    standard_error = np.mean([one.fresh for one in found]) / np.sqrt(2 * 0.25 * groups * len(found))
    print(f"coverage {coverage:.3f}, reported - fresh {gap:+.3f} (standard error {standard_error:.3f})")
    assert abs(coverage - 0.9) < 0.02
    assert abs(gap) < 2.0 * standard_error


@pytest.mark.parametrize("groups", [2, 3])
def test_a_table_of_two_or_three_groups_is_fitted(groups: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 2))
    model = enrelm.EnrelmRegressor(variant="kernel", tune_steps=20).fit(X, X[:, 0], groups=np.arange(90) % groups)
    assert model.report_.to_json()["validation_error"] < 0.3


@pytest.mark.parametrize("target", ["y", "class"])
def test_chunks_with_rows_of_one_side_alone_are_no_problem(tmp_path: Path, target: str) -> None:
    """A table in the order of time: most pieces have training rows only, or validation rows only."""
    rng = np.random.default_rng(0)
    lines = [
        f"{day},t{day % 9},{a:.4f},{a + day / 900:.4f},{'yes' if a > 0 else 'no'}"
        for day, a in enumerate(rng.standard_normal(320))
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["day,town,a,y,class", *lines]) + "\n")
    other = "class" if target == "y" else "y"
    errors = []
    for memory, rows in (("1G", 16_384), ("1K", 40)):
        data = DataSettings(
            sources=(str(path),),
            roles=Roles(target=target, time="day", drop=(other,)),
            read=ReadOptions(batch_rows=rows, block_bytes=1000 if memory == "1K" else 1 << 20),
        )
        where = EngineSettings(memory=1 if memory == "1K" else None)
        kernel = KernelSettings(tune=False, weight_variance=0.1, bias_variance=0.3)
        method = MethodSettings(landmarks=30, max_neurons=20, refit=False, leaf_rows=100, kernel=kernel)
        for variant in ("kernel", "local", "incremental"):
            report, _ = fit.fit(data, SplitSettings(), method, where, variant, LocalEngine(1))
            assert report.validation_rows == 80
            errors.append(report.validation_error)
    np.testing.assert_allclose(errors[:3], errors[3:], rtol=1e-4)


def series(seed: int, rows: int = 800, phi: float = 0.9) -> Simulated:
    """y = f(x) + u, u autoregressive: neighbours in time, the first input, share what the others cannot tell."""
    rng = np.random.default_rng(seed)
    total = rows + NEW
    u, noise = np.zeros(total), rng.standard_normal(total) * np.sqrt(1.0 - phi**2)
    for i in range(1, total):
        u[i] = phi * u[i - 1] + noise[i]
    X = np.column_stack([np.arange(total), rng.standard_normal((total, 2))])
    y = np.sin(2.0 * X[:, 1]) + X[:, 2] + u
    return Simulated(X[:rows], y[:rows], np.zeros(rows), X[rows:], y[rows:])


@pytest.mark.slow
def test_errors_of_an_autoregressive_series_hold_on_later_rows() -> None:
    seeds = range(4)
    found = {}
    for time in (None, "x0"):
        each = []
        for seed in seeds:
            data = series(seed)
            model = enrelm.EnrelmRegressor(variant="kernel", tune_steps=100, time=time).fit(data.X, data.y)
            predicted, lower, upper = np.asarray(model.predict(data.X_new, return_interval=0.9)).T
            fresh = np.linalg.norm(data.y_new - predicted) / np.linalg.norm(data.y_new - data.y.mean())
            coverage = np.mean((lower <= data.y_new) & (data.y_new <= upper))
            each.append((model.report_.to_json()["validation_error"], fresh, coverage))
        found[time] = np.mean(each, axis=0)
        print(
            f"--time {time}: validated {found[time][0]:.3f}, later {found[time][1]:.3f}, coverage {found[time][2]:.3f}"
        )
    reported, fresh, coverage = found["x0"]
    # Squares of such a series are correlated, too: 200 rows are worth 200 (1 - phi^2) / (1 + phi^2).
    standard_error = fresh / np.sqrt(2 * 200 * (1 - 0.81) / (1 + 0.81) * len(seeds))
    assert abs(reported - fresh) < 2.0 * standard_error
    assert abs(coverage - 0.9) < 0.05
    assert found[None][0] < 0.8 * found[None][1]
