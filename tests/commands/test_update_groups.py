"""update, merge and fit --like of models whose groups are held out together; splits that later rows cannot follow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.commands.saved import load_models
from enrelm_cli.inputs.split import Side
from enrelm_cli.model.model import Model
from tests.cli_runner import run, succeed
from tests.updates import NUMBERS, refuse, write, write_parts

FIT = ("-t", "y", "--no-tune", "--weight-variance", 100, "--bias-variance", 0.3, "--updatable")
PARTS, ROWS = 3, 100
RAW = np.column_stack([np.linspace(-2, 2, 20), np.linspace(1, -1, 20)])


def lines(rng: np.random.Generator, rows: int) -> list[str]:
    """Each of 30 people has a place and an effect: near rows of the same person say what no other row does."""
    person = rng.integers(0, 30, rows)
    place, other, effect = np.random.default_rng(9).standard_normal((3, 30))
    a, b = (one[person] + 0.01 * rng.standard_normal(rows) for one in (place, other))
    y = effect[person] + 0.05 * rng.standard_normal(rows)
    return [f"{u:.6f},{v:.6f},p{k},{t:.6f}" for u, v, k, t in zip(a, b, person, y, strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where, rng = tmp_path_factory.mktemp("groups"), np.random.default_rng(2)
    write_parts(where, "a,b,who,y", [lines(rng, ROWS) for _ in range(PARTS)])
    for variant in NUMBERS:
        succeed("fit", where / "0.csv", *FIT, "--variant", variant, "--group", "who", "-o", where / f"{variant}.joblib")
    return where


def model(path: Path) -> Model:
    found = load_models(str(path))
    assert isinstance(found, Model)
    return found


@pytest.mark.parametrize("variant", NUMBERS)
def test_an_update_is_a_fit_of_all_rows_whose_groups_are_held_out_together(
    folder: Path, tmp_path: Path, variant: str
) -> None:
    parent, one, other, back = folder / f"{variant}.joblib", *(tmp_path / f"{k}.joblib" for k in range(3))
    new = [folder / f"{k}.csv" for k in range(1, PARTS)]
    updated = succeed("update", parent, *new, "-o", one, "-f", "json").json
    fitted = succeed("fit", folder / "all.csv", "--like", parent, "-o", other, "-f", "json").json
    np.testing.assert_allclose(model(one).predict(RAW), model(other).predict(RAW), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model(one).intervals.scores, model(other).intervals.scores, rtol=1e-5, atol=1e-8)
    for fact in ("train_error", "validation_error", "training_rows", "validation_rows", "neurons"):
        assert updated[fact] == pytest.approx(fitted[fact], rel=1e-7)
    succeed("update", one, *(word for path in new for word in ("--remove", path)), "-o", back)
    np.testing.assert_allclose(model(back).predict(RAW), model(parent).predict(RAW), rtol=1e-8, atol=1e-10)


def test_a_later_row_of_a_group_falls_on_its_side_and_left_out_errors_leave_out_the_group(
    folder: Path, tmp_path: Path
) -> None:
    grouped, plain, *outs = folder / "kernel.joblib", *(tmp_path / f"{k}.joblib" for k in range(3))
    succeed("fit", folder / "0.csv", *FIT, "--variant", "kernel", "--drop", "who", "-o", plain)
    new = [folder / f"{k}.csv" for k in range(1, PARTS)]
    pairs = zip((plain, grouped), outs, strict=True)
    told = [succeed("update", path, *new, "-o", out, "-f", "json").json for path, out in pairs]
    kept = model(outs[1]).kept
    assert kept is not None
    group = kept.sums.sample.group
    assert group is not None
    sides = kept.hashed.sides_of(group)
    assert not {*group[sides == Side.TRAIN]} & {*group[sides == Side.VALIDATION]}
    assert kept.sums.rows(Side.VALIDATION) == int(np.sum(sides == Side.VALIDATION))
    assert len({*group}) == 30
    # Nobody knows the effect of a person who is held out.
    assert told[1]["validation_error"] > 2.0 * told[0]["validation_error"]
    # People are left out as a whole; where rows are left out one by one, the others tell.
    blind, honest = (model(path).card.facts["leave_one_out_error"] for path in outs)
    assert honest > 2.0 * blind


def test_shards_with_groups_merge_and_missing_columns_are_named(folder: Path, tmp_path: Path) -> None:
    parent, merged, other = folder / "kernel.joblib", tmp_path / "merged.joblib", tmp_path / "other.joblib"
    shards = [tmp_path / f"s{k}.joblib" for k in range(1, PARTS)]
    for k, shard in enumerate(shards):
        succeed("fit", folder / f"{k + 1}.csv", "--like", parent, "-o", shard)
    succeed("merge", parent, *shards, "-o", merged)
    succeed("fit", folder / "all.csv", "--like", parent, "-o", other)
    np.testing.assert_allclose(model(merged).predict(RAW), model(other).predict(RAW), rtol=1e-8, atol=1e-10)
    bare = write(tmp_path / "bare.csv", "a,b,y", ["1,2,3"])
    refused = run("update", parent, bare, "-o", other)
    assert refused.code == 3
    assert "'who'" in refused.stderr
    # Predictions need no group.
    assert succeed("predict", merged, bare).stdout.startswith("prediction")


def test_a_file_with_odd_groups_is_no_model(folder: Path) -> None:
    for place, nonsense in ((("groups",), []), (("groups",), [{"name": 1}]), (("sample", "group"), None)):
        refuse(folder / "kernel.joblib", ("kept", *place), nonsense)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--time", "a"), "--time holds out the latest rows"),
        (("--validation", "1.csv"), "--validation names the files"),
        (("--split", "shuffle"), "--split shuffle deals rows by their place"),
        (("--folds", 5), "--folds sums the rows of each fold"),
        (("--group", "who", "--inputs", "a,b,who"), "'who' is both an input and a --group column"),
    ],
)
def test_splits_that_later_rows_cannot_follow_are_refused_with_the_reason(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...], why: str
) -> None:
    monkeypatch.chdir(folder)
    outcome = run("fit", "0.csv", "-t", "y", "--updatable", *words, "-o", tmp_path / "m.joblib")
    assert outcome.code == 2
    assert why in outcome.stderr
    assert not list(tmp_path.iterdir())
