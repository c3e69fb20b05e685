from __future__ import annotations

import csv
import io
import json
import math
import os
import pty
import re
import shlex
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.parts import part_of_run
from enrelm_cli.report import words
from enrelm_cli.report.compare_view import standings
from enrelm_cli.report.reports import DataFacts, FitReport
from enrelm_cli.report.views import Report
from enrelm_cli.show.render import errors, render, render_many, write_json
from enrelm_cli.show.screen import Face, ProgressBar, Screen, error, note, warn
from enrelm_cli.show.tables import continued
from enrelm_cli.show.tables import fold as folded
from tests import sample_reports as samples
from tests.screens import Stream, screen

REPORTS: dict[str, Report] = {
    "fit": samples.fit_report(),
    "curve": samples.curve_report(),
    "curves": samples.curve_report(samples.APPROXIMATE, samples.INCREMENTAL, samples.KERNEL, elm=samples.elm_band()),
    "compare": samples.compare_report(),
    "compare-paper": samples.compare_report(protocol="paper", repeats=1),
    "predict": samples.PREDICT,
    "info": samples.INFO,
}


def shown(report: Report, format: str = "table", **how: object) -> str:
    where, out, _ = screen(**how)  # type: ignore[arg-type]
    render(report, format, where)  # type: ignore[arg-type]
    return out.text


# --- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("columns", [30, 40, 60, 80, 160])
def test_no_line_but_a_command_is_wider_than_the_terminal(name: str, columns: int) -> None:
    text = shown(REPORTS[name], terminal=True, COLUMNS=str(columns), NO_COLOR="1")
    too_wide = [line for line in text.splitlines() if words_wide(line) > columns]
    assert all("enrelm " in line or line.startswith("      -") for line in too_wide)


def words_wide(line: str) -> int:
    from rich.cells import cell_len

    return cell_len(line)


@pytest.mark.parametrize("columns", ["20", "40", "60", "80", "160"])
def test_no_number_is_ever_cut(columns: str) -> None:
    text = shown(REPORTS["compare"], terminal=True, COLUMNS=columns, NO_COLOR="1")
    for figure in ("0.4612 ± 0.0051", "0.6163 ± 0.0051", "181.4", "12.100", "41.2", "1.34×"):
        assert figure in " ".join(text.split())


@pytest.mark.parametrize("how", [{}, {"terminal": True, "COLUMNS": "40", "NO_COLOR": "1"}])
def test_a_command_to_copy_is_the_same_for_a_shell_however_narrow_the_terminal(how: dict[str, object]) -> None:
    text = shown(REPORTS["curve"], **how)
    command = "enrelm fit cal_housing.csv --target median_house_value --variant kernel --neurons 84 -o model.joblib"
    assert shlex.split(text[text.rindex("enrelm fit") :].replace("\\\n", "")) == shlex.split(command)


def test_a_pipe_has_no_colour_no_rules_no_bars_and_no_plot() -> None:
    for report in REPORTS.values():
        text = shown(report)
        assert "\x1b" not in text
        assert not set("─│█▌⠒⡇") & set(text)


def test_columns_narrow_a_pipe_too_when_they_are_asked_for() -> None:
    assert max(map(len, shown(REPORTS["compare"]).splitlines())) > 100
    assert max(map(len, shown(REPORTS["compare"], COLUMNS="70").splitlines())) <= 70


def test_a_terminal_has_colour_and_no_color_has_none() -> None:
    assert "\x1b[1;32m" in shown(REPORTS["compare"], terminal=True, COLUMNS="80")
    assert "\x1b" not in shown(REPORTS["compare"], terminal=True, COLUMNS="80", NO_COLOR="1")
    assert "\x1b" in shown(REPORTS["compare"], terminal=True, COLUMNS="80", NO_COLOR="")


@pytest.mark.parametrize("name", REPORTS)
def test_a_dumb_terminal_gets_plain_ascii(name: str) -> None:
    text = shown(REPORTS[name], terminal=True, COLUMNS="80", TERM="dumb")
    assert "\x1b" not in text
    assert text.replace("R²", "").isascii() or "R\\xb2" in text


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("terminal", [True, False])
def test_a_poor_encoding_gets_ascii_instead_of_an_error(name: str, terminal: bool) -> None:
    assert shown(REPORTS[name], terminal=terminal, encoding="ascii", COLUMNS="80").isascii()


