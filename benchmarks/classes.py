"""Classes: enrelm with `--target` alone, beside gradient boosting, logistic regression and a support-vector machine.

Four public tables (the folder that ENRELM_TABLES names) and four that come with scikit-learn. Each split holds out a
quarter of the rows of every class, drawn with seeds 1234 and up; every method has the same training and held-out rows.
CatBoost and LightGBM have their defaults and get text as categories; logistic regression and the machine (RBF kernel,
Platt's probabilities) have scikit-learn's defaults and get standardised numbers and indicators. The log-loss is the
mean of -log of the probability of the true class, at least 1e-15. The calibration error is that of the predicted class
in 15 bins over the held-out rows of all splits together: of a few hundred rows it would be mostly chance.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean, mean
from typing import Any

from benchmarks.class_contenders import PACKAGES
from benchmarks.contest import KEPT, Split, key_of, our_code, peer_code, problem_of, write_split
from benchmarks.measuring import Plan, child, enrelm, missing, version_of
from benchmarks.outcome import ACCURATE, FAST, NOT, Goal, Outcome, Table

TABLES = ("titanic", "german_credit", "pima", "satimage")
BUNDLED = ("iris", "wine", "breast_cancer", "digits")  # of scikit-learn
METHODS = ("enrelm", "catboost", "lightgbm", "logistic regression", "RBF SVM")
FIRST_SEED = 1234
BINS = 15
ENOUGH_ROWS = 1000  # for a calibration error to mean something
WRITE = """
import sys
from sklearn import datasets
getattr(datasets, f"load_{sys.argv[1]}")(as_frame=True).frame.to_csv(sys.argv[2], index=False)
"""


@dataclass(frozen=True)
class ClassResult:
    """What a method made of a split."""

    log_loss: float | None
    accuracy: float | None
    bins: tuple[tuple[float, ...], ...] = ()  # rows, right ones and summed confidence of each bin of confidence
    seconds: float = 0.0  # of the fit
    problem: str = ""  # why there are no figures


@dataclass(frozen=True)
class Contest:
    """All splits of a table."""

    name: str
    rows: int
    classes: int
    results: dict[str, list[ClassResult]]

    def mean(self, method: str, figure: str = "log_loss") -> float | None:
        found = [getattr(one, figure) for one in self.results.get(method, [])]
        return mean(found) if found and None not in found else None

    def ratio(self, other: str) -> float | None:
        """Our mean log-loss over another's."""
        ours, theirs = self.mean("enrelm"), self.mean(other)
        return None if ours is None or theirs is None else ours / theirs

    def short(self) -> float | None:
        """By how much the best accuracy of all is above ours."""
        found = {method: self.mean(method, "accuracy") for method in self.results}
        known = [value for value in found.values() if value is not None]
        return None if found["enrelm"] is None else max(known) - found["enrelm"]

    def calibration_error(self, method: str) -> float | None:
        if self.mean(method) is None:
            return None
        bins = [[sum(cells) for cells in zip(*rows, strict=True)] for rows in zip(*self._bins(method), strict=True)]
        rows, right, confidence = bins
        return sum(abs(a - b) for a, b in zip(right, confidence, strict=True)) / sum(rows)

    def _bins(self, method: str) -> Iterator[tuple[tuple[float, ...], ...]]:
        return (one.bins for one in self.results[method])

    def slower(self) -> float | None:
        """Our seconds of fitting over CatBoost's."""
        if self.ratio("catboost") is None:
            return None
        ours, theirs = (sum(one.seconds for one in self.results[name]) for name in ("enrelm", "catboost"))
        return ours / theirs


def run(plan: Plan) -> Outcome:
    outcome = Outcome(remarks=[str(__doc__).split("\n\n", 1)[1].replace("\n", " ").strip()])
    absent = missing("catboost", "lightgbm", "sklearn", "pandas")
    outcome.remarks += [f"{name} is left out: {why}" for name, why in absent.items()]
    if "sklearn" in absent or "pandas" in absent:
        return outcome
    methods = [method for method in METHODS if method not in absent]
    contests = [_contest(path, methods, plan) for path in _paths(plan, outcome)]
    if contests:
        outcome.tables += [_figures(contests, methods), _calibration(contests, methods)]
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


