"""scikit-learn's own checks, for every variant, and its tools around the estimator."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from enrelm import EnrelmClassifier, EnrelmRegressor
from enrelm_cli.variants import VARIANTS, named

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.compose import TransformedTargetRegressor  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

# Small budgets: the checks ask how an estimator behaves, not how well it predicts.
QUICK: dict[str, Any] = {"tune": False, "target_transform": "none", "max_neurons": 20, "threads": 1}
OLD = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 6)  # tags and expected failures are of another kind
# Whole weights equal repeated rows under one split (tests/variants/test_weights.py). Here the rows are counted to split
# them, so that twelve rows and their copies are held out differently.
OTHER_SPLIT = "the share of held-out rows goes by rows, so that repeated rows are split otherwise than weighted ones"
EXPECTED = dict.fromkeys(
    ("check_sample_weight_equivalence", "check_sample_weight_equivalence_on_dense_data"), OTHER_SPLIT
)


def expected(estimator: Any) -> dict[str, str]:
    return EXPECTED


CHECKS = parametrize_with_checks(
    [
        *(EnrelmRegressor(variant=variant, **QUICK) for variant in VARIANTS if named(variant).numbers),
        *(EnrelmClassifier(variant=variant, **QUICK) for variant in ("kernel", "logistic")),
    ],
    **({} if OLD else {"expected_failed_checks": expected}),
)


# Before 1.8 they are a generator, which pytest 9 warns about.
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    if OLD and check.func.__name__ in EXPECTED:
        pytest.xfail(EXPECTED[check.func.__name__])
    check(estimator)


@pytest.fixture
def rows() -> tuple[Any, Any]:
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 3))
    return X, np.sin(X[:, 0]) + X[:, 1]


def test_neurons_are_searched_on_a_grid(rows: tuple[Any, Any]) -> None:
    search = GridSearchCV(EnrelmRegressor(variant="approximate", **QUICK), {"neurons": [1, 8]}, cv=3).fit(*rows)
    assert search.best_params_ == {"neurons": 8}
    assert search.best_estimator_.neurons_ == 8


def test_an_estimator_works_in_pipelines_cross_validation_and_around_targets(rows: tuple[Any, Any]) -> None:
    model = make_pipeline(StandardScaler(), EnrelmRegressor(variant="kernel", **QUICK))
    around = TransformedTargetRegressor(model, transformer=StandardScaler())
    assert cross_val_score(around, *rows, cv=3).mean() > 0.7


def test_a_pipeline_may_hand_over_data_frames(rows: tuple[Any, Any]) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows[0], columns=["a", "b", "c"])
    model = make_pipeline(StandardScaler(), EnrelmRegressor(variant="kernel", **QUICK)).set_output(transform="pandas")
    model.fit(frame, rows[1])
    assert model[-1].feature_names_in_.tolist() == ["a", "b", "c"]


def test_clones_have_the_parameters_and_are_not_fitted(rows: tuple[Any, Any]) -> None:
    model = EnrelmRegressor(variant="kernel", drop=["x0"], **QUICK).fit(*rows)
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert not hasattr(other, "model_")


def test_copies_by_pickle_predict_the_same(rows: tuple[Any, Any]) -> None:
    model = EnrelmRegressor(variant="kernel", **QUICK).fit(*rows)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(rows[0]), model.predict(rows[0]))


@pytest.mark.slow
def test_rows_are_fitted_in_other_processes(rows: tuple[Any, Any]) -> None:
    joblib = pytest.importorskip("joblib")
    model = EnrelmRegressor(variant="approximate", **QUICK)
    with joblib.parallel_config("loky", n_jobs=2):
        together = cross_val_score(model, *rows, cv=2)
    assert np.array_equal(together, cross_val_score(model, *rows, cv=2))


def test_weights_and_groups_are_routed(rows: tuple[Any, Any]) -> None:
    requests = EnrelmRegressor().get_metadata_routing()
    assert {"sample_weight", "groups"} <= requests.fit.requests.keys()
