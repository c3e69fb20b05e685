"""Errors on the tables that people have: enrelm with `--target` alone, beside gradient boosting's defaults and ridge.

Fourteen public tables with text, dates, holes and skew (the folder that ENRELM_TABLES names) and the paper's eight
(ENRELM_PAPER_DATA). Each split holds out the first quarter of `numpy.random.RandomState(seed).permutation(T)`, seeds
1234 and up; every method has the same training and held-out rows and is judged by ||y - ŷ|| / ||y - mean||.
CatBoost and LightGBM have their defaults and get text as categories; ridge gets indicators and chooses its penalty.
"expected" is the error that enrelm itself reports, on validation rows that it took from the training rows. Our seconds
are those of the whole command, start and reading included; the others' are those of `fit` alone. A table is left out of
the means where a method failed on it, and counts as lost where that was ours.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, mean
from typing import Any

from benchmarks.contest import Result, judge, split_table
from benchmarks.measuring import Plan, missing
from benchmarks.outcome import ACCURATE, FAST, NOT, Goal, Outcome, Table
from benchmarks.paper.datasets import REAL

# Of the folder's tables, those with a number to predict.
TABLES = ("airfoil", "ames", "bike_hour", "concrete", "cpu_act", "energy_heating", "hitters", "hotel_rates")
TABLES += ("house_16H", "insurance", "kc_house", "life_expectancy", "seoul_bike", "student_mat_hard")
METHODS = ("enrelm", "catboost", "lightgbm", "ridge")
FIRST_SEED = 1234
BELOW = {"concrete": 0.24, "airfoil": 0.17, "energy_heating": 0.03, "kc_house": 0.34}
LEVEL_WITH_CATBOOST = ("hitters", "ames")
MORE_SPLITS = {"machine_cpu": 10}  # small, with a few rows far from the rest: five splits say little


@dataclass(frozen=True)
class Contest:
    """All splits of a table."""

    name: str
    rows: int
    inputs: int
    results: dict[str, list[Result]]

    def mean(self, method: str) -> float | None:
        errors = [result.error for result in self.results.get(method, [])]
        return mean(errors) if errors and None not in errors else None

    def ratio(self, other: str) -> float | None:
        """Our mean error over another's."""
        ours, theirs = self.mean("enrelm"), self.mean(other)
        return None if ours is None or theirs is None else ours / theirs

    def slower(self, other: str) -> float | None:
        """Our seconds of fitting over another's."""
        if self.ratio(other) is None:
            return None
        ours, theirs = (sum(result.fit_seconds for result in self.results[name]) for name in ("enrelm", other))
        return ours / theirs

    def expected(self) -> float | None:
        found = [result.left_out for result in self.results["enrelm"]]
        return mean(found) if found and None not in found else None


def run(plan: Plan) -> Outcome:
    outcome = Outcome(remarks=[str(__doc__).split("\n\n", 1)[1].replace("\n", " ").strip()])
    absent = missing("catboost", "lightgbm", "sklearn", "pandas")
    outcome.remarks += [f"{name} is left out: {why}" for name, why in absent.items()]
    methods = [method for method in METHODS if method not in absent]
    contests = [_contest(path, methods, plan) for path in _paths(plan, outcome)]
    if contests:
        outcome.tables += [_errors(contests, methods), _ratios(contests)]
        outcome.goals += _goals(contests)
        outcome.answers = _answers(contests)
        outcome.remarks += [
            f"{one.name}: {method} failed: {result.problem}"
            for one in contests
            for method, results in one.results.items()
            for result in results[:1]
            if result.problem
        ]
    return outcome


def _paths(plan: Plan, outcome: Outcome) -> list[Path]:
    wanted = {"ENRELM_TABLES": TABLES, "ENRELM_PAPER_DATA": tuple(one.name for one in REAL)}
    paths = []
    for variable, names in wanted.items():
        folder = os.environ.get(variable)
        if not folder:
            outcome.remarks.append(f"{len(names)} tables are left out: {variable} does not name their folder.")
            continue
        paths += [Path(folder) / f"{name}.csv" for name in names if not plan.tables or name in plan.tables]
    return [path for path in paths if path.stem in ("concrete", "servo")] if plan.quick and not plan.tables else paths


def _contest(path: Path, methods: list[str], plan: Plan) -> Contest:
    results: dict[str, list[Result]] = {method: [] for method in methods}
    splits = 1 if plan.quick else plan.splits
    more = 0 if plan.quick else MORE_SPLITS.get(path.stem, 0)
    for k in range(max(splits, more)):
        split = split_table(path, FIRST_SEED + k, plan.folder)
        for method in [*methods, *(["linear"] if more else [])]:
            results.setdefault(method, []).append(judge(method, split, plan))
    return Contest(path.stem, split.rows, split.inputs, results)


