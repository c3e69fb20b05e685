"""Phase 1 shared by the variants, and what its Gram sums say without another pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import Chunk, LocalEngine
from enrelm_cli.inputs.split import Everything, Side, hash_split
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.judge.errors import CurveRows, errors_from_sums, relative_errors
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.landmarks import FEWEST, LARGEST, choose, kernel_landmarks
from enrelm_cli.phase_one.phase_one import Basis, basis_of, choose_landmarks, refit, sums_of, tune
from enrelm_cli.settings import ALL_ROWS, KernelSettings, MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants import named
from tests.problems import problem, whole

METHOD = MethodSettings(landmarks=60, kernel=KernelSettings(tune=False, weight_variance=0.3, bias_variance=0.2))


def split_problem(test_size: float = 0.0, T: int = 700) -> Training:
    X, y = problem(1, T=T)
    rows = rows_of_arrays(X, y)
    return training(rows, hash_split(rows.sample.unit, True, 3, 0.25, test_size))


def phase(data: Training, variant: str = "kernel", method: MethodSettings = METHOD) -> Basis:
    return basis_of(tune(data, method, named(variant).start), method)


def train(variant: str, basis: Basis | None) -> Network:
    assert basis is not None
    return named(variant).fit(basis, METHOD, named(variant).most_neurons(basis, METHOD))


def by_rows(data: Training, one: Basis, side: Side) -> Array:
    network = train("kernel", one)
    sums = data.fold(CurveRows(data.view, network, (side,)), "curve").sides[side]
    return relative_errors(sums["squares"], float(sums["total"]))


@pytest.mark.parametrize("side", [Side.TRAIN, Side.VALIDATION])
def test_the_kernel_variants_curve_follows_from_the_gram_sums(side: Side) -> None:
    data = split_problem()
    one = phase(data)
    network = train("kernel", one)
    errors = errors_from_sums(one, network, side)
    assert errors is not None
    np.testing.assert_allclose(errors, by_rows(data, one, side), rtol=1e-7)


def test_an_error_too_small_for_sums_is_left_to_the_rows() -> None:
    X = np.random.default_rng(2).standard_normal((400, 1))
    y = ArcsineKernel(0.3, 0.2).gram(X, np.ones((1, 1)))[:, 0]  # nearly in the span of the kernel's own functions
    rows = rows_of_arrays(X, y)
    data = training(rows, hash_split(rows.sample.unit, True, 3, 0.25))
    one = phase(data)
    network = train("kernel", one)
    assert by_rows(data, one, Side.VALIDATION).min() < 1e-4
    assert errors_from_sums(one, network, Side.VALIDATION) is None


@pytest.mark.parametrize("variant", ["approximate", "incremental", "kernel"])
def test_a_refit_from_the_sums_is_a_fit_of_all_rows_with_the_same_features(variant: str) -> None:
    data = split_problem()
    one = phase(data, variant)
    joined = refit(one)
    assert joined is not None
    everything = Training(data.rows, replace(data.view, split=Everything()), data.rows.total)
    sums = sums_of(everything, one.tuned.kernel, one.landmarks)
    afresh = Basis(replace(one.tuned, data=everything), sums, sums.eigenbasis(one.tuned.start.centred))
    new = np.random.default_rng(0).standard_normal((30, 6))
    np.testing.assert_allclose(train(variant, joined).predict(new), train(variant, afresh).predict(new), atol=1e-7)
    assert joined.data.T == 700


def test_test_rows_never_enter_the_sums() -> None:
    data = split_problem(test_size=0.3)
    one = phase(data)
    spoilt_y = data.rows.sample.y.copy()
    spoilt_y[data.view.split.sides(data.rows.sample) == Side.TEST] = 1e9

    def spoil(chunk: Chunk) -> Chunk:
        sides = data.view.split.sides(chunk)
        return replace(chunk, y=np.where(sides == Side.TEST, 1e9, chunk.y))

    pieces = [[spoil(chunk) for chunk in piece] for piece in data.rows.pieces]
    rows = replace(data.rows, pieces=pieces, sample=replace(data.rows.sample, y=spoilt_y))
    other = phase(replace(data, rows=rows))
    new = np.random.default_rng(0).standard_normal((10, 6))
    networks = [train("kernel", refit(basis)) for basis in (one, other)]
    np.testing.assert_array_equal(networks[0].predict(new), networks[1].predict(new))


def test_a_small_table_is_refitted_afresh() -> None:
    data = split_problem(T=120)
    assert refit(phase(data, method=replace(METHOD, landmarks=None))) is None


def test_landmarks_are_distinct_and_the_same_in_any_row_order() -> None:
    X, y = problem(4, T=300)
    X[150:] = X[:150]
    order = np.random.default_rng(0).permutation(300)
    chosen = [choose(data.sample(), data.T, 50) for data in (whole(X, y), whole(X[order], y[order]))]
    np.testing.assert_allclose(chosen[0].Z, chosen[1].Z, atol=1e-12)
    assert len(np.unique(chosen[0].key)) == 50
    assert not chosen[0].complete
    everything = choose(whole(X, y).sample(), 300, None)
    assert everything.complete
    assert len(everything.Z) == 150


def test_landmarks_shrink_as_rows_grow_within_bounds() -> None:
    counts = [kernel_landmarks(rows) for rows in (3_000, 100_000, 200_000, 10**6, 10**8)]
    assert counts[0] == counts[1] == LARGEST
    assert LARGEST > counts[2] > FEWEST
    assert counts[3] == counts[4] == FEWEST


def test_all_rows_as_landmarks_are_refused_where_they_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("enrelm_cli.phase_one.landmarks.available_memory", lambda: 10**6)
    with pytest.raises(UsageError, match=r"--landmarks all needs about 8\.8 MB for 525 rows; 1\.0 MB are free"):
        choose_landmarks(split_problem(), ALL_ROWS, LARGEST)


def test_threads_change_no_bit_of_the_sums() -> None:
    X, y = problem(5, T=20_000)
    results = []
    for threads in (1, 2, 3):
        rows = rows_of_arrays(X, y, LocalEngine(threads))
        data = training(rows, hash_split(rows.sample.unit, True, 3, 0.25))
        gram = phase(data).gram
        assert gram is not None
        results.append(gram.sums.total([Side.TRAIN])["BB"])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
