"""From columns to inputs: levels, missing cells, dates; the same in any order and format; what is refused, and how."""

from __future__ import annotations

import gzip
import io
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enrelm_cli.errors import Exit, UsageError, UserError
from enrelm_cli.fold.folds import Chunk, LocalEngine
from enrelm_cli.fold.hashing import SAMPLE_SALT, rehash
from enrelm_cli.inputs import screening
from enrelm_cli.inputs.encoding import UNSEEN, Encoding, Unseen
from enrelm_cli.inputs.maps.input_map import Expansion
from enrelm_cli.inputs.maps.plain import Value, plain_maps
from enrelm_cli.inputs.predicting import open_for_predict
from enrelm_cli.inputs.screening import build_encoding
from enrelm_cli.inputs.survey import cells as cells_module
from enrelm_cli.inputs.survey import contents as contents_module
from enrelm_cli.inputs.survey import facts as facts_module
from enrelm_cli.inputs.survey.contents import SampledSurvey, sampled_survey
from enrelm_cli.table.load import load
from enrelm_cli.table.table import Batch, ReadOptions, Roles, open_table

ENGINE = LocalEngine(threads=2)
Y = Roles(target="y")


def surveyed(
    files: str | list[str], roles: Roles = Y, options: ReadOptions | None = None, in_memory: bool = True
) -> SampledSurvey:
    table = open_table([files] if isinstance(files, str) else files, options or ReadOptions(), roles)
    return sampled_survey(load(table, roles, ENGINE, in_memory), roles, ENGINE)


def encoded(files: str | list[str], roles: Roles = Y, missing: str = "fill", **more: Any) -> tuple[Encoding, Chunk]:
    """The encoding of a table, and all of its rows in the order of their hash."""
    found = surveyed(files, roles, **more)
    encoding = build_encoding(found, roles, missing)
    return encoding, encoding.chunk(found.sample)


def plain(encoding: Encoding, chunk: Chunk) -> Expansion:
    """Plain inputs whose medians are of these rows."""
    filled = encoding.missing == "fill"
    return Expansion(plain_maps(encoding.columns, filled, chunk.X, np.ones(chunk.rows, dtype=bool)))


def inputs_of(encoding: Encoding, chunk: Chunk) -> tuple[str, ...]:
    """The names of the plain inputs."""
    return plain(encoding, chunk).names(encoding.columns)


def rows_in_order(files: str, encoding: Encoding, roles: Roles = Y) -> Chunk:
    table = load(open_table([files], ReadOptions(), roles), roles, ENGINE, True)
    (batch,) = [batch for piece in table.pieces for batch in piece]
    return encoding.chunk(batch)


def predicted(
    files: str | list[str], encoding: Encoding, options: ReadOptions | None = None, **how: Any
) -> tuple[list[Batch], list[Chunk], Unseen]:
    """What predict sees of some files."""
    names = [files] if isinstance(files, str) else files
    batches = [batch for piece in open_for_predict(names, options or ReadOptions(), encoding, **how) for batch in piece]
    unseen, chunks = Unseen(), []
    for batch in batches:
        X, y, odd = encoding.for_predict(batch)
        chunks.append(Chunk(X, y, np.zeros(len(y), np.uint64), np.zeros(len(y), np.uint64), batch.row))
        unseen = unseen.merge(odd)
    return batches, chunks, unseen


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ------------------------------------------------------------------------------------------------ columns to inputs


def test_numbers_levels_booleans_and_missing_cells_become_inputs(folder: Path) -> None:
    (folder / "t.csv").write_text("sex,y,age,flag\nM,1,30,true\nF,2,,false\n,3,50,true\nM,4,70,true\n")
    encoding, _ = encoded("t.csv")
    chunk = rows_in_order("t.csv", encoding)
    inputs = plain(encoding, chunk)
    assert inputs.names(encoding.columns) == ("age", "age is missing", "flag", "sex=F", "sex=M", "sex is missing")
    assert inputs.groups == (0, 0, 1, 2, 2, 2)
    np.testing.assert_array_equal(chunk.X, [[30, 1, 1], [np.nan, 0, 0], [50, 1, np.nan], [70, 1, 1]])
    assert inputs(chunk.X).tolist() == [
        [30.0, 0.0, 1.0, 0.0, 1.0, 0.0],
        [50.0, 1.0, 0.0, 1.0, 0.0, 0.0],
        [50.0, 0.0, 1.0, 0.0, 0.0, 1.0],
        [70.0, 0.0, 1.0, 0.0, 1.0, 0.0],
    ]
    assert chunk.y.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert chunk.row == 0
    assert encoding.notes == ("2 missing cells filled (age 1, sex 1), each column with an indicator of missing cells",)


