"""--log-format json: every line on stderr is JSON with time, level and message; whatever else is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enrelm_cli.cli.config.log_format import wanted_format
from tests.cli_runner import Outcome, run, succeed

AS_JSON = ("--log-format", "json")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "t.csv"
    path.write_text("a,b,y\n" + "\n".join(f"{i % 7},{i * i % 11},{i % 7 + i % 3}" for i in range(80)) + "\n")
    return path


@pytest.fixture(scope="module")
def model(table: Path) -> Path:
    path = table.with_name("m.joblib")
    succeed("fit", table, "-t", "y", "--variant", "approximate", "-q", "-o", path)
    return path


def lines_of(stderr: str) -> list[dict[str, Any]]:
    """What every line has, it has."""
    lines = [json.loads(line) for line in stderr.splitlines()]
    assert all({"time", "level", "message"} <= line.keys() and line["message"] for line in lines)
    assert {line["level"] for line in lines} <= {"log", "note", "warning", "error", "result"}
    assert all({"hint", "exit_code"} <= line.keys() for line in lines if line["level"] == "error")
    return lines


def problem_of(done: Outcome) -> tuple[str, str | None]:
    """The message and the hint of a command that says nothing else."""
    (line,) = lines_of(done.stderr)
    assert (line["level"], line["exit_code"]) == ("error", done.code)
    return line["message"], line["hint"]


# ------------------------------------------------------------------------------------------------ what lines say


def test_a_pass_says_in_words_what_its_keys_say(table: Path) -> None:
    done = succeed("fit", table, "-t", "y", "--variant", "approximate", "-v", *AS_JSON)
    passes = [line for line in lines_of(done.stderr) if "pass" in line]
    assert passes
    assert all({"number", "rows", "seconds"} <= line.keys() for line in passes)
    assert all(line["message"].startswith(f"pass {line['number']}, ") for line in passes)


def test_a_result_on_stderr_is_a_line_that_says_it_in_words(table: Path, model: Path, tmp_path: Path) -> None:
    *_, result = lines_of(succeed("predict", model, table, *AS_JSON, "-o", tmp_path / "p.csv").stderr)
    assert (result["level"], result["rows"], result["errors"]["rows"]) == ("result", 80, 80)
    assert result["message"].startswith("predicted: 80 rows; errors: normalised RMSE")
    words = ["fit", str(table), "-t", "y", "--variant", "approximate", *AS_JSON, "-o", "-"]
    done = subprocess.run([sys.executable, "-m", "enrelm_cli", *words], capture_output=True, check=True)
    *_, fitted = lines_of(done.stderr.decode())
    assert (fitted["level"], fitted["variant"]) == ("result", "approximate")
    assert fitted["message"].startswith("approximate, ")


def test_a_bug_is_one_line_with_a_hint_and_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("enrelm_cli.commands.info.info", _divide)
    message, hint = problem_of(run("info", "m.joblib", *AS_JSON))
    assert "ZeroDivisionError: m.joblib" in message
    assert hint == "run it again with --debug and report the output"
    *trace, last = lines_of(run("info", "m.joblib", "--debug", *AS_JSON).stderr)
    assert {line["level"] for line in trace} == {"log"}
    assert (last["level"], last["exit_code"], last["hint"]) == ("error", 1, "report this")


def _divide(path: str) -> None:
    raise ZeroDivisionError(path)


def _wrapped(which: int) -> None:
    """As a library does that makes its own error of any exception."""
    try:
        os.kill(os.getpid(), which)
    except BaseException as error:
        raise RuntimeError("in a library") from error


@pytest.mark.parametrize("quiet", [(), ("-q",)])
@pytest.mark.parametrize("send", [lambda which: os.kill(os.getpid(), which), _wrapped], ids=["plain", "wrapped"])
@pytest.mark.parametrize(("which", "said"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_a_signal_is_an_error_with_its_code(
    which: signal.Signals,
    said: str,
    send: Callable[[int], None],
    quiet: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("enrelm_cli.commands.info.info", lambda path: send(which))
    done = run("info", "m.joblib", *AS_JSON, *quiet)
    assert (done.code, problem_of(done)) == (128 + which, (said, None))


def test_what_a_library_warns_of_is_a_line(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    def warn(path: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("no convergence", RuntimeWarning, stacklevel=1)
        _divide(path)

    monkeypatch.setattr("enrelm_cli.commands.info.info", warn)
    before = warnings.showwarning
    told = lines_of(run("info", model, *AS_JSON).stderr)
    assert [(line["level"], line["message"]) for line in told[:-1]] == [("warning", "no convergence")]
    assert warnings.showwarning is before


# ------------------------------------------------------------------------------------------------ who asks for it


@pytest.fixture
def asking(tmp_path: Path) -> Path:
    path = tmp_path / "lj.toml"
    path.write_text('log_format = "json"\n')
    return path


def test_usage_errors_are_as_the_run_file_wants_them(asking: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert problem_of(run("fit", "--config", asking, "--nope"))[0] == "no such option: --nope"
    assert problem_of(run("fit", f"--config={asking}"))[0].startswith("missing argument")
    monkeypatch.setenv("ENRELM_CONFIG", str(asking))
    assert problem_of(run("fit", "--nope"))[0] == "no such option: --nope"
    assert problem_of(run("nope"))[0].startswith("no such command")
    assert problem_of(run()) == ("there is no command on the line", "see `enrelm --help`")


@pytest.mark.parametrize("wrong", ["seed = -1", "no_such_key = 1", "target = y", "[nope]\na = 1"])
def test_errors_of_a_run_file_are_as_it_wants_them(asking: Path, wrong: str) -> None:
    asking.write_text(f'log-format = "json"\n{wrong}\n')
    assert problem_of(run("fit", "t.csv", "--config", asking))[0].startswith(f"{asking}: ")


@pytest.mark.parametrize("line", ["help nope", "config nope", "config fit --nope", "fit --nope", "fit a.csv --seed x"])
def test_a_line_that_asks_for_json_gets_it_whatever_else_it_says(line: str) -> None:
    problem_of(run(*line.split(), *AS_JSON))


def test_help_that_cannot_be_written_is_an_error_line() -> None:
    line = [sys.executable, "-m", "enrelm_cli", "fit", "--help"]
    environment = {**os.environ, "ENRELM_LOG_FORMAT": "json"}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(line, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    problem_of(Outcome(done.returncode, "", done.stderr))


IN_FILE = 'log_format = "text"\n[fit]\n  log-format = "json"\n[predict]\nlog_format = 3\n'


@pytest.mark.parametrize(
    ("line", "variable", "file", "wanted"),
    [
        ("fit", None, "", "text"),
        ("fit", None, IN_FILE, "json"),
        ("predict", None, IN_FILE, "text"),
        ("help fit", None, IN_FILE, "json"),
        ("check", None, "check.log_format = 'json'", "json"),
        ("fit", "text", IN_FILE, "text"),
        ("fit --log-format text", "json", IN_FILE, "text"),
        ("fit --log-format=text --log-format json", None, "", "json"),
        ("fit --log-format json --log-format=text", None, "", "text"),
        ("fit --log-format yaml", "json", "", "json"),
        ("fit --log-format", None, 'log_format = "json', "text"),
    ],
)
def test_the_line_wins_over_the_variable_and_that_over_the_commands_table_and_the_top(
    line: str, variable: str | None, file: str, wanted: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.toml"
    path.write_text(file)
    variables = {"ENRELM_CONFIG": str(path)} | ({} if variable is None else {"ENRELM_LOG_FORMAT": variable})
    assert wanted_format(line.split(), variables) == wanted


@pytest.mark.parametrize("path", ["", "absent.toml", ".", "/dev/null", "a\0b"])
def test_a_run_file_that_cannot_be_read_asks_for_nothing(path: str) -> None:
    assert wanted_format(["fit", "--config", path], {}) == "text"
