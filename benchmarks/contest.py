"""One method on one table's training rows, judged on the rows held out; results are kept, so a run can be continued.

Our side is the command line: `enrelm fit TRAIN --target NAME` and nothing else, `enrelm predict MODEL TEST`.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.contenders import PACKAGES
from benchmarks.measuring import Child, Plan, child, enrelm, version_of

ROOT = Path(__file__).parents[1]
# Where results are kept between runs; a change of the table, of the method's code or of its version makes them again.
KEPT = Path(os.environ.get("ENRELM_BENCH_CACHE", ROOT / ".enrelm-bench"))


@dataclass(frozen=True)
class Split:
    """Two files with the same header and no row in common, the target last."""

    name: str
    train: Path
    test: Path
    rows: int
    inputs: int


@dataclass(frozen=True)
class Result:
    """What a method made of a split."""

    error: float | None  # ||y - ŷ|| / ||y - mean|| of the held-out rows
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    left_out: float | None = None  # the error that enrelm itself expects: on its validation rows
    peak: int = 0  # bytes of resident memory of the fit; ours only
    problem: str = ""  # why there is no error


@dataclass(frozen=True)
class Program:
    """An enrelm other than the one of this checkout."""

    revision: str
    words: tuple[str, ...]


def split_table(path: Path, seed: int, folder: Path) -> Split:
    """The first ⌈T/4⌉ rows of RandomState(seed).permutation(T) are held out; cells are copied as they are."""
    import numpy as np

    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    rows = [row for row in rows if row[-1].strip()]
    order = np.random.RandomState(seed).permutation(len(rows))
    cut = -(-len(rows) // 4)
    return write_split(path.stem, seed, folder, header, [rows[k] for k in order[cut:]], [rows[k] for k in order[:cut]])


def write_split(
    name: str, seed: int, folder: Path, header: list[str], train: list[list[str]], test: list[list[str]]
) -> Split:
    files = [folder / f"{name}-{seed}-{part}.csv" for part in ("train", "test")]
    for target, rows in zip(files, (train, test), strict=True):
        with target.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return Split(name, *files, len(train) + len(test), len(header) - 1)


def judge(method: str, split: Split, plan: Plan, options: Sequence[str] = (), program: Program | None = None) -> Result:
    """`method` is "enrelm", with options for its fit, or one of the contenders."""
    path = KEPT / f"{_key(method, split, plan.threads, options, program)}.json"
    if path.exists():
        return Result(**json.loads(path.read_text()))
    result = _ours(split, plan, options, program) if method == "enrelm" else _peer(method, split, plan)
    KEPT.mkdir(exist_ok=True)
    path.write_text(json.dumps(asdict(result)))
    said = result.problem or f"{result.error:.4f} in {result.fit_seconds:.1f} s"
    print(f"  {split.train.stem} {' '.join([method, *options])}: {said}", file=sys.stderr, flush=True)
    return result


def _key(method: str, split: Split, threads: int, options: Sequence[str], program: Program | None) -> str:
    ours = program.revision if program else our_code()
    version = ours if method == "enrelm" else peer_code("contenders") + version_of(PACKAGES[method])
    return key_of([method, *options, version, str(threads)], split)


def key_of(words: Sequence[str], split: Split) -> str:
    """Of a result that is kept: all that it depends on, the rows included."""
    files = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (split.train, split.test)]
    return hashlib.sha256("\n".join([*words, *files]).encode()).hexdigest()[:24]


@cache
def our_code() -> str:
    sources = sorted((ROOT / "enrelm_cli").rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()


@cache
def peer_code(module: str) -> str:
    return hashlib.sha256((Path(__file__).parent / f"{module}.py").read_bytes()).hexdigest()


def _ours(split: Split, plan: Plan, options: Sequence[str], program: Program | None) -> Result:
    words = list(program.words) if program else enrelm()
    model, predicted = plan.folder / "model.joblib", plan.folder / "predicted.csv"
    with split.train.open(encoding="utf-8", newline="") as file:
        target = next(csv.reader(file))[-1]
    try:
        fit = ["fit", split.train, "-t", target, "-o", model, "-f", "json", "-q", *options]
        fitted = child([*words, *fit], plan.folder, plan.limit)
        done = child([*words, "predict", model, split.test, "-o", predicted, "-q"], plan.folder, plan.limit)
    except RuntimeError as error:
        return Result(None, problem=problem_of(error))
    left_out = json.loads(fitted.out)["validation_error"]
    return Result(_error(split, _last_column(predicted)), fitted.seconds, done.seconds, left_out, fitted.peak)


def _peer(method: str, split: Split, plan: Plan) -> Result:
    words = [sys.executable, "-m", "benchmarks.contenders", method, split.train, split.test, str(plan.threads)]
    try:
        done: Child = child(words, plan.folder, plan.limit)
    except RuntimeError as error:
        return Result(None, problem=problem_of(error))
    said: dict[str, Any] = json.loads(done.out)
    seconds = said["seconds"]
    return Result(_error(split, said["predictions"]), seconds["fit"], seconds["predict"])


def problem_of(error: RuntimeError) -> str:
    """The line of a failed command that says why."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "error: " in line), lines[-1])[-240:]


def _last_column(path: Path) -> Any:
    """As numbers, without a list of rows: what this process holds is counted as the next child's memory."""
    import numpy as np

    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        return np.fromiter((float(row[-1]) for row in rows), float)


def _error(split: Split, y_hat: Any) -> float:
    import numpy as np

    y = _last_column(split.test)
    return float(np.linalg.norm(y - np.asarray(y_hat)) / np.linalg.norm(y - y.mean()))