def test_medians_are_of_the_training_rows(folder: Path) -> None:
    (folder / "t.csv").write_text("a,y\n" + "".join(f"{i},{i}\n" for i in range(100)) + ",7\n")
    found = surveyed("t.csv")
    encoding = build_encoding(found, Y, "fill")
    rows = encoding.chunk(found.sample)
    half = rehash(rows.twins, 5) < np.uint64(1 << 63)
    (one,) = plain_maps(encoding.columns, True, rows.X, half)
    assert isinstance(one, Value)
    assert one.fill == np.nanmedian(rows.X[half]) != np.nanmedian(rows.X)


def test_dates_are_days_since_the_earliest(folder: Path) -> None:
    (folder / "t.csv").write_text("d,y\n2020-01-03,1\n2020-01-01 12:00,2\n2020-02-01,3\n")
    encoding, _ = encoded("t.csv")
    rows = rows_in_order("t.csv", encoding)
    inputs = plain(encoding, rows)
    assert inputs(rows.X).ravel().tolist() == [1.5, 0.0, 30.5]
    assert encoding.notes == ("d: dates are days since 2020-01-01 12:00:00",)
    (folder / "new.csv").write_text("d\n2019-12-31\n\n")
    _, (chunk,), _ = predicted("new.csv", encoding)
    assert inputs(chunk.X).tolist() == [[-1.5]]


@pytest.mark.parametrize("missing", ["fill", "drop", "error"])
def test_rows_without_a_target_are_left_out_at_fit_and_predicted_later(folder: Path, missing: str) -> None:
    (folder / "t.csv").write_text("a,c,y\n1,x,1\n2,only here,\n3,y,3\n")
    encoding, chunk = encoded("t.csv", missing=missing)
    assert inputs_of(encoding, chunk) == ("a", "c=x", "c=y")
    assert sorted(chunk.y.tolist()) == [1.0, 3.0]
    assert encoding.notes == ("1 row without a target left out",)
    _, (chunk,), unseen = predicted("t.csv", encoding, with_target=True)
    assert chunk.X.shape == (3, 2)
    np.testing.assert_array_equal(chunk.y, [1.0, np.nan, 3.0])
    assert unseen.levels == {"c": 1}


def test_rows_with_missing_inputs_are_dropped_or_refused_when_asked(folder: Path) -> None:
    (folder / "t.csv").write_text("a,c,y\n1,x,1\n,y,2\n3,,3\n4,x,4\n")
    encoding, chunk = encoded("t.csv", missing="drop")
    assert inputs_of(encoding, chunk) == ("a", "c=x", "c=y")
    assert sorted(chunk.y.tolist()) == [1.0, 4.0]
    assert encoding.notes == ("2 rows with missing inputs left out",)
    with pytest.raises(UserError) as caught:
        encoded("t.csv", missing="error")
    assert caught.value.exit_code is Exit.DATA
    assert caught.value.problem == "t.csv: missing cells in 'a' 1, 'c' 1 (--missing error)\n  line 3: ''"
    assert caught.value.hint == "--missing fill fills them, --missing drop leaves their rows out"


def test_an_empty_column_is_left_out_with_a_note(folder: Path) -> None:
    (folder / "t.csv").write_text("a,b,y\n1,,1\n2,NA,2\n")
    encoding, chunk = encoded("t.csv")
    assert inputs_of(encoding, chunk) == ("a",)
    assert encoding.notes == ("column 'b' left out: no value",)


