"""Clocks, alternating repeats, child processes with their peak memory, and what the machine is."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median
from threading import Timer
from typing import Any

PACKAGES = ("enrelm", "numpy", "scipy", "pyarrow", "joblib", "typer", "scikit-learn", "pandas", "lightgbm", "catboost")
PACKAGES = (*PACKAGES, "hpelm", "swimnetworks")
# One-minute load average, other than our own, above which the report warns: the ratios then measure the neighbours too.
BUSY = 0.5


@dataclass(frozen=True)
class Plan:
    """What a section is told."""

    quick: bool
    threads: int  # cores that this process is confined to
    folder: Path  # for files; gone after the run
    tables: tuple[str, ...] = ()  # of sections on real tables; none: all of them
    splits: int = 5
    limit: float | None = None  # seconds that a command may take


@dataclass
class Runs:
    """What repeats of one contender took, and what the last one returned."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    result: Any = None
    times: float = 1.0  # the whole job is so many of what was timed

    @property
    def median(self) -> float:
        return median(self.seconds) * self.times

    @property
    def median_cpu(self) -> float:
        return median(self.cpu) * self.times

    @property
    def spread(self) -> float | None:
        """(slowest - fastest) / median; None of a single run."""
        return (max(self.seconds) - min(self.seconds)) / median(self.seconds) if len(self.seconds) > 1 else None


def alternately(
    contenders: Mapping[str, Callable[[], Any]], repeats: int, warm: bool = True, enough: float = 60.0
) -> dict[str, Runs]:
    """Every contender in every round, in turning order; one that has already used `enough` seconds is not repeated."""
    runs = {name: Runs() for name in contenders}
    if warm:
        for work in contenders.values():
            work()
    for round_ in range(repeats):
        names = list(contenders)
        for name in names if round_ % 2 == 0 else reversed(names):
            mine = runs[name]
            if mine.seconds and sum(mine.seconds) > enough:
                continue
            cpu, start = time.process_time(), time.perf_counter()
            mine.result = contenders[name]()
            mine.seconds.append(time.perf_counter() - start)
            mine.cpu.append(time.process_time() - cpu)
    return runs


@dataclass(frozen=True)
class Child:
    """A finished process."""

    seconds: float
    cpu: float
    peak: int  # bytes of resident memory
    out: str
    err: str


def child(command: Sequence[str | Path], folder: Path, limit: float | None = None) -> Child:
    """Run a command to its end, or to the limit in seconds. Linux counts the parent's own memory at the fork as the
    child's: keep it small.
    """
    words = [str(word) for word in command]
    with (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
        start = time.perf_counter()
        process = subprocess.Popen(words, stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        watch = Timer(limit or 0.0, process.kill)
        if limit is not None:
            watch.start()
        _, status, used = os.wait4(process.pid, 0)
        watch.cancel()
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = [(stream.seek(0), stream.read())[1] for stream in (out, err)]
    if limit is not None and seconds >= limit:
        raise RuntimeError(f"{' '.join(words[:8])} ...: stopped after {limit:,.0f} s")
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {process.returncode}: {texts[1][-2000:]}")
    return Child(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, *texts)


def children(commands: Mapping[str, Sequence[str | Path]], repeats: int, folder: Path) -> dict[str, Runs]:
    """`alternately` for commands; the CPU seconds are the children's."""
    runs = alternately({name: (lambda c=command: child(c, folder)) for name, command in commands.items()}, repeats)
    return runs


def enrelm(*words: str | Path) -> list[str | Path]:
    """The command line of the installed tool."""
    script = Path(sys.executable).parent / "enrelm"
    return [script, *words] if script.exists() else [sys.executable, "-m", "enrelm_cli", *words]


def missing(*packages: str) -> dict[str, str]:
    """The packages that cannot be imported, and why; tried in a child, to keep this process small."""
    why = {}
    for name in packages:
        done = subprocess.run([sys.executable, "-c", f"import {name}"], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            why[name] = done.stderr.strip().splitlines()[-1]
    return why


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    from threadpoolctl import threadpool_info

    __import__("scipy.linalg")
    libraries = threadpool_info()
    blas = sorted({f"{one['internal_api']} {one['version']} ({one.get('architecture', '?')})" for one in libraries})
    return {
        "when": time.strftime("%Y-%m-%d %H:%M"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
        "cores": cores(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": platform.python_version(),
        "blas": blas,
        "packages": {name: version_of(name) for name in PACKAGES},
        "load": os.getloadavg()[0],
    }


def gemm_peak(size: int = 2000, repeats: int = 5) -> float:
    """Floating-point operations a second of a square float64 product on the cores of this process: the best of some."""
    import numpy as np

    A = np.random.default_rng(0).standard_normal((size, size))
    best = float("inf")
    for _ in range(repeats + 1):
        start = time.perf_counter()
        A @ A
        best = min(best, time.perf_counter() - start)
    return 2.0 * size**3 / best


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "?")


def version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
