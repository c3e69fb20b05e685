"""What a pass over rows to explain finds, by loops over the rows: sums, coverage, the worst rows and their lines."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enrelm_cli.errors import UsageError
from enrelm_cli.inputs.encoding import UNSEEN, Unseen
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.judge.classes.metrics import class_sums, metrics
from enrelm_cli.judge.explanation.gather import (
    LEVELS,
    Gather,
    GatherClasses,
    Placed,
    PlacedPiece,
    gathered,
    interval_ends,
    merged,
)
from enrelm_cli.model.classes import log_softmax
from enrelm_cli.model.intervals import Intervals
from enrelm_cli.table.csv_pieces import Block
from enrelm_cli.table.pieces import CsvBlock
from enrelm_cli.types import Array

SCALE = TargetScale(10.0, 2.0)
ENDS = np.array([-1.0, 1.0, -2.0, 2.0])
NOTHING: Any = None


class Rows:
    """Rows of a table, and a model whose predictions of them are given by their number."""

    def __init__(self, t: int = 40, weighted: bool = False, classes: int = 0) -> None:
        rng = np.random.default_rng(t)
        self.X = np.column_stack([np.arange(float(t)), rng.standard_normal(t)])
        self.y_hat = np.round(10.0 + rng.standard_normal(t), 1)
        self.y = self.y_hat + np.round(1.5 * rng.standard_normal(t), 1)
        self.y[:6] = self.y_hat[:6] + np.array(
            [1.0, -1.0, 2.0, -2.0, 7.0, -7.0]
        )  # at the ends of intervals, and two worst
        if classes:
            self.p = np.exp(log_softmax(rng.standard_normal((t, classes))))
            self.y = rng.integers(0, classes, t).astype(float)
            self.y[7] = UNSEEN
        self.y[20:23] = np.nan
        self.weight = np.where(np.arange(t) % 5 == 0, 0.0, rng.uniform(0.2, 3.0, t)) if weighted else None
        self.known = [i for i in range(t) if np.isfinite(self.y[i]) and (not weighted or i % 5)]

    def model(self, classes: Any = None) -> Any:
        def cut(values: Any, batch: Any) -> Any:
            return None if values is None else values[batch.first : batch.first + batch.rows]

        encoding = SimpleNamespace(
            for_predict=lambda batch: (cut(self.X, batch), cut(self.y, batch), Unseen()),
            weights=lambda batch: cut(self.weight, batch),
        )
        return SimpleNamespace(
            encoding=encoding,
            target_scale=SCALE,
            classes=classes,
            predict_with=lambda X, ends: self.y_hat[X[:, 0].astype(int)][:, None] + np.append(0.0, ends),
            probabilities=lambda X: self.p[X[:, 0].astype(int)],
        )

    def weights(self, places: list[int]) -> Array:
        return np.ones(len(places)) if self.weight is None else self.weight[places]


def batch(first: int, rows: int) -> Any:
    return SimpleNamespace(first=first, rows=rows, origin="t.csv")


def pass_over(gather: Any, cuts: tuple[int, ...]) -> Any:
    parts = [gather(Placed(batch(a, b - a), NOTHING, 0)) for a, b in pairwise(cuts)]
    return merged(parts)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cuts", [(0, 40), (0, 11, 12, 40)])
def test_sums_coverage_and_worst_rows_are_those_of_loops(weighted: bool, cuts: tuple[int, ...]) -> None:
    table = Rows(weighted=weighted)
    found = pass_over(Gather(table.model(), ENDS, 4), cuts)
    w, known = table.weights(table.known), table.known
    gap = (table.y - table.y_hat)[known] / 2.0
    u = (table.y[known] - 10.0) / 2.0
    assert (found.rows, found.sums["known"]) == (40, len(known))
    assert found.sums["weight"] == pytest.approx(w.sum())
    assert found.sums["squares"] == pytest.approx(w @ gap**2)
    assert found.sums["absolute"] == pytest.approx(w @ np.abs(gap))
    assert (found.sums["y"], found.sums["yy"]) == (pytest.approx(w @ u), pytest.approx(w @ u**2))
    for k, half in enumerate((1.0, 2.0)):
        inside = [table.y_hat[i] - half <= table.y[i] <= table.y_hat[i] + half for i in known]
        assert found.sums["inside"][k] == pytest.approx(w @ np.array(inside, float))
    order = sorted(known, key=lambda i: (-abs(table.y[i] - table.y_hat[i]), i))[:4]
    assert [one.row for one in found.worst] == [i + 1 for i in order]
    for one, i in zip(found.worst, order, strict=True):
        assert (one.y, one.y_hat, one.file, one.line) == (table.y[i], table.y_hat[i], "t.csv", None)
        assert one.gap == pytest.approx(abs(table.y[i] - table.y_hat[i]))
        np.testing.assert_array_equal(one.X, table.X[i])
    assert sorted(found.sample.X[:, 0]) == list(range(40))
    np.testing.assert_array_equal(found.sample.y_hat, table.y_hat[found.sample.X[:, 0].astype(int)])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cuts", [(0, 40), (0, 11, 12, 40)])
def test_the_worst_rows_of_classes_have_the_lowest_probability(weighted: bool, cuts: tuple[int, ...]) -> None:
    table = Rows(weighted=weighted, classes=3)
    found = pass_over(GatherClasses(table.model(), 5), cuts)
    known = table.known
    own = {i: float(table.p[i, int(table.y[i])]) if table.y[i] >= 0 else 0.0 for i in known}
    order = sorted(known, key=lambda i: (own[i], i))[:5]
    assert order[0] == 7  # of a class that the model does not know
    assert [one.row for one in found.worst] == [i + 1 for i in order]
    assert [one.gap for one in found.worst] == pytest.approx([1.0 - own[i] for i in order])
    assert [one.y_hat for one in found.worst] == [float(table.p[i].argmax()) for i in order]
    weight = table.weights(known) if weighted else None
    expected = metrics(class_sums(table.p[known], table.y[known].astype(int), weight))
    figures = metrics(found.sums)
    assert figures is not None
    assert expected is not None
    assert figures.log_loss == pytest.approx(expected.log_loss)
    assert (figures.rows, found.sums["known"], found.rows) == (len(known), len(known), 40)


def test_rows_in_memory_have_sums_and_no_worst_ones() -> None:
    table = Rows()
    known = table.known
    found = gathered(table.model(), table.X[known], table.y[known])
    expected = Gather(table.model(), np.zeros(0), 0).sums(table.y[known], table.y_hat[known][:, None], None)
    assert found.sums["squares"] == pytest.approx(expected["squares"])
    assert (found.rows, found.worst, found.most) == (len(known), (), 0)
    assert len(found.sums["inside"]) == 0
    np.testing.assert_array_equal(np.sort(found.sample.y_hat), np.sort(table.y_hat[known]))
    table = Rows(classes=3)
    known = table.known
    found = gathered(table.model(classes=("a", "b", "c")), table.X[known], table.y[known])
    figures, expected_figures = metrics(found.sums), metrics(class_sums(table.p[known], table.y[known].astype(int)))
    assert figures == expected_figures
    assert (found.rows, found.worst, found.most, found.sums["known"]) == (len(known), (), 0, len(known))
    np.testing.assert_array_equal(np.sort(found.sample.y_hat), np.sort(table.p[known].argmax(axis=1)))


def test_no_parts_are_nothing() -> None:
    assert merged([]) is None


def test_lines_are_those_of_the_file() -> None:
    """A record may have several lines, and a block begins somewhere in the file."""
    data = b'1,"a\nb"\n2,c\n3,"d\n\ne"\n4,f\n'
    source: Any = SimpleNamespace(delimiter=",", one_column=False)
    piece = CsvBlock(source, Block(data, 100, 21, False), NOTHING, NOTHING, None)
    assert Placed(batch(0, 4), piece, 0).lines([0, 1, 2, 3]) == [21, 23, 24, 27]
    assert Placed(batch(2, 2), piece, 2).lines([1, 0]) == [27, 24]
    assert Placed(batch(0, 4), NOTHING, 0).lines([0, 1]) == [None, None]
    pieces: Any = [batch(0, 3), batch(3, 2), batch(5, 4)]
    assert [(one.start, one.rows) for one in PlacedPiece(pieces)] == [(0, 3), (3, 2), (5, 4)]


def test_levels_that_errors_are_enough_for_have_ends() -> None:
    few = Intervals(np.linspace(-1.0, 1.0, 9))
    model: Any = SimpleNamespace(intervals=few)
    found = interval_ends(model)
    assert list(found) == [0.5, 0.8, 0.9]
    assert found[0.8] == few.ends(0.8)
    with pytest.raises(UsageError):
        few.ends(0.95)
    model.intervals = Intervals(np.linspace(-1.0, 1.0, 100))
    assert tuple(interval_ends(model)) == LEVELS
    model.intervals = SimpleNamespace(scores=np.zeros(0))
    assert interval_ends(model) == {}
