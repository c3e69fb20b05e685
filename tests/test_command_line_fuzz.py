"""Options × files × streams, drawn at random: a documented exit code, no traceback, whole files, equal row counts."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli_runner import Outcome, run, succeed

CODES = {0, 2, 3, 4, 5}
NUMBERS = ["1", "2.5", "-3e2", "0", "inf", "1e400", "nan", "", "NA", "x", "$1,234", "12 %", "1 234,5", "\ufeff7", "²"]
DATES = ["2014-10-13", "13/10/2014", "10/13/2014", "0001-01-01", "9999-12-31T23:59:59", "31/02/2014", "20141013T000000"]
TEXTS = ["a", "b", "unknown", '"q,\n""r"""', "\x1b[31m", "\x00", "ü", " ", '"', "%s", "{}"]
OPTIONS = (
    "--encoding latin-1|--encoding utf-16|--encoding rot13|--delimiter ;|--delimiter tab|--decimal ,|--null 1|--null x"
    "|--only-null 0|--date-format c=%d/%m/%Y|--date-format nope=%Y|--date-format c|--threads 1|--memory 1M"
    "|--quiet|--debug"
)
FIT = "--drop c|--categorical c|--numeric c|--inputs a|--missing drop|--missing error|--seed 7|--fail-above 0|-n 2"
PREDICT = "--append|--id a|--id c|--id nope|--interval 0.9|--strict|--report {out}.json"
OUTPUTS = ["{out}", "{out}.csv", "{out}.joblib", "{data}", "{model}", "/dev/null", "{folder}", "{folder}/no/where", "-"]


@dataclass(frozen=True)
class Written:
    """A table in a file."""

    spec: str  # as it is typed
    delimiter: str
    rows: int | None  # as Python's own reader counts them; None where it would not read them


def table(random_: random.Random, rows: int) -> tuple[bytes, str]:
    """Three columns and a target, mostly sound, and their delimiter."""
    pools = [["1", "2.5", "-3e2", "0"], random_.choice([NUMBERS, TEXTS, DATES, ["a", "b"]]), ["1", "2", "3.5", "8"]]
    lines = [["a", "c", "y"]] + [[random_.choice(pool) for pool in pools] for _ in range(rows)]
    if random_.random() < 0.1:
        lines[random_.randrange(len(lines))].append("ragged")
    delimiter, end = random_.choice([",", ",", ",", ";", "\t"]), random_.choice(["\n", "\n", "\r\n", "\r"])
    data = end.join(delimiter.join(line) for line in lines).encode() + random_.choice([b"", end.encode(), b"\n\n"])
    if random_.random() < 0.1:
        place = random_.randrange(len(data))
        data = data[:place] + bytes([random_.randrange(256)]) + data[place + random_.randrange(2) :]
    return data, delimiter


def records(text: str, delimiter: str) -> int | None:
    """Rows below the header; None where Python's reader has other rules than ours or refuses the text."""
    if any(cell == '"' for line in text.splitlines() for cell in line.split(delimiter)):
        return None
    try:
        return (
            sum(1 for cells in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if cells) - 1
        )
    except csv.Error:
        return None


def write_table(random_: random.Random, path: Path) -> Written:
    data, delimiter = table(random_, random_.choice([0, 1, 2, 30, 60]))
    rows = records(data.decode("utf-8", "replace"), delimiter)
    kind = random_.choice(["csv", "csv", "csv", "gz", "cut", "parquet", "stdin"])
    if kind == "gz" or kind == "cut":
        data = gzip.compress(data)[: None if kind == "gz" else -9]
    if kind == "parquet":
        texts = [random_.choice(TEXTS) for _ in range(30)]
        pq.write_table(pa.table({"a": list(range(30)), "c": texts, "y": [i % 7 for i in range(30)]}), path)
        delimiter, rows = ",", 30
    else:
        path.write_bytes(data)
    return Written("-" if kind == "stdin" else str(path), delimiter, rows)


def some(random_: random.Random, options: str) -> list[str]:
    chosen = random_.sample(options.split("|"), random_.choice([0, 0, 1, 1, 2]))
    return [word for option in chosen for word in option.split(" ")]


