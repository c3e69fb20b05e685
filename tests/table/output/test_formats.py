"""Predictions in every format, by the name of the file: what a reader of that format finds is what CSV says."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enrelm_cli.errors import UsageError
from enrelm_cli.output_formats import ENDINGS, format_of
from enrelm_cli.table.output.choice import rounded
from enrelm_cli.table.output.columnar import ParquetFile, full_schema
from enrelm_cli.table.output.json_lines import JsonLines
from enrelm_cli.table.output.writer import Added
from enrelm_cli.table.pieces import Batch
from tests.cli_runner import run

ENRELM = (sys.executable, "-m", "enrelm_cli")
TOWNS = ('Ans, "B"', "Ülm", "C\\d", "E\tf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and a table to predict as CSV and as Parquet with types that CSV has not."""
    where = tmp_path_factory.mktemp("formats")
    rng = np.random.default_rng(0)
    x = rng.normal(size=90)
    days = [datetime(2024, 1, 1 + i % 28, i % 24) for i in range(90)]
    columns = {"x": x, "town": [TOWNS[i % 4] for i in range(90)], "when": days, "y": x * 2 + np.arange(90) % 4}
    table = pa.table(columns)
    pq.write_table(table, where / "train.parquet")
    assert (
        run("fit", where / "train.parquet", "-t", "y", "--variant", "approximate", "-o", where / "m.joblib").code == 0
    )
    new = table.slice(0, 12).append_column("number", pa.array([*range(2**60, 2**60 + 11), None], pa.int64()))
    new = new.append_column("list", pa.array([[i, None] for i in range(12)]))
    new = new.append_column("price", pa.array([Decimal(i) / 4 for i in range(12)], pa.decimal128(10, 2)))
    new = new.append_column("day", pa.array([date(2024, 2, 1 + i) for i in range(12)]))
    new = new.append_column("zoned", pa.array([datetime(2024, 1, 1, i, tzinfo=timezone.utc) for i in range(12)]))
    new = new.append_column("level", pa.array(["a", "b"] * 6).dictionary_encode())
    pq.write_table(new, where / "new.parquet", row_group_size=5)
    with open(where / "new.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "x", "town", "when"])
        for i in range(12):
            writer.writerow(["" if i == 3 else f"i{i}", repr(float(x[i])), TOWNS[i % 4], days[i].isoformat()])
    return where


def predicted(folder: Path, data: str, output: Path, *options: str) -> Path:
    done = run("predict", folder / "m.joblib", folder / data, *options, "-o", output)
    assert done.code == 0, done.stderr
    return output


def read_csv(text: bytes, delimiter: str = ",") -> list[dict[str, Any]]:
    rows = csv.DictReader(io.StringIO(text.decode()), delimiter=delimiter)
    return [{**row, "prediction": float(row["prediction"])} for row in rows]


def zstd(data: bytes) -> bytes:
    return pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()  # type: ignore[no-any-return]


READERS: dict[str, Callable[[bytes], list[dict[str, Any]]]] = {
    ".csv": read_csv,
    ".tsv": lambda data: read_csv(data, "\t"),
    ".csv.gz": lambda data: read_csv(gzip.decompress(data)),
    ".csv.bz2": lambda data: read_csv(bz2.decompress(data)),
    ".CSV.ZST": lambda data: read_csv(zstd(data)),
    ".jsonl": lambda data: [json.loads(line) for line in data.splitlines()],
    ".jsonl.gz": lambda data: [json.loads(line) for line in gzip.decompress(data).splitlines()],
    ".json": json.loads,
    ".parquet": lambda data: pq.read_table(pa.BufferReader(data)).to_pylist(),
    ".arrow": lambda data: feather.read_table(pa.BufferReader(data)).to_pylist(),
}


@pytest.mark.parametrize("ending", READERS)
def test_every_format_holds_the_rows_that_csv_holds(folder: Path, tmp_path: Path, ending: str) -> None:
    expected = read_csv(predicted(folder, "new.csv", tmp_path / "plain", "--id", "id").read_bytes())
    assert [row["id"] for row in expected] == ["" if i == 3 else f"i{i}" for i in range(12)]
    content = predicted(folder, "new.csv", tmp_path / f"p{ending}", "--id", "id").read_bytes()
    missing = "" if "sv" in ending.lower() else None
    assert READERS[ending](content) == [{**row, "id": row["id"] or missing} for row in expected]
    again = predicted(folder, "new.csv", tmp_path / f"again{ending}", "--id", "id", "--memory", "1M").read_bytes()
    assert again == content


def test_append_keeps_the_types_of_parquet(folder: Path, tmp_path: Path) -> None:
    before = pq.read_table(folder / "new.parquet")
    for ending, read in ((".parquet", pq.read_table), (".arrow", feather.read_table)):
        after = read(predicted(folder, "new.parquet", tmp_path / f"p{ending}", "--append"))
        assert after.drop_columns("prediction").equals(before)
        assert after.schema.field("prediction").type == pa.float64()


def test_append_to_json_spells_every_type(folder: Path, tmp_path: Path) -> None:
    lines = predicted(folder, "new.parquet", tmp_path / "p.jsonl", "--append").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["town"] for row in rows] == [TOWNS[i % 4] for i in range(12)]
    assert rows[1]["number"] == 2**60 + 1
    assert rows[-1]["number"] is None
    assert (rows[1]["list"], rows[1]["price"], rows[1]["day"]) == ([1, None], "0.25", "2024-02-02")
    assert (rows[1]["when"], rows[1]["zoned"]) == ("2024-01-02T01:00:00", "2024-01-01T01:00:00Z")
    assert rows[1]["level"] == "b"