def test_categories_of_numbers_are_written_one_way_in_every_format(folder: Path) -> None:
    roles = Roles(target="y", categorical=("c",))
    values = [70, 71.5, 70, 1e20, -0.0]
    (folder / "t.csv").write_text("c,y\n70,1\n71.50,2\n7e1,3\n1e20,4\n0,5\n")
    pq.write_table(pa.table({"c": values, "y": [1.0, 2.0, 3.0, 4.0, 5.0]}), "t.parquet")
    encoding, chunk = encoded("t.csv", roles)
    other, same = encoded("t.parquet", roles)
    assert encoding.columns[0].levels == ("0", "1e+20", "70", "71.5")
    assert other == encoding
    np.testing.assert_array_equal(chunk.twins, same.twins)
    np.testing.assert_array_equal(chunk.X, same.X)
    _, (again,), unseen = predicted("t.csv", encoding)
    assert again.X.ravel().tolist() == [2, 3, 2, 1, 0]
    assert not unseen.levels
    (folder / "new.csv").write_text("c\n70.00\nseventy\n\n72\nNA\n")
    _, (new,), unseen = predicted("new.csv", encoding)
    np.testing.assert_array_equal(new.X.ravel(), [2, UNSEEN, np.nan, UNSEEN, np.nan])
    assert unseen == Unseen({"c": 2}, {"c": ("72", "seventy")}, {"c": 2})


def test_categories_of_booleans_and_dates_are_texts(folder: Path) -> None:
    (folder / "t.csv").write_text("b,d,y\nTrue,2020-01-01,1\nfalse,2020-01-02,2\n")
    encoding, _ = encoded("t.csv", Roles(target="y", categorical=("b", "d")))
    assert [column.levels for column in encoding.columns] == [("false", "true"), ("2020-01-01", "2020-01-02")]
    _, (chunk,), unseen = predicted("t.csv", encoding)
    assert chunk.X.tolist() == [[1, 0], [0, 1]]
    assert not unseen.levels


def test_a_boolean_target_is_0_and_1(folder: Path) -> None:
    (folder / "t.csv").write_text("a,y\n1,true\n2,false\n")
    encoding, chunk = encoded("t.csv")
    assert sorted(chunk.y.tolist()) == [0.0, 1.0]
    _, (again,), _ = predicted("t.csv", encoding, with_target=True)
    assert again.y.tolist() == [1.0, 0.0]


def test_the_document_of_an_encoding_is_plain_and_gives_it_back(folder: Path) -> None:
    (folder / "t.csv").write_text("a,c,d,y\n1,x,2020-01-01,1\n,z,2020-01-02,2\n")
    encoding, _ = encoded("t.csv")

    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(type(key) is str and plain(item) for key, item in value.items())
        if isinstance(value, list):
            return all(plain(item) for item in value)
        return type(value) in (str, int, float, bool, type(None))

    document = encoding.to_document()
    assert plain(document)
    again = Encoding.from_document(document)
    assert repr(again) == repr(encoding)
    assert again.columns == encoding.columns
    with pytest.raises(ValueError, match="neither"):
        Encoding.from_document({**document, "missing": "neither"})


# ------------------------------------------------------------------------------------------------ the same in any guise


