"""Files that are whole or not there, quiet pipes, and lines of predictions that read back exactly."""

from __future__ import annotations

import csv
import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enrelm_cli.errors import UsageError
from enrelm_cli.files import atomic_writer
from enrelm_cli.table import cells
from enrelm_cli.table.output.csv_lines import Layout, format_rows, number_texts, write_predictions
from enrelm_cli.table.pieces import RawRows

# ------------------------------------------------------------------------------------------------ files


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with atomic_writer(target) as stream:
        stream.write(b"half")
        assert not target.exists()
        (temporary,) = tmp_path.iterdir()
        assert temporary.name.startswith(".out.csv.enrelm-")
        assert temporary.name.endswith(".tmp")
        stream.write(b" and half")
    assert target.read_bytes() == b"half and half"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, BrokenPipeError])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")

    def fail() -> None:
        with atomic_writer(target) as stream:
            stream.write(b"new")
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_file_has_the_usual_mode_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    plain, old = tmp_path / "plain", tmp_path / "old"
    plain.touch()
    old.touch()
    old.chmod(0o640)
    with atomic_writer(tmp_path / "new") as stream:
        stream.write(b"x")
    with atomic_writer(old) as stream:
        stream.write(b"x")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


def test_a_link_is_written_through_and_a_device_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_writer(tmp_path / "link") as stream:
        stream.write(b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"x"
    with atomic_writer("/dev/null") as stream:
        stream.write(b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_place_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    for path, problem in ((tmp_path, "this is a folder"), (tmp_path / "none" / "out.csv", "there is no folder")):
        with pytest.raises(UsageError, match=problem), atomic_writer(path):
            raise AssertionError("nothing should be written")


def run(code: str, command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command.replace("PYTHON", f"{sys.executable} -c '{code}'")],
        capture_output=True,
        check=False,
    )


def test_a_dash_is_stdout_and_a_reader_that_leaves_ends_it_quietly() -> None:
    code = (
        "from enrelm_cli.files import atomic_writer\n"
        'with atomic_writer("-") as stream:\n'
        '    for i in range(200_000): stream.write(b"%d\\n" % i)\n'
    )
    done = run(code, "PYTHON | head -n 2")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"0\n1\n", b"")
    done = run(code, "PYTHON | tail -n 1")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"199999\n", b"")


# ------------------------------------------------------------------------------------------------ predictions


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_numbers_read_back_exactly(values: list[float]) -> None:
    texts = number_texts(np.array(values)).to_pylist()
    assert [float(text) for text in texts] == values
    decimal = number_texts(np.array(values), ",").to_pylist()
    assert [float(text.replace(b",", b".")) for text in decimal] == values


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.text('ab ",;\n\rü|.^]', max_size=6), st.floats(-1e9, 1e9)), max_size=20),
    st.sampled_from(",;\t|.^a"),
)
def test_identifiers_and_predictions_read_back_through_the_csv_module(
    rows: list[tuple[str, float]], delimiter: str
) -> None:
    layout = Layout(ids=("the id",), delimiter=delimiter)
    ids = pa.RecordBatch.from_arrays([pa.array([name for name, _ in rows], pa.string())], names=["the id"])
    # The numbers are quoted by no one, so their own characters cannot be the delimiter.
    values = np.array([float(round(value)) if delimiter in ".a" else value for _, value in rows])
    stream = io.BytesIO()
    write_predictions(stream, layout, [format_rows(layout, [values], ids)])
    text = io.StringIO(stream.getvalue().decode(), newline="")
    header, *found = csv.reader(text, delimiter=delimiter)
    assert header == ["the id", "prediction"]
    assert [(name, float(value)) for name, value in found] == list(
        zip([n for n, _ in rows], values.tolist(), strict=True)
    )


def test_several_columns_are_added_side_by_side() -> None:
    layout = Layout(names=("prediction", "lower", "upper"))
    assert layout.header() == b"prediction,lower,upper\n"
    rows = np.array([[1.0, 0.5, 1.5], [2.0, -1e-300, 1e300]])
    assert format_rows(layout, rows.T) == b"1,0.5,1.5\n2,-1e-300,1e+300\n"
    assert format_rows(layout, rows[:0].T) == b""


def test_texts_stand_beside_numbers_and_are_quoted_where_they_have_to_be() -> None:
    layout = Layout(names=("prediction", "why"))
    assert format_rows(layout, [np.array([1.0, 2.0]), ["a, b", None]]) == b'1,"a, b"\n2,\n'
    assert format_rows(layout, [np.array([1.0]), pa.array(['"'])]) == b'1,""""\n'


def appended(parts: list[bytes], layout: Layout) -> bytes:
    lines = []
    for part in parts:
        raw = RawRows(*cells.raw_rows(part, layout.delimiter))
        lines.append(format_rows(layout, [np.arange(len(raw.records), dtype=float)], raw=raw))
    stream = io.BytesIO()
    write_predictions(stream, layout, lines)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (b"1,x\n2,y\n", b"1,x,0\n2,y,1\n"),
        (b"1,x\r\n2,y\r\n", b"1,x,0\r\n2,y,1\r\n"),
        (b"1,x\n2,y", b"1,x,0\n2,y,1"),
        (b'"1","x\n\n,"\n', b'"1","x\n\n,",0\n'),
        (b"\n1,x\n\n\n2,y\n", b"\n1,x,0\n\n\n2,y,1\n"),
        (b"\n\n", b"\n\n"),
        (b"1, x \n", b"1, x ,0\n"),
        (b"\xff,x\n", b"\xff,x,0\n"),
    ],
)
def test_append_keeps_every_byte_of_a_row(rows: bytes, expected: bytes) -> None:
    layout = Layout(raw_header=b"a,b", line_end=b"\n")
    assert appended([rows], layout) == b"a,b,prediction\n" + expected


def test_a_last_row_without_a_line_end_does_not_swallow_the_next_file() -> None:
    layout = Layout(raw_header=b"a", line_end=b"\r\n")
    assert appended([b"1", b"2\r\n", b"3"], layout) == b"a,prediction\r\n1,0\r\n2,0\r\n3,0"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8"])
def test_appended_rows_go_out_in_the_encoding_in_which_they_came(encoding: str) -> None:
    layout = Layout(raw_header="ä".encode(), encoding=encoding, delimiter=";", decimal=",")
    stream = io.BytesIO()
    raw = RawRows(*cells.raw_rows("ü\n".encode(), ";"))
    write_predictions(stream, layout, [format_rows(layout, [np.array([0.5])], raw=raw), b"", b"x\n"])
    assert stream.getvalue() == "ä;prediction\nü;0,5\nx\n".encode(encoding)
