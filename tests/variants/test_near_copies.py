"""Near-copies by looking at every distance, and what leaving them out does by fits without them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from enrelm_cli.inputs.split import Everything
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.phase_one.eigenbasis import EigenBasis
from enrelm_cli.phase_one.phase_one import eigenbasis_of
from enrelm_cli.types import Array
from enrelm_cli.variants import _near_copies
from enrelm_cli.variants._near_copies import NearCopies, _before_gap, near_copies
from tests.problems import all_landmarks

KERNEL = ArcsineKernel(np.array([2.0, 0.5, 0.0]), 0.3)
ALPHA = 0.02


def table(origins: int = 50, copies: int = 3, noise: float = 1e-3) -> tuple[Array, Array]:
    """Each origin some times, hardly different; the third column, which the kernel does not see, at random."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((origins, 3)), copies, axis=0)
    X = X + noise * rng.standard_normal(X.shape)
    X[:, 2] = rng.standard_normal(len(X))
    y = np.repeat(rng.standard_normal(origins), copies) + 0.05 * rng.standard_normal(len(X))
    return X, y


def fitted(X: Array, y: Array, **beside: Any) -> tuple[Training, EigenBasis]:
    data = training(rows_of_arrays(X, y, **beside), Everything())
    return data, eigenbasis_of(data, KERNEL, all_landmarks(data), centred=True)


