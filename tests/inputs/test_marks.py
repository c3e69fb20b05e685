"""Groups, times and the user's own files: which rows are held out, from memory and from disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.folds import LocalEngine, joined
from enrelm_cli.inputs.dataset import Dataset, open_dataset, split_of
from enrelm_cli.inputs.split import Cut, HashSplit, Side, time_split
from enrelm_cli.settings import DataSettings, EngineSettings, ReadOptions, Roles, SplitSettings

DISK = EngineSettings(memory=1)


def table(path: Path, rows: int = 240, groups: int = 30, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, rows)
    days = np.sort(rng.integers(0, 200, rows))
    lines = [
        f"{x:.6f},{z:.6f},g{g},2024-{1 + d // 28:02d}-{1 + d % 28:02d},{x + z:.6f}"
        for (x, z), g, d in zip(rng.standard_normal((rows, 2)), group, days, strict=True)
    ]
    path.write_text("\n".join(["x,z,who,day,y", *lines]) + "\n")
    return path


def opened(*paths: Path, where: EngineSettings | None = None, held: Path | None = None, **roles: object) -> Dataset:
    data = DataSettings(
        sources=tuple(map(str, paths)),
        roles=Roles(target="y", **roles),  # type: ignore[arg-type]
        read=ReadOptions(batch_rows=50, block_bytes=2000),
        validation=() if held is None else (str(held),),
    )
    return open_dataset(data, where or EngineSettings(), LocalEngine(1))


def sides(dataset: Dataset, split: SplitSettings | None = None, **more: object) -> tuple[np.ndarray, object]:
    chunk = joined([chunk for piece in dataset.rows.pieces for chunk in piece], 0)
    found = split_of(dataset.rows, split or SplitSettings(), **more)  # type: ignore[arg-type]
    return found.sides(chunk), chunk


@pytest.mark.parametrize("where", [EngineSettings(), DISK], ids=["memory", "disk"])
def test_rows_of_a_group_are_on_one_side(tmp_path: Path, where: EngineSettings) -> None:
    side, chunk = sides(opened(table(tmp_path / "t.csv"), where=where, group=("who",), drop=("day",)))
    for key in np.unique(chunk.group):
        assert len(np.unique(side[chunk.group == key])) == 1
    assert len(np.unique(chunk.group)) == 30
    assert abs(np.mean(side == Side.VALIDATION) - 0.25) < 0.06


def test_memory_and_disk_split_alike_by_group_and_by_time(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv")
    for roles in ({"group": ("who",)}, {"time": "day"}):
        memory, disk = (sides(opened(path, where=where, **roles))[0] for where in (EngineSettings(), DISK))
        np.testing.assert_array_equal(memory, disk)
        assert 0 < np.count_nonzero(memory == Side.VALIDATION) < len(memory)


def test_a_group_column_is_an_input_only_where_it_is_named(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv")
    inputs = [column.name for column in opened(path, group=("who",)).encoding.columns]
    assert inputs == ["day", "x", "z"]
    named = opened(path, group=("who",), inputs=("x", "who")).encoding.columns
    assert [column.name for column in named] == ["who", "x"]


def test_a_time_column_is_an_input_unless_it_is_dropped(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv")
    assert "day" in [column.name for column in opened(path, time="day").encoding.columns]
    dropped = opened(path, time="day", drop=("day",))
    assert "day" not in [column.name for column in dropped.encoding.columns]
    assert (sides(dropped)[0] == Side.VALIDATION).any()


def test_several_group_columns_are_one_group_in_any_order(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv")
    one, other = (sides(opened(path, group=names))[1] for names in (("who", "day"), ("day", "who")))
    np.testing.assert_array_equal(one.group, other.group)
    assert len(np.unique(one.group)) > 30


def test_rows_without_a_group_are_groups_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,who,y\n" + "".join(f"{i},{'' if i % 2 else i % 3},{i * i}\n" for i in range(40)))
    _, chunk = sides(opened(path, group=("who",)))
    assert len(np.unique(chunk.group)) == 20 + 3


def test_the_latest_rows_validate_and_rows_of_one_time_stay_together(tmp_path: Path) -> None:
    side, chunk = sides(opened(table(tmp_path / "t.csv"), time="day"))
    held = side == Side.VALIDATION
    assert chunk.time[held].min() > chunk.time[~held].max()
    assert abs(held.mean() - 0.25) < 0.03


def test_cuts_in_time_test_on_windows_that_follow_each_other() -> None:
    time = np.random.default_rng(0).permutation(1000).astype(float)
    tested = []
    for number in range(5):
        split = time_split(time, 0.25, Cut(number, 5, 0.25))
        test = time[(time >= split.test) & (time < split.end)]
        assert split.validation < split.test < split.end
        assert np.mean(time < split.test) == pytest.approx(0.5 + 0.1 * number)
        tested.append(np.sort(test))
    np.testing.assert_array_equal(np.concatenate(tested), np.arange(500, 1000))


def test_one_cut_tests_on_the_share_that_was_asked_for() -> None:
    split = time_split(np.arange(100.0), 0.2, Cut(0, 1, 0.3))
    assert (split.validation, split.test, split.end) == (56.0, 70.0, np.inf)


def test_too_few_times_for_the_cuts_are_an_error() -> None:
    with pytest.raises(DataError, match="too few"):
        time_split(np.repeat([1.0, 2.0, 3.0, 4.0], 50), 0.25, Cut(1, 8, 0.25))
    with pytest.raises(DataError, match="different times"):
        time_split(np.repeat([1.0, 2.0], 50), 0.25)


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_few_groups_are_split_as_near_to_the_share_as_groups_can(tmp_path: Path, groups: int) -> None:
    dataset = opened(table(tmp_path / "t.csv", groups=groups), group=("who",))
    held = [np.mean(sides(dataset, SplitSettings(seed=seed))[0] == Side.VALIDATION) for seed in range(5)]
    assert all(abs(share - 1 / max(groups, 4)) < 0.3 for share in held)
    assert isinstance(split_of(dataset.rows, SplitSettings()), HashSplit)


def test_one_group_cannot_be_split(tmp_path: Path) -> None:
    dataset = opened(table(tmp_path / "t.csv", groups=1), group=("who",))
    with pytest.raises(DataError, match="1 group is too few"):
        split_of(dataset.rows, SplitSettings())


@pytest.mark.parametrize("where", [EngineSettings(), DISK], ids=["memory", "disk"])
def test_the_rows_of_a_validation_file_validate(tmp_path: Path, where: EngineSettings) -> None:
    train, other = table(tmp_path / "t.csv"), table(tmp_path / "v.csv", rows=70, seed=1)
    lines = [line.split(",") for line in other.read_text().splitlines()]
    # Other columns, in another order, as at predict.
    other.write_text("\n".join(",".join(["1" if i else "more", *line[::-1]]) for i, line in enumerate(lines)) + "\n")
    side, chunk = sides(opened(train, held=other, where=where))
    np.testing.assert_array_equal(side == Side.VALIDATION, np.arange(310) >= 240)
    expected = np.array([float(line[-1]) for line in lines[1:]])
    np.testing.assert_allclose(chunk.y[240:], expected)


def test_a_validation_file_without_a_column_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "v.csv"
    other.write_text("x,y\n1,2\n")
    with pytest.raises(DataError, match=r"v\.csv: 2 columns"):
        opened(table(tmp_path / "t.csv"), held=other, drop=("day",))


def test_a_row_without_a_time_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,day,y\n" + "".join(f"{i},{'' if i == 7 else f'2024-01-{i + 1:02d}'},{i}\n" for i in range(20)))
    for where in (EngineSettings(), DISK):
        with pytest.raises(DataError, match="line 9"):
            opened(path, time="day", where=where)


def test_a_time_that_is_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'who'"):
        opened(table(tmp_path / "t.csv"), time="who")


def test_options_that_contradict_each_other_name_both(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv")
    with pytest.raises(UsageError, match=r"--group.*--time"):
        opened(path, group=("who",), time="day")
    with pytest.raises(UsageError, match=r"--validation.*--time"):
        opened(path, held=path, time="day")
    with pytest.raises(UsageError, match=r"--validation.*--validation-size"):
        sides(opened(path, held=path), SplitSettings(validation_size=0.4))
    for roles, flag in (({"time": "day"}, "--time"), ({"group": ("who",)}, "--group")):
        with pytest.raises(UsageError, match=rf"{flag}.*--split shuffle"):
            sides(opened(path, **roles), SplitSettings(kind="shuffle"))
