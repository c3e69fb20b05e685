"""Lists and patterns of columns in options; a column whose own name holds a comma or a star is still one column."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.names import in_full, meant
from enrelm_cli.settings import Roles
from tests.cli_runner import run, succeed

NAMES = ("id", "tmp_a", "tmp_b", "zone", "a,b", "x*", "x1", "x2", "y")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["id"], ["id"]),
        (["id,zone"], ["id", "zone"]),
        (["id, zone"], ["id", "zone"]),
        (["id,,zone,"], ["id", "zone"]),
        (["tmp_*"], ["tmp_a", "tmp_b"]),
        (["tmp_*,id", "tmp_a"], ["tmp_a", "tmp_b", "id"]),
        (["x?"], ["x*", "x1", "x2"]),
        (["x[12]"], ["x1", "x2"]),
        (["x*"], ["x*"]),
        (["a,b"], ["a,b"]),
        (["id,a,b,zone"], ["id", "a,b", "zone"]),
        (["a,c"], ["a", "c"]),
        (["q*"], ["q*"]),
        ([","], [","]),
    ],
)
def test_a_text_means_a_column_a_list_or_a_pattern(texts: list[str], expected: list[str]) -> None:
    assert list(meant(texts, NAMES)) == expected


@settings(deadline=None)
@given(st.lists(st.text("a,*? []b", min_size=1), min_size=1, unique=True))
def test_every_column_can_be_named_whatever_it_is_called(names: list[str]) -> None:
    assert [in_full(name, names) for name in names] == [[name] for name in names]
    assert [meant([name], names) for name in names] == [(name,) for name in names]


def test_a_pattern_takes_no_column_that_another_option_names_in_full() -> None:
    roles = Roles(target="y", inputs=("*",), drop=("tmp_*", "id"), categorical=("zone",), numeric=("*",)).resolved(
        NAMES
    )
    assert roles.inputs == ("zone", "a,b", "x*", "x1", "x2")
    assert roles.drop == ("tmp_a", "tmp_b", "id")
    assert "zone" not in roles.numeric
    roles.check(NAMES, "t.csv")
    assert Roles(target="y", drop=("*",)).resolved(NAMES).drop == NAMES[:-1]


def test_a_pattern_without_a_match_and_a_part_that_is_no_column_are_errors() -> None:
    for drop, problem in ((("q_*",), "no column matches 'q_*'"), (("id,zoen",), "there is no column 'zoen'")):
        with pytest.raises(DataError, match="--drop") as caught:
            Roles(target="y", drop=drop).resolved(NAMES).check(NAMES, "t.csv")
        assert problem in caught.value.problem.replace("\\", "")
    assert "did you mean 'zone'" in str(caught.value.hint)
    with pytest.raises(UsageError, match="'id' is named in both"):
        Roles(target="y", drop=("id,zone",), inputs=("id",)).resolved(NAMES).check(NAMES, "t.csv")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [f"{i},{i % 7},{i * i % 11},{i % 3},{i % 5},{i % 7 + i % 3}" for i in range(60)]
    path = tmp_path / "t.csv"
    path.write_text('id,tmp_a,tmp_b,"a,b",x*,y\n' + "\n".join(rows) + "\n")
    return path


def test_lists_make_the_model_that_repeated_options_make(table: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "1.joblib", tmp_path / "2.joblib"
    line = ("fit", table, "-t", "y", "--variant", "approximate", "-q", "-o")
    succeed(*line, one, "--drop", "tmp_*,id", "--categorical", "a,b,x*")
    full = [word for name in ("tmp_a", "tmp_b", "id") for word in ("--drop", name)]
    succeed(*line, two, *full, "--categorical", "x*", "--categorical", "a,b")
    assert one.read_bytes() == two.read_bytes()
    out = succeed("predict", one, table, "--id", "id,tmp_*").stdout.splitlines()
    assert out[0] == "id,tmp_a,tmp_b,prediction"
    assert succeed("predict", one, table, "--id", "x*", "--id", "a,b").stdout.startswith('x*,"a,b",prediction\n')
    assert run("predict", one, table, "--id", "q*").code == 3


def test_check_takes_lists_too(table: Path) -> None:
    columns = succeed("check", table, "-t", "y", "--drop", "tmp_*,id", "--format", "json").json["columns"]
    assert {one["name"] for one in columns if one["inputs"]} == {"a,b", "x*"}
    done = run("check", table, "-t", "y", "--drop", "tpm_*")
    assert (done.code, "no column matches 'tpm_*'" in done.stdout) == (3, True)
