"""Killed jobs, full disks, closed pipes, files that change: what was there before stays, what is new is whole.

Every command is a process of its own, as in a shell.
"""

from __future__ import annotations

import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enrelm_cli.commands.saved import load_model
from enrelm_cli.model import artifact

ROOT = Path(__file__).parent.parent
TEMPORARY = re.compile(r"\.(model\.joblib|out\.csv)\.enrelm-[0-9a-f]{8,12}\.tmp")
# What Python says, where warnings are errors, of a module's file that it was reading when the signal came.
OF_AN_IMPORT = re.compile(
    r"Exception ignored in: [^\n]*\nTraceback[^\n]*\n  File \"<frozen importlib[^\n]*\n[^\n]*\.pyc'>\n"
)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "error"}


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "enrelm_cli", *map(str, words)]


def start(*words: object, **more: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(*words),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        **more,
    )


def finish(*words: object, **more: Any) -> tuple[int, str]:
    """Exit code and stderr."""
    with start(*words, **more) as process:
        _, told = process.communicate(timeout=300)
    return process.returncode, told.decode()


def write_table(path: Path, rows: int, seed: int = 0) -> Path:
    X = np.random.default_rng(seed).standard_normal((rows, 3))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="", fmt="%.6f")
    return path


@dataclass(frozen=True)
class Job:
    """A command that replaces one whole file by another."""

    words: tuple[object, ...]
    output: Path
    before: bytes
    after: bytes
    seconds: float  # that it takes undisturbed

    def restore(self) -> None:
        for path in self.output.parent.iterdir():
            path.unlink()
        self.output.write_bytes(self.before)

    def check(self) -> str:
        """Old or new, never in between; what else is there is recognisable."""
        found = self.output.read_bytes()
        assert found in (self.before, self.after)
        others = [path.name for path in self.output.parent.iterdir() if path != self.output]
        assert all(TEMPORARY.fullmatch(name) for name in others), others
        if self.output.suffix == ".joblib":
            load_model(str(self.output))
        return "new" if found == self.after else "old and a temporary file" if others else "old"


def make_job(folder: Path, words: Callable[[str, Path], tuple[object, ...]], name: str) -> Job:
    """`words(version, output)`: the command for the old and for the new file."""
    contents, seconds = {}, 0.0
    for version in ("old", "new"):
        output = folder / version / name
        output.parent.mkdir()
        begun = time.perf_counter()
        code, told = finish(*words(version, output))
        seconds = time.perf_counter() - begun
        assert code == 0, told
        contents[version] = output.read_bytes()
    assert contents["old"] != contents["new"]
    output = folder / "final" / name
    output.parent.mkdir()
    return Job(words("new", output), output, contents["old"], contents["new"], seconds)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def fit_job(folder: Path) -> Job:
    data = write_table(folder / "train.csv", 400)
    (folder / "fit").mkdir()

    def words(version: str, output: Path) -> tuple[object, ...]:
        seed = {"old": 1, "new": 2}[version]
        return ("fit", data, "-t", "y", "--variant", "approximate", "--seed", seed, "-o", output)

    return make_job(folder / "fit", words, "model.joblib")


@pytest.fixture(scope="module")
def predict_job(folder: Path, fit_job: Job) -> Job:
    new = write_table(folder / "rows.csv", 60_000, seed=1)
    old = write_table(folder / "few.csv", 10, seed=2)
    model = folder / "fit" / "old" / "model.joblib"
    (folder / "predict").mkdir()

    def words(version: str, output: Path) -> tuple[object, ...]:
        return ("predict", model, {"old": old, "new": new}[version], "--append", "-o", output)

    return make_job(folder / "predict", words, "out.csv")


@pytest.fixture(scope="module")
def update_job(folder: Path, fit_job: Job) -> Job:
    """In place: the old model's file is the one that is replaced."""
    home = folder / "update" / "final"
    home.mkdir(parents=True)
    output, more = home / "model.joblib", write_table(folder / "more.csv", 400, seed=3)
    words = ("fit", folder / "train.csv", "-t", "y", "--variant", "incremental", "--updatable", "-o", output)
    code, told = finish(*words)
    assert code == 0, told
    before, begun = output.read_bytes(), time.perf_counter()
    code, told = finish("update", output, more)
    assert code == 0, told
    seconds = time.perf_counter() - begun
    assert output.read_bytes() != before
    return Job(("update", output, more), output, before, output.read_bytes(), seconds)


def test_updates_of_one_file_by_several_processes_all_count(folder: Path, update_job: Job) -> None:
    update_job.restore()
    tables = [write_table(folder / f"part{k}.csv", 50, seed=10 + k) for k in range(3)]
    processes = [start("update", update_job.output, one) for one in tables]
    for process in processes:
        _, told = process.communicate(timeout=300)
        assert process.returncode == 0, told.decode()
    model = load_model(str(update_job.output))
    assert [entry["rows"] for entry in model.history] == [400, 50, 50, 50]
    assert model.kept is not None
    assert model.kept.sums.rows() == 550


# ------------------------------------------------------------------------------------------------- signals