def test_columns_of_csv_come_along_as_the_model_reads_them_and_others_as_texts(folder: Path, tmp_path: Path) -> None:
    table = pq.read_table(predicted(folder, "new.csv", tmp_path / "p.parquet", "--append"))
    assert [str(field.type) for field in table.schema] == ["string", "double", "string", "timestamp[us]", "double"]
    assert table["x"].to_pylist() == pq.read_table(folder / "new.parquet")["x"].to_pylist()
    assert table["id"].to_pylist()[3] is None
    assert table["town"].to_pylist() == [TOWNS[i % 4] for i in range(12)]


def test_files_whose_types_cannot_meet_are_refused_and_those_that_can_do(folder: Path, tmp_path: Path) -> None:
    table = pq.read_table(folder / "new.parquet", columns=["x", "town", "when", "number"])
    for name, kind in (("32", pa.int32()), ("float", pa.float64()), ("day", pa.date32())):
        numbers = pa.array(range(12), pa.int32()).cast(kind)
        pq.write_table(table.set_column(3, "number", numbers), tmp_path / f"{name}.parquet")
    out = tmp_path / "p.parquet"
    line = ("predict", folder / "m.joblib", tmp_path / "32.parquet")
    assert run(*line, tmp_path / "float.parquet", "--append", "-o", out).code == 0
    assert pq.read_table(out)["number"].to_pylist() == [*map(float, range(12))] * 2
    out.unlink()
    done = run(*line, tmp_path / "day.parquet", "--append", "-o", out)
    assert (done.code, out.exists()) == (2, False)
    assert "one at a time" in done.stderr


TYPES = {
    "list<int64>": pa.list_(pa.int64()),
    "list<double>": pa.list_(pa.float64()),
    "dictionary<int8>": pa.dictionary(pa.int8(), pa.string()),
    "dictionary<int32>": pa.dictionary(pa.int32(), pa.string()),
    "timestamp[ns]": pa.timestamp("ns"),
    "timestamp[us]": pa.timestamp("us"),
}