def mixed_table(rows: int = 3000, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    number = np.round(rng.normal(size=rows), 3)
    level = rng.choice(["red", "green", "blue", "a,b", 'say "hi"', "new\nline"], rows)
    return pa.table(
        {
            "number": pa.array(number, mask=rng.random(rows) < 0.1),
            "count": rng.integers(0, 5, rows),
            "level": pa.array(level, mask=rng.random(rows) < 0.1),
            "flag": rng.random(rows) < 0.5,
            "day": pa.array(rng.integers(18_000, 18_400, rows).astype(np.int32)).cast(pa.date32()),
            "y": pa.array(np.round(rng.normal(size=rows), 6), mask=rng.random(rows) < 0.05),
        }
    )


def write_guises(table: pa.Table) -> dict[str, str | list[str]]:
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
    pa_csv.write_csv(table, "t.csv")
    pa_csv.write_csv(table.select(table.schema.names[::-1]), "columns.csv")
    pa_csv.write_csv(shuffled, "shuffled.csv")
    pa_csv.write_csv(table, "t.tsv", pa_csv.WriteOptions(delimiter="\t"))
    Path("t.csv.gz").write_bytes(gzip.compress(Path("t.csv").read_bytes()))
    pq.write_table(shuffled, "t.parquet", row_group_size=700)
    for i in range(3):
        part = table.slice(i * 1100, 1100)
        pa_csv.write_csv(part if i != 1 else part.select(table.schema.names[::-1]), f"part{i}.csv")
    guises: dict[str, str | list[str]] = {
        name: name for name in ("columns.csv", "shuffled.csv", "t.tsv", "t.csv.gz", "t.parquet")
    }
    return guises | {"parts": "part*.csv", "mixed": ["part0.csv", "part1.csv", "part2.csv"]}


@pytest.mark.parametrize("sample", [32_768, 100])
def test_a_table_is_surveyed_and_encoded_the_same_in_every_guise(
    folder: Path, sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents_module, "SAMPLE_ROWS", sample)
    guises = write_guises(mixed_table())
    expected = surveyed("t.csv")
    encoding = build_encoding(expected, Y, "fill")
    chunk = encoding.chunk(expected.sample)
    assert chunk.rows == min(sample, expected.rows)
    assert expected.sample_is_whole == (sample > 3000)
    for files in guises.values():
        for size in (16 << 20, 5000):
            options = ReadOptions(block_bytes=size, batch_rows=size // 50)
            found = surveyed(files, options=options, in_memory=size > 5000)
            assert found.content_hash == expected.content_hash
            assert found.columns == expected.columns
            assert (found.rows, found.without_target, found.incomplete) == (
                expected.rows,
                expected.without_target,
                expected.incomplete,
            )
            np.testing.assert_array_equal(found.sample_keys, expected.sample_keys)
            assert found.sample.columns.to_pylist() == expected.sample.columns.to_pylist()
            other = build_encoding(found, Y, "fill")
            assert repr(other) == repr(encoding)
            np.testing.assert_array_equal(other.chunk(found.sample).X, chunk.X)
            np.testing.assert_array_equal(other.chunk(found.sample).twins, chunk.twins)


def test_the_sample_is_the_rows_with_the_smallest_hashes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_guises(mixed_table())
    whole = surveyed("t.csv")
    order = rehash(whole.sample_keys, SAMPLE_SALT)
    assert (np.diff(order.astype(object)) >= 0).all()
    monkeypatch.setattr(contents_module, "SAMPLE_ROWS", 50)
    few = surveyed("t.csv", options=ReadOptions(block_bytes=3000))
    np.testing.assert_array_equal(few.sample_keys, whole.sample_keys[:50])


def test_the_sample_does_not_hoard_the_texts_of_other_rows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents_module, "SAMPLE_ROWS", 50)
    (folder / "t.csv").write_text("a,y\n" + "".join(f"text {i},{i}\n" for i in range(5000)))
    sample = surveyed("t.csv", options=ReadOptions(block_bytes=2000)).sample.columns.column("a")
    assert len(sample) == 50
    assert len(sample.dictionary) <= 200


def test_twins_have_one_key_and_the_content_hash_sees_every_change(folder: Path) -> None:
    text = "a,b,y\n1,x,1\n2,z,2\n1,x,3\n"
    (folder / "t.csv").write_text(text)
    found = surveyed("t.csv")
    assert len(set(found.sample_keys.tolist())) == 2
    hashes = {found.content_hash}
    for change in (
        text.replace("2,z,2", "2,z,4"),
        text.replace("x", "w"),
        text + "1,x,1\n",
        text.replace("a,b", "a,c"),
    ):
        (folder / "u.csv").write_text(change)
        hashes.add(surveyed("u.csv").content_hash)
    assert len(hashes) == 5


def test_encodings_and_surveys_can_be_sent_to_another_process(folder: Path) -> None:
    write_guises(mixed_table(200))
    found = surveyed("t.csv")
    encoding = build_encoding(found, Y, "fill")
    assert repr(pickle.loads(pickle.dumps(encoding))) == repr(encoding)
    assert pickle.loads(pickle.dumps(found)).content_hash == found.content_hash


values = st.one_of(st.none(), st.sampled_from(["red", "green", "a,b", 'q"', "l\nf", " pad ", "ü"]))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.one_of(st.none(), st.floats(-1e6, 1e6)), values, st.floats(-10, 10)), min_size=2, max_size=30
    ),
    st.randoms(use_true_random=False),
    st.integers(10, 300),
)
def test_random_tables_have_the_same_rows_by_csv_and_by_parquet(
    folder: Path, rows: list[tuple[float | None, str | None, float]], random: Any, size: int
) -> None:
    rows = [*rows, (1.0, "red", 1.0), (2.0, "green", 2.0)]
    columns = {"n": [row[0] for row in rows], "t": [row[1] for row in rows], "y": [row[2] for row in rows]}
    table = pa.table(columns, pa.schema([("n", pa.float64()), ("t", pa.string()), ("y", pa.float64())]))
    pq.write_table(table, "r.parquet")
    random.shuffle(rows)
    shuffled = pa.Table.from_pylist([dict(zip("tny", (b, a, c), strict=True)) for a, b, c in rows], table.schema)
    pa_csv.write_csv(shuffled, "r.csv")
    first, x = encoded("r.parquet")
    second, z = encoded("r.csv", options=ReadOptions(block_bytes=size, batch_rows=7))
    assert repr(first) == repr(second)
    np.testing.assert_array_equal(x.X, z.X)
    np.testing.assert_array_equal(x.twins, z.twins)


