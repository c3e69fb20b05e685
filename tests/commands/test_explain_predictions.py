"""predict --explain: columns beside the predictions that add up."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import pytest

from tests.cli_runner import run, succeed

FOLDER = Path(__file__).parents[2] / "sample_data"
HOUSES, NEW = str(FOLDER / "houses.csv"), str(FOLDER / "houses_new.csv")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("explained") / "model.joblib")
    succeed("fit", HOUSES, "-t", "price", "--drop", "house_id", "--variant", "kernel", "--no-tune", "-o", path)
    return path


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_effects_of_every_column_add_up_to_the_prediction(model: str) -> None:
    plain = rows(succeed("predict", model, NEW).stdout)
    explained = rows(succeed("predict", model, NEW, "--explain").stdout)
    assert [row["prediction"] for row in plain] == [row["prediction"] for row in explained]
    names = [name for name in explained[0] if name.startswith("effect_")]
    assert "effect_area_m2" in names
    assert "effect_listed" in names
    for row in explained:
        parts = float(row["average"]) + sum(float(row[name]) for name in names)
        assert parts == pytest.approx(float(row["prediction"]), rel=1e-9)


def test_the_largest_effects_of_a_row_are_named(model: str) -> None:
    every = rows(succeed("predict", model, NEW, "--explain").stdout)
    some = rows(succeed("predict", model, NEW, "--explain-top", "2", "--id", "house_id").stdout)
    assert list(some[0]) == [
        "house_id", "prediction", "average", "column_1", "effect_1", "column_2", "effect_2", "effect_rest",
    ]  # fmt: skip
    for row, full in zip(some, every, strict=True):
        assert float(full[f"effect_{row['column_1']}"]) == pytest.approx(float(row["effect_1"]), rel=1e-9)
        largest = max(abs(float(value)) for name, value in full.items() if name.startswith("effect_"))
        assert abs(float(row["effect_1"])) == pytest.approx(largest, rel=1e-9)


def test_a_name_that_the_table_has_already_is_kept(model: str, tmp_path: Path) -> None:
    lines = Path(NEW).read_text(encoding="utf-8").splitlines()
    table = tmp_path / "new.csv"
    table.write_text("\n".join([f"average,{lines[0]}", *(f"7,{line}" for line in lines[1:4])]) + "\n", encoding="utf-8")
    found = succeed("predict", model, str(table), "--append", "--explain")
    assert "average_2" in rows(found.stdout)[0]
    assert "ours is called 'average_2'" in found.stderr


def test_effects_of_classes_add_up_to_their_scores(tmp_path: Path) -> None:
    path = str(tmp_path / "heating.joblib")
    succeed("fit", HOUSES, "-t", "heating", "--drop", "house_id,price", "--variant", "logistic", "-o", path)
    every = rows(succeed("predict", path, NEW, "--explain", "--probabilities").stdout)
    classes = [name.removeprefix("p_") for name in every[0] if name.startswith("p_")]
    for row in every:
        total = {}
        for one in classes:
            effects = [float(value) for name, value in row.items() if name.startswith(f"effect_{one}_")]
            total[one] = float(row[f"average_{one}"]) + sum(effects)
            assert total[one] == pytest.approx(float(row[f"score_{one}"]), abs=1e-9)
        whole = sum(math.exp(score) for score in total.values())
        for one in classes:
            assert math.exp(total[one]) / whole == pytest.approx(float(row[f"p_{one}"]), abs=1e-9)
    some = rows(succeed("predict", path, NEW, "--explain-top", "2").stdout)
    assert list(some[0]) == [
        "prediction", "score", "average", "column_1", "effect_1", "column_2", "effect_2", "effect_rest",
    ]  # fmt: skip
    for row, full in zip(some, every, strict=True):
        assert float(row["score"]) == pytest.approx(float(full[f"score_{row['prediction']}"]), abs=1e-9)


def test_no_effect_at_all_is_a_usage_error(model: str) -> None:
    refused = run("predict", model, NEW, "--explain-top", "0")
    assert refused.code == 2
    assert "--explain-top" in refused.stderr
