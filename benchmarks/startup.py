"""What a short command costs: whole processes."""

from __future__ import annotations

import sys

from benchmarks import data
from benchmarks.measuring import Plan, children, enrelm
from benchmarks.outcome import Goal, Outcome, Table
from benchmarks.predicting import small_model

BARE = '''
import typer

app = typer.Typer()


@app.command()
def fit(table: str, target: str = "y", rows: int = 10) -> None:
    """Fit."""


@app.command()
def predict(model: str, table: str) -> None:
    """Predict."""


app()
'''


def run(plan: Plan) -> Outcome:
    folder, python = plan.folder, sys.executable
    bare = folder / "bare.py"
    bare.write_text(BARE)
    model, ten = small_model(folder), data.friedman_file(10, folder / "ten.csv")
    commands = {
        "python -c pass": [python, "-c", "pass"],
        "a bare Typer application --help": [python, bare, "--help"],
        "enrelm --version": enrelm("--version"),
        "enrelm --help": enrelm("--help"),
        "enrelm fit --help": enrelm("fit", "--help"),
        "import numpy, pyarrow.csv": [python, "-c", "import numpy, pyarrow.csv"],
        "enrelm predict, 10 rows": enrelm("predict", model, ten, "-o", folder / "ten_out.csv"),
    }
    runs = children(commands, 3 if plan.quick else 15, folder)
    bare_seconds = runs["a bare Typer application --help"].median
    table = Table("Start-up", {"command": "text", "seconds": "s", "over a bare Typer's --help": "x", "spread": "%"})
    for name, mine in runs.items():
        table.add(name, mine.median, mine.median / bare_seconds, mine.spread)
    ratio = runs["enrelm --help"].median / bare_seconds
    return Outcome([table], [Goal("enrelm --help: time over a bare Typer application's", ratio, 1.5, at_least=False)])
