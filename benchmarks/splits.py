"""Errors, not times: the kernel variant on many tables, beside what a user would pick instead.

The paper's eight datasets on ten splits other than the paper's (`enrelm compare --split shuffle --seed 1 --repeats 10`,
honest test rows), scikit-learn's diabetes in the same way, and its make_friedman1(noise=0.5, random_state=0), three
quarters to fit and one to judge. Errors are ||y - yhat|| / ||y - mean||, mean ± standard deviation of the ten splits.
The constants of our tuning were chosen with tables such as these in view, so its column is a little flattered.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kernel import fit_ours
from benchmarks.measuring import Plan, child, enrelm
from benchmarks.outcome import Goal, Outcome, Table
from benchmarks.paper.datasets import REAL

METHODS = ("kernel", "linear", "elm", "ridge", "hist-gradient-boosting")
DIABETES = """
import sys
from sklearn.datasets import load_diabetes
load_diabetes(as_frame=True).frame.to_csv(sys.argv[1], index=False)
"""
# Rows, inputs and the R^2 that should be reached.
FRIEDMAN = ((2_000, 10, 0.985), (20_000, 10, 0.987), (2_000, 40, 0.980), (20_000, 40, 0.982))


def run(plan: Plan) -> Outcome:
    outcome = Outcome(remarks=[str(__doc__).split("\n\n", 1)[1].replace("\n", " ").strip()])
    columns = {"data": "text", "rows": "n"} | dict.fromkeys(METHODS, "text") | {"best": "text"}
    table = Table("Ten splits", columns)
    data = os.environ.get("ENRELM_PAPER_DATA")
    if not data:
        outcome.remarks.append("The paper's datasets are left out: ENRELM_PAPER_DATA does not name them.")
    for one in REAL[:1] if plan.quick else REAL:
        if data:
            _compare(table, one.name, Path(data) / f"{one.name}.csv", one.target, one.categorical, plan)
    diabetes = plan.folder / "diabetes.csv"
    child([sys.executable, "-c", DIABETES, diabetes], plan.folder)
    errors = _compare(table, "diabetes", diabetes, "target", (), plan)
    loss = float(np.mean(errors["kernel"] ** 2) - np.mean(errors["ridge"] ** 2))
    outcome.goals.append(Goal("diabetes: mean R² of RidgeCV less kernel's", loss, 0.01, at_least=False, unit=""))
    outcome.tables += [table, _friedman(outcome, plan)]
    return outcome


def _compare(
    table: Table, name: str, path: Path, target: str, categories: tuple[str, ...], plan: Plan
) -> dict[str, Any]:
    words = [word for column in categories for word in ("--categorical", column)]
    words += [word for method in METHODS for word in ("--method", method)]
    words += ["--split", "shuffle", "--seed", "1", "--repeats", "2" if plan.quick else "10", "-f", "json", "-q"]
    done = child(enrelm("compare", path, "-t", target, *words), plan.folder)
    facts = json.loads(done.out)
    errors = {row["method"]: np.array(row["errors"]) for row in facts["rows"]}
    said = {method: f"{errors[method].mean():.3f} ± {errors[method].std():.3f}" for method in METHODS}
    table.add(name, facts["data"]["rows"], *said.values(), min(METHODS, key=lambda method: errors[method].mean()))
    return errors


def _friedman(outcome: Outcome, plan: Plan) -> Table:
    from sklearn.datasets import make_friedman1

    table = Table("Friedman's function", {"rows": "n", "inputs": "n", "R²": "e", "of a perfect fit": "e"})
    for rows, inputs, bound in FRIEDMAN[:1] if plan.quick else FRIEDMAN:
        X, y = make_friedman1(rows, n_features=inputs, noise=0.5, random_state=0)
        clean = make_friedman1(rows, n_features=inputs, noise=0.0, random_state=0)[1]
        cut = rows * 3 // 4
        y_hat = fit_ours(X[:cut], y[:cut])(X[cut:])
        spread = float(np.sum((y[cut:] - y[cut:].mean()) ** 2))
        r2, best = (1.0 - float(np.sum((y[cut:] - other) ** 2)) / spread for other in (y_hat, clean[cut:]))
        table.add(rows, inputs, r2, best)
        outcome.goals.append(Goal(f"Friedman, {rows:,} rows, {inputs} inputs: R²", r2, bound, at_least=True, unit=""))
    return table