def _paths(plan: Plan, outcome: Outcome) -> Iterator[Path]:
    wanted = plan.tables or (("iris",) if plan.quick else (*TABLES, *BUNDLED))
    folder = os.environ.get("ENRELM_TABLES")
    if not folder:
        outcome.remarks.append(f"{len(TABLES)} tables are left out: ENRELM_TABLES does not name their folder.")
    yield from (Path(folder) / f"{name}.csv" for name in TABLES if folder and name in wanted)
    for name in BUNDLED:
        if name in wanted:
            path = plan.folder / f"{name}.csv"
            child([sys.executable, "-c", WRITE, name, path], plan.folder)
            yield path


def stratified_split(path: Path, seed: int, folder: Path) -> Split:
    """Of every class the first quarter of its rows, in the order of RandomState(seed).permutation(T), is held out."""
    import numpy as np

    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    by_class: dict[str, list[list[str]]] = {}
    for k in np.random.RandomState(seed).permutation(len(rows)):
        by_class.setdefault(rows[k][-1], []).append(rows[k])
    train, test = [], []
    for label in sorted(by_class):
        own = by_class[label]
        cut = round(len(own) / 4)
        test += own[:cut]
        train += own[cut:]
    return write_split(path.stem, seed, folder, header, train, test)


def _contest(path: Path, methods: list[str], plan: Plan) -> Contest:
    results: dict[str, list[ClassResult]] = {method: [] for method in methods}
    for k in range(1 if plan.quick else plan.splits):
        split = stratified_split(path, FIRST_SEED + k, plan.folder)
        for method in methods:
            results[method].append(judge_classes(method, split, plan))
    return Contest(path.stem, split.rows, len(set(_labels(split.train))), results)


def judge_classes(method: str, split: Split, plan: Plan) -> ClassResult:
    """Kept, so that a run can be continued."""
    ours = method == "enrelm"
    version = our_code() if ours else peer_code("class_contenders") + version_of(PACKAGES[method])
    path = KEPT / f"{key_of(['classes', method, version, str(plan.threads)], split)}.json"
    if path.exists():
        return ClassResult(**json.loads(path.read_text()))
    try:
        labels, p, seconds = _ours(split, plan) if ours else _peer(method, split, plan)
        result = _judged(_labels(split.test), labels, p, seconds)
    except RuntimeError as error:
        result = ClassResult(None, None, problem=problem_of(error))
    KEPT.mkdir(exist_ok=True)
    path.write_text(json.dumps(asdict(result)))
    said = result.problem or f"{result.log_loss:.4f}, {result.accuracy:.3f} right, in {result.seconds:.1f} s"
    print(f"  {split.train.stem} {method}: {said}", file=sys.stderr, flush=True)
    return result


Told = tuple[list[str], Any, float]  # labels, their probabilities (t, C), seconds of the fit


def _ours(split: Split, plan: Plan) -> Told:
    model, predicted = plan.folder / "model.joblib", plan.folder / "predicted.csv"
    with split.train.open(encoding="utf-8", newline="") as file:
        target = next(csv.reader(file))[-1]
    words = ["fit", split.train, "-t", target, "--task", "classification", "-o", model, "-q"]
    fitted = child(enrelm(*words), plan.folder, plan.limit)
    child(enrelm("predict", model, split.test, "--probabilities", "-o", predicted, "-q"), plan.folder, plan.limit)
    with predicted.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    # The table's own columns come first.
    own = [k for k, name in enumerate(header) if k > header.index("prediction") and name.startswith("p_")]
    return [header[k][2:] for k in own], [[float(row[k]) for k in own] for row in rows], fitted.seconds


def _peer(method: str, split: Split, plan: Plan) -> Told:
    words = [sys.executable, "-m", "benchmarks.class_contenders", method, split.train, split.test, str(plan.threads)]
    said: dict[str, Any] = json.loads(child(words, plan.folder, plan.limit).out)
    return said["labels"], said["probabilities"], said["seconds"]["fit"]


def _labels(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row[-1] for row in csv.reader(file)][1:]


