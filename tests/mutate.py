"""Mutation pass: change one operator, number or condition at a time, and see whether the tests notice.

    python -m tests.mutate [FILE ...] [--tests PATH ...] [--log FILE] [--map FILE] [--seconds N]      (make mutate)

First the tests run once, to see which of them runs which line (the map, which is kept as long as the code is the
same). Then each mutant is put into a fork of this process, which runs the tests of its lines until one fails: those
that found an earlier mutant of the file first, then the quickest. A mutant that does not end is stopped by a limit of
processor time. Prints every mutant that survives, and the counts. The log has a line for each mutant with the test that
killed it; a mutant that the log calls killed is not run again. Mutants that change nothing a user sees are listed in
equivalent_mutants.txt, each with the reason.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import resource
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants import Mutant, functions_of, mutants, put_in

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "enrelm_cli"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")
# What a user sees first comes first, for a run that is stopped.
FILES = (
    *("judge/curve.py", "judge/errors.py", "judge/losses.py", "judge/fitting.py", "judge/metrics.py"),
    *("variants/kernel.py", "variants/approximate.py", "variants/incremental.py", "variants/local.py"),
    *("judge/intervals.py", "judge/spread.py", "inputs/split.py", "inputs/folds.py"),
    *("judge/classes/*.py", "variants/*.py", "judge/*.py", "judge/explanation/*.py"),
)
# Quick ones: what they do not notice is worth a quick test of its own.
TESTS = (
    *("tests/judge", "tests/variants", "tests/inputs/test_split.py", "tests/inputs/test_folds.py"),
    *("tests/phase_one/test_phase_one.py", "tests/commands/test_passes.py"),
)
# Processor seconds of tests for a mutant, by the map.
_SECONDS = 5.0
# How a fork ends that could not run its mutant.
_BROKEN = 99


@dataclass(eq=False)  # pytest keeps its plugins in sets
class Mapper:
    """A pytest plugin: the lines of the files that each test runs, those of its fixtures included, and its seconds."""

    files: frozenset[str]
    lines: set[tuple[str, int]] = field(default_factory=set)
    of_fixtures: dict[str, set[tuple[str, int]]] = field(default_factory=lambda: defaultdict(set))
    seconds_of_fixtures: dict[str, float] = field(default_factory=dict)
    found: dict[str, tuple[float, list[tuple[str, int]]]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    def trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in self.files:
            return None
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        outside, self.lines, start = self.lines, set(), time.process_time()
        try:
            return (yield)
        finally:
            self.of_fixtures[fixturedef.argname] |= self.lines
            self.seconds_of_fixtures[fixturedef.argname] = time.process_time() - start
            self.lines |= outside

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        forget_results()
        self.lines, start = set(), time.process_time()
        threading.settrace(self.trace)
        sys.settrace(self.trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            names = getattr(item, "fixturenames", [])
            lines = self.lines.union(*(self.of_fixtures[name] for name in names if name in self.of_fixtures))
            prepared = sum(self.seconds_of_fixtures.get(name, 0.0) for name in names)
            self.found[item.nodeid] = (max(time.process_time() - start, prepared), sorted(lines))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)


def forget_results() -> None:
    """What the tests keep of one another's work: a line is run for every test that needs it."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "tests":
            for value in list(vars(module).values()):
                if isinstance(value, _lru_cache_wrapper):
                    value.cache_clear()


@dataclass(frozen=True)
class Map:
    """Which tests run a line of a file, and the seconds of each test."""

    tests: dict[tuple[str, int], set[str]]
    seconds: dict[str, float]

    @classmethod
    def of(cls, found: dict[str, tuple[float, list[tuple[str, int]]]]) -> Map:
        tests: dict[tuple[str, int], set[str]] = defaultdict(set)
        for test, (_, lines) in found.items():
            for file, line in lines:
                tests[file, line].add(test)
        return cls(tests, {test: seconds for test, (seconds, _) in found.items()})

    def of_lines(self, path: Path, lines: range) -> set[str]:
        return set().union(*(self.tests.get((str(path), line), set()) for line in lines))


