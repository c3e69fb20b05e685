"""The benchmark's splits, kept results and goals: what its report stands on."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from benchmarks import contest, tables
from benchmarks.answers import answers
from benchmarks.contest import Result, Split, judge, split_table
from benchmarks.measuring import Plan
from benchmarks.outcome import ACCURATE, FAST, NOT, Outcome, Table
from benchmarks.render import render


def a_table(folder: Path, rows: int = 21) -> Path:
    path = folder / "some.csv"
    lines = [f'{k},"a, ""{k}""",{k}.50' for k in range(rows)]
    path.write_text("\n".join(["n,text,y", *lines, "9,no target,"]) + "\n")
    return path


def cells(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_the_first_quarter_of_the_permutation_is_held_out_and_cells_stay_as_they_are(tmp_path: Path) -> None:
    split = split_table(a_table(tmp_path), 1234, tmp_path)
    order = np.random.RandomState(1234).permutation(21)
    (header, *test), (_, *train) = cells(split.test), cells(split.train)
    assert header == ["n", "text", "y"]
    assert [int(row[0]) for row in test] == list(order[:6])
    assert [int(row[0]) for row in train] == list(order[6:])
    assert all(row[1:] == [f'a, "{row[0]}"', f"{row[0]}.50"] for row in (*test, *train))
    assert (split.rows, split.inputs) == (21, 2)


def test_a_result_is_made_once_and_again_when_the_table_or_the_options_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    def fit(split: Split, plan: Plan, options: tuple[str, ...], program: object) -> Result:
        asked.append(options)
        return Result(0.5, left_out=0.4)

    monkeypatch.setattr(contest, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(contest, "_ours", fit)
    plan = Plan(True, 1, tmp_path)
    first, second = (split_table(a_table(tmp_path), seed, tmp_path) for seed in (1, 2))
    for split, options in ((first, ()), (first, ()), (second, ()), (first, ("--no-tune",)), (second, ())):
        assert judge("enrelm", split, plan, options) == Result(0.5, left_out=0.4)
    assert asked == [(), (), ("--no-tune",)]


def a_contest(name: str, ours: float | None, catboost: float, ridge: float) -> tables.Contest:
    errors = {"enrelm": ours, "catboost": catboost, "ridge": ridge}
    return tables.Contest(name, 100, 3, {method: [Result(error, 1.0)] for method, error in errors.items()})


def test_goals_are_met_by_means_and_missed_by_the_worst_table() -> None:
    contests = [a_contest("concrete", 0.2, 0.4, 1.0), a_contest("ames", 0.6, 0.5, 0.5), a_contest("x", None, 0.3, 0.3)]
    goals = {goal.what: goal for goal in tables._goals(contests)}
    assert goals["error over CatBoost's, geometric mean"].measured == pytest.approx((0.5 * 1.2) ** 0.5)
    assert goals["better than CatBoost, tables of 3"].measured == 1
    assert not goals["error over CatBoost's, worst table (ames)"].met
    assert not goals["error over ridge's, worst table (ames)"].met
    assert goals["concrete: mean error"].met
    assert not goals["ames: error over CatBoost's"].met


def test_the_report_opens_with_what_a_user_asks_and_goals_come_after_the_tables(tmp_path: Path) -> None:
    splits = Table("Ten splits", dict.fromkeys(("data", "rows", "kernel", "linear", "best"), "text"))
    splits.add("servo", 167, "0.2 ± 0.1", "0.5 ± 0.1", "kernel")
    splits.add("prostate", 97, "0.65 ± 0.1", "0.64 ± 0.1", "linear")
    outcome = Outcome([splits], [tables.Goal("error", 0.5, 1.0, at_least=False)])
    section = {"quick": False, "machine": a_machine(), "threads": {"2": outcome.to_json()}}
    render({"sections": {"splits": section}}, ["splits"], tmp_path)
    text = (tmp_path / "REPORT.md").read_text()
    places = [
        text.index(part) for part in (ACCURATE, "better than linear on 1", NOT, "prostate", "## splits", "## Goals")
    ]
    assert places == sorted(places)
    assert FAST not in text


def a_machine() -> dict[str, object]:
    facts = {"load": 0.0, "cores": 2, "processor": "p", "memory": 1e9, "system": "s", "python": "3", "when": "now"}
    return {**facts, "blas": [], "packages": {}}


def test_generated_functions_where_boosting_is_ahead_are_named() -> None:
    columns = {"table": "text", "training rows": "n", "method": "text", "over CatBoost's": "x"}
    table = Table("Errors and seconds", columns)
    for rows, over in ((1_000_000, 2.04), (20_000, 1.8)):
        table.add("jumps", rows, "local", over)
        table.add("smooth", rows, "local", 0.99)
    said = list(answers("local", Outcome([table])))
    assert [question for question, _ in said] == [NOT]
    assert "jumps, 1,000,000 rows: 2.0 times CatBoost's error" in said[0][1]


def test_a_section_answers_in_its_own_words_first() -> None:
    scale = Table("One fit from disk", dict.fromkeys(("rows", "variant", "seconds", "peak memory"), "n"))
    scale.add(1000, "kernel", 3.0, 2e8)
    scale.add(9000, "kernel", 5.0, 3e8)
    outcome = Outcome([scale], answers={FAST: ["Fast."]})
    assert list(answers("scale", outcome)) == [
        (FAST, "Fast."),
        (FAST, "A kernel fit of 9,000 rows from disk: 5 s and 300 MB."),
    ]