@pytest.mark.parametrize(
    ("first", "second", "joint"),
    [
        ("int64", "double", None),
        ("uint64", "int64", None),
        ("timestamp[ns]", "timestamp[us]", None),
        ("list<int64>", "list<double>", None),
        ("uint32", "int64", "int64"),
        ("int8", "uint8", "int16"),
        ("float", "double", "double"),
        ("null", "int64", "int64"),
        ("string", "large_string", "large_string"),
        ("dictionary<int8>", "string", "string"),
        ("dictionary<int8>", "dictionary<int32>", "string"),
    ],
)
def test_two_types_meet_in_one_that_holds_both_exactly_or_not_at_all(
    folder: Path, tmp_path: Path, first: str, second: str, joint: str | None
) -> None:
    table = pq.read_table(folder / "new.parquet", columns=["x", "town", "when"])
    for name in (first, second):
        odd = pa.nulls(12, TYPES.get(name) or pa.type_for_alias(name))
        feather.write_feather(table.append_column("odd", odd), str(tmp_path / f"{name}.arrow"))
    out = tmp_path / "p.arrow"
    files = (tmp_path / f"{first}.arrow", tmp_path / f"{second}.arrow")
    done = run("predict", folder / "m.joblib", *files, "--append", "-o", out)
    if joint is None:
        assert (done.code, out.exists()) == (2, False)
        assert "column 'odd' is" in done.stderr
        assert "one at a time" in done.stderr
    else:
        assert done.code == 0, done.stderr
        assert str(feather.read_table(out).schema.field("odd").type) == joint


def test_levels_that_differ_from_file_to_file_are_one_dictionary(folder: Path, tmp_path: Path) -> None:
    table = pq.read_table(folder / "new.parquet", columns=["x", "town", "when"])
    files = []
    for number, levels in enumerate((["a", "b"], ["c", "b"], ["b", None])):
        files.append(tmp_path / f"{number}.arrow")
        column = pa.array(levels * 6).dictionary_encode()
        feather.write_feather(table.append_column("level", column), str(files[-1]))
    out = tmp_path / "p.arrow"
    assert run("predict", folder / "m.joblib", *files, "--append", "-o", out).code == 0
    level = feather.read_table(out)["level"]
    assert pa.types.is_dictionary(level.type)
    assert all(chunk.dictionary.to_pylist() == ["a", "b", "c"] for chunk in level.chunks)  # no deltas: polars has none
    assert level.cast(pa.string()).to_pylist() == ["a", "b"] * 6 + ["c", "b"] * 6 + ["b", None] * 6


def test_lists_of_levels_that_differ_are_one_message(folder: Path, tmp_path: Path) -> None:
    files = []
    for level in "ab":
        files.append(tmp_path / f"{level}.arrow")
        lists = pa.ListArray.from_arrays([0, 1], pa.array([level]).dictionary_encode())
        one_row(folder, files[-1], "lists", lists)
    line = ("predict", folder / "m.joblib", *files, "--append", "-o")
    done = run(*line, tmp_path / "p.arrow")
    assert (done.code, (tmp_path / "p.arrow").exists()) == (3, False)
    assert "write .parquet or .csv" in done.stderr
    assert run(*line, tmp_path / "p.parquet").code == 0


