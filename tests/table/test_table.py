"""Tables as they are found: awkward files, kinds over all rows, the same table in any format, golden errors."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enrelm_cli.errors import DataError, Exit, UsageError, UserError
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.settings import ReadOptions, Roles
from enrelm_cli.table.kinds import Kind
from enrelm_cli.table.load import load
from enrelm_cli.table.storage import contents
from enrelm_cli.table.table import Table, open_table

TINY = ReadOptions(block_bytes=16, batch_rows=3)


def read(
    files: str | Path | Sequence[str | Path],
    options: ReadOptions | None = None,
    roles: Roles | None = None,
    in_memory: bool = True,
) -> Table:
    names = [str(file) for file in ([files] if isinstance(files, str | Path) else files)]
    roles = roles or Roles()
    return load(open_table(names, options or ReadOptions(), roles), roles, LocalEngine(threads=2), in_memory)


def rows_of(table: Table) -> dict[str, list[Any]]:
    """Every column of a table, whatever its pieces."""
    batches = [batch for piece in table.pieces for batch in piece]
    assert [batch.row for batch in batches] == np.cumsum([0] + [batch.rows for batch in batches])[:-1].tolist()
    whole = pa.Table.from_batches([batch.columns for batch in batches])
    return {name: whole.column(name).to_pylist() for name in whole.schema.names}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ------------------------------------------------------------------------------------------------ awkward files

AWKWARD: dict[str, tuple[bytes, ReadOptions, dict[str, list[Any]]]] = {
    "plain": (b"a,b\n1,x\n2,y\n", ReadOptions(), {"a": [1.0, 2.0], "b": ["x", "y"]}),
    "no line end at the end": (b"a,b\n1,x\n2,y", ReadOptions(), {"a": [1.0, 2.0], "b": ["x", "y"]}),
    "byte order mark": (b"\xef\xbb\xbfa,b\n1,x\n", ReadOptions(), {"a": [1.0], "b": ["x"]}),
    "CR LF": (b"a,b\r\n1,x\r\n2,y\r\n", ReadOptions(), {"a": [1.0, 2.0], "b": ["x", "y"]}),
    "CR": (b"a,b\r1,x\r2,y\r", ReadOptions(), {"a": [1.0, 2.0], "b": ["x", "y"]}),
    "blank lines": (b"\n\na,b\n\n1,x\n\n\n2,y\n\n", ReadOptions(), {"a": [1.0, 2.0], "b": ["x", "y"]}),
    "quoted newlines and delimiters": (
        b'a,b\n1,"x,\ny"\n2,"say ""hi"""\n',
        ReadOptions(),
        {"a": [1.0, 2.0], "b": ["x,\ny", 'say "hi"']},
    ),
    "quoted numbers": (b'"a","b"\n"1","x"\n"2.5","y"\n', ReadOptions(), {"a": [1.0, 2.5], "b": ["x", "y"]}),
    "quoted newline in the header": (b'"a\nb",c\n1,x\n', ReadOptions(), {"a\nb": [1.0], "c": ["x"]}),
    "stray quotes": (b'a,b\n1,pipe 12"\n2,pipe 3"\n', ReadOptions(), {"a": [1.0, 2.0], "b": ['pipe 12"', 'pipe 3"']}),
    "spaces": (b"a, b\n 1, 2\n 3, NA\n5, \n", ReadOptions(), {"a": [1.0, 3.0, 5.0], "b": [2.0, None, None]}),
    "unnamed column": (b",a\n1,2\n", ReadOptions(), {"a": [2.0], "column 1": [1.0]}),
    "semicolons and decimal commas": (
        b"a;b\n1,5;x\n-2,25;y\n",
        ReadOptions(decimal=","),
        {"a": [1.5, -2.25], "b": ["x", "y"]},
    ),
    "decimal commas in every cell": (b"a;b\n1,5;x\n", ReadOptions(), {"a": [1.5], "b": ["x"]}),
    "tabs": (b"a\tb\n1\tx\n", ReadOptions(), {"a": [1.0], "b": ["x"]}),
    "bars": (b"a|b\n1|x\n", ReadOptions(), {"a": [1.0], "b": ["x"]}),
    "a delimiter that was named": (b"a:b\n1:x\n", ReadOptions(delimiter=":"), {"a": [1.0], "b": ["x"]}),
    "latin-1": ("ä,b\n1,ü\n".encode("latin-1"), ReadOptions(encoding="latin-1"), {"b": ["ü"], "ä": [1.0]}),
    "utf-16": ("ä,b\n1,ü\n".encode("utf-16"), ReadOptions(encoding="utf-16"), {"b": ["ü"], "ä": [1.0]}),
    "nulls": (
        b"a,b\n1,x\nNA,NA\n?,?\nNaN,\nnull,y\n",
        ReadOptions(),
        {"a": [1.0, None, None, None, None], "b": ["x", "NA", "?", None, "y"]},
    ),
    "nulls that were named": (
        b"a,b\n1,NA\n-9,x\n,\n",
        ReadOptions(nulls=("-9",)),
        {"a": [1.0, None, None], "b": ["NA", "x", None]},
    ),
    "booleans": (b"a,b\ntrue,True\nfalse,FALSE\n", ReadOptions(), {"a": [True, False], "b": [True, False]}),
    "ones and zeros are numbers": (b"a,b\n1,x\n0,y\n", ReadOptions(), {"a": [1.0, 0.0], "b": ["x", "y"]}),
    "integers beyond 2^63": (b"a\n1\n99999999999999999999\n", ReadOptions(), {"a": [1.0, 1e20]}),
    "numbers and booleans are text": (b"a\n1\ntrue\n", ReadOptions(), {"a": ["1", "true"]}),
    "empty column": (b"a,b\n,1\n,2\n", ReadOptions(), {"a": [None, None], "b": [1.0, 2.0]}),
    "one column": (b"a\n1\n2\n", ReadOptions(), {"a": [1.0, 2.0]}),
    "times of day are seconds": (b"a\n10:30\n", ReadOptions(), {"a": [37800.0]}),
}


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("name", AWKWARD)
def test_an_awkward_file_is_read_as_it_was_meant(folder: Path, name: str, in_memory: bool) -> None:
    content, options, expected = AWKWARD[name]
    (folder / "t.csv").write_bytes(content)
    assert rows_of(read("t.csv", options, in_memory=in_memory)) == dict(sorted(expected.items()))
    (folder / "t.csv.gz").write_bytes(gzip.compress(content))
    assert rows_of(read("t.csv.gz", options, in_memory=in_memory)) == dict(sorted(expected.items()))


