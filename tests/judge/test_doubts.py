"""When a user is warned of an error, and when not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enrelm_cli.fold.folds import Chunk
from enrelm_cli.judge import doubts, trust
from enrelm_cli.judge.metrics import Metrics
from enrelm_cli.types import Array
from enrelm_cli.variants._near_copies import NearCopies


def column(name: str, levels: tuple[str, ...] | None = None, is_date: bool = False) -> Any:
    return SimpleNamespace(name=name, levels=levels, is_date=is_date)


def rows_of(t: int = 60, distinct: int | None = None, columns: Any = None, **beside: Any) -> Any:
    """The first column is the target in another unit, the second is not."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal(t)
    X = np.column_stack([3.0 * y + 1.0, rng.standard_normal(t)])
    keys = (np.arange(t) % (distinct or t)).astype(np.uint64)
    sample = Chunk(X, y, keys, keys, 0, **beside)
    made = [column("same"), column("other")] if columns is None else columns
    return SimpleNamespace(sample=sample, columns=made, classes=None, total=t, target="y")


def metrics(r2: float) -> Metrics:
    return Metrics(10, 0.1, 0.1, 0.1, r2)


# --- doubts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("total", "said"), [(49, True), (50, False), (1000, False)])
def test_few_rows_are_said_to_be_few(total: int, said: bool) -> None:
    rows = rows_of()
    rows.columns, rows.total = rows.columns[:1], total
    expected = (f"only {total} rows: errors of so few are unreliable",) if said else ()
    assert doubts.warnings_of(rows, None) == expected


def test_a_column_that_is_nearly_the_target_is_named() -> None:
    rows = rows_of()
    assert doubts.nearly_the_target(rows) == ["same"]
    [said] = doubts.warnings_of(rows, metrics(1.0))
    assert said == "'same' alone predicts the target 'y': if it is known only afterwards, --drop same"
    rows.columns = [column("same"), column("too")]
    rows.sample.X[:, 1] = -rows.sample.X[:, 0]
    [said] = doubts.warnings_of(rows, None)
    assert said.startswith("'same', 'too' alone")
    assert said.endswith("--drop same --drop too")


def test_classes_dates_levels_and_an_only_column_are_not() -> None:
    rows = rows_of()
    rows.classes = ("a", "b")
    assert doubts.nearly_the_target(rows) == []
    one = column("same")
    assert doubts.nearly_the_target(rows_of(columns=[one])) == []
    assert doubts.nearly_the_target(rows_of(columns=[one, one])) == ["same"]
    # A date may tell everything, and each level has one row.
    assert doubts.nearly_the_target(rows_of(columns=[column("d", is_date=True), column("o")])) == []
    assert doubts.nearly_the_target(rows_of(columns=[column("l", levels=("a",)), column("o")])) == []


@pytest.mark.parametrize(("distinct", "said"), [(29, False), (30, True)])
def test_twins_do_not_vouch_for_each_other(distinct: int, said: bool) -> None:
    assert (doubts.nearly_the_target(rows_of(60, distinct)) == ["same"]) == said


@pytest.mark.parametrize(("r2", "said"), [(0.9999, False), (0.99995, True), (-1.0, False)])
def test_a_fit_that_is_too_good_is_doubted(r2: float, said: bool) -> None:
    rows = rows_of()
    rows.columns = [column("a"), column("b")]
    rows.sample.X[:] = np.random.default_rng(1).standard_normal((60, 2))
    found = doubts.warnings_of(rows, metrics(r2))
    assert [one.startswith(f"an R² of {r2:.6f} is rarely real") for one in found] == ([True] if said else [])
    assert doubts.warnings_of(rows, None) == ()


# --- trust -----------------------------------------------------------------------------------------------------------


def dated(t: int = 60, drift: float = 5.0, **beside: Any) -> Any:
    """The first column is a date along which the target goes up; the second is a number that it follows as well."""
    rng = np.random.default_rng(2)
    when = rng.permutation(t).astype(float)
    keys = np.arange(t, dtype=np.uint64)
    sample = Chunk(np.column_stack([when, when]), drift * when / t + rng.standard_normal(t), keys, keys, 0, **beside)
    columns = [column("day of sale", is_date=True), column("n")]
    return SimpleNamespace(sample=sample, columns=columns, classes=None)


def test_rows_that_are_alike_in_time_are_said_to_be() -> None:
    [said] = trust.time_warning(dated())
    assert "--time 'day of sale'" in said
    assert trust.time_warning(dated(drift=0.0)) == ()
    for names in (["n"], ["day of sale"]):
        rows = dated()
        rows.columns = [column(name) for name in names]
        assert trust.time_warning(rows) == ()
    rows = dated()
    rows.columns = [column("d", levels=("a",), is_date=True), column("n", levels=("b",))]
    assert trust.time_warning(rows) == ()


def test_who_holds_rows_out_by_time_or_group_need_not_be_told() -> None:
    t = 60
    for beside in (
        {"time": np.arange(60.0)},
        {"group": np.arange(t, dtype=np.uint64)},
        {"held": np.zeros(t, bool)},
    ):
        assert trust.time_warning(dated(**beside)) == ()
    rows = dated()
    rows.classes = ("a", "b")
    assert trust.time_warning(rows) == ()


@pytest.mark.parametrize(("t", "said"), [(49, False), (50, True)])
def test_few_rows_are_not_judged_by_time(t: int, said: bool) -> None:
    assert (trust.time_warning(dated(t, drift=30.0)) != ()) == said


def test_the_date_along_which_rows_are_most_alike_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = dated()
    rows.columns = [column("a", is_date=True), column("b", is_date=True)]
    rows.sample.X[:] = [1.0, 2.0]
    for alike, name in (({1.0: 0.5, 2.0: 0.4}, "a"), ({1.0: 0.3, 2.0: 0.4}, "b"), ({1.0: 0.3, 2.0: 0.2}, "a")):

        def found(time: Array, y: Array, alike: Any = alike) -> float:
            return float(alike[time[0]])

        monkeypatch.setattr(trust, "alike_in_time", found)
        [said] = trust.time_warning(rows)
        assert f"--time {name} " in said
    monkeypatch.setattr(trust, "alike_in_time", lambda time, y: 0.29)
    assert trust.time_warning(rows) == ()


def fitted(found: NearCopies | None) -> Any:
    return SimpleNamespace(variant=SimpleNamespace(near_copies=lambda basis, network: found), basis=None, network=None)


def test_near_copies_that_mislead_are_told_once() -> None:
    harmless, bad = NearCopies(0.5, 1.0, 1.0), NearCopies(0.947, 0.12, 0.857)
    worse = NearCopies(0.9, 0.0, 1.0)
    assert trust.copies_warning([]) == trust.copies_warning([fitted(None), fitted(harmless)]) == ()
    [said] = trust.copies_warning([fitted(None), fitted(harmless), fitted(bad), fitted(worse)])
    assert said.startswith("95 % of the rows have near-copies on both sides of the split")
    assert "the left-out error is 0.86, not 0.12" in said
