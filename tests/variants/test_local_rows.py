"""Which rows are in leaves, in memory and on disk; the plan that some of them choose; their left-out errors."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enrelm_cli.fold.folds import Chunk, LocalEngine
from enrelm_cli.inputs.split import Everything
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model.leaves import Leaves
from enrelm_cli.phase_one.landmarks import choose
from enrelm_cli.phase_one.phase_one import Basis, Start, Tuned, basis_of
from enrelm_cli.phase_one.tuning.ridge import best_alpha, leave_one_out
from enrelm_cli.settings import MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants import _choice, _gather
from enrelm_cli.variants._choice import Plan, choose_plan
from enrelm_cli.variants._gather import LeafChunks, bound, chosen, gathered
from enrelm_cli.variants._leaf_blocks import block_keys
from enrelm_cli.variants._leaves import LeafRows, grow, leaf_rows
from enrelm_cli.variants._passes import Fitted, fit_keeping, shared_by, without_blocks
from enrelm_cli.variants._pic import LeafWeights
from enrelm_cli.variants.kernel import MIN_RIDGE

KERNEL = ArcsineKernel(np.array([0.9, 0.2]), 0.3)
SPAN = 2**64


def chunk_of(X: Array, y: Array | None = None, **beside: Any) -> Chunk:
    keys = np.arange(len(X), dtype=np.uint64)
    return Chunk(X, np.arange(float(len(X))) if y is None else y, keys, keys, 0, **beside)


def data_of(t: int = 90, classes: int = 0, **beside: Any) -> Training:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((t, 2))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(t)
    if classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, classes) / classes), y).astype(float)
    rows = rows_of_arrays(X, y, LocalEngine(1), **beside)
    return training(replace(rows, classes=tuple("abc"[:classes])) if classes else rows, Everything())


# --- which rows ------------------------------------------------------------------------------------------------------


def test_the_bound_is_the_share_of_the_hashes() -> None:
    assert bound(100, 100) == bound(100, 101) == SPAN
    assert bound(100, 50) == 2**63
    assert bound(3 * 2**70, 2**70) == pytest.approx(SPAN / 3)


def test_rows_with_a_hash_below_the_bound_are_in_leaves() -> None:
    rows = replace(chunk_of(np.zeros((4, 1))), unit=np.array([0, 9, 10, 2**64 - 1], np.uint64))
    assert chosen(rows, 10).y.tolist() == [0.0, 1.0]
    assert chosen(rows, SPAN).y.tolist() == [0.0, 1.0, 2.0, 3.0]


def same_leaves(one: LeafRows, other: LeafRows) -> None:
    for name, value in vars(one).items():
        got = getattr(other, name)
        assert (got is None) == (value is None)
        if value is not None:
            np.testing.assert_array_equal(got, value)


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("classes", "grouped"), [(0, False), (3, True)])
def test_rows_of_a_leaf_are_those_that_it_holds(
    in_memory: bool, weighted: bool, classes: int, grouped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    beside: dict[str, Any] = {"weight": np.linspace(0.5, 2.0, 90)} if weighted else {}
    if grouped:
        beside["group"] = (np.arange(90) // 4).astype(np.uint64)
    data = data_of(90, classes, **beside)
    data = replace(data, rows=replace(data.rows, in_memory=in_memory))
    sample = data.sample()
    leaves = grow(sample, 90, 30, sample.X)
    blocks = block_keys(sample, 90.0)
    for below in (SPAN, 2**63):
        with gathered(data, leaves, below, blocks) as found:
            assert (len(list(tmp_path.iterdir())) == 0) == in_memory
            rows = [next(iter(piece)) for piece in found.pieces]
        kept = chosen(sample, below)
        place = leaves.of(kept.X)
        assert (found.total, found.complete) == (kept.rows, below == SPAN)
        assert len(rows) == leaves.count
        for b, leaf in enumerate(rows):
            own = kept.where(place == b)
            assert own.rows > 0
            same_leaves(leaf_rows([blocks.marked(own)]), leaf)
    assert list(tmp_path.iterdir()) == []


def files_of(sizes: list[int], waiting: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """How many rows are written each time, of chunks of one leaf of so many rows of 16 bytes."""
    written: list[list[int]] = []
    write = _gather._write

    def noted(parts: dict[int, list[Chunk]], folder: Path) -> None:
        written.append([rows.rows for part in parts.values() for rows in part])
        write(parts, folder)

    monkeypatch.setattr(_gather, "_write", noted)
    monkeypatch.setattr(_gather, "_WAITING", waiting)
    chunks = [LeafChunks({0: chunk_of(np.zeros((n, 2)))}, n) for n in sizes]
    found = _gather._on_disk(chunks, 1, True, folder)
    assert found.total == sum(sizes)
    assert [leaf.rows for leaf in found.pieces[0]] == [sum(sizes)]
    return written


def test_rows_wait_until_they_are_enough_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """16 bytes a row, and more than 160 are written: the eleventh row does it."""
    assert files_of([5, 5, 1, 10, 20], 160, tmp_path, monkeypatch) == [[5, 5, 1], [10, 20], []]


def test_a_process_that_takes_signals_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal 0 asks, and does nothing."""
    answers: dict[int, type[Exception] | None] = {1: None, 2: ProcessLookupError, 3: PermissionError, 4: OverflowError}

    def kill(pid: int, signal: int) -> None:
        assert signal == 0
        error = answers[pid]
        if error is not None:
            raise error

    monkeypatch.setattr(os, "kill", kill)
    assert [_gather._alive(pid) for pid in answers] == [True, False, True, True]