def read_map(kept: Path, files: list[str], tests: list[str]) -> Map:
    """The map from its file, or made by a run of the tests where the code is not that of the file."""
    if not kept.exists() or json.loads(kept.read_text("utf-8"))["code"] != digest(tests):
        print(f"the map, by a run of {' '.join(tests)}", flush=True)
        child = os.fork()
        if not child:
            write_map(kept, files, tests)
        if os.waitpid(child, 0)[1] != 0:
            sys.exit("the tests could not be run")
    found = json.loads(kept.read_text("utf-8"))["found"]
    return Map.of({test: (seconds, [(file, line) for file, line in lines]) for test, (seconds, lines) in found.items()})


def write_map(kept: Path, files: list[str], tests: list[str]) -> None:
    mapper = Mapper(frozenset(str(PACKAGE / file) for file in files))
    code = pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *tests], plugins=[mapper])
    found = {test: value for test, value in mapper.found.items() if test not in mapper.failed and value[1]}
    kept.write_text(json.dumps({"code": digest(tests), "found": found}), "utf-8")
    os._exit(0 if code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) else 1)


def digest(tests: list[str]) -> str:
    """Of the package and its tests: a map of other code, or of other tests, has other lines."""
    paths = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths) + repr(tests).encode()).hexdigest()


@dataclass(frozen=True)
class Log:
    """What became of each mutant, written as it is known, so that a run can go on where it was stopped."""

    path: Path | None

    def write(self, outcome: str, mutant: str, test: str = "") -> None:
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{outcome}\t{mutant}\t{test}\n")

    def killed(self) -> set[str]:
        if not self.path or not self.path.exists():
            return set()
        lines = [line.split("\t") for line in self.path.read_text("utf-8").splitlines()]
        return {mutant for outcome, mutant, *_ in lines if outcome == "killed"}


def equivalent() -> set[str]:
    lines = EQUIVALENT.read_text("utf-8").splitlines() if EQUIVALENT.exists() else []
    return {line for line in lines if line.strip() and not line.startswith("#")}


def counted(outcomes: Counter[str]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))


