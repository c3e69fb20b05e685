"""Tables in memory: the same model as from a file with the same cells."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from enrelm_cli.commands.fit import fit
from enrelm_cli.commands.saved import save
from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.settings import (
    DataSettings,
    EngineSettings,
    InputSettings,
    KernelSettings,
    MethodSettings,
    ReadOptions,
    Roles,
    SplitSettings,
)
from enrelm_cli.table import memory
from enrelm_cli.table.kinds import Kind
from enrelm_cli.table.load import load
from enrelm_cli.table.memory import ArrowSource, array_columns, arrow_columns, arrow_source, is_frame, levels_of
from enrelm_cli.table.table import open_table

ENGINE = LocalEngine(1)
QUICK = MethodSettings(kernel=KernelSettings(tune=False), inputs=InputSettings(transform="none"), max_neurons=20)
HOUSES = Roles(target="price", drop=("house_id",))


def source(**columns: Any) -> ArrowSource:
    return arrow_source("data frame", pa.table(columns))


def kinds(table: ArrowSource, roles: Roles | None = None) -> dict[str, Kind]:
    roles = roles or Roles()
    return dict(load(open_table([table], ReadOptions(), roles), roles, ENGINE, in_memory=True).kinds)


def model_bytes(data: DataSettings, path: Path, variant: str = "kernel") -> bytes:
    report, model = fit(data, SplitSettings(), QUICK, EngineSettings(), variant, ENGINE)
    save(report, model, str(path))
    return path.read_bytes()


@pytest.mark.parametrize("variant", ["kernel", "incremental"])
def test_a_file_and_a_data_frame_give_byte_identical_models(variant: str, sample_data: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = sample_data / "houses.csv"
    frame = arrow_source("data frame", arrow_columns(pandas.read_csv(path)))
    of_file = model_bytes(DataSettings((str(path),), HOUSES), tmp_path / "file", variant)
    assert model_bytes(DataSettings((), HOUSES, frame=frame), tmp_path / "frame", variant) == of_file


def test_an_arrow_table_in_chunks_gives_the_model_of_the_file(
    sample_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sample_data / "houses.csv"
    whole = pa_csv.read_csv(path)
    chunks = pa.concat_tables([whole.slice(0, 100), whole.slice(100, 7), whole.slice(107)])
    monkeypatch.setattr(memory, "_GROUP", 150)
    frame = arrow_source("table", chunks)
    assert len(frame.groups) == 4
    of_file = model_bytes(DataSettings((str(path),), HOUSES), tmp_path / "file")
    assert model_bytes(DataSettings((), HOUSES, frame=frame), tmp_path / "frame") == of_file


def test_texts_are_what_they_would_be_in_a_file() -> None:
    table = source(
        number=["1", "2.5", None],
        boolean=["true", "false", ""],
        date=["2024-01-31", "2024-02-01", "NA"],
        zoned=["2024-01-31T00:00:00Z", "2024-02-01T00:00:00Z", None],
        money=["$1,200", "$900", "$30"],
        text=["a", "b", "1"],
        empty=["", None, "NA"],
    )
    assert kinds(table) == {
        "boolean": Kind.BOOLEAN,
        "date": Kind.DATE,
        "empty": Kind.NUMBER,
        "money": Kind.NUMBER,
        "number": Kind.NUMBER,
        "text": Kind.TEXT,
        "zoned": Kind.ZONED,
    }


def test_typed_columns_keep_their_types() -> None:
    table = source(
        day=[date(2024, 1, 1)], moment=[datetime(2024, 1, 1)], whole=[1], half=[0.5], truth=[True], text=["x"]
    )
    found = {"day": Kind.DATE, "moment": Kind.DATE, "whole": Kind.NUMBER, "half": Kind.NUMBER, "truth": Kind.BOOLEAN}
    assert kinds(table) == {**found, "text": Kind.TEXT}


def test_a_category_of_numbers_says_so() -> None:
    columns = pa.table({"code": pa.array([1, 2, 1]).dictionary_encode(), "x": [1.0, 2.0, 3.0]})
    assert levels_of(columns) == ("code",)


def test_objects_of_several_types_are_texts() -> None:
    values = np.array([[1, "a"], [2.0, None], ["three", float("nan")]], dtype=object)
    columns = array_columns(values, ["mixed", "text"])
    assert columns.column("mixed").to_pylist() == ["1", "2", "three"]
    assert columns.column("text").to_pylist() == ["a", None, None]


def test_columns_in_one_piece_are_not_copied() -> None:
    values = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    columns = array_columns(values, ["a", "b", "c"])
    places = [column.chunk(0).buffers()[1].address for column in columns.columns]
    assert places == [values.ctypes.data + k * 32 for k in range(3)]


def test_a_frame_is_known_by_its_protocol() -> None:
    assert is_frame(pa.table({"a": [1]}))
    assert not is_frame(pa.chunked_array([[1]]))
    assert not is_frame(np.zeros((2, 2)))


def test_a_frame_of_the_interchange_protocol_is_read() -> None:
    class Frame:
        def __dataframe__(self, **how: Any) -> Any:
            return pa.table({"a": [1, 2], "b": ["x", "y"]}).__dataframe__(**how)

    assert arrow_columns(Frame()).to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


def test_polars_frames_are_read_with_their_texts_and_categories() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": ["x", None], "b": [1, 2], "c": ["u", "v"], "d": [None, "2024-01-31"]})
    frame = frame.with_columns(polars.col("a").cast(polars.Categorical))
    columns = arrow_columns(frame)
    assert levels_of(columns) == ("a",)
    assert kinds(arrow_source("data frame", columns)) == {
        "a": Kind.TEXT,
        "b": Kind.NUMBER,
        "c": Kind.TEXT,
        "d": Kind.DATE,
    }


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(DataError, match="several columns are called 'a'"):
        arrow_source("data frame", pa.table([[1], [2]], names=["a", "a"]))


def test_a_bad_cell_is_named_by_its_row() -> None:
    table = source(a=["1", "2", "x"], y=[1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="data frame, row 3: 'x' in column 'a' is not a number"):
        kinds(table, Roles(target="y", numeric=("a",)))


def test_a_table_in_memory_without_a_target_lists_its_columns() -> None:
    data = DataSettings((), Roles(), frame=source(a=[1], b=[2]))
    with pytest.raises(UsageError, match="no target column given; data frame has 'a', 'b'"):
        fit(data, SplitSettings(), QUICK, EngineSettings(), "kernel", ENGINE)


def test_a_model_does_not_know_where_its_table_lay(sample_data: Path, tmp_path: Path) -> None:
    path = sample_data / "linear.csv"
    copy = tmp_path / "copy.csv"
    copy.write_bytes(path.read_bytes())
    data = DataSettings((str(path),), Roles(target="y"))
    first = model_bytes(data, tmp_path / "first")
    assert model_bytes(replace(data, sources=(str(copy),)), tmp_path / "second") == first
