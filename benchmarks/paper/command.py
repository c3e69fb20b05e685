"""The command behind `make reproduce`: run what is missing, then write the pages."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from benchmarks.paper.datasets import Verdict, check
from enrelm_cli.fold.resources import cores


def parser() -> argparse.ArgumentParser:
    answer = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description="Run the paper's experiments and write them beside its printed figures.",
        epilog="exit codes: 0 done, 2 usage, 3 a file of the data is missing or differs (--check)",
    )
    answer.add_argument("--data", type=Path, help="folder with the real datasets (see DATA.md); without it they wait")
    answer.add_argument("--check", type=Path, metavar="DIR", help="only tell which files of a folder are right")
    answer.add_argument("--out", type=Path, default=Path("docs/reproduction"), help="where the pages go")
    answer.add_argument(
        "--work", type=Path, default=Path(".enrelm-reproduction"), help="where results are kept between runs"
    )
    answer.add_argument("--seeds", type=int, default=20, help="draws of every synthetic dataset (default 20)")
    answer.add_argument("--kernel-seeds", type=int, default=5, help="of which the kernel variant runs on (default 5)")
    answer.add_argument("--datasets", type=int, nargs="*", default=[], help="only these synthetic ones (default all)")
    answer.add_argument("--workers", type=int, default=0, help="processes (default: one for each core)")
    answer.add_argument(
        "--no-run", action="store_true", help="write the pages from the results that are there, of whatever code"
    )
    return answer


def main(words: Sequence[str] | None = None) -> int:
    asked = parser().parse_args(words)
    if asked.check is not None:
        return _check(asked.check)
    if asked.seeds < 2 or asked.kernel_seeds < 1:
        print("error: --seeds must be at least 2 and --kernel-seeds at least 1", file=sys.stderr)
        return 2
    if asked.data is not None and any(one.state != "right" for one in check(asked.data)):
        _check(asked.data, sys.stderr)
        print("error: the real datasets are not as they should be; see above, or leave --data out", file=sys.stderr)
        return 3
    return _reproduce(asked)


def _check(folder: Path, stream: TextIO | None = None) -> int:
    verdicts = check(folder)
    for one in verdicts:
        print(f"{one.name:<15} {one.state}{_details(one)}", file=stream or sys.stdout)
    return 0 if all(one.state == "right" for one in verdicts) else 3


def _details(verdict: Verdict) -> str:
    shown = verdict.details[:5]
    more = len(verdict.details) - len(shown)
    return "".join(f"\n    {text}" for text in shown) + (f"\n    and {more} more" if more else "")


def _reproduce(asked: argparse.Namespace) -> int:
    # Late: --help and --check need neither numpy nor scipy.
    from benchmarks.paper import pages, runner
    from benchmarks.paper.measure import Plan

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stopped by another program: as by Ctrl-C
    start = time.monotonic()
    plan = Plan(seeds=asked.seeds, kernel_seeds=min(asked.kernel_seeds, asked.seeds))
    jobs = runner.jobs_of(plan, "" if asked.data is None else str(asked.data), asked.datasets)
    if asked.no_run:
        results = runner.latest(jobs, asked.work)
    else:
        bar = Bar(len(jobs), sys.stderr)
        try:
            results = runner.run(jobs, asked.work, asked.workers or cores(), bar.advance)
        except KeyboardInterrupt:
            print("\ninterrupted: what is done is kept; the same command goes on from here", file=sys.stderr)
            return 130
        finally:
            bar.finish()
    written = pages.write(results, plan, asked.out)
    print(f"{len(results)} of {len(jobs)} results in {time.monotonic() - start:.0f} s", file=sys.stderr)
    for path in written:
        print(path)
    return 0


@dataclass
class Bar:
    """Jobs done: a bar where stderr is a terminal, else a line for every tenth."""

    total: int
    stream: TextIO
    done: int = 0
    fresh: int = 0
    start: float = field(default_factory=time.monotonic)

    def advance(self, job: object | None) -> None:
        """None: the result was there already."""
        self.done += 1
        self.fresh += job is not None
        if self.stream.isatty():
            filled = 30 * self.done // self.total
            self.stream.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {self._text()}\x1b[K")
        elif job is not None and self.done * 10 // self.total != (self.done - 1) * 10 // self.total:
            self.stream.write(self._text() + "\n")
        self.stream.flush()

    def _text(self) -> str:
        spent = time.monotonic() - self.start
        left = spent / self.fresh * (self.total - self.done) if self.fresh else 0.0
        return f"{self.done}/{self.total} jobs, {spent:.0f} s, about {left:.0f} s left"

    def finish(self) -> None:
        if self.stream.isatty():
            self.stream.write("\n")
