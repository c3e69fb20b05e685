"""Which probabilities a variant gets: written out for networks whose predictions and left-out errors are given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from enrelm_cli.errors import DataError
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.inputs.split import Everything, HashSplit, Side
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.judge.classes import fitting
from enrelm_cli.judge.classes.calibration import LeftOutScores, calibrated, joined_scores, scores_of
from enrelm_cli.judge.classes.fitting import Calibrated, fit_classes, judged, refit_classes, validated
from enrelm_cli.judge.classes.metrics import class_sums, metrics
from enrelm_cli.judge.curve import Choice, Choices, Curve
from enrelm_cli.judge.fitting import FittedVariant
from enrelm_cli.model.classes import Calibration
from enrelm_cli.model.network import Network
from enrelm_cli.settings import MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants._variant import Variant

METHOD = MethodSettings()
KEPT = HashSplit(1, 2**62)  # a quarter validates


@dataclass(frozen=True)
class Columns:
    """Inputs as hidden outputs."""

    columns: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.columns)

    def outputs(self, X: Array) -> Array:
        return X[:, list(self.columns)]

    def combine(self, X: Array, beta: Array) -> Array:
        combined: Array = self.outputs(X) @ beta
        return combined

    def take(self, order: NDArray[np.int64]) -> Columns:
        return Columns(tuple(np.array(self.columns)[order].tolist()))


def data_of(C: int = 3, split: Any = KEPT, T: int = 160, weighted: bool = True) -> Training:
    """Classes that the first two inputs tell apart, not quite."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((T, 4))
    y = np.clip(np.round(X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.standard_normal(T) + (C - 1) / 2), 0, C - 1)
    weight = rng.uniform(0.5, 2.0, T) if weighted else None
    rows = replace(rows_of_arrays(X, y, weight=weight), classes=tuple("abc"[:C]))
    return training(rows, split)


def scale_of(data: Training) -> ClassScale:
    assert isinstance(data.view.target_scale, ClassScale)
    return data.view.target_scale


def basis_of(data: Training) -> Any:
    return SimpleNamespace(data=data)


def network_of(data: Training, seed: int = 0, logits: bool = False, n: int = 4, quality: float = 1.0) -> Network:
    """Least squares of the codes on the first n inputs; or logits, as good as their quality says."""
    sample = data.sample()
    beta = np.linalg.lstsq(sample.X[:, :n], sample.y, rcond=None)[0]
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((sample.rows, *sample.y.shape[1:]))
    left_out = quality * sample.y + noise if logits else None
    return Network(Columns(tuple(range(n))), beta, 0.1, logits=logits, left_out=left_out)


class Given(Variant):
    """Left-out errors and logits that are given."""

    name = "given"

    def __init__(self, errors: Array | None = None, other: Network | None = None) -> None:
        self.errors, self.other = errors, other
        self.asked: list[tuple[Any, ...]] = []

    def fit(self, basis: Any, method: MethodSettings, n: int) -> Network:
        return network_of(basis.data)

    def most_neurons(self, basis: Any, method: MethodSettings) -> int:
        return 4

    def left_out(self, basis: Any, network: Network) -> Array:
        return np.zeros(0) if self.errors is None else self.errors

    def logistic(self, basis: Any, method: MethodSettings, own: Any, before: Any = None) -> Network | None:
        self.asked.append((basis, own, before))
        return self.other


def errors_of(data: Training, size: float = 1.0, seed: int = 2) -> Array:
    sample = data.sample()
    return size * np.random.default_rng(seed).standard_normal(sample.y.shape)


def fitted_of(variant: Variant, data: Training, network: Network, n: int = 4, folds: Any = ()) -> FittedVariant:
    none = Choice(1, 1.0)
    curve = Curve("given", np.ones(4), np.ones(4), Choices(none, none, none), None, False, 4)
    return FittedVariant(variant, basis_of(data), network, curve, Choice(n, 1.0), "best", folds)


def same(one: Calibration, other: Calibration) -> bool:
    return (one.kind, one.slope, one.prior) == (
        other.kind,
        pytest.approx(other.slope, rel=1e-9),
        pytest.approx(other.prior, rel=1e-9, abs=1e-12),
    )


def loss_of(rows: LeftOutScores, how: Calibration) -> float:
    logits = how.slope * rows.scores + how.prior * rows.log_shares
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return float(np.average(-np.log(p[np.arange(rows.rows), rows.codes]), weights=rows.weight))