@pytest.mark.parametrize("format", ["table", "markdown", "json", "csv"])
def test_a_column_named_like_markup_is_printed_literally(format: str) -> None:
    report = samples.fit_report(relevance=(("[red]x[/red]", 1.0),), data=named("[bold]y[/bold]"))
    text = shown(report, format, terminal=True, COLUMNS="120", NO_COLOR="1").replace("\\", "")
    assert "[bold]y[/bold]" in text
    if format != "csv":
        assert "[red]x[/red]" in text


def test_a_name_cannot_move_the_cursor() -> None:
    text = shown(samples.fit_report(data=named("a\x1b[2Jb\rc\nd")), terminal=True, COLUMNS="200", NO_COLOR="1")
    assert "a\\x1b[2Jb\\rc\\nd" in text


def named(target: str) -> DataFacts:
    return DataFacts("data.csv", 10, 2, ("a", "b"), target, "00")


def test_wide_characters_keep_the_columns_straight() -> None:
    report = samples.fit_report(relevance=(("温度", 0.75), ("x", 0.25)))
    lines = shown(report, terminal=True, verbose=True, COLUMNS="80", NO_COLOR="1").splitlines()
    at = [words_wide(line[: line.index(" %")]) for line in lines if line.endswith("█") and " %" in line]
    assert len(at) == 2
    assert len(set(at)) == 1


def test_the_paper_s_protocol_says_where_n_was_chosen() -> None:
    text = shown(REPORTS["compare-paper"])
    assert "the size is chosen on the same 5,160 rows whose error is shown" in text
    assert "validation error" in text
    assert "test error (" not in text


def test_the_test_protocol_says_that_the_test_rows_chose_nothing() -> None:
    text = shown(REPORTS["compare"])
    assert "measured on separate test rows" in text
    assert "seeds 1234 to 1238" in text
    assert "on 2 threads" in text


def test_losing_to_linear_regression_is_said() -> None:
    text = shown(samples.fit_report(validation_error=0.62, linear_error=0.6))
    assert "3.3 % worse than linear regression" in text.splitlines()[0]


def test_a_comparison_says_where_what_it_recommends_cannot_be_fitted() -> None:
    report = replace(samples.compare_report(), recommended="linear", fit_command="enrelm fit t.csv --variant kernel")
    told = "linear is not a variant of `fit`; of those that are, kernel is recommended."
    assert told in shown(replace(report, ours="kernel"))
    assert "not a variant of" not in shown(replace(report, recommended="kernel", ours="kernel"))


def test_the_fit_command_of_the_caller_is_shown_as_it_is() -> None:
    told = "enrelm fit 'my data.csv' --target y --neurons 3"
    assert told in shown(replace(samples.curve_report(), fit_command=told))


def test_names_are_folded_where_they_have_joints() -> None:
    assert folded("hist-gradient-boosting", 12, 0) == ["hist-", "gradient-", "boosting"]
    assert folded("abcdefghij", 4, 0) == ["abcd", "efgh", "ij"]
    assert folded("one two", 20, 0) == ["one two"]


def test_equal_errors_share_their_ranks() -> None:
    tied = samples.compare_report()
    rows = tuple(
        row if i else row.__class__("twin", None, row.error, None, 1.0, 1.0) for i, row in enumerate(tied.rows)
    )
    both = (tied.rows[0], *rows)
    report = tied.__class__(**{**vars(tied), "rows": both})
    ranks = {standing.method: standing.rank for standing in standings([report])}
    assert ranks["kernel"] == ranks["twin"] == 1.5
    assert ranks["hist-gradient-boosting"] == 3.0


# --- JSON, CSV, Markdown ---------------------------------------------------------------------------------------------

KEYS = {
    "fit": "variant neurons train_error validation_error selection inputs rows timings model notes",
    "curve": "variant curve choices",
    "compare": "protocol rows",
    "predict": "rows errors",
    "info": "path variant neurons columns relevance",
}


@pytest.mark.parametrize("name", KEYS)
def test_json_is_one_document_with_the_promised_keys(name: str) -> None:
    document = json.loads(shown(REPORTS[name], "json"))
    assert set(KEYS[name].split()) <= set(document)


def test_json_never_says_nan() -> None:
    report = samples.fit_report(linear_error=math.nan, facts={"alpha": math.inf, "n": np.float64(2.0)})
    document = json.loads(shown(report, "json"), parse_constant=pytest.fail)
    assert document["linear_error"] is None
    assert document["facts"] == {"alpha": None, "n": 2.0}


