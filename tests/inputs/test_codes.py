"""Numbers that are names: which they are, what becomes of them, and that others are left alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.inputs.encoding import Column
from enrelm_cli.inputs.maps.codes import CodeIndicators, CodeMeans, code_map, codes_in, codes_of
from enrelm_cli.inputs.maps.input_map import _map_of
from enrelm_cli.inputs.maps.levels import PRIOR, code_places
from enrelm_cli.table.kinds import Kind
from enrelm_cli.types import Array
from tests.cli_runner import succeed

NUMBER = Column("x", Kind.NUMBER, None, 0.0, False)


def test_only_many_whole_numbers_of_several_rows_each_may_be_names() -> None:
    people, shops = np.repeat(np.arange(300.0), 4), np.repeat(np.arange(60.0), 20)
    assert codes_in(people) is not None
    assert codes_in(np.append(people, np.nan)) is not None
    assert codes_in(np.arange(300.0)) is None  # all different
    assert codes_in(np.repeat(np.arange(20.0), 50)) is None  # so few that they are indicators anyway
    assert codes_in(people + 0.5) is None
    apart, means = codes_in(shops), codes_in(people)
    assert apart is not None
    assert means is not None
    assert (apart.apart, means.apart) == (True, False)


def test_a_value_that_the_fit_never_saw_and_a_missing_cell_have_places_of_their_own() -> None:
    values = np.array([3.0, 7.0, 100.0])
    np.testing.assert_array_equal(
        code_places(np.array([7.0, np.nan, 8.0, -1.0, 100.0, 1e9]), values), [1, 3, 4, 4, 2, 4]
    )


def sums_of(codes: Array, y: Array, values: Array, folds: int = 10) -> Array:
    place, fold = code_places(codes, values), np.arange(len(codes)) % folds
    sums = np.zeros((2, len(values) + 2, folds))
    np.add.at(sums[0], (place, fold), 1.0)
    np.add.at(sums[1], (place, fold), y)
    return sums


def test_the_mean_of_a_value_is_shrunken_and_a_training_row_does_not_see_its_own_fold() -> None:
    rng = np.random.default_rng(0)
    raw, y = np.repeat(np.arange(300.0), 4), rng.standard_normal(1200)
    codes = codes_in(raw)
    assert codes is not None
    one = code_map(0, codes, sums_of(raw, y, codes.values))
    assert isinstance(one, CodeMeans)
    out, fold = np.empty((1200, 2)), np.arange(1200) % 10
    one.write(raw, None, out)
    assert out[5, 0] == pytest.approx(y[raw == raw[5]].sum() / (4 + PRIOR))
    one.write(raw, fold, out)
    others = (raw == raw[5]) & (fold != fold[5])
    assert out[5, 0] == pytest.approx(y[others].sum() / (others.sum() + PRIOR))
    one.write(np.array([1e6]), None, out[:1])
    assert out[0].tolist() == [0.0, 0.0]  # the average row


@pytest.mark.parametrize("each", [4, 20])
def test_maps_come_back_from_their_document(each: int) -> None:
    raw = np.repeat(np.arange(60.0 if each == 20 else 300.0), each)
    codes = codes_in(raw)
    assert codes is not None
    one = code_map(0, codes, sums_of(raw, np.sin(raw), codes.values))
    back = _map_of(one.to_document())
    back.check(NUMBER)
    assert type(back) is type(one)
    new = np.array([3.0, np.nan, 1e9])
    there, here = np.empty((3, one.width)), np.empty((3, one.width))
    one.write(new, None, there)
    back.write(new, None, here)
    np.testing.assert_array_equal(there, here)
    found = codes_of(back)
    assert found is not None
    assert found.apart is isinstance(one, CodeIndicators)


def table(folder: Path, effect: float, seed: int = 1) -> Path:
    """150 people with six rows each, and what they earn beside a smooth effect."""
    rng = np.random.default_rng(seed)
    person, x = np.repeat(np.arange(150), 6), rng.standard_normal(900)
    own = effect * rng.standard_normal(150)
    y = np.sin(2.0 * x) + own[person] + 0.3 * rng.standard_normal(900)
    path = folder / "t.csv"
    rows = "".join(f"{1000 + 7 * int(a)},{b!r},{c!r}\n" for a, b, c in zip(person, x.tolist(), y.tolist(), strict=True))
    path.write_text("person,x,y\n" + rows, encoding="utf-8")
    return path


def fit(path: Path, *words: object) -> dict[str, object]:
    common = ("-t", "y", "--variant", "kernel", "--folds", 1, "-o", path.parent / "m.joblib", "--format", "json")
    report = succeed("fit", path, *common, *words).json
    details = {one["name"]: one["details"] for one in report["columns"]}
    return {"error": report["validation_error"], "person": details["person"]}


def test_people_who_differ_are_told_apart_and_new_ones_are_average(tmp_path: Path) -> None:
    path = table(tmp_path, effect=1.0)
    found = fit(path)
    assert "mean target of a value" in str(found["person"])
    (tmp_path / "new.csv").write_text("person,x\n99999,0\n,0\n1000.5,0\n", encoding="utf-8")
    lines = succeed("predict", tmp_path / "m.joblib", tmp_path / "new.csv").stdout.splitlines()[1:]
    assert np.abs(np.array(lines, dtype=float)).max() < 1.0


def test_people_who_do_not_differ_are_numbers(tmp_path: Path) -> None:
    assert "mean target" not in str(fit(table(tmp_path, effect=0.0))["person"])
