"""JSON lines and arrays: every value is kept or refused with its line, in whatever encoding the file is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli_runner import Outcome, run, succeed


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of one number x."""
    folder = tmp_path_factory.mktemp("json")
    (folder / "fit.csv").write_text("x,y\n" + "".join(f"{i},{i * i}\n" for i in range(30)))
    succeed("fit", folder / "fit.csv", "-t", "y", "--variant", "approximate", "-o", folder / "m.joblib")
    return folder / "m.joblib"


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def append(model: Path, folder: Path, content: bytes | str, *words: str, name: str = "new.jsonl") -> list[Any]:
    """The rows that come along with predictions."""
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    succeed("predict", model, folder / name, "--append", "-o", folder / "out.jsonl", *words)
    return [json.loads(line) for line in (folder / "out.jsonl").read_text(encoding="utf-8").splitlines()]


def refused(model: Path, folder: Path, content: bytes | str, *words: str, out: str = "out.jsonl") -> Outcome:
    (folder / "new.jsonl").write_bytes(content.encode() if isinstance(content, str) else content)
    outcome = run("predict", model, folder / "new.jsonl", "--append", "-o", folder / out, *words)
    assert (outcome.code, (folder / out).exists()) == (3, False), outcome.stderr
    return outcome


CAFE = lines({"x": 1, "town": "Ulm"}, {"x": 2, "town": "café"})


@pytest.mark.parametrize("out", ["out.jsonl", "out.parquet", "out.csv"])
def test_bytes_that_are_not_utf8_are_refused_with_their_line(model: Path, tmp_path: Path, out: str) -> None:
    outcome = refused(model, tmp_path, CAFE.encode("latin-1"), out=out)
    assert "new.jsonl, line 2: not UTF-8 text" in outcome.stderr
    assert "--encoding latin-1" in outcome.stderr
    assert "--encoding utf-16-le" in refused(model, tmp_path, CAFE.encode("utf-16-le"), out=out).stderr


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "utf-8", "utf-8-sig"])
def test_lines_in_another_encoding_are_read_with_its_name(model: Path, tmp_path: Path, encoding: str) -> None:
    rows = append(model, tmp_path, CAFE.encode(encoding), "--encoding", encoding)
    assert [row["town"] for row in rows] == ["Ulm", "café"]


def test_utf8_stays_utf8_for_a_model_of_a_table_in_another_encoding(model: Path, tmp_path: Path) -> None:
    assert append(model, tmp_path, CAFE, "--encoding", "latin-1")[1]["town"] == "café"


def test_integers_of_any_size_are_kept(model: Path, tmp_path: Path) -> None:
    rows = append(
        model, tmp_path, lines({"x": 1, "n": 2**70 + 1, "m": 2**53 + 1, "l": [2**70 + 1]}, {"x": 2, "m": 0.5})
    )
    assert int(rows[0]["n"]) == 2**70 + 1
    assert int(rows[0]["m"]) == 2**53 + 1
    assert json.loads(rows[0]["l"]) == [2**70 + 1]


def test_true_among_numbers_is_not_taken_for_one(model: Path, tmp_path: Path) -> None:
    outcome = refused(model, tmp_path, lines({"x": 1}, {"x": True}))
    assert "row 2: 'true' in column 'x' is not a number" in outcome.stderr
    rows = append(model, tmp_path, lines({"x": 1, "n": 1}, {"x": 2, "n": True}, {"x": 3, "n": None}))
    assert [row["n"] for row in rows] == ["1", "true", None]


def test_half_of_a_surrogate_pair_is_refused_with_its_line(model: Path, tmp_path: Path) -> None:
    outcome = refused(model, tmp_path, '{"x": 1, "t": "\\ud83d\\ude00"}\n{"x": 2, "t": "\\ud800"}\n')
    assert "new.jsonl, line 2: \\ud800 is half of a surrogate pair" in outcome.stderr
    assert append(model, tmp_path, '{"x": 1, "t": "\\ud83d\\ude00"}\n')[0]["t"] == "😀"


def test_the_array_that_predict_writes_is_read_back(model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("id,x\na,1\nb,2\n")
    succeed("predict", model, tmp_path / "new.csv", "--append", "-o", tmp_path / "p.json")
    again = succeed("predict", model, tmp_path / "p.json", "--id", "id,prediction").stdout.splitlines()[1:]
    assert [line.split(",")[0] for line in again] == ["a", "b"]
    assert all(line.split(",")[1] == line.split(",")[2] for line in again)
    piped = succeed("predict", model, "-", stdin=(tmp_path / "p.json").read_bytes()).stdout.splitlines()[1:]
    assert piped == [line.split(",")[2] for line in again]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[{"x": 1}, 2]', "element 2: not an object"),
        ('[\n{"x": 1},\n{"x"}\n]', "line 3: not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no object has a name and a value"),
        ("{}\n", "no object has a name and a value"),
        ('{\n  "x": tru\n}\n', "line 1: not JSON"),
    ],
    ids=["element", "syntax", "deep", "empty array", "empty object", "spread over lines"],
)
def test_what_is_no_row_is_one_message(model: Path, tmp_path: Path, content: str, said: str) -> None:
    assert said in " ".join(refused(model, tmp_path, content).stderr.split())


def test_objects_in_parquet_come_from_lines_as_they_were(model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.jsonl").write_text(lines({"x": 1, "n": 2**60 + 1, "t": "é"}), encoding="utf-8")
    succeed("predict", model, tmp_path / "new.jsonl", "--append", "-o", tmp_path / "p.parquet")
    table = pq.read_table(tmp_path / "p.parquet")
    assert (table["n"].to_pylist(), table["t"].to_pylist()) == ([2**60 + 1], ["é"])