def test_json_carries_names_that_no_encoding_can() -> None:
    for encoding in ("utf-8", "ascii"):
        report = samples.fit_report(model="caf\udce9-温.joblib")
        assert json.loads(shown(report, "json", encoding=encoding))["model"] == "caf\udce9-温.joblib"


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_of_a_fit_is_one_row() -> None:
    (row,) = rows_of(shown(REPORTS["fit"], "csv"))
    assert (row["variant"], row["neurons"], float(row["validation_error"])) == ("kernel", "187", 0.459)
    assert row["stop"] == ""


def test_csv_of_a_curve_is_its_points_in_full() -> None:
    text = shown(REPORTS["curve"], "csv")
    assert text.splitlines()[0] == "variant,neurons,train_error,validation_error"
    rows = rows_of(text)
    assert [float(row["validation_error"]) for row in rows] == samples.KERNEL.validation.tolist()
    assert [int(row["neurons"]) for row in rows] == list(range(1, 301))


def test_csv_of_a_curve_with_elm_has_its_spread() -> None:
    rows = rows_of(shown(REPORTS["curves"], "csv"))
    elm = [row for row in rows if row["variant"] == "elm"]
    assert len(elm) == 200
    assert float(elm[4]["validation_max"]) == samples.elm_band().high[4]
    assert rows[0]["validation_std"] == ""


def test_csv_of_a_comparison_is_its_rows() -> None:
    rows = rows_of(shown(REPORTS["compare"], "csv"))
    assert [row["method"] for row in rows][:2] == ["kernel", "hist-gradient-boosting"]
    assert rows[1]["neurons"] == ""
    assert float(rows[0]["ratio"]) == 1.0


def test_csv_of_several_comparisons_has_one_header() -> None:
    where, out, _ = screen()
    render_many([samples.compare_report("a.csv"), samples.compare_report("b.csv")], "csv", where)
    assert [row["data"] for row in rows_of(out.text)] == ["a.csv"] * 6 + ["b.csv"] * 6


def test_json_of_several_comparisons_has_reports_and_ranks() -> None:
    where, out, _ = screen()
    render_many([samples.compare_report("a.csv"), samples.compare_report("b.csv")], "json", where)
    document = json.loads(out.text)
    assert [table["data"]["name"] for table in document["reports"]] == ["a.csv", "b.csv"]
    assert document["ranks"][0]["method"] == "kernel"


def test_markdown_escapes_a_pipe_in_a_name() -> None:
    assert "| a\\|b |" in shown(samples.fit_report(relevance=(("a|b", 1.0),)), "markdown")


def test_a_json_file_is_written_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "errors.json"
    write_json(samples.PREDICT, str(path))
    assert json.loads(path.read_text())["errors"]["rows"] == 1_000_000
    assert os.listdir(tmp_path) == ["errors.json"]


def test_a_file_in_no_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        write_json(samples.PREDICT, str(tmp_path / "none" / "errors.json"))
    with pytest.raises(UsageError, match="this is a folder"):
        write_json(samples.PREDICT, str(tmp_path))


# --- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.00004, "0.0 ms"),
        (0.0123, "12.3 ms"),
        (0.123, "123 ms"),
        (0.9996, "1.00 s"),
        (12.34, "12.3 s"),
        (59.96, "1 min 00 s"),
        (125.0, "2 min 05 s"),
        (3840.0, "1 h 04 min"),
        (math.nan, "–"),
    ],
)
def test_durations_have_the_unit_that_suits_them(value: float, text: str) -> None:
    assert words.seconds(value) == text


def test_a_column_of_durations_has_one_unit() -> None:
    assert words.duration_column([0.5, 0.00001]) == ("ms", ["500.0", "<0.1"])
    assert words.duration_column([2.5, 0.0002, math.nan]) == ("s", ["2.500", "<0.001", "–"])


def test_errors_have_four_decimals_and_odd_ones_are_named() -> None:
    assert [words.error(v) for v in (0.45, math.nan, math.inf, 1.5e7)] == ["0.4500", "–", "∞", "1.5e+07"]


def test_sizes_have_units() -> None:
    assert [words.size(v) for v in (999, 12_345, 1_234_567, 5 * 10**9)] == ["999 bytes", "12.3 kB", "1.2 MB", "5.0 GB"]


# --- messages --------------------------------------------------------------------------------------------------------


def test_an_error_is_its_problem_and_its_hint() -> None:
    where, out, err = screen()
    error(where, DataError("line 3: 'x' is not a number\nline 4: 'y' is not a number", "add --categorical [a]"))
    assert err.text == "error: line 3: 'x' is not a number\nline 4: 'y' is not a number\nhint: add --categorical [a]\n"
    assert out.text == ""


