"""The error rate and the log-loss of every size, against networks cut to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enrelm_cli.inputs.training import Training
from enrelm_cli.judge.classes import fitting, sizes
from enrelm_cli.judge.classes.calibration import calibrated, joined_scores
from enrelm_cli.judge.curve import Choice, Choices, Curve
from enrelm_cli.model.network import Network
from tests.judge.classes.test_fitting import Given, basis_of, data_of, fitted_of, folds_of, loss_of, network_of


def literal_curve(parts: list[tuple[Training, Network]], sizes_of: list[int]) -> list[tuple[float, float]]:
    found = []
    for n in sizes_of:
        held = joined_scores([fitting.held_out(data, one.first(n)) for data, one in parts])
        how = calibrated("temperature", held)
        wrong = (how.slope * held.scores + how.prior * held.log_shares).argmax(axis=1) != held.codes
        found.append((float(np.average(wrong, weights=held.weight)), loss_of(held, how)))
    return found


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("C", [2, 3])
def test_every_size_has_the_rate_and_the_loss_of_its_own_network(C: int, folded: bool) -> None:
    parts = folds_of(C)[: 3 if folded else 1]
    networks = [replace(network_of(data), intercept=0.4) for data in parts]
    networks[-1] = networks[-1].first(3) if folded else networks[-1]
    folds = tuple((basis_of(data), one) for data, one in zip(parts, networks, strict=True)) if folded else ()
    fitted = fitted_of(Given(), parts[0], networks[0], folds=folds)
    found = sizes.class_curve(fitted)
    expected = [1, 2, 3] if folded else [1, 2, 3, 4]
    assert found.neurons == tuple(expected)
    pairs = literal_curve(list(zip(parts, networks, strict=True)), expected)
    np.testing.assert_allclose(np.column_stack([found.error_rate, found.log_loss]), pairs, rtol=1e-7)
    assert found.at(2) == (found.error_rate[1], found.log_loss[1])
    rows = found.to_json()
    assert [(one["neurons"], one["error_rate"], one["log_loss"]) for one in rows] == [
        (n, *found.at(n)) for n in expected
    ]
    # One size, which may be of many parts.
    only = sizes.class_curve(replace(fitted, curve=replace(fitted.curve, only_size="leaves")))
    held = joined_scores([fitting.held_out(data, one) for data, one in zip(parts, networks, strict=True)])
    assert only.neurons == (1,)
    assert only.log_loss[0] == pytest.approx(loss_of(held, calibrated("temperature", held)))


@pytest.mark.parametrize(("numbers", "rows"), [(30.0, 10), (2.0, 1)])
def test_the_curve_of_many_rows_is_that_of_the_first(
    numbers: float, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = data_of()
    network = network_of(data)
    monkeypatch.setattr(sizes, "_NUMBERS", numbers)
    [first, *_] = sizes._nested(basis_of(data), network, [1, 2])
    held = fitting.held_out(data, network.first(1))
    np.testing.assert_allclose(first.scores, held.scores[:rows])


@pytest.mark.parametrize("most", [1, 5, 47, 48, 2000])
def test_sizes_are_even_by_ratio_and_those_on_offer(most: int) -> None:
    """48 of them at most, whose logarithms are evenly apart."""
    offered = {most, (most + 2) // 3, (most + 1) // 2}
    choices = Choices(Choice((most + 2) // 3, 0.1), None, Choice((most + 1) // 2, 0.1))
    curve = Curve("given", np.ones(most), np.ones(most), choices, None, False, most)
    count = min(most, 48)
    even = {round(most ** (k / max(count - 1, 1))) for k in range(count)}
    assert sizes.sizes_of(curve) == sorted(offered | even)
    assert sizes.sizes_of(replace(curve, chosen=Choice(4 * most, 0.3))) == [*sorted(offered | even), 4 * most]
