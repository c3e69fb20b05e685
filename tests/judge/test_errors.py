"""Errors of every size, in the target's own units, from sums or from rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Sums
from enrelm_cli.inputs.split import Side, hash_split
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.judge.errors import curve_of, curves_of, errors_from_sums, relative_errors, relative_of
from enrelm_cli.judge.fitting import with_errors
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
