"""However a table is cut, stored and read, it gives the same model; an interrupted run leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from enrelm_cli.commands.fit import fit
from enrelm_cli.errors import UsageError
from enrelm_cli.fold.connection import dask_engine
from enrelm_cli.fold.folds import LocalEngine, Silent
from enrelm_cli.fold.hashing import SAMPLE_ROWS
from enrelm_cli.inputs import dataset, training
from enrelm_cli.inputs.predicting import open_for_predict
from enrelm_cli.inputs.survey import contents
from enrelm_cli.model.model import Model
from enrelm_cli.settings import DataSettings, EngineSettings, KernelSettings, MethodSettings, SplitSettings
from enrelm_cli.table.pieces import check_files
from enrelm_cli.table.table import ReadOptions, Roles
from enrelm_cli.types import Array
from tests.cli_runner import run, succeed

# A table of several pieces that is larger than its sample, and small all the same: with the sizes below in place of the
# program's own. The slow tests read one that is larger than the real sample.
ROWS, SMALL_SAMPLE, SMALL_PIECE = 6_000, 4_096, 1_000
LARGE = 40_000
VARIANTS = ("approximate", "incremental", "kernel", "local")
# Small enough that no table fits.
LITTLE = 1_000


def some_table(rows: int, seed: int = 5) -> Any:
    """Numbers of unlike scales, levels, missing cells, and twins: rows with equal inputs and other targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 4)) * [1.0, 0.01, 300.0, 3.0]
    X[:, 3] = np.round(X[:, 3])
    colour = rng.choice(["red", "green", "blue"], rows)
    twins = rng.integers(0, rows, rows // 20)
    X[: len(twins)], colour[: len(twins)] = X[twins], colour[twins]
    y = np.sin(2.0 * X[:, 0]) + 40.0 * X[:, 1] + 1e-3 * X[:, 2] + (colour == "red") + 0.1 * rng.standard_normal(rows)
    missing = np.zeros(rows, dtype=bool)
    missing[len(twins) :: 97] = True
    columns = {"a": X[:, 0], "b": pa.array(X[:, 1], mask=missing), "c": X[:, 2], "n": X[:, 3]}
    return pa.table({**columns, "colour": colour.tolist(), "y": y})


@dataclass(frozen=True)
class Folder:
    path: Path
    y_spread: float

    def __getitem__(self, name: str) -> str:
        return str(self.path / name)


def written(folder: Path, rows: int) -> Folder:
    """One table in several forms, and new rows to predict."""
    table, first, last = some_table(rows), rows * 9 // 40, rows * 39 // 40
    pa_csv.write_csv(table, folder / "all.csv")
    pa_csv.write_csv(table.take(np.random.default_rng(1).permutation(rows)), folder / "shuffled.csv")
    pa_csv.write_csv(table.slice(0, first), folder / "part1.csv")
    pa_csv.write_csv(table.slice(first, last - first), folder / "part2.csv")
    pq.write_table(table.slice(last), folder / "part3.parquet")
    pq.write_table(table, folder / "all.parquet", row_group_size=rows * 7 // 40)
    pa_csv.write_csv(some_table(500, seed=6), folder / "new.csv")
    return Folder(folder, float(np.std(table["y"].to_numpy())))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return written(tmp_path_factory.mktemp("engines"), ROWS)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return written(tmp_path_factory.mktemp("large"), LARGE)


@pytest.fixture
def small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (dataset, training, contents):
        monkeypatch.setattr(module, "SAMPLE_ROWS", SMALL_SAMPLE)
    monkeypatch.setattr(dataset, "piece_rows", lambda _: SMALL_PIECE)


@dataclass(frozen=True)
class Way:
    """How the table is read."""

    names: tuple[str, ...] = ("all.csv",)
    threads: int = 2
    memory: int | None = None
    read: ReadOptions = field(default_factory=ReadOptions)


def fitted(files: Folder, way: Way, variant: str) -> Model:
    data = DataSettings(tuple(files[name] for name in way.names), Roles("y"), way.read)
    kernel = KernelSettings(tune=variant == "kernel", tune_rows=100, tune_steps=8)
    # Small leaves of some of the rows: what is compared is how they are read.
    method = MethodSettings(landmarks=60, kernel=kernel, leaf_rows=100, local_rows=3_000)
    where = EngineSettings(threads=way.threads, memory=way.memory)
    return fit(data, SplitSettings(), method, where, variant, LocalEngine(way.threads))[1]


def predictions(files: Folder, model: Model) -> Array:
    opened = open_for_predict([files["new.csv"]], ReadOptions(), model.encoding)
    return np.concatenate([model.predict(model.encoding.for_predict(batch)[0]) for piece in opened for batch in piece])


_KNOWN: dict[tuple[Path, str], Array] = {}


def expected(files: Folder, variant: str) -> Array:
    """Predictions of the model that was fitted in memory."""
    if (files.path, variant) not in _KNOWN:
        _KNOWN[files.path, variant] = predictions(files, fitted(files, Way(), variant))
    return _KNOWN[files.path, variant]


def check(files: Folder, way: Way, variant: str) -> None:
    found = predictions(files, fitted(files, way, variant))
    assert np.abs(found - expected(files, variant)).max() <= 1e-8 * files.y_spread


WAYS = {
    "one thread": Way(threads=1),
    "rows shuffled": Way(("shuffled.csv",)),
    "read again in each pass": Way(memory=LITTLE),
    "read again in blocks of about 500 rows": Way(memory=LITTLE, read=ReadOptions(block_bytes=40_000)),
    "read again in batches of 1,000 rows, shuffled": Way(
        ("shuffled.csv",), memory=LITTLE, read=ReadOptions(batch_rows=1_000)
    ),
    "several files of two kinds": Way(("part2.csv", "part3.parquet", "part1.csv")),
    "several files of two kinds, read again": Way(("part2.csv", "part3.parquet", "part1.csv"), memory=LITTLE),
    "Parquet, row groups read again": Way(("all.parquet",), memory=LITTLE),
}


@pytest.mark.usefixtures("small_sizes")
def test_the_tables_are_larger_than_the_sample(files: Folder) -> None:
    assert LARGE > SAMPLE_ROWS
    data = DataSettings((files["all.csv"],), Roles("y"), ReadOptions())
    rows = dataset.open_dataset(data, EngineSettings(), LocalEngine()).rows
    assert (len(rows.pieces), rows.sample.rows) == (ROWS // SMALL_PIECE, SMALL_SAMPLE)


@pytest.mark.usefixtures("small_sizes")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_predictions_do_not_depend_on_how_the_rows_are_read(files: Folder, way: Way, variant: str) -> None:
    check(files, way, variant)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("way", ["read again in batches of 1,000 rows, shuffled", "several files of two kinds"])
def test_predictions_of_a_large_table_do_not_depend_on_how_it_is_read(large: Folder, way: str, variant: str) -> None:
    check(large, WAYS[way], variant)


@pytest.mark.usefixtures("small_sizes")
@pytest.mark.parametrize("rows", [300, 65_536])
def test_predictions_do_not_depend_on_the_size_of_pieces_in_memory(
    files: Folder, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    wanted = expected(files, "kernel")
    monkeypatch.setattr(dataset, "piece_rows", lambda _: rows)
    found = predictions(files, fitted(files, Way(), "kernel"))
    assert np.abs(found - wanted).max() <= 1e-8 * files.y_spread


@pytest.mark.usefixtures("small_sizes")
@pytest.mark.parametrize("variant", VARIANTS)
def test_threads_change_no_bit(files: Folder, variant: str) -> None:
    found = predictions(files, fitted(files, Way(threads=5), variant))
    assert (found == expected(files, variant)).all()


def test_a_table_that_does_not_fit_is_read_again_and_says_so(files: Folder) -> None:
    data = DataSettings((files["all.csv"],), Roles("y"), ReadOptions())
    opened = dataset.open_dataset(data, EngineSettings(memory=LITTLE), LocalEngine())
    assert not opened.rows.in_memory
    assert "read again from disk in each pass" in opened.notes[0]
    assert dataset.open_dataset(data, EngineSettings(), LocalEngine()).rows.in_memory


def test_all_landmarks_of_a_large_table_are_refused_with_the_memory_they_need(tmp_path: Path) -> None:
    table = tmp_path / "all.csv"
    pa_csv.write_csv(some_table(LARGE), table)
    outcome = run("fit", table, "-t", "y", "--variant", "approximate", "--landmarks", "all")
    assert outcome.code == 2
    assert re.search(r"--landmarks all needs about \d+\.\d GB for \d\d,\d{3} rows", outcome.stderr)
    assert "--landmarks auto" in outcome.stderr


def test_a_cluster_refuses_what_comes_through_a_pipe(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="stdin: the workers of a cluster cannot read a pipe"):
        check_files(["table.csv", "-"])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="pipe: the workers of a cluster cannot read a pipe"):
        check_files([str(pipe)])
    check_files([str(tmp_path / "*.csv"), str(tmp_path)])


def test_without_dask_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(UsageError) as caught:
        dask_engine(EngineSettings(engine="dask"), Silent())
    assert str(caught.value.hint).startswith("pip install 'dask[distributed]>=")


# ------------------------------------------------------------------------------------------------ interrupted


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("big") / "big.csv"
    pa_csv.write_csv(some_table(400_000), path)
    return path


def start(*words: object, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "enrelm_cli", *map(str, words)],
        cwd=folder,
        # Its temporary files would be here, too.
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)


ENDINGS = pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)


@ENDINGS
def test_an_interrupted_fit_leaves_nothing_behind(big: Path, tmp_path: Path, number: int, code: int) -> None:
    words = ("fit", big, "-t", "y", "--variant", "kernel", "--landmarks", 800, "-v", "-o", "model.joblib")
    process = start(*words, folder=tmp_path)
    assert process.stderr is not None
    for line in process.stderr:  # with -v a pass that is over says so
        if "survey" in line:
            break
    assert re.fullmatch(r"pass \d+, survey: 400,000 rows, [\d,]+ rows/s\n", line)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@ENDINGS
def test_an_interrupted_predict_leaves_nothing_behind(
    big: Path, files: Folder, tmp_path: Path, number: int, code: int
) -> None:
    model = files["slow.joblib"]
    if not os.path.exists(model):
        words = ("-t", "y", "--variant", "kernel", "--no-tune", "--landmarks", 800, "--no-refit")
        succeed("fit", files["part1.csv"], *words, "-o", model)
    process = start("predict", model, big, "-o", "out.csv", folder=tmp_path)
    until(lambda: any(tmp_path.iterdir()), process)
    # Not in the middle of the first pa.array of a process, which looks for pandas and swallows what a signal raises.
    time.sleep(0.5)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
