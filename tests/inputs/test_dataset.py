"""From files to rows: each cell is hashed once, and a stream has the rows of memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enrelm_cli.fold.folds import Chunk, LocalEngine
from enrelm_cli.fold.hashing import hash_numbers
from enrelm_cli.inputs import dataset as dataset_module
from enrelm_cli.inputs import training as training_module
from enrelm_cli.inputs.dataset import Dataset, open_dataset, split_of
from enrelm_cli.inputs.split import Side, Split
from enrelm_cli.inputs.survey import cells as cells_module
from enrelm_cli.inputs.survey import contents as contents_module
from enrelm_cli.settings import DataSettings, EngineSettings, ReadOptions, Roles, SplitSettings

READ = ReadOptions(block_bytes=1000, batch_rows=30)


def opened(path: Path, in_memory: bool, missing: str = "fill") -> Dataset:
    where = EngineSettings(memory=1 << 30 if in_memory else 100)
    return open_dataset(DataSettings((str(path),), Roles("y"), READ, missing), where, LocalEngine(2))


def both(path: Path, missing: str = "fill") -> tuple[Dataset, Dataset]:
    return opened(path, True, missing), opened(path, False, missing)


def all_rows(data: Dataset) -> Chunk:
    return dataset_module.joined([chunk for piece in data.rows.pieces for chunk in piece], 0)


def table(path: Path, rows: int, levels: int, same_target: bool = False) -> Path:
    """Two columns, an identifier that is left out, holes, and a target that is missing now and then."""
    rng = np.random.default_rng(1)
    lines = ["a,b,id,y"]
    for i in range(rows):
        a, b = rng.integers(0, levels), rng.integers(0, 3)
        target = "" if i % 50 == 7 else (a if same_target else f"{rng.standard_normal():.9f}")
        lines.append(f"{'' if i % 40 == 3 else a},{'xyz'[b]},name {i} of many,{target}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def few_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (dataset_module, training_module, contents_module):
        monkeypatch.setattr(module, "SAMPLE_ROWS", 100)


def check_same(memory: Dataset, stream: Dataset) -> None:
    assert memory.content_hash == stream.content_hash
    assert memory.encoding == stream.encoding
    assert (memory.rows.total, memory.rows.whole) == (stream.rows.total, stream.rows.whole)
    for first, second in ((all_rows(memory), all_rows(stream)), (memory.rows.sample, stream.rows.sample)):
        for name in ("X", "y", "twins", "unit"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


@pytest.mark.parametrize("missing", ["fill", "drop"])
@pytest.mark.parametrize("levels", [2, 100_000], ids=["rows mostly repeat", "rows are distinct"])
def test_a_stream_has_the_rows_keys_and_sample_of_memory(
    levels: int, missing: str, tmp_path: Path, few_sampled: None
) -> None:
    memory, stream = both(table(tmp_path / "t.csv", 400, levels), missing)
    assert memory.rows.sample.rows == 100
    assert [one.name for one in memory.encoding.left_out] == ["id"]
    check_same(memory, stream)


def test_a_small_stream_has_the_rows_of_memory(tmp_path: Path) -> None:
    memory, stream = both(table(tmp_path / "t.csv", 400, 2))
    assert memory.rows.whole
    check_same(memory, stream)


def test_rows_that_repeat_whole_are_split_one_by_one_in_memory_and_together_in_a_stream(tmp_path: Path) -> None:
    memory, stream = both(table(tmp_path / "t.csv", 400, 2, same_target=True))
    assert len(np.unique(all_rows(memory).unit)) == memory.rows.total
    rows = all_rows(stream)
    assert len(np.unique(rows.unit)) == len(np.unique(rows.twins + hash_numbers(rows.y))) < 20


def test_twins_are_on_one_side_unless_nearly_every_row_has_one(tmp_path: Path) -> None:
    def divided(path: Path) -> int:
        data = opened(path, True)
        rows, split = all_rows(data), split_of(data.rows, SplitSettings())
        assert set(split.sides(rows).tolist()) == {Side.TRAIN, Side.VALIDATION}
        return sum(len(sides_of(split, rows, twin)) > 1 for twin in np.unique(rows.twins))

    assert divided(table(tmp_path / "few.csv", 400, 200)) == 0
    assert divided(table(tmp_path / "many.csv", 400, 2)) > 5


def sides_of(split: Split, rows: Chunk, twin: Any) -> set[int]:
    return set(split.sides(rows.where(rows.twins == twin)).tolist())


@pytest.mark.parametrize("in_memory", [True, False])
def test_each_cell_is_hashed_once(in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = {"numbers": 0, "levels": 0}

    def numbers(values: Any) -> Any:
        hashed["numbers"] += len(values)
        return hash_numbers(values)

    def levels(self: Any) -> Any:
        hashed["levels"] += len(self.codes)
        return original(self)

    original = cells_module.LevelCells.hashes
    monkeypatch.setattr(cells_module, "hash_numbers", numbers)
    monkeypatch.setattr(cells_module.LevelCells, "hashes", levels)
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "".join(f"{i},{'uvw'[i % 3]},{i}\n" for i in range(300)))
    data = opened(path, in_memory)
    for seed in range(3):
        split_of(data.rows, SplitSettings(seed=seed))
    assert hashed == {"numbers": 300, "levels": 300}
