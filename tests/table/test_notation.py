"""Numbers and dates that are not plainly written, and what a whole column is."""

from __future__ import annotations

import gzip
import os
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.settings import ReadOptions, Roles
from enrelm_cli.table.kinds import Kind
from enrelm_cli.table.load import load
from enrelm_cli.table.notation import (
    DATES,
    DateNotation,
    DurationNotation,
    MeasureNotation,
    Notation,
    NumberNotation,
    PowerNotation,
    given_date,
    notation_from_document,
)
from enrelm_cli.table.options import ReadAs, read_as
from enrelm_cli.table.table import Table, open_table


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded(name: str, options: ReadOptions | None = None, in_memory: bool = True, **roles: Any) -> Table:
    said = Roles(**roles)
    return load(open_table([name], options or ReadOptions(), said), said, LocalEngine(threads=1), in_memory)


def column(cells: list[str], options: ReadOptions | None = None, **roles: Any) -> tuple[Kind, list[Any], str]:
    """(kind, values, note) of a column with these cells."""
    Path("t.csv").write_text("c|z\n" + "".join(f"{cell}|1\n" for cell in cells), encoding="utf-8")
    table = loaded("t.csv", options, **roles)
    values = [value for piece in table.pieces for batch in piece for value in batch.columns.column("c").to_pylist()]
    return table.kinds["c"], values, " ".join(table.notes)


# ------------------------------------------------------------------------------------------------ notations


@given(st.integers(-(10**12), 10**12), st.integers(0, 99), st.sampled_from(["", "%", "$", "€"]), st.booleans())
def test_a_number_is_read_however_it_is_written(whole: int, cents: int, unit: str, comma: bool) -> None:
    text = f"{unit}{abs(whole):,}.{cents:02d}"
    if comma:
        text = text.replace(",", " ").replace(".", ",")
    text = ("-" if whole < 0 else "") + text
    (value,) = NumberNotation("," if comma else ".").read(pa.array([f" {text} "])).to_pylist()
    assert value == float(f"{'-' if whole < 0 else ''}{abs(whole)}.{cents:02d}")


@pytest.mark.parametrize(
    "text", ["", "1,23", "1.2.3", "12,3456", "1,234,56", "--5", "1e", "$", "$5%x", "5 apples", "1_000", "0x1f"]
)
def test_what_is_no_number_is_not_read(text: str) -> None:
    assert NumberNotation(".").read(pa.array([text])).to_pylist() == [None]


@pytest.mark.parametrize(
    ("notation", "text", "value"),
    [
        (PowerNotation(), "€1.2M", 1.2e6),
        (PowerNotation(","), "-$3,5k", -3500.0),
        (PowerNotation(), "12 bn", 12e9),
        (PowerNotation(), "850", 850.0),
        (PowerNotation(), "1.2X", None),
        (DurationNotation(), "1:02:33.5", 3753.5),
        (DurationNotation(), "2h 50m", 10200.0),
        (DurationNotation(), "3 days, 4 hours", 273600.0),
        (DurationNotation(minutes=True), "59:30", 3570.0),
        (DurationNotation(), "1:75", None),
        (DurationNotation(), "", None),
        (DurationNotation(), "h", None),
        (MeasureNotation(unit="kg"), "1,234.5 KG", 1234.5),
        (MeasureNotation(unit="kg"), "12 lb", None),
        (MeasureNotation(unit="kg"), "12", None),
        (MeasureNotation(",", "km/h"), "-1,5 km/h", -1.5),
    ],
)
def test_a_number_with_words_is_read_in_full_or_not_at_all(notation: Notation, text: str, value: float | None) -> None:
    assert notation.read(pa.array([text, None])).to_pylist() == [value, None]
    assert notation.looks(text) is (value is not None)
    assert notation_from_document(notation.to_document()) == notation


def test_one_column_has_one_unit_of_time(folder: Path) -> None:
    def read(cells: list[str]) -> list[float]:
        values: list[float] = column(cells)[1]
        return values

    assert read(["59:30", "1:02:33", "0:40"]) == [3570.0, 3753.0, 40.0]
    assert read(["9:30", "14:05:59"]) == [34200.0, 50759.0]
    assert read(["5 m", "12 m"]) == [5.0, 12.0]
    assert read(["5 m", "2h 12m"]) == [300.0, 7920.0]
    assert read(["0,125", "2,500", "1"]) == [0.125, 2.5, 1.0]
    assert read(["1,00,000", "12,34,567.5"]) == [100000.0, 1234567.5]


