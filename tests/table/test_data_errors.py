"""Tables that cannot be fitted, through the command line: one message, exit code 3, no traceback, no output file."""

from __future__ import annotations

import gzip
import re
import shlex
from pathlib import Path

import pytest

from tests.cli_runner import run, succeed

GOOD = "a,b,y\n" + "".join(f"{i % 7},{i * i % 11},{i % 5 + 0.5 * (i % 3)}\n" for i in range(40))

BAD = {
    "missing target": (GOOD.replace("a,b,y", "a,b,yy"), (), "did you mean 'yy'"),
    "duplicate header": (GOOD.replace("a,b,y", "a,a,y"), (), "'a'"),
    "empty file": ("", (), "empty"),
    "header only": ("a,b,y\n", (), "no rows"),
    "ragged row": (GOOD + "1,2\n", (), "line 42"),
    "text in a numeric column": (GOOD + "x,2,3\n", ("--numeric", "a"), "line 42"),
    "non-numeric target": (GOOD + "1,2,high\n", (), "'high'"),
    "constant target": ("a,y\n" + "".join(f"{i},7\n" for i in range(20)), (), "in every row"),
    "infinite value": (GOOD + "inf,2,3\n", (), "infinite"),
    "too few rows": ("a,y\n1,2\n2,3\n", (), "too few"),
    "wrong delimiter": (GOOD.replace(",", ";"), ("--delimiter", ","), ";"),
    "an identifier": ("id,y\n" + "".join(f"n{i:04d},{i % 5}\n" for i in range(300)), (), "--categorical id"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_is_a_message_and_nothing_else(name: str, tmp_path: Path) -> None:
    text, words, expected = BAD[name]
    table, model = tmp_path / "table.csv", tmp_path / "model.joblib"
    table.write_text(text)
    outcome = run("fit", table, "-t", "y", *words, "-o", model)
    assert outcome.code == 3
    assert expected in outcome.stderr
    assert outcome.stdout == ""
    assert "Traceback" not in outcome.stderr
    assert "bug" not in outcome.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]


def test_a_text_in_a_hint_can_be_pasted(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text(GOOD + "it's,2,3\n")
    outcome = run("fit", table, "-t", "y", "--numeric", "a")
    assert outcome.code == 3
    (typed,) = re.findall(r"(--null .*) if that means", " ".join(outcome.stderr.split()))
    succeed("fit", table, "-t", "y", "--numeric", "a", "--variant", "approximate", *shlex.split(typed))


def test_what_is_not_a_table_is_a_message_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "latin.csv").write_bytes(GOOD.replace("a,b,y", "ä,b,y").encode("latin-1"))
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(GOOD.encode() * 50)[:200])
    (tmp_path / "cut.parquet").write_bytes(b"PAR1" + bytes(100))
    before = sorted(path.name for path in tmp_path.iterdir())
    for name in (*before, "absent.csv"):
        outcome = run("fit", tmp_path / name, "-t", "y", "-o", tmp_path / "model.joblib")
        assert (name, outcome.code) == (name, 3), outcome.stderr
        assert "Traceback" not in outcome.stderr
        assert outcome.stderr.startswith("error: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_column_that_the_model_needs_and_the_table_lacks(tmp_path: Path) -> None:
    table, new, model, out = (tmp_path / name for name in ("table.csv", "new.csv", "model.joblib", "out.csv"))
    table.write_text(GOOD)
    new.write_text("a\n1\n2\n")
    succeed("fit", table, "-t", "y", "--variant", "approximate", "-o", model)
    outcome = run("predict", model, new, "-o", out)
    assert outcome.code == 3
    assert "'b'" in outcome.stderr
    assert not out.exists()
