"""Run files and variables: every option, checked; the line wins over a variable, and that over the file."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enrelm_cli.cli.config.reading import defaults
from enrelm_cli.cli.config.writing import run_file
from enrelm_cli.cli.program import COMMANDS, KnownOptions, options_of
from tests.cli_runner import Outcome, run, succeed

OF_FIT = ("--variant", "approximate", "-q")
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)))  # what a command line can hold


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "t.csv"
    lines = [f"i{i},{i % 7},{'?!' if i == 9 else i * i % 11},{'abc'[i % 3]},{i % 5},{i % 7 + i % 3}" for i in range(80)]
    path.write_text("id,a,b,c,g,y\n" + "\n".join(lines) + "\n")
    return path


def fitted(*words: object) -> Any:
    return succeed("fit", *words, "--format", "json").json


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# ------------------------------------------------------------------------------------------------ what wins


def test_the_line_wins_over_a_variable_and_that_over_the_file(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(
        tmp_path / "run.toml",
        f'seed = 5\ntarget = "y"\n[fit]\ndata = [{json.dumps(str(table))}]\nvariant = "approximate"\n'
        'drop = ["id", "g"]\nseed = 6\nvalidation-size = 0.5\nrefit = false\n[predict]\ninterval = 0.5\n',
    )
    of_file = fitted("--config", file)
    assert (of_file["settings"]["split"]["seed"], of_file["settings"]["split"]["validation_size"]) == (6, 0.5)
    assert (of_file["refit"], of_file["data"]["columns"]) == (False, 3)
    monkeypatch.setenv("ENRELM_SEED", "7")
    monkeypatch.setenv("ENRELM_REFIT", "1")
    monkeypatch.setenv("ENRELM_DROP", "id\nc,g")
    of_variable = fitted("--config", file)
    assert (of_variable["settings"]["split"]["seed"], of_variable["refit"]) == (7, True)
    assert of_variable["data"]["columns"] == 2
    of_line = fitted("--config", file, "--seed", "8", "--no-refit")
    assert (of_line["settings"]["split"]["seed"], of_line["refit"]) == (8, False)
    monkeypatch.setenv("ENRELM_CONFIG", str(file))
    assert fitted()["settings"]["split"]["validation_size"] == 0.5


def test_the_next_command_of_a_report_names_what_the_file_said(table: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "run.toml", 'target = "y"\ndrop = "id"\n[curve]\nvariant = "approximate"\n')
    line = succeed("curve", table, "--config", file, "--format", "json").json["fit_command"]
    assert "--target y" in line
    assert "--drop id" in line
    assert "--config" not in line


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ('tagret = "y"', "no command has an option 'tagret'", "target"),
        ("[fti]", "there is no command for [fti]", "did you mean fit?"),
        ('[fit]\ntraget = "y"', "[fit] has no option 'traget'", "did you mean target?"),
        ("[predict]\nneurons = 3", "[predict] has no option 'neurons'", ""),
        ("[predict]\ninterval = 'x'", "[predict] interval: --interval 'x' is not a number", ""),
        ('[fit]\ntune = "yes"', "[fit] tune = 'yes' is neither true nor false", ""),
        ("[fit]\nneurons = true", "[fit] neurons = true is neither text nor a number", ""),
        ("[fit]\nneurons = -1", "[fit] neurons: --neurons -1 must be at least 1", ""),
        ("[fit]\nseed = 1979-05-27", "is neither text nor a number", ""),
        ('[fit]\nvariant = "kernle"', "--variant 'kernle' is not one of", "did you mean --variant kernel?"),
        ('time = ["a"]', "time is a list", ""),
        ("drop = [1, [2]]", "is neither text nor a number", ""),
        ("a =", "not TOML", "target"),
        ('config = "x"', "no command has an option 'config'", ""),
        ('target = "a"\ntarget = "b"', "not TOML", ""),
    ],
)
def test_a_wrong_file_is_a_usage_error_before_anything_is_read(
    tmp_path: Path, text: str, problem: str, hint: str
) -> None:
    done = run("fit", "absent.csv", "--config", write(tmp_path / "bad.toml", text))
    assert done.code == 2
    assert problem in done.stderr
    assert hint in done.stderr
    assert "bad.toml" in done.stderr


def test_a_file_that_is_not_there_and_bytes_that_are_no_text_are_usage_errors(tmp_path: Path) -> None:
    assert run("fit", "absent.csv", "--config", tmp_path / "no.toml").code == 2
    (tmp_path / "bytes.toml").write_bytes(b"a = '\xff'")
    assert run("fit", "absent.csv", "--config", tmp_path / "bytes.toml").code == 2


def test_variables_are_checked_and_those_that_mean_nothing_are_told(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENRELM_TUNE", "maybe")
    assert "ENRELM_TUNE='maybe' is neither true nor false" in run("fit", table).stderr
    monkeypatch.setenv("ENRELM_TUNE", "")
    monkeypatch.setenv("ENRELM_SEED", "-1")
    assert "ENRELM_SEED: --seed -1 must be between" in run("fit", table).stderr
    monkeypatch.delenv("ENRELM_SEED")
    monkeypatch.setenv("ENRELM_TRAGET", "y")
    monkeypatch.setenv("ENRELM_MODEL_LIMIT", "1G")
    done = run("fit", table)
    assert (done.code, done.stderr.count("note:")) == (2, 1)
    assert "did you mean ENRELM_TARGET?" in done.stderr


# ------------------------------------------------------------------------------------------------ enrelm config


def test_a_flag_can_be_off_wherever_options_stand(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "run.toml", "updatable = false\nverbose = true\n")
    words = ("fit", table, "-t", "y", *OF_FIT[:-1], "--config", file, "-o", tmp_path / "m.joblib")
    assert "pass 1" in succeed(*words).stderr
    assert "--updatable" not in succeed("info", tmp_path / "m.joblib", "--command").stdout
    assert "pass 1" not in succeed(*words, "--no-verbose").stderr
    monkeypatch.setenv("ENRELM_VERBOSE", "0")
    assert "pass 1" not in succeed(*words).stderr
    assert "--no-verbose" not in succeed("fit", "--help").stdout


def test_a_value_that_looks_like_help_is_a_value(table: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "run.toml", "seed = 3\n")
    assert fitted(table, "-t", "y", *OF_FIT, "--null", "-h", "--config", file)["settings"]["split"]["seed"] == 3


@pytest.mark.parametrize(
    "text",
    [
        "seed = " + "9" * 5000,
        "drop = " + "[" * 5000 + "]" * 5000,
        'output = "a\\u0000b"',
        "tune-rows = 200\ntune_rows = 300",
    ],
    ids=["digits", "nested", "zero byte", "two spellings"],
)
def test_a_file_that_python_chokes_on_is_a_usage_error(table: Path, tmp_path: Path, text: str) -> None:
    outcome = run("fit", table, "-t", "y", "--config", write(tmp_path / "run.toml", text))
    assert outcome.code == 2
    assert "run.toml: " in outcome.stderr


def test_a_byte_order_mark_is_no_part_of_a_run_file(table: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "run.toml", '\ufefftarget = "y"\n')
    assert fitted(table, *OF_FIT, "--config", file)["data"]["target"] == "y"


def test_a_run_file_has_an_end(table: Path) -> None:
    outcome = run("fit", table, "-t", "y", "--config", "/dev/zero")
    assert (outcome.code, "at most 1,048,576 bytes" in outcome.stderr) == (2, True)


def test_a_run_file_is_made_of_another_and_the_line(table: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "one.toml", 'seed = 99\n[fit]\ntarget = "y"\nvariant = "kernel"\n')
    written = succeed("config", "fit", table, "--config", file, "--variant", "incremental").stdout
    assert {"seed = 99", 'target = ["y"]', 'variant = "incremental"'} <= {*written.splitlines()}


def test_options_after_a_model_are_those_of_config(table: Path, tmp_path: Path) -> None:
    fitted(table, "-t", "y", "--validation", table, *OF_FIT, "-o", tmp_path / "m.joblib")
    done = succeed("config", tmp_path / "m.joblib", "-o", tmp_path / "again.toml")
    assert "the fit had --validation files" in done.stderr
    assert '# validation = ["FILE"]' in (tmp_path / "again.toml").read_text().splitlines()
    assert run("config", tmp_path / "m.joblib", "another.joblib").code == 2


def test_config_writes_whatever_the_environment_says_of_other_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENRELM_CONFIG", "absent.toml")
    monkeypatch.setenv("ENRELM_OUTPUT", "m.joblib")
    assert "[fit]" in succeed("config", "fit").stdout


def test_a_name_that_is_no_utf_8_stays_out_of_run_files() -> None:
    outcome = run("config", "fit", "n\udcff.csv", "-t", "y")
    assert (outcome.code, "give that name on the command line" in outcome.stderr) == (2, True)


def test_a_written_file_says_what_the_line_says(table: Path, tmp_path: Path) -> None:
    line = (table, "-t", "y", "--drop", "id", "--categorical", "g", "--null", '"?!', "--null", "?!", *OF_FIT)
    more = ("--no-tune", "--validation-size", "0.3", "--landmarks", "all", "--max-neurons", "9")
    one, two = tmp_path / "1.joblib", tmp_path / "2.joblib"
    succeed("fit", *line, *more, "-o", one)
    file = write(tmp_path / "run.toml", succeed("config", "fit", *line, *more, "-o", one).stdout)
    succeed("fit", "--config", file, "-o", two)
    assert one.read_bytes() == two.read_bytes()
    assert succeed("config", "-o", tmp_path / "again.toml", "fit", *line, *more, "-o", one).stdout == ""
    assert (tmp_path / "again.toml").read_text() == file.read_text()


def test_every_option_of_every_command_can_stand_in_a_file(tmp_path: Path) -> None:
    for name in COMMANDS:
        if name == "config":
            continue
        text = succeed("config", name).stdout if name != "config" else ""
        keys = {line.lstrip("# ").split(" =")[0] for line in text.splitlines() if " = " in line}
        assert {*options_of(name)} - {"config"} <= keys
        # A template says nothing of its own.
        assert defaults(name, KnownOptions(), str(write(tmp_path / "t.toml", text)), {}) == {}


@settings(deadline=None)
@given(TEXT, st.lists(TEXT, min_size=1), st.booleans(), st.floats(0.01, 0.99), st.integers(0, 2**32 - 1))
def test_what_is_written_reads_back(target: str, drop: list[str], tune: bool, size: float, seed: int) -> None:
    texts = [one.encode("utf-8", "replace").decode() for one in (target, *drop)]
    typed = {"target": texts[:1], "drop": texts[1:], "tune": tune, "validation_size": repr(size), "seed": str(seed)}
    path = Path(f"/tmp/enrelm-config-{hashlib.sha256(repr(typed).encode()).hexdigest()[:12]}.toml")
    path.write_bytes(run_file("fit", options_of("fit"), typed).encode())
    try:
        assert defaults("fit", KnownOptions(), str(path), {}) == typed
    finally:
        path.unlink()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("fti",), "did you mean fit?"),
        (("fit", "--taregt", "y"), "did you mean --target?"),
        (("fit", "-n", "x"), "is not a whole number"),
        (("config",), "no run file of its own"),
        (("info", "m.joblib", "extra"), "does not take 'extra'"),
        (("fit", "https://host/t.csv?X-Amz-Signature=hush"), "stays out of run files"),
        ((), "missing argument"),
    ],
)
def test_a_wrong_line_is_no_run_file(words: tuple[str, ...], problem: str) -> None:
    done = run("config", *words)
    assert (done.code, done.stdout) == (2, "")
    assert problem in done.stderr
    assert "hush" not in done.stderr


# ------------------------------------------------------------------------------------------------ info --command


def made_again(model: Path, table: Path, *more: object) -> Outcome:
    command, *comments = succeed("info", model, "--command").stdout.splitlines()
    assert all(line.startswith("# ") for line in comments)
    assert hashlib.sha256(model.read_bytes()).hexdigest() in comments[1]
    words = shlex.split(command)
    assert words[:3] == ["enrelm", "fit", "DATA"]
    again = model.with_name(f"again-{model.name}")
    assert words[-2:] == ["-o", model.name]
    done = succeed("fit", table, *words[3:-1], again, *more)
    assert again.read_bytes() == model.read_bytes()
    return done


@pytest.mark.parametrize(
    "options",
    [
        ("--drop", "id", "--categorical", "g", "--validation-size", "0.3", "--seed", "9", *OF_FIT),
        ("--null", "?!", "--group", "g", "--max-neurons", "7", "--landmarks", "all", *OF_FIT),
        ("--task", "classification", "--drop", "id", *OF_FIT),
        ("--missing", "drop", "--drop", "g", "--select", "smallest", "--no-refit", *OF_FIT),
        ("--only-null", "?!", "--time", "g", "--variant", "kernel", "--no-tune", "--depth", "2", "--no-calendar", "-q"),
        ("--only-null", "", *OF_FIT),
        ("--updatable", "--drop", "id", *OF_FIT),
    ],
)
def test_the_line_of_a_model_makes_it_again(table: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    model = tmp_path / "m.joblib"
    target = "a" if "--task" in options else "y"
    report = fitted(table, "-t", target, *options, "-o", model)
    made_again(model, table, "-q")
    told = succeed("info", model, "--command", "--format", "json").json
    assert told["data_hash"] == report["data"]["hash"]
    assert told["model_hash"] == hashlib.sha256(model.read_bytes()).hexdigest()
    file = write(tmp_path / "run.toml", succeed("config", model).stdout)
    again = tmp_path / "of_file.joblib"
    succeed("fit", table, "--config", file, "-q", "-o", again)
    assert again.read_bytes() == model.read_bytes()


def test_the_line_of_a_model_that_auto_chose_makes_it_again(table: Path, tmp_path: Path) -> None:
    fitted(table, "-t", "y", "--no-tune", "-o", tmp_path / "m.joblib")
    made_again(tmp_path / "m.joblib", table)


@pytest.mark.parametrize("format_", ["%d/%m/%Y", "%m/%d/%Y", None])
def test_the_line_of_a_model_has_the_format_of_its_dates(tmp_path: Path, format_: str | None) -> None:
    days = [(1 + i % 12, 1 + i % 11) for i in range(60)] if format_ else [(1 + i % 28, 1 + i % 12) for i in range(60)]
    rows = [f"{a:02}/{b:02}/2024,{i % 7},{a + 30 * b}" for i, (a, b) in enumerate(days)]
    table = write(tmp_path / "t.csv", "\n".join(["when,x,y", *rows, ""]))
    said = ("--date-format", f"when={format_}") if format_ else ()
    fitted(table, "-t", "y", *said, *OF_FIT, "-o", tmp_path / "m.joblib")
    made_again(tmp_path / "m.joblib", table, "-q")


def test_the_line_of_a_model_names_columns_one_by_one(tmp_path: Path) -> None:
    rows = [f"{i},{i * i % 17},{i % 5},{i * i % 17 + i}" for i in range(60)]
    table = write(tmp_path / "t.csv", "\n".join(['a,b,"a,b",y', *rows, ""]))
    fitted(table, "-t", "y", "--inputs", "a", "--inputs", "b", *OF_FIT, "-o", tmp_path / "m.joblib")
    made_again(tmp_path / "m.joblib", table, "-q")


def test_what_became_of_the_rows_of_an_updatable_model_follows_its_line(table: Path, tmp_path: Path) -> None:
    model, later = tmp_path / "m.joblib", tmp_path / "later.joblib"
    report = fitted(table, "-t", "y", "--drop", "id", "--updatable", *OF_FIT, "-o", model)
    succeed("update", model, table, "--forget", "0.9", "-o", later, "-q")
    told = succeed("info", later, "--command", "--format", "json").json
    assert told["data_hash"] == report["data"]["hash"]
    assert [change["change"] for change in told["later"]] == ["forget 0.9", "update"]
    shown = succeed("info", later, "--command").stdout
    assert "# then forget 0.9\n# then update: 80 rows, hash " in shown
    succeed("fit", table, "--like", model, "-o", later, "-q")
    assert succeed("info", later, "--command").stdout.startswith("enrelm fit DATA --like PARENT -o later.joblib\n")
