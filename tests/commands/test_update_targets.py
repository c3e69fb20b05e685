"""update, merge, removals and fit --like of several targets: for each what a model of it alone does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.commands.saved import load_models
from enrelm_cli.model.model import Model
from enrelm_cli.model.targets.models import TargetModels
from enrelm_cli.types import Array
from tests.cli_runner import run, succeed
from tests.updates import NUMBERS, check_sequences, refuse, rows_of, write, write_parts

PARTS, ROWS = 4, 60
HEAD = "x,z,w,a,b"
FIT = ("--inputs", "x,z", "--no-tune", "--weight-variance", 0.5, "--bias-variance", 0.3, "--updatable")
RAW = np.column_stack([np.linspace(-2, 2, 25), np.linspace(2, -2, 25)])


def lines(rng: np.random.Generator, rows: int) -> list[str]:
    X = rng.standard_normal((rows, 2))
    a = np.sin(2.0 * X[:, 0]) + 0.7 * X[:, 1] + 0.2 * rng.standard_normal(rows)
    b = np.exp(0.5 * X[:, 0] - 0.3 * X[:, 1] + 0.1 * rng.standard_normal(rows))
    w = rng.integers(1, 4, rows)
    return [f"{x:.6f},{z:.6f},{n},{s:.6f},{t:.6f}" for (x, z), n, s, t in zip(X, w, a, b, strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where, rng = tmp_path_factory.mktemp("targets"), np.random.default_rng(5)
    return write_parts(where, HEAD, [lines(rng, ROWS * (2 if k == 0 else 1)) for k in range(PARTS)])


def parent(folder: Path, variant: str, *more: object, target: str = "a,b") -> Path:
    """The model of the first table."""
    path = folder / f"{variant}-{target}-{'-'.join(map(str, more))}.joblib"
    if not path.exists():
        succeed("fit", folder / "0.csv", "-t", target, *FIT, "--variant", variant, *more, "-o", path)
    return path


def models(path: Path) -> TargetModels:
    found = load_models(str(path))
    assert isinstance(found, TargetModels)
    return found


def close(one: Path, other: Path) -> None:
    np.testing.assert_allclose(models(one).predict(RAW), models(other).predict(RAW), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("variant", NUMBERS)
def test_an_update_is_a_fit_of_all_rows_and_a_removal_undoes_it(folder: Path, tmp_path: Path, variant: str) -> None:
    first, one, other = parent(folder, variant), tmp_path / "one.joblib", tmp_path / "other.joblib"
    new = [folder / f"{k}.csv" for k in range(1, PARTS)]
    updated = succeed("update", first, *new, "-o", one, "-f", "json").json
    fitted = succeed("fit", folder / "all.csv", "--like", first, "-o", other, "-f", "json").json
    close(one, other)
    assert not np.allclose(models(one).predict(RAW), models(first).predict(RAW), rtol=1e-4)
    assert updated["rows"] == fitted["rows"] == (PARTS + 1) * ROWS
    for own, alike in zip(updated["targets"], fitted["targets"], strict=True):
        for fact in ("train_error", "validation_error", "linear_error", "neurons"):
            assert own[fact] == pytest.approx(alike[fact], rel=1e-7)
    for own_model, alike_model in zip(models(one).models, models(other).models, strict=True):
        scores = own_model.intervals.scores, alike_model.intervals.scores
        np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-8)
    back = tmp_path / "back.joblib"
    removed = succeed("update", one, *(w for path in new for w in ("--remove", path)), "-o", back, "-f", "json").json
    close(back, first)
    assert [entry["change"] for entry in removed["history"]] == ["fit", "update", "remove"]


@pytest.mark.parametrize("variant", NUMBERS)
def test_each_target_is_what_a_model_of_it_alone_is_after_the_same_update(
    folder: Path, tmp_path: Path, variant: str
) -> None:
    both = tmp_path / "both.joblib"
    succeed("update", parent(folder, variant), folder / "1.csv", "-o", both)
    for k, target in enumerate("ab"):
        alone = tmp_path / f"{target}.joblib"
        succeed("update", parent(folder, variant, target=target), folder / "1.csv", "-o", alone)
        own = load_models(str(alone)).predict(RAW)
        np.testing.assert_allclose(models(both).predict(RAW)[:, k], own, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("more", [(), ("--transform", "log")])
def test_weights_and_transforms_of_targets_are_kept(folder: Path, tmp_path: Path, more: tuple[str, ...]) -> None:
    """Targets of the second are above 0, and tuned together."""
    rows = [f"{row},{float(row.split(',')[-1]) ** 2 + 1:.6f}" for row in rows_of(folder / "0.csv")]
    first, one, other = (tmp_path / f"{name}.joblib" for name in ("first", "one", "other"))
    for name, own in (("start", rows[:80]), ("rest", rows[80:]), ("all", rows)):
        write(tmp_path / f"{name}.csv", f"{HEAD},c", own)
    fixed = ("--inputs", "x,z", "--weight", "w", "--tune-steps", 10, "--variant", "kernel", "--updatable")
    succeed("fit", tmp_path / "start.csv", "-t", "b,c", *fixed, *more, "-o", first)
    succeed("update", first, tmp_path / "rest.csv", "-o", one)
    succeed("fit", tmp_path / "all.csv", "--like", first, "-o", other)
    close(one, other)
    if more:
        assert {m.target_scale.transform for m in models(one).models} == {"log"}


def test_shards_merge_into_the_model_of_all_and_forgetting_weighs_down(folder: Path, tmp_path: Path) -> None:
    first = parent(folder, "kernel")
    shards = [tmp_path / f"{k}.joblib" for k in range(3)]
    for k, shard in enumerate(shards):
        succeed("fit", folder / f"{k + 1}.csv", "--like", first, "-t", "a,b", "-o", shard)
    merged, other = tmp_path / "merged.joblib", tmp_path / "other.joblib"
    report = succeed("merge", first, *shards, "-o", merged).stdout
    assert "2 targets" in report
    succeed("fit", folder / "all.csv", "--like", first, "-o", other)
    close(merged, other)
    stranger = run("merge", shards[0], parent(folder, "kernel", target="a"), "-o", other)
    assert stranger.code == 3
    half = tmp_path / "half.joblib"
    succeed("update", first, folder / "1.csv", "--forget", 0.5, "-o", half)
    sums = models(half).kept
    assert sums is not None
    assert sum(float(one["n"]) for one in sums.sums.sides.values()) == pytest.approx(2 * ROWS * 0.5 + ROWS)


def test_a_row_without_one_target_is_left_out_as_at_a_fit(folder: Path, tmp_path: Path) -> None:
    rows = rows_of(folder / "1.csv")
    holes = [row.rsplit(",", 1)[0] + "," if k % 3 == 0 else row for k, row in enumerate(rows)]
    one, other, both = (tmp_path / f"{name}.joblib" for name in ("one", "other", "both"))
    holed = write(tmp_path / "holes.csv", HEAD, holes)
    notes = succeed("update", parent(folder, "kernel"), holed, "-o", one, "-f", "json").json["notes"]
    assert "20 rows without every target, or of weight 0, left out" in notes
    whole = write(tmp_path / "whole.csv", HEAD, [row for k, row in enumerate(rows) if k % 3])
    succeed("update", parent(folder, "kernel"), whole, "-o", other)
    close(one, other)
    # As a fit leaves them out: the same rows are summed.
    succeed("fit", holed, "-t", "a,b", *FIT, "--variant", "kernel", "-o", both)
    sums = models(both).kept
    assert sums is not None
    assert sums.sums.rows() == 40


def test_gates_are_on_the_worst_target_and_missing_columns_are_named(folder: Path, tmp_path: Path) -> None:
    first, out = parent(folder, "kernel"), tmp_path / "out.joblib"
    rows = [row.split(",") for row in rows_of(folder / "1.csv")]
    odd = write(tmp_path / "odd.csv", HEAD, [",".join([*row[:4], f"{float(row[4]) + 9}"]) for row in rows])
    drift = run("update", first, odd, "--fail-drift", 2, "-o", out)
    assert drift.code == 5
    assert "error of 'b' on the new rows" in drift.stderr
    above = run("update", first, odd, "--fail-above", 0.01, "-o", out)
    assert above.code == 5
    assert "validation error of 'a'" in above.stderr
    bare = write(tmp_path / "bare.csv", "x,z,a", ["1,2,3"])
    missing = run("update", first, bare, "-o", out)
    assert missing.code == 3
    assert "there is no column 'b', a target of this model" in missing.stderr
    assert run("fit", folder / "1.csv", "--like", first, "-t", "a", "-o", out).code == 2
    assert not out.exists()


def test_info_and_a_table_show_history_and_every_target(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.joblib"
    shown = succeed("update", parent(folder, "kernel"), folder / "1.csv", "-o", out).stdout
    assert "60 rows added" in shown
    # Heads of this format do not wrap.
    plain = succeed("update", parent(folder, "kernel"), folder / "1.csv", "-o", out, "-f", "markdown").stdout
    assert "on the new rows" in plain
    document = succeed("info", out, "-f", "json").json
    assert [entry["rows"] for entry in document["history"]] == [2 * ROWS, ROWS]
    assert document["kept_bytes"] > 1000
    told = succeed("info", out).stdout
    assert "updatable" in told
    assert "history" in told
    table = succeed("update", parent(folder, "kernel"), folder / "1.csv", "-o", out, "-f", "csv").stdout
    assert table.splitlines()[0].startswith("target,")
    assert len(table.splitlines()) == 3


def told(made: list[Model]) -> Array:
    return np.column_stack([one.predict(RAW) for one in made])


@pytest.mark.parametrize(
    ("variant", "examples"),
    [("kernel", 3), *(pytest.param(name, 15, marks=pytest.mark.slow) for name in NUMBERS)],
)
def test_any_sequence_of_updates_removals_and_merges_ends_in_the_model_of_the_rows_left(
    folder: Path, variant: str, examples: int
) -> None:
    check_sequences(models(parent(folder, variant)), folder, PARTS, told, examples)


def test_a_file_with_nonsense_among_its_sums_is_no_model(folder: Path) -> None:
    places: list[tuple[object, ...]] = [
        ("kept", "low"),
        ("kept", "high"),
        ("kept", "targets"),
        ("kept", "classes"),
        ("kept", "sample", "y"),
        ("kept", "sides", "train", "By"),
        ("kept", "sides", "train", "yy"),
        ("history", 0, "rows"),
    ]
    for place in places:
        for nonsense in (None, "x", [], [1], 1.5, np.zeros(3)):
            refuse(parent(folder, "kernel"), place, nonsense, TargetModels)
