"""Targets that have classes, from the command line: fit, predict, compare, check."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enrelm_cli.types import Array
from tests.cli_runner import run, succeed

NAMES = ("low", "middle", "top")


def smooth(rows: int, seed: int) -> tuple[Array, Array]:
    """Inputs, and a smooth function of the first two with noise: no model is sure near its levels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 3))
    return X, X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.5 * rng.standard_normal(rows)


def written(path: Path, X: Array, labels: Any) -> Path:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "kind"])
        writer.writerows([*(f"{value:.6f}" for value in row), label] for row, label in zip(X, labels, strict=True))
    return path


def three(f: Array) -> list[str]:
    return [NAMES[k] for k in np.searchsorted([-0.6, 0.6], f)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of three classes, a fresh one, and a model of it."""
    folder = tmp_path_factory.mktemp("classes")
    for name, rows, seed in (("train", 400, 1), ("fresh", 2000, 2)):
        X, f = smooth(rows, seed)
        written(folder / f"{name}.csv", X, three(f))
    succeed("fit", folder / "train.csv", "-t", "kind", "--variant", "kernel", "--no-tune", "-o", folder / "m.joblib")
    return folder


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_a_text_target_is_classified_and_the_report_says_how_well(folder: Path) -> None:
    facts = succeed("fit", folder / "train.csv", "-t", "kind", "--no-tune", "-f", "json").json
    assert facts["task"] == "classification"
    told = facts["classes"]
    assert told["classes"] == list(NAMES)
    assert sum(told["counts"]) == 400
    judged = told["validation"]
    assert 0.6 < judged["accuracy"] <= 1.0
    assert judged["log_loss"] < 0.9
    assert np.sum(judged["confusion"]) == facts["validation_rows"] == judged["rows"]
    assert {one["variant"] for one in facts["candidates"]} >= {"kernel", "logistic", "approximate", "incremental"}
    assert all(one["log_loss"] > 0.0 for one in facts["candidates"])


def test_predict_writes_labels_and_probabilities_that_sum_to_one(folder: Path) -> None:
    written_out = succeed("predict", folder / "m.joblib", folder / "fresh.csv", "--probabilities")
    rows = rows_of(written_out.stdout)
    p = np.array([[float(row[f"p_{name}"]) for name in NAMES] for row in rows])
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    assert [row["prediction"] for row in rows] == [NAMES[k] for k in p.argmax(axis=1)]
    assert "accuracy" in written_out.stderr
    assert "log-loss" in written_out.stderr


def test_probabilities_are_as_sure_as_they_are_right(folder: Path, tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    succeed("predict", folder / "m.joblib", folder / "fresh.csv", "--report", report, "-o", tmp_path / "p.csv")
    import json

    judged = json.loads(report.read_text())["metrics"]
    assert judged["ece"] < 0.06
    assert judged["accuracy"] > 0.65


@pytest.mark.parametrize("level", [0.7, 0.9])
def test_sets_hold_the_class_as_often_as_they_say(level: float, folder: Path) -> None:
    rows = rows_of(succeed("predict", folder / "m.joblib", folder / "fresh.csv", "--append", "--set", level).stdout)
    covered = np.mean([row["kind"] in row["set"].split("|") for row in rows])
    # A set is never empty: below the accuracy, some 0.75, it holds the class more often than asked.
    assert level - 0.05 < covered < max(level, 0.75) + 0.05
    assert all(row["prediction"] in row["set"].split("|") for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [300, 1200])
def test_sets_of_many_fits_hold_the_classes_of_fresh_rows_as_often_as_they_say(rows: int, tmp_path: Path) -> None:
    levels, covered = (0.8, 0.95), []  # above the accuracy: a set is never empty
    fresh_X, f = smooth(3000, 999)
    fresh = written(tmp_path / "fresh.csv", fresh_X, three(f))
    for seed in range(12):
        X, f = smooth(rows, seed)
        words = ("-t", "kind", "--variant", "kernel", "--no-tune", "-o", tmp_path / "m.joblib")
        succeed("fit", written(tmp_path / "t.csv", X, three(f)), *words)
        told = [succeed("predict", tmp_path / "m.joblib", fresh, "--append", "--set", level, "-q") for level in levels]
        covered.append([np.mean([r["kind"] in r["set"].split("|") for r in rows_of(one.stdout)]) for one in told])
    np.testing.assert_allclose(np.mean(covered, axis=0), levels, atol=0.03)


@pytest.mark.parametrize("variant", ["approximate", "incremental", "logistic", "local"])
def test_every_variant_tells_classes_apart(variant: str, folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.joblib"
    words = ("--variant", variant, "--no-tune", "--leaf-rows", 100, "--landmarks", 60)
    facts = succeed("fit", folder / "train.csv", "-t", "kind", *words, "-o", model, "-f", "json").json
    assert facts["classes"]["validation"]["accuracy"] > 0.5
    info = succeed("info", model, "-f", "json").json
    assert info["task"] == "classification"
    assert info["classes"]["validation"]["accuracy"] == facts["classes"]["validation"]["accuracy"]
    assert len(rows_of(succeed("predict", model, folder / "fresh.csv", "--set", 0.8).stdout)) == 2000


def test_true_and_false_are_classes_and_integers_are_on_demand(tmp_path: Path) -> None:
    X, f = smooth(120, 3)
    words = ("-t", "kind", "--variant", "approximate", "-f", "json")
    booleans = succeed("fit", written(tmp_path / "b.csv", X, f > 0), *words).json
    assert booleans["classes"]["classes"] == ["false", "true"]
    integers = written(tmp_path / "i.csv", X, (f > 0).astype(int))
    assert succeed("fit", integers, *words).json["task"] == "regression"
    told = succeed("fit", integers, *words, "--task", "classification").json
    assert told["classes"]["classes"] == ["0", "1"]
    assert told["classes"]["validation"]["auc"] > 0.7
    assert told["validation_error"] == pytest.approx(booleans["validation_error"])


def test_two_classes_have_a_threshold(tmp_path: Path) -> None:
    X, f = smooth(150, 4)
    table, model = written(tmp_path / "t.csv", X, np.where(f > 0, "yes", "no")), tmp_path / "m.joblib"
    succeed("fit", table, "-t", "kind", "--variant", "logistic", "-o", model)
    found = [
        sum(row["prediction"] == "yes" for row in rows_of(succeed("predict", model, table, *words).stdout))
        for words in (("--threshold", 0.9), (), ("--threshold", 0.1))
    ]
    assert found[0] < found[1] < found[2]


def test_options_of_the_other_task_are_refused(folder: Path, tmp_path: Path, sample_data: Path) -> None:
    for words, told in (
        (("--threshold", 0.5), "two classes"),
        (("--interval", 0.9), "use --set"),
        (("--set", 1.5), "between 0 and 1"),
    ):
        refused = run("predict", folder / "m.joblib", folder / "fresh.csv", *words)
        assert refused.code == 2
        assert told in refused.stderr
    number = tmp_path / "n.joblib"
    succeed("fit", sample_data / "network.csv", "-t", "y", "--variant", "approximate", "-o", number)
    refused = run("predict", number, sample_data / "network.csv", "--probabilities")
    assert refused.code == 2
    assert "are for classes" in refused.stderr
    refused = run("fit", sample_data / "network.csv", "-t", "y", "--variant", "logistic")
    assert refused.code == 2
    assert "--task classification" in refused.stderr


def test_numbers_with_a_typo_are_no_classes(tmp_path: Path) -> None:
    X, f = smooth(60, 5)
    labels = [f"{value:.3f}" for value in f]
    labels[7] = "12x"
    refused = run("fit", written(tmp_path / "t.csv", X, labels), "-t", "kind")
    assert refused.code == 3
    assert "line 9: '12x'" in refused.stderr


def test_targets_that_cannot_be_classes_are_refused(tmp_path: Path) -> None:
    X, _ = smooth(60, 6)
    for labels, told in (
        ([f"name {k}" for k in range(60)], "too many for classes"),
        (["same"] * 60, "nothing to learn"),
    ):
        refused = run("fit", written(tmp_path / "t.csv", X, labels), "-t", "kind")
        assert refused.code == 3
        assert told in refused.stderr


def test_a_class_of_few_rows_trains_and_is_named(tmp_path: Path) -> None:
    X, f = smooth(150, 7)
    labels = np.where(f > 0, "yes", "no")
    labels[:2] = "odd"
    table, model = written(tmp_path / "t.csv", X, labels), tmp_path / "m.joblib"
    facts = succeed("fit", table, "-t", "kind", "--variant", "kernel", "--no-tune", "-o", model, "-f", "json").json
    assert any("'odd'" in note for note in facts["notes"])
    assert facts["classes"]["classes"] == ["no", "odd", "yes"]
    confusion = np.array(facts["classes"]["validation"]["confusion"])
    assert confusion[1].sum() == 0.0
    checked = succeed("check", table, "-t", "kind", "-f", "json").json
    assert any(one["kind"] == "rare-class" for one in checked["findings"])


def test_a_class_that_only_new_rows_have_is_wrong_and_no_crash(folder: Path, tmp_path: Path) -> None:
    X, _ = smooth(20, 8)
    table = written(tmp_path / "t.csv", X, ["unheard of"] * 10 + ["low"] * 10)
    predicted = succeed("predict", folder / "m.joblib", table, "--set", 0.9)
    assert "10 rows have classes unseen at fit" in predicted.stderr


@pytest.mark.parametrize(
    "variant",
    ["kernel", "logistic", *(pytest.param(one, marks=pytest.mark.slow) for one in ("approximate", "local"))],
)
def test_rows_in_another_order_and_from_disk_give_the_same_probabilities(
    variant: str, folder: Path, tmp_path: Path
) -> None:
    header, *lines = (folder / "train.csv").read_text().splitlines()
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join([header, *lines[::-1]]) + "\n")
    words = ("-t", "kind", "--variant", variant, "--no-tune", "--class-weight", "balanced")
    hashes, tables = [], []
    for source, memory in ((folder / "train.csv", ()), (turned, ()), (turned, ("--memory", "1K"))):
        model = tmp_path / "m.joblib"
        facts = succeed("fit", source, *words, *memory, "-o", model, "-f", "json").json
        hashes.append(facts["data"]["hash"])
        rows = rows_of(succeed("predict", model, folder / "train.csv", "--probabilities").stdout)
        tables.append([[float(row[f"p_{name}"]) for name in NAMES] for row in rows])
    assert len(set(hashes)) == 1
    np.testing.assert_allclose(tables[0], tables[1], atol=1e-6)
    np.testing.assert_allclose(tables[0], tables[2], atol=1e-6)


def test_compare_judges_classifiers_by_their_log_loss(folder: Path) -> None:
    words = ("--method", "logistic", "--method", "linear", "--method", "elm", "--realizations", 2, "--repeats", 1)
    facts = succeed("compare", folder / "train.csv", "-t", "kind", *words, "-f", "json").json
    assert facts["task"] == "classification"
    assert {row["method"] for row in facts["rows"]} == {"logistic", "linear", "elm"}
    for row in facts["rows"]:
        assert row["error"] == pytest.approx(row["classes"]["log_loss"])
        assert 0.3 < row["classes"]["accuracy"] <= 1.0
    refused = run("compare", folder / "train.csv", "-t", "kind", "--method", "ridge")
    assert refused.code == 2
    assert "not for a target of classes" in refused.stderr


def test_forty_classes_are_told_apart(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    centres = rng.standard_normal((40, 3)) * 3.0
    codes = np.repeat(np.arange(40), 8)
    X = centres[codes] + 0.05 * rng.standard_normal((320, 3))
    words = ("-t", "kind", "--variant", "kernel", "--no-tune", "-f", "json")
    facts = succeed("fit", written(tmp_path / "t.csv", X, [f"k{c}" for c in codes]), *words).json
    assert len(facts["classes"]["classes"]) == 40
    assert facts["classes"]["validation"]["accuracy"] > 0.8


def test_of_many_classes_the_cells_of_the_confusion_table_that_have_rows_are_kept(tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    codes = np.repeat(np.arange(51), 8)
    X = (rng.standard_normal((51, 3)) * 5.0)[codes] + 1.5 * rng.standard_normal((408, 3))
    data = written(tmp_path / "t.csv", X, [f"k{c:02}" for c in codes])
    words = ("-t", "kind", "--variant", "approximate", "--no-tune", "--folds", 1)
    fitted = succeed("fit", data, *words, "-f", "json", "-o", tmp_path / "m.joblib").json["classes"]
    kept = succeed("info", tmp_path / "m.joblib", "-f", "json").json["classes"]
    for judged in (fitted["validation"], kept["validation"]):
        assert judged["confusion"] is None
        cells = np.array(judged["confusion_cells"])
        assert cells[:, 2].min() > 0.0
        assert cells[:, 2].sum() == judged["rows"]
        right = cells[cells[:, 0] == cells[:, 1], 2].sum()
        assert right / judged["rows"] == pytest.approx(judged["accuracy"])
    # The view is of the whole table again.
    shown = succeed("info", tmp_path / "m.joblib", "-v").stdout
    wrong = max((row for row in kept["validation"]["confusion_cells"] if row[0] != row[1]), key=lambda row: row[2])
    assert "confused most" in shown
    assert any(line.split()[-1] == f"{wrong[2]:g}" for line in shown.partition("confused most")[2].splitlines() if line)


@pytest.mark.slow
def test_a_thousand_classes_are_told_apart(tmp_path: Path) -> None:
    rng = np.random.default_rng(10)
    codes = np.repeat(np.arange(1000), 6)
    X = (rng.standard_normal((1000, 3)) * 5.0)[codes] + 0.02 * rng.standard_normal((6000, 3))
    words = ("-t", "kind", "--variant", "approximate", "-f", "json", "-o", tmp_path / "m.joblib")
    facts = succeed("fit", written(tmp_path / "t.csv", X, [f"k{c}" for c in codes]), *words).json
    assert len(facts["classes"]["classes"]) == 1000
    told = succeed("info", tmp_path / "m.joblib", "-f", "json").stdout
    assert len(told) < 1_000_000


@pytest.fixture(scope="module")
def unbalanced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One row of ten is 'top', and hardly any of them is certain."""
    folder = tmp_path_factory.mktemp("unbalanced")
    X, f = smooth(300, 11)
    return written(folder / "t.csv", X, np.where(f > np.quantile(f, 0.9), "top", "rest"))


def told_of(table: Path, *words: Any) -> Any:
    fixed = ("-t", "kind", "--variant", "logistic", "-f", "json")
    return succeed("fit", table, *fixed, *words).json


def test_balanced_classes_count_alike_and_the_rare_one_is_found_more_often(unbalanced: Path) -> None:
    plain, balanced = told_of(unbalanced), told_of(unbalanced, "--class-weight", "balanced")
    assert "a row counts by its class: 'rest' 0.5556, 'top' 5" in balanced["notes"]
    assert balanced["settings"]["class_weight"] == ["balanced"]
    assert "class_weight" not in plain["settings"]

    def found(facts: Any) -> float:
        top = facts["classes"]["validation"]["confusion"][1]
        return float(top[1] / sum(top))

    assert found(balanced) > found(plain) + 0.1
    # Metrics are those of the weighted rows: each of 'top' counts for five.
    tops = np.array(balanced["classes"]["validation"]["confusion"][1]) / 5.0
    np.testing.assert_allclose(tops, tops.round(), atol=1e-9)


@pytest.mark.parametrize("variant", ["kernel", "approximate", "logistic"])
def test_a_class_of_weight_two_is_a_class_whose_rows_are_there_twice(
    variant: str, unbalanced: Path, tmp_path: Path
) -> None:
    """As `--weight` does it: the weights of classes are those of their rows, all scaled alike."""
    lines = unbalanced.read_text().splitlines()
    tops = sum(line.endswith("top") for line in lines)
    unit = 300 / (300 + tops)
    weighed = [f"{line},{(2.0 if line.endswith('top') else 1.0) * unit!r}" for line in lines[1:]]
    (tmp_path / "w.csv").write_text("\n".join([lines[0] + ",w", *weighed]) + "\n")
    words = ("-t", "kind", "--variant", variant, "--no-tune", "-f", "json")
    ours = succeed("fit", unbalanced, *words, "--class-weight", "top=2").json
    theirs = succeed("fit", tmp_path / "w.csv", *words, "--weight", "w").json
    assert ours["classes"]["validation"]["log_loss"] == pytest.approx(theirs["classes"]["validation"]["log_loss"], 1e-6)
    assert ours["validation_error"] == pytest.approx(theirs["validation_error"], 1e-6)


def test_weights_of_classes_are_kept_with_the_model(unbalanced: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.joblib"
    told_of(unbalanced, "--class-weight", "rest=1", "--class-weight", "top=4", "-o", model)
    report = tmp_path / "r.json"
    succeed("predict", model, unbalanced, "--set", 0.9, "--report", report, "-o", tmp_path / "p.csv")
    import json

    judged = json.loads(report.read_text())
    rest, top = judged["metrics"]["confusion"]
    assert sum(top) / 30 == pytest.approx(4 * sum(rest) / 270)
    # Sets are of rows as they come.
    assert judged["set_coverage"] * 300 == pytest.approx(round(judged["set_coverage"] * 300))
    assert 'class_weight = ["rest=1", "top=4"]' in succeed("config", model).stdout


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("--class-weight", "balanced", "--class-weight", "top=2"), "weighs all classes", 2),
        (("--class-weight", "top"), "'top' is not CLASS=WEIGHT", 2),
        (("--class-weight", "bottom=2"), "no class 'bottom'", 3),
        (("--class-weight", "bottom=2"), "hint: its classes are rest, top", 3),
        (("--class-weight", "top=0"), "above 0", 2),
        (("--class-weight", "top=2", "--class-weight", "top=3"), "twice", 2),
    ],
)
def test_weights_that_make_no_sense_are_refused(words: tuple[str, ...], said: str, code: int, unbalanced: Path) -> None:
    done = run("fit", unbalanced, "-t", "kind", *words)
    assert done.code == code
    assert said in done.stderr