@pytest.mark.parametrize("name", AWKWARD)
def test_an_awkward_file_is_the_same_in_blocks_of_a_few_bytes(folder: Path, name: str) -> None:
    content, options, expected = AWKWARD[name]
    (folder / "t.csv").write_bytes(content)
    small = ReadOptions(
        options.delimiter, options.decimal, options.encoding, options.nulls, block_bytes=4, batch_rows=1
    )
    for in_memory in (True, False):
        assert rows_of(read("t.csv", small, in_memory=in_memory)) == dict(sorted(expected.items()))


def test_dates_and_timestamps_are_dates(folder: Path) -> None:
    (folder / "t.csv").write_bytes(b"d,s,z\n2020-01-31,2020-01-31 10:00:00.5,2020-01-31T10:00:00+01:00\n,,\n")
    table = read("t.csv")
    assert table.kinds == {"d": Kind.DATE, "s": Kind.DATE, "z": Kind.ZONED}


# ------------------------------------------------------------------------------------------------ kinds over all rows


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(
    ("first", "last", "kind", "value"),
    [
        ("1", "oops", Kind.TEXT, "oops"),
        ("1", "2.5", Kind.NUMBER, 2.5),
        ("1", "true", Kind.TEXT, "true"),
        ("true", "1", Kind.TEXT, "1"),
        ("", "true", Kind.BOOLEAN, True),
        ("", "x", Kind.TEXT, "x"),
        ("2020-01-01", "1", Kind.TEXT, "1"),
        ("x", "1", Kind.TEXT, "1"),
    ],
)
def test_the_last_row_has_a_say_in_the_kind_of_its_column(
    folder: Path, in_memory: bool, first: str, last: str, kind: Kind, value: object
) -> None:
    (folder / "t.csv").write_text("a,b\n" + f"{first},1\n" * 40_000 + f"{last},2\n")
    table = read("t.csv", ReadOptions(block_bytes=1 << 16), in_memory=in_memory)
    assert table.kinds["a"] is kind
    column = rows_of(table)["a"]
    assert column[-1] == value
    if kind is Kind.TEXT:
        assert column[0] == (first or None)


