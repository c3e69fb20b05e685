"""What an eigenbasis keeps for those who ask again."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from enrelm_cli.phase_one.shared import Shared
from enrelm_cli.types import Array


def test_it_is_computed_once_up_to_the_limit_and_nobody_writes_into_it() -> None:
    shared, asked, of = Shared(limit=100), [0], np.zeros(1)

    def compute() -> Array:
        asked[0] += 1
        return np.full(10, float(asked[0]))

    first = shared.once("a", of, compute)
    assert shared.once("a", of, compute) is first
    with pytest.raises(ValueError, match="read-only"):
        first += 1.0
    # 80 of 100 bytes are used.
    for _ in range(2):
        shared.once("b", of, compute)
    assert asked == [3]
    assert len(shared) == 1


def test_the_same_key_of_another_array_is_computed_again() -> None:
    shared = Shared()
    one, two = np.zeros(1), np.zeros(1)
    shared.once("a", one, lambda: np.zeros(2))
    assert shared.once("a", two, lambda: np.ones(2)).tolist() == [1.0, 1.0]


def test_a_copy_for_elsewhere_is_empty() -> None:
    shared = Shared()
    shared.once("a", np.zeros(1), lambda: np.zeros(2))
    assert len(pickle.loads(pickle.dumps(shared))) == 0
