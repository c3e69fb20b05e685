"""enrelm explain: effects, pairs, worst rows and intervals in every format, the same in any order of rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from tests.cli_runner import run, succeed

FOLDER = Path(__file__).parents[2] / "sample_data"
HOUSES = FOLDER / "houses.csv"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("explained") / "model.joblib")
    succeed("fit", HOUSES, "-t", "price", "--drop", "house_id", "--variant", "kernel", "--no-tune", "-o", path)
    return path


@pytest.fixture(scope="module")
def report(model: str) -> Any:
    return succeed("explain", model, HOUSES, "--format", "json").json


def test_every_kind_of_column_has_its_effect(report: Any) -> None:
    kinds = {one["column"]: one["kind"] for one in report["effects"]}
    assert kinds["town"] == "levels"
    assert kinds["area_m2"] == "number"
    towns = next(one for one in report["effects"] if one["column"] == "town")["points"]
    assert [point["effect"] for point in towns] == sorted(point["effect"] for point in towns)
    assert sum(point["rows"] for point in towns) == 520


def test_dates_are_written_as_dates(model: str) -> None:
    found = succeed("explain", model, HOUSES, "--column", "listed", "--format", "json").json
    (listed,) = found["effects"]
    assert listed["kind"] == "date"
    assert listed["points"][0]["value"].startswith("2023-01")


def test_worst_rows_are_named_by_their_lines(report: Any) -> None:
    lines = HOUSES.read_text(encoding="utf-8").splitlines()
    head = lines[0].split(",")
    for row in report["worst"]:
        cells = dict(zip(head, next(csv.reader([lines[row["line"] - 1]])), strict=True))
        assert float(cells["price"]) == row["target"]
        assert cells["town"] == row["values"]["town"]
        assert row["line"] == row["row"] + 1
    sizes = [abs(row["residual"]) for row in report["worst"]]
    assert sizes == sorted(sizes, reverse=True)


def test_intervals_are_judged(report: Any) -> None:
    assert [one["level"] for one in report["calibration"]] == [0.5, 0.8, 0.9, 0.95]
    shares = [one["inside"] for one in report["calibration"]]
    assert shares == sorted(shares)
    assert shares[-1] > 0.9


def test_any_order_of_rows_and_any_blocks_give_the_same_figures(model: str, report: Any, tmp_path: Path) -> None:
    head, *rows = HOUSES.read_text(encoding="utf-8").splitlines()
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("\n".join([head, *rows[:300:-1]]) + "\n", encoding="utf-8")
    second.write_text("\n".join([head, *rows[300::-1]]) + "\n", encoding="utf-8")
    other = succeed("explain", model, first, second, "--format", "json").json
    for mine, theirs in zip(report["effects"], other["effects"], strict=True):
        assert mine["column"] == theirs["column"]
        for a, b in zip(mine["points"], theirs["points"], strict=True):
            assert a["value"] == b["value"]
            assert a["effect"] == pytest.approx(b["effect"], rel=1e-6, abs=1e-3)
    assert [one["first"] for one in report["pairs"]] == [one["first"] for one in other["pairs"]]
    assert [row["target"] for row in report["worst"]] == [row["target"] for row in other["worst"]]


@pytest.mark.dask
@pytest.mark.slow
def test_a_cluster_finds_the_same(model: str, report: Any) -> None:
    pytest.importorskip("distributed")
    found = succeed("explain", model, HOUSES, "--engine", "dask", "--format", "json").json
    assert {**found, "timings": None} == {**report, "timings": None}


def test_csv_has_a_row_for_each_point(model: str) -> None:
    rows = list(csv.DictReader(io.StringIO(succeed("explain", model, HOUSES, "--format", "csv").stdout)))
    assert {"column", "value", "effect", "low", "high", "rows"} <= set(rows[0])
    assert {row["column"] for row in rows} >= {"area_m2", "town"}


def test_without_the_target_nothing_is_judged(model: str) -> None:
    found = succeed("explain", model, FOLDER / "houses_new.csv", "--format", "json").json
    assert found["errors"] is None
    assert found["worst"] == found["residuals"] == found["calibration"] == []
    assert found["effects"]


def test_an_unknown_column_and_an_empty_table_are_refused(model: str, tmp_path: Path) -> None:
    unknown = run("explain", model, HOUSES, "--column", "twon")
    assert unknown.code == 2
    assert "town" in unknown.stderr
    empty = tmp_path / "empty.csv"
    empty.write_text(HOUSES.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    assert run("explain", model, empty).code == 3


@pytest.mark.parametrize("variant", ["approximate", "local"])
def test_every_variant_can_be_explained(variant: str, tmp_path: Path) -> None:
    path, out = tmp_path / "model.joblib", tmp_path / "page.html"
    succeed("fit", FOLDER / "friedman.csv", "-t", "y", "--variant", variant, "--no-tune", "-o", path)
    figure = tmp_path / "effects.svg"
    found = succeed("explain", path, FOLDER / "friedman.csv", "--report", out, "--plot", figure)
    assert "x4" in found.stdout
    assert out.read_text(encoding="utf-8").count("<figure>") >= 5
    assert figure.stat().st_size > 1000
