"""update, merge and removals of every variant, of numbers and of classes: the model of the rows that are left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.commands.saved import load_model
from enrelm_cli.model.model import Model
from enrelm_cli.types import Array
from enrelm_cli.variants import VARIANTS, named
from tests.cli_runner import run, succeed
from tests.updates import NUMBERS, check_sequences, rows_of, write, write_parts

PARTS, ROWS = 4, 60
HEAD = "a,b,c,w,y,two,three"
FIT = ("--inputs", "a,b,c", "--no-tune", "--weight-variance", 0.5, "--bias-variance", 0.3, "--updatable")
CLASSES = [(name, target) for name in VARIANTS for target in ("two", "three")]
QUICK = [*((name, "y") for name in NUMBERS), ("incremental", "three")]
TASKS = [*QUICK, *(pytest.param(*one, marks=pytest.mark.slow) for one in CLASSES if one not in QUICK)]


def lines(rng: np.random.Generator, rows: int) -> list[str]:
    X = rng.standard_normal((rows, 3))
    f = np.sin(2.0 * X[:, 0]) + 0.7 * X[:, 1]
    y = f + 0.2 * rng.standard_normal(rows)
    noisy = f + 0.5 * rng.standard_normal(rows)
    two = np.where(noisy > 0.0, "yes", "no")
    three = np.array(["low", "middle", "top"])[np.digitize(noisy, [-0.6, 0.6])]
    w = rng.integers(1, 4, rows)
    cells = zip(X, w, y, two, three, strict=True)
    return [f"{a:.6f},{b:.6f},{c:.6f},{n},{t:.6f},{two},{three}" for (a, b, c), n, t, two, three in cells]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four tables of different rows, and the rows of all of them."""
    where, rng = tmp_path_factory.mktemp("variants"), np.random.default_rng(3)
    return write_parts(where, HEAD, [lines(rng, ROWS * (2 if k == 0 else 1)) for k in range(PARTS)])


def parent(folder: Path, variant: str, target: str, *more: object) -> Path:
    """The model of the first table."""
    path = folder / f"{variant}-{target}-{'-'.join(map(str, more))}.joblib"
    if not path.exists():
        succeed("fit", folder / "0.csv", "-t", target, *FIT, "--variant", variant, *more, "-o", path)
    return path


RAW = np.column_stack([np.linspace(-2, 2, 25), np.linspace(2, -2, 25), np.cos(np.arange(25.0))])


def told(model: Model) -> Array:
    """What it says of some rows: numbers, or probabilities."""
    return model.predict(RAW) if model.classes is None else model.probabilities(RAW)


@pytest.mark.parametrize(("variant", "target"), TASKS)
def test_an_update_is_a_fit_of_all_rows_with_the_same_features(
    folder: Path, tmp_path: Path, variant: str, target: str
) -> None:
    first, one, other = parent(folder, variant, target), tmp_path / "one.joblib", tmp_path / "other.joblib"
    new = [folder / f"{k}.csv" for k in range(1, PARTS)]
    updated = succeed("update", first, *new, "-o", one, "--format", "json").json
    fitted = succeed("fit", folder / "all.csv", "--like", first, "-o", other, "--format", "json").json
    for fact in ("train_error", "validation_error", "linear_error", "rows", "training_rows", "neurons"):
        assert updated[fact] == pytest.approx(fitted[fact], rel=1e-7)
    assert updated["kind"] == variant
    before, after = load_model(str(first)), load_model(str(one))
    np.testing.assert_allclose(told(after), told(load_model(str(other))), rtol=1e-8, atol=1e-10)
    assert not np.allclose(told(after), told(before), rtol=1e-4)
    assert (updated["classes"] is None) == (target == "y")
    back = tmp_path / "back.joblib"
    removed = [word for path in new for word in ("--remove", path)]
    succeed("update", one, *removed, "-o", back)
    np.testing.assert_allclose(told(load_model(str(back))), told(before), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("variant", "target"), TASKS)
