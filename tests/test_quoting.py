"""Lines to paste: bash reads back what was quoted."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from enrelm_cli.quoting import quoted, split
from enrelm_cli.report import words
from enrelm_cli.show.tables import continued
from tests.cli_runner import succeed

WORDS = [
    "plain",
    "",
    "a b",
    "it's",
    "new\nline",
    "tab\tand 'quote' and \\n",
    "\x1b[2J",
    "é\u200b€\x07" + "f",
    "\udcff",
    "$x",
]


def test_a_quoted_line_is_printable_and_taken_apart_again() -> None:
    line = words.shell(WORDS)
    assert line.isprintable()
    assert split(line) == [quoted(word) for word in WORDS]


def test_words_without_control_characters_are_quoted_for_every_shell() -> None:
    assert quoted("it's") == shlex.quote("it's")
    assert quoted("new\nline") == r"$'new\nline'"


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


def read_by_bash(line: str) -> list[str]:
    """The words after `enrelm` as a command gets them."""
    script = line.replace("enrelm", r"printf '%s\0'", 1)
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    return [word.decode("utf-8", "surrogateescape") for word in done.stdout.split(b"\0")[:-1]]


@needs_bash
@pytest.mark.parametrize("width", [None, 20])
def test_bash_reads_back_what_was_quoted(width: int | None) -> None:
    line = words.shell(["enrelm", *WORDS])
    assert read_by_bash(line if width is None else continued(line, width)) == WORDS


@needs_bash
def test_the_line_of_a_model_works_as_pasted_whatever_its_columns_are_called(tmp_path: Path) -> None:
    table, model, again = tmp_path / "t.csv", tmp_path / "m.joblib", tmp_path / "again.joblib"
    rows = "".join(f"{i},{i * i % 17},{i * i}\n" for i in range(60))
    table.write_text(f"\"new\nline\t'x'\",z,y\n{rows}")
    succeed("fit", table, "-t", "y", "--variant", "approximate", "-o", model)
    _, _, *options, _ = read_by_bash(succeed("info", model, "--command").stdout.splitlines()[0])
    succeed("fit", table, *options, again)
    assert again.read_bytes() == model.read_bytes()
