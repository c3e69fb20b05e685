"""Runs jobs on every core, one thread each, and keeps what is done: a run that was stopped goes on where it was.

Results are lines of JSON in the work folder, keyed by job, settings, data and code, appended one whole line at a time.
"""

from __future__ import annotations

import ast
import hashlib
import json
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import asdict
from functools import cache
from pathlib import Path

import enrelm_cli
from benchmarks.paper.datasets import REAL
from benchmarks.paper.fingerprints import FINGERPRINTS
from benchmarks.paper.measure import Job, Json, Plan, measure
from enrelm_cli.commands import synthetic

RESULTS = "results.jsonl"
# Modules that draw, print or parse options cannot change a figure.
_STATIONS = ("fold", "inputs", "judge", "kernels", "model", "phase_one", "table", "variants")
_ONE_HOT = ("abalone", "auto_mpg", "servo")
_REGULAR = ("la_ozone",)  # where the inverse exists: the control of the same experiment
_TIMED = ("1", "13", "25", "37")  # one dataset of each size

Results = dict[tuple[str, str, int], Json]


def jobs_of(plan: Plan, folder: str, numbers: Sequence[int] = ()) -> list[Job]:
    """Everything there is to run; the longest jobs come first, so that no core waits long for another's last."""
    chosen = [recipe for recipe in synthetic.RECIPES if not numbers or recipe.number in numbers]
    large: list[Job] = []
    small: list[Job] = []
    for one in REAL if folder else ():
        many = next(iter(FINGERPRINTS[one.name].values())).rows > 2000
        splits = min(plan.large_splits, plan.seeds) if many else plan.seeds
        real = [Job("real", one.name, seed, plan, folder) for seed in range(splits)]
        (large if many else small).extend(real)
        if one.name in (*_ONE_HOT, *_REGULAR):
            small.append(Job("inverse", one.name, 0, plan, folder))
    timed = [Job("elm_timing", str(one.number), 0, plan) for one in chosen if str(one.number) in _TIMED]
    # Draw after draw, so that a run that is stopped has some of every dataset.
    order = sorted(chosen, key=lambda one: -one.rows)
    drawn = [Job("synthetic", str(one.number), seed, plan) for seed in range(plan.seeds) for one in order]
    generator = [Job("generator", str(one.number), seed, plan) for seed in range(plan.seeds) for one in chosen]
    return [*large, *timed, *small, *generator, *drawn]


# --------------------------------------------------------------------------------------------------------------- keys


@cache
def code_version() -> str:
    """A hash of the code that a figure can depend on, without its comments, docstrings and layout."""
    package = Path(enrelm_cli.__file__).parent
    sources = [path for station in _STATIONS for path in (package / station).rglob("*.py")]
    sources.append(Path(__file__).with_name("measure.py"))
    digest = hashlib.sha256()
    # By content: a file that is moved or renamed keeps what was computed.
    for content in sorted(_bare(path.read_text(encoding="utf-8")) for path in sources):
        digest.update(content.encode())
    return digest.hexdigest()[:16]


def _bare(source: str) -> str:
    """Without imports, too: a module that moves changes the names of others, not what they compute."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [one for one in body if not isinstance(one, ast.Import | ast.ImportFrom)]
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body.pop(0)
    return ast.dump(tree)


def key_of(job: Job, version: str) -> str:
    plan = {name: value for name, value in asdict(job.plan).items() if name in _matters(job)}
    # More seeds than last time must not throw away the results of those that are there.
    plan["kernel"] = job.seed < job.plan.kernel_seeds
    data = _file_hash(Path(job.folder) / f"{job.dataset}.csv") if job.folder else ""
    return json.dumps([job.name, plan, data, version], sort_keys=True)


def _matters(job: Job) -> tuple[str, ...]:
    return {"inverse": ("seeds",), "generator": (), "elm_timing": ()}.get(
        job.kind, ("realizations", "text_realizations", "choosing_realizations")
    )


def _file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


# ---------------------------------------------------------------------------------------------------------- the cache


def known_results(path: Path) -> dict[str, Json]:
    """Every whole line; a run that was killed may have left half of one."""
    found: dict[str, Json] = {}
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                found[entry["key"]] = {**entry["result"], "code": json.loads(entry["key"])[-1]}
            except (json.JSONDecodeError, KeyError, TypeError):
                continue
    return found


def latest(jobs: Sequence[Job], work: Path) -> Results:
    """The last result of every job that has one, whatever code and settings it came from."""
    by_name = {json.loads(key)[0]: result for key, result in known_results(work / RESULTS).items()}
    return {(job.kind, job.dataset, job.seed): by_name[job.name] for job in jobs if job.name in by_name}


def run(jobs: Sequence[Job], work: Path, workers: int, advance: Callable[[Job | None], None]) -> Results:
    """All jobs' results: from the work folder where they are there, else computed. `advance` hears of every job."""
    work.mkdir(parents=True, exist_ok=True)
    (work / ".gitignore").write_text("*\n", encoding="utf-8")
    path, version = work / RESULTS, code_version()
    keys = {job: key_of(job, version) for job in jobs}
    known = known_results(path)
    results: Results = {}
    waiting: list[Job] = []
    for job in jobs:
        if keys[job] in known:
            results[job.kind, job.dataset, job.seed] = known[keys[job]]
            advance(None)
        else:
            waiting.append(job)
    with path.open("a", encoding="utf-8") as stream:
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            stream.write("\n")
        for job, result in _computed(waiting, workers):
            stream.write(json.dumps({"key": keys[job], "result": result}) + "\n")
            stream.flush()
            results[job.kind, job.dataset, job.seed] = {**result, "code": version}
            advance(job)
    return results


def timed(job: Job) -> Json:
    """Its result and what it cost."""
    start = time.process_time()
    result = measure(job)
    return {**result, "cpu_seconds": time.process_time() - start}


def _computed(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, Json]]:
    """Each job's result as it is ready."""
    if workers <= 1 or len(jobs) <= 1:
        yield from ((job, timed(job)) for job in jobs)
        return
    # spawn: a fork would copy the threads' locks of this process, and BLAS must start with one thread.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_die_quietly) as pool:
        try:
            pending = {pool.submit(timed, job): job for job in jobs}
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield pending.pop(future), future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise


def _die_quietly() -> None:
    """An interrupt at the terminal reaches the workers too: this process says what happened, once."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
