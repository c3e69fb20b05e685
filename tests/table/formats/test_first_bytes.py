"""Files that are no tables: what they are, by their first bytes, and lines to type that a shell takes as they stand."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from enrelm_cli.errors import DataError
from enrelm_cli.show.screen import Face, Screen, error
from enrelm_cli.table.formats.first_bytes import refuse_others
from tests.cli_runner import run

CSV = b"x,y\n1,2\n3,4\n"
ROWS = [("x", "y"), (1, 2), (3, 4)]
# Each is a shell's or SQL's to misunderstand.
NAMES = ("plain", "new\nline", "it's", "a b", "$(touch pwned)", "; touch pwned", '"', "a{}b")


def sqlite_file(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create table t (x, y)")
        database.executemany("insert into t values (?, ?)", ROWS[1:])


def zip_file(path: Path, inner: str = "t.csv") -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(inner, CSV)


def excel_file(path: Path) -> None:
    """With the names of an Excel file, nothing more."""
    zip_file(path, "[Content_Types].xml")


def hint_of(path: Path | str, folder: Path) -> str:
    outcome = run("fit", path, "-t", "y")
    assert outcome.code == 3, outcome.stderr
    return outcome.stderr.split("hint:")[1].strip()


def pasted(hint: str, folder: Path) -> bytes:
    """What the line of a hint writes: `enrelm ... -` is what reads it."""
    line = hint.splitlines()[-1].replace("enrelm ... -", "cat").replace("TABLE", "t")
    return subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, check=True, timeout=60).stdout


# ------------------------------------------------------------------------------------------------ lines to type


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("ending", "make", "program"), [(".db", sqlite_file, "sqlite3"), (".csv.zip", zip_file, "unzip")]
)
def test_the_line_of_the_hint_works_whatever_the_file_is_called(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    ending: str,
    make: Callable[[Path], None],
    program: str,
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    monkeypatch.chdir(tmp_path)
    make(Path(name + ending))
    assert pasted(hint_of(name + ending, tmp_path), tmp_path).split() == CSV.split()
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("name", NAMES)
def test_the_line_for_excel_writes_the_first_sheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="the line needs openpyxl, as it says")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.save(f"{name}.xlsx")
    assert pasted(hint_of(f"{name}.xlsx", tmp_path), tmp_path).split() == CSV.split()
    assert not (tmp_path / "pwned").exists()


def test_a_line_to_paste_stays_whole_on_a_narrow_terminal() -> None:
    stream = io.StringIO()
    face = Face(stream, terminal=True, cursor=False, width=40, unicode=True, colour=False)
    with pytest.raises(DataError) as caught:
        refuse_others("shop.db", b"SQLite format 3\0")
    error(Screen(out=face, err=face), caught.value)
    assert "\n    sqlite3 -header -csv shop.db 'select * from TABLE' | enrelm ... -\n" in stream.getvalue()


def test_an_excel_file_is_known_from_other_zip_files(tmp_path: Path) -> None:
    excel_file(tmp_path / "a.xlsx")
    assert "openpyxl" in hint_of(tmp_path / "a.xlsx", tmp_path)
    zip_file(tmp_path / "a.ods", "mimetype")
    assert "convert it, then name the CSV file:\n    libreoffice" in hint_of(tmp_path / "a.ods", tmp_path)


def test_what_is_not_a_file_of_this_machine_is_saved_first(tmp_path: Path) -> None:
    head = b"SQLite format 3\0"
    with pytest.raises(DataError) as caught:
        refuse_others("s3://bucket/a b/it's.db", head)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(
        """download it first, then pipe its rows:\n    sqlite3 -header -csv 'it'"'"'s.db'"""
    )
    outcome = run("fit", "-", "-t", "y", stdin=head)
    assert outcome.code == 3
    assert "save it to a file first, then pipe its rows: sqlite3 -header -csv FILE" in " ".join(outcome.stderr.split())


def test_a_table_whose_ninth_letter_spells_a_duck_is_a_table() -> None:
    refuse_others("t.csv", b"species,DUCK,y\n")
    with pytest.raises(DataError, match="DuckDB"):
        refuse_others("t.db", b"\1\2\3\4\5\6\7\x08DUCK\x40\0\0\0\0\0\0\0")


# ------------------------------------------------------------------------------------------------ what it is


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def bytes_of(path: Path, write: Callable[[Path], None]) -> bytes:
    write(path)
    content = path.read_bytes()
    path.unlink()
    return content


def write_parquet(path: Path) -> None:
    pq.write_table(pa.table({"x": [1], "y": [2]}), path)


def write_arrow(path: Path) -> None:
    feather.write_feather(pa.table({"x": [1], "y": [2]}), str(path), compression="uncompressed")


WITHIN = {
    "t.pq.gz": (write_parquet, gzip.compress, "a Parquet file within a gzip file", "gunzip -c t.pq.gz > t.pq"),
    "t.arrow.zst": (write_arrow, zstd, "an Arrow file within a zstd file", "zstd -dc t.arrow.zst > t.arrow"),
    "t.db.gz": (sqlite_file, gzip.compress, "a SQLite database within a gzip file", "gunzip -c t.db.gz > t.db"),
    "t.csv.gz.gz": (
        lambda path: path.write_bytes(gzip.compress(CSV)),
        gzip.compress,
        "a gzip file within a gzip file",
        "gunzip -c t.csv.gz.gz > t.csv.gz",
    ),
    "t.xls": (sqlite_file, bz2.compress, "a SQLite database within a bzip2 file", "bunzip2 -c t.xls > t.xls.unpacked"),
}  # fmt: skip


@pytest.mark.parametrize("name", WITHIN)
def test_what_a_compressed_file_holds_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    write, pack, kind, line = WITHIN[name]
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(pack(bytes_of(tmp_path / "plain", write)))  # type: ignore[arg-type]
    outcome = run("fit", name, "-t", "y")
    assert outcome.code == 3
    assert f"{name}: {kind} is not read" in outcome.stderr
    assert line in " ".join(outcome.stderr.split())


FIRST_BYTES = {
    "t.parquet": (CSV, "not a Parquet file, whatever its name says: it begins with 'x,y'"),
    "gzipped.parquet": (gzip.compress(CSV), "it begins with the bytes of a gzip file"),
    "empty.parquet": (b"", "not a whole Parquet file"),
    "start.parquet": (b"PAR", "not a whole Parquet file"),
    "cut.arrow": (b"ARROW", "not a whole Arrow file"),
    "old.feather": (b"FEA1\0\0\0\0" + bytes(40) + b"FEA1", "a Feather file of version 1"),
    "page.csv": (b"\n<!DOCTYPE html>\n<html><body>Log in, please</body></html>\n", "this is a web page, not a table"),
    "page.jsonl": (b"<html><body>Log in, please</body></html>\n", "this is a web page, not a table"),
    "garbage.csv": (bytes(range(256)) + b"\0\0\0", "neither text nor a table of a kind that is read"),
}


@pytest.mark.parametrize("name", FIRST_BYTES)
def test_a_file_is_named_for_what_its_first_bytes_are(tmp_path: Path, name: str) -> None:
    content, said = FIRST_BYTES[name]
    (tmp_path / name).write_bytes(content)
    outcome = run("fit", tmp_path / name, "-t", "y")
    assert outcome.code == 3
    assert said in " ".join(outcome.stderr.split())


def test_an_arrow_file_whose_texts_are_not_utf8_is_damaged_and_not_cut_short(tmp_path: Path) -> None:
    texts = pa.array([b"a", b"\xff"]).view(pa.string())
    feather.write_feather(pa.table({"x": [1, 2], "z": texts, "y": [1, 2]}), str(tmp_path / "t.feather"))
    outcome = run("fit", tmp_path / "t.feather", "-t", "y")
    assert outcome.code == 3
    assert "t.feather: column 'z' cannot be read (Invalid UTF8" in outcome.stderr
