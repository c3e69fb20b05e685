"""Do two checkouts of the package give the same? Runs the README's commands with both and compares what they leave.

    python benchmarks/same_results.py /tmp/before .

Model files and predictions must be equal byte for byte, reports (--format json) in every key but the timings, to 12
digits. Keys that only the second checkout has do not count: keys are only ever added.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parents[1] / "sample_data"
# Every command of the README that reads sample_data, and the paths that those leave out: a stream, no refit, --no-tune.
COMMANDS = (
    "fit {s}/friedman.csv --target y -o model.joblib -f json",
    "predict model.joblib {s}/friedman_new.csv -o plain.csv",
    "predict model.joblib {s}/friedman_new.csv --append -o appended.csv",
    "predict model.joblib {s}/friedman_new.csv --interval 0.9 -o interval.csv",
    "curve {s}/friedman.csv --target y --variant kernel -f json",
    "curve {s}/network.csv --target y --variant incremental --with-elm -f json",
    "fit {s}/network.csv --target y --variant incremental --select smallest -o smallest.joblib -f json",
    "compare {s}/friedman.csv --target y --repeats 2 -f json",
    "compare {s}/linear.csv {s}/network.csv --target y --method kernel --method linear --repeats 2 -f json",
    "compare {s}/linear.csv --target y --protocol paper -f json",
    "fit {s}/houses.csv --target price --drop house_id --categorical zone -o houses.joblib -f json",
    "predict houses.joblib {s}/houses_new.csv --id house_id -o houses.csv",
    "fit {s}/friedman.csv --target y --landmarks 200 --memory 1M -o landmarks.joblib -f json",
    "fit {s}/houses.csv --target price --drop house_id --landmarks 100 -o few.joblib -f json",
    "fit {s}/friedman.csv --target y --no-refit --no-tune --variant approximate -o approximate.joblib -f json",
    "compare {s}/friedman.csv --target y --landmarks 100 --repeats 1 -f json",
)
_CLOCKS = ("timings", "fit_seconds", "predict_seconds", "seconds")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="a checkout")
    parser.add_argument("after", type=Path, help="another")
    parser.add_argument("--only", default="", help="only commands that contain this text")
    asked = parser.parse_args()
    commands = [one for one in COMMANDS if asked.only in one]
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Path(scratch, name) for name in ("before", "after")]
        for folder in folders:
            folder.mkdir()
        gaps = [
            gap
            for command in commands
            for gap in _differences(command, *zip((asked.before, asked.after), folders, strict=True))
        ]
        for name in sorted(path.name for path in folders[0].iterdir()):
            same = (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
            print(f"{'same bytes' if same else 'DIFFERENT'}  {name}")
            gaps += [] if same else [name]
    print(f"{len(commands)} commands: " + ("the same results" if not gaps else f"{len(gaps)} differences"))
    return 1 if gaps else 0


def _differences(command: str, before: tuple[Path, Path], after: tuple[Path, Path]) -> list[str]:
    first, second = (_run(command, *side) for side in (before, after))
    gaps = list(_gaps(first, second, ""))
    print(f"{'same' if not gaps else 'DIFFERENT'}  enrelm {command.format(s='sample_data')}")
    for gap in gaps[:10]:
        print(f"    {gap}")
    return gaps


def _run(command: str, checkout: Path, folder: Path) -> Any:
    # Versions and paths are part of a report: both sides run the same interpreter in folders of the same depth.
    words = [sys.executable, "-m", "enrelm_cli", *command.format(s=os.path.relpath(SAMPLES, folder)).split()]
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve())}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{checkout}: enrelm {command} ended with {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout) if done.stdout.strip() else None


def _gaps(before: Any, after: Any, where: str) -> list[str]:
    """What differs, key by key."""
    if isinstance(before, dict) and isinstance(after, dict):
        shared = [key for key in before if key not in _CLOCKS]
        return [gap for key in shared for gap in _gaps(before[key], after.get(key), f"{where}.{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [gap for k, pair in enumerate(zip(before, after, strict=True)) for gap in _gaps(*pair, f"{where}[{k}]")]
    if isinstance(before, float) and isinstance(after, float) and math.isclose(before, after, rel_tol=1e-12):
        return []
    return [] if before == after else [f"{where}: {before!r:.60} -> {after!r:.60}"]


if __name__ == "__main__":
    sys.exit(main())
