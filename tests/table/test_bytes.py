"""Bytes, streams and types that tables are not made of, through the command line: one message, or every row."""

from __future__ import annotations

import gzip
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enrelm_cli.table.csv_pieces import cut_blocks, records
from tests.cli_runner import Outcome, run, succeed

ROWS = 30


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of one number x."""
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "fit.csv").write_text("x,y\n" + "".join(f"{i},{i * i}\n" for i in range(ROWS)))
    succeed("fit", folder / "fit.csv", "-t", "y", "--variant", "approximate", "-o", folder / "m.joblib")
    return folder / "m.joblib"


def predict(model: Path, content: bytes, *words: str) -> Outcome:
    path = model.parent / "new.csv"
    path.write_bytes(content)
    return run("predict", model, path, *words)


BAD: dict[str, tuple[bytes, tuple[str, ...], int, str]] = {
    "a byte that is not UTF-8": (b"x\n1\n2\xff\n", (), 3, "line 3: not UTF-8 text"),
    "such a byte after many sound rows": (b"x\n" + b"1\n" * 9 + b"\xff\n", (), 3, "line 11"),
    "UTF-16 without a mark": ("x\n1\n".encode("utf-16-le"), (), 3, "--encoding utf-16-le"),
    "UTF-16 the other way round": ("x\n1\n".encode("utf-16-be"), (), 3, "--encoding utf-16-be"),
    "our hint without a mark": ("x\n1\n".encode("utf-16-le"), ("--encoding", "utf-16"), 3, "not utf-16 text"),
    "half a surrogate pair": (b"x\n1+2AA-\n", ("--encoding", "utf-7"), 3, "not utf-7 text"),
    "infinite": (b"x\n1\ninf\n", (), 3, "line 3: 'inf' in column 'x' is infinite"),
    "beyond all numbers": (b"x\n1\n-1e400\n", (), 3, "'-1e400' in column 'x' is infinite"),
    **{
        f"--encoding {name}": (b"x\n1\n", ("--encoding", name), 2, "encoding")
        for name in ("rot13", "base64", "hex", "zlib", "bz2", "uu", "idna", "punycode", "unicode_escape", "")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_bytes_are_one_message_and_nothing_on_stdout(model: Path, name: str) -> None:
    content, words, code, expected = BAD[name]
    outcome = predict(model, content, *words)
    assert outcome.code == code
    assert outcome.stdout == ""
    assert expected in outcome.stderr


def test_marked_utf_16_is_read(model: Path) -> None:
    assert len(predict(model, "x\n1\n".encode("utf-16"), "--encoding", "utf-16").stdout.splitlines()) == 2


def test_a_value_far_from_all_at_fit_is_counted_and_shown(model: Path) -> None:
    outcome = predict(model, b"x\n1\n1e12\n-1e6\n45\n")
    assert outcome.code == 0
    assert "column 'x': 2 cells are far from all values at fit (0 to 29), the farthest 1000000000000" in outcome.stderr
    assert "far" not in predict(model, b"x\n-5\n40\n").stderr


@pytest.mark.parametrize("words", [("--append",), ("--id", "prediction")])
def test_a_prediction_column_that_is_there_already_is_kept(model: Path, words: tuple[str, ...]) -> None:
    outcome = predict(model, b"prediction,x\n7,1\n", *words)
    assert outcome.stdout.splitlines()[0].split(",")[-1] == "prediction_2"
    assert outcome.stdout.splitlines()[1].startswith("7,")
    assert "the table has a column 'prediction'" in outcome.stderr


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("words", [(), ("--append",), ("--id", "x")])
def test_a_blank_line_of_one_column_is_a_row(model: Path, end: bytes, words: tuple[str, ...]) -> None:
    outcome = predict(model, end.join([b"x", b"1", b"", b"3", b"", b"", b"4", b"", b""]), *words)
    assert outcome.code == 0
    assert len(outcome.stdout.splitlines()) == 1 + 6
    assert "3 missing cells" in outcome.stderr


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([b"", b"", b"1", b'"a\n\nb"']), max_size=20), st.integers(1, 30), st.booleans())
def test_blocks_of_one_column_have_the_rows_of_the_whole(cells: list[bytes], size: int, last: bool) -> None:
    data = b"\n".join(cells) + (b"\n" if last else b"")

    class Stream:
        rest = data

        def read(self, count: int = -1, /) -> bytes:
            part, self.rest = self.rest[:count], self.rest[count:]
            return part

    blocks = list(cut_blocks(Stream(), size, ",", "t", one_column=True))
    expected = list(cells)
    while expected and not expected[-1]:
        expected.pop()
    found = [block.data[a:b] for block in blocks for a, b in _places(block.data)]
    assert found == expected


def _places(data: bytes) -> list[tuple[int, int]]:
    rows = records(data, ",", one_column=True)
    return list(zip(rows.start.tolist(), rows.stop.tolist(), strict=True))


def test_a_gzip_bomb_of_one_line_is_not_swallowed_whole(model: Path) -> None:
    path = model.parent / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"x\n1\n" + b"1" * (150 << 20), 1))
    outcome = run("predict", model, path)
    assert outcome.code == 3
    assert "line 3: a record of more than 64 MB" in outcome.stderr or "line 2" in outcome.stderr


# ------------------------------------------------------------------------------------------------ Parquet

TYPES: dict[str, tuple[Any, str]] = {
    "list": (pa.array([[1, 2]]), "[1, 2]"),
    "struct": (pa.array([{"a": 1}]), '{"a": 1}'),
    "map": (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), '[["k", 1]]'),
    "list of bytes": (pa.array([[b"a\xff"]]), '["0x61ff"]'),
    "binary": (pa.array([b"a\xff"]), "0x61ff"),
    "binary that is text": (pa.array([b"ab"], pa.large_binary()), "ab"),
    "decimal": (pa.array([Decimal("10000000000000000000000001.25")]), "10000000000000000000000001.25"),
    "unknown zone": (pa.array([0], pa.timestamp("us", "Mars/Olympus")), "1970-01-01 00:00:00.000000Z"),
    "year 1": (pa.array([date(1, 1, 1)]), "0001-01-01"),
    "year 9999": (pa.array([datetime(9999, 12, 31)]), "9999-12-31 00:00:00.000000"),
    "null": (pa.nulls(1), ""),
}


@pytest.mark.parametrize("name", TYPES)
def test_parquet_columns_of_any_type_come_along(model: Path, name: str) -> None:
    array, text = TYPES[name]
    path = model.parent / "new.parquet"
    pq.write_table(pa.table({"x": [1.0], "other": array}), path)
    kept = succeed("predict", model, path, "--id", "other").stdout.splitlines()[1]
    quoted = '"' + text.replace('"', '""') + '"'
    assert kept.startswith((text + ",", quoted + ","))
    assert quoted in succeed("predict", model, path, "--append").stdout or text == ""


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dates(date(1, 1, 1), date(9999, 12, 31)), min_size=12, max_size=12, unique=True), st.booleans())
def test_dates_of_any_year_are_fitted_and_predicted(tmp_path: Path, days: list[date], typed: bool) -> None:
    y = [float(i) for i in range(len(days))]
    if typed:
        path = tmp_path / "t.parquet"
        pq.write_table(pa.table({"when": pa.array(days), "y": y}), path)
    else:
        path = tmp_path / "t.csv"
        path.write_text(
            "when,y\n" + "".join(f"{day.isoformat()},{value}\n" for day, value in zip(days, y, strict=True))
        )
    succeed("fit", path, "-t", "y", "--variant", "approximate", "-o", tmp_path / "m.joblib")
    lines = succeed("predict", tmp_path / "m.joblib", path).stdout.splitlines()
    assert len(lines) == 1 + len(days)


# ------------------------------------------------------------------------------------------------ what travels


@pytest.mark.parametrize(
    ("header", "row", "words"),
    [
        ("x,y", "{x},{y}", ("--null", "-999")),
        ("x;y", "{x},5;{y}", ("--decimal", ",", "--delimiter", ";")),
        ("x,y", "$1{x:03d},{y}", ()),
        ("x,y", "{x}.5 km/h,{y}", ()),
        ("x,y", "{day}h {x}m,{y}", ()),
        ("x,y", "{x}K,{y}", ()),
        ("x,y", "{day:02d}/02/2014,{y}", ("--date-format", "x=%d/%m/%Y")),
        ("x,y", "{day:02d}/02/2014,{y}", ()),
        ("ä,y", "{x},{y}", ("--encoding", "latin-1")),
    ],
)
def test_predict_reads_as_the_fit_did(tmp_path: Path, header: str, row: str, words: tuple[str, ...]) -> None:
    encoding = "latin-1" if "latin-1" in words else "utf-8"
    rows = [row.format(x=i, y=i % 9, day=1 + i % 28) for i in range(60)]
    rows[7] = row.format(x=-999, y=3, day=1) if "--null" in words else rows[7]
    (tmp_path / "fit.csv").write_text("\n".join([header, *rows]), encoding=encoding)
    (tmp_path / "few.csv").write_text("\n".join([header, *rows[6:9]]), encoding=encoding)
    succeed("fit", tmp_path / "fit.csv", "-t", "y", "--variant", "approximate", "-o", tmp_path / "m.joblib", *words)
    plain = succeed("predict", tmp_path / "m.joblib", tmp_path / "few.csv").stdout
    assert plain == succeed("predict", tmp_path / "m.joblib", tmp_path / "few.csv", *words).stdout
    whole = succeed("predict", tmp_path / "m.joblib", tmp_path / "fit.csv").stdout.splitlines()
    assert plain.splitlines()[1:] == whole[7:10]


def test_another_unit_than_that_of_the_fit_is_a_cell_at_fault(tmp_path: Path) -> None:
    rows = [f"{i} kg,{i % 9}" for i in range(60)]
    (tmp_path / "fit.csv").write_text("\n".join(["x,y", *rows]), encoding="utf-8")
    (tmp_path / "few.csv").write_text("x\n7 kg\n8 lb\n", encoding="utf-8")
    succeed("fit", tmp_path / "fit.csv", "-t", "y", "--variant", "approximate", "-o", tmp_path / "m.joblib")
    result = run("predict", tmp_path / "m.joblib", tmp_path / "few.csv")
    assert result.code == 3
    assert "line 3: '8 lb' in column 'x' is not a number with the unit 'kg'" in result.stderr