def test_a_column_that_is_all_missing_at_first_may_turn_out_to_be_two_things(folder: Path) -> None:
    (folder / "t.csv").write_text("a,b\n" + ",1\n" * 20 + "true,1\n" * 20 + "3,1\n" * 20)
    assert read("t.csv", TINY).kinds["a"] is Kind.TEXT


def test_files_that_disagree_about_a_kind_are_read_as_text(folder: Path) -> None:
    (folder / "1.csv").write_text("a,b\n1,2\n")
    (folder / "2.csv").write_text("b,a\n2,x\n")
    pq.write_table(pa.table({"a": [2.0, 2.5], "b": [1, 2]}), folder / "3.parquet")
    for in_memory in (True, False):
        assert rows_of(read(["1.csv", "2.csv", "3.parquet"], in_memory=in_memory)) == {
            "a": ["1", "x", "2", "2.5"],
            "b": [2.0, 2.0, 1.0, 2.0],
        }


def test_only_the_columns_that_are_needed_are_read(folder: Path) -> None:
    (folder / "t.csv").write_bytes(b"a,b,c,y\n1,x,\xff,3\n")
    table = read("t.csv", roles=Roles(target="y", drop=("c",), keep=("b",)))
    assert rows_of(table) == {"a": [1.0], "b": ["x"], "y": [3.0]}
    assert read("t.csv", roles=Roles(target="y", inputs=("a",))).kinds.keys() == {"a", "y"}


# ------------------------------------------------------------------------------------------------ sources

EXPECTED = {"a": [float(i) for i in range(50)], "b": ["xyz"[i % 3] for i in range(50)]}


def write_everything(folder: Path) -> dict[str, list[str]]:
    """One table in many guises: name -> files."""
    table = pa.table(EXPECTED)
    names = {name: [f"{name}"] for name in ("t.csv", "t.tsv", "t.csv.gz", "t.parquet")}
    pa_csv.write_csv(table, "t.csv")
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    (folder / "t.tsv").write_bytes((folder / "t.csv").read_bytes().replace(b",", b"\t"))
    pq.write_table(table, "t.parquet", row_group_size=7)
    (folder / "parts").mkdir()
    for i in range(3):
        part = table.slice(i * 20, 20)
        pa_csv.write_csv(part if i != 1 else part.select(["b", "a"]), f"parts/{i}.csv")
    return names | {"glob": ["parts/*.csv"], "several": [f"parts/{i}.csv" for i in range(3)]}


def test_the_same_table_is_the_same_rows_in_every_guise(folder: Path) -> None:
    for files in write_everything(folder).values():
        for options in (ReadOptions(), TINY):
            for in_memory in (True, False):
                table = read(files, options, in_memory=in_memory)
                assert rows_of(table) == EXPECTED
                assert table.rows == 50
                assert table.bytes is not None


def test_pieces_survive_pickling_and_being_read_twice(folder: Path) -> None:
    for files in write_everything(folder).values():
        table = read(files, TINY, in_memory=False)
        again = pickle.loads(pickle.dumps(table))
        assert rows_of(again) == rows_of(table) == EXPECTED