# --- one network -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("known", [160, 100])
def test_least_squares_is_calibrated_on_predictions_without_each_row(C: int, known: int) -> None:
    data = data_of(C, Everything())
    sample, scale, errors = data.sample(), scale_of(data), errors_of(data)
    errors[known:] = np.nan
    found = judged(Given(errors), basis_of(data), network_of(data))
    assert sample.weight is not None
    rows = scores_of(scale, (sample.y - errors)[:known], scale.codes(sample.y)[:known], sample.weight[:known])
    assert same(found.calibration, calibrated("temperature", rows))
    assert found.scores is not None
    assert found.scores.rows == known
    assert found.log_loss == pytest.approx(loss_of(rows, found.calibration))
    np.testing.assert_array_equal(found.codes, rows.codes)
    np.testing.assert_array_equal(found.weight, rows.weight)
    p = found.calibration.probabilities(scale, (sample.y - errors)[:known])
    np.testing.assert_allclose(found.misses, 1.0 - p[np.arange(known), rows.codes], atol=1e-12)
    assert found.tempered == 1.0


def test_logits_are_calibrated_on_those_of_the_first_rows() -> None:
    data = data_of(3, Everything())
    network = network_of(data, logits=True)
    assert network.left_out is not None
    network = replace(network, left_out=network.left_out[:90])
    found = judged(Given(), basis_of(data), network)
    sample = data.sample().between(0, 90)
    rows = scores_of(scale_of(data), network.left_out, scale_of(data).codes(sample.y), sample.weight)
    assert same(found.calibration, calibrated("logits", rows))
    assert found.kind == "logits"


def test_what_leaves_no_row_out_is_calibrated_on_validation_rows() -> None:
    data = data_of()
    network = network_of(data)
    found = judged(Given(), basis_of(data), network)
    held = fitting.held_out(data, network)
    assert 20 < held.rows < 60
    rows = data.view(data.rows.sample, Side.VALIDATION)
    np.testing.assert_allclose(held.scores, scale_of(data).scores(network.predict(rows.X)))
    np.testing.assert_array_equal(held.codes, scale_of(data).codes(rows.y))
    np.testing.assert_array_equal(held.weight, rows.weight)
    assert same(found.calibration, calibrated("temperature", held))
    assert found.scores is None
    none = judged(Given(), basis_of(data_of(3, Everything())), network)
    assert (none.log_loss, none.calibration.slope) == (np.inf, 2.0)


@pytest.mark.parametrize("kept", [KEPT, Everything()])
@pytest.mark.parametrize("quality", [0.3, 1.0, 1.5, 3.0, 6.0])
def test_the_lower_loss_of_rows_left_out_and_validation_rows_together_decides(quality: float, kept: Any) -> None:
    data = data_of(3, kept)
    own, other = network_of(data), network_of(data, logits=True, quality=quality)
    # Of validation rows the logits are worse than least squares, by as much as their size says.
    variant = Given(errors_of(data), replace(other, beta=-0.2 * other.beta))
    found = fit_classes(fitted_of(variant, data, own), METHOD)
    losses = []
    for network in (own, variant.other):
        assert network is not None
        one, held = judged(variant, basis_of(data), network), fitting.held_out(data, network)
        losses.append(one.log_loss + (loss_of(held, one.calibration) if held.rows else 0.0))
    assert found.kind == ("temperature" if losses[0] <= losses[1] else "logits")
    assert [(asked[1].size, asked[2]) for asked in variant.asked] == [(4, None)]


def test_the_network_is_that_of_the_chosen_size() -> None:
    data = data_of()
    found = fit_classes(fitted_of(Given(errors_of(data)), data, network_of(data), n=2), METHOD)
    assert found.network.size == 2


# --- tempered --------------------------------------------------------------------------------------------------------


def test_the_slope_is_that_of_rows_left_out_and_validation_rows_each_half() -> None:
    data = data_of()
    network, variant = network_of(data), Given(errors_of(data, 0.6))
    one, held = judged(variant, basis_of(data), network), fitting.held_out(data, network)
    found = fit_classes(fitted_of(variant, data, network), METHOD)
    assert one.scores is not None
    assert one.scores.rows > 2 * held.rows
    half = (one.scores.rows + held.rows) / 2.0
    parts = [replace(part, weight=part.weights * half / part.weights.sum()) for part in (one.scores, held)]
    both = calibrated("temperature", joined_scores(parts))
    assert found.tempered == pytest.approx(both.slope / one.calibration.slope)
    assert abs(np.log(found.tempered)) > 0.05
    assert found.calibration.slope == pytest.approx(both.slope)
    assert found.calibration.prior == one.calibration.prior
    np.testing.assert_allclose(found.misses, 1.0 - np.exp(one.scores.own(found.calibration)))


