"""Many readers of one model while it is rewritten; memory that is refused before it is taken."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.errors import UsageError
from enrelm_cli.model import artifact
from enrelm_cli.phase_one import landmarks

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "enrelm_cli", *map(str, words)]


def write_table(path: Path, rows: int) -> Path:
    X = np.random.default_rng(0).standard_normal((rows, 3))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="", fmt="%.6f")
    return path


@pytest.mark.parametrize(
    "runs", [pytest.param(8, id="8 runs"), pytest.param(150, marks=pytest.mark.slow, id="150 runs")]
)
def test_predictions_beside_a_fit_that_rewrites_the_model_are_of_one_whole_model(tmp_path: Path, runs: int) -> None:
    data, model, outputs = write_table(tmp_path / "data.csv", 300), tmp_path / "model.joblib", tmp_path / "outputs"
    outputs.mkdir()
    expected = set()
    for seed in (2, 1):
        fit = command("fit", data, "-t", "y", "--variant", "approximate", "--seed", seed, "-o", model)
        subprocess.run(fit, env=ENVIRONMENT, check=True, capture_output=True)
        predict = command("predict", model, data, "-q")
        expected.add(subprocess.run(predict, env=ENVIRONMENT, check=True, capture_output=True).stdout)
    assert len(expected) == 2

    stop, rewritten, problems = threading.Event(), [0], []

    def rewrite() -> None:
        seed = 0
        while not stop.is_set():
            seed += 1
            again = command("fit", data, "-t", "y", "--variant", "approximate", "--seed", 1 + seed % 2, "-o", model)
            done = subprocess.run(again, env=ENVIRONMENT, capture_output=True, text=True)
            if done.returncode:
                problems.append(done.stderr)
            rewritten[0] += 1

    beside = threading.Thread(target=rewrite)
    beside.start()
    try:
        words = command("predict", model, data, "-q", "-o", outputs / "{}.csv")
        done = subprocess.run(
            ["xargs", "-P16", "-I{}", *words],
            input="\n".join(str(i) for i in range(runs)),
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
        )
    finally:
        stop.set()
        beside.join()
    assert done.returncode == 0, done.stderr
    assert not problems
    assert rewritten[0] >= 1
    found = [path.read_bytes() for path in outputs.iterdir()]
    assert len(found) == runs
    assert set(found) <= expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "model.joblib", "outputs"]
    counts = [found.count(content) for content in expected]
    print(f"{runs} predictions, 16 at a time, beside {rewritten[0]} fits: {counts[0]} + {counts[1]} of the two models")


# ------------------------------------------------------------------------------------------------- memory


def test_all_rows_as_landmarks_are_refused_before_their_matrix_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landmarks, "available_memory", lambda: 2**30)
    assert landmarks.check_all(2_000, True) == 2_000
    with pytest.raises(UsageError, match="--landmarks all needs about") as caught:
        landmarks.check_all(20_000, True)
    assert "--landmarks auto" in str(caught.value.hint)


def test_a_fit_with_all_of_40_000_rows_as_landmarks_is_refused_and_not_tried(tmp_path: Path) -> None:
    """One such matrix is 7.2 GB: a process that may have 3 GB and began with it would say something else."""
    data = write_table(tmp_path / "data.csv", 40_000)
    limit = 3 * 2**30
    done = subprocess.run(
        command("fit", data, "-t", "y", "--variant", "approximate", "--landmarks", "all"),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 2, done.stderr
    assert "--landmarks all needs about" in done.stderr
    assert "hint: use --landmarks auto" in done.stderr


def test_a_model_larger_than_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.joblib"
    artifact.save({"P": np.zeros((1000, 1000))}, str(path))
    done = subprocess.run(
        command("info", path), env={**ENVIRONMENT, "ENRELM_MODEL_LIMIT": "1M"}, capture_output=True, text=True
    )
    assert done.returncode == 4
    assert "ENRELM_MODEL_LIMIT" in done.stderr
