"""A real Dask scheduler and real worker processes give what this process's threads give."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

pytest.importorskip("distributed", reason="Dask is not installed: make test-dask")

from enrelm_cli.commands.fit import fit
from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold import connection
from enrelm_cli.fold.cluster import DaskEngine
from enrelm_cli.fold.connection import dask_engine
from enrelm_cli.fold.folds import Engine, LocalEngine, Progress, Silent, Sums
from enrelm_cli.fold.tasks import Part, Shared, fingerprint
from enrelm_cli.inputs import dataset
from enrelm_cli.inputs.predicting import open_for_predict
from enrelm_cli.inputs.training import training
from enrelm_cli.model.model import Model
from enrelm_cli.settings import DataSettings, EngineSettings, KernelSettings, MethodSettings, SplitSettings
from enrelm_cli.table.table import ReadOptions, Roles
from enrelm_cli.types import Array
from tests.cli_runner import run, succeed

# Dask's own warnings are not this project's to turn into errors.
pytestmark = [pytest.mark.dask, pytest.mark.filterwarnings("ignore")]

ROWS = 3_000
# About 250 rows a block: enough pieces for a worker to be lost among them.
READ = ReadOptions(block_bytes=20_000)
# Several leaves of the rows that a test has.
LEAVES: dict[str, tuple[str | int, ...]] = {"local": ("--leaf-rows", 200)}


@dataclass
class Cluster:
    """A scheduler and workers, each a process of its own."""

    folder: Path
    address: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    scheduler: subprocess.Popen[bytes] | None = None

    def start_scheduler(self) -> None:
        facts = self.folder / "scheduler.json"
        self.scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(facts)
        )
        end = time.monotonic() + 60
        while not self.address:
            assert self.scheduler.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
            if facts.exists() and facts.read_text().endswith("}"):
                self.address = json.loads(facts.read_text())["address"]

    def start_worker(self) -> None:
        self.workers.append(self._start("dask_worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard"))

    def _start(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{program}", *words, "--dashboard-address", "127.0.0.1:0"],
            cwd=self.folder,
            env={**os.environ, "DASK_TEMPORARY_DIRECTORY": str(self.folder), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def wait_for(self, workers: int) -> None:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)

    def engine(self, progress: Progress | None = None) -> DaskEngine:
        return dask_engine(EngineSettings(engine="dask", scheduler=self.address), progress or Silent())

    def stop(self) -> None:
        for process in [*self.workers, self.scheduler]:
            if process is not None:
                process.kill()
                process.wait()


@pytest.fixture(autouse=True)
def _closed_engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A command closes its engine when its process ends; here the process goes on."""
    opened: list[DaskEngine] = []
    monkeypatch.setattr(connection, "_close_at_exit", opened.append)
    yield
    for engine in opened:
        engine.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start_scheduler()
        cluster.start_worker()
        cluster.start_worker()
        cluster.wait_for(2)
        yield cluster
    finally:
        cluster.stop()


def some_table(rows: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 3)) * [1.0, 0.01, 300.0]
    colour = rng.choice(["red", "green", "blue"], rows)
    y = np.sin(2.0 * X[:, 0]) + 40.0 * X[:, 1] + 1e-3 * X[:, 2] + (colour == "red") + 0.1 * rng.standard_normal(rows)
    b = pa.array(X[:, 1], mask=np.arange(rows) % 50 == 7)
    return pa.table({"a": X[:, 0], "b": b, "c": X[:, 2], "colour": colour.tolist(), "y": y})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    table = some_table(ROWS, 1)
    pa_csv.write_csv(table.slice(0, 1_500), folder / "part1.csv")
    pa_csv.write_csv(table.slice(1_500, 900), folder / "part2.csv")
    with pa.CompressedOutputStream(str(folder / "part3.csv.gz"), "gzip") as stream:
        pa_csv.write_csv(table.slice(2_400, 300), stream)
    pq.write_table(table.slice(2_700), folder / "part4.parquet", row_group_size=100)
    pa_csv.write_csv(some_table(1_000, 2), folder / "new.csv")
    return folder


def data_settings(files: Path) -> DataSettings:
    names = ("part1.csv", "part2.csv", "part3.csv.gz", "part4.parquet")
    return DataSettings(tuple(str(files / name) for name in names), Roles("y"), READ)


