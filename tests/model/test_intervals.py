"""Intervals of a saved model: ranks of scores, documents, and models that are older than they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from enrelm import EnrelmRegressor
from enrelm_cli.errors import ModelFileError, UsageError
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.model.intervals import KEPT, Intervals, order_statistics
from enrelm_cli.model.model import Model

QUICK: dict[str, Any] = {"tune": False, "weight_variance": 0.3, "bias_variance": 1.0}


def noisy(rows: int, seed: int) -> tuple[Any, Any]:
    """Noise that grows with the second of two inputs."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (rows, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * np.exp(1.5 * X[:, 1]) * rng.standard_normal(rows)


@pytest.fixture(scope="module")
def model() -> Model:
    fitted: Model = EnrelmRegressor(variant="kernel", **QUICK).fit(*noisy(300, 1)).model_
    assert fitted.intervals.spread is not None
    assert fitted.intervals.spread.noise is not None
    return fitted


def test_a_symmetric_interval_is_the_rank_of_the_jackknife() -> None:
    scores = np.array([-5.0, -1.0, 0.5, 2.0, 3.0, 4.0, -2.5, 1.5, 0.1])
    intervals = Intervals(np.sort(scores))
    # ceil(0.8 * 10) = 8: the eighth smallest of nine absolute scores.
    assert intervals.ends(0.8) == (-4.0, 4.0)
    with pytest.raises(UsageError, match="more than the 9 left-out errors") as refused:
        intervals.ends(0.95)
    assert refused.value.hint == "use at most --interval 0.9"


def test_the_sides_of_an_asymmetric_interval_leave_out_as_many_scores() -> None:
    scores = np.sort(np.random.default_rng(0).exponential(size=199))
    low, high = Intervals(scores, symmetric=False).ends(0.9)
    assert np.count_nonzero(scores < low) == np.count_nonzero(scores > high) == 9
    # Too few scores for two sides: both are alike.
    assert Intervals(scores[:12], symmetric=False).ends(0.9)[0] < 0.0


@pytest.mark.parametrize("share", [0.05, 0.25, 0.75, 0.9])
def test_a_quantile_leaves_at_least_its_share_outside(share: float) -> None:
    scores = np.sort(np.random.default_rng(1).standard_normal(99))
    place = Intervals(scores).quantile(share)
    assert np.count_nonzero(scores <= place) == round(100 * share)
    assert Intervals(scores).quantile(0.5) == np.median(scores)


def test_many_scores_are_kept_as_even_order_statistics() -> None:
    errors = np.random.default_rng(0).standard_normal(50_000)
    kept = order_statistics(errors)
    assert len(kept) == KEPT
    assert (np.diff(kept) >= 0).all()
    for level in (0.1, 0.5, 0.9, 0.99):
        assert kept[int(np.ceil(level * (KEPT + 1))) - 1] == pytest.approx(np.quantile(errors, level), abs=0.02)
    np.testing.assert_array_equal(order_statistics(errors[:10]), np.sort(errors[:10]))


def test_a_row_of_weight_two_is_two_rows_among_the_scores() -> None:
    rng = np.random.default_rng(2)
    errors, weight = rng.standard_normal(900), rng.integers(1, 4, 900).astype(float)
    kept, repeated = order_statistics(errors, weight), np.repeat(errors, weight.astype(int))
    assert len(kept) == 900
    np.testing.assert_allclose(np.quantile(kept, [0.1, 0.5, 0.9]), np.quantile(repeated, [0.1, 0.5, 0.9]), atol=0.02)


def test_intervals_follow_the_noise_and_come_back_from_their_document(model: Model) -> None:
    X = np.column_stack([np.zeros(2), [-0.9, 0.9]])
    y_hat, lower, upper = model.predict_with(X, np.array(model.intervals.ends(0.9))).T
    assert (lower < y_hat).all()
    assert (upper - lower)[1] > 4.0 * (upper - lower)[0]
    again = Model.from_document(model.to_document())
    np.testing.assert_array_equal(
        again.predict_with(X, np.array([-1.0, 2.0])), model.predict_with(X, np.array([-1.0, 2.0]))
    )