def interrupt(job: Job, which: signal.Signals, random_: random.Random, while_writing: bool) -> tuple[int, str, str]:
    """Send a signal at a random moment of the whole job, or of the time that its temporary file exists."""
    job.restore()
    with start(*job.words) as process:
        if while_writing:
            while process.poll() is None and len(os.listdir(job.output.parent)) < 2:
                time.sleep(0.0005)
            time.sleep(random_.uniform(0.0, 0.02))
        else:
            time.sleep(random_.uniform(0.0, 1.05 * job.seconds))
        process.send_signal(which)
        _, told = process.communicate(timeout=300)
    return process.returncode, job.check(), told.decode()


ROUNDS = [pytest.param(3, id="3 rounds"), pytest.param(60, marks=pytest.mark.slow, id="60 rounds")]


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("job", ["fit_job", "predict_job", "update_job"])
def test_kill_9_at_any_moment_leaves_the_old_file_or_the_whole_new_one(
    job: str, rounds: int, request: pytest.FixtureRequest
) -> None:
    random_ = random.Random(9)
    target: Job = request.getfixturevalue(job)
    seen: dict[str, int] = {}
    for turn in range(rounds):
        code, state, _ = interrupt(target, signal.SIGKILL, random_, while_writing=turn % 2 == 0)
        assert code in (0, -signal.SIGKILL)
        seen[state] = seen.get(state, 0) + 1
    print(f"kill -9, {job}: {rounds} rounds left {seen}")
    if rounds > 50:
        assert seen.get("old", 0) + seen.get("old and a temporary file", 0) > rounds / 4


