"""The rows that are measured, always the same ones. `python -m benchmarks.data ROWS FILE [DECIMALS]` writes Friedman's.

Files are written by a process of its own, so that the memory it takes is not counted as that of the next child.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

# In the paper's numbering: a shallow network of independent Gaussian inputs, SNR 10, with 20 and with 80 inputs.
SYNTHETIC = {(300, 20): 10, (300, 80): 22, (1200, 20): 34, (1200, 80): 46}
REAL = ("abalone", "delta_ailerons")


def synthetic(rows: int, inputs: int) -> tuple[Any, Any]:
    """X (T, d), y (T,) of the paper's law."""
    from enrelm_cli.commands.synthetic import generate

    table = generate(SYNTHETIC[rows, inputs], seed=0)
    return table.X, table.y


def real(name: str) -> tuple[Any, Any] | None:
    """X (T, d) with text one-hot encoded, y (T,); None where the paper's data is not there."""
    folder = os.environ.get("ENRELM_PAPER_DATA")
    if not folder:
        return None
    import numpy as np
    from pyarrow import csv

    from benchmarks.paper.datasets import BY_NAME

    known = BY_NAME[name]
    table = csv.read_csv(Path(folder) / f"{name}.csv")
    columns = []
    for column in table.column_names:
        values = table[column].to_numpy(zero_copy_only=False)
        if column in known.categorical:
            columns += [(values == level).astype(float) for level in sorted(set(values))]
        elif column != known.target:
            columns.append(values.astype(float))
    return np.column_stack(columns), table[known.target].to_numpy().astype(float)


def friedman_file(rows: int, path: Path, decimals: int | None = 6) -> Path:
    """Friedman's rows, 10 inputs and y, as CSV."""
    words = [str(rows), str(path), *([] if decimals is None else [str(decimals)])]
    subprocess.run([sys.executable, "-m", "benchmarks.data", *words], check=True)
    return path


def _write(rows: int, path: str, decimals: int | None) -> None:
    from enrelm_cli.commands.synthetic import friedman_chunks, write_csv

    with Path(path).open("wb") as stream:
        for k, chunk in enumerate(friedman_chunks(rows, noise=0.5)):
            write_csv(chunk, stream, header=k == 0, decimals=decimals)


if __name__ == "__main__":
    _write(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else None)
