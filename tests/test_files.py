"""Nothing that is read is written over: an output that is an input, two outputs in one file, names that mislead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from enrelm_cli.errors import UsageError
from enrelm_cli.files import Output, atomic_writer, check_outputs, write_whole
from tests.cli_runner import run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """d.csv, and other names for it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("x,y\n" + "".join(f"{i},{i * i}\n" for i in range(30)))
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.csv").symlink_to("d.csv")
    (tmp_path / "sub" / "link").symlink_to("../link.csv")
    os.link("d.csv", "hard.csv")
    return tmp_path


NAMES = ("d.csv", "./d.csv", "sub/../d.csv", "link.csv", "sub/link", "hard.csv")


@pytest.mark.parametrize("read", [*NAMES, "*.csv"])
@pytest.mark.parametrize("written", NAMES)
def test_an_output_under_any_name_of_an_input_is_refused(folder: Path, read: str, written: str) -> None:
    with pytest.raises(UsageError, match="is also an input"):
        check_outputs([read], [Output("-o", written, "a table")])


def test_two_outputs_in_one_file_are_refused(folder: Path) -> None:
    (folder / "alias").symlink_to("new.csv")
    with pytest.raises(UsageError, match="are the same file"):
        check_outputs([], [Output("-o", "new.csv", "predictions"), Output("--report", "alias", "JSON")])
    check_outputs([], [Output("-o", "/dev/null", "predictions"), Output("--report", "/dev/null", "JSON")])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("fit d.csv -t y -o d.csv", "is also an input"),
        ("fit link.csv -t y -o hard.csv", "is also an input"),
        ("fit d.csv -t y -o model.csv", "try model.joblib"),
        ("fit d.csv -t y -o model.parquet", "try model.joblib"),
        ("predict m.joblib d.csv -o d.csv", "is also an input"),
        ("predict m.joblib d.csv -o m.joblib", "is also an input"),
        ("predict m.joblib d.csv --report d.csv", "is also an input"),
        ("predict m.joblib d.csv -o out --report ./out", "are the same file"),
        ("predict m.joblib d.csv -o out.xlsx", "try out.csv"),
        ("curve d.csv -t y --report d.csv", "is also an input"),
        ("curve d.csv -t y --plot d.csv", "is also an input"),
        ("compare d.csv -t y --report m.png --plot m.png", "are the same file"),
        ("export m.joblib -o m.joblib", "is also an input"),
    ],
)
def test_every_command_refuses_before_it_reads(folder: Path, words: str, expected: str) -> None:
    before = (folder / "d.csv").read_bytes()
    (folder / "m.joblib").write_bytes(b"not read")
    outcome = run(*words.split())
    assert outcome.code == 2
    assert expected in " ".join(outcome.stderr.split())
    assert (folder / "d.csv").read_bytes() == before
    assert (folder / "m.joblib").read_bytes() == b"not read"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    enrelm = f"{sys.executable} -m enrelm_cli"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    words = ["bash", "-c", command.replace("enrelm", enrelm)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment)


def test_stdout_by_its_other_name_is_appended_to(folder: Path) -> None:
    (folder / "all.txt").write_text("kept\n")
    assert shell("enrelm sample 1 --rows 2 -o /dev/stdout >> all.txt").returncode == 0
    lines = (folder / "all.txt").read_text().splitlines()
    assert (lines[0], len(lines)) == ("kept", 4)
    assert len(shell("enrelm sample 1 --rows 2 -o /dev/fd/1 | cat").stdout.splitlines()) == 3


def test_appending_to_the_table_that_is_read_is_refused(folder: Path) -> None:
    before = (folder / "d.csv").read_bytes()
    done = shell("enrelm fit d.csv -t y >> d.csv; echo $? >&2")
    assert "stdout is also an input" in done.stderr
    assert done.stderr.endswith("2\n")
    assert (folder / "d.csv").read_bytes() == before


@pytest.mark.parametrize("name", ["a" * 255, "ä" * 127])
def test_a_name_may_be_as_long_as_the_disk_allows(folder: Path, name: str) -> None:
    write_whole(name, b"whole")
    assert (folder / name).read_bytes() == b"whole"
    assert not list(folder.glob(".*"))
    with pytest.raises(UsageError):
        check_outputs([], [Output("-o", name + "aa", "a table")])


def test_a_descriptor_that_is_closed_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="/dev/fd/987"), atomic_writer("/dev/fd/987"):
        pass