def test_nothing_is_tempered_without_rows_or_slope() -> None:
    data = data_of()
    network = network_of(data)
    one, held = judged(Given(errors_of(data)), basis_of(data), network), fitting.held_out(data, network)
    assert one.scores is not None
    none = LeftOutScores(*(part[:0] for part in (held.scores, held.log_shares, held.codes)), None)
    flat = replace(one, calibration=replace(one.calibration, slope=0.0))
    for fit, rows in ((replace(one, scores=None), held), (one, none), (replace(one, scores=none), held), (flat, held)):
        assert fitting._tempered(fit, rows) is fit
    assert fitting._tempered(one, held) is not one
    hardly = replace(one, calibration=replace(one.calibration, slope=0.5))
    assert fitting._tempered(hardly, held) is not hardly


# --- more rows -------------------------------------------------------------------------------------------------------


def test_a_refit_keeps_what_its_slope_was_multiplied_by() -> None:
    data, whole = data_of(), data_of(3, Everything())
    variant = Given(errors_of(data, 0.6))
    fitted = fitted_of(variant, data, network_of(data))
    chosen = fit_classes(fitted, METHOD)
    assert refit_classes(fitted, chosen, fitted.basis, METHOD) is chosen
    variant.errors = errors_of(whole)
    found = refit_classes(fitted, chosen, basis_of(whole), METHOD)
    again = judged(variant, basis_of(whole), network_of(whole))
    assert found.tempered == chosen.tempered
    assert found.calibration.slope == pytest.approx(again.calibration.slope * chosen.tempered)
    assert again.scores is not None
    np.testing.assert_allclose(found.misses, 1.0 - np.exp(again.scores.own(found.calibration)))
    # No row is left out: probabilities stay.
    variant.errors = None
    stays = refit_classes(fitted, chosen, basis_of(whole), METHOD)
    assert stays.calibration is chosen.calibration
    assert stays.network is not chosen.network
    np.testing.assert_array_equal(stays.misses, chosen.misses)
    folded = replace(chosen, folded=((chosen.network, chosen.calibration),))
    variant.errors = errors_of(whole)
    assert refit_classes(fitted, folded, basis_of(whole), METHOD).calibration is chosen.calibration


@pytest.mark.parametrize("made", [True, False])
def test_a_refit_of_logits_is_logistic_where_that_is_possible(made: bool) -> None:
    data, whole = data_of(), data_of(3, Everything())
    other = network_of(data, logits=True, quality=6.0)
    variant = Given(errors_of(data, 3.0), other)
    fitted = fitted_of(variant, data, network_of(data))
    chosen = fit_classes(fitted, METHOD)
    assert chosen.kind == "logits"
    variant.errors, variant.asked = errors_of(whole), []
    variant.other = network_of(whole, logits=True, quality=6.0) if made else None
    found = refit_classes(fitted, chosen, basis_of(whole), METHOD)
    assert [asked[1:] for asked in variant.asked] == [(None, chosen.network)]
    assert found.network.logits == made
    # Logits of a variant that has no other way are its own refit.
    variant.asked = []
    plain = fitted_of(variant, data, other)
    refit_classes(plain, chosen, basis_of(whole), METHOD)
    assert variant.asked == []
    least = replace(chosen, network=network_of(data))
    refit_classes(fitted, least, basis_of(whole), METHOD)
    assert variant.asked == []


# --- folds -----------------------------------------------------------------------------------------------------------


def folds_of(C: int = 3) -> list[Training]:
    return [data_of(C, HashSplit(seed, 2**62)) for seed in (1, 2, 3)]


