"""The synthetic tables have the law that the paper states, and are the same every time."""

from __future__ import annotations

import csv
import io
import os
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.commands import synthetic
from enrelm_cli.commands.synthetic import BLOCK, RECIPES, Distribution, Function
from enrelm_cli.errors import UsageError

SAMPLE_DATA = Path(__file__).parents[2] / "sample_data"
MANY = 3 * BLOCK // 2


def test_all_48_have_the_shape_of_their_recipe() -> None:
    assert [recipe.number for recipe in RECIPES] == list(range(1, 49))
    for recipe in RECIPES:
        table = synthetic.generate(recipe.number, seed=5)
        assert table.X.shape == (recipe.rows, recipe.inputs)
        assert table.y.shape == (recipe.rows,)
        assert len(table.names) == recipe.inputs + 1
        assert np.isfinite(table.X).all()
        assert np.isfinite(table.y).all()


@pytest.mark.parametrize(
    ("number", "rows", "inputs", "distribution", "function", "snr"),
    [
        (1, 300, 20, Distribution.UNIFORM, Function.LINEAR, 2),
        (10, 300, 20, Distribution.INDEPENDENT, Function.NETWORK, 10),
        (17, 300, 80, Distribution.TOEPLITZ, Function.LINEAR, 2),
        (32, 1200, 20, Distribution.UNIFORM, Function.NETWORK, 10),
        (48, 1200, 80, Distribution.TOEPLITZ, Function.NETWORK, 10),
    ],
)
def test_numbers_mean_what_the_paper_says(
    number: int, rows: int, inputs: int, distribution: Distribution, function: Function, snr: float
) -> None:
    assert synthetic.recipe(number) == synthetic.Recipe(number, rows, inputs, distribution, function, snr)


@pytest.mark.skipif("ENRELM_PAPER_DATA" not in os.environ, reason="needs ENRELM_PAPER_DATA beside the paper's tables")
def test_the_factorial_list_is_the_papers_list() -> None:
    path = Path(os.environ["ENRELM_PAPER_DATA"]).parent / "paper" / "synthetic.csv"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    words = {"Indep. Gaussian": "independent", "Toepl. Gaussian": "toeplitz", "Shallow NN": "network"}
    with path.open() as stream:
        listed = [
            (
                int(line["dataset"]),
                int(line["rows"]),
                int(line["inputs"]),
                words.get(line["input_distribution"], line["input_distribution"].lower()),
                words.get(line["function"], line["function"].lower()),
                float(line["snr"]),
            )
            for line in csv.DictReader(stream)
        ]
    assert listed == [(r.number, r.rows, r.inputs, r.distribution.value, r.function.value, r.snr) for r in RECIPES]


@pytest.mark.parametrize("number", [25, 28, 30, 31, 34, 36, 48])
def test_signal_to_noise_ratio_is_the_recipes(number: int) -> None:
    table = synthetic.generate(number, seed=2, rows=MANY)
    noise = table.y - table.signal
    ratio = np.var(table.signal) / np.var(noise)
    assert ratio == pytest.approx(synthetic.recipe(number).snr, rel=0.06)
    assert abs(noise.mean()) < 4 * table.noise_std / np.sqrt(MANY)


def test_uniform_inputs_fill_minus_two_pi_to_two_pi_evenly() -> None:
    X = synthetic.generate(1, seed=3, rows=MANY).X
    assert X.min() >= -2 * np.pi
    assert X.max() <= 2 * np.pi
    assert X.max() > 6.28
    np.testing.assert_allclose(X.var(axis=0), (4 * np.pi) ** 2 / 12, rtol=0.04)


def test_independent_inputs_are_standard_and_uncorrelated() -> None:
    X = synthetic.generate(3, seed=3, rows=MANY).X
    np.testing.assert_allclose(np.cov(X.T), np.eye(20), atol=0.05)


def test_toeplitz_inputs_are_correlated_by_rho_to_the_distance() -> None:
    X = synthetic.generate(5, seed=3, rows=MANY).X
    j = np.arange(20)
    np.testing.assert_allclose(np.cov(X.T), 0.8 ** np.abs(j[:, None] - j), atol=0.05)


def test_the_linear_signal_is_linear_and_the_network_is_not() -> None:
    def residual(number: int) -> float:
        table = synthetic.generate(number, seed=4, rows=2000)
        A = np.column_stack([np.ones(2000), table.X])
        coefficients, *_ = np.linalg.lstsq(A, table.signal, rcond=None)
        assert number > 6 or np.abs(coefficients).max() <= 2.0
        return float(np.var(table.signal - A @ coefficients) / np.var(table.signal))

    assert residual(4) < 1e-20
    assert residual(8) > 0.005