def test_prediction_in_small_blocks_is_the_same(model: Model) -> None:
    X, _ = noisy(50, 9)
    times = np.array([-1.0, 1.0])
    np.testing.assert_allclose(model.predict_with(X, times, limit=1 << 14), model.predict_with(X, times), atol=1e-12)


def test_an_older_model_has_intervals_of_one_width_and_no_quantiles(model: Model) -> None:
    document = model.to_document()
    del document["intervals"]
    document["left_out"] = np.sort(np.abs(np.random.default_rng(3).standard_normal(99)))
    older = Model.from_document(document)
    low, high = older.intervals.ends(0.9)
    X, _ = noisy(20, 4)
    y_hat, lower, upper = older.predict_with(X, np.array([low, high])).T
    np.testing.assert_allclose(upper - y_hat, document["left_out"][89])
    np.testing.assert_allclose(y_hat - lower, document["left_out"][89])
    with pytest.raises(UsageError, match="no quantiles") as refused:
        older.intervals.quantile(0.1)
    assert refused.value.hint == "fit it again"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scores", np.array([2.0, 1.0])),
        ("scores", np.array([0.0, np.nan])),
        ("scores", np.zeros((2, 2))),
        ("scores", [1.0]),
        ("symmetric", 1),
        ("signed", None),
        ("spread", "wide"),
        ("spread", {"centre": 0.0, "unit": 0.0, "noise": None, "off": None, "tilt": None}),
        ("spread", {"centre": np.inf, "unit": 1.0, "noise": None, "off": None, "tilt": None}),
        ("spread", {"centre": 0.0, "unit": 1.0, "noise": None, "off": None, "tilt": {"centre": 0.0}}),
        ("spread", {"centre": 0.0, "unit": 1.0, "noise": {}, "off": None, "tilt": None}),
    ],
)
def test_a_document_with_nonsense_is_refused(model: Model, name: str, value: Any) -> None:
    document = model.to_document()
    document["intervals"] = {**document["intervals"], name: value}
    with pytest.raises(ModelFileError):
        Model.from_document(document)


def test_a_noise_of_another_number_of_inputs_is_refused(model: Model) -> None:
    document = model.to_document()
    spread = dict(document["intervals"]["spread"])
    spread["noise"] = {**spread["noise"], "Z": np.zeros((3, 7))}
    document["intervals"] = {**document["intervals"], "spread": spread}
    with pytest.raises(ModelFileError):
        Model.from_document(document)


@pytest.mark.parametrize("transform", ["log", "yeo-johnson"])
def test_ends_are_quantiles_on_the_scale_of_the_network(transform: Any) -> None:
    shape = 2.0 if transform == "log" else 0.3
    scale = TargetScale(5.0, 2.0, transform, shape, 0.1, 0.8, low=-1.5, high=4.0)
    intervals = Intervals(np.linspace(-0.5, 0.5, 199))
    z = np.array([0.0, 0.3])
    low, high = intervals.at(np.zeros((2, 1)), z, np.array([-0.4, 0.4]), scale).T
    for end, times in ((low, -0.4), (high, 0.4)):
        np.testing.assert_allclose(scale.forward(end), z + times, rtol=1e-9)
    bounded = intervals.at(np.zeros((2, 1)), z, np.array([-0.4, 0.4]), scale.bounded(low[0] + 0.1, high[1] - 0.1))
    assert bounded.min() == low[0] + 0.1
    assert bounded.max() == high[1] - 0.1
    # Steep inverses stay within the range of predictions.
    far = intervals.at(np.zeros((2, 1)), z, np.array([-1e6, 1e6]), scale)
    assert np.isfinite(far).all()
