"""Effects equal the functions that made the table, within their band; pairs are those that do not add up."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from enrelm_cli.commands import fit
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.judge.explanation.effects import Effect, Moved, Posterior, effect_of
from enrelm_cli.judge.explanation.gather import Sample
from enrelm_cli.judge.explanation.pairs import pairs
from enrelm_cli.judge.explanation.residuals import binned
from enrelm_cli.model.model import Model
from enrelm_cli.settings import DataSettings, EngineSettings, KernelSettings, MethodSettings, Roles, SplitSettings
from enrelm_cli.table.memory import array_columns, arrow_columns, arrow_source
from enrelm_cli.types import Array


def fitted(columns: object, variant: str = "kernel", tune: bool = True) -> Model:
    data = DataSettings(("table",), Roles("y"), frame=arrow_source("table", columns))
    method = MethodSettings(kernel=KernelSettings(tune=tune))
    return fit.fit(data, SplitSettings(), method, EngineSettings(threads=1), variant, LocalEngine(1))[1]


@cache
def friedman() -> tuple[Model, Array]:
    """Friedman's first function with noise, five columns that matter and one that does not."""
    random = np.random.default_rng(11)
    X = random.uniform(size=(400, 6))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    names = ("x1", "x2", "x3", "x4", "x5", "x6", "y")
    return fitted(array_columns(np.column_stack([X, y + random.normal(size=400)]), names)), X


def effect(model: Model, X: Array, column: int, partial_dependence: bool = False) -> Effect:
    found = effect_of(Moved(model, Posterior.of(model, X)), X, column, partial_dependence)
    assert found is not None
    return found


TRUTHS: list[tuple[int, Callable[[Array], Array]]] = [
    (2, lambda x: 20 * (x - 0.5) ** 2),
    (3, lambda x: 10 * x),
    (4, lambda x: 5 * x),
    (5, lambda x: 0 * x),
]


@pytest.mark.parametrize(("column", "truth"), TRUTHS)
@pytest.mark.parametrize("partial_dependence", [False, True])
def test_effects_on_friedmans_table_are_its_functions_within_the_band(
    column: int, truth: Callable[[Array], Array], partial_dependence: bool
) -> None:
    model, X = friedman()
    found = effect(model, X, column, partial_dependence)
    wanted = truth(found.values) - truth(X[:, column]).mean()
    inside = np.abs(found.effect - wanted) <= found.band
    assert inside.mean() >= 0.9
    assert found.band.max() < 2.0  # of effects that reach from -5 to 5


def test_an_effect_in_an_interaction_is_its_average() -> None:
    model, X = friedman()
    found = effect(model, X, 0)
    other = np.linspace(0.0, 1.0, 2001)
    # The derivative along x1, averaged over x2, and summed up.
    mean = np.array([np.mean(10 * np.sin(np.pi * x * other)) for x in found.values])
    wanted = mean - np.interp(X[:, 0], found.values, mean).mean()
    assert np.abs(found.effect - wanted).max() < 1.2


def test_the_strongest_pair_is_the_one_that_does_not_add_up() -> None:
    model, X = friedman()
    found = pairs(model.predict, X, range(6))
    assert {found[0].first, found[0].second} == {0, 1}
    assert found[0].strength > 4 * found[1].strength
    wanted = 10 * np.sin(np.pi * X[:, 0] * X[:, 1])
    main = [10 * np.mean(np.sin(np.pi * np.outer(X[:, k], np.linspace(0, 1, 501))), axis=1) for k in (0, 1)]
    assert found[0].strength == pytest.approx((wanted - main[0] - main[1]).std(), rel=0.35)


def test_effects_of_levels_and_numbers_of_an_additive_table_are_its_parts() -> None:
    random = np.random.default_rng(12)
    size = random.uniform(0.0, 4.0, 300)
    # Large ones are mostly red: what colour adds must not be what size adds.
    colour = np.where(random.uniform(size=300) < size / 5, "red", np.where(size % 1 < 0.5, "green", "blue"))
    add = {"red": 3.0, "green": -1.0, "blue": 0.5}
    y = size**2 + np.array([add[one] for one in colour])
    table = pa.table({"colour": colour, "size": size, "y": y})
    model = fitted(arrow_columns(table))
    places = {level: k for k, level in enumerate(model.encoding.columns[0].levels or ())}
    X = np.column_stack([[places[one] for one in colour], size])
    levels = effect(model, X, 0)
    names = [(model.encoding.columns[0].levels or ())[int(value)] for value in levels.values]
    assert names == ["green", "blue", "red"]  # by effect
    np.testing.assert_allclose(np.diff(levels.effect), [1.5, 2.5], atol=0.3)
    assert levels.rows.sum() == 300
    number = effect(model, X, 1)
    wanted = number.values**2 - np.mean(size**2)
    assert np.abs(number.effect - wanted).max() < 0.5


def test_any_order_of_the_rows_gives_the_same_sample() -> None:
    random = np.random.default_rng(13)
    X, y = random.normal(size=(50, 3)), random.normal(size=50)
    order = random.permutation(50)
    first, second = Sample.of(X, y, y), Sample.of(X[order], y[order], y[order])
    np.testing.assert_array_equal(first.X, second.X)
    half = Sample.of(X[:20], y[:20], y[:20]).merge(Sample.of(X[20:], y[20:], y[20:]))
    np.testing.assert_array_equal(first.X, half.X)


def test_the_posterior_is_the_leverage_of_the_variant() -> None:
    """var f(x_i) = sigma^2 h_i: the dense formula K (K + alpha I)^-1 of the centred kernel of all rows."""
    model, X = friedman()
    posterior = Posterior.of(model, X)
    assert posterior is not None
    features, facts = posterior.features, model.network.facts or {}
    inputs = model.input_map.inputs(X)
    K = features.kernel.gram(inputs, inputs)
    centre = np.eye(len(X)) - 1.0 / len(X)
    centred = centre @ K @ centre
    h = np.diag(centred @ np.linalg.inv(centred + facts["alpha"] * np.eye(len(X))))
    phi = features.outputs(inputs)
    scale = facts["leave_one_out_error"] * model.target_scale.scale
    np.testing.assert_allclose(np.square(phi) @ posterior.gain, scale**2 * h, rtol=0.02)


def test_other_variants_have_a_band_of_rows_alone() -> None:
    random = np.random.default_rng(14)
    X = random.uniform(size=(120, 2))
    model = fitted(array_columns(np.column_stack([X, X[:, 0] + X[:, 1] ** 2]), ("a", "b", "y")), "approximate")
    assert Posterior.of(model, X) is None
    found = effect(model, X, 0)
    assert (np.diff(found.effect) > 0).all()


def test_a_column_of_one_value_has_no_effect() -> None:
    model, X = friedman()
    assert effect_of(Moved(model, None), np.repeat(X[:1], 9, axis=0), 0, False) is None


def test_residuals_are_averaged_by_tenths_and_by_levels() -> None:
    values, residuals = np.arange(100.0), np.where(np.arange(100) < 50, -1.0, 1.0)
    tenths = binned(values, residuals, False)
    assert sum(one.rows for one in tenths) == 100
    assert tenths[0].mean == -1.0
    assert tenths[-1].mean == 1.0
    levels = binned(np.array([0.0, 0.0, 1.0, np.nan]), np.array([1.0, 3.0, 5.0, 9.0]), True)
    assert [(one.rows, one.mean) for one in levels] == [(2, 2.0), (1, 5.0)]
