"""Figures of classes by loops over rows and pairs of rows; reports of many classes; no rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enrelm_cli.inputs.classes.scale import Codes
from enrelm_cli.judge.classes.metrics import BINS, Metrics, class_sums, confusion_of, metrics
from enrelm_cli.model.classes import labels, log_softmax
from enrelm_cli.types import Array


def rows_of(C: int, t: int = 150) -> tuple[Array, Codes, Array]:
    """Probabilities, the first ones certain; classes, some unknown; weights. Logits of two classes are far or equal."""
    rng = np.random.default_rng(C)
    p = np.exp(log_softmax(np.round(2.0 * rng.standard_normal((t, C)), 1)))
    p[:3] = np.eye(C)[[0, 1, 1]]
    codes = rng.integers(0, C, t)
    codes[:2], codes[2], codes[5::40] = [0, 1], 0, -1
    return p, codes, rng.uniform(0.003, 0.01, t)


def figures_of(p: Array, codes: Codes, w: Array) -> Metrics:
    found = metrics(class_sums(p, codes, w))
    assert found is not None
    return found


def bins_of(p: Array, share: Array, w: Array) -> list[tuple[float, float, float]]:
    """(mean probability, share, weight) of the rows of each fifteenth that has some."""
    place = [min(int(15 * one), 14) for one in p]
    found = []
    for k in range(15):
        own = np.array([one == k for one in place])
        if own.any():
            means = (np.average(values[own], weights=w[own]) for values in (p, share))
            found.append((*(float(mean) for mean in means), float(w[own].sum())))
    return found


@pytest.mark.parametrize("C", [2, 3])
def test_figures_are_those_of_loops_over_the_rows(C: int) -> None:
    p, codes, w = rows_of(C)
    found = figures_of(p, codes, w)
    own = np.array([row[code] if code >= 0 else 0.0 for row, code in zip(p, codes, strict=True)])
    target = np.array([np.eye(C)[code] if code >= 0 else np.zeros(C) for code in codes])
    guessed = labels(p)
    unknown = codes < 0
    assert found.rows == len(p)
    assert found.log_loss == pytest.approx(np.average(-np.log(np.maximum(own, 1e-15)), weights=w))
    # The class of a row of an unknown one is a class beside the others.
    assert found.brier == pytest.approx(np.average(np.sum((p - target) ** 2, axis=1) + unknown, weights=w))
    right = (guessed == codes).astype(float)
    assert found.accuracy == pytest.approx(np.average(right, weights=w))
    assert found.error_rate == pytest.approx(1.0 - found.accuracy)
    for i in range(C):
        for j in range(C):
            assert found.confusion[i][j] == pytest.approx(w[(codes == i) & (guessed == j)].sum())
    recalls = [np.average(right[codes == i], weights=w[codes == i]) for i in range(C)]
    assert found.balanced_accuracy == pytest.approx(np.mean(recalls))
    bins = bins_of(p.max(axis=1), right, w)
    assert len(bins) > 5
    assert found.ece == pytest.approx(sum(weight * abs(mean - share) for mean, share, weight in bins) / w.sum())
    if C == 2:
        known = ~unknown
        bins = bins_of(p[known, 1], codes[known].astype(float), w[known])
    np.testing.assert_allclose(found.reliability, bins)


def test_the_curve_of_two_classes_is_that_of_pairs_of_rows() -> None:
    p, codes, w = rows_of(2)
    found = figures_of(p, codes, w)
    negative, positive = ([(q, v) for q, v in zip(p[codes == k, 1], w[codes == k], strict=True)] for k in (0, 1))
    pairs = [(a, b, v * u) for a, v in negative for b, u in positive]
    ahead = sum(vu * (0.5 if abs(a - b) < 1e-9 else float(a < b)) for a, b, vu in pairs)
    assert found.auc == pytest.approx(ahead / sum(vu for *_, vu in pairs), rel=1e-12)
    totals = [sum(v for _, v in rows) for rows in (negative, positive)]
    # Logits are far apart or equal but for rounding.
    points = {(0.0, 0.0)}
    for threshold in p[codes >= 0, 1] - 1e-9:
        sides = zip((negative, positive), totals, strict=True)
        points.add(tuple(round(sum(v for q, v in rows if q >= threshold) / total, 9) for rows, total in sides))  # type: ignore[arg-type]
    np.testing.assert_allclose(found.roc, sorted(points), atol=1e-8)


def two_of(logits: Array) -> Array:
    return np.exp(log_softmax(np.column_stack([np.zeros(len(logits)), logits])))


def test_logits_a_hundredth_apart_are_told_apart() -> None:
    place = np.arange(400)
    found = figures_of(two_of(0.01 * place - 2.0), place % 2, np.ones(400))
    # The k-th of the second class has k + 1 of the first below it.
    assert found.auc == pytest.approx(np.mean((np.arange(200) + 1) / 200))
    far = figures_of(two_of(np.array([19.985, 25.0])), np.array([0, 1]), np.ones(2))
    assert far.auc == 1.0


@pytest.mark.parametrize("low", [0, 1])
def test_a_class_whose_rows_are_all_certain_has_a_curve(low: int) -> None:
    p = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]])
    found = figures_of(p, np.array([low, low, 1 - low]), np.ones(3))
    assert found.auc == 1.0 - low
    assert found.roc == ((0.0, 0.0), (1.0, 0.0) if low else (0.0, 1.0), (1.0, 1.0))


@pytest.mark.parametrize("t", [150, 3000])
def test_a_curve_has_two_hundred_points_at_most(t: int) -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.0, 1.0, t)
    codes = (rng.uniform(size=t) < p).astype(np.int64)
    points = np.array(figures_of(np.column_stack([1.0 - p, p]), codes, np.ones(t)).roc)
    assert len(points) == 200 if t == 3000 else len(points) < 152
    np.testing.assert_array_equal(points[[0, -1]], [[0.0, 0.0], [1.0, 1.0]])
    if t == 3000:
        # Evenly: no step is much larger than another.
        assert np.diff(points.sum(axis=1)).max() < 5.0 * 2.0 / 200


@pytest.mark.parametrize("code", [0, 1])
def test_rows_of_one_class_have_no_curve(code: int) -> None:
    p, _, w = rows_of(2)
    found = figures_of(p, np.full(len(p), code), w)
    assert (found.auc, found.roc) == (None, ())
    assert found.balanced_accuracy == pytest.approx(found.accuracy)


def test_rows_of_unknown_classes_alone_are_all_wrong() -> None:
    p, _, w = rows_of(3)
    found = figures_of(p, np.full(len(p), -1), w)
    assert (found.accuracy, found.balanced_accuracy) == (0.0, 0.0)
    assert found.log_loss == pytest.approx(-np.log(1e-15))


def test_no_rows_have_no_figures() -> None:
    p, codes, w = rows_of(3)
    assert metrics(class_sums(p[:0], codes[:0])) is None
    assert metrics(class_sums(p, codes, np.zeros(len(p)))) is None
    assert metrics(class_sums(p[:1], codes[:1], w[:1])) is not None


def test_a_threshold_moves_labels_and_not_probabilities() -> None:
    p, codes, w = rows_of(2)
    plain, moved = figures_of(p, codes, w), metrics(class_sums(p, codes, w, threshold=0.2))
    assert moved is not None
    guessed = (p[:, 1] >= 0.2).astype(int)
    assert moved.accuracy == pytest.approx(np.average(guessed == codes, weights=w))
    assert (moved.log_loss, moved.brier, moved.auc) == (plain.log_loss, plain.brier, plain.auc)
    # Of a label that is less likely than the other, its own probability.
    place = p[np.arange(len(p)), guessed]
    bins = bins_of(place, (guessed == codes).astype(float), w)
    assert moved.ece == pytest.approx(sum(weight * abs(mean - share) for mean, share, weight in bins) / w.sum())


@pytest.mark.parametrize(("C", "whole"), [(50, True), (51, False)])
def test_a_document_has_the_whole_confusion_table_of_few_classes(C: int, whole: bool) -> None:
    rng = np.random.default_rng(1)
    p = np.exp(log_softmax(rng.standard_normal((80, C))))
    found = figures_of(p, rng.integers(0, C, 80), np.ones(80))
    document = found.to_json()
    assert (document["confusion"] is not None, document["confusion_cells"] is None) == (whole, whole)
    assert confusion_of(document, C) == found.confusion
    bins = [(one["probability"], one["share"], one["weight"]) for one in document["reliability"]]
    assert tuple(bins) == found.reliability
    two = replace(found, roc=((0.0, 0.0), (0.25, 1.0)))
    assert two.to_json()["roc"] == [{"false": 0.0, "true": 0.0}, {"false": 0.25, "true": 1.0}]
    assert BINS == 15