# ------------------------------------------------------------------------------------------------ golden errors


NAMES = "".join(f"name {i},{i}\n" for i in range(40))

GOLDEN: dict[str, tuple[str, Roles, str, str]] = {
    "constant target": (
        "a,y\n1,3\n2,3\n",
        Y,
        "data.csv: the target 'y' is 3 in every row: there is nothing to learn",
        "name another with --target",
    ),
    "target missing everywhere": (
        "a,y\n1,\n2,NA\n",
        Y,
        "data.csv: the target 'y' is missing in every row",
        "name another with --target",
    ),
    "infinite value": (
        "a,y\n1,1\n-inf,2\n",
        Y,
        "data.csv, line 3: '-inf' in column 'a' is infinite",
        "correct the file, or type --null=-inf if that means a missing value",
    ),
    "infinite values": (
        "a,y\n1,1\n" + "1,inf\n2,-inf\n" * 4,
        Y,
        "data.csv: 8 cells of column 'y' are infinite\n"
        "  line 3: 'inf'\n  line 4: '-inf'\n  line 5: 'inf'\n  line 6: '-inf'\n  line 7: 'inf'\n  and 3 more",
        "correct the file, or type --null=inf --null=-inf if that means a missing value",
    ),
    "nothing but an identifier": (
        "the name,y\n" + NAMES,
        Y,
        "data.csv: no input column is left beside the target 'y'",
        "'the name': 40 different texts in 40 rows look like identifiers or free text; "
        "--categorical 'the name' uses it anyway",
    ),
    "no inputs": (
        "y\n1\n2\n",
        Y,
        "data.csv: no input column is left beside the target 'y'",
        "check --inputs and --drop, and that the file has other columns with values",
    ),
}


def complaint(action: Callable[[], object]) -> tuple[str, str | None]:
    with pytest.raises(UserError) as caught:
        action()
    assert caught.value.exit_code is Exit.DATA
    return caught.value.problem, caught.value.hint


@pytest.mark.parametrize("name", GOLDEN)
def test_a_table_that_cannot_be_fitted_says_why_and_what_to_type(folder: Path, name: str) -> None:
    content, roles, problem, hint = GOLDEN[name]
    (folder / "data.csv").write_text(content)
    assert complaint(lambda: encoded("data.csv", roles)) == (problem, hint)


def test_an_identifier_is_left_out_with_a_note_and_the_option_that_keeps_it(folder: Path) -> None:
    (folder / "data.csv").write_text("name,b,y\n" + "".join(f"name {i},{i},{i}\n" for i in range(40)))
    encoding, _ = encoded("data.csv")
    why = "40 different texts in 40 rows look like identifiers or free text; --categorical name uses it anyway"
    assert [column.name for column in encoding.columns] == ["b"]
    assert [(one.name, one.why) for one in encoding.left_out] == [("name", why)]
    assert encoding.notes == (f"column 'name' left out: {why}",)
    assert Encoding.from_document(encoding.to_document()) == encoding


def test_rows_that_differ_in_an_identifier_only_are_twins(folder: Path) -> None:
    (folder / "data.csv").write_text("id,b,y\n" + "".join(f"r{i},{i % 5},{i}\n" for i in range(40)))
    _, chunk = encoded("data.csv")
    assert len(np.unique(chunk.twins)) == 5