def case(random_: random.Random, folder: Path, sound: bytes) -> tuple[list[str], Outcome, Path, bytes, Written]:
    data, model = folder / "data.csv", folder / "model.joblib"
    model.write_bytes(sound if random_.random() < 0.9 else sound[: random_.randrange(len(sound))])
    written = write_table(random_, data)
    spec = written.spec
    places = {"out": str(folder / "out"), "data": str(data), "model": str(model), "folder": str(folder)}
    fit = random_.random() < 0.4
    words = ["fit", spec, "-t", random_.choice(["y", "y", "y", "c", "z"]), "--variant", "approximate"]
    words = words if fit else ["predict", str(model), spec]
    words += some(random_, OPTIONS) + some(random_, FIT if fit else PREDICT)
    if random_.random() < 0.7:
        words += ["-o", random_.choice(OUTPUTS)]
    words = [word.format(**places) if "{" in word else word for word in words]
    before = data.read_bytes()
    return words, run(*words, stdin=before if spec == "-" else None), data, before, written


def check(words: list[str], outcome: Outcome, data: Path, before: bytes) -> None:
    assert outcome.code in CODES, (words, outcome)
    assert "Traceback" not in outcome.stderr or "--debug" in words, (words, outcome.stderr)
    if "-" not in words[1:3]:  # what comes through stdin has no name that could be written over
        assert data.read_bytes() == before, words
    assert not list(data.parent.glob(".*.tmp")), words
    written = [path for path in data.parent.glob("out*") if path.suffix != ".json"]
    if outcome.code:
        assert not written, (words, outcome)
        assert outcome.stderr, words


def check_predictions(words: list[str], outcome: Outcome, folder: Path, table: Written) -> bool:
    """A prediction for each row, wherever they went. Whether there was anything to count."""
    if words[0] != "predict" or outcome.code:
        return False
    files = [path for path in folder.glob("out*") if path.suffix != ".json"]
    text = files[0].read_bytes().decode() if files else outcome.stdout
    if not text:  # /dev/null
        return False
    said = [cells for cells in csv.reader(io.StringIO(text, newline=""), delimiter=table.delimiter) if cells]
    assert "prediction" in said[0], (words, said[:2])
    places = range(said[0].index("prediction"), len(said[0]))
    assert all(np.isfinite(float(cells[place].replace(",", "."))) for cells in said[1:] for place in places), words
    if table.rows is not None:
        assert len(said) - 1 == table.rows, (words, len(said) - 1, table)
    for report in folder.glob("*.json"):
        assert json.loads(report.read_text("utf-8"))["rows"] == len(said) - 1, words
    return table.rows is not None


def fuzz(tmp_path: Path, cases: int, seed: int) -> tuple[Counter[int], int]:
    """How often each exit code came, and how often rows were counted."""
    (tmp_path / "fit.csv").write_text("a,c,y\n" + "".join(f"{i % 7},{'ab'[i % 2]},{i % 5}\n" for i in range(60)))
    succeed("fit", tmp_path / "fit.csv", "-t", "y", "--variant", "approximate", "-o", tmp_path / "sound.joblib")
    sound = (tmp_path / "sound.joblib").read_bytes()
    random_, codes, counted = random.Random(seed), Counter[int](), 0
    for number in range(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        words, outcome, data, before, table = case(random_, folder, sound)
        check(words, outcome, data, before)
        counted += check_predictions(words, outcome, folder, table)
        codes[outcome.code] += 1
    return codes, counted


def test_random_command_lines_end_as_documented(tmp_path: Path) -> None:
    codes, counted = fuzz(tmp_path, 60, seed=1)
    assert len(codes) >= 3
    assert counted


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_many_random_command_lines_end_as_documented(tmp_path: Path, seed: int) -> None:
    codes, counted = fuzz(tmp_path, 500, seed)
    print(f"command lines: {sum(codes.values())}, exit codes {dict(sorted(codes.items()))}, rows counted {counted}")
    assert {0, 2, 3} <= {*codes}
