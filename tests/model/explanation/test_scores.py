"""Scores of classes say their probabilities, and their contributions add up, whatever the variant."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.errors import UsageError
from enrelm_cli.model.classes import labels, log_softmax
from enrelm_cli.model.explanation.columns import ExplainedClasses
from enrelm_cli.model.explanation.contributions import contributions, path_effects, reference_of
from enrelm_cli.model.explanation.scores import places, score_model, scores
from enrelm_cli.model.model import Model
from enrelm_cli.settings import DataSettings, KernelSettings, MethodSettings, Roles
from enrelm_cli.table.memory import array_columns, arrow_source
from enrelm_cli.types import Array
from tests.model.explanation.test_contributions import FOLDER, fitted, raw_rows

VARIANTS = ["approximate", "kernel", "local", "logistic"]


@cache
def model(variant: str, target: str = "heating") -> Model:
    """Heating has three classes."""
    data = DataSettings((str(FOLDER / "houses.csv"),), Roles(target, drop=("house_id", "price")))
    return fitted(data, variant, MethodSettings(kernel=KernelSettings(tune=False), leaf_rows=150))


@cache
def two(folder: Path, variant: str) -> Model:
    data = DataSettings((str(folder / "two.csv"),), Roles("dear"))
    return fitted(data, variant, MethodSettings(kernel=KernelSettings(tune=False), leaf_rows=150))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of two classes with unequal shares."""
    random = np.random.default_rng(3)
    X = random.uniform(-1.0, 1.0, (300, 3))
    dear = X[:, 0] + X[:, 1] ** 2 + 0.3 * random.standard_normal(300) > 0.5
    folder = tmp_path_factory.mktemp("scores")
    lines = [f"{a},{b},{c},{'yes' if d else 'no'}" for (a, b, c), d in zip(X, dear, strict=True)]
    (folder / "two.csv").write_text("\n".join(["a,b,c,dear", *lines]) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_of_classes_are_centred_log_probabilities(variant: str) -> None:
    found = model(variant)
    X = raw_rows(found)
    log_p = np.log(found.probabilities(X))
    np.testing.assert_allclose(scores(found, X), log_p - log_p.mean(axis=1, keepdims=True), atol=1e-8)
    np.testing.assert_allclose(np.exp(log_softmax(scores(found, X))), found.probabilities(X), atol=1e-8)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_score_of_two_classes_is_the_log_odds_of_the_second(folder: Path, variant: str) -> None:
    found = two(folder, variant)
    X = raw_rows(found, 40)
    p = found.probabilities(X)
    np.testing.assert_allclose(scores(found, X)[:, 0], np.log(p[:, 1]) - np.log(p[:, 0]), atol=1e-8)


def parts_of(found: Model, X: Array) -> list[tuple[Array, Array, float]]:
    models = [score_model(found, place) for place in places(found)]
    return [contributions(one, X, one.reference) for one in models if one.reference is not None]


@pytest.mark.parametrize("variant", VARIANTS)
def test_contributions_to_a_score_add_up(folder: Path, variant: str) -> None:
    for found in (model(variant), two(folder, variant)):
        X = raw_rows(found)
        parts = parts_of(found, X)
        assert len(parts) == len(places(found))
        for score, effects, average in parts:
            np.testing.assert_allclose(average + effects.sum(axis=1), score, atol=1e-8)


def test_contributions_to_all_scores_cancel() -> None:
    """Scores sum to zero, and so does what a column adds to them, as far as the walk is exact."""
    found = model("kernel")
    X = raw_rows(found)
    every = [path_effects(score_model(found, place), X)[1] * score_model(found, place).target_scale.scale
             for place in places(found)]  # fmt: skip
    np.testing.assert_allclose(np.sum(every, axis=0), 0.0, atol=0.01)


def test_contributions_of_logistic_regression_are_its_terms() -> None:
    found = model("logistic")
    one = score_model(found, 1)
    X = raw_rows(found)
    inputs, B = found.input_map.inputs(X), one.network.features.B  # type: ignore[attr-defined]
    groups = np.asarray(found.input_map.groups)
    terms = np.stack([inputs[:, groups == k] @ B[groups == k] for k in range(X.shape[1])], axis=1)
    np.testing.assert_allclose(path_effects(one, X)[1], terms, atol=1e-8)


def test_the_columns_of_predictions_add_up(folder: Path) -> None:
    found = model("kernel")
    X = raw_rows(found)
    label = labels(found.probabilities(X))
    every = ExplainedClasses.of(found)
    values = dict(zip(every.names, every(X, label), strict=True))
    for name in found.classes or ():
        effects = [value for key, value in values.items() if key.startswith(f"effect_{name}_")]
        np.testing.assert_allclose(values[f"average_{name}"] + np.sum(effects, axis=0), values[f"score_{name}"])
    top = ExplainedClasses.of(found, 2)
    largest = dict(zip(top.names, top(X, label), strict=True))
    total = sum(largest[name] for name in ("average", "effect_1", "effect_2", "effect_rest"))
    np.testing.assert_allclose(total, largest["score"])
    np.testing.assert_allclose(largest["score"], scores(found, X)[np.arange(len(X)), label])
    pair = ExplainedClasses.of(two(folder, "kernel"))
    assert pair.names == ("log_odds", "average", "effect_a", "effect_b", "effect_c")


def test_many_classes_are_refused_and_have_no_reference() -> None:
    x = np.random.default_rng(1).uniform(size=400)
    columns = array_columns(np.column_stack([x, np.floor(x * 25.0)]), ("x", "y"))
    data = DataSettings(("table",), Roles("y", task="classification"), frame=arrow_source("table", columns))
    found = fitted(data, "logistic", MethodSettings(kernel=KernelSettings(tune=False)))
    assert found.reference is None
    assert reference_of(found, x[:, None]) is None
    with pytest.raises(UsageError, match="up to 20 classes"):
        ExplainedClasses.of(found)