def test_a_text_may_have_any_number_of_levels_and_categorical_is_up_to_a_bound(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "data.csv").write_text("a,y\n" + "".join(f"l{i // 3},{i}\n" for i in range(3000)))
    assert len(encoded("data.csv")[0].columns[0].levels or ()) == 1000
    (folder / "data.csv").write_text("a,y\n" + "".join(f"l{i},{i}\n" for i in range(2001)))
    roles = Roles(target="y", categorical=("a",))
    assert len(encoded("data.csv", roles)[0].columns[0].levels or ()) == 2001
    for module in (cells_module, facts_module, screening):
        monkeypatch.setattr(module, "MOST_LEVELS", 2000)
    assert complaint(lambda: encoded("data.csv", roles)) == (
        "data.csv: column 'a' has more than 2,000 levels",
        "leave it out: --drop a",
    )


# ------------------------------------------------------------------------------------------------ predict


@pytest.fixture
def model(folder: Path) -> Encoding:
    (folder / "fit.csv").write_text("age,sex,flag,y\n30,M,true,1\n,F,false,2\n50,M,true,3\n")
    return encoded("fit.csv")[0]


def test_columns_to_predict_are_found_by_name_and_others_are_ignored(folder: Path, model: Encoding) -> None:
    (folder / "new.csv").write_bytes(b"junk,sex,age,flag\n\xff,F,31,1\nx,M,,0\n")
    _, (chunk,), unseen = predicted("new.csv", model)
    np.testing.assert_array_equal(chunk.X, [[31, 1, 0], [np.nan, 0, 1]])
    assert np.isnan(chunk.y).all()
    assert unseen == Unseen({}, {}, {"age": 1})


def test_an_unseen_level_is_no_level_with_a_count_and_an_error_if_strict(folder: Path, model: Encoding) -> None:
    (folder / "new.csv").write_text("age,sex,flag\n31,X,true\n32,M,true\n33,X,true\n34,Y,true\n")
    _, (chunk,), unseen = predicted("new.csv", model)
    assert chunk.X[:, 2].tolist() == [UNSEEN, 1, UNSEEN, UNSEEN]
    assert unseen.notes() == ("column 'sex': 3 cells have a level unseen at fit, such as 'X' and 'Y'",)
    assert complaint(lambda: predicted("new.csv", model, strict=True)) == (
        "new.csv: column 'sex' has levels unseen at fit (--strict)\n  line 2: 'X'\n  line 4: 'X'\n  line 5: 'Y'",
        "the levels seen at fit are F, M",
    )
    pq.write_table(pa_csv.read_csv("new.csv"), "new.parquet")
    assert complaint(lambda: predicted("new.parquet", model, strict=True))[0] == (
        "new.parquet: column 'sex' has levels unseen at fit (--strict)\n  row 1: 'X'\n  row 3: 'X'\n  row 4: 'Y'"
    )


def test_a_column_that_the_model_needs_is_missed_by_name(folder: Path, model: Encoding) -> None:
    (folder / "new.csv").write_text("Age,flag\n31,true\n")
    assert complaint(lambda: predicted("new.csv", model)) == (
        "new.csv: 2 columns that the model needs are not there: 'age', 'sex'",
        "did you mean 'Age'?",
    )
    (folder / "new.csv").write_text("age,flag\n31,true\n")
    assert complaint(lambda: predicted("new.csv", model)) == (
        "new.csv: a column that the model needs is not there: 'sex'",
        "its columns are age, flag",
    )


