"""What a new user does in a notebook: load, fit, plot, predict with intervals, save, use from the shell."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

CELLS = [
    "import pandas as pd, enrelm\nhouses = pd.read_csv('sample_data/houses.csv').drop(columns='house_id')",
    "model = enrelm.EnrelmRegressor(variant='kernel', tune=False)\nX, y = houses.drop(columns='price'), houses.price",
    "model.fit(X, y)",
    "model.report_",
    "model.curve_.plot()",
    "new = pd.read_csv('sample_data/houses_new.csv')[X.columns]\nmodel.predict(new, return_interval=0.9)",
    "import sys\nmodel.save('model.joblib')",
    "!{sys.executable} -m enrelm_cli predict model.joblib sample_data/houses_new.csv -o predictions.csv -q",
]


def outputs(cell: Any) -> dict[str, str]:
    """What a cell shows, by its kind."""
    shown: dict[str, str] = {}
    for output in cell.outputs:
        shown |= output.get("data", {}) if "data" in output else {output.get("name", "error"): output.get("text", "")}
    return shown


@pytest.mark.slow
def test_a_notebook_fits_plots_predicts_and_saves(
    tmp_path: Path, sample_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = "notebooks: pip install nbclient ipykernel"
    nbformat = pytest.importorskip("nbformat", reason=why)
    nbclient = pytest.importorskip("nbclient", reason=why)
    pytest.importorskip("ipykernel", reason=why)
    for library in ("pandas", "matplotlib"):
        pytest.importorskip(library)
    shutil.copytree(sample_data, tmp_path / "sample_data")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    _, _, fitted, report, figure, interval, *_ = map(outputs, book.cells)
    assert '<div class="enrelm">' in fitted["text/html"]
    assert "validation" in report["text/html"]
    assert "image/png" in figure
    assert "upper" in interval["text/html"]
    assert (tmp_path / "predictions.csv").read_text().count("\n") == 25
    assert all("stderr" not in shown for shown in (fitted, report, figure, interval))