@pytest.mark.parametrize(("which", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("job", ["fit_job", "predict_job"])
def test_ctrl_c_and_sigterm_end_with_their_code_and_leave_no_temporary_file(
    job: str, which: signal.Signals, code: int, request: pytest.FixtureRequest
) -> None:
    target: Job = request.getfixturevalue(job)
    found, state, told = interrupt(target, which, random.Random(1), while_writing=True)
    # A shell shows 128 + n for a process that the signal itself ended, too: Python may do that on its way out.
    assert found in (0, code, -which), told
    assert state in ("old", "new")
    assert "Traceback" not in OF_AN_IMPORT.sub("", told)
    if found == 0:
        assert state == "new"


@pytest.mark.slow
@pytest.mark.parametrize(("which", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("job", ["fit_job", "predict_job"])
def test_ctrl_c_and_sigterm_at_many_moments(
    job: str, which: signal.Signals, code: int, request: pytest.FixtureRequest
) -> None:
    """Before Python has come to our own handlers, and while it ends, the signal may end it directly."""
    target: Job = request.getfixturevalue(job)
    random_ = random.Random(2)
    codes: dict[int, int] = {}
    for turn in range(20):
        found, state, _ = interrupt(target, which, random_, while_writing=turn % 2 == 0)
        assert found in (0, code, -which)
        assert state in ("old", "new")
        codes[found] = codes.get(found, 0) + 1
    print(f"{which.name}, {job}: exit codes {codes}")
    assert codes.get(code, 0) >= 5


# ------------------------------------------------------------------------------------------------- disks


def limit_files(size: int) -> Callable[[], None]:
    """For the child: no file may grow beyond `size` bytes."""

    def apply() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return apply


@pytest.mark.parametrize("job", ["fit_job", "predict_job"])
def test_a_file_size_limit_is_an_error_with_a_hint_and_the_old_file_stays(
    job: str, request: pytest.FixtureRequest
) -> None:
    target: Job = request.getfixturevalue(job)
    target.restore()
    code, told = finish(*target.words, preexec_fn=limit_files(1024))
    assert code == 2, told
    assert "cannot be written (File too large)" in " ".join(told.split())
    assert "hint: free some space" in told
    assert target.check() == "old"


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """An empty disk of 64 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    try:
        made = subprocess.run(mount, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if made.returncode:
        pytest.skip(f"a small disk needs the right to mount one: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def onto(words: tuple[object, ...], output: Path) -> tuple[object, ...]:
    return (*words[: words.index("-o")], "-o", output)


def test_a_full_disk_is_an_error_with_a_hint_and_the_old_file_stays(mounted: Path, predict_job: Job) -> None:
    output = mounted / "out.csv"
    output.write_text("what was there")
    code, told = finish(*onto(predict_job.words, output))
    assert code == 2, told
    assert "cannot be written (No space left on device)" in " ".join(told.split())
    assert output.read_text() == "what was there"
    assert os.listdir(mounted) == ["out.csv"]


def test_a_model_does_not_fit_on_a_full_disk(mounted: Path, fit_job: Job) -> None:
    (mounted / "filler").write_bytes(b"x" * 65_536)
    code, told = finish(*onto(fit_job.words, mounted / "model.joblib"))
    assert code == 2, told
    assert "No space left on device" in " ".join(told.split())
    assert os.listdir(mounted) == ["filler"]


@pytest.mark.parametrize("job", ["fit_job", "predict_job"])
def test_a_folder_that_may_not_be_written_to_is_an_error(
    job: str, mounted: Path, request: pytest.FixtureRequest
) -> None:
    """Mounted read-only: permissions do not stop root."""
    target: Job = request.getfixturevalue(job)
    output = mounted / target.output.name
    output.write_text("what was there")
    subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    code, told = finish(*onto(target.words, output))
    assert code == 2, told
    assert "cannot" in told
    assert output.read_text() == "what was there"


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not stop root; the read-only disk is tested instead")
def test_a_folder_without_permission_is_an_error(tmp_path: Path, fit_job: Job) -> None:
    tmp_path.chmod(0o500)
    code, told = finish(*onto(fit_job.words, tmp_path / "model.joblib"))
    tmp_path.chmod(0o700)
    assert code == 2, told
    assert os.listdir(tmp_path) == []


def test_predictions_to_a_full_device_are_an_error(folder: Path, predict_job: Job) -> None:
    words = predict_job.words[: predict_job.words.index("-o")]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command(*words), env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: stdout: cannot be written (No space left on device)"
    assert "Exception ignored" not in done.stderr


def test_a_report_to_a_full_device_is_an_error(predict_job: Job) -> None:
    model = predict_job.words[1]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command("info", model), env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: stdout cannot be written to (No space left on device)"
    assert "Exception ignored" not in done.stderr


# ------------------------------------------------------------------------------------------------- pipes


def test_a_reader_that_goes_away_ends_predict_quietly(predict_job: Job) -> None:
    words = predict_job.words[: predict_job.words.index("-o")]
    with start(*words) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"a,b,c,y,prediction\n"
        process.stdout.close()
        told = process.stderr.read()
        assert process.wait(timeout=300) == 0
    assert b"Traceback" not in told
    assert b"Broken" not in told


def test_a_reader_that_was_never_there_ends_info_quietly(folder: Path, fit_job: Job) -> None:
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen(
        command("info", folder / "fit" / "old" / "model.joblib"), env=ENVIRONMENT, stdout=write, stderr=subprocess.PIPE
    ) as process:
        os.close(write)
        _, told = process.communicate(timeout=300)
    assert process.returncode == 0
    assert told == b""


# ------------------------------------------------------------------------------------------------- files that change


def test_a_table_that_shrinks_before_the_last_pass_is_an_error(tmp_path: Path, fit_job: Job) -> None:
    data, output = write_table(tmp_path / "train.csv", 40_000), tmp_path / "model.joblib"
    output.write_bytes(fit_job.before)
    size = data.stat().st_size
    code = (
        "import os, sys\n"
        "from enrelm_cli.commands import steps\n"
        "from enrelm_cli.__main__ import main\n"
        "whole = steps.split_rows\n"
        "def shrink(*a, **k):\n"
        f"    os.truncate({str(data)!r}, {size // 2})\n"
        "    return whole(*a, **k)\n"
        "steps.split_rows = shrink\n"
        "main()\n"
    )
    words = ["fit", data, "-t", "y", "--variant", "approximate", "--memory", "1M", "-o", output]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], env=ENVIRONMENT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 3, done.stderr
    assert "the file was changed while it was read" in " ".join(done.stderr.split())
    assert output.read_bytes() == fit_job.before


@pytest.mark.parametrize("rounds", [pytest.param(2, id="2 rounds"), pytest.param(20, marks=pytest.mark.slow, id="20")])
def test_a_table_cut_or_changed_at_any_moment_of_a_predict_leaves_a_whole_output(
    tmp_path: Path, predict_job: Job, rounds: int
) -> None:
    random_ = random.Random(4)
    content = Path(str(predict_job.words[2])).read_bytes()
    data = tmp_path / "rows.csv"
    codes: dict[int, int] = {}
    words = (*predict_job.words[:2], data, *predict_job.words[3:])
    for turn in range(rounds):
        data.write_bytes(content)
        predict_job.restore()
        with start(*words) as process:
            time.sleep(random_.uniform(0.3, 1.0) * predict_job.seconds)
            if turn % 2:
                data.write_bytes(content.replace(b"\n", b",oops\n"))
            else:
                os.truncate(data, len(content) // 3)
            _, told = process.communicate(timeout=300)
        codes[process.returncode] = codes.get(process.returncode, 0) + 1
        assert process.returncode in (0, 3), told.decode()
        found = predict_job.output.read_bytes()
        assert os.listdir(predict_job.output.parent) == ["out.csv"]
        if process.returncode == 3:
            assert found == predict_job.before
        else:
            # The rows of one version of the table or the other, each with its prediction.
            assert found.endswith(b"\n")
            assert len({line.count(b",") for line in found.splitlines()}) == 1
    print(f"tables changed under a predict: exit codes {codes}")


def test_a_model_that_is_rewritten_while_it_is_read_is_whole(tmp_path: Path, fit_job: Job) -> None:
    """A rename replaces the name, not the file that is open."""
    fit_job.restore()
    with open(fit_job.output, "rb"):
        artifact.save(artifact.load(str(fit_job.output)), str(fit_job.output))
        assert fit_job.output.read_bytes() == fit_job.before
