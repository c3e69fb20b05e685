"""Errors of every size, in the target's own units, from sums or from rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.inputs.split import Side, hash_split
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.judge.errors import (
    CurveRows,
    curve_of,
    curves_of,
    errors_from_sums,
    losses_of,
    relative_errors,
    relative_of,
)
from enrelm_cli.judge.fitting import with_errors
from enrelm_cli.judge.losses import unit_of
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import Basis, basis_of, tune
from enrelm_cli.settings import KernelSettings, MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants import named
from tests.problems import problem

METHOD = MethodSettings(landmarks=30, kernel=KernelSettings(tune=False, weight_variance=0.3, bias_variance=0.2))
KERNEL = named("kernel")


def split_problem(T: int = 300) -> Training:
    X, y = problem(1, T=T)
    rows = rows_of_arrays(X, np.exp(y / np.std(y)))
    return training(rows, hash_split(rows.sample.unit, True, 3, 0.25))


def on_a_log_scale(data: Training) -> Training:
    plain = data.view.target_scale
    u = plain.standard(data.rows.sample.y)
    shape = plain.mean / plain.scale
    g = np.log(u + shape)
    scale = replace(plain, transform="log", shape=shape, g_mean=float(g.mean()), g_scale=float(g.std()))
    return data.through(data.view.input_map, scale.ranged(float(u.min()), float(u.max())))


def fitted(data: Training) -> tuple[Basis, Network]:
    basis = basis_of(tune(data, METHOD, KERNEL.start), METHOD)
    return basis, KERNEL.fit(basis, METHOD, 8)


def by_hand(data: Training, network: Network, side: Side) -> Array:
    chunk, scale = data.view(data.rows.sample, side), data.view.target_scale
    u = scale.units(chunk.y)
    z = network.intercept + np.cumsum(network.features.outputs(chunk.X) * network.beta, axis=1)
    return np.sqrt(np.square(scale.predicted(z) - u[:, None]).sum(axis=0) / np.square(u).sum())


@pytest.mark.parametrize("side", [Side.TRAIN, Side.VALIDATION])
@pytest.mark.parametrize("logarithmic", [False, True])
def test_the_curve_is_the_error_of_every_size_in_units_of_the_target(logarithmic: bool, side: Side) -> None:
    data = split_problem()
    basis, network = fitted(on_a_log_scale(data) if logarithmic else data)
    shifted = replace(network, intercept=0.3, order=None)  # without an order only the rows can tell
    np.testing.assert_allclose(curve_of(basis, shifted, side), by_hand(basis.data, shifted, side), rtol=1e-9)


def test_sums_tell_the_curve_only_of_a_target_as_it_is_and_of_sides_that_they_have() -> None:
    data = split_problem(700)
    basis, network = fitted(data)
    assert basis.gram is not None
    assert errors_from_sums(basis, network, Side.VALIDATION) is not None
    assert errors_from_sums(basis, network, Side.TEST) is None
    assert errors_from_sums(basis, replace(network, order=None), Side.TRAIN) is None
    assert errors_from_sums(basis.on(on_a_log_scale(data).view.target_scale), network, Side.TRAIN) is None
    small, alone = fitted(split_problem(25))
    assert small.gram is None
    assert errors_from_sums(small, alone, Side.TRAIN) is None


def test_no_pass_is_made_where_sums_tell_every_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    one = fitted(split_problem(700))
    monkeypatch.setattr(Training, "fold", lambda *_: pytest.fail("a pass"))
    curves = curves_of([one], (Side.TRAIN, Side.VALIDATION))[0]
    assert {side: len(errors) for side, errors in curves.items()} == {Side.TRAIN: 8, Side.VALIDATION: 8}


def test_left_out_errors_smear_predictions_of_a_transformed_target_and_no_other() -> None:
    data = split_problem()
    basis, network = fitted(data)
    assert with_errors(KERNEL, basis, network) is basis
    logarithmic, network = fitted(on_a_log_scale(data))
    found = with_errors(KERNEL, logarithmic, network).data.view.target_scale
    expected = logarithmic.data.view.target_scale.smeared(KERNEL.left_out(logarithmic, network))
    assert len(found.errors)
    np.testing.assert_array_equal(found.errors, expected.errors)


def test_errors_relate_to_any_spread_and_have_a_value_where_there_is_none() -> None:
    np.testing.assert_allclose(relative_errors(np.array([0.125, 2.0, -1e-20]), 0.5), [0.5, 2.0, 0.0])
    np.testing.assert_array_equal(relative_errors(np.array([0.0, 0.1]), 0.0), [0.0, np.inf])


def test_a_side_without_rows_has_no_error() -> None:
    with pytest.raises(DataError, match="no validation rows"):
        relative_of(Sums({"squares": np.zeros(2), "total": 0.0, "rows": 0}), Side.VALIDATION)


def test_curves_are_of_predictions_that_no_range_clips() -> None:
    data = split_problem()
    basis, network = fitted(data)
    narrow = basis.on(data.view.target_scale.ranged(-0.1, 0.1))
    shifted = replace(network, intercept=0.3, order=None)
    np.testing.assert_allclose(curve_of(narrow, shifted, Side.TRAIN), by_hand(data, shifted, Side.TRAIN), rtol=1e-9)


def test_sizes_of_errors_come_from_the_rows_where_sums_know_the_squares() -> None:
    basis, network = fitted(split_problem(700))
    assert errors_from_sums(basis, network, Side.VALIDATION) is not None
    chunk = basis.data.view(basis.data.rows.sample, Side.VALIDATION)
    z = network.intercept + np.cumsum(network.features.outputs(chunk.X) * network.beta, axis=1)
    found = losses_of([(basis, network)], (Side.VALIDATION,), power=1)[0][Side.VALIDATION]
    np.testing.assert_allclose(found.values, np.abs(z - chunk.y[:, None]).sum(axis=0), rtol=1e-9)
    assert found.total == pytest.approx(np.abs(chunk.y).sum(), rel=1e-9)


class Given:
    """Features whose outputs are the inputs: (t, n), or (t, n, q) where each target has its own."""

    def __init__(self, targets: int | None) -> None:
        self.targets = targets

    def outputs(self, X: Array) -> Array:
        return X if self.targets is None else X[:, :, None] * (1.0 + np.arange(self.targets))

    def combine(self, X: Array, beta: Array) -> Array:
        return X @ beta


def of_classes(rows: int, classes: int, noise: float, own: bool) -> tuple[CurveRows, Chunk]:
    """A network of so many classes whose last size leaves errors of the noise, and its rows, with weights."""
    rng = np.random.default_rng(classes)
    q, scale = classes - 1, ClassScale(rng.integers(5, 30, classes).astype(float))
    X, beta, intercept = rng.standard_normal((rows, 4)), rng.standard_normal((4, q)), rng.standard_normal(q)
    features = Given(q if own else None)
    whole = np.einsum("inq,nq->iq", features.outputs(X) if own else np.repeat(X[:, :, None], q, axis=2), beta)
    y = intercept + whole + noise * rng.standard_normal((rows, q))
    keys = np.arange(rows).astype(np.uint64)
    chunk = Chunk(X, y, keys, keys, 0, weight=rng.uniform(0.5, 2.0, rows))
    view = replace(split_problem(40).view, target_scale=scale)
    return CurveRows(view, Network(features, beta, intercept), (Side.TRAIN,)), chunk  # type: ignore[arg-type]


@pytest.mark.parametrize("own", [False, True], ids=["outputs of all targets", "an output for each target"])
@pytest.mark.parametrize(("classes", "noise"), [(3, 1e-7), (30, 0.5)])
@pytest.mark.parametrize("power", [1, 2])
def test_the_curve_of_several_columns_is_summed_over_them(classes: int, noise: float, own: bool, power: int) -> None:
    """Few columns keep their digits where the fit is nearly perfect; many are summed by products, of squares only."""
    partial, chunk = of_classes(700, classes, noise, own)
    outputs = partial.network.features.outputs(chunk.X)
    terms = (outputs if own else outputs[:, :, None]) * partial.network.beta
    gaps = partial.network.intercept + np.cumsum(terms, axis=1) - chunk.y[:, None, :]
    assert chunk.weight is not None
    found = replace(partial, power=power)._sums(chunk)
    np.testing.assert_allclose(found["squares"], np.einsum("i,inq->n", chunk.weight, np.abs(gaps) ** power), rtol=1e-7)


def test_the_curve_of_logits_is_brier_s_score_in_units_of_the_codes() -> None:
    partial, chunk = of_classes(600, 3, 0.5, own=False)
    scale = partial.view.target_scale
    assert isinstance(scale, ClassScale)
    place = np.random.default_rng(1).integers(0, 3, 600)
    chunk = replace(chunk, y=scale.forward(place.astype(float)), weight=None)
    network = replace(partial.network, logits=True)
    scores = np.exp(scale.scores(network.predict(chunk.X)))
    p = scores / scores.sum(axis=1, keepdims=True)
    brier = np.sum((p - np.eye(3)[place]) ** 2)
    found = replace(partial, network=network)._sums(chunk)
    np.testing.assert_allclose(found["squares"], np.full(4, brier / scale.spread**2), rtol=1e-9)


def test_the_unit_of_classes_is_the_spread_of_their_indicators() -> None:
    assert unit_of(ClassScale(np.array([30.0, 10.0]))) == pytest.approx(np.sqrt(2 * 0.75 * 0.25))
