"""Work on a model is bounded by what its file holds: memory in blocks, and no small file that asks for much."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enrelm_cli.errors import ModelFileError
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model import artifact
from enrelm_cli.model.features import BLOCK, KernelFeatures, block_rows
from enrelm_cli.model.model import Model
from tests.cli_runner import succeed


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("work")
    rows = [f"{k % 7},{'abc'[k % 3]},{k % 7 + k % 3}" for k in range(60)]
    (folder / "data.csv").write_text("\n".join(["x,colour,y", *rows]) + "\n")
    succeed("fit", folder / "data.csv", "-t", "y", "--variant", "approximate", "-o", folder / "m.joblib", "-q")
    return artifact.load(str(folder / "m.joblib"))


def peak(work: Callable[[], Any]) -> int:
    """Bytes that it takes at most."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_block_is_as_large_as_ever_with_few_landmarks_and_never_above_64_megabytes() -> None:
    assert block_rows(1_000) == BLOCK
    assert all(block_rows(m) * m * 8 <= 2**26 for m in (10_000, 100_000, 8_000_000))
    assert block_rows(10**9) == 1


@pytest.mark.parametrize("method", ["combine", "outputs"])
def test_many_landmarks_on_a_large_batch_take_memory_for_a_block_of_rows(method: str) -> None:
    m, rng = 60_000, np.random.default_rng(0)
    features = KernelFeatures(ArcsineKernel(), rng.standard_normal((m, 2)), np.ones((m, 1)) / m, np.zeros(1))
    X = rng.standard_normal((BLOCK, 2))
    arguments = (X, np.ones(1)) if method == "combine" else (X,)
    assert peak(lambda: getattr(features, method)(*arguments)) < 200e6  # the whole kernel matrix would be 490 MB


def with_landmarks(document: dict[str, Any], m: int) -> dict[str, Any]:
    """The same model as a kernel on so many landmarks."""
    d, rng = document["network"]["features"]["W"].shape[1], np.random.default_rng(0)
    Z, P, offset = rng.standard_normal((m, d)), rng.standard_normal((m, 1)) / m, np.zeros(1)
    features = KernelFeatures(ArcsineKernel(), Z, P, offset)
    network = {**document["network"], "kind": "kernel", "features": features.to_document(), "beta": np.ones(1)}
    return {**document, "network": network}


@pytest.mark.parametrize("limit", [1, 1_000, 100_000])
def test_blocks_change_no_prediction(document: dict[str, Any], limit: int) -> None:
    model = Model.from_document(with_landmarks(document, 30))
    X = np.array([[k % 3, k % 7] for k in range(2 * BLOCK + 50)], dtype=float)
    np.testing.assert_allclose(model.predict(X, limit), model.predict(X), rtol=1e-12)
    assert model.predict(X[:0], limit).shape == (0,)


def test_predict_keeps_to_the_memory_that_it_is_given(document: dict[str, Any], tmp_path: Path) -> None:
    artifact.save(with_landmarks(document, 20_000), str(tmp_path / "m.joblib"))
    (tmp_path / "x.csv").write_text("x,colour\n" + "".join(f"{k % 9},{'abc'[k % 3]}\n" for k in range(600)))
    words = ("predict", tmp_path / "m.joblib", tmp_path / "x.csv", "--threads", 1, "-o")
    succeed(*words, tmp_path / "whole.csv", "-q")
    asked = peak(lambda: succeed(*words, tmp_path / "parts.csv", "--memory", "8M", "-q"))
    assert asked < 32e6  # a block of 64 MB without
    whole, parts = (np.loadtxt(tmp_path / f"{name}.csv", skiprows=1) for name in ("whole", "parts"))
    np.testing.assert_allclose(parts, whole, rtol=1e-12)


def test_a_column_with_the_same_map_twice_is_refused(document: dict[str, Any]) -> None:
    maps = document["input_map"]["columns"]
    hostile = {**document, "input_map": {**document["input_map"], "columns": maps + maps * 1_000}}
    with pytest.raises(ModelFileError, match="the same map twice"):
        Model.from_document(hostile)


def test_a_long_name_over_many_levels_is_refused_before_they_are_multiplied(document: dict[str, Any]) -> None:
    levels = [f"{k:06d}" for k in range(20_000)]
    columns = [
        {**one, "name": "colour" + "r" * 200_000, "levels": levels} if one["levels"] is not None else one
        for one in document["encoding"]["columns"]
    ]
    maps = [{**one, "levels": len(levels)} if one["kind"] == "one-hot" else one for one in _maps(document)]
    hostile = {
        **document,
        "encoding": {**document["encoding"], "columns": columns},
        "input_map": {**document["input_map"], "columns": maps},
    }

    def load() -> None:
        with pytest.raises(ModelFileError, match="names of its inputs are too long"):
            Model.from_document(hostile)

    assert peak(load) < 50e6  # the names would be 4 GB


def _maps(document: dict[str, Any]) -> list[dict[str, Any]]:
    maps: list[dict[str, Any]] = document["input_map"]["columns"]
    return maps


def test_a_model_with_every_part_of_a_date_is_read_again(tmp_path: Path) -> None:
    start = datetime(2020, 1, 1)
    rows = [f"{start + timedelta(hours=31 * k)},{k % 5},{k % 7 + k % 5}" for k in range(400)]
    (tmp_path / "data.csv").write_text("\n".join(["when,x,y", *rows]) + "\n")
    words = ("--variant", "kernel", "--tune-steps", 3, "-q")
    succeed("fit", tmp_path / "data.csv", "-t", "y", "-o", tmp_path / "m.joblib", *words)
    maps = _maps(artifact.load(str(tmp_path / "m.joblib")))
    assert len({one["part"] for one in maps if "part" in one}) >= 4
    succeed("predict", tmp_path / "m.joblib", tmp_path / "data.csv", "-o", tmp_path / "out.csv")