def fitted(files: Path, engine: Engine, variant: str) -> Model:
    where = EngineSettings(engine="dask" if engine.elsewhere else "local")
    method = MethodSettings(landmarks=50, kernel=KernelSettings(tune=False), leaf_rows=200)
    return fit(data_settings(files), SplitSettings(), method, where, variant, engine)[1]


def predictions(files: Path, model: Model) -> Array:
    opened = open_for_predict([str(files / "new.csv")], ReadOptions(), model.encoding)
    return np.concatenate([model.predict(model.encoding.for_predict(batch)[0]) for piece in opened for batch in piece])


def assert_same(files: Path, found: Model, variant: str) -> None:
    expected = predictions(files, fitted(files, LocalEngine(2), variant))
    assert np.abs(predictions(files, found) - expected).max() <= 1e-8 * np.std(expected)


@pytest.mark.parametrize("variant", ["approximate", "incremental", "kernel", "local"])
def test_a_cluster_finds_the_model_that_one_process_finds(cluster: Cluster, files: Path, variant: str) -> None:
    assert_same(files, fitted(files, cluster.engine(), variant), variant)


@pytest.mark.parametrize("variant", ["approximate", "kernel", "local", "logistic"])
def test_a_cluster_tells_classes_apart_as_one_process_does(
    cluster: Cluster, files: Path, tmp_path: Path, variant: str
) -> None:
    """The target is a text: from its own files, and from the workers'."""
    words = ("-t", "colour", "--variant", variant, "--landmarks", 50, "--no-tune", *LEAVES.get(variant, ()))
    told = []
    for name, on in (("here", ()), ("there", ("--engine", "dask", "--scheduler", cluster.address))):
        model = tmp_path / f"{name}.joblib"
        succeed("fit", files / "part1.csv", files / "part4.parquet", *words, "-o", model, *on)
        lines = succeed("predict", model, files / "new.csv", "--probabilities").stdout.splitlines()
        told.append([[float(cell) for cell in line.split(",")[-3:]] for line in lines[1:]])
    np.testing.assert_allclose(told[1], told[0], atol=1e-6)


@pytest.mark.parametrize("variant", ["kernel", "local"])
def test_a_cluster_fits_several_targets_as_one_process_does(
    cluster: Cluster, files: Path, tmp_path: Path, variant: str
) -> None:
    words = ("-t", "y,c", "--variant", variant, "--landmarks", 50, "--no-tune", *LEAVES.get(variant, ()))
    told = []
    for name, on in (("here", ()), ("there", ("--engine", "dask", "--scheduler", cluster.address))):
        model = tmp_path / f"{name}.joblib"
        facts = succeed("fit", files / "part1.csv", files / "part4.parquet", *words, "-o", model, "-f", "json", *on)
        assert [one["target"] for one in facts.json["targets"]] == ["y", "c"]
        lines = succeed("predict", model, files / "new.csv", "--interval", 0.9).stdout.splitlines()
        told.append(np.array([[float(cell) for cell in line.split(",")] for line in lines[1:]]))
    assert told[0].shape == (1_000, 6)
    np.testing.assert_allclose(told[1], told[0], atol=1e-8 * np.std(told[0], axis=0).max())


@dataclass
class Killer:
    """Progress that kills a process in the middle of a pass."""

    victim: subprocess.Popen[bytes]
    label: str
    killed_at: int = 0  # rows of the pass that were done
    finished_at: int = 0
    rows: int = 0
    passes: list[tuple[str, int]] = field(default_factory=list)

    def start(self, label: str, total: int | None) -> None:
        self.passes.append((label, self.rows))
        self.rows = 0

    def advance(self, rows: int) -> None:
        self.rows += rows
        if self.passes[-1][0] == self.label and not self.killed_at and self.rows > 500:
            self.killed_at = self.rows
            os.kill(self.victim.pid, signal.SIGKILL)

    def finish(self) -> None:
        if self.passes[-1][0] == self.label:
            self.finished_at = self.rows


@pytest.mark.parametrize(
    ("variant", "label"),
    [
        pytest.param("kernel", "Gram matrix", marks=pytest.mark.slow),
        ("local", "leaves"),
        pytest.param("local", "weights of the leaves", marks=pytest.mark.slow),
    ],
)
def test_losing_a_worker_in_the_middle_of_a_pass_changes_nothing(
    cluster: Cluster, files: Path, variant: str, label: str
) -> None:
    victim = cluster.workers[0]
    killer = Killer(victim, label)
    try:
        model = fitted(files, cluster.engine(killer), variant)
    finally:
        if victim.poll() is not None:
            cluster.workers.remove(victim)
            cluster.start_worker()
            cluster.wait_for(2)
    assert 500 < killer.killed_at < killer.finished_at == ROWS
    assert victim.returncode == -signal.SIGKILL
    assert_same(files, model, variant)