def test_spans_with_decimals_are_spans_whichever_come_first(folder: Path) -> None:
    whole, parts = [f"{i}h 5m" for i in range(90)], [f"{i}.5h" for i in range(60)]
    for cells in (whole + parts, parts + whole):
        kind, values, _ = column(cells)
        assert kind is Kind.NUMBER
        assert values[cells.index("2.5h")] == 9000.0


def test_a_unit_that_no_model_file_may_have_is_refused() -> None:
    for document in (
        {"decimal": ".", "unit": ""},
        {"decimal": ".", "unit": "x" * 25},
        {"power": "x"},
        {"decimal": "x"},
    ):
        with pytest.raises(ValueError, match=r"no (unit|way)"):
            notation_from_document(document)


@given(
    st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)),
    st.sampled_from([notation for notation in DATES if not notation.zoned and "%Y" in notation.pattern]),
    st.sampled_from(["", "T%H:%M:%S", " %H:%M", " %I:%M:%S %p"]),
)
def test_every_date_from_year_1_to_9999_is_read(moment: datetime, notation: DateNotation, time: str) -> None:
    # strftime writes the year 1 as '1' on some platforms.
    text = moment.strftime(notation.pattern.replace("%Y", f"{moment.year:04d}") + time)
    expected = moment.replace(microsecond=0, second=moment.second if "%S" in time else 0)
    if not time:
        expected = expected.replace(hour=0, minute=0)
    if "%d" not in notation.pattern:
        expected = expected.replace(day=1)
    (micro,) = notation.read(pa.array([text])).cast(pa.int64()).to_pylist()
    assert datetime(1970, 1, 1) + timedelta(microseconds=micro) == expected


@pytest.mark.parametrize("text", ["31/02/2014", "0/1/2014", "1/13/2014", "1/1/0000", "1/1/2014 24:00", "1/1/2014 9:60"])
def test_a_date_that_is_not_in_the_calendar_is_not_read(text: str) -> None:
    assert DateNotation("%d/%m/%Y").read(pa.array([text])).to_pylist() == [None]


def test_a_time_zone_counts() -> None:
    texts = pa.array(["13.10.2014 10:00 +02:00", "13.10.2014 08:00Z", "13.10.2014 03:00-0500", "13.10.2014"])
    moments = DateNotation("%d.%m.%Y", zoned=True).read(texts).cast(pa.int64()).to_pylist()
    assert moments == [1413187200000000] * 3 + [None]


@pytest.mark.parametrize("text", ["c=%Q", "c=%d", "c=", "=%d/%m/%Y", "c=%d/%d/%Y", "nonsense", "c=%Y-%m-%d %"])
def test_a_date_format_that_is_none_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        read_as(ReadOptions(date_formats=(text,)))


def test_a_date_format_is_in_the_directives_of_strptime() -> None:
    assert given_date("%e. %B %Y, %R").read(pa.array(["3. October 2014, 9:05"])).to_pylist() == [
        datetime(2014, 10, 3, 9, 5)
    ]


# ------------------------------------------------------------------------------------------------ columns