def _errors(contests: list[Contest], methods: list[str]) -> Table:
    columns = {"table": "text", "rows": "n", "inputs": "n", "splits": "n"} | dict.fromkeys(methods, "e")
    table = Table("Mean error", columns | {"expected": "e", "best": "text"})
    for one in contests:
        errors = {method: one.mean(method) for method in methods}
        known = {method: error for method, error in errors.items() if error is not None}
        best = min(known, key=lambda method: known[method]) if known else "-"
        splits = len(one.results["enrelm"])
        table.add(one.name, one.rows, one.inputs, splits, *errors.values(), one.expected(), best)
    return table


def _ratios(contests: list[Contest]) -> Table:
    columns = {"over CatBoost": "x", "over LightGBM": "x", "over ridge": "x"}
    table = Table(
        "Our error over theirs, and our seconds", {"table": "text", **columns, "seconds over CatBoost's": "x"}
    )
    for one in contests:
        ratios: list[Any] = [one.ratio(other) for other in METHODS[1:]]
        table.add(one.name, *ratios, one.slower("catboost"))
    means: list[Any] = [_geometric_mean([one.ratio(other) for one in contests]) for other in METHODS[1:]]
    table.add("geometric mean", *means, _geometric_mean([one.slower("catboost") for one in contests]))
    return table


def _geometric_mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return geometric_mean(known) if known else None


def _answers(contests: list[Contest]) -> dict[str, list[str]]:
    """In sentences, for the head of the report."""
    ratios = {one.name: ratio for one in contests if (ratio := one.ratio("catboost")) is not None}
    slower = _geometric_mean([one.slower("catboost") for one in contests])
    if not ratios or slower is None:
        return {}
    better = sum(ratio < 1.0 for ratio in ratios.values())
    average = geometric_mean(ratios.values())
    lost = sorted((name for name in ratios if ratios[name] > 1.02), key=lambda name: -ratios[name])
    pairs = [(one.expected(), one.mean("enrelm")) for one in contests]
    gap = geometric_mean([expected / error for expected, error in pairs if expected and error])
    answers = {
        ACCURATE: [
            f"On {len(contests)} tables, with `--target` alone, our error is {average:.2f} times that of CatBoost's "
            f"defaults (geometric mean), and lower on {better} of them.",
            f"The error that `fit` reports is {gap:.2f} times that of fresh rows.",
        ],
        FAST: [f"The whole command `fit` takes {slower:.1f} times as long as CatBoost's fit alone on these tables."],
    }
    if lost:
        said = ", ".join(f"{name} {ratios[name]:.2f}" for name in lost)
        answers[NOT] = [f"Gradient boosting is more accurate on tables like these (our error over CatBoost's): {said}."]
    return answers


def _goals(contests: list[Contest]) -> list[Goal]:
    by_name = {one.name: one for one in contests}
    boosted = {one.name: ratio for one in contests if (ratio := one.ratio("catboost")) is not None}
    ridged = {one.name: ratio for one in contests if (ratio := one.ratio("ridge")) is not None}
    goals = []
    if boosted:
        wins = sum(ratio < 1.0 for ratio in boosted.values())
        worst = max(boosted, key=lambda name: boosted[name])
        enough = 15.0 * len(contests) / 22.0
        average = geometric_mean(boosted.values())
        goals += [
            Goal("error over CatBoost's, geometric mean", average, 0.95, at_least=False),
            Goal(f"better than CatBoost, tables of {len(contests)}", wins, round(enough), at_least=True, unit=""),
            Goal(f"error over CatBoost's, worst table ({worst})", boosted[worst], 1.10, at_least=False),
        ]
    if ridged:
        worst = max(ridged, key=lambda name: ridged[name])
        goals.append(Goal(f"error over ridge's, worst table ({worst})", ridged[worst], 1.01, at_least=False))
    for name, bound in BELOW.items():
        error = by_name[name].mean("enrelm") if name in by_name else None
        goals += [Goal(f"{name}: mean error", error, bound, at_least=False, unit="")] if error is not None else []
    for name in LEVEL_WITH_CATBOOST:
        if name in boosted:
            goals.append(Goal(f"{name}: error over CatBoost's", boosted[name], 1.0, at_least=False))
    if "machine_cpu" in by_name and (ratio := by_name["machine_cpu"].ratio("linear")) is not None:
        goals.append(Goal("machine_cpu, ten splits: error over linear regression's", ratio, 1.0, at_least=False))
    return goals
