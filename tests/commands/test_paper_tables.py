"""The paper's table of real datasets, through the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli_runner import succeed

METHODS = ("--method", "approximate", "--method", "incremental")


def paper_rows(path: Path, target: str, *words: str) -> dict[str, Any]:
    facts = succeed("compare", path, "-t", target, "--protocol", "paper", "-f", "json", *METHODS, *words).json
    assert facts["protocol"] == "paper"
    return {row["method"]: row for row in facts["rows"]}


@pytest.mark.parametrize(
    ("name", "target", "approximate", "neurons", "incremental"),
    [
        ("prostate", "lpsa", 0.6465, 6, 0.6530),
        ("la_ozone", "ozone", 0.5231, 5, 0.5269),
        ("machine_cpu", "PRP", 0.3751, 2, 0.3543),
    ],
)
def test_the_papers_figures_to_four_decimals(
    name: str, target: str, approximate: float, neurons: int, incremental: float, paper_data: Path
) -> None:
    rows = paper_rows(paper_data / f"{name}.csv", target)
    assert round(rows["approximate"]["error"], 4) == approximate
    assert (rows["incremental"]["neurons"], round(rows["incremental"]["error"], 4)) == (neurons, incremental)


@pytest.mark.parametrize(
    ("name", "target", "approximate", "neurons", "incremental"),
    [("delta_ailerons", "Sa", 0.5608, 5, 0.5622), ("cal_housing", "medianHouseValue", 0.6080, 7, 0.6160)],
)
def test_landmarks_give_the_papers_figures(
    name: str, target: str, approximate: float, neurons: int, incremental: float, paper_data: Path
) -> None:
    rows = paper_rows(paper_data / f"{name}.csv", target)
    assert rows["approximate"]["error"] == pytest.approx(approximate, abs=3e-4)
    assert rows["incremental"]["neurons"] == neurons
    assert rows["incremental"]["error"] == pytest.approx(incremental, abs=3e-4)


@pytest.mark.parametrize(
    ("name", "target", "categories", "approximate", "incremental"),
    [
        ("auto_mpg", "mpg", ("model_year", "origin"), 0.3744, 0.3809),
        ("servo", "class", ("motor", "screw", "pgain", "vgain"), 0.4832, 0.4787),
    ],
)
def test_dependent_one_hot_columns_give_numbers_that_do_not_depend_on_the_order_of_columns(
    name: str, target: str, categories: tuple[str, ...], approximate: float, incremental: float,
    paper_data: Path, tmp_path: Path,
) -> None:  # fmt: skip
    source = paper_data / f"{name}.csv"
    reordered = tmp_path / "reordered.csv"
    lines = [line.split(",") for line in source.read_text().splitlines()]
    reordered.write_text("\n".join(",".join(reversed(line)) for line in lines) + "\n")
    words = [word for column in categories for word in ("--categorical", column)]
    first, second = paper_rows(source, target, *words), paper_rows(reordered, target, *words)
    assert round(first["approximate"]["error"], 4) == approximate
    assert round(first["incremental"]["error"], 4) == incremental
    for method, row in first.items():
        assert second[method]["error"] == pytest.approx(row["error"], rel=1e-12)
        assert second[method]["neurons"] == row["neurons"]
