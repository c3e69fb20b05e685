"""Profiles of columns: bins, the stability index with and without a shift, few rows, documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from enrelm_cli.inputs.encoding import UNSEEN, Column
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model.profile import Profile, Stability, chi_square, joined, nearest, profile_of
from enrelm_cli.table.kinds import Kind
from enrelm_cli.types import Array

LEVELS = tuple(f"level {k:02d}" for k in range(40))
COLUMNS = (
    Column("even", Kind.NUMBER, None, 0.0, False),
    Column("skewed", Kind.NUMBER, None, 0.0, False),
    Column("holes", Kind.NUMBER, None, 0.0, True),
    Column("few", Kind.NUMBER, None, 0.0, False),
    Column("text", Kind.TEXT, LEVELS, 0.0, False),
)


def table(rows: int, rng: np.random.Generator) -> Array:
    X = np.column_stack(
        [
            rng.standard_normal(rows),
            rng.exponential(size=rows),
            np.where(rng.random(rows) < 0.2, np.nan, rng.standard_normal(rows)),
            rng.integers(0, 3, rows),
            np.minimum(rng.geometric(0.1, rows) - 1, 39),
        ]
    )
    return np.asarray(X, dtype=float)


def stabilities(profile: Profile, X: Array) -> list[Stability]:
    counts = profile.of(X)
    found = [
        profile.stability(k, counts[a:b])
        for k, (a, b) in enumerate(zip(profile.first, profile.first[1:], strict=False))
    ]
    return [one for one in found if one is not None]


def alarms(profile: Profile, X: Array, limit: float = 0.2) -> list[str]:
    pairs = zip(COLUMNS, stabilities(profile, X), strict=True)
    return [column.name for column, one in pairs if one.psi > limit and one.raw > one.noise]


def test_bins_are_twenty_quantiles_levels_and_missing_cells() -> None:
    X = table(4000, np.random.default_rng(0))
    even, _, holes, few, text = profile_of(COLUMNS, X, None).columns
    assert even.size == 20 + 2
    np.testing.assert_allclose(even.counts[:20], 200, atol=1)
    assert holes.counts[-1] == np.isnan(X[:, 2]).sum()
    assert few.size == 3 + 2
    np.testing.assert_array_equal(few.counts[:3], np.bincount(X[:, 3].astype(int)))
    # Thirty levels of their own, the others together.
    assert text.size == 31 + 2
    assert text.counts[:-2].sum() == 4000


def test_cells_out_of_range_and_unseen_levels_are_counted_where_they_belong() -> None:
    profile = profile_of(COLUMNS, table(500, np.random.default_rng(1)), None)
    assert profile.columns[0].of(np.array([-99.0, 99.0, np.nan])).tolist()[:1] == [1]
    counts = profile.columns[4].of(np.array([UNSEEN, 0.0, np.nan, UNSEEN]))
    assert (counts[-2], counts[-1], counts.sum()) == (2, 1, 4)


def test_the_counts_of_parts_add_up() -> None:
    rng = np.random.default_rng(2)
    profile, X = profile_of(COLUMNS, table(500, rng), None), table(300, rng)
    np.testing.assert_array_equal(profile.of(X), profile.of(X[:100]) + profile.of(X[100:]))


@pytest.mark.parametrize(("m", "n"), [(300, 25), (300, 80), (520, 520), (5000, 300), (20_000, 20_000)])
def test_an_unshifted_table_raises_no_alarm_in_95_of_100_simulations(m: int, n: int) -> None:
    rng = np.random.default_rng(3)
    raised = [bool(alarms(profile_of(COLUMNS, table(m, rng), None), table(n, rng))) for _ in range(100)]
    assert sum(raised) <= 5


@pytest.mark.parametrize("n", [80, 400, 5000])
def test_a_shifted_column_is_named_and_no_other(n: int) -> None:
    rng = np.random.default_rng(4)
    for k, name in enumerate(("even", "skewed")):
        X = table(n, rng)
        X[:, k] += 1.5
        assert alarms(profile_of(COLUMNS, table(3000, rng), None), X) == [name]


@pytest.mark.parametrize(("change", "name"), [("holes", "holes"), ("levels", "text"), ("few", "few")])
def test_missing_cells_new_levels_and_other_shares_are_drift(change: str, name: str) -> None:
    rng = np.random.default_rng(5)
    profile, X = profile_of(COLUMNS, table(2000, rng), None), table(400, rng)
    some = rng.random(400) < 0.5
    if change == "holes":
        X[some, 2] = np.nan
    if change == "levels":
        X[some, 4] = UNSEEN
    if change == "few":
        X[some, 3] = 2.0
    assert alarms(profile, X) == [name]


def test_the_index_is_that_of_the_textbook_less_what_chance_gives() -> None:
    p, q = np.array([200, 300, 500]), np.array([300, 300, 400])
    profile = profile_of([Column("x", Kind.NUMBER, None, 0.0, False)], np.repeat([1.0, 2.0, 3.0], p)[:, None], None)
    found = profile.stability(0, np.array([*q, 0, 0]))
    assert found is not None
    old, new = p / 1000, q / 1000
    assert found.raw == pytest.approx(float(np.sum((new - old) * np.log(new / old))), rel=0.02)
    assert found.psi == pytest.approx(found.raw - 2 / 1000 * 2)


def test_few_rows_tell_nothing() -> None:
    profile = profile_of(COLUMNS, table(500, np.random.default_rng(6)), None)
    assert stabilities(profile, table(19, np.random.default_rng(7))) == []


def test_bins_are_joined_until_each_has_enough_cells() -> None:
    p, q = joined(np.array([100, 0, 1, 60, 70, 0, 2]), np.array([10, 0, 0, 6, 7, 0, 0]))
    assert p.tolist() == [100, 61, 72]
    assert q.tolist() == [10, 6, 7]


@pytest.mark.parametrize("freedom", [1, 3, 19])
@pytest.mark.parametrize("risk", [0.01, 0.001])
def test_the_chi_square_is_scipys_to_a_few_per_cent(freedom: int, risk: float) -> None:
    assert chi_square(freedom, risk) == pytest.approx(stats.chi2.isf(risk, freedom), rel=0.05)


def test_the_nearest_landmark_is_another_one() -> None:
    rng = np.random.default_rng(8)
    kernel, Z = ArcsineKernel(1.0, 1.0), rng.standard_normal((30, 2))
    K = kernel.gram(Z, Z) / np.sqrt(np.outer(kernel.diagonal(Z), kernel.diagonal(Z)))
    np.testing.assert_allclose(nearest(kernel, Z, Z), 1.0)
    np.fill_diagonal(K, -1.0)
    np.testing.assert_allclose(nearest(kernel, Z, Z, apart=True), K.max(axis=1))


NONSENSE: Sequence[tuple[str, Any]] = [
    ("counts", np.array([1, 2])),
    ("counts", np.array([-1, 2, 3, 0])),
    ("counts", np.zeros(22, np.int64)),
    ("edges", np.array([2.0, 1.0])),
    ("edges", None),
    ("bins", np.array([0])),
]


@pytest.mark.parametrize(("name", "value"), NONSENSE)
def test_a_document_with_nonsense_is_refused(name: str, value: Any) -> None:
    profile = profile_of(COLUMNS, table(500, np.random.default_rng(9)), 0.5)
    document = profile.to_document()
    again = Profile.from_document(document)
    again.check(COLUMNS)
    document["columns"] = [{**document["columns"][0], name: value}, *document["columns"][1:]]
    with pytest.raises((ValueError, TypeError)):
        Profile.from_document(document).check(COLUMNS)


def test_a_level_beyond_the_bins_is_refused() -> None:
    document = profile_of(COLUMNS, table(500, np.random.default_rng(9)), 0.5).to_document()
    document["columns"][4] = {**document["columns"][4], "bins": np.full(40, 99)}
    with pytest.raises(ValueError, match="bins"):
        Profile.from_document(document).check(COLUMNS)
