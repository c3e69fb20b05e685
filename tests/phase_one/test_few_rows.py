"""Few rows are judged by kernels that were tuned without them."""

from __future__ import annotations

import numpy as np

from enrelm_cli.phase_one.left_out import STAYS, LeftOutRows
from enrelm_cli.phase_one.tuning import TuneSettings, explore
from enrelm_cli.phase_one.tuning.ridge import leave_one_out
from enrelm_cli.phase_one.tuning.search import NARROW, TIGHT


def rows_of(n: int, d: int, noise: float, seed: int = 0) -> LeftOutRows:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return LeftOutRows(X, np.tanh(X[:, 0]) + 0.5 * X[:, 1] + noise * rng.standard_normal(n))


def explored(rows: LeftOutRows, spread: float | None = None):
    groups = list(range(rows.X.shape[1]))
    return explore(rows, groups, TuneSettings(len(rows.y), 800, spread=spread), lambda _: None)


def test_errors_of_held_out_folds_are_those_of_fresh_rows_or_a_little_larger() -> None:
    held_out, fresh = 0.0, 0.0
    for seed in range(4):
        few, new = rows_of(80, 20, 0.8, seed), rows_of(2000, 20, 0.8, seed + 100)
        found = explored(few, NARROW)
        ridge = leave_one_out(found.kernel.gram(few.X, few.X), few.y)
        error = new.y - (ridge.offset + found.kernel.gram(new.X, few.X) @ ridge.dual)
        assert found.held_out is not None
        held_out += float(np.mean(found.held_out**2))
        fresh += float(np.mean(error**2))
    # They have fewer rows to learn from.
    assert 0.97 * fresh < held_out < 1.3 * fresh


def test_a_tight_prior_is_taken_where_inputs_matter_alike_and_a_narrow_one_where_few_of_them_do() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 12))
    alike = LeftOutRows(X, X.sum(axis=1) + 3.0 * rng.standard_normal(150))
    assert explored(alike).found.spread == TIGHT
    assert explored(rows_of(150, 12, noise=0.1)).found.spread == NARROW


def test_a_spread_that_is_known_is_not_searched_for() -> None:
    few = rows_of(100, 6, noise=0.3)
    assert explored(few, TIGHT).found.spread == TIGHT
    assert explored(few, TIGHT).budget.spent < explored(few).budget.spent


def test_groups_are_held_out_whole_and_with_a_time_only_the_latest_rows_are() -> None:
    few = rows_of(90, 4, noise=0.3)
    grouped = LeftOutRows(few.X, few.y, block=np.arange(90) % 30)
    errors = explored(grouped).held_out
    assert errors is not None
    assert not np.isnan(errors).any()
    timed = LeftOutRows(few.X, few.y, block=np.where(np.arange(90) % 4 == 0, 0, STAYS))
    latest = explored(timed)
    assert latest.held_out is not None
    assert np.isnan(latest.held_out).tolist() == (latest.sample.block == STAYS).tolist()


def test_the_number_of_threads_changes_no_held_out_error() -> None:
    few = rows_of(120, 5, noise=0.3)
    one, two = (explore(few, range(5), TuneSettings(120, 800, threads=k), lambda _: None) for k in (1, 2))
    np.testing.assert_array_equal(one.held_out, two.held_out)