def test_predictions_of_a_cluster_are_the_same_bytes_in_the_same_order(
    cluster: Cluster, files: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model.joblib"
    train, on = files / "part1.csv", ("--engine", "dask", "--scheduler", cluster.address)
    succeed("fit", train, "-t", "y", "--variant", "approximate", "--landmarks", 50, "--no-tune", "-o", model, *on)
    named = (str(files / "part1.csv"), str(files / "part3.csv.gz"), str(files / "new.csv"))
    for extra in (("--append",), ("--id", "colour", "--id", "a")):
        succeed("predict", model, *named, *extra, "-o", tmp_path / "here.csv")
        succeed("predict", model, *named, *extra, "-o", tmp_path / "there.csv", *on)
        assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
    succeed("predict", model, files / "part4.parquet", "-o", tmp_path / "here.csv")
    succeed("predict", model, files / "part4.parquet", "-o", tmp_path / "there.csv", *on)
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


def test_a_bad_row_that_a_worker_meets_is_named_with_file_and_line(
    cluster: Cluster, files: Path, tmp_path: Path
) -> None:
    on = ("--engine", "dask", "--scheduler", cluster.address)
    lines = (files / "part1.csv").read_text().splitlines()
    bad = tmp_path / "bad.csv"
    bad.write_text("\n".join([*lines[:734], "1,2,3", *lines[734:]]) + "\n")
    for words in (("fit", bad, "-t", "y"), ("fit", files / "part2.csv", bad, "-t", "y")):
        outcome = run(*words, *on)
        assert outcome.code == 3
        assert "bad.csv, line 735: 3 cells where the header has 5" in outcome.stderr
    model = tmp_path / "model.joblib"
    succeed(
        "fit", files / "part1.csv", "-t", "y", "--variant", "approximate", "--landmarks", 50, "--no-tune", "-o", model
    )
    outcome = run("predict", model, bad, "-o", tmp_path / "out.csv", *on)
    assert outcome.code == 3
    assert "bad.csv, line 735" in outcome.stderr
    assert not (tmp_path / "out.csv").exists()


def test_a_file_that_a_worker_does_not_see_is_named(cluster: Cluster, files: Path, tmp_path: Path) -> None:
    table = tmp_path / "gone.csv"
    table.write_bytes((files / "part1.csv").read_bytes())
    opened = dataset.open_dataset(
        DataSettings((str(table),), Roles("y"), READ), EngineSettings(engine="dask"), cluster.engine()
    )
    split = dataset.split_of(opened.rows, SplitSettings())
    pieces: Any = vanishing(table, opened.rows.pieces)
    with pytest.raises(DataError, match=r"gone\.csv: cannot be read on worker") as caught:
        training(replace(opened.rows, pieces=pieces), split)
    assert "under the same path" in (caught.value.hint or "")


def vanishing(path: Path, pieces: Sequence[Any]) -> Iterator[Any]:
    """Pieces of a file that goes away once the client has begun to hand them out."""
    yield pieces[0]
    path.unlink()
    yield from pieces[1:]


def test_another_file_under_the_same_path_is_refused(files: Path) -> None:
    path = files / "part1.csv"
    Shared(None, str(path), fingerprint(str(path))).check()
    with pytest.raises(DataError, match=r"part1\.csv: another file \([\d,]+ bytes, \w+ on worker .*, 17 bytes"):
        Shared(None, str(path), "17 bytes, 073456789ab").check()


@pytest.mark.parametrize("size", [1, 16_384, 1_000_000, 3_000_001])
def test_one_changed_byte_at_either_end_of_a_file_of_the_same_size_is_another_file(tmp_path: Path, size: int) -> None:
    content = bytes(k % 251 for k in range(size))
    found = []
    for k, changed in enumerate((None, 0, size - 1)):
        path = tmp_path / f"{k}.csv"
        copy = bytearray(content)
        if changed is not None:
            copy[changed] ^= 1
        path.write_bytes(copy)
        found.append(fingerprint(str(path)))
    assert found[0] not in found[1:]


def test_another_version_on_a_worker_is_refused(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "__version__", "99.1")
    with pytest.raises(UsageError, match=r"has enrelm [\d.]+, this machine has enrelm 99\.1") as caught:
        cluster.engine()
    assert caught.value.hint == "install enrelm 99.1 with its extra dask and the same Python packages everywhere"


def test_an_address_where_nobody_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_ANSWER", 1)
    with pytest.raises(UsageError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9 \(waited 1 s\)"):
        dask_engine(EngineSettings(engine="dask", scheduler="tcp://127.0.0.1:9"), Silent())
    for wrong in ("localhost", "http://localhost:8786", "tcp://localhost"):
        with pytest.raises(UsageError, match="not an address"):
            dask_engine(EngineSettings(engine="dask", scheduler=wrong), Silent())


@pytest.mark.parametrize(
    ("address", "said", "hint"),
    [
        ("tcp://{}", r"no Dask scheduler answers at tcp://127\.0\.0\.1:\d+ \(waited 1 s\)", "dask scheduler --port"),
        ("tls://{}", r"Dask cannot connect there \(TLS expects", "distributed.comm.tls.ca-file"),
    ],
)
def test_a_port_that_says_nothing_and_tls_without_certificates_are_one_message(
    monkeypatch: pytest.MonkeyPatch, address: str, said: str, hint: str
) -> None:
    monkeypatch.setattr(connection, "_ANSWER", 1)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        where = address.format(f"127.0.0.1:{mute.getsockname()[1]}")
        with pytest.raises(UsageError, match=said) as caught:
            dask_engine(EngineSettings(engine="dask", scheduler=where), Silent())
    assert hint in (caught.value.hint or "")


def test_a_scheduler_that_dies_in_the_middle_of_a_fit_is_one_message(tmp_path: Path, files: Path) -> None:
    lonely = Cluster(tmp_path)
    try:
        lonely.start_scheduler()
        lonely.start_worker()
        lonely.wait_for(1)
        assert lonely.scheduler is not None
        with pytest.raises(UsageError, match=r"the connection to the scheduler at tcp://.* was lost"):
            fitted(files, lonely.engine(Killer(lonely.scheduler, "Gram matrix")), "kernel")
    finally:
        lonely.stop()


def test_stdin_is_refused(cluster: Cluster) -> None:
    outcome = run("fit", "-", "-t", "y", "--engine", "dask", "--scheduler", cluster.address, stdin=b"x,y\n1,2\n")
    assert outcome.code == 2
    assert "leave out --engine dask" in outcome.stderr


def test_parts_merge_their_values_and_keep_the_first_error() -> None:
    one, two, none = Part(3, Sums({"n": 3})), Part(4, Sums({"n": 4})), Part(0)
    assert one.merge(two).value["n"] == 7
    assert one.merge(none) == none.merge(one) == one
    first, second = Part(0, error=DataError("first")), Part(0, error=DataError("second"))
    assert one.merge(first).merge(second).error is first.error


# ------------------------------------------------------------------------------------------------ a local cluster


def started(files: Path, folder: Path) -> subprocess.Popen[str]:
    words = [
        "fit",
        "part1.csv",
        "part2.csv",
        "-t",
        "y",
        "--variant",
        "approximate",
        "--landmarks",
        "50",
        "--no-tune",
        "-v",
    ]
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "enrelm_cli",
            *words,
            "--engine",
            "dask",
            "--threads",
            "2",
            "-o",
            str(folder / "m.joblib"),
        ],
        cwd=files,  # relative paths
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def processes_of(folder: Path) -> list[int]:
    """Processes that were told to work in the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes()
        except OSError:
            continue  # it ended meanwhile
        if str(folder).encode() in command and b"dask_worker" in command:
            found.append(int(entry.parent.name))
    return found


def test_a_local_cluster_ends_with_the_command_and_says_nothing_of_its_own(files: Path, tmp_path: Path) -> None:
    process = started(files, tmp_path)
    try:
        out, err = process.communicate(timeout=90)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert out.startswith("approximate, ")
    assert all(line.startswith("pass ") for line in err.splitlines()), err
    assert [path.name for path in tmp_path.iterdir()] == ["m.joblib"]
    assert processes_of(tmp_path) == []


def test_an_interrupted_local_cluster_leaves_nothing_behind(files: Path, tmp_path: Path) -> None:
    process = started(files, tmp_path)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("pass 2"):
            break
    assert len(processes_of(tmp_path)) == 2
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
    assert processes_of(tmp_path) == []