PLAIN = [str(i) for i in range(60)]
COLUMNS: dict[str, tuple[list[str], Kind, str]] = {
    "currency": (["$1,234", "$56.50", "-$7"], Kind.NUMBER, "read as numbers like '$56.50'"),
    "percent": (["12 %", "3 %"], Kind.NUMBER, "read as numbers like '12 %'"),
    "decimal commas": (["1 234,5", "0,25"], Kind.NUMBER, "'1 234,5'"),
    "points between thousands": (["1.234.567", "12", "1.234,5"], Kind.NUMBER, ""),
    "a few words": (
        [*PLAIN, "unknown", "tbd", "unknown"],
        Kind.NUMBER,
        "3 other cells count as missing",
    ),
    "mostly words for nothing": (["unknown"] * 9 + ["1"], Kind.NUMBER, "9 other cells count"),
    "a stray text": ([*PLAIN, "oops"], Kind.NUMBER, "('oops' 1)"),
    "many stray texts": ([*PLAIN, *[f"x{i}" for i in range(30)]], Kind.TEXT, ""),
    "levels, a few of them digits": (["0"] * 99 + ["low"], Kind.TEXT, ""),
    "null texts": ([*PLAIN, "n/a", "N/A", "none", "-", "#N/A"], Kind.NUMBER, ""),
    "texts": (["red", "NA", "none"], Kind.TEXT, ""),
    "days first": (["13/10/2014", "1/2/2014"], Kind.DATE, "read as dates like %d/%m/%Y; --cat"),
    "months first": (["10/13/2014", "1/2/2014 9:30 PM"], Kind.DATE, "read as dates like %m/%d/%Y; --cat"),
    "which first?": (["1/2/2014", "3/4/2014"], Kind.DATE, "type --date-format c=%m/%d/%Y"),
    "dotted": (["13.10.2014", "1.2.2014"], Kind.DATE, "%d.%m.%Y"),
    "compact": (["20141013T000000", "20150101T120000"], Kind.DATE, "%Y%m%d"),
    "nanoseconds": (["2014-10-13T10:00:00.123456789"], Kind.DATE, ""),
    "the last moment": (["9999-12-31T23:59:59.999999", "0001-01-01"], Kind.DATE, ""),
    "dates and a word": (["13/10/2014", "unknown"], Kind.DATE, "1 other cell counts"),
    "zoned": (["13/10/2014 10:00Z", "14/10/2014 10:00+02:00"], Kind.ZONED, ""),
    "one unit": (["19.7 kmpl", "1,248 KMPL", "8kmpl"], Kind.NUMBER, "read as numbers like '1,248 KMPL'"),
    "singular and plural": (["1 day", "12 days"], Kind.NUMBER, "'12 days'"),
    "at least so many": (["10,000+", "5+"], Kind.NUMBER, "'10,000+'"),
    "powers of ten": (["850", "1.2K", "$3.4M", "-2bn"], Kind.NUMBER, "'$3.4M'"),
    "spans of time": (["2h 50m", "19h", "5m"], Kind.NUMBER, "read as seconds from times like '2h 50m'"),
    "one unit of time": (["5 m", "12 m"], Kind.NUMBER, "read as numbers like '12 m'"),
    "a race": (["59:30", "1:02:33"], Kind.NUMBER, "read as seconds from times like '1:02:33'"),
    "times of the day": (["9:30", "14:05:59"], Kind.NUMBER, "'14:05:59'"),
    "a text of its own": (
        [*[f"{i}M" for i in range(60)], *["Varies with device"] * 20],
        Kind.NUMBER,
        "20 other cells count",
    ),
    "two texts of their own, too many": ([*PLAIN, *["low"] * 40, *["high"] * 40], Kind.TEXT, ""),
    "two units": (["12 kg", "12 lb"], Kind.TEXT, ""),
    "house numbers": (["12A", "12B", "7"], Kind.TEXT, ""),
    "two units, one with a point": ([*[f"{i}KB" for i in range(30)], "1.5MB"], Kind.TEXT, ""),
    "two currencies, one with a point": ([*[f"${i}" for i in range(30)], "€1.5"], Kind.TEXT, ""),
    "lakhs": (["1,00,000", "12,34,567.5", "50,000"], Kind.NUMBER, "'12,34,567.5'; --cat"),
    "a decimal comma after a zero": (["0,125", "2,500", "1"], Kind.NUMBER, "'2,500'; --cat"),
    "which mark?": (["€1.200", "€950"], Kind.NUMBER, "for the other reading type --decimal ,"),
    "thin spaces": ([f"{i}\u00a0kg" for i in range(30)], Kind.NUMBER, "kg"),
    "two currencies": (["$5", "€5"], Kind.TEXT, ""),
    "codes": (["A11", "1Fam", "2Story"], Kind.TEXT, ""),
    "versions": (["1.2.3", "1.10.2"], Kind.TEXT, ""),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_what_all_of_its_cells_are(folder: Path, name: str) -> None:
    cells, kind, note = COLUMNS[name]
    found, _, notes = column(cells)
    assert found is kind
    assert note in notes
    assert kind is not Kind.TEXT or not notes


@pytest.mark.parametrize("name", COLUMNS)
def test_what_a_column_is_depends_on_no_order_block_or_format(folder: Path, name: str) -> None:
    cells, kind, _ = COLUMNS[name]
    _, values, notes = column(cells)
    shuffled = list(zip(cells, values, strict=True))
    random.Random(1).shuffle(shuffled)
    again, expected = [cell for cell, _ in shuffled], [value for _, value in shuffled]
    text = "c|z\n" + "".join(f"{cell}|1\n" for cell in again)
    (folder / "t.csv").write_text(text, encoding="utf-8")
    (folder / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    pq.write_table(pa.table({"c": again, "z": [1] * len(again)}), "t.parquet", row_group_size=2)
    for file in ("t.csv", "t.csv.gz", "t.parquet"):
        for in_memory, size in ((True, 8), (False, 8), (True, 40)):
            table = loaded(file, ReadOptions(block_bytes=size, batch_rows=2), in_memory)
            batches = [batch for piece in table.pieces for batch in piece]
            assert table.kinds["c"] is kind
            assert [v for batch in batches for v in batch.columns.column("c").to_pylist()] == expected
            assert " ".join(table.notes) == notes or (file == "t.parquet" and not notes)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(
            ["1", "2,5", "$3", "4 kg", "2K", "1:30", "4/5/2014", "14/5/2014", "unknown", "x", "", "NA", " 7 "]
        ),
        min_size=1,
    ),
    st.integers(1, 60),
)
def test_blocks_never_change_a_decision(folder: Path, cells: list[str], size: int) -> None:
    whole = column(cells)
    assert column(cells, ReadOptions(block_bytes=size, batch_rows=3)) == whole


