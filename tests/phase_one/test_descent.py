"""Descent in a box: where it ends, and what carried curvature is worth."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from enrelm_cli.phase_one.tuning.descent import Pairs, Place, descend, scaled
from enrelm_cli.types import Array

FAR = (np.full(6, -100.0), np.full(6, 100.0))


class Bowl:
    """factor/2 (x - centre)'A(x - centre), counted; A has a condition number of 1,000."""

    def __init__(self, factor: float = 1.0, centre: float = 2.0) -> None:
        Q = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
        self.A = factor * (Q * np.geomspace(1.0, 1e3, 6)) @ Q.T
        self.centre, self.calls = centre, 0

    def __call__(self, x: Array) -> tuple[float, Array]:
        self.calls += 1
        gradient = self.A @ (x - self.centre)
        return 0.5 * float((x - self.centre) @ gradient), gradient


def bottom(bowl: Bowl, bounds: tuple[Array, Array] = FAR, pairs: Pairs = ()) -> Place:
    place = None
    for place in descend(bowl, np.zeros(6), bounds, pairs):
        if place.value < 1e-10:
            break
    assert place is not None
    return place


def test_it_finds_the_minimum() -> None:
    np.testing.assert_allclose(bottom(Bowl()).x, 2.0, atol=1e-4)


def test_every_place_is_lower_than_the_one_before() -> None:
    values = [place.value for place in descend(Bowl(), np.zeros(6), FAR)]
    assert all(later < earlier for earlier, later in pairwise(values))


def test_a_bound_in_the_way_holds() -> None:
    low, high = np.full(6, -100.0), np.r_[1.0, np.full(5, 100.0)]
    bowl = Bowl()
    *_, place = descend(bowl, np.zeros(6), (low, high))
    assert place.x[0] == 1.0
    rest = np.linalg.solve(bowl.A[1:, 1:], -bowl.A[1:, 0] * (1.0 - 2.0)) + 2.0  # the others at their best beside it
    np.testing.assert_allclose(place.x[1:], rest, atol=1e-4)


def test_carried_curvature_saves_evaluations() -> None:
    small = Bowl()
    pairs = bottom(small).pairs
    fresh, warm = Bowl(3.0, centre=1.0), Bowl(3.0, centre=1.0)
    bottom(fresh)
    bottom(warm, pairs=scaled(pairs, 3.0))
    assert warm.calls < fresh.calls / 2


def test_where_there_is_no_way_down_it_ends_at_the_start() -> None:
    places = list(descend(lambda x: (0.0, np.zeros(6)), np.zeros(6), FAR))
    assert len(places) == 1


@pytest.mark.parametrize("wall", [1.5, 0.01])
def test_a_region_without_a_value_is_stepped_back_from(wall: float) -> None:
    def objective(x: Array) -> tuple[float, Array]:
        return (np.inf, np.zeros(6)) if x[0] > wall else (float(np.sum((x - 1.0) ** 2)), 2.0 * (x - 1.0))

    *_, place = descend(objective, np.zeros(6), FAR)
    assert np.isfinite(place.value)
    assert place.value < 6.0