def test_more_levels_than_the_codes_tell_apart_are_refused(folder: Path, tmp_path: Path) -> None:
    table = pq.read_table(folder / "new.parquet", columns=["x", "town", "when"])
    files = []
    for number in range(2):
        files.append(tmp_path / f"{number}.arrow")
        levels = pa.array([f"{number}-{i}" for i in range(100)])
        column = pa.DictionaryArray.from_arrays(pa.array([*range(88, 100)], pa.int8()), levels)
        feather.write_feather(table.append_column("level", column), str(files[-1]))
    out = tmp_path / "p.arrow"
    done = run("predict", folder / "m.joblib", *files, "--append", "-o", out)
    assert (done.code, out.exists()) == (2, False)
    assert "column 'level' has 200 levels" in done.stderr


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_what_a_file_says_of_itself_and_its_columns_comes_along(folder: Path, tmp_path: Path, ending: str) -> None:
    table = pq.read_table(folder / "new.parquet", columns=["x", "town", "when"])
    fields = [field.with_metadata({"unit": f"of {field.name}"}) for field in table.schema]
    table = pa.table(table.columns, pa.schema(fields, metadata={"maker": "us"}))
    pq.write_table(table, tmp_path / "said.parquet")
    read = pq.read_schema if ending == ".parquet" else lambda path: feather.read_table(path).schema
    line = ("predict", folder / "m.joblib", tmp_path / "said.parquet")
    out = tmp_path / f"p{ending}"
    assert run(*line, "--append", "-o", out).code == 0
    assert read(out).metadata[b"maker"] == b"us"
    assert read(out).field("town").metadata[b"unit"] == b"of town"
    assert run(*line, "--id", "town", "-o", out).code == 0
    assert read(out).field("town").metadata[b"unit"] == b"of town"
    assert b"maker" not in (read(out).metadata or {})  # said of all columns
    pq.write_table(table.replace_schema_metadata({"maker": "others"}), tmp_path / "other.parquet")
    assert run(*line, tmp_path / "other.parquet", "--append", "-o", out).code == 0
    assert b"maker" not in (read(out).metadata or {})


def test_no_row_is_a_file_of_no_row(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("id,x,town,when\n")
    for ending, expected in ((".json", b"[]\n"), (".jsonl", b""), (".csv", b"id,prediction\n")):
        out = tmp_path / f"p{ending}"
        assert run("predict", folder / "m.joblib", tmp_path / "none.csv", "--id", "id", "-o", out).code == 0
        assert out.read_bytes() == expected
    out = tmp_path / "p.parquet"
    assert run("predict", folder / "m.joblib", tmp_path / "none.csv", "--id", "id", "-o", out).code == 0
    assert pq.read_table(out).schema.names == ["id", "prediction"]


def test_precision_rounds_to_significant_digits_in_every_format(folder: Path, tmp_path: Path) -> None:
    full = read_csv(predicted(folder, "new.csv", tmp_path / "full.csv").read_bytes())
    for ending in (".csv", ".json", ".parquet"):
        out = predicted(folder, "new.csv", tmp_path / f"p{ending}", "--precision", "3")
        found = READERS[ending](out.read_bytes())
        assert [row["prediction"] for row in found] == [float(f"{row['prediction']:.3g}") for row in full]
    assert run("predict", folder / "m.joblib", folder / "new.csv", "--precision", "18").code == 2


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.integers(1, 17))
def test_a_rounded_number_is_what_its_decimal_text_reads_as(values: list[float], digits: int) -> None:
    assert rounded(np.array(values), digits).tolist() == [float(f"{value:.{digits}g}") for value in values]
    assert rounded(np.array(values), 17).tolist() == values


def test_stdout_takes_every_format(folder: Path) -> None:
    enrelm = [os.fspath(folder / "m.joblib"), os.fspath(folder / "new.csv"), "-q", "--format"]
    for name in ("json", "parquet"):
        done = subprocess.run([*ENRELM, "predict", *enrelm, name], capture_output=True, check=True, timeout=60)
        assert len(READERS[f".{name}"](done.stdout)) == 12


@pytest.mark.parametrize(
    ("output", "asked", "problem"),
    [
        ("p.csv", "json", "would hold json, not csv"),
        ("p.parquet.gz", None, "compressed within"),
        ("p.gz", "arrow", "read in place"),
        ("p.arrow.zst", None, "read in place"),
        ("p.xlsx", None, "which .xlsx files do not"),
        ("p.joblib", None, "which .joblib files do not"),
    ],
)
def test_a_name_that_says_something_else_is_refused(
    folder: Path, tmp_path: Path, output: str, asked: str | None, problem: str
) -> None:
    how = () if asked is None else ("--format", asked)
    done = run("predict", folder / "m.joblib", folder / "new.csv", "-o", tmp_path / output, *how)
    assert (done.code, list(tmp_path.iterdir())) == (2, [])
    assert problem in done.stderr