def test_a_column_that_the_user_calls_categorical_stays_one(folder: Path) -> None:
    kind, values, notes = column(["$1", "$2", "$1"], categorical=("c",))
    assert (kind, values, notes) == (Kind.TEXT, ["$1", "$2", "$1"], "")


def test_a_typo_in_a_column_that_the_user_calls_numeric_is_an_error(folder: Path) -> None:
    with pytest.raises(DataError, match=r"line 62: 'oops' in column 'c' is not a number"):
        column([*PLAIN, "oops"], numeric=("c",))
    with pytest.raises(DataError, match="'oops'"):
        column([*PLAIN, "oops"], target="c", task="regression")
    assert column([*PLAIN, "unknown"], target="c")[0] is Kind.NUMBER


def test_few_measures_are_classes_of_a_target_and_many_are_numbers(folder: Path) -> None:
    assert column(["4 stars", "5 stars", "5 stars"], target="c")[0] is Kind.TEXT
    assert column([f"{i} kg" for i in range(30)], target="c")[0] is Kind.NUMBER


def test_a_date_format_settles_what_is_ambiguous(folder: Path) -> None:
    options = ReadOptions(date_formats=("c=%m/%d/%Y",))
    assert column(["1/2/2014"], options)[1] == [datetime(2014, 1, 2)]
    with pytest.raises(DataError, match="'13/2/2014' in column 'c' is not a date like %m/%d/%Y"):
        column(["1/2/2014", "13/2/2014"], options)
    with pytest.raises(DataError, match="there is no column 'd'"):
        column(["1"], ReadOptions(date_formats=("d=%Y-%m-%d",)))


def test_null_adds_and_only_null_replaces(folder: Path) -> None:
    adds = ReadOptions(nulls=("-9",))
    assert column(["1", "-9", "n/a"], adds)[1] == [1.0, None, None]
    assert column(["x", "-9", "NA"], adds)[1] == ["x", None, "NA"]
    replaces = ReadOptions(only_nulls=("-9",))
    assert column(["x", "-9", "NA"], replaces)[1] == ["x", None, "NA"]
    assert column(["1", "-", "-9", *PLAIN], replaces)[2] != ""
    with pytest.raises(UsageError, match="--only-null"):
        ReadOptions(nulls=("a",), only_nulls=("b",))


@given(
    st.sampled_from([None, "tab", ";"]),
    st.sampled_from(["utf-8", "latin-1"]),
    st.lists(st.text(max_size=3), max_size=3),
    st.booleans(),
)
def test_read_options_survive_their_document(
    delimiter: str | None, encoding: str, nulls: list[str], only: bool
) -> None:
    texts = tuple(nulls)
    said = ReadOptions(delimiter, None, encoding, () if only else texts, texts if only else (), ("c=%d/%m/%y",))
    options = read_as(said)
    assert ReadAs.from_document(options.to_document()) == options


# ------------------------------------------------------------------------------------------------ real tables

DATE_COLUMNS = {"kc_house": "date", "seoul_bike": "Date", "hotel_rates": "arrival_date"}
TEXT_COLUMNS = {
    "ames": 43, "german_credit": 14, "hitters": 3, "hotel_rates": 9, "insurance": 3, "life_expectancy": 2,
    "seoul_bike": 3, "student_mat_hard": 17, "titanic": 5,
}  # fmt: skip


def shared_tables() -> list[Path]:
    return sorted(Path(os.environ.get("ENRELM_TABLES", "/nowhere")).glob("*.csv"))


@pytest.mark.skipif(not shared_tables(), reason="ENRELM_TABLES names no folder of tables")
@pytest.mark.parametrize("path", shared_tables(), ids=lambda path: path.stem)
def test_the_columns_of_real_tables_are_what_people_would_say(path: Path) -> None:
    kinds = loaded(str(path)).kinds
    dates = [name for name, kind in kinds.items() if kind is Kind.DATE]
    assert dates == ([DATE_COLUMNS[path.stem]] if path.stem in DATE_COLUMNS else [])
    assert sum(kind is Kind.TEXT for kind in kinds.values()) == TEXT_COLUMNS.get(path.stem, 0)