def test_a_long_message_is_one_line_in_a_pipe_and_keeps_its_words_whole_on_a_terminal() -> None:
    problem = UsageError("word " * 30 + "x" * 60 + " end")
    where, _, piped = screen()
    error(where, problem)
    assert len(piped.text.splitlines()) == 1
    where, _, shown = screen(terminal=True, COLUMNS="40", NO_COLOR="1")
    error(where, problem)
    assert shown.text.split() == piped.text.split()
    assert all(len(line) < 40 for line in shown.text.splitlines() if "xx" not in line)


def test_quiet_silences_notes_and_warnings_but_not_errors() -> None:
    where, _, err = screen(quiet=True)
    note(where, "read 3 rows")
    warn(where, "a level was not seen at fit")
    error(where, UsageError("no"))
    assert err.text == "error: no\n"


def test_a_command_too_long_for_a_terminal_goes_on_after_a_backslash() -> None:
    command = "enrelm fit data.csv --target 'living area' --drop house_id --variant kernel --neurons 325 -o m.joblib"
    text = continued(command, 60)
    assert text.count("\\\n") == 2
    assert shlex.split(text.replace("\\\n", "")) == shlex.split(command)
    assert all(len(line) <= 60 for line in text.splitlines())


def test_messages_show_markup_literally_and_escape_control_characters() -> None:
    where, _, err = screen(terminal=True, COLUMNS="80")
    note(where, "[red]x[/red] \x1b[2J")
    assert "[red]x[/red] \\x1b[2J" in err.text


def test_errors_of_predictions_go_to_stderr() -> None:
    where, out, err = screen()
    errors(where, samples.PREDICT)
    assert out.text == ""
    assert "normalised RMSE 0.4712" in err.text
    assert "island" not in err.text


# --- progress --------------------------------------------------------------------------------------------------------


def run_pass(bar: ProgressBar, rows: int = 1000, pieces: int = 10, total: int | None = 10_000) -> None:
    bar.start("Gram matrix", total)
    for _ in range(pieces):
        bar.advance(rows)
    bar.finish()


def bar_on(stream: tuple[Screen, Stream, Stream], patience: float = 0.0) -> ProgressBar:
    bar = ProgressBar(stream[0])
    bar.patience, bar.interval = patience, 0.0  # type: ignore[misc]
    return bar


def test_a_pipe_sees_no_progress() -> None:
    where = screen()
    run_pass(bar_on(where))
    assert where[1].text == where[2].text == ""


def test_a_terminal_sees_a_bar_that_is_wiped() -> None:
    where = screen(terminal=True, COLUMNS="80")
    run_pass(bar_on(where))
    drawn = where[2].text.split("\r")
    assert "pass 1 · Gram matrix ━" in drawn[1]
    assert "10,000 of 10,000 rows" in drawn[10]
    assert drawn[-1] == ""
    assert drawn[-2].strip() == ""
    assert len(drawn[-2]) >= len(drawn[-3].rstrip())
    assert where[1].text == ""


def test_a_short_pass_flashes_no_bar() -> None:
    where = screen(terminal=True, COLUMNS="80")
    run_pass(bar_on(where, patience=60.0))
    assert where[2].text == ""


@pytest.mark.parametrize("columns", [10, 30, 50, 80])
def test_a_bar_never_fills_the_last_column(columns: int) -> None:
    where = screen(terminal=True, COLUMNS=str(columns))
    run_pass(bar_on(where))
    assert max(len(line) for line in where[2].text.split("\r")) < columns


def test_verbose_in_batch_logs_a_line_a_pass() -> None:
    where = screen(verbose=True)
    bar = bar_on(where)
    run_pass(bar)
    run_pass(bar, total=None)
    first, second = where[2].text.splitlines()
    assert first.startswith("pass 1, Gram matrix: 10,000 rows, ")
    assert first.endswith(" rows/s")
    assert second.startswith("pass 2, ")


def test_a_bar_says_what_it_counts_what_it_is_part_of_and_how_long_is_left() -> None:
    where = screen(terminal=True, COLUMNS="120")
    bar = bar_on(where)
    with part_of_run(bar, "split 2 of 5"), part_of_run(bar, "kernel"):
        bar.start("tuning, in evaluations", 200)
        time.sleep(0.02)
        bar.advance(50)
    assert re.search(
        r"split 2 of 5 · kernel · tuning ━+─+  50 of 200 evaluations · [\d,]+ evaluations/s · .* left", where[2].text
    )
    bar.finish()
    assert bar.parts == []


