"""`python -m benchmarks`: run the sections, each in a process of its own, and write the report."""

from __future__ import annotations

import argparse
import compileall
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measuring import Plan, cores, machine
from benchmarks.render import render

HERE = Path(__file__).parent
# Section -> its module, and whether it also runs confined to one core.
SECTIONS = {
    "selection": ("selection", True),
    "kernel": ("kernel", True),
    "predict": ("predicting", True),
    "python": ("python_calls", False),
    "reading": ("reading", True),
    "startup": ("startup", False),
    "scale": ("scale", False),
    "profile": ("profiling", False),
    "splits": ("splits", False),
    "tables": ("tables", False),
    "local": ("local", False),
    "classes": ("classes", False),
    "update": ("updating", False),
    "targets": ("targets", False),
}


def main() -> None:
    options = _options()
    if options.part:
        _one_part(options)
        return
    results_path = options.folder / "results.json"
    if not options.render:
        options.folder.mkdir(parents=True, exist_ok=True)
        chosen = options.only.split(",") if options.only else list(SECTIONS)
        unknown = sorted(set(chosen) - set(SECTIONS))
        if unknown:
            sys.exit(f"there is no section {', '.join(unknown)}: the sections are {', '.join(SECTIONS)}")
        # As an installed package is: a process that has to compile us first starts 0.15 s later.
        compileall.compile_dir(HERE.parent / "enrelm_cli", quiet=1)
        for name in chosen:
            done = _section(name, options)
            # Read again: sections may be run from several shells, one after the other.
            results = json.loads(results_path.read_text()) if results_path.exists() else {"sections": {}}
            results["sections"][name] = done
            results_path.write_text(json.dumps(results, indent=1))
    render(json.loads(results_path.read_text()), list(SECTIONS), options.folder)
    print(f"wrote {options.folder / 'REPORT.md'}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="SECTION,...", help=f"of {', '.join(SECTIONS)}; the other results are kept")
    parser.add_argument("--quick", action="store_true", help="small sizes: to see that it works, not how fast it is")
    parser.add_argument("--render", action="store_true", help="write the report again from results.json")
    parser.add_argument("--folder", type=Path, help="where the results go (benchmarks/, or benchmarks/quick/)")
    parser.add_argument(
        "--tables", metavar="NAME,...", default="", help="only these tables of `tables`, `classes`, `local`"
    )
    parser.add_argument(
        "--splits", type=int, default=5, metavar="K", help="splits of each table of `tables` and `classes`"
    )
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    partial = options.quick or options.tables or options.splits < 5
    options.folder = options.folder or (HERE / "quick" if partial else HERE)
    return options


def _section(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Its outcome on one core and on all, with the machine as it was at the start."""
    _, both = SECTIONS[name]
    every = cores()
    threads = [1, every] if both and every > 1 and hasattr(os, "sched_setaffinity") else [every]
    section: dict[str, Any] = {"quick": options.quick, "machine": machine(), "threads": {}}
    for count in threads:
        print(f"{name}, {count} of {every} cores ...", file=sys.stderr, flush=True)
        start = time.perf_counter()
        section["threads"][str(count)] = _in_a_process(name, options, count)
        print(f"{name}, {count} of {every} cores: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return section


def _in_a_process(name: str, options: argparse.Namespace, count: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="enrelm-bench-") as folder:
        words = [
            sys.executable,
            "-m",
            "benchmarks",
            "--part",
            name,
            "--folder",
            folder,
            *(["--quick"] if options.quick else []),
            f"--tables={options.tables}",
            f"--splits={options.splits}",
        ]
        # Confined from its start: BLAS, OpenMP and our own threads all count the cores they may use.
        few = sorted(os.sched_getaffinity(0))[:count] if hasattr(os, "sched_getaffinity") else []
        confine = (lambda: os.sched_setaffinity(0, few)) if few else None
        done = subprocess.run(words, preexec_fn=confine, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"{name}: ended with {done.returncode}")
        return json.loads((Path(folder) / "outcome.json").read_text())


def _one_part(options: argparse.Namespace) -> None:
    module = importlib.import_module(f"benchmarks.{SECTIONS[options.part][0]}")
    tables = tuple(options.tables.split(",")) if options.tables else ()
    outcome = module.run(Plan(options.quick, cores(), options.folder, tables, options.splits))
    (options.folder / "outcome.json").write_text(json.dumps(outcome.to_json(), default=float))


if __name__ == "__main__":
    main()