def test_the_same_seed_gives_the_same_rows_and_another_seed_others() -> None:
    one, same, other = (synthetic.generate(12, seed) for seed in (7, 7, 8))
    assert np.array_equal(one.X, same.X)
    assert np.array_equal(one.y, same.y)
    assert not np.array_equal(one.X, other.X)


def test_datasets_of_one_seed_share_no_random_numbers() -> None:
    assert not np.array_equal(synthetic.generate(3, 7).X, synthetic.generate(4, 7).X)


@pytest.mark.parametrize("number", [6, 9])
def test_fewer_rows_are_the_first_of_more(number: int) -> None:
    few, more = synthetic.generate(number, 1, rows=BLOCK + 10), synthetic.generate(number, 1, rows=2 * BLOCK)
    assert np.array_equal(few.X, more.X[: BLOCK + 10])
    np.testing.assert_allclose(few.y, more.y[: BLOCK + 10], rtol=1e-12, atol=1e-12)


def test_chunks_are_the_whole_table_in_order() -> None:
    parts = list(synthetic.chunks(2, 1, rows=2 * BLOCK + 3))
    assert [len(part.y) for part in parts] == [BLOCK, BLOCK, 3]
    assert np.array_equal(np.concatenate([part.y for part in parts]), synthetic.generate(2, 1, rows=2 * BLOCK + 3).y)


def test_friedman_is_its_formula_plus_noise() -> None:
    table = synthetic.friedman(MANY, inputs=7, noise=0.5, seed=1)
    x = table.X
    formula = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    np.testing.assert_allclose(table.signal, formula)
    assert np.std(table.y - formula) == pytest.approx(0.5, rel=0.03)
    assert x.shape == (MANY, 7)
    assert x.min() >= 0
    assert x.max() < 1
    assert np.array_equal(synthetic.friedman(9, inputs=7, noise=0.5, seed=1).X, x[:9])


def test_csv_holds_every_row_rounded_with_the_target_last() -> None:
    table = synthetic.generate(7, seed=1, rows=50)
    stream = io.BytesIO()
    synthetic.write_csv(table, stream)
    lines = stream.getvalue().decode().splitlines()
    assert lines[0] == ",".join([*(f"x{j}" for j in range(1, 21)), "y"])
    read = np.array([[float(cell) for cell in line.split(",")] for line in lines[1:]])
    np.testing.assert_allclose(read, np.column_stack([table.X, table.y]), atol=5.1e-7)


def test_csv_without_rounding_keeps_every_bit() -> None:
    table = synthetic.generate(7, seed=1, rows=50)
    stream = io.BytesIO()
    synthetic.write_csv(table, stream, header=False, decimals=None)
    read = np.loadtxt(io.BytesIO(stream.getvalue()), delimiter=",")
    assert np.array_equal(read, np.column_stack([table.X, table.y]))


def test_rounding_leaves_no_negative_zero() -> None:
    table = synthetic.generate(7, seed=1, rows=2)
    stream = io.BytesIO()
    synthetic.write_csv(replace(table, X=np.full((2, 20), -1e-9)), stream)
    assert "-0," not in stream.getvalue().decode()


@pytest.mark.parametrize("number", [0, 49, -1])
def test_an_unknown_number_is_a_usage_error(number: int) -> None:
    with pytest.raises(UsageError, match=str(number)):
        synthetic.generate(number, seed=1)


def test_impossible_sizes_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="at least one row"):
        synthetic.generate(1, seed=1, rows=0)
    with pytest.raises(UsageError, match="at least 5 inputs"):
        synthetic.friedman(10, inputs=4)
    with pytest.raises(UsageError, match="negative"):
        synthetic.friedman(10, noise=-1.0)


def test_the_script_reproduces_the_sample_files_byte_for_byte(tmp_path: Path) -> None:
    script = runpy.run_path(str(SAMPLE_DATA / "make.py"))
    script["main"](tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in SAMPLE_DATA.glob("*.csv")}
    assert sorted(made) == sorted(kept)
    assert [name for name in made if made[name] != kept[name]] == []
    assert max(len(content) for content in made.values()) < 150_000


def test_the_houses_have_text_a_code_dates_and_gaps() -> None:
    with (SAMPLE_DATA / "houses.csv").open(encoding="utf-8", newline="") as stream:
        houses = list(csv.DictReader(stream))
    assert len(houses) == 520
    assert 1 <= sum(house["garden_m2"] == "" for house in houses) <= 60
    assert 1 <= sum(house["heating"] == "" for house in houses) <= 40
    assert len({house["zone"] for house in houses}) == 5
    assert all(int(house["price"]) > 0 for house in houses)
    with (SAMPLE_DATA / "houses_new.csv").open(encoding="utf-8", newline="") as stream:
        new = list(csv.DictReader(stream))
    assert new
    assert "price" not in new[0]
    assert {house["town"] for house in new} <= {house["town"] for house in houses}
