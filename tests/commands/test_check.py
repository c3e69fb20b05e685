"""`enrelm check`: each kind of problem is found, with the option that fixes it, and a clean table has none."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli_runner import Outcome, run, succeed
from tests.shell import ROOT

ROWS = 240
SAMPLES = ROOT / "sample_data"


def clean(seed: int = 0, rows: int = ROWS) -> dict[str, list[Any]]:
    """A table that nothing is wrong with."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal(rows), rng.uniform(0.0, 1.0, rows)
    return {
        "a": a.round(4).tolist(),
        "b": b.round(4).tolist(),
        "rooms": rng.integers(1, 8, rows).tolist(),
        "city": rng.choice(["Rome", "Oslo", "Bern"], rows).tolist(),
        "y": (a + np.sin(6.0 * b) + 0.3 * rng.standard_normal(rows)).round(4).tolist(),
    }


def written(tmp_path: Path, columns: dict[str, list[Any]], name: str = "t.csv") -> Path:
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path / name


def findings(outcome: Outcome) -> dict[tuple[str, str | None], dict[str, Any]]:
    return {(one["kind"], one["column"]): one for one in outcome.json["findings"]}


@pytest.mark.parametrize("seed", range(10))
def test_a_clean_table_has_no_findings(seed: int, tmp_path: Path) -> None:
    checked = succeed("check", written(tmp_path, clean(seed)), "-t", "y", "-f", "json", "--strict")
    assert checked.json["findings"] == []
    assert checked.json["fits"]


def test_every_column_is_described(tmp_path: Path) -> None:
    checked = succeed("check", written(tmp_path, clean()), "-t", "y", "-f", "json").json
    columns = {one["name"]: one for one in checked["columns"]}
    assert [*columns] == ["y", "a", "b", "rooms", "city"]
    assert columns["city"]["distinct"] == 3
    assert sum(one["cells"] for one in columns["city"]["top"]) == ROWS
    assert (columns["rooms"]["lowest"], columns["rooms"]["highest"]) == ("1", "7")
    assert columns["rooms"]["inputs"] == 9
    assert sum(columns["a"]["bars"]) == pytest.approx(1.0)
    assert columns["y"]["role"] == "target"


