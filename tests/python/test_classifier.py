"""The estimator of classes: labels as they were given, probabilities, and the files of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import enrelm

QUICK: dict[str, Any] = {"variant": "kernel", "tune": False, "threads": 1}


def rows(seed: int = 0, t: int = 150) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(t, 3))
    return X, np.searchsorted([-0.5, 0.7], X[:, 0] + 0.3 * rng.normal(size=t))


@pytest.mark.parametrize("names", [np.array(["low", "middle", "top"]), np.array([2, 10, 7]), np.array([1.0, 3.0, 2.0])])
def test_labels_come_back_as_they_were_given(names: Any) -> None:
    X, codes = rows()
    y = names[codes]
    model = enrelm.EnrelmClassifier(**QUICK).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(names))
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted, model.classes_[p.argmax(axis=1)])
    assert predicted.dtype == y.dtype
    assert model.score(X, y) > 0.75


def test_a_file_and_a_fit_of_a_table_are_classifiers_too(tmp_path: Path) -> None:
    X, codes = rows(1)
    names = np.array(["no", "perhaps", "yes"])
    model = enrelm.EnrelmClassifier(**QUICK).fit(X, names[codes])
    model.save(tmp_path / "m.joblib")
    loaded = enrelm.load(tmp_path / "m.joblib")
    assert isinstance(loaded, enrelm.EnrelmClassifier)
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    table = tmp_path / "t.csv"
    lines = [f"{a:.5f},{b:.5f},{names[c]}" for (a, b, _), c in zip(X, codes, strict=True)]
    table.write_text("\n".join(["a,b,kind", *lines]) + "\n")
    fitted = enrelm.fit(str(table), "kind", **QUICK)
    assert isinstance(fitted, enrelm.EnrelmClassifier)
    np.testing.assert_array_equal(fitted.classes_, names)


def test_numbers_that_are_no_classes_and_single_classes_are_refused() -> None:
    X, codes = rows(2)
    with pytest.raises(ValueError, match="Unknown label type"):
        enrelm.EnrelmClassifier(**QUICK).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="one class"):
        enrelm.EnrelmClassifier(**QUICK).fit(X, np.zeros(len(X), int))
    with pytest.raises(ValueError, match="NaN"):
        enrelm.EnrelmClassifier(**QUICK).fit(X, np.where(codes > 1, np.nan, codes))


def test_classes_are_weighed_as_on_the_command_line() -> None:
    X, codes = rows(3)
    y = np.where(codes == 2, "rare", "usual")
    plain, balanced = (
        enrelm.EnrelmClassifier(variant="logistic", class_weight=one, threads=1).fit(X, y) for one in (None, "balanced")
    )
    named = enrelm.EnrelmClassifier(variant="logistic", class_weight={"rare": 2.0, "usual": 1.0}, threads=1).fit(X, y)
    found = [np.mean(one.predict_proba(X)[:, 0]) for one in (plain, named, balanced)]
    assert found[0] < found[1] < found[2]
    with pytest.raises(ValueError, match="class_weight"):
        enrelm.EnrelmClassifier(class_weight={"other": 2.0}).fit(X, y)
    with pytest.raises(ValueError, match="is a number"):
        enrelm.EnrelmRegressor(class_weight="balanced").fit(X, X[:, 0])


def test_texts_that_are_the_same_number_are_different_classes() -> None:
    X, codes = rows(4)
    y = np.array(["01", "1", "1.0"])[codes]
    model = enrelm.EnrelmClassifier(**QUICK).fit(X, y)
    np.testing.assert_array_equal(model.classes_, ["01", "1", "1.0"])
    assert model.predict_proba(X).shape == (len(X), 3)
    assert model.score(X, y) > 0.75