def without(data: Training, out: list[int], i: int) -> float:
    """The error of row i of a kernel ridge regression without some rows, with a free intercept."""
    sample = data.sample()
    rest = np.setdiff1d(np.arange(sample.rows), out)
    K = KERNEL.gram(sample.X[rest], sample.X[rest]) + ALPHA * np.eye(len(rest))
    ones = np.ones((len(rest), 1))
    system = np.block([[K, ones], [ones.T, np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(sample.y[rest], 0.0))
    row = KERNEL.gram(sample.X[i : i + 1], sample.X[rest])[0]
    return float(sample.y[i] - row @ solution[:-1] - solution[-1])


def expected(data: Training, own: Array, looked: int) -> NearCopies:
    """With rows of one `own` key left out together, and near-copies those before a gap of 4 among 64 neighbours."""
    sample = data.sample()
    Z = sample.X * np.sqrt(np.array([2.0, 0.5, 0.0]))
    found, alone, together = 0, [], []
    for i in range(min(looked, sample.rows)):
        same = np.flatnonzero(own == own[i]).tolist()
        others = [j for j in range(sample.rows) if own[j] != own[i]]
        others = sorted(others, key=lambda j: float(np.linalg.norm(Z[j] - Z[i])))[:65]
        d = [float(np.linalg.norm(Z[j] - Z[i])) for j in others]
        ratios = [b / max(a, 1e-7 * d[-1]) for a, b in pairwise(d)]
        widest = int(np.argmax(ratios))
        near = others[: widest + 1] if ratios[widest] >= 4.0 else []
        found += len(near) > 0
        alone.append(without(data, same, i))
        together.append(without(data, [*same, *near], i) if near else alone[-1])
    return NearCopies(found / len(alone), *(float(np.sqrt(np.mean(np.square(one)))) for one in (alone, together)))


@pytest.mark.parametrize("grouped", [False, True])
def test_errors_with_and_without_near_copies_are_those_of_fits_without_them(
    grouped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_near_copies, "_LOOKED", 40)
    X, y = table()
    # Two of the three copies in one group, the third in another's.
    group = (np.arange(150) // 3 + (np.arange(150) % 3 == 2)).astype(np.uint64)
    data, basis = fitted(X, y, **({"group": group} if grouped else {}))
    found = near_copies(data, basis, KERNEL, ALPHA)
    sample = data.sample()
    own = sample.group if grouped else np.arange(150, dtype=np.uint64)
    assert own is not None
    literal = expected(data, own, 40)
    assert found is not None
    assert (found.share, found.alone, found.together) == pytest.approx(
        (literal.share, literal.alone, literal.together), rel=1e-6
    )
    assert found.share > 0.5
    assert found.together > 1.1 * found.alone


def test_rows_at_random_have_no_near_copies_and_cost_nothing() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3))
    data, basis = fitted(X, X[:, 0])
    found = near_copies(data, basis, ArcsineKernel(1.0, 0.3), ALPHA)
    assert found is not None
    assert found.share < 0.1
    assert (found.alone, found.together) == (0.0, 0.0)
    assert not found.misleads


def test_a_tenth_of_the_rows_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten rows that are looked at, of which so many have near-copies."""
    data, basis = fitted(*table())
    monkeypatch.setattr(_near_copies, "_LOOKED", 10)
    places = _near_copies._neighbourhoods(data.sample(), KERNEL, np.arange(10))
    none = [one[:0] for one in places[1]]
    for count in (0, 1):
        near = [*places[1][:count], *none[count:]]
        monkeypatch.setattr(_near_copies, "_neighbourhoods", lambda *_, near=near: (places[0], near))
        found = near_copies(data, basis, KERNEL, ALPHA)
        assert found is not None
        assert found.share == count / 10
        assert (found.alone > 0.0) == (count == 1)


def test_where_nothing_can_be_said() -> None:
    X, y = table(43)
    for rows, said in ((127, False), (128, True)):
        assert (near_copies(*fitted(X[:rows], y[:rows]), KERNEL, ALPHA) is not None) == said
    assert near_copies(*fitted(X, y, time=np.arange(129.0)), KERNEL, ALPHA) is None
    data, basis = fitted(X, y)
    assert near_copies(data, replace(basis, values=basis.values[:0]), KERNEL, ALPHA) is None
    rows = replace(rows_of_arrays(X, np.arange(129.0) % 3), classes=("a", "b", "c"))
    classes = training(rows, Everything())
    several = eigenbasis_of(classes, KERNEL, all_landmarks(classes), centred=True)
    assert near_copies(classes, several, KERNEL, ALPHA) is None


@pytest.mark.parametrize(("largest", "said"), [(200, True), (201, False)])
def test_large_groups_are_left_out_together_anyway(largest: int, said: bool) -> None:
    X, y = table(100)
    group = np.where(np.arange(300) < largest, 0, np.arange(300)).astype(np.uint64)
    assert (near_copies(*fitted(X, y, group=group), KERNEL, ALPHA) is not None) == said


def far(*near: float, count: int = 70, from_: float = 10.0) -> Array:
    """Squared distances: some that are given, and others that grow slowly."""
    return np.square(np.concatenate([near, from_ + 0.01 * np.arange(count)]))


def test_near_copies_are_those_before_the_widest_gap() -> None:
    assert _before_gap(far(1.0, 1.1, 1.2)).tolist() == [0, 1, 2]
    assert _before_gap(far(0.0, 1.0, 1.1)).tolist() == [0]  # the gap after 0 is the wider one
    assert _before_gap(far(2.5)).tolist() == [0]  # 10 is 4 times as far
    assert _before_gap(far(2.51)).tolist() == []
    assert _before_gap(np.zeros(80)).tolist() == []
    # Beyond 64 neighbours and one nobody looks.
    wide = far(*np.linspace(1.0, 1.2, 64))
    assert len(_before_gap(wide)) == 64
    assert len(_before_gap(far(*np.linspace(1.0, 1.2, 65)))) == 0


def test_rows_that_are_left_out_anyway_are_no_neighbours() -> None:
    squared = np.full(80, np.inf)
    assert _before_gap(squared).tolist() == []
    squared[5] = 1.0
    assert _before_gap(squared).tolist() == []
    squared[7] = 100.0
    assert _before_gap(squared).tolist() == [5]
    squared[9] = 0.0
    assert _before_gap(squared).tolist() == [9]


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_rounding_is_no_gap(unit: float) -> None:
    """Distances of 0 and 1e-8 of the farthest are both nothing."""
    squared = np.square(unit * np.array([0.0, 1e-8, *np.linspace(0.05, 0.1, 70)]))
    assert _before_gap(squared).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("share", "alone", "together", "misleads"),
    [
        (0.1, 0.7, 1.0, True),
        (0.099, 0.7, 1.0, False),
        (0.5, 0.701, 1.0, False),
        (0.5, 0.0, 0.01, False),  # less than a hundredth of the spread of the target
        (0.5, 0.0, 0.0101, True),
        (0.5, 0.005, 0.0101, False),
        (0.5, 0.0, 1.0, True),
        (0.5, 1.0, 0.5, False),
        (0.5, 1.4, 2.0, True),
        (0.5, 1.41, 2.0, False),
        (0.5, 0.2, 0.3, True),
    ],
)
def test_what_is_worth_a_warning(share: float, alone: float, together: float, misleads: bool) -> None:
    assert NearCopies(share, alone, together).misleads == misleads