@pytest.mark.parametrize("quality", [-1.0, 1.0])
def test_a_fold_is_judged_by_the_calibration_of_the_others(quality: float) -> None:
    parts = folds_of()
    networks = [network_of(data) for data in parts]
    logits = [
        replace(network_of(data, logits=True), beta=8.0 * quality * one.beta)
        for data, one in zip(parts, networks, strict=True)
    ]
    variant = Given()
    places = {id(basis): logit for basis, logit in zip(parts, logits, strict=True)}
    calls: list[Any] = []

    def logistic(basis: Any, method: MethodSettings, own: Any, before: Any = None) -> Network:
        calls.append((own, before))
        return places[id(basis.data)]

    variant.logistic = logistic  # type: ignore[method-assign]
    folds = tuple((basis_of(data), one) for data, one in zip(parts, networks, strict=True))
    fitted = replace(fitted_of(variant, parts[0], networks[0], n=3), basis=folds[0][0], folds=folds)
    found = fit_classes(fitted, METHOD)
    assert [before for _, before in calls] == [None, logits[0], logits[0]]
    for (own, _), one in zip(calls, networks, strict=True):
        np.testing.assert_array_equal(own.beta, one.beta[:3])
    losses = {}
    for kind, ways in (("temperature", [one.first(3) for one in networks]), ("logits", logits)):
        held = [fitting.held_out(data, one) for data, one in zip(parts, ways, strict=True)]
        each = [calibrated(kind, joined_scores([part for j, part in enumerate(held) if j != k])) for k in range(3)]
        own = np.concatenate([part.own(one) for part, one in zip(held, each, strict=True)])
        whole = joined_scores(held)
        losses[kind] = -np.average(own, weights=whole.weight)
        if kind == found.kind:
            assert same(found.calibration, calibrated(kind, whole))
            assert all(same(one, other) for (_, one), other in zip(found.folded, each, strict=True))
            np.testing.assert_allclose(found.misses, 1.0 - np.exp(own))
            np.testing.assert_array_equal(found.codes, whole.codes)
            np.testing.assert_array_equal(found.weight, whole.weight)
            assert found.network is found.folded[0][0]
            told = [Calibrated(one, how, scale_of(data)) for one, how, data in zip(ways, each, parts, strict=True)]
    assert found.log_loss == pytest.approx(min(losses.values()))
    assert losses[found.kind] == min(losses.values())
    # The figures of all folds together.
    sums = []
    for data, one in zip(parts, told, strict=True):
        rows = data.view(data.rows.sample, Side.VALIDATION)
        sums.append(class_sums(one.probabilities(rows.X), scale_of(data).codes(rows.y), rows.weight))
    expected, figures = metrics(sums[0].merge(sums[1]).merge(sums[2])), validated(fitted, found)
    assert expected is not None
    assert (figures.log_loss, figures.rows) == (pytest.approx(expected.log_loss), expected.rows)
    alone = validated(fitted, replace(found, folded=()))
    assert alone.rows < expected.rows


def test_logits_that_one_fold_cannot_have_are_not_taken() -> None:
    parts = folds_of()
    networks = [network_of(data) for data in parts]
    good = [
        replace(network_of(data, logits=True), beta=8.0 * one.beta) for data, one in zip(parts, networks, strict=True)
    ]
    given: list[Network | None] = [good[0], good[1], None]
    variant = Given()
    variant.logistic = lambda basis, *_: next(  # type: ignore[method-assign]
        one for data, one in zip(parts, given, strict=True) if data is basis.data
    )
    folds = tuple((basis_of(data), one) for data, one in zip(parts, networks, strict=True))
    fitted = replace(fitted_of(variant, parts[0], networks[0]), basis=folds[0][0], folds=folds)
    assert fit_classes(fitted, METHOD).kind == "temperature"
    given[:] = [None, good[1], good[2]]
    assert fit_classes(fitted, METHOD).kind == "temperature"
    assert len(fit_classes(replace(fitted, folds=folds[:2]), METHOD).folded) == 2
    # One fold is a split.
    one_fold = fit_classes(replace(fitted, folds=folds[:1]), METHOD)
    assert one_fold.folded == ()


def test_figures_are_of_each_classifier_and_of_some_rows() -> None:
    data = data_of()
    scale = scale_of(data)
    classifiers = tuple(Calibrated(network_of(data, n=n), Calibration("temperature", 2.0, 1.0), scale) for n in (4, 1))
    both = fitting.metrics_of(data, classifiers, Side.VALIDATION)
    assert both[0].log_loss != both[1].log_loss
    for one, figures in zip(classifiers, both, strict=True):
        assert figures == fitting.metrics_of(data, (one,), Side.VALIDATION)[0]
    with pytest.raises(DataError, match="no test rows"):
        fitting.metrics_of(data, classifiers, Side.TEST)