def test_quiet_and_dumb_terminals_see_no_bar() -> None:
    for where in (screen(terminal=True, quiet=True, COLUMNS="80"), screen(terminal=True, TERM="dumb", COLUMNS="80")):
        run_pass(bar_on(where))
        assert where[2].text == ""


def test_a_note_during_a_pass_does_not_mix_with_the_bar() -> None:
    where = screen(terminal=True, COLUMNS="80", NO_COLOR="1")
    bar = bar_on(where)
    bar.start("reading", None)
    bar.advance(5)
    note(where[0], "hello")
    bar.finish()
    assert where[2].text.split("\r")[-1] == "note: hello\n"


def test_threads_may_advance_together() -> None:
    where = screen(verbose=True)
    bar = bar_on(where)
    bar.start("Gram matrix", None)
    workers = [threading.Thread(target=lambda: [bar.advance(1) for _ in range(2000)]) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    bar.finish()
    assert "8,000 rows" in where[2].text


# --- a real terminal -------------------------------------------------------------------------------------------------

_PROGRAM = """
    import sys
    from enrelm_cli.show.render import render
    from enrelm_cli.show.screen import ProgressBar, Screen
    from tests.sample_reports import compare_report
    screen = Screen.of(sys.stdout, sys.stderr)
    bar = ProgressBar(screen)
    bar.patience = bar.interval = 0.0
    bar.start("reading", 100)
    bar.advance(50)
    try:
        {middle}
    finally:
        bar.finish()
    render(compare_report(), "table", screen)
"""


def on_a_terminal(middle: str = "pass", **environment: str) -> tuple[str, int]:
    """What a program writes to a pseudo-terminal, and its exit code."""
    leader, follower = pty.openpty()
    known = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "TERM")}
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_PROGRAM).format(middle=middle)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=Path(__file__).parents[2],
        env={**known, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment},
    )
    os.close(follower)
    parts: list[bytes] = []
    try:
        while part := os.read(leader, 65536):
            parts.append(part)
    except OSError:  # Linux's way to say that the other end is closed
        assert parts
    finally:
        os.close(leader)
    return b"".join(parts).decode(), program.wait(timeout=30)


def test_a_pseudo_terminal_sees_colour_and_progress() -> None:
    text, code = on_a_terminal(COLUMNS="80")
    assert code == 0
    assert "pass 1 · reading" in text
    assert "\x1b[1;32m★ kernel" in text


def test_no_color_and_dumb_reach_a_pseudo_terminal() -> None:
    plain, _ = on_a_terminal(COLUMNS="80", NO_COLOR="1")
    assert "\x1b" not in plain
    assert "★ kernel" in plain
    dumb, _ = on_a_terminal(COLUMNS="80", TERM="dumb")
    assert dumb.isascii()
    assert "\x1b" not in dumb
    assert "pass 1" not in dumb


def test_an_interrupt_leaves_no_bar_behind() -> None:
    text, code = on_a_terminal(COLUMNS="80", middle="raise KeyboardInterrupt")
    assert code != 0
    before, _, after = text.partition("Traceback")
    assert after
    assert before.split("\r")[-1] == ""
    assert before.split("\r")[-2].strip() == ""


def test_the_width_of_a_real_terminal_is_asked_for() -> None:
    leader, follower = pty.openpty()
    try:
        import fcntl
        import struct
        import termios

        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 93, 0, 0))
        with os.fdopen(os.dup(follower), "w") as stream:
            assert Face.of(stream, {}).width == 93
    finally:
        os.close(leader)
        os.close(follower)


def test_the_screen_needs_no_numpy() -> None:
    program = "import sys; import enrelm_cli.show.render; sys.exit('numpy' in sys.modules or 'rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=False).returncode == 0


def test_a_fit_without_a_model_says_how_to_keep_it() -> None:
    report: FitReport = samples.fit_report(model=None)
    text = shown(report)
    assert "add -o model.joblib" in text
    assert "enrelm predict" not in text


@pytest.mark.parametrize(
    ("error", "linear", "text"),
    [
        (0.5, 1.0, "50.0 % better than linear regression"),
        (0.6, 0.5, "20.0 % worse than linear regression"),
        (0.5, 0.5, "the same as linear regression"),
        (0.5, 0.1, "5.0 times that of linear regression"),
        (0.1, 1e-16, "where linear regression is exact"),
        (0.1, 0.0, ""),
    ],
)
def test_linear_regression_beside_the_error_is_said_in_readable_numbers(error: float, linear: float, text: str) -> None:
    assert words.against_linear(error, linear) == text
