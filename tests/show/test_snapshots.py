"""What people see of reports that the program really produced. ENRELM_SNAPSHOTS=write keeps what is seen now."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from enrelm_cli.report import compare_view
from enrelm_cli.report.reports import CurveReport
from enrelm_cli.show.render import render, render_many
from tests.real_reports import REPORTS, compare_report
from tests.screens import matches_snapshot, screen


def shown(name: str, format: str = "table", **how: object) -> str:
    where, out, _ = screen(**how)  # type: ignore[arg-type]
    render(REPORTS[name](), format, where)
    return out.text


def on_terminal(name: str, columns: int = 80, **how: object) -> str:
    return shown(name, terminal=True, COLUMNS=str(columns), NO_COLOR="1", **how)


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("columns", [60, 80, 160])
def test_a_terminal_sees_the_kept_table(name: str, columns: int) -> None:
    assert matches_snapshot(f"{name}.{columns}", on_terminal(name, columns))


def test_a_model_fits_a_screen_of_80_by_24() -> None:
    lines = on_terminal("info", 80).splitlines()
    assert len(lines) <= 23  # and the prompt
    assert "validation error" in lines[0]
    assert "next:" in lines[-1]


@pytest.mark.parametrize("name", REPORTS)
def test_with_v_a_terminal_sees_all(name: str) -> None:
    assert matches_snapshot(f"{name}.80v", on_terminal(name, verbose=True))


@pytest.mark.parametrize("name", REPORTS)
def test_a_pipe_sees_the_kept_table(name: str) -> None:
    assert matches_snapshot(f"{name}.piped", shown(name))


def test_markdown_is_the_kept_text() -> None:
    assert matches_snapshot("compare.markdown", shown("compare", "markdown"))


def test_several_tables_end_with_their_ranks() -> None:
    where, out, _ = screen()
    render_many([compare_report("test", 2), compare_report("paper", 1)], "table", where)
    assert matches_snapshot("ranks.piped", out.text)


@pytest.mark.parametrize("name", ["fit", "curve", "curves", "compare", "compare-paper"])
def test_the_result_the_errors_and_the_next_command_fit_on_a_screen(name: str) -> None:
    text = on_terminal(name)
    assert len(text.splitlines()) <= 23  # and the prompt
    assert re.search(r"(validation|test) error 0\.\d+ ± 0\.\d+|error 0\.\d{4}", text.splitlines()[0])
    assert re.search(r"^next:\s+enrelm (fit|predict) ", text, re.MULTILINE)


def test_a_plot_gives_way_to_the_lines_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    report = REPORTS["curves"]()
    assert isinstance(report, CurveReport)
    name = "a-table-with-a-name-that-takes-a-line-of-its-own-2026-11.csv"
    long = replace(report, fit_command=f"enrelm fit {name} --target y --seed 7 --variant kernel -o model.joblib")
    heights = {}
    for lines in (18, 24, 40):
        monkeypatch.setenv("LINES", str(lines))
        where, out, _ = screen(terminal=True, COLUMNS="80", NO_COLOR="1")
        render(long, "table", where)
        heights[lines] = out.text.count("\n")
        assert ("└" in out.text) == (lines > 18)
    assert heights[24] == 23
    assert heights[18] < heights[24] < heights[40] <= 39


def test_what_a_check_found_and_the_next_command_fit_on_a_screen() -> None:
    text = on_terminal("check")
    assert len(text.splitlines()) <= 23
    assert text.startswith("houses.csv can be fitted: ")
    assert re.search(r"^next:\s+enrelm fit ", text, re.MULTILINE)


def test_v_says_everything_that_a_pipe_is_told() -> None:
    for name in ("fit", "compare"):
        told = " ".join(on_terminal(name, verbose=True).split())
        for line in re.findall(r"^(?:· |\w+  +)(.{20,40}) ", shown(name).split("\ncolumns\n")[0], re.MULTILINE):
            assert line in told


def test_the_parts_of_the_rows_are_named_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    before = shown("compare")
    assert re.search(r"Rows: \d+ training, \d+ validation, \d+ test", before)
    monkeypatch.setattr(compare_view, "_PARTS", {})
    assert shown("compare") != before


@pytest.mark.parametrize("name", REPORTS)
def test_every_row_of_a_markdown_table_has_as_many_cells_as_its_head(name: str) -> None:
    tables = re.findall(r"(?:^\|.*\|\n?)+", shown(name, "markdown"), re.MULTILINE)
    assert tables or name == "predict"
    for table in tables:
        head, rule, *rows = [re.split(r"(?<!\\)\|", line.strip())[1:-1] for line in table.strip().splitlines()]
        assert rows
        assert all(re.fullmatch(r" -+:? ", cell) for cell in rule)
        assert {len(rule), *map(len, rows)} == {len(head)}
