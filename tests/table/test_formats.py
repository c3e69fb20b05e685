"""The same rows in every format that is read: the same predictions; damaged files: one message."""

from __future__ import annotations

import bz2
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pytest

from tests.cli_runner import run, succeed

ROWS = [(i, "ab"[i % 2], i * i % 17 + (i % 2)) for i in range(40)]
CSV = ("x,z,y\n" + "".join(f"{x},{z},{y}\n" for x, z, y in ROWS)).encode()
FIT = ("-t", "y", "--variant", "approximate", "--no-refit")


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def json_lines(content: bytes) -> bytes:
    return "\n".join(json.dumps(dict(zip("xzy", row, strict=True))) for row in ROWS).encode()


def arrow_file(content: bytes) -> bytes:
    sink = io.BytesIO()
    feather.write_feather(_table(content), sink)
    return sink.getvalue()


def arrow_stream(content: bytes) -> bytes:
    sink = io.BytesIO()
    table = _table(content)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _table(content: bytes) -> Any:
    return pa_csv.read_csv(pa.BufferReader(content))


FORMATS: dict[str, Callable[[bytes], bytes]] = {
    "t.csv.gz": gzip.compress,
    "t.csv.bz2": bz2.compress,
    "t.csv.zst": zstd,
    "t.jsonl": json_lines,
    "t.ndjson.gz": lambda content: gzip.compress(json_lines(content)),
    "t.feather": arrow_file,
    "t.arrows": arrow_stream,
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A model of the CSV file, and its predictions."""
    folder = tmp_path_factory.mktemp("formats")
    (folder / "t.csv").write_bytes(CSV)
    succeed("fit", folder / "t.csv", *FIT, "-o", folder / "m.joblib")
    return folder / "m.joblib", succeed("predict", folder / "m.joblib", folder / "t.csv").stdout


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_model_and_the_same_predictions(
    name: str, plain: tuple[Path, str], tmp_path: Path
) -> None:
    model, predicted = plain
    (tmp_path / name).write_bytes(FORMATS[name](CSV))
    succeed("fit", tmp_path / name, *FIT, "-o", tmp_path / "m.joblib")
    assert succeed("predict", tmp_path / "m.joblib", tmp_path / name).stdout == predicted
    assert succeed("predict", model, "-", stdin=FORMATS[name](CSV)).stdout == predicted


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("t.jsonl",)])
def test_a_file_that_is_cut_short_is_one_message(name: str, tmp_path: Path) -> None:
    content = FORMATS[name](CSV)
    (tmp_path / name).write_bytes(content[: len(content) * 2 // 3])
    outcome = run("fit", tmp_path / name, *FIT, "-o", tmp_path / "m.joblib")
    assert outcome.code == 3, outcome.stderr
    assert name in outcome.stderr
    assert not (tmp_path / "m.joblib").exists()


def test_two_compressed_files_in_one_are_both_read(plain: tuple[Path, str], tmp_path: Path) -> None:
    header, rest = CSV.split(b"\n", 1)
    for name, pack in (("t.csv.zst", zstd), ("t.csv.bz2", bz2.compress), ("t.csv.gz", gzip.compress)):
        (tmp_path / name).write_bytes(pack(header + b"\n") + pack(rest))
        assert succeed("predict", plain[0], tmp_path / name).stdout == plain[1]


def test_a_column_of_numbers_and_texts_in_json_lines_is_one_of_texts(tmp_path: Path) -> None:
    rows = [{"x": i % 3 or "many", "y": i % 3 == 0} for i in range(40)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    report = succeed("fit", tmp_path / "t.jsonl", *FIT, "--format", "json").json
    assert report["rows"] == 40


def test_a_bad_line_of_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"x": 1, "y": 2}\n{"x": 2, "y"\n')
    outcome = run("fit", tmp_path / "t.jsonl", *FIT)
    assert outcome.code == 3
    assert "t.jsonl, line 2: not JSON" in outcome.stderr


def levels_as_views(values: list[str]) -> Any:
    """Categories as polars writes them: codes of views."""
    plain = pa.array(values).dictionary_encode()
    return pa.DictionaryArray.from_arrays(plain.indices.cast(pa.uint32()), plain.dictionary.cast(pa.string_view()))


def test_levels_and_runs_in_the_layouts_of_polars_are_read(plain: tuple[Path, str], tmp_path: Path) -> None:
    model, predicted = plain
    x, z, y = ([row[place] for row in ROWS] for place in range(3))
    runs = pc.run_end_encode(pa.array(y))
    for texts in (levels_as_views(z), pa.array(z, pa.string_view())):
        halves = [pa.table({"x": x, "z": texts, "y": runs}).slice(start, 20) for start in (0, 20)]
        with pa.ipc.new_stream(tmp_path / "t.arrows", halves[0].schema) as writer:
            for half in halves:
                writer.write_table(half)
        assert succeed("predict", model, tmp_path / "t.arrows").stdout == predicted
        assert len(succeed("predict", model, tmp_path / "t.arrows", "--append").stdout.splitlines()) == 41
        succeed("fit", tmp_path / "t.arrows", *FIT)


def test_categories_of_polars_are_read(plain: tuple[Path, str], tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    model, predicted = plain
    for kind in (polars.Categorical, polars.Enum(["a", "b"]), polars.String):
        frame = polars.DataFrame(ROWS, schema=["x", "z", "y"], orient="row").with_columns(polars.col("z").cast(kind))
        frame.write_ipc(tmp_path / "t.arrow")
        assert succeed("predict", model, tmp_path / "t.arrow").stdout == predicted
        assert len(succeed("predict", model, tmp_path / "t.arrow", "--append").stdout.splitlines()) == 41
