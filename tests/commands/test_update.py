"""update, merge and fit --like: the model of the sums is the model of the rows, in any order of events."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enrelm_cli.commands.saved import load_model
from enrelm_cli.commands.updating import update as library
from enrelm_cli.commands.updating.sums import Added
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.model import artifact
from enrelm_cli.model.model import Model
from enrelm_cli.model.updating import kept
from enrelm_cli.settings import ReadOptions
from enrelm_cli.types import Array
from tests.cli_runner import run, succeed
from tests.updates import check_sequences, refuse, rows_of, sums_of_parts, write, write_parts

PARTS, ROWS = 5, 60
HEAD = "a,b,c,w,y"
FIT = ("-t", "y", "--variant", "kernel", "--no-tune", "--weight-variance", 0.3, "--bias-variance", 0.2)


def lines(rng: np.random.Generator, rows: int) -> list[str]:
    X = rng.standard_normal((rows, 2))
    level = rng.integers(0, 3, rows)
    w = rng.integers(1, 4, rows)
    y = np.exp(0.5 * np.sin(2.0 * X[:, 0]) + 0.4 * X[:, 1] + 0.3 * level + 0.1 * rng.standard_normal(rows))
    return [f"{a:.6f},{b:.6f},l{c},{n},{t:.6f}" for (a, b), c, n, t in zip(X, level, w, y, strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five tables of different rows, the model of the first, and new rows to predict."""
    where = tmp_path_factory.mktemp("update")
    rng = np.random.default_rng(0)
    parts = [lines(rng, ROWS) for _ in range(PARTS)]
    write_parts(where, HEAD, parts)
    write(where / "first3.csv", HEAD, [row for part in parts[:3] for row in part])
    write(where / "new.csv", HEAD, lines(rng, 40))
    for name, more in (
        ("plain", (*FIT, "--drop", "w")),
        ("weighted", (*FIT, "--weight", "w")),
        ("log", ("-t", "y", "--drop", "w", "--transform", "log", "--tune-steps", 20)),
    ):
        succeed("fit", where / "0.csv", *more, "--updatable", "-o", where / f"{name}.joblib")
    return where


def predictions(model: Path, folder: Path) -> Array:
    out = folder / "out.csv"
    succeed("predict", model, folder / "new.csv", "-o", out)
    return np.asarray(np.genfromtxt(out, skip_header=1))


@pytest.mark.parametrize("name", ["plain", "weighted", "log"])
def test_an_update_is_a_fit_of_all_rows_with_the_same_landmarks(folder: Path, tmp_path: Path, name: str) -> None:
    parent, one, other = folder / f"{name}.joblib", tmp_path / "one.joblib", tmp_path / "other.joblib"
    updated = succeed("update", parent, folder / "1.csv", folder / "2.csv", "-o", one, "--format", "json").json
    fitted = succeed("fit", folder / "first3.csv", "--like", parent, "-o", other, "--format", "json").json
    for fact in ("train_error", "validation_error", "linear_error", "rows", "training_rows", "neurons"):
        assert updated[fact] == pytest.approx(fitted[fact], rel=1e-7)
    np.testing.assert_allclose(predictions(one, folder), predictions(other, folder), rtol=1e-8)
    scores = [load_model(str(path)).intervals.scores for path in (one, other)]
    np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-8)
    assert not np.allclose(predictions(one, folder), predictions(parent, folder), rtol=1e-4)


def test_a_logarithmic_model_is_one(folder: Path) -> None:
    assert load_model(str(folder / "log.joblib")).target_scale.transform == "log"


def test_the_first_fit_is_its_own_like(folder: Path, tmp_path: Path) -> None:
    same = tmp_path / "same.joblib"
    succeed("fit", folder / "0.csv", "--like", folder / "plain.joblib", "-o", same)
    np.testing.assert_allclose(predictions(same, folder), predictions(folder / "plain.joblib", folder), rtol=1e-9)


