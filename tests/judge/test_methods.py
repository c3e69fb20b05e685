"""What `compare` hands to its methods: sizes, weights, grids and options of other libraries."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import Chunk
from enrelm_cli.judge import methods, peers
from enrelm_cli.judge.classes import methods as class_methods
from enrelm_cli.judge.classes import peers as class_peers
from enrelm_cli.settings import ElmSettings
from enrelm_cli.types import Array


@pytest.mark.parametrize("module", [methods, class_methods])
@pytest.mark.parametrize(("only_size", "neurons"), [(None, 7), ("3 leaves", None)])
def test_a_method_of_one_size_tells_no_size(
    module: Any, only_size: str | None, neurons: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    curve = SimpleNamespace(only_size=only_size)
    fitted = SimpleNamespace(chosen=SimpleNamespace(neurons=7), curve=curve)
    monkeypatch.setattr(module, "fit_variant", lambda *_: fitted)
    if module is class_methods:
        monkeypatch.setattr(module, "fit_classes", lambda *_: None)
    start = methods.named("kernel").start
    task: Any = SimpleNamespace(bases={start: None}, method=None)
    chosen = module._choose_variant("kernel", task)
    assert (chosen.neurons, chosen.curve) == (neurons, curve)


@pytest.mark.parametrize("module", [methods, class_methods])
def test_the_random_elm_has_the_size_of_its_lowest_mean_error(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    band = SimpleNamespace(mean=np.array([0.9, 0.5, 0.3, 0.4]))
    seen: list[Any] = []
    monkeypatch.setattr(module.baselines, "elm_band", lambda *given: seen.append(given) or band)
    task: Any = SimpleNamespace(data="data", elm=ElmSettings(), method=SimpleNamespace(max_neurons=9))
    chosen = module._choose_elm(task)
    assert (chosen.neurons, chosen.band) == (3, band)
    assert seen == [("data", task.elm, 9)]


def test_what_is_not_installed_is_said_with_its_remedy() -> None:
    assert peers.installed("numpy")
    assert not peers.installed("no_such_library")
    assert methods.methods()["kernel"].installed
    absent = peers.Peer("x", "X", "no_such_library", lambda *_: None, None, 1)
    assert not methods._peer(absent).installed
    data: Any = SimpleNamespace(rows=SimpleNamespace(in_memory=True))
    with pytest.raises(UsageError, match="'x' comes from X") as told:
        peers.check_peer(absent, data)
    assert told.value.hint == "pip install no_such_library"
    for one in (*peers.PEERS, *class_peers.CLASSIFIERS):
        if one.package == "sklearn":
            with pytest.raises(UsageError) as told:
                peers.check_peer(replace(one, package="no_such_library"), data)
            assert told.value.hint == "pip install 'scikit-learn>=1.5'"
    there = peers.Peer("x", "X", "numpy", lambda *_: None, None, 1)
    peers.check_peer(there, data)
    data.rows.in_memory = False
    with pytest.raises(UsageError, match="in memory"):
        peers.check_peer(there, data)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_gathered_in_their_order(weighted: bool) -> None:
    keys = np.arange(2, dtype=np.uint64)
    parts = [
        Chunk(np.full((2, 1), x), np.array([x, x]), keys, keys, 0, weight=np.array([x, 2.0]) if weighted else None)
        for x in (1.0, 5.0)
    ]
    found = peers.Stacked((parts[0],)).merge(peers.Stacked((parts[1],)))
    assert found.X[:, 0].tolist() == found.y.tolist() == [1.0, 1.0, 5.0, 5.0]
    assert (None if found.weight is None else found.weight.tolist()) == ([1.0, 2.0, 5.0, 2.0] if weighted else None)


def test_no_rows_are_not_shown_to_a_library() -> None:
    class Strict:
        classes_ = np.array([0.0, 2.0])

        def predict(self, X: Array) -> Any:
            assert len(X)
            return [1] * len(X)

        def predict_proba(self, X: Array) -> Array:
            assert len(X)
            return np.full((len(X), 2), 0.5)

    fitted = peers.FittedPeer(Strict())
    assert fitted.predict(np.zeros((0, 2))).shape == (0,)
    assert fitted.predict(np.zeros((3, 2))).tolist() == [1.0, 1.0, 1.0]
    classifier = class_peers.FittedClassifier(Strict(), 3)
    assert classifier.probabilities(np.zeros((0, 2))).shape == (0, 3)
    np.testing.assert_array_equal(classifier.probabilities(np.zeros((2, 2))), [[0.5, 0.0, 0.5]] * 2)


# --- other libraries -------------------------------------------------------------------------------------------------


class Fake:
    """A library's model that remembers what it was told."""

    def __init__(self, *given: Any, **options: Any) -> None:
        self.given, self.options = given, options

    def fit(self, X: Array, y: Array, **beside: Any) -> Fake:
        self.beside = beside
        return self


def test_lightgbm_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", SimpleNamespace(LGBMRegressor=Fake, LGBMClassifier=Fake))
    X, y, w = np.zeros((4, 1)), np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4)
    for fit in (peers._lightgbm, class_peers._lightgbm):
        model = fit(X, y, w, 7)
        assert model.options == {"random_state": 7, "verbose": -1}
        assert model.beside["sample_weight"] is w


@pytest.mark.parametrize(("smallest", "folds"), [(1, 2), (2, 2), (3, 3), (5, 5), (30, 5)])
def test_the_probabilities_of_an_svm_have_as_many_folds_as_its_classes_allow(
    smallest: int, folds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.calibration", SimpleNamespace(CalibratedClassifierCV=Fake))
    monkeypatch.setitem(sys.modules, "sklearn.svm", SimpleNamespace(SVC=Fake))
    y = np.repeat([0.0, 2.0], [smallest, 40])  # none of the second class
    assert class_peers._svm(np.zeros((len(y), 1)), y, None, 7).options["cv"] == folds


@pytest.mark.parametrize("d", [1, 5])
def test_the_width_of_nystroem_is_the_one_with_the_best_score_of_twelve(
    d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gamma d from 0.01 to about 32, evenly by ratio."""
    tried: list[float] = []

    class Pipeline:
        def __init__(self, features: Fake, ridge: Fake) -> None:
            self.features = features

        def fit(self, X: Array, y: Array, ridgecv__sample_weight: Any) -> Pipeline:
            tried.append(self.features.options["gamma"])
            self.place = len(tried) - 1
            return self

        def __getitem__(self, place: int) -> Any:
            step = [self.features, SimpleNamespace(best_score_=[3, 5, 4, 9, 9, 1][self.place % 6])][place]
            return step

    for name, content in (
        ("kernel_approximation", {"Nystroem": Fake}),
        ("linear_model", {"RidgeCV": Fake}),
        ("pipeline", {"make_pipeline": Pipeline}),
    ):
        monkeypatch.setitem(sys.modules, f"sklearn.{name}", SimpleNamespace(**content))
    found = peers._nystroem(np.zeros((6, d)), np.zeros(6), None, 7)
    np.testing.assert_allclose(tried, 10.0 / d * 10.0 ** (-3.0 + 3.5 * np.arange(12) / 11))
    assert found.place == 3
    assert found.features.options["n_components"] == 6
