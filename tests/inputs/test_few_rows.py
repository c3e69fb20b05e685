"""A few rows take a shorter way to the same inputs."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from enrelm_cli.inputs.maps.dates import WEEKDAY
from enrelm_cli.inputs.maps.few_rows import FEW
from enrelm_cli.inputs.maps.input_map import Expansion
from enrelm_cli.inputs.maps.numbers import Scores, Squashed, ValueIndicators

KNOTS = np.array([-1.0, 0.0, 2.0])
MAPS = Expansion(
    (
        Squashed(0, "value", 0.5, 2.0, 0.0),
        Scores(0, "value", KNOTS, np.array([-2.0, 0.1, 1.5]), 0.25),
        ValueIndicators(1, "value", np.array([1.0, 2.0]), np.array([0.5, 0.5])),
        Squashed(2, WEEKDAY, 3.0, 1.0, 0.5),
        Squashed(1, "value", -1e300, 1e-300, 0.75),
        Scores(2, "value", KNOTS, KNOTS, 0.5),
    )
)
numbers = st.floats(-1e308, 1e308) | st.sampled_from([0.0, 1.0, 2.0, -1.0])


@given(st.lists(st.tuples(numbers, numbers, st.floats(-1e15, 1e15)), min_size=1, max_size=6))
@settings(max_examples=50, deadline=None)
def test_few_rows_have_the_inputs_that_they_have_among_many(rows: list[tuple[float, ...]]) -> None:
    few = np.array(rows)
    many = np.resize(few, (FEW + len(few), 3))
    assert np.array_equal(MAPS(few), MAPS(many)[: len(few)])


def test_missing_cells_take_the_long_way() -> None:
    row = np.array([[np.nan, 1.0, 0.0]])
    assert MAPS(row)[0, :2].tolist() == [0.0, 0.25]