@pytest.mark.parametrize("classes", [0, 3])
def test_rows_in_no_leaf_add_their_sums(classes: int) -> None:
    data = data_of(90, classes, weight=np.linspace(0.5, 2.0, 90))
    sample = data.sample()
    shared = shared_by(KERNEL, choose(sample, 90, 15))
    sums = data.fold(_gather.OutsideRows(data.view, shared, 2**63), "rows")
    rows = sample.where(sample.unit >= np.uint64(2**63))
    assert 20 < rows.rows < 70
    assert rows.weight is not None
    F = np.column_stack([shared.projection.of(shared.prepared.against(rows.X)), np.ones(rows.rows)])
    np.testing.assert_allclose(sums["FF"], F.T @ (F * rows.weight[:, None]), atol=1e-10)
    np.testing.assert_allclose(sums["Fy"], (F * rows.weight[:, None]).T @ rows.y, atol=1e-10)


# --- the plan --------------------------------------------------------------------------------------------------------


def start(data: Training, landmarks: int = 15) -> Basis:
    method = replace(MethodSettings(), landmarks=landmarks)
    return basis_of(Tuned(Start.LEAVES, data, KERNEL, landmarks), method)


@pytest.mark.parametrize("classes", [0, 3])
def test_cuts_part_the_target_or_the_inputs_in_units_of_the_kernel(classes: int) -> None:
    sample = data_of(40, classes).sample()
    np.testing.assert_array_equal(Plan(True, 0.1).parted(sample, KERNEL), sample.y.reshape(40, -1))
    np.testing.assert_allclose(Plan(False, 0.1).parted(sample, KERNEL), sample.X * np.sqrt([0.9, 0.2]))


def literal_squares(basis: Basis, alpha: float, by_target: bool, most: int) -> float:
    """Left-out errors of all rows in leaves of their own."""
    sample = basis.data.sample()
    shared = shared_by(KERNEL, choose(sample, sample.rows, 15))
    leaves = grow(sample, sample.rows, most, sample.y[:, None] if by_target else sample.X * np.sqrt([0.9, 0.2]))
    pieces = [[leaf_rows([sample.take(places)])] for _, places in leaves.groups(sample.X)]
    fitted = fit_keeping(LocalEngine(1), shared, alpha, pieces, None)
    errors = fitted.left_out(sample)
    return float(errors @ errors)


@pytest.mark.parametrize(
    ("most", "tuned"), [(9, None), (1000, None), (1000, 0.003), (1000, 0.0012), (1000, 2.0), (1000, 1e-6)]
)
def test_the_plan_is_the_one_with_the_least_left_out_error(most: int, tuned: float | None) -> None:
    """Cuts at the ridge of the exact kernel, then a third and three times of it; eight leaves, or smaller ones."""
    basis = start(data_of(96))
    sample = basis.data.sample()
    exact = tuned or leave_one_out(KERNEL.gram(sample.X, sample.X), sample.y).alpha
    if tuned:
        tuning: Any = SimpleNamespace(alpha=tuned)
        basis = replace(basis, tuned=replace(basis.tuned, tuning=tuning))
    small = min(most, 96 // 8)
    middle = {by: literal_squares(basis, max(exact, MIN_RIDGE), by, small) for by in (False, True)}
    by_target = middle[True] < middle[False]
    alphas = np.maximum([exact / 3.0, exact, 3.0 * exact], MIN_RIDGE)
    squares = [literal_squares(basis, alpha, by_target, small) for alpha in alphas]
    found = choose_plan(basis, basis.landmarks, sample, most)
    assert found.by_target == by_target
    assert found.alpha == pytest.approx(max(best_alpha(alphas, np.array(squares)), MIN_RIDGE), rel=1e-6)


def test_a_ridge_that_tuning_found_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    basis = start(data_of(60))
    tuned = replace(basis, tuned=replace(basis.tuned, tuning=SimpleNamespace(alpha=0.123)))  # type: ignore[arg-type]
    assert _choice._exact_ridge(tuned) == 0.123
    sample = basis.data.sample()
    monkeypatch.setattr(_choice, "_EXACT", 25)
    few = sample.between(0, 25)
    assert _choice._exact_ridge(basis) == pytest.approx(leave_one_out(KERNEL.gram(few.X, few.X), few.y).alpha)


def test_equal_errors_leave_the_cuts_of_the_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_choice._Trial, "squares", lambda *_: 1.0)
    basis = start(data_of(60))
    assert not choose_plan(basis, basis.landmarks, basis.data.sample(), 30).by_target