def test_append_to_a_tsv_file_needs_tabs(folder: Path, tmp_path: Path) -> None:
    done = run("predict", folder / "m.joblib", folder / "new.csv", "--append", "-o", tmp_path / "p.tsv")
    assert (done.code, list(tmp_path.iterdir())) == (2, [])


@pytest.mark.parametrize("ending", [".parquet", ".csv.gz"])
def test_a_full_device_is_one_message(folder: Path, tmp_path: Path, ending: str) -> None:
    full = tmp_path / f"full{ending}"
    full.symlink_to("/dev/full")
    line = [*ENRELM, "predict", folder / "m.joblib", folder / "new.csv", "-o", full]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"full{ending}: cannot be written (No space left on device)" in done.stderr
    assert done.stderr.count("error:") == 1


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.text()), min_size=1), st.data())
def test_json_lines_read_back(texts: list[str | None], data: st.DataObject) -> None:
    texts = [None if text is None else text.encode("utf-8", "replace").decode() for text in texts]
    numbers = data.draw(st.lists(st.floats(), min_size=len(texts), max_size=len(texts)))
    writer = JsonLines(full_schema(pa.schema([]), [Added('a "b"', is_text=True), Added("n")]))
    stream = io.BytesIO()
    batch = Batch(pa.record_batch([], names=[]), -1)
    writer.write(stream, [writer.part([texts, np.array(numbers)], batch)])
    rows = [json.loads(line) for line in stream.getvalue().split(b"\n")[:-1]]
    assert [row['a "b"'] for row in rows] == texts
    assert [row["n"] for row in rows] == [number if np.isfinite(number) else None for number in numbers]


def test_small_batches_share_row_groups() -> None:
    writer = ParquetFile(full_schema(pa.schema([]), [Added("n")]))
    batch = Batch(pa.record_batch([], names=[]), -1)
    stream = io.BytesIO()
    writer.write(stream, (writer.part([np.full(1000, float(i))], batch) for i in range(300)))
    file = pq.ParquetFile(pa.BufferReader(stream.getvalue()))
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [131000, 131000, 38000]
    assert file.read()["n"].to_pylist()[::1000] == [*range(300)]


def test_every_ending_has_a_format() -> None:
    assert {format_of(f"p{ending}").name for ending in ENDINGS} == {"csv", "json", "jsonl", "parquet", "arrow"}
    with pytest.raises(UsageError):
        format_of("p.feather.zst")


# ------------------------------------------------------------------------------------------------ types that are rare

RARE: dict[str, tuple[Any, str, Any]] = {
    "zone": (
        pa.array([0], pa.timestamp("us", "Europe/Paris")),
        "1970-01-01 01:00:00.000000+0100",
        "1970-01-01T01:00:00+01:00",
    ),
    "parts of a second": (
        pa.array([1], pa.timestamp("us", "-03:30")),
        "1969-12-31 20:30:00.000001-0330",
        "1969-12-31T20:30:00.000001-03:30",
    ),
    "unknown zone": (pa.array([0], pa.timestamp("s", "Mars/Olympus")), "1970-01-01 00:00:00Z", "1970-01-01T00:00:00Z"),
    "day": (pa.array([86400], pa.duration("s")), "86400", 86400),
    "nanoseconds": (pa.array([-1500000001], pa.duration("ns")), "-1.500000001", -1.500000001),
    "bytes": (pa.array([b"\xff\0"]), "0xff00", "0xff00"),
    "bytes that are text": (pa.array([b"ab"]), "ab", "ab"),
    "no number": (pa.array([[1.0, float("nan"), float("-inf")]]), "[1.0, null, null]", [1.0, None, None]),
    "nested": (
        pa.array([[{"a": b"\xff", "b": date(2024, 1, 31), "c": "é"}]]),
        '[{"a": "0xff", "b": "2024-01-31", "c": "é"}]',
        [{"a": "0xff", "b": "2024-01-31", "c": "é"}],
    ),
    "interval": (pa.array([pa.MonthDayNano([1, -2, 3_500_000_000])]), "P1M-2DT3.5S", "P1M-2DT3.5S"),
    "codes of views": (
        pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([b"a\xff"], pa.binary_view())),
        "0x61ff",
        "0x61ff",
    ),
    "runs": (pc.run_end_encode(pa.array(["a"])), "a", "a"),
}