def test_removing_what_was_added_restores_the_model(folder: Path, tmp_path: Path) -> None:
    parent, more, back = folder / "weighted.joblib", tmp_path / "more.joblib", tmp_path / "back.joblib"
    succeed("update", parent, folder / "1.csv", "-o", more)
    report = succeed("update", more, "--remove", folder / "1.csv", "-o", back, "--format", "json").json
    np.testing.assert_allclose(predictions(back, folder), predictions(parent, folder), rtol=1e-8)
    assert report["rows"] == ROWS
    assert [entry["change"] for entry in report["history"]] == ["fit", "update", "remove"]
    first = succeed("update", more, "--remove", folder / "0.csv", "-o", back, "--format", "json").json
    alone = tmp_path / "alone.joblib"
    succeed("fit", folder / "1.csv", "--like", parent, "-o", alone)
    np.testing.assert_allclose(predictions(back, folder), predictions(alone, folder), rtol=1e-7)
    assert any("are landmarks" in note for note in first["notes"])


def test_models_of_shards_merge_into_the_model_of_all(folder: Path, tmp_path: Path) -> None:
    parent = folder / "plain.joblib"
    shards = [tmp_path / f"{k}.joblib" for k in range(3)]
    for k, shard in enumerate(shards):
        succeed("fit", folder / f"{k}.csv", "--like", parent, "-o", shard)
    merged, whole = tmp_path / "merged.joblib", tmp_path / "whole.joblib"
    succeed("merge", *shards, "-o", merged)
    succeed("fit", folder / "first3.csv", "--like", parent, "-o", whole)
    np.testing.assert_allclose(predictions(merged, folder), predictions(whole, folder), rtol=1e-8)
    succeed("merge", *reversed(shards), "-o", merged)
    np.testing.assert_allclose(predictions(merged, folder), predictions(whole, folder), rtol=1e-8)
    twice = run("merge", shards[0], shards[0], "-o", merged)
    assert twice.code == 3
    assert "would count twice" in twice.stderr
    strangers = run("merge", shards[0], folder / "log.joblib", "-o", merged)
    assert strangers.code == 3
    assert "fit --like" in strangers.stderr


@pytest.fixture(scope="module")
def known(folder: Path) -> tuple[Model, list[Added]]:
    model = load_model(str(folder / "plain.joblib"))
    return model, sums_of_parts(model, folder, PARTS)


def test_any_sequence_of_updates_and_removals_ends_in_the_model_of_the_rows_that_are_left(folder: Path) -> None:
    raw = np.column_stack([np.linspace(-2, 2, 15), np.linspace(2, -2, 15), np.arange(15.0) % 3])
    model = load_model(str(folder / "plain.joblib"))
    check_sequences(model, folder, PARTS, lambda made: made[0].predict(raw), examples=5)


def test_the_sample_depends_on_the_rows_alone(
    known: tuple[Model, list[Added]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST", 50)
    _, parts = known
    samples = [one.sums.sample.thinned() for one in parts]
    one, other = (kept_rows(samples, order) for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1]))
    assert 10 < one.rows <= 50
    assert one.below == other.below
    np.testing.assert_array_equal(one.key, other.key)
    np.testing.assert_array_equal(one.X, other.X)


def kept_rows(samples: list[kept.KeptRows], order: list[int]) -> kept.KeptRows:
    found = samples[order[0]]
    for k in order[1:]:
        found = found.merge(samples[k])
    return found


def test_forgetting_weighs_earlier_rows_down(folder: Path, tmp_path: Path) -> None:
    """As if the earlier rows had had that weight from the start."""
    half, weighted = tmp_path / "half.joblib", tmp_path / "weighted.joblib"
    succeed("update", folder / "plain.joblib", folder / "1.csv", "--forget", 0.5, "-o", half)
    model = load_model(str(folder / "plain.joblib"))
    made = load_model(str(half))
    assert made.kept is not None
    assert made.kept.sums.sample.weight is not None
    assert set(np.unique(made.kept.sums.sample.weight)) == {0.5, 1.0}
    n = sum(float(one["n"]) for one in made.kept.sums.sides.values())
    assert n == pytest.approx(1.5 * ROWS)
    assert model.card.validation_error != made.card.validation_error
    refused = run("update", half, "--remove", folder / "1.csv", "-o", weighted)
    assert refused.code == 2
    assert "--forget" in refused.stderr