def _judged(y: list[str], labels: list[str], probabilities: Any, seconds: float) -> ClassResult:
    import numpy as np

    p = np.asarray(probabilities)
    places = {label: k for k, label in enumerate(labels)}
    codes = np.array([places[label] for label in y])
    own, found = p[np.arange(len(p)), codes], p.argmax(axis=1)
    confidence, right = p.max(axis=1), (found == codes).astype(float)
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    bins = [np.bincount(place, each, minlength=BINS).tolist() for each in (np.ones(len(p)), right, confidence)]
    log_loss = float(-np.log(np.maximum(own, 1e-15)).mean())
    return ClassResult(log_loss, float(right.mean()), tuple(tuple(row) for row in bins), seconds)


def _figures(contests: list[Contest], methods: list[str]) -> Table:
    columns = {"table": "text", "rows": "n", "classes": "n", "splits": "n"} | dict.fromkeys(methods, "e")
    table = Table("Mean log-loss", columns | {"over CatBoost's": "x", "over logistic's": "x", "seconds over": "x"})
    for one in contests:
        losses = [one.mean(method) for method in methods]
        ratios = [one.ratio(other) for other in ("catboost", "logistic regression")]
        table.add(one.name, one.rows, one.classes, len(one.results["enrelm"]), *losses, *ratios, one.slower())
    return table


def _calibration(contests: list[Contest], methods: list[str]) -> Table:
    columns = {"table": "text"} | {f"{method}": "e" for method in methods}
    columns |= {"below the best": "e", "calibration error": "e", "CatBoost's": "e"}
    table = Table("Mean accuracy, and calibration errors", columns)
    for one in contests:
        accuracies = [one.mean(method, "accuracy") for method in methods]
        errors = [one.calibration_error(method) if method in methods else None for method in ("enrelm", "catboost")]
        table.add(one.name, *accuracies, one.short(), *errors)
    return table


def _answers(contests: list[Contest]) -> dict[str, list[str]]:
    """In sentences, for the head of the report."""
    ratios = {one.name: ratio for one in contests if (ratio := one.ratio("catboost")) is not None}
    times = [slower for one in contests if (slower := one.slower()) is not None]
    if not ratios:
        return {}
    better, average = sum(ratio < 1.0 for ratio in ratios.values()), geometric_mean(ratios.values())
    answers = {
        ACCURATE: [
            f"Classes: on {len(ratios)} tables our log-loss is {average:.2f} times that of CatBoost's defaults "
            f"(geometric mean), and lower on {better} of them."
        ],
        FAST: [f"A fit of classes takes {geometric_mean(times):.1f} times as long as CatBoost's."],
    }
    lost = sorted((name for name in ratios if ratios[name] > 1.02), key=lambda name: -ratios[name])
    if lost:
        said = ", ".join(f"{name} {ratios[name]:.2f}" for name in lost)
        answers[NOT] = [f"Classes: our log-loss over CatBoost's where it is larger: {said}."]
    return answers


def _goals(contests: list[Contest]) -> list[Goal]:
    boosted = [ratio for one in contests if (ratio := one.ratio("catboost")) is not None]
    plain = {one.name: ratio for one in contests if (ratio := one.ratio("logistic regression")) is not None}
    short = [by for one in contests if (by := one.short()) is not None]
    errors = {one.name: one.calibration_error("enrelm") for one in contests if one.rows >= ENOUGH_ROWS}
    known = {name: error for name, error in errors.items() if error is not None}
    of, goals = f"tables of {len(contests)}", []
    if boosted and len(contests) == len(TABLES) + len(BUNDLED):
        wins, near = sum(ratio < 1.0 for ratio in boosted), sum(ratio <= 1.1 for ratio in boosted)
        right = sum(by <= 0.005 for by in short)
        goals += [
            Goal(f"lower log-loss than CatBoost, {of}", wins, 4, at_least=True, unit=""),
            Goal(f"log-loss within 10 % of CatBoost's or lower, {of}", near, 7, at_least=True, unit=""),
            Goal(f"accuracy within half a point of the best, {of}", right, 6, at_least=True, unit=""),
        ]
    if plain:
        worst = max(plain, key=lambda name: plain[name])
        goals.append(Goal(f"log-loss over logistic regression's, worst ({worst})", plain[worst], 1.1, at_least=False))
    if known:
        worst = max(known, key=lambda name: known[name])
        what = f"calibration error, worst of {ENOUGH_ROWS:,} rows or more ({worst})"
        goals.append(Goal(what, known[worst], 0.03, at_least=False, unit=""))
    return goals