def test_a_plain_file_is_cut_into_many_pieces_and_a_compressed_one_is_not(folder: Path) -> None:
    write_everything(folder)
    assert len(read("t.csv", TINY, in_memory=False).pieces) > 10
    assert len(read("t.csv.gz", TINY, in_memory=False).pieces) == 1
    assert len(read("t.parquet", TINY, in_memory=False).pieces) == 8


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize("spool", [1 << 20, 10])
def test_stdin_is_kept_and_read_again(folder: Path, name: str, spool: int, monkeypatch: pytest.MonkeyPatch) -> None:
    write_everything(folder)
    monkeypatch.setattr(contents, "_SPOOL_MEMORY", spool)
    monkeypatch.setattr(contents.tempfile, "tempdir", str(folder))
    with open(name, "rb") as stdin:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
        table = read("-", TINY, in_memory=False)
    assert table.label == "stdin"
    assert rows_of(table) == rows_of(table) == EXPECTED
    for path in folder.glob("enrelm-stdin-*"):
        contents._remove(str(path))


def test_a_named_pipe_is_read_like_stdin(folder: Path) -> None:
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: (folder / "pipe").write_bytes(b"a,b\n1,2\n"))
    writer.start()
    assert rows_of(read("pipe")) == {"a": [1.0], "b": [2.0]}
    writer.join()


def test_parquet_types_become_the_few_kinds(folder: Path) -> None:
    from datetime import date, datetime, timezone
    from decimal import Decimal

    table = pa.table(
        {
            "small": pa.array([1, None], pa.int8()),
            "half": pa.array([1.5, float("nan")], pa.float32()),
            "exact": pa.array([Decimal("2.50"), None]),
            "flag": pa.array([True, None]),
            "day": pa.array([date(2020, 1, 1), None]),
            "zoned": pa.array([datetime(2020, 1, 1, tzinfo=timezone.utc), None], pa.timestamp("ns", "Europe/Paris")),
            "levels": pa.array(["x", "NA"]).dictionary_encode(),
            "large": pa.array(["x", None], pa.large_string()),
            "nothing": pa.nulls(2),
        }
    )
    pq.write_table(table, "t.parquet")
    read_back = read("t.parquet")
    assert read_back.kinds == {
        "day": Kind.DATE,
        "exact": Kind.NUMBER,
        "flag": Kind.BOOLEAN,
        "half": Kind.NUMBER,
        "large": Kind.TEXT,
        "levels": Kind.TEXT,
        "nothing": Kind.NUMBER,
        "small": Kind.NUMBER,
        "zoned": Kind.ZONED,
    }
    rows = rows_of(read_back)
    assert rows["exact"] == [2.5, None]
    assert rows["levels"] == ["x", "NA"]
    assert rows["small"] == [1.0, None]


# ------------------------------------------------------------------------------------------------ round trips

text_cell = st.one_of(
    st.none(),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8).filter(
        lambda text: text.strip() not in ("", "NA", "?", "none")
    ),
    st.sampled_from(['"', '""', "a,b;c|d\te", "\n", "\r", "x\r\ny", "1", "true", "2020-01-01", '12" pipe']).map(
        "w{}".format
    ),
)
number_cell = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**50), 2**50))


@st.composite
def tables(draw: st.DrawFn) -> list[list[Any]]:
    """Columns of numbers and columns of texts, in which at least one cell is neither number nor boolean nor date."""
    rows = draw(st.integers(1, 12))
    columns = []
    for numeric in draw(st.lists(st.booleans(), min_size=1, max_size=4)):
        column = draw(st.lists(number_cell if numeric else text_cell, min_size=rows, max_size=rows))
        columns.append(column if numeric else [*column[:-1], "word"])
    return columns


@settings(max_examples=100, deadline=None)
@given(
    tables(),
    st.booleans(),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["NA", "?", "none", '""']),
    st.integers(8, 200),
)
def test_a_random_table_is_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory,
    columns: list[list[Any]],
    always: bool,
    delimiter: str,
    line_end: str,
    null: str,
    size: int,
) -> None:
    def written(value: Any) -> str:
        if value is None:
            return null
        text = repr(value) if isinstance(value, float) else str(value)
        return '"' + text.replace('"', '""') + '"' if always or set(text) & {delimiter, '"', "\r", "\n"} else text

    names = [f"c{i}" for i in range(len(columns))]
    lines = [names, *zip(*columns, strict=True)]
    path = tmp_path_factory.mktemp("random") / "t.csv"
    path.write_bytes(line_end.join(delimiter.join(map(written, line)) for line in lines).encode())
    found = rows_of(read(path, ReadOptions(delimiter, nulls=(null,), block_bytes=size, batch_rows=3)))
    assert found == dict(zip(names, columns, strict=True))


