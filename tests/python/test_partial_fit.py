"""partial_fit and enrelm.update: the models of `enrelm update`, from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import enrelm
from enrelm_cli.types import Array

QUICK = {"variant": "incremental", "threads": 1, "updatable": True}


def rows(n: int = 160) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 3))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("variant", ["incremental", "kernel"])
def test_rows_may_come_in_parts_in_any_order(variant: str) -> None:
    X, y = rows()
    options = {**QUICK, "variant": variant, "tune": False, "weight_variance": 0.5}
    first = slice(0, 80)
    one, other = (enrelm.EnrelmRegressor(**options).fit(X[first], y[first]) for _ in range(2))
    one.partial_fit(X[80:120], y[80:120]).partial_fit(X[120:], y[120:])
    other.partial_fit(X[120:], y[120:]).partial_fit(X[80:120], y[80:120])
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-8)
    assert one.report_.rows == len(X)
    assert [entry["change"] for entry in one.model_.history] == ["fit", "update", "update"]
    started = enrelm.EnrelmRegressor(**options).partial_fit(X[first], y[first]).partial_fit(X[80:], y[80:])
    np.testing.assert_allclose(started.predict(X), one.predict(X), rtol=1e-8)
    assert not np.allclose(one.predict(X), enrelm.EnrelmRegressor(**options).fit(X[first], y[first]).predict(X))


def test_several_targets_come_in_parts_too(tmp_path: Path) -> None:
    X, y = rows()
    Y = np.column_stack([y, np.exp(X[:, 1])])
    options = {**QUICK, "variant": "kernel", "tune": False, "weight_variance": 0.5}
    one = enrelm.EnrelmRegressor(**options).partial_fit(X[:80], Y[:80]).partial_fit(X[80:], Y[80:])
    other = enrelm.EnrelmRegressor(**options).fit(X[:80], Y[:80])
    other.save(tmp_path / "m.joblib")
    read = enrelm.load(tmp_path / "m.joblib").partial_fit(X[120:], Y[120:]).partial_fit(X[80:120], Y[80:120])
    np.testing.assert_allclose(read.predict(X), one.predict(X), rtol=1e-8)
    assert one.predict(X).shape == Y.shape
    assert len(one.neurons_) == 2
    assert not np.allclose(one.predict(X), other.predict(X), rtol=1e-4)
    with pytest.raises(ValueError, match="this model has 2 targets"):
        other.partial_fit(X[80:], y[80:])


def test_a_saved_estimator_goes_on(tmp_path: Path) -> None:
    X, y = rows()
    model = enrelm.EnrelmRegressor(**QUICK).partial_fit(X[:80], y[:80])
    model.save(tmp_path / "m.joblib")
    read = enrelm.load(tmp_path / "m.joblib").partial_fit(X[80:], y[80:])
    np.testing.assert_allclose(read.predict(X), model.partial_fit(X[80:], y[80:]).predict(X), rtol=1e-12)


def test_what_does_not_fit_to_the_first_rows_is_refused() -> None:
    X, y = rows()
    plain = enrelm.EnrelmRegressor(**{**QUICK, "updatable": False}).fit(X[:80], y[:80])
    assert not hasattr(plain, "partial_fit")
    with pytest.raises(AttributeError, match=r"EnrelmRegressor\(updatable=True\)"):
        plain.partial_fit(X[80:], y[80:])
    with pytest.raises(enrelm.EnrelmError, match="updatable"):
        plain.set_params(updatable=True).partial_fit(X[80:], y[80:])
    model = enrelm.EnrelmRegressor(**QUICK).partial_fit(X[:80], y[:80])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[80:, :2], y[80:])
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit(X[80:], y[80:], sample_weight=np.ones(80))
    weighted = enrelm.EnrelmRegressor(**QUICK).partial_fit(X[:80], y[:80], sample_weight=np.full(80, 2.0))
    with pytest.raises(ValueError, match="sample_weight"):
        weighted.partial_fit(X[80:], y[80:])
    assert weighted.partial_fit(X[80:], y[80:], sample_weight=np.ones(80)).report_.rows == 160


def test_a_classifier_learns_from_later_rows_of_its_classes() -> None:
    X, y = rows()
    labels = np.where(y > 0.0, "up", "down")
    model = enrelm.EnrelmClassifier(**QUICK).partial_fit(X[:80], labels[:80], classes=["down", "up"])
    before = model.predict_proba(X)
    model.partial_fit(X[80:], labels[80:])
    assert not np.allclose(before, model.predict_proba(X))
    assert model.score(X, labels) > 0.7
    assert list(model.classes_) == ["down", "up"]
    with pytest.raises(enrelm.EnrelmError, match="'sideways'"):
        model.partial_fit(X[:2], ["up", "sideways"])
    with pytest.raises(ValueError, match="some of each"):
        enrelm.EnrelmClassifier(**QUICK).partial_fit(X, labels, classes=["down", "level", "up"])


def test_update_changes_a_file_from_frames_and_paths(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = rows()
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    path, more = tmp_path / "m.joblib", tmp_path / "more.csv"
    enrelm.fit(frame[:80], "y", **QUICK).save(path)
    before = enrelm.load(path).predict(frame)
    frame[80:].to_csv(more, index=False)
    report = enrelm.update(path, more)
    assert (report.rows, report.added, report.model) == (160, 80, str(path))
    with pytest.raises(enrelm.EnrelmError, match="not updated"):
        enrelm.update(path, frame[:10], fail_above=1e-6)
    assert enrelm.update(path, remove=frame[80:]).rows == 80
    np.testing.assert_allclose(enrelm.load(path).predict(frame), before, rtol=1e-8)
    with pytest.raises(enrelm.EnrelmError, match="between 0 and 1"):
        enrelm.update(path, forget=1.5)