@pytest.mark.parametrize("through_pipe", [False, True])
def test_text_where_the_model_has_numbers_names_line_and_value(
    folder: Path, model: Encoding, through_pipe: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "age,sex,flag\n" + '31,"M\nM",true\n' * 100 + "old,M,true\n"
    (folder / "new.csv").write_text(text)
    name = "new.csv"
    if through_pipe:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        name = "-"
    assert complaint(lambda: predicted(name, model, ReadOptions(block_bytes=64))) == (
        f"{'stdin' if through_pipe else 'new.csv'}, line 202: 'old' in column 'age' is not a number",
        "correct the file, or type --null old if that means a missing value",
    )


def test_missing_cells_are_refused_at_predict_by_a_model_that_was_told_to(folder: Path) -> None:
    (folder / "fit.csv").write_text("a,c,y\n1,x,1\n2,z,2\n")
    strict, _ = encoded("fit.csv", missing="error")
    (folder / "new.csv").write_text("a,c\n1,x\n1,\n")
    assert complaint(lambda: predicted("new.csv", strict)) == (
        "new.csv: column 'c' has missing cells, which this model refuses\n  line 3: ''",
        "fill them, or fit again with --missing fill",
    )


def test_a_target_that_is_no_number_does_not_stop_a_prediction(folder: Path, model: Encoding) -> None:
    (folder / "new.csv").write_text("age,sex,flag,y\n31,M,true,TBD\n31,M,true,2.5\n")
    _, (chunk,), _ = predicted("new.csv", model, with_target=True)
    np.testing.assert_array_equal(chunk.y, [np.nan, 2.5])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), values, st.text('ab"\n\r, ü;', max_size=6)), max_size=25),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.integers(8, 200),
)
def test_rows_to_predict_keep_their_order_their_bytes_and_their_identifiers(
    folder: Path, model: Encoding, rows: list[tuple[float, str | None, str]], end: str, last: bool, size: int
) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    lines = [f"{age!r},{quoted(sex or '')},true,{quoted(name)}" for age, sex, name in rows]
    text = end.join(["age,sex,flag,id", *lines]) + (end if last else "")
    (folder / "new.csv").write_bytes(text.encode())
    options = ReadOptions(block_bytes=size, batch_rows=3)
    batches, chunks, _ = predicted("new.csv", model, options, keep=("id", "age"), raw=True)
    assert [x for chunk in chunks for x in chunk.X[:, 0].tolist()] == [age for age, _, _ in rows]
    assert [name for batch in batches for name in batch.ids.column(0).to_pylist()] == [name for _, _, name in rows]
    assert [age for batch in batches for age in batch.ids.column(1).to_pylist()] == [repr(age) for age, _, _ in rows]
    raw = [batch.raw for batch in batches if batch.raw is not None]
    assert [record.decode() for part in raw for record in part.records.to_pylist()] == lines
    ends = [ending.decode() for part in raw for ending in part.ends.to_pylist()]
    assert ends == [end] * (len(rows) - 1) + [end if last else ""] * bool(rows)


def test_append_needs_files_with_the_same_order_of_columns(folder: Path, model: Encoding) -> None:
    (folder / "1.csv").write_text("age,sex,flag\n1,M,true\n")
    (folder / "2.csv").write_text("sex,age,flag\nM,1,true\n")
    with pytest.raises(UsageError, match="same order"):
        open_for_predict(["1.csv", "2.csv"], ReadOptions(), model, raw=True)
    assert len(predicted(["1.csv", "2.csv"], model)[1]) == 2


def test_a_pipe_is_predicted_as_it_comes_without_being_kept(
    folder: Path, model: Encoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless:
        """A pipe that never ends: whoever keeps all of it never comes back."""

        def __init__(self) -> None:
            self.buffer = self
            self._left = b"age,sex,flag\n"

        def read(self, size: int = -1, /) -> bytes:
            assert size > 0
            text = self._left + b"31,M,true\n" * (size // 10 + 1)
            self._left = text[size:]
            return text[:size]

    monkeypatch.setattr(sys, "stdin", Endless())
    pieces = iter(open_for_predict(["-"], ReadOptions(block_bytes=1000), model))
    for _ in range(3):
        for batch in next(pieces):
            assert batch.columns.column("age").to_pylist()[:2] == [31.0, 31.0]


@pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet"])
def test_a_compressed_pipe_is_predicted_too(
    folder: Path, model: Encoding, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"age": [31.0, 32.0], "sex": ["M", None], "flag": [True, False], "id": ["a,b", "c"]})
    pa_csv.write_csv(table, "t.csv")
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    pq.write_table(table, "t.parquet")
    with open(name, "rb") as stdin:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
        (batch,), (chunk,), unseen = predicted("-", model, keep=("id",), raw=True)
    np.testing.assert_array_equal(chunk.X, [[31, 1, 1], [32, 0, np.nan]])
    assert unseen.missing == {"sex": 1}
    assert batch.ids.column(0).to_pylist() == ["a,b", "c"]
    assert batch.raw is not None
    assert batch.raw.records.to_pylist()[1].replace(b'"', b"") == b"32,,false,c"