# ------------------------------------------------------------------------------------------------ golden errors


def complaint(action: Any) -> tuple[str, str | None]:
    with pytest.raises(UserError) as caught:
        action()
    assert caught.value.exit_code is Exit.DATA
    return caught.value.problem, caught.value.hint


RAGGED = "every row needs 3 cells; a cell that contains ',' must be in double quotes"
NULL = "correct the file, or type --null TOKEN for each text that means a missing value"

GOLDEN: dict[str, tuple[bytes, Roles, ReadOptions, str, str]] = {
    "missing target": (
        b"Price,b\n1,2\n",
        Roles(target="price"),
        ReadOptions(),
        "data.csv: there is no column 'price' (--target)",
        "did you mean 'Price'?",
    ),
    "missing target, nothing like it": (
        b"a,b\n1,2\n",
        Roles(target="price"),
        ReadOptions(),
        "data.csv: there is no column 'price' (--target)",
        "its columns are a, b",
    ),
    "missing column to drop": (
        b"size,b,y\n1,2,3\n",
        Roles(target="y", drop=("sise",)),
        ReadOptions(),
        "data.csv: there is no column 'sise' (--drop)",
        "did you mean 'size'?",
    ),
    "duplicate header": (
        b"a,b,a\n1,2,3\n",
        Roles(target="a"),
        ReadOptions(),
        "data.csv, line 1: 2 columns are called 'a' (columns 1 and 3)",
        "give every column a unique name",
    ),
    "empty file": (
        b"",
        Roles(target="y"),
        ReadOptions(),
        "data.csv: the file is empty",
        "a table has a header line and then a line for each row",
    ),
    "header only": (
        b"a,y\n",
        Roles(target="y"),
        ReadOptions(),
        "data.csv: a header and no rows",
        "a table has a header line and then a line for each row",
    ),
    "ragged row": (
        b'a,b,c\n"x\nx",2,3\n1,2\n1,2,3\n',
        Roles(),
        ReadOptions(),
        "data.csv, line 4: 2 cells where the header has 3: '1,2'",
        RAGGED,
    ),
    "ragged rows": (
        b"a,b,c\n1,2,3\n" + b"1,2,3,4\n" * 1007,
        Roles(),
        ReadOptions(block_bytes=64),
        "data.csv: 1,007 rows do not have the 3 cells of the header\n"
        "  line 3: '1,2,3,4'\n  line 4: '1,2,3,4'\n  line 5: '1,2,3,4'\n  line 6: '1,2,3,4'\n  line 7: '1,2,3,4'\n"
        "  and 1,002 more",
        RAGGED,
    ),
    "a quote that is never closed": (
        b'a,b\n1,"x\n2,y\n',
        Roles(),
        ReadOptions(delimiter=",", nulls=("NA",)),
        "data.csv, line 2: a double quote is opened and never closed: '1,\"x\\n2,y\\n'",
        'a double quote at the start of a cell has to be closed; inside such a cell write "" for "',
    ),
    "text in a numeric column": (
        b"a,y\n1,1\nx,2\n3,3\n",
        Roles(target="y", numeric=("a",)),
        ReadOptions(),
        "data.csv, line 3: 'x' in column 'a' is not a number",
        "correct the file, or type --null x if that means a missing value",
    ),
    "texts in a numeric column": (
        b"a,y\n1,1\n" + b"x,2\nz,2\n" * 600,
        Roles(target="y", numeric=("a",)),
        ReadOptions(block_bytes=100),
        "data.csv: 1,200 cells of column 'a' are not numbers\n"
        "  line 3: 'x'\n  line 4: 'z'\n  line 5: 'x'\n  line 6: 'z'\n  line 7: 'x'\n  and 1,195 more",
        NULL,
    ),
    "non-numeric target": (
        b"a,y\n1,low\n2,high\n",
        Roles(target="y", task="regression"),
        ReadOptions(),
        "data.csv: 2 cells of column 'y' are not numbers\n  line 2: 'low'\n  line 3: 'high'",
        "a target is a column of numbers, or of classes with --task classification; --null TOKEN for a missing value",
    ),
    "wrong delimiter": (
        b"a;b;c\n1;2;3\n",
        Roles(target="c"),
        ReadOptions(delimiter=","),
        "data.csv: the delimiter ',' gives one column, ';' would give 3",
        "type --delimiter ';'",
    ),
    "wrong delimiter, tabs": (
        b"a\tb\n1\t2\n",
        Roles(target="b"),
        ReadOptions(delimiter=";"),
        "data.csv: the delimiter ';' gives one column, tab would give 2",
        "type --delimiter tab",
    ),
    "not UTF-8": (
        "a,y\n1,2\nZürich,3\n".encode("latin-1"),
        Roles(target="y"),
        ReadOptions(),
        "data.csv, line 3: not UTF-8 text: 'Zürich,3'",
        "name the file's encoding, most likely --encoding latin-1 or --encoding cp1252",
    ),
    "header not UTF-8": (
        "ä,y\n1,2\n".encode("latin-1"),
        Roles(target="y"),
        ReadOptions(),
        "data.csv, line 1: not UTF-8 text: 'ä,y'",
        "name the file's encoding, most likely --encoding latin-1 or --encoding cp1252",
    ),
    "UTF-16": (
        "a,y\n1,2\n".encode("utf-16"),
        Roles(target="y"),
        ReadOptions(),
        "data.csv, line 1: not UTF-8 text (it has zero bytes)",
        "try --encoding utf-16",
    ),
}


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("name", GOLDEN)
def test_an_error_says_where_and_what_to_type(folder: Path, name: str, in_memory: bool) -> None:
    content, roles, options, problem, hint = GOLDEN[name]
    (folder / "data.csv").write_bytes(content)
    assert complaint(lambda: read("data.csv", options, roles, in_memory)) == (problem, hint)