def test_updates_at_once_do_not_lose_one_another(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.joblib"
    model.write_bytes((folder / "plain.joblib").read_bytes())

    def add(k: int) -> None:
        library.update(library.Wanted(str(model), (str(folder / f"{k}.csv"),)), ReadOptions(), LocalEngine(1))

    threads = [threading.Thread(target=add, args=(k,)) for k in range(1, PARTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = tmp_path / "whole.joblib"
    succeed("fit", folder / "all.csv", "--like", folder / "plain.joblib", "-o", whole)
    np.testing.assert_allclose(predictions(model, folder), predictions(whole, folder), rtol=1e-8)
    assert len(load_model(str(model)).history) == PARTS


def test_gates_leave_the_model_as_it_was(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.joblib"
    model.write_bytes((folder / "plain.joblib").read_bytes())
    shifted = write(tmp_path / "odd.csv", HEAD, [f"{k / 10},0,l0,1,{50 + k}" for k in range(30)])
    for gate in (("--fail-drift", 2), ("--fail-above", 0.01)):
        outcome = run("update", model, shifted, *gate)
        assert outcome.code == 5
        assert "not updated" in outcome.stderr
        assert model.read_bytes() == (folder / "plain.joblib").read_bytes()
    report = succeed("update", model, folder / "1.csv", "--fail-drift", 2, "--format", "json").json
    assert report["drift"] < 2.0
    assert report["model"] == str(model)


def test_what_cannot_be_updated_says_why(folder: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.joblib"
    succeed("fit", folder / "0.csv", *FIT, "-o", plain)
    for words, code, told in (
        (("update", plain, folder / "1.csv"), 2, "--updatable"),
        (("update", folder / "plain.joblib"), 2, "nothing to do"),
        (("update", folder / "plain.joblib", "--remove", folder / "4.csv"), 3, "not among the rows"),
        (("fit", folder / "0.csv", "-t", "y", "--updatable", "--time", "a"), 2, "hash of their inputs"),
        (("fit", folder / "0.csv", "-t", "y", "--updatable", "--folds", 5), 2, "hash of their inputs"),
        (("fit", folder / "0.csv", *FIT, "--updatable", "--split", "shuffle"), 2, "hash of their inputs"),
        (("fit", folder / "0.csv", "-t", "a", "--like", folder / "plain.joblib"), 2, "leave out the options"),
        (("merge", folder / "plain.joblib", "-o", tmp_path / "x.joblib"), 2, "two models or more"),
        (("merge", "a", "b", "-o", tmp_path / "x.joblib", "--engine", "dask"), 2, "no rows for a cluster"),
    ):
        outcome = run(*words)
        assert (outcome.code, told in outcome.stderr) == (code, True), outcome.stderr
    bare = write(tmp_path / "bare.csv", "a,b,c", ["1,2,l0"])
    no_target = run("update", folder / "plain.joblib", bare)
    assert no_target.code == 3
    assert "there is no column 'y'" in no_target.stderr


def test_levels_that_the_model_has_not_seen_and_rows_added_twice_are_told(folder: Path, tmp_path: Path) -> None:
    odd = write(tmp_path / "odd.csv", HEAD, [f"{k / 10},{k / 7},other,1,{1 + k / 9}" for k in range(20)])
    out = tmp_path / "o.joblib"
    notes = succeed("update", folder / "plain.joblib", odd, "-o", out, "--format", "json").json["notes"]
    assert any("'other'" in note for note in notes)
    succeed("update", folder / "plain.joblib", folder / "1.csv", "-o", out)
    again = succeed("update", out, folder / "1.csv", "--format", "json").json
    assert any("count twice" in note for note in again["notes"])


def test_info_shows_the_history_and_what_is_kept(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.joblib"
    succeed("update", folder / "plain.joblib", folder / "1.csv", "-o", out)
    told = succeed("info", out).stdout
    assert "updatable" in told
    assert "history" in told
    document = succeed("info", out, "--format", "json").json
    assert [entry["rows"] for entry in document["history"]] == [ROWS, ROWS]
    assert document["kept_bytes"] > 1000
    assert document["data"]["rows"] == 2 * ROWS
    explained = succeed("predict", out, folder / "new.csv", "--explain").stdout
    assert "effect_a" in explained


def test_a_file_with_nonsense_among_its_sums_is_no_model(folder: Path, tmp_path: Path) -> None:
    sound = artifact.load(str(folder / "weighted.joblib"))
    paths = [*_paths(sound["kept"], ("kept",)), *_paths(sound["history"][0], ("history", 0))]
    assert len(paths) > 30
    for path in paths:
        place: Any = sound
        for key in path:
            place = place[key]
        for nonsense in (None, "x", [], -1e999):
            if (path[-1] == "weight" and nonsense is None) or (type(place) is list and nonsense == []):
                continue  # rows without weights are sound; so is what was there
            if path[-1] in ("change", "hash") and nonsense == "x":
                continue
            refuse(folder / "weighted.joblib", path, nonsense)


def _paths(value: Any, trail: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [path for key, one in value.items() for path in _paths(one, (*trail, key))]
    return [trail]


def test_an_updatable_model_from_disk_is_that_of_memory(folder: Path, tmp_path: Path) -> None:
    one, other = (
        succeed("fit", folder / "first3.csv", *FIT, "--drop", "w", "--updatable", "--format", "json", *more).json
        for more in ((), ("--memory", "1K"))
    )
    assert one["validation_error"] == pytest.approx(other["validation_error"], rel=1e-7)


def test_a_scaled_sum_is_the_sum_of_scaled_rows(known: tuple[Model, list[Added]]) -> None:
    sums = known[1][0].sums
    twice = sums.scaled(0.5).merge(replace(sums, sample=replace(sums.sample, below=sums.sample.below)).scaled(0.5))
    for side, one in sums.sides.items():
        np.testing.assert_allclose(twice.sides[side]["BB"], one["BB"], rtol=1e-12)
        assert twice.sides[side]["rows"] == 2 * one["rows"]


def test_a_cluster_sums_new_rows_to_the_same_model(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    here, there = tmp_path / "here.joblib", tmp_path / "there.joblib"
    succeed("update", folder / "plain.joblib", folder / "1.csv", "-o", here)
    succeed("update", folder / "plain.joblib", folder / "1.csv", "-o", there, "--engine", "dask")
    np.testing.assert_allclose(predictions(here, folder), predictions(there, folder), rtol=1e-9)


def test_a_target_that_is_no_number_is_an_error_and_not_a_row_left_out(folder: Path, tmp_path: Path) -> None:
    rows = rows_of(folder / "1.csv")
    typo = write(tmp_path / "typo.csv", HEAD, [*rows[:3], rows[3].rsplit(",", 1)[0] + ",oops", *rows[4:]])
    out = tmp_path / "updated.joblib"
    result = run("update", folder / "plain.joblib", typo, "-o", out)
    assert result.code == 3
    assert "line 5" in result.stderr
    assert "'oops' in column 'y' is not a number" in result.stderr
    assert not out.exists()
    infinite = write(tmp_path / "infinite.csv", HEAD, [*rows[:3], rows[3].rsplit(",", 1)[0] + ",inf", *rows[4:]])
    result = run("update", folder / "plain.joblib", infinite, "-o", out)
    assert result.code == 3
    assert "line 5: 'inf' in column 'y' is infinite" in result.stderr
    assert not out.exists()
    missing = write(tmp_path / "missing.csv", HEAD, [*rows[:3], rows[3].rsplit(",", 1)[0] + ",", *rows[4:]])
    succeed("update", folder / "plain.joblib", missing, "-o", out)