def test_the_inputs_are_those_that_a_fit_makes(tmp_path: Path) -> None:
    path = written(tmp_path, {**clean(), "day": [f"2021-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(ROWS)]})
    checked = succeed("check", path, "-t", "y", "-f", "json").json
    fitted = succeed("fit", path, "-t", "y", "--variant", "kernel", "--tune-steps", "5", "-f", "json").json
    made = {one["name"]: one["inputs"] for one in fitted["columns"]}
    assert {one["name"]: one["inputs"] for one in checked["columns"] if one["role"] != "target"} == made


def spoilt() -> dict[str, tuple[dict[str, list[Any]], str, str | None, str, str | None]]:
    """name -> (columns, kind, column, level, a part of the option)."""
    rng, base = np.random.default_rng(5), clean()
    y = np.array(base["y"])
    day = np.datetime64("2021-01-01") + np.arange(ROWS).astype("timedelta64[D]")
    some = rng.random(ROWS)
    numbers = [f"{value:.3f}" for value in some]
    shuffled = rng.permutation(ROWS)
    twice = {name: values[:160] + values[:80] for name, values in base.items()}
    holes = {**base, "y": [value if i % 3 == 0 else "" for i, value in enumerate(base["y"])]}
    odd = [text if i % 40 else "oops" for i, text in enumerate(numbers)]
    mostly = [text if i % 8 else f"bad{i % 5}" for i, text in enumerate(numbers)]
    slashed = [f"{1 + i % 12:02d}/{1 + i % 11:02d}/2021" for i in range(ROWS)]
    return {
        "leak": ({**base, "tax": (0.2 * y + 5.0).round(5).tolist()}, "leak", "tax", "warning", "--drop tax"),
        "leak by text": (
            {**base, "y": (y > 0).astype(int).tolist(), "r": ["no" if v <= 0 else "yes" for v in y]},
            "leak",
            "r",
            "warning",
            "--drop r",
        ),
        "row numbers": ({**base, "row": list(range(ROWS))}, "identifier", "row", "warning", "--drop row"),
        "identifiers": (
            {**base, "who": rng.choice(10**6, ROWS, replace=False).tolist()},
            "identifier",
            "who",
            "warning",
            "--drop who",
        ),
        "keys": (
            {**base, "orderId": (1 + 10**6 * np.sort(some) ** 4).astype(int).cumsum()[shuffled].tolist()},
            "identifier",
            "orderId",
            "warning",
            "--drop orderId",
        ),
        "texts": (
            {**base, "ref": [f"k{i}" for i in range(ROWS)]},
            "identifier",
            "ref",
            "note",
            "--categorical ref",
        ),
        "constant": ({**base, "flat": [7] * ROWS}, "constant", "flat", "note", None),
        "empty": ({**base, "blank": [""] * ROWS}, "empty", "blank", "note", None),
        "copy": ({**base, "same": base["a"]}, "copy", "same", "note", None),
        "mostly missing": (
            {**base, "few": [text if i % 3 == 0 else "" for i, text in enumerate(numbers)]},
            "missing",
            "few",
            "warning",
            "--drop few",
        ),
        "sentinel": (
            {**base, "depth": [text if i % 30 else "-999" for i, text in enumerate(numbers)]},
            "sentinel",
            "depth",
            "warning",
            "--null=-999",
        ),
        "a few texts": ({**base, "n": odd}, "odd-cells", "n", "warning", "--categorical n"),
        "many texts": ({**base, "n": mostly}, "odd-cells", "n", "warning", "--null bad"),
        "ambiguous dates": ({**base, "on": slashed}, "ambiguous", "on", "warning", "--date-format on=%m/%d/%Y"),
        "spelling": (
            {**base, "sex": [["Male", "male", "Female"][i % 3] for i in range(ROWS)]},
            "spelling",
            "sex",
            "warning",
            None,
        ),
        "repeats": (twice, "repeats", None, "warning", None),
        "target": (holes, "target", "y", "warning", None),
        "two values": ({**base, "y": (y > 0).astype(int).tolist()}, "target", "y", "note", None),
        "few rows": ({name: values[:30] for name, values in base.items()}, "few-rows", None, "warning", None),
        "time order": ({**base, "date": day.tolist()}, "time-order", "date", "warning", "--time date"),
        "series": ({**base, "y": np.cumsum(y).round(4).tolist()}, "neighbours", None, "note", "--group"),
    }


CASES = spoilt()


@pytest.mark.parametrize("name", CASES)
def test_a_problem_is_found_and_nothing_else(name: str, tmp_path: Path) -> None:
    columns, kind, column, level, option = CASES[name]
    found = findings(run("check", written(tmp_path, columns), "-t", "y", "-f", "json"))
    one = found.pop((kind, column))
    assert one["level"] == level
    assert option is None or option in one["option"]
    expected = {"leak by text": {("target", "y")}, "many texts": {("identifier", "n")}}
    assert {*found} == expected.get(name, set())


def test_a_target_that_drifts_along_a_date_is_found(tmp_path: Path) -> None:
    rng, base = np.random.default_rng(1), clean()
    day = rng.permutation(ROWS)
    dates = (np.datetime64("2021-01-01") + day.astype("timedelta64[D]")).tolist()
    path = written(tmp_path, {**base, "date": dates, "y": (0.01 * day + np.array(base["y"])).round(4).tolist()})
    one = findings(succeed("check", path, "-t", "y", "-f", "json"))["time-order", "date"]
    assert "drifts" in one["text"]
    assert one["option"] == "--time date"


def test_all_problems_of_files_are_told_at_once(tmp_path: Path) -> None:
    good = written(tmp_path, clean(), "good.csv")
    (tmp_path / "ragged.csv").write_text("a,b,rooms,city,y\n1,2,3,x,4\n1,2\n")
    (tmp_path / "latin.csv").write_bytes(b"a,b,rooms,city,y\n1,2,3,K\xf6ln,4\n1,2\n")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    files = [good, *(tmp_path / f"{name}.csv" for name in ("ragged", "latin", "other", "absent"))]
    checked = run("check", *files, "-t", "y", "--numeric", "city", "-f", "json")
    assert checked.code == 3
    told = " ".join(one["text"] for one in checked.json["findings"] if one["level"] == "error")
    for part in (
        "ragged.csv, line 3: 2 cells where the header has 5",
        "latin.csv, line 2: not UTF-8",
        "latin.csv, line 3: 2 cells",
        "other.csv has no column 'city'",
        "absent.csv: no such file",
        "cells of column 'city' are not numbers",
    ):
        assert part in told
    assert [one["name"] for one in checked.json["columns"]] == ["y", "a", "b", "rooms", "city"]


def test_several_wrong_columns_and_cells_are_told_at_once(tmp_path: Path) -> None:
    columns = clean()
    columns["a"][3], columns["b"][5] = "inf", "-inf"
    words = ("--drop", "nobody", "--categorical", "none", "--date-format", "when=%Y-%m-%d")
    checked = run("check", written(tmp_path, columns), "-t", "y", *words, "-f", "json")
    told = [one["text"] for one in checked.json["findings"] if one["level"] == "error"]
    assert len(told) == 5
    assert sum("is infinite" in text for text in told) == 2
    assert sum("there is no column" in text for text in told) == 3


def test_a_target_of_texts_ends_with_code_3_after_the_table_of_columns(tmp_path: Path) -> None:
    checked = run("check", written(tmp_path, clean()), "-t", "city", "--task", "regression")
    assert checked.code == 3
    assert "cannot be fitted: 1 error" in " ".join(checked.stdout.split())
    assert "\nrooms " in checked.stdout
    assert "next:" not in checked.stdout


@pytest.mark.parametrize("values", [[""] * ROWS, [4] * ROWS])
def test_a_target_with_nothing_to_learn_is_an_error(values: list[Any], tmp_path: Path) -> None:
    checked = run("check", written(tmp_path, {**clean(), "y": values}), "-t", "y", "-f", "json")
    assert checked.code == 3
    assert [one["level"] for one in checked.json["findings"]] == ["error"]
    assert len(checked.json["columns"]) >= 4


def test_warnings_pass_unless_strict(tmp_path: Path) -> None:
    path = written(tmp_path, {**clean(), "row": list(range(ROWS))})
    assert run("check", path, "-t", "y").code == 0
    strict = run("check", path, "-t", "y", "--strict")
    assert strict.code == 5
    assert "1 warning (--strict)" in strict.stderr


def test_without_a_target_the_columns_are_checked_and_every_one_is_an_input(tmp_path: Path) -> None:
    columns = {**clean(), "flat": [1] * ROWS}
    checked = succeed("check", written(tmp_path, columns), "-f", "json")
    assert [*findings(checked)] == [("constant", "flat")]
    assert {one["role"] for one in checked.json["columns"]} == {"input", "left out"}
    assert checked.json["next_command"].endswith("--target flat -o model.joblib")


def test_stdin_parquet_and_a_table_on_disk_give_the_same_findings(tmp_path: Path) -> None:
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    path = written(tmp_path, {**clean(), "row": list(range(ROWS)), "ref": [f"k{i}" for i in range(ROWS)]})
    pq.write_table(pa_csv.read_csv(path), tmp_path / "t.parquet", row_group_size=50)
    seen = succeed("check", path, "-t", "y", "-f", "json").json
    for words, stdin in (
        (("-",), path.read_bytes()),
        ((tmp_path / "t.parquet",), None),
        ((path, "--memory", "1k"), None),
        ((path, "--threads", "1"), None),
    ):
        other = succeed("check", *words, "-t", "y", "-f", "json", stdin=stdin).json
        assert other["findings"] == seen["findings"]
        assert other["columns"] == seen["columns"]
        assert other["hash"] == seen["hash"]


def test_csv_has_a_row_for_each_column_and_markdown_a_line_for_each_finding(tmp_path: Path) -> None:
    path = written(tmp_path, {**clean(), "row": list(range(ROWS)), "flat": [1] * ROWS})
    rows = list(csv.DictReader(io.StringIO(succeed("check", path, "-t", "y", "-f", "csv").stdout)))
    assert [row["column"] for row in rows] == ["y", "a", "b", "rooms", "city", "row", "flat"]
    assert rows[5]["findings"].startswith("warning: column 'row'")
    shown = succeed("check", path, "-t", "y", "-f", "markdown").stdout
    assert "- note: column 'flat' left out: constant" in shown


def test_a_page_shows_findings_and_a_small_chart_for_each_column(tmp_path: Path) -> None:
    path = written(tmp_path, {**clean(), "<b>": list(range(ROWS))})
    succeed("check", path, "-t", "y", "--report", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('<td class="spark"><svg') == 6
    assert "<code>--drop &#x27;&lt;b&gt;&#x27;</code> leaves it out" in page


@pytest.mark.parametrize("name", ["friedman", "linear", "network"])
def test_the_sample_tables_raise_no_alarm(name: str) -> None:
    assert succeed("check", SAMPLES / f"{name}.csv", "-t", "y", "--strict", "-f", "json").json["findings"] == []


def test_a_parquet_column_of_lists_is_a_note_as_at_fit_and_an_error_where_it_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({**clean(), "tags": [["a"]] * ROWS}), tmp_path / "t.parquet")
    found = findings(succeed("check", tmp_path / "t.parquet", "-t", "y", "-f", "json"))
    assert [*found] == [("unreadable", "tags")]
    assert "list<" in found["unreadable", "tags"]["text"]
    assert run("check", tmp_path / "t.parquet", "-t", "y", "--categorical", "tags").code == 3