def one_row(folder: Path, path: Path, name: str, array: Any) -> tuple[Any, ...]:
    """A line that predicts a table with this column in it."""
    table = pq.read_table(folder / "new.parquet", columns=["x", "town", "when"]).slice(0, 1)
    table = table.append_column(name, array)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        feather.write_feather(table, str(path), compression="uncompressed")
    return ("predict", folder / "m.joblib", path)


@pytest.mark.parametrize("name", RARE)
def test_a_rare_type_has_one_form_in_csv_and_one_in_json(folder: Path, tmp_path: Path, name: str) -> None:
    array, text, value = RARE[name]
    line = one_row(folder, tmp_path / "t.arrow", "rare", array)
    for words in (("--append",), ("--id", "rare")):
        assert run(*line, *words, "-o", tmp_path / "p.csv").code == 0
        assert read_csv((tmp_path / "p.csv").read_bytes())[0]["rare"] == text
        assert run(*line, *words, "-o", tmp_path / "p.jsonl").code == 0
        row = json.loads((tmp_path / "p.jsonl").read_bytes(), parse_constant=pytest.fail)
        assert row["rare"] == value
        assert run(*line, *words, "-o", tmp_path / "p.arrow").code == 0


@pytest.mark.skipif(not hasattr(pa, "uuid"), reason="this pyarrow reads a UUID as bytes")
def test_a_uuid_comes_along_in_every_format(folder: Path, tmp_path: Path) -> None:
    one = uuid.UUID("12345678-1234-5678-1234-567812345678")
    line = one_row(folder, tmp_path / "t.parquet", "id", pa.array([one.bytes], pa.uuid()))
    assert read_csv(run(*line, "--id", "id").stdout.encode())[0]["id"] == str(one)
    assert read_csv(run(*line, "--append").stdout.encode())[0]["id"] == str(one)
    assert json.loads(run(*line, "--append", "--format", "jsonl").stdout)["id"] == str(one)
    assert run(*line, "--append", "-o", tmp_path / "p.parquet").code == 0
    assert pq.read_table(tmp_path / "p.parquet")["id"].to_pylist() == [one]


@pytest.mark.parametrize(
    ("array", "ending"),
    [
        (pa.array([2**55], pa.timestamp("s")), ".parquet"),
        (pa.array([[2**60]], pa.list_(pa.timestamp("us"))), ".jsonl"),
        (pa.StructArray.from_arrays([pa.array([1])] * 2, names=["a", "a"]), ".csv"),
    ],
    ids=["seconds", "years", "names"],
)
def test_a_value_that_a_format_does_not_hold_is_one_message(
    folder: Path, tmp_path: Path, array: Any, ending: str
) -> None:
    done = run(*one_row(folder, tmp_path / "t.arrow", "odd", array), "--append", "-o", tmp_path / f"p{ending}")
    assert (done.code, (tmp_path / f"p{ending}").exists()) == (3, False)
    assert "hint: write ." in done.stderr


def test_a_type_that_parquet_lacks_is_refused_before_anything_is_written(folder: Path, tmp_path: Path) -> None:
    line = one_row(folder, tmp_path / "t.arrow", "span", pa.array([pa.MonthDayNano([1, 2, 3])]))
    done = run(*line, "--append", "-o", tmp_path / "p.parquet")
    assert (done.code, (tmp_path / "p.parquet").exists()) == (2, False)
    assert "column 'span' holds month_day_nano_interval values" in done.stderr