def test_a_folder_and_a_missing_file_are_named(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "prices.csv").write_text("a,b\n1,2\n")
    assert complaint(lambda: read("data")) == ("data: this is a folder", "name its files: 'data/*.csv' (in quotes)")
    assert complaint(lambda: read("price.csv")) == ("price.csv: no such file", "did you mean prices.csv?")
    assert complaint(lambda: read("other/price.csv")) == ("other/price.csv: no such file", "there is no folder other")
    hint = "columns are named by options: --target rooms, --inputs a,b"
    assert complaint(lambda: read("rooms")) == ("rooms: no such file", hint)


def test_a_missing_file_that_is_called_like_a_sample_table_can_be_made(folder: Path) -> None:
    def hint(path: str) -> str | None:
        return complaint(lambda: read(path))[1]

    (folder / "my data").mkdir()
    writes = "writes the sample table of this name; then name"
    assert hint("sample_data/friedman.csv") == f"`enrelm sample friedman -o friedman.csv` {writes} friedman.csv"
    there = f"`enrelm sample houses -o 'my data/houses.csv'` {writes} my data/houses.csv"
    assert hint("my data/houses.csv") == there
    (folder / "my data" / "house.csv").write_text("a,b\n1,2\n")
    assert hint("my data/houses.csv") == f"did you mean my data/house.csv? {there}"
    (folder / "friedman.csv").write_text("a,b\n1,2\n")
    assert hint("sample_data/friedman.csv") == "did you mean friedman.csv?"
    assert hint("sample_data/friedman") == "there is no folder sample_data"


