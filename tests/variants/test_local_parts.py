"""What the local variant decides around its algebra: landmarks, memory, what it tells, and when there are no logits."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.inputs.split import Everything
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.landmarks import Landmarks
from enrelm_cli.phase_one.phase_one import Basis, Start, Tuned, basis_of
from enrelm_cli.settings import MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants import _leaf_blocks, local
from enrelm_cli.variants._logistic import FELT, RIDGES, rows_for
from enrelm_cli.variants._pic import Factor

KERNEL = ArcsineKernel(0.5, 0.3)
PLAN = local.Plan(by_target=False, alpha=0.1)
METHOD = replace(MethodSettings(), landmarks=20, leaf_rows=50)


def table(rows: int = 160) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=rows)


def basis_with(C: int = 0, method: MethodSettings = METHOD, **beside: Any) -> Basis:
    """Of numbers, or of C classes by their size."""
    X, y = table()
    if C:
        y = np.searchsorted(np.quantile(y, np.arange(1, C) / C), y).astype(float)
    rows = rows_of_arrays(X, y, LocalEngine(1), **beside)
    data: Training = training(replace(rows, classes=tuple("abcd"[:C])) if C else rows, Everything())
    return basis_of(Tuned(Start.LEAVES, data, KERNEL, METHOD.landmarks), method)


def with_spare(basis: Basis, spare: int) -> Basis:
    data = replace(basis.data, rows=replace(basis.data.rows, spare=spare))
    return replace(basis, tuned=replace(basis.tuned, data=data))


def facts(network: Network) -> dict[str, float]:
    assert network.facts is not None
    return network.facts


def test_factors_are_kept_where_there_is_room_for_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each row 8 bytes for each row of a leaf, each landmark and the intercept."""
    basis = basis_with()
    called: list[str] = []

    def noted(name: str) -> Any:
        plain = getattr(local, name)
        return lambda *given: called.append(name) or plain(*given)

    for name in ("fit_keeping", "fit_again"):
        monkeypatch.setattr(local, name, noted(name))
    room = 160 * (50 + 20 + 1) * 8
    for spare in (room, room - 1):
        local.fit(with_spare(basis, spare), METHOD, PLAN)
    assert called == ["fit_keeping", "fit_again"]


