"""Contributions add up, are the parts of additive functions, and equal a slow walk along the path."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.commands import fit
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.model.explanation import contributions as ours
from enrelm_cli.model.explanation.columns import ExplainedRows
from enrelm_cli.model.explanation.gradients import smooth_parts
from enrelm_cli.model.model import Model
from enrelm_cli.settings import (
    DataSettings,
    EngineSettings,
    InputSettings,
    KernelSettings,
    MethodSettings,
    Roles,
    SplitSettings,
)
from enrelm_cli.table.memory import array_columns, arrow_source
from enrelm_cli.types import Array

FOLDER = Path(__file__).parents[3] / "sample_data"


def fitted(data: DataSettings, variant: str, method: MethodSettings) -> Model:
    return fit.fit(data, SplitSettings(), method, EngineSettings(threads=1), variant, LocalEngine(1))[1]


@cache
def model(variant: str, transform: str = "none") -> Model:
    """Of a table with numbers, levels, dates and missing cells."""
    data = DataSettings((str(FOLDER / "houses.csv"),), Roles("price", drop=("house_id",)))
    method = MethodSettings(kernel=KernelSettings(tune=False), inputs=InputSettings(transform=transform), leaf_rows=150)
    return fitted(data, variant, method)


def raw_rows(model: Model, rows: int = 60) -> Array:
    """Some rows of the model's own columns, missing cells and unseen levels among them."""
    random = np.random.default_rng(5)
    X = np.empty((rows, len(model.encoding.columns)))
    for k, column in enumerate(model.encoding.columns):
        if column.levels is None:
            X[:, k] = random.uniform(column.lowest, column.highest, rows)
        else:
            X[:, k] = random.integers(-1, len(column.levels), rows)
    X[::7, 1] = np.nan
    return X


MODELS = [("approximate", "none"), ("incremental", "none"), ("kernel", "none"), ("local", "none"), ("kernel", "log")]


@pytest.mark.parametrize(("variant", "transform"), MODELS)
def test_contributions_add_up_to_the_prediction_less_the_average(variant: str, transform: str) -> None:
    found = model(variant, transform)
    assert found.reference is not None
    X = raw_rows(found)
    y, effects, average = ours.contributions(found, X, found.reference)
    np.testing.assert_array_equal(y, found.predict(X))
    np.testing.assert_allclose(effects.sum(axis=1), y - average, atol=1e-9 * np.abs(y).max())


@pytest.mark.parametrize("variant", ["approximate", "kernel", "local"])
def test_slopes_equal_differences_of_the_prediction(variant: str) -> None:
    found = model(variant)
    inputs = found.input_map.inputs(raw_rows(found, 12))
    step = 1e-5
    for part in smooth_parts(found.network, inputs):
        near = inputs[part.places]
        got = part.slopes(near)
        for k in range(0, near.shape[1], 5):
            move = np.zeros(near.shape[1])
            move[k] = step
            both = found.network.predict(near + move) - found.network.predict(near - move)
            # A cut between two leaves is a step: the rows beside one have no slope there.
            smooth = np.abs(both / (2 * step) - got[:, k]) < 1e-6
            assert smooth.mean() > (0.9 if variant == "local" else 0.999)


def test_contributions_equal_a_slow_walk_with_many_small_steps() -> None:
    found = model("kernel")
    X = raw_rows(found, 10)
    inputs = found.input_map.inputs(X)
    groups, steps = np.asarray(found.input_map.groups), 400
    walked = np.zeros(X.shape)
    for t in (np.arange(steps) + 0.5) / steps:
        for k in range(X.shape[1]):
            move = np.where(groups == k, inputs, 0.0) / (2 * steps)
            walked[:, k] += found.network.predict(t * inputs + move) - found.network.predict(t * inputs - move)
    _, effects = ours.path_effects(found, X)
    scale = found.target_scale.scale
    # Predictions that are clipped to the range of the target have smaller effects.
    inside = np.abs(found.predict(X) - found.target_scale.mean - scale * found.network.predict(inputs)) < 1e-9 * scale
    assert inside.sum() >= 7
    np.testing.assert_allclose(effects[inside], walked[inside], atol=2e-3)


def test_effects_of_an_additive_table_are_its_parts() -> None:
    random = np.random.default_rng(6)
    X = random.uniform(-1.0, 1.0, (300, 3))
    parts = np.column_stack([2.0 * X[:, 0], np.sin(3.0 * X[:, 1]), X[:, 2] ** 2])
    columns = array_columns(np.column_stack([X, parts.sum(axis=1)]), ("a", "b", "c", "y"))
    data = DataSettings(("table",), Roles("y"), frame=arrow_source("table", columns))
    found = fitted(data, "kernel", MethodSettings())
    assert found.reference is not None
    _, effects, average = ours.contributions(found, X, found.reference)
    wanted = parts - parts.mean(axis=0)
    assert np.sqrt(np.mean((effects - wanted) ** 2, axis=0)).max() < 0.06  # of parts that spread by 1.15, 0.75, 0.3
    assert abs(average - parts.sum(axis=1).mean()) < 0.03


def test_a_column_s_effects_are_zero_on_average_over_the_sample() -> None:
    found = model("kernel")
    X = raw_rows(found)
    reference = ours.reference_of(found, X)
    _, effects, _ = ours.contributions(found, X, reference)
    np.testing.assert_allclose(effects.mean(axis=0), 0.0, atol=1e-9 * found.target_scale.scale)


def test_the_largest_effects_and_the_rest_add_up_too() -> None:
    found = model("kernel")
    X = raw_rows(found)
    y, (average, *columns) = ExplainedRows.of(found, 2)(X)
    np.testing.assert_allclose(average + columns[1] + columns[3] + columns[4], y, rtol=1e-12)
    assert (np.abs(columns[1]) >= np.abs(columns[3])).all()
    assert set(columns[0]) <= {column.name for column in found.encoding.columns}
    every = ExplainedRows.of(found, 1000)
    assert every.top == len(ours.used_columns(found))


def test_a_model_without_a_reference_cannot_explain() -> None:
    with pytest.raises(Exception, match="could not explain"):
        ExplainedRows.of(replace(model("kernel"), reference=None))