def test_any_sequence_of_updates_removals_and_merges_ends_in_the_model_of_the_rows_left(
    folder: Path, variant: str, target: str
) -> None:
    model = load_model(str(parent(folder, variant, target)))
    check_sequences(model, folder, PARTS, lambda made: told(made[0]), examples=4)


@pytest.mark.parametrize(("variant", "target"), QUICK)
def test_weights_count_in_an_update_as_they_do_in_a_fit(
    folder: Path, tmp_path: Path, variant: str, target: str
) -> None:
    weighted, plain = parent(folder, variant, target, "--weight", "w"), parent(folder, variant, target)
    one, other, without = (tmp_path / f"{name}.joblib" for name in ("one", "other", "without"))
    succeed("update", weighted, *(folder / f"{k}.csv" for k in range(1, PARTS)), "-o", one)
    succeed("fit", folder / "all.csv", "--like", weighted, "-o", other)
    succeed("fit", folder / "all.csv", "--like", plain, "-o", without)
    found = [told(load_model(str(path))) for path in (one, other, without)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8, atol=1e-10)
    assert not np.allclose(found[0], found[2], rtol=1e-3)


def test_a_class_that_the_fit_had_not_seen_is_named(folder: Path, tmp_path: Path) -> None:
    model = parent(folder, "incremental", "three")
    before = model.read_bytes()
    odd = write(tmp_path / "odd.csv", HEAD, ["0.1,0.2,0.3,1,0.5,yes,low", "0.3,0.1,0.2,1,0.5,no,bottom"])
    outcome = run("update", model, odd)
    assert outcome.code == 3
    assert "odd.csv: classes of 'three' that this model does not have: 'bottom' (1 row)" in outcome.stderr
    assert "fit again" in outcome.stderr
    assert model.read_bytes() == before


def test_classes_have_counts_figures_and_drift(folder: Path, tmp_path: Path) -> None:
    model, out = parent(folder, "incremental", "two"), tmp_path / "out.joblib"
    report = succeed("update", model, folder / "1.csv", "-o", out, "--format", "json").json
    texts = [(folder / name).read_text().count(",yes,") for name in ("0.csv", "1.csv")]
    assert report["classes"]["counts"] == [3 * ROWS - sum(texts), sum(texts)]
    assert 0.5 < report["classes"]["validation"]["accuracy"] <= 1.0
    assert report["drift"] == pytest.approx(report["new_rows_error"] / report["validation_error_before"])
    shown = succeed("update", model, folder / "1.csv", "-o", out).stdout
    assert "log-loss on the new rows" in shown
    assert "accuracy" in shown
    swapped = write(
        tmp_path / "swapped.csv",
        HEAD,
        [
            row.replace(",yes,", ",?,").replace(",no,", ",yes,").replace(",?,", ",no,")
            for row in rows_of(folder / "2.csv")
        ],
    )
    gate = run("update", model, swapped, "--fail-drift", 2, "-o", out)
    assert gate.code == 5
    assert "log-loss on the new rows" in gate.stderr


def test_auto_takes_a_variant_that_needs_no_rows(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "auto.joblib"
    words = ("-t", "y", "--inputs", "a,b", "--tune-steps", 20, "--updatable", "-f", "json")
    report = succeed("fit", folder / "0.csv", *words, "-o", out).json
    assert named(report["variant"]).from_sums
    assert {one["variant"] for one in report["candidates"]} == {name for name in NUMBERS if named(name).from_sums}


def test_weights_of_classes_count_for_later_rows_too(folder: Path, tmp_path: Path) -> None:
    weighted = parent(folder, "incremental", "two", "--class-weight", "yes=5")
    one, other, plain = (tmp_path / f"{name}.joblib" for name in ("one", "other", "plain"))
    succeed("update", weighted, *(folder / f"{k}.csv" for k in range(1, PARTS)), "-o", one)
    succeed("fit", folder / "all.csv", "--like", weighted, "-o", other)
    succeed("fit", folder / "all.csv", "--like", parent(folder, "incremental", "two"), "-o", plain)
    found = [told(load_model(str(path))) for path in (one, other, plain)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8, atol=1e-10)
    assert found[0][:, 1].mean() > found[2][:, 1].mean() + 0.05