@pytest.mark.parametrize(("t", "leaves"), [(3, 2), (4, 2), (16, 8)])
def test_few_rows_have_leaves_of_two(t: int, leaves: int) -> None:
    basis = start(data_of(40), 5)
    trial = _choice._Trial(basis, shared_by(KERNEL, basis.landmarks), basis.data.sample().between(0, t), 1000)
    residuals = trial.residuals(False)
    assert len(residuals) == leaves
    assert max(len(one.leaf.y) for [one] in residuals) == 2


def test_the_first_rows_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_choice, "_ROWS", 16)
    basis = start(data_of(40), 5)
    sample = basis.data.sample()
    trial = _choice._Trial(basis, shared_by(KERNEL, basis.landmarks), sample, 1000)
    seen = np.concatenate([one.leaf.key for [one] in trial.residuals(False)])
    assert sorted(seen) == sorted(sample.twins[:16])


# --- left-out errors -------------------------------------------------------------------------------------------------


def weights_of(keys: list[int], y: Array, errors: Array, block: Any = None) -> LeafWeights:
    key = np.array(keys, np.uint64)
    leaf = LeafRows(np.zeros((len(keys), 1)), key, y, np.ones(len(keys)), y, np.arange(len(keys)), block=block)
    return LeafWeights(leaf, y, y, errors)


@pytest.mark.parametrize("targets", [0, 2])
def test_errors_are_of_the_row_not_of_the_mean_of_its_twins(targets: int) -> None:
    """Known inputs 3, 5 and 8; others have the errors of these, in turn."""

    def shaped(values: list[float]) -> Array:
        return np.array(values) if not targets else np.array(values)[:, None] * [1.0, 10.0]

    leaves = [weights_of([3, 8], shaped([1.0, 2.0]), shaped([0.1, 0.2])), weights_of([5], shaped([3.0]), shaped([0.3]))]
    fitted = Fitted(0.1, 0.0, leaves)
    own = np.array([8, 1, 3, 9, 5, 4], np.uint64)
    rows = Chunk(np.zeros((6, 1)), shaped([2.5, 0.0, 1.0, 0.0, 2.0, 0.0]), own, own, 0)
    found = fitted.left_out(rows)
    known = shaped([2.5 - 2.0 + 0.2, 0.1, 2.0 - 3.0 + 0.3])
    np.testing.assert_allclose(found[[0, 2, 4]], known)
    np.testing.assert_allclose(found[[1, 3, 5]], known)
    assert fitted.rows == 3
    strange = replace(rows, twins=own + np.uint64(100), unit=own)
    assert fitted.left_out(strange).shape == (0, *([2] if targets else []))


def test_rows_before_all_that_is_left_out_have_no_error() -> None:
    y, errors = np.array([1.0, 2.0]), np.array([0.5, np.nan])
    time = np.array([5.0, 1.0])
    keys = np.array([1, 2], np.uint64)
    rows = Chunk(np.zeros((2, 1)), y, keys, keys, 0, time=time)
    key = [int(one) for one in rows.alike()]
    dated = Fitted(0.1, 0.0, [weights_of(key, y, errors, np.array([1, 0], np.uint64))])
    np.testing.assert_allclose(dated.left_out(rows), [0.5, np.nan])
    plain = Fitted(0.1, 0.0, [weights_of(key, y, errors)])
    np.testing.assert_allclose(plain.left_out(rows), [0.5, 0.5])


def test_leaves_without_blocks_stay_as_they_are() -> None:
    leaves = [weights_of([3], np.ones(1), np.ones(1))]
    assert without_blocks(leaves) is leaves


def test_groups_of_one_leaf_are_left_out_whole() -> None:
    """One leaf is exact kernel ridge regression."""
    data = data_of(60, group=(np.arange(60) % 9).astype(np.uint64))
    sample, alpha = data.sample(), 0.1
    leaf = leaf_rows([block_keys(sample, 60.0).marked(sample)])
    found = fit_keeping(LocalEngine(1), shared_by(KERNEL, choose(sample, 60, 15)), alpha, [[leaf]], None)
    errors = found.left_out(sample)
    K, ones = KERNEL.gram(sample.X, sample.X) + alpha * np.eye(60), np.ones((60, 1))
    assert sample.group is not None
    for group in range(1, 9):  # 0 is never left out
        out = sample.group == np.uint64(group)
        A = np.block([[K[np.ix_(~out, ~out)], ones[~out]], [ones[~out].T, np.zeros((1, 1))]])
        w = np.linalg.solve(A, np.append(sample.y[~out], 0.0))
        np.testing.assert_allclose(errors[out], sample.y[out] - K[np.ix_(out, ~out)] @ w[:-1] - w[-1], atol=1e-8)


def test_every_leaf_is_there_where_only_one_has_rows() -> None:
    leaves = Leaves(np.array([0]), np.array([0.0]), np.array([-1]), np.array([-2]))
    parts = [LeafChunks({1: chunk_of(np.ones((3, 1))), 0: chunk_of(-np.ones((2, 1)))}, 5)]
    found = _gather._in_memory(parts, leaves.count, False)
    assert [leaf.rows for [leaf] in found.pieces] == [2, 3]  # type: ignore[misc]
    assert (found.total, found.complete) == (5, False)