def test_an_empty_glob_is_named(folder: Path) -> None:
    (folder / "data").mkdir()
    assert complaint(lambda: read("data/*.csv")) == ("no file matches data/*.csv", "check the folder and the pattern")


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_parquet_file_that_is_cut_short_is_a_data_error(folder: Path, share: float) -> None:
    pq.write_table(pa.table(EXPECTED), "whole.parquet")
    whole = (folder / "whole.parquet").read_bytes()
    (folder / "half.parquet").write_bytes(whole[: int(share * len(whole))])
    assert complaint(lambda: read("half.parquet")) == (
        "half.parquet: not a whole Parquet file",
        "it may be cut short: copy or write it again",
    )


def test_text_in_a_numeric_parquet_column_names_its_row(folder: Path) -> None:
    pq.write_table(pa.table({"a": ["1", "x", "3"], "y": [1.0, 2.0, 3.0]}), "t.parquet")
    assert complaint(lambda: read("t.parquet", roles=Roles(target="y", numeric=("a",)))) == (
        "t.parquet, row 2: 'x' in column 'a' is not a number",
        "correct the file, or type --null x if that means a missing value",
    )


UNREADABLE = {
    "list": pa.array([[1.0], None]),
    "struct": pa.array([{"a": 1}, {"a": 2}]),
    "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
    "bytes": pa.array([b"\xff", b""]),
    "duration": pa.array([1, 2], pa.duration("s")),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_parquet_column_of_a_type_that_is_never_read_is_left_out_unless_named(folder: Path, kind: str) -> None:
    columns = {"a": UNREADABLE[kind], "x": [1.0, 3.0], "y": [1.0, 2.0]}
    pq.write_table(pa.table(columns), "t.parquet")
    pq.write_table(pa.table({**columns, "a": ["p", "q"]}), "u.parquet")
    table = read("t.parquet")
    assert table.kinds.keys() == {"x", "y"}
    assert table.unreadable == {"a": str(pq.read_schema("t.parquet").field("a").type)}
    assert read(["u.parquet", "t.parquet"]).kinds.keys() == {"x", "y"}
    assert read("t.parquet", roles=Roles(target="y", drop=("a",))).unreadable == {}
    for named in ({"inputs": ("a",)}, {"categorical": ("a",)}, {"target": "a"}):
        problem, _ = complaint(lambda named=named: read("t.parquet", roles=Roles(**{"target": "y", **named})))
        assert problem.startswith("t.parquet: column 'a' holds ")
        assert problem.endswith(" values, which cannot be inputs")


def test_files_with_other_columns_are_not_one_table(folder: Path) -> None:
    (folder / "1.csv").write_text("a,b\n1,2\n")
    (folder / "2.csv").write_text("a,c\n1,2\n")
    assert complaint(lambda: read(["1.csv", "2.csv"])) == (
        "2.csv has no column 'b', a column 'c', unlike 1.csv",
        "files that are read as one table have the same columns, in any order",
    )


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (Roles(numeric=("a",), categorical=("a",)), "column 'a' is named in both --numeric and --categorical"),
        (Roles(target="a", drop=("a",)), "column 'a' is named in both --target and --drop"),
        (Roles(inputs=("a",), drop=("a",)), "column 'a' is named in both --inputs and --drop"),
    ],
)
def test_roles_that_contradict_each_other_are_a_usage_error(folder: Path, roles: Roles, message: str) -> None:
    (folder / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError) as caught:
        read("t.csv", roles=roles)
    assert caught.value.problem == message


@pytest.mark.parametrize(
    "wrong",
    [
        {"delimiter": ",,"},
        {"delimiter": "ä"},
        {"decimal": ";"},
        {"delimiter": ",", "decimal": ","},
        {"encoding": "utf-9"},
    ],
)
def test_read_options_are_checked_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ReadOptions(**wrong)
    assert ReadOptions(delimiter="tab").delimiter == "\t"


def test_a_file_that_cannot_be_read_is_a_data_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    (folder / "t.csv").write_text("a,b\n1,2\n")
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(DataError, match=r"t.csv: cannot be read \(Permission denied\)"):
        open_table(["t.csv"], ReadOptions(), Roles())