@dataclass(eq=False)
class Pass:
    """A pytest plugin: instead of running the tests that it is given, one fork for each mutant runs some of them."""

    files: list[str]
    map: Map
    log: Log
    until: float
    most: float
    counts: Counter[str] = field(default_factory=Counter)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        known, alike = self.log.killed(), equivalent()
        for file in self.files:  # commands import some of them when they run
            import_module(".".join(("enrelm_cli", *Path(file).with_suffix("").parts)).removesuffix(".__init__"))
        functions = {file: functions_of(PACKAGE / file) for file in self.files}
        self.check(functions, items)
        gc.freeze()  # forks share the memory of what is loaded; the collector then no longer lists it
        for file in self.files:
            outcomes: Counter[str] = Counter()
            for mutant, outcome in self.outcomes(file, functions[file], items, known, alike):
                outcomes[outcome] += 1
                if outcome in ("survived", "not run"):
                    print(f"{outcome}  {mutant.lines.start}  {mutant.name[:200]}", flush=True)
            print(
                f"{file}: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())), flush=True
            )
            self.counts += outcomes
        return True

    def check(self, functions: dict[str, list[Any]], items: dict[str, pytest.Item]) -> None:
        """No test fails in a fork where nothing is changed: one that did would kill every mutant of its lines."""
        file = next(file for file in self.files if functions[file])
        path, tests = PACKAGE / file, [item for test, item in items.items() if test in self.map.seconds]
        same = Mutant(f"{file}  as it is", range(0), path.read_text("utf-8"), 0, None)
        test = self.killer(path, same, functions[file], tests)
        if test:
            raise RuntimeError(f"{test} fails without a mutant")

    def outcomes(
        self, file: str, functions: list[Any], items: dict[str, pytest.Item], known: set[str], alike: set[str]
    ) -> Iterator[tuple[Mutant, str]]:
        path = PACKAGE / file
        hits: Counter[str] = Counter()
        for mutant in mutants(file, path.read_text("utf-8")):
            if mutant.name in alike:
                yield mutant, "equivalent"
            elif mutant.name in known:
                yield mutant, "killed"
            elif time.monotonic() > self.until:
                yield mutant, "left"
            else:
                tests = self.in_order(self.map.of_lines(path, mutant.lines) & set(items), hits)
                test = self.killer(path, mutant, functions, [items[test] for test in tests])
                outcome = "not run" if not tests else "survived" if test is None else "killed"
                self.log.write(outcome, mutant.name, test or "")
                if test:
                    hits[test] += 1
                yield mutant, outcome

    def in_order(self, tests: set[str], hits: Counter[str]) -> list[str]:
        """Tests that found other mutants of the file before the rest, the quickest first, while the time allows."""
        chosen, spent = [], 0.0
        for test in sorted(tests, key=lambda test: (self.map.seconds[test] / (1 + hits[test]), test)):
            spent += self.map.seconds[test]
            if chosen and spent > self.most:
                break
            chosen.append(test)
        return chosen

    def killer(self, path: Path, mutant: Mutant, functions: list[Any], items: list[pytest.Item]) -> str | None:
        """The first of the tests that fails in a fork of this process, which has the mutant in it."""
        if not items:
            return None
        if not functions:
            raise LookupError(f"no function of {path} was found: the mutant would not run")
        folder = Path(tempfile.mkdtemp(prefix="enrelm-mutant"))
        child = os.fork()
        if not child:
            try:
                self.run(path, mutant, functions, items, folder)
            finally:
                os._exit(_BROKEN)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == _BROKEN:
            raise RuntimeError(f"the mutant could not be run: {mutant.name}")
        running = (folder / "running").read_text("utf-8") if (folder / "running").exists() else items[0].nodeid
        shutil.rmtree(folder, ignore_errors=True)
        return running if status != 0 else None

    def run(self, path: Path, mutant: Mutant, functions: list[Any], items: list[pytest.Item], folder: Path) -> NoReturn:
        """In the fork: the mutant's tests, until one fails."""
        seconds = int(10 + 5 * sum(self.map.seconds[item.nodeid] for item in items))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        items[0].config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
        put_in(path, mutant.tree(), functions)
        for item, after in zip(items, [*items[1:], None], strict=True):
            (folder / "running").write_text(item.nodeid, "utf-8")
            if any(report.failed for report in runtestprotocol(item, nextitem=after, log=False)):
                os._exit(1)
        os._exit(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", default=FILES, help="of enrelm_cli/, such as judge/curve.py; default: all")
    parser.add_argument(
        "--tests", nargs="+", default=list(TESTS), help="that may kill them; default: those of the folders"
    )
    parser.add_argument("--log", type=Path, help="a file with a line for each mutant, to go on from")
    parser.add_argument("--map", type=Path, default=Path(tempfile.gettempdir()) / "enrelm-mutants.json")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds")
    parser.add_argument(
        "--most", type=float, default=_SECONDS, help="processor seconds of tests for each mutant, by the map"
    )
    asked = parser.parse_args()
    start = time.monotonic()
    everything = [str(path.relative_to(PACKAGE)) for pattern in FILES for path in sorted(PACKAGE.glob(pattern))]
    asked_for = [str(path.relative_to(PACKAGE)) for pattern in asked.files for path in sorted(PACKAGE.glob(pattern))]
    kept = read_map(asked.map, list(dict.fromkeys(everything)), asked.tests)
    run = Pass(list(dict.fromkeys(asked_for)), kept, Log(asked.log), start + asked.seconds, asked.most)
    code = pytest.main(["-q", "-s", "-n", "0", "-p", "no:cacheprovider", *asked.tests], plugins=[run])
    print(f"{sum(run.counts.values())} mutants: {counted(run.counts)}; {time.monotonic() - start:.0f} s")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