def test_the_error_of_left_out_rows_is_weighted() -> None:
    weight = np.where(table()[1] > 0.0, 5.0, 0.5)
    basis = basis_with(weight=weight)
    network = local.fit(basis, METHOD, PLAN)
    sample = basis.data.sample()
    assert network.left_out is not None
    expected = np.sqrt(np.average(network.left_out**2, weights=sample.weight))
    assert facts(network)["leave_one_out_error"] == pytest.approx(expected, rel=1e-12)
    assert expected != pytest.approx(np.sqrt(np.mean(network.left_out**2)), rel=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_is_that_of_rows_that_are_left_out_at_some_time(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside: dict[str, Any] = {"time": np.arange(160.0)}
    if weighted:
        beside["weight"] = np.linspace(0.5, 2.0, 160)
    basis = basis_with(**beside)
    network, weight = local.fit(basis, METHOD, PLAN), basis.data.sample().weight
    assert network.left_out is not None
    known = ~np.isnan(network.left_out)
    assert known.sum() == 40
    expected = np.average(network.left_out[known] ** 2, weights=None if weight is None else weight[known])
    assert facts(network)["leave_one_out_error"] == pytest.approx(np.sqrt(expected), rel=1e-12)
    monkeypatch.setattr(_leaf_blocks.block_keys, "__defaults__", (20,))
    assert "leave_one_out_error" not in facts(local.fit(basis_with(**beside), METHOD, PLAN))


def test_what_is_told_of_leaves() -> None:
    basis = basis_with(C=3)
    network = local.fit(basis, METHOD, PLAN)
    network.check(3, (2,))
    told = facts(network)
    sizes = np.bincount(network.features.leaves.of(basis.data.sample().X))  # type: ignore[attr-defined]
    assert (told["leaves"], told["largest_leaf"], told["rows_in_leaves"]) == (len(sizes), sizes.max(), 160)
    assert (told["landmarks"], told["alpha"], told["cuts_by_target"]) == (20, 0.1, 0)
    assert len(sizes) > 2
    variant = local.VARIANT
    assert variant.only_size(network) == f"{len(sizes)} leaves beside 20 landmarks"
    one, two = (replace(network, facts={**told, "leaves": n, "landmarks": 1000}) for n in (1, 2))
    assert variant.only_size(one) == "1 leaf beside 1,000 landmarks"
    assert variant.only_size(two) == "2 leaves beside 1,000 landmarks"
    assert variant.most_neurons(basis, METHOD) == 1
    np.testing.assert_array_equal(variant.left_out(basis, network), network.left_out)
    assert variant.left_out(basis, replace(network, left_out=None)).shape == (0,)


@pytest.mark.parametrize(
    ("T", "m"), [(100_000, 1000), (250_000, 1000), (390_625, 800), (1_000_000, 500), (4_000_000, 500)]
)
def test_landmarks_are_fewer_where_leaves_hold_every_row(T: int, m: int) -> None:
    """sqrt(2.5e11 / T), 500 to 1,000; where some rows are in no leaf, landmarks are all that they have."""
    made = Landmarks(np.zeros((1500, 2)), np.arange(1500, dtype=np.uint64), complete=False)
    basis: Any = SimpleNamespace(landmarks=made, data=SimpleNamespace(T=T))
    free = replace(MethodSettings(), landmarks=None, local_rows=T)
    found = local._landmarks(basis, free)
    assert (len(found.Z), len(found.key), found.complete) == (m, m, False)
    assert local._landmarks(basis, replace(free, landmarks=1500)) is made
    assert local._landmarks(basis, replace(free, local_rows=T - 1)) is made
    basis.landmarks = replace(made, complete=True)
    assert local._landmarks(basis, free) is basis.landmarks


def test_the_local_variant_pays_where_rows_are_more_than_landmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    for distinct, pays in ((20, False), (21, True)):
        twins = np.minimum(np.arange(60), distinct - 1)
        data = SimpleNamespace(
            sample=lambda twins=twins: SimpleNamespace(twins=twins), rows=SimpleNamespace(classes=None)
        )
        basis: Any = SimpleNamespace(data=data, landmarks=SimpleNamespace(Z=np.zeros((20, 1))))
        assert local.VARIANT.pays(basis) == pays
        monkeypatch.setattr(type(local.VARIANT), "numbers", False)
        assert not local.VARIANT.pays(basis)
        monkeypatch.undo()


def test_a_row_that_others_tell_altogether_keeps_what_rounding_leaves() -> None:
    inverse, told = np.diag([10.0, 5.0]), np.array([[6.0, 8.0], [3.0, 0.0]])
    np.testing.assert_allclose(Factor._free(inverse, told), [1e-12 * 100.0, 16.0])


# --- classes ---------------------------------------------------------------------------------------------------------


def test_logits_take_errors_of_every_row_of_the_sample() -> None:
    basis = basis_with(C=3)
    own = local.fit(basis, METHOD, PLAN)
    assert own.left_out is not None
    found = local.VARIANT.logistic(basis, METHOD, own)
    assert found is not None
    assert facts(found)["logistic_rows"] == 160
    holed = np.where(np.arange(160)[:, None] == 3, np.nan, own.left_out)
    for errors in (None, own.left_out[:-1], holed):
        assert local.fit_classes(basis, METHOD, replace(own, left_out=errors), None) is None


def test_logits_that_the_work_does_not_allow_are_not_tried_for_the_first_time(monkeypatch: pytest.MonkeyPatch) -> None:
    basis = basis_with(C=3)
    own = local.fit(basis, METHOD, PLAN)
    before = local.fit_classes(basis, METHOD, own, None)
    asked: list[tuple[int, ...]] = []
    monkeypatch.setattr(local, "affordable", lambda *size: bool(asked.append(size)))
    assert local.fit_classes(basis, METHOD, own, None) is None
    # 20 landmarks and what two columns of codes say, three classes.
    assert asked == [(22, 3, len(RIDGES), 160)]
    assert local.fit_classes(basis, METHOD, own, before) is not None


@pytest.mark.parametrize(("allowed", "rows"), [(60, 60), (5, 20)])
def test_logits_are_of_as_many_rows_as_the_work_allows(
    allowed: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    basis = basis_with(C=3)
    own = local.fit(basis, METHOD, PLAN)
    monkeypatch.setattr(local, "rows_for", lambda *size: allowed if size == (22, 3, len(RIDGES)) else rows_for(*size))
    found = local.fit_classes(basis, METHOD, own, None)
    assert found is not None
    assert facts(found)["logistic_rows"] == rows
    assert found.left_out is not None
    assert found.left_out.shape == (rows, 2)


@pytest.mark.parametrize("alpha", [1e-3, 30.0, 300.0])
def test_landmark_features_are_along_the_axes_that_a_ridge_leaves(alpha: float) -> None:
    basis = basis_with()
    shared, sample = local.shared_by(KERNEL, basis.landmarks), basis.data.sample()
    F = shared.projection.of(shared.prepared.against(sample.X))
    squares = np.linalg.svd(F, compute_uv=False) ** 2
    axes, along = local._landmark_features(shared, sample, alpha)
    kept = int(np.count_nonzero(squares > FELT * alpha))
    assert (kept < 20) == (alpha > 1.0)
    assert axes.shape == (20, kept)
    np.testing.assert_allclose(along, F @ axes, atol=1e-12)
    np.testing.assert_allclose(along.T @ along, np.diag(squares[:kept][::-1]), atol=1e-9)