def test_weights_of_classes_need_classes(unbalanced: Path) -> None:
    done = run("fit", unbalanced, "-t", "a", "--drop", "kind", "--class-weight", "balanced")
    assert done.code == 2
    assert "is a number" in done.stderr


def test_the_curve_has_the_error_rate_and_the_log_loss_of_every_size(folder: Path, tmp_path: Path) -> None:
    words = ("-t", "kind", "--no-tune", "--folds", 1, "--variant", "approximate")
    words = (*words, "--max-neurons", 30, "--report", tmp_path / "c.html")
    facts = succeed("curve", folder / "train.csv", *words, "-f", "json").json
    assert facts["task"] == "classification"
    curves = {one["variant"]: one["classes"] for one in facts["curves"]}
    first = curves["approximate"]
    assert [one["neurons"] for one in first] == sorted({one["neurons"] for one in first})
    assert first[-1]["neurons"] == 30
    # One neuron tells less than the best size, and nothing is worse than the shares.
    losses = np.array([one["log_loss"] for one in first])
    assert losses.min() < losses[0] < 1.1
    assert 0.1 < min(one["error_rate"] for one in first) < 0.45
    alone = succeed(
        "curve", folder / "train.csv", "-t", "kind", "--folds", 1, "--variant", "logistic", "-f", "json"
    ).json
    (only,) = alone["curves"][0]["classes"]
    words_of_fit = ("-t", "kind", "--folds", 1, "--variant", "logistic", "-f", "json")
    fit = succeed("fit", folder / "train.csv", *words_of_fit).json
    assert only["log_loss"] == pytest.approx(fit["classes"]["validation"]["log_loss"], rel=0.05)
    page = (tmp_path / "c.html").read_text()
    assert "approximate, log-loss" in page
    assert "approximate, error rate" in page
    shown = succeed("curve", folder / "train.csv", *words).stdout
    assert "log-loss" in shown
    assert re.search(r"\brate\b", shown)  # a narrow header has it in a line of its own


def test_classes_of_two_rows_each_cannot_be_judged_and_the_message_says_so(tmp_path: Path) -> None:
    X, _ = smooth(60, 5)
    done = run("fit", written(tmp_path / "pairs.csv", X, [f"c{k // 2}" for k in range(60)]), "-t", "kind", "--no-tune")
    assert done.code == 3
    assert "each of its 30 classes has fewer than 5 rows: none can be held out" in done.stderr
    assert "add rows" in done.stderr
