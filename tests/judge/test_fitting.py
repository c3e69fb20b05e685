"""Which size of a curve is taken, and what a refit keeps of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enrelm_cli.errors import DataError
from enrelm_cli.inputs.split import Everything, Side, hash_split
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.judge.curve import Curve, choices
from enrelm_cli.judge.errors import curve_of
from enrelm_cli.judge.fitting import (
    choose,
    choose_over_folds,
    choose_size,
    fit_variant,
    refit_variant,
    train_variant,
    with_errors,
)
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import Basis, basis_of, tune
from enrelm_cli.settings import KernelSettings, MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants import named
from enrelm_cli.variants._variant import Variant
from tests.problems import problem

METHOD = MethodSettings(kernel=KernelSettings(tune=False, weight_variance=0.3, bias_variance=0.2))
FEWER_IS_BETTER = np.array([0.9, 0.5, 0.4, 0.45, 0.55])


def split_problem(T: int = 240) -> Training:
    X, y = problem(1, T=T)
    rows = rows_of_arrays(X, y)
    return training(rows, hash_split(rows.sample.unit, True, 3, 0.25))


def start(variant: str, data: Training) -> Basis:
    return basis_of(tune(data, METHOD, named(variant).start), METHOD)


def curve(validation: Array) -> Curve:
    return Curve("any", validation, validation, choices(validation), None, False, len(validation))


def standard_error(data: Training) -> float:
    """Of an error that so many validation rows give, as a share of it."""
    return float((2.0 * (data.rows.total - data.T)) ** -0.5)


@pytest.mark.parametrize(("beyond", "neurons", "how"), [(0.99, 3, "all"), (1.01, 2, "best")])
def test_a_regularised_variant_keeps_all_neurons_within_a_standard_error_of_the_best(
    beyond: float, neurons: int, how: str
) -> None:
    data = split_problem()
    last = 0.5 * (1.0 + beyond * standard_error(data))
    chosen, selection = choose(curve(np.array([0.9, 0.5, last])), MethodSettings(), True, data)
    assert (chosen.neurons, selection) == (neurons, how)
    assert chosen.error == pytest.approx(last if how == "all" else 0.5)


def test_more_validation_rows_make_the_choice_of_all_neurons_stricter() -> None:
    few, many = split_problem(60), split_problem(2000)
    flat = curve(np.array([0.9, 0.5, 0.52]))
    assert choose(flat, MethodSettings(), True, few)[1] == "all"
    assert choose(flat, MethodSettings(), True, many)[1] == "best"


def test_other_variants_take_the_best_size() -> None:
    data = split_problem()
    chosen, selection = choose(curve(np.array([0.9, 0.5, 0.5001])), MethodSettings(), False, data)
    assert (chosen.neurons, selection) == (2, "best")


@pytest.mark.parametrize("regularised", [False, True])
def test_what_the_user_asks_for_comes_first(regularised: bool) -> None:
    data, flat = split_problem(), curve(FEWER_IS_BETTER)
    assert choose(flat, MethodSettings(neurons=4), regularised, data)[0].neurons == 4
    assert choose(flat, MethodSettings(neurons=4), regularised, data)[1] == "given"
    assert choose(flat, MethodSettings(neurons=4), regularised, data)[0].error == FEWER_IS_BETTER[3]
    assert choose(flat, MethodSettings(neurons=9), regularised, data)[0].neurons == 5
    assert choose(flat, MethodSettings(select="best"), regularised, data)[0].neurons == 3
    assert (
        choose(curve(np.array([0.9, 0.5, 0.504, 0.5])), MethodSettings(select="smallest"), regularised, data)[0]
        == choices(np.array([0.9, 0.5, 0.504, 0.5])).smallest
    )


def test_a_curve_without_a_knee_gives_the_smallest_size() -> None:
    straight = curve(np.linspace(1.0, 0.5, 30))
    chosen, selection = choose(straight, MethodSettings(select="knee"), False, split_problem())
    assert chosen == straight.choices.smallest
    assert selection == "smallest (no clear knee)"


def more_rows(data: Training) -> Training:
    return training(data.rows, Everything())


def test_a_refit_of_all_kernel_neurons_takes_all_that_more_rows_have() -> None:
    data = split_problem()
    basis, more = start("kernel", data), start("kernel", more_rows(data))
    fitted = fit_variant(named("kernel"), basis, METHOD)
    everything = replace(fitted, chosen=replace(fitted.chosen, neurons=fitted.network.size))
    assert refit_variant(everything, more, METHOD).size == len(more.eigen.values) > fitted.network.size
    few = replace(fitted, chosen=replace(fitted.chosen, neurons=7))
    assert refit_variant(few, more, METHOD).size == 7


def test_the_training_error_is_that_of_the_chosen_size() -> None:
    fitted = fit_variant(named("approximate"), start("approximate", split_problem()), replace(METHOD, neurons=4))
    assert fitted.train_error == fitted.curve.train[3] != fitted.curve.train[2]


def test_a_refit_to_the_same_rows_is_the_network_that_was_chosen() -> None:
    basis = start("kernel", split_problem())
    fitted = fit_variant(named("kernel"), basis, METHOD)
    few = replace(fitted, chosen=replace(fitted.chosen, neurons=5))
    np.testing.assert_array_equal(refit_variant(few, basis, METHOD).beta, fitted.network.beta[:5])


def test_a_refit_of_the_approximate_variant_has_the_chosen_size() -> None:
    data = split_problem()
    fitted = fit_variant(named("approximate"), start("approximate", data), METHOD)
    few = replace(fitted, chosen=replace(fitted.chosen, neurons=4))
    assert refit_variant(few, start("approximate", more_rows(data)), METHOD).size == 4


def test_an_incremental_refit_goes_on_until_it_is_better_than_the_mean() -> None:
    data = split_problem()
    fitted = fit_variant(named("incremental"), start("incremental", data), METHOD)
    more = start("incremental", more_rows(data))
    path = named("incremental").fit(more, METHOD, 1)
    errors = curve_of(more, path, Side.TRAIN)
    for n in range(1, min(len(errors), fitted.network.size) + 1):
        size = refit_variant(replace(fitted, chosen=replace(fitted.chosen, neurons=n)), more, METHOD).size
        assert size == next((k for k in range(n, len(errors) + 1) if errors[k - 1] <= 1.0), len(errors))


def test_the_limit_is_the_papers_unless_the_variant_is_regularised() -> None:
    data = split_problem(400)
    for name, most in (("approximate", min(50 * data.d, data.T // 2)), ("kernel", None)):
        basis = start(name, data)
        rank = len(basis.eigen.values)
        assert named(name).most_neurons(basis, METHOD) == min(most or rank, rank)
        assert named(name).most_neurons(basis, replace(METHOD, max_neurons=3)) == 3
        assert named(name).most_neurons(basis, replace(METHOD, max_neurons=10**6)) == rank


def test_only_a_variant_that_knows_its_left_out_errors_has_some() -> None:
    data = split_problem()
    for name, some in (("approximate", False), ("incremental", False), ("kernel", True)):
        basis = start(name, data)
        network = fit_variant(named(name), basis, METHOD).network
        assert len(named(name).left_out(basis, network)) == (data.T if some else 0)


class Fixed(Variant):
    """A variant whose refit is a path that was given."""

    name = "fixed"

    def __init__(self, path: Network) -> None:
        self.path = path

    def most_neurons(self, basis: Basis, method: MethodSettings) -> int:
        return self.path.size

    def fit(self, basis: Basis, method: MethodSettings, n: int) -> Network:
        return self.path


@pytest.mark.parametrize(
    ("errors", "sizes"),
    [
        ([3.0, 1.5, 1.2, 0.9, 1.1, 0.8], [4, 4, 4, 4, 6, 6]),
        ([0.9, 1.5, 0.7, 0.6, 0.5, 0.4], [1, 3, 3, 4, 5, 6]),
        ([9.0, 8.0, 7.0, 6.0, 5.0, 4.0], [6] * 6),
    ],
)
def test_a_refit_takes_the_next_size_that_is_better_than_the_mean_or_all(
    errors: list[float], sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = split_problem(60)
    fitted = fit_variant(named("kernel"), start("kernel", data), METHOD)
    path = Fixed(fitted.network.first(6))
    monkeypatch.setattr("enrelm_cli.judge.fitting.curve_of", lambda *_: np.array(errors))
    more = start("kernel", more_rows(data))
    chosen = [replace(fitted, variant=path, chosen=replace(fitted.chosen, neurons=n)) for n in range(1, 7)]
    assert [refit_variant(one, more, METHOD).size for one in chosen] == sizes
    # The rows that chose the size have seen the order: there it is what was chosen.
    assert [refit_variant(one, fitted.basis, METHOD).size for one in chosen] == [1, 2, 3, 4, 5, 6]


def test_validation_rows_at_the_training_mean_are_an_error_with_a_remedy() -> None:
    X, _ = problem(1, T=80)
    key = rows_of_arrays(X, X[:, 0]).sample
    split = hash_split(key.unit, True, 3, 0.25)
    held_out = split.sides(key) == Side.VALIDATION
    signs = np.where(np.cumsum(~held_out) % 2, 1.0, -1.0)
    signs[np.flatnonzero(~held_out)[-1]] *= (np.count_nonzero(~held_out) % 2) == 0
    y = np.empty(len(X))
    y[key.numbers()] = np.where(held_out, 0.0, signs)
    data = training(rows_of_arrays(X, y), split)
    with pytest.raises(DataError, match="every validation row is the mean"):
        fit_variant(named("approximate"), start("approximate", data), METHOD)


def test_all_neurons_of_a_perfect_fit_are_kept() -> None:
    assert choose_size(curve(np.array([0.5, 0.0, 0.0])), MethodSettings(), True, 60.0)[0].neurons == 3


@pytest.mark.parametrize("folds", [1, 2])
def test_the_standard_error_is_that_of_the_rows_that_all_folds_hold_out_whatever_they_weigh(
    folds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = problem(1, T=700)
    rows = rows_of_arrays(X, y, weight=np.where(np.arange(700) % 3, 1.0, 4.0) if folds == 1 else None)
    each = [training(rows, hash_split(rows.sample.unit, True, seed, 0.25)) for seed in range(3, 3 + folds)]
    told: list[float] = []

    def choice(curve: Curve, method: MethodSettings, regularised: bool, held_out: float) -> tuple[object, str]:
        told.append(held_out)
        return choose_size(curve, method, regularised, held_out)

    monkeypatch.setattr("enrelm_cli.judge.fitting.choose_size", choice)
    method = replace(METHOD, landmarks=30)
    bases = [basis_of(tune(data, method, named("kernel").start), method) for data in each]
    choose_over_folds([[train_variant(named("kernel"), basis, method)] for basis in bases], method)
    held = [np.count_nonzero(data.view.split.sides(rows.sample) == Side.VALIDATION) for data in each]
    assert told == [pytest.approx(sum(held), rel=1e-12)]
    assert sum(held) > 150 * folds


class Late(Fixed):
    """A variant that knows the left-out errors of later rows only."""

    def left_out(self, basis: Basis, network: Network) -> Array:
        errors = np.linspace(-1.0, 3.0, basis.data.T) ** 3
        errors[: basis.data.T // 4] = np.nan
        return errors


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_of_later_rows_smear_around_their_own_weighted_mean(weighted: bool) -> None:
    X, y = problem(1, T=240)
    weight = np.where(np.arange(240) % 5, 1.0, 9.0) if weighted else None
    rows = rows_of_arrays(X, np.exp(y / np.std(y)), weight=weight)
    data = training(rows, hash_split(rows.sample.unit, True, 3, 0.25))
    scale = replace(data.view.target_scale, transform="log", shape=3.0).ranged(-1.0, 5.0)
    basis = start("kernel", data.through(data.view.input_map, scale))
    network = named("kernel").fit(basis, METHOD, 3)
    variant = Late(network)
    errors, own = variant.left_out(basis, network), basis.data.sample_weights()
    known = ~np.isnan(errors)
    left = errors[known] - np.average(errors[known], weights=None if own is None else own[known])
    expected = scale.smeared(left, None if own is None else own[known])
    found = with_errors(variant, basis, network).data.view.target_scale
    np.testing.assert_allclose(found.errors, expected.errors, rtol=1e-12)
