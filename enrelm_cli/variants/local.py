"""The local variant: the kernel variant's landmarks for all rows, and an exact kernel inside leaves of them.

Above a few thousand rows landmarks are what limits the kernel variant; leaves see every row (`_pic.py` has the algebra,
`_leaves.py` the cuts, `_choice.py` what is tried first, `_gather.py` the rows by leaf, `_passes.py` the passes over the
leaves: the same for threads and for a cluster, where a leaf is a task).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from enrelm_cli.columns import plain, wide
from enrelm_cli.fold.folds import Chunk, one_blas_thread
from enrelm_cli.fold.weights import mean
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.model.features import BLOCK
from enrelm_cli.model.leaves import Leaves
from enrelm_cli.model.local_features import LocalFeatures
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.landmarks import Landmarks
from enrelm_cli.phase_one.phase_one import Basis, Start
from enrelm_cli.settings import MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants._choice import Plan, choose_plan
from enrelm_cli.variants._gather import OutsideRows, bound, chosen, gathered
from enrelm_cli.variants._leaf_blocks import block_keys
from enrelm_cli.variants._leaves import check_leaves, grow
from enrelm_cli.variants._logistic import FELT, RIDGES, affordable, fit_logistic, problem, rows_for
from enrelm_cli.variants._passes import Fitted, fit_again, fit_keeping, shared_by
from enrelm_cli.variants._pic import Global
from enrelm_cli.variants._variant import Variant

# Landmarks that are enough beside leaves (cal_housing: 0.398 with 1,000, 0.406 with 500; 2,000 cost three times as
# much for 1 %): from MOST down to FEWEST as rows times their square grows beyond WORK.
_MOST, _FEWEST, _WORK = 1000, 500, 2.5e11
ONE_SIZE = "leaves have no nested sizes: every number of landmarks would take new factors of all leaves"


def fit(basis: Basis, method: MethodSettings, plan: Plan | None = None) -> Network:
    """The cuts and the ridge that some rows choose by exact left-out errors, and the weights of all leaves."""
    data, engine = basis.data, basis.data.rows.engine
    landmarks = _landmarks(basis, method)
    shared = shared_by(basis.tuned.kernel, landmarks)
    below = bound(data.T, method.local_rows)
    # Cut where the rows are that the leaves will hold: none is empty.
    sample, T = chosen(data.sample(), below), min(data.T, method.local_rows)
    plan = plan or choose_plan(basis, landmarks, sample, method.leaf_rows)
    leaves = grow(sample, T, method.leaf_rows, plan.parted(sample, shared.kernel))
    check_leaves(leaves, sample, T, method.leaf_rows)
    with gathered(data, leaves, below, block_keys(sample, T)) as rows:
        outside = None if rows.complete else data.fold(OutsideRows(data.view, shared, below), "rows in no leaf")
        keeps = rows.total * (method.leaf_rows + shared.size) * 8 <= data.rows.spare
        found = (fit_keeping if keeps else fit_again)(engine, shared, plan.alpha, rows.pieces, outside)
    return _network(shared, landmarks.Z, leaves, plan, found, data.sample())


def _network(shared: Global, Z: Array, leaves: Leaves, plan: Plan, found: Fitted, sample: Chunk) -> Network:
    features, left_out = _features(shared, Z, leaves, found), found.left_out(sample)
    known = ~np.isnan(left_out if left_out.ndim == 1 else left_out[:, 0])
    weight = None if sample.weight is None or not len(left_out) else sample.weight[known]
    error = {"leave_one_out_error": float(np.sqrt(np.sum(mean(left_out[known] ** 2, weight))))} if known.any() else {}
    facts = {
        "alpha": found.alpha,
        **error,
        "landmarks": len(Z),
        "leaves": leaves.count,
        "cuts_by_target": int(plan.by_target),
        "rows_in_leaves": found.rows,
        "largest_leaf": int(np.diff(features.first).max()),
        "kernel_values_per_prediction": features.kernel_values,
        "numbers_in_model": features.numbers,
    }
    beta = np.ones((1, *sample.y.shape[1:]))
    return Network(features, beta, found.intercept, ONE_SIZE, converged=True, facts=facts, left_out=left_out)


def _landmarks(basis: Basis, method: MethodSettings) -> Landmarks:
    """Those of the kernel variant, or the first of them where the leaves hold every row and nobody asked for more."""
    landmarks = basis.landmarks
    if landmarks.complete or method.landmarks is not None or method.local_rows < basis.data.T:
        return landmarks
    m = int(np.clip((_WORK / basis.data.T) ** 0.5, _FEWEST, _MOST))
    return Landmarks(landmarks.Z[:m], landmarks.key[:m], complete=False)


def _features(shared: Global, Z: Array, leaves: Leaves, found: Fitted) -> LocalFeatures:
    X, a, C = zip(*((one.leaf.X, one.a, one.c) for one in found.leaves), strict=True)
    first = np.cumsum([0, *(len(one) for one in X)])
    return LocalFeatures(shared.kernel, leaves, Z, np.array(C), np.concatenate(X), np.concatenate(a), first)


def fit_classes(basis: Basis, method: MethodSettings, own: Network, before: Network | None) -> Network | None:
    """Logistic regression on what leaves say of rows that they have not seen, and on the landmarks beside them.

        g_i = b + A'f_-i + gamma'F_i,   f_-i: what least squares predicts of row i when it is left out,   F = K(x, Z) R

    A new row has f(x) in the place of f_-i. Both are sums over kernel values, so that the logits are leaves again: with
    c_b A + R gamma on the landmarks and a_b A on the rows of a leaf. It takes the rows of the sample, and no pass.
    """
    data, scale, leaves = basis.data, basis.data.view.target_scale, own.features
    assert isinstance(scale, ClassScale)
    assert isinstance(leaves, LocalFeatures)
    sample, errors, q = data.sample(), own.left_out, scale.classes - 1
    if errors is None or len(errors) != sample.rows or np.isnan(errors).any():
        return None
    size = (len(leaves.Z) + q, scale.classes, len(RIDGES))
    if before is None and not affordable(*size, sample.rows):
        return None
    alphas = RIDGES if before is None else np.array([(before.facts or {})["logistic_alpha"]])
    rows = sample.between(0, max(rows_for(*size), len(leaves.Z)))
    shared = shared_by(leaves.kernel, _landmarks(basis, method))
    axes, F = _landmark_features(shared, rows, float(alphas[-1]))
    found = fit_logistic(problem(np.hstack([wide(rows.y - errors[: rows.rows]), F]), rows, scale), alphas)
    A, c = found.gamma[:q], shared.projection.R @ (axes @ found.gamma[q:])
    C, a = (one.reshape(*one.shape[: one.ndim - len(scale.targets)], q) @ A for one in (leaves.C, leaves.a))
    C, a = (C + c).reshape(leaves.C.shape), a.reshape(leaves.a.shape)
    intercept = np.atleast_1d(own.intercept) @ A + found.intercept
    told = {"logistic_alpha": found.alpha, "logistic_rows": rows.rows, "left_out_log_loss": found.loss}
    return replace(
        own,
        features=replace(leaves, C=C, a=a),
        intercept=plain(intercept.reshape(scale.targets)),
        facts={**(own.facts or {}), **told},
        left_out=found.left_out.reshape(-1, *scale.targets),
        logits=True,
    )


@one_blas_thread
def _landmark_features(shared: Global, rows: Chunk, alpha: float) -> tuple[Array, Array]:
    """F along its main axes, (k, j) and (t, j): there the curvature of a logistic regression is nearly diagonal."""
    blocks = (shared.projection.of(shared.prepared.against(block.X)) for block in rows.blocks(BLOCK))
    F = np.concatenate(list(blocks))
    values, axes = np.linalg.eigh(F.T @ F)
    axes = axes[:, values > FELT * alpha]
    return axes, F @ axes


class Local(Variant):
    name = "local"
    start = Start.LEAVES
    complexity = 40
    regularised = True

    def fit(self, basis: Basis, method: MethodSettings, n: int) -> Network:
        return fit(basis, method)

    def refit(self, basis: Basis, method: MethodSettings, n: int, before: Network) -> Network:
        """The same cuts and ridge, unless the kernel is another."""
        same = isinstance(before.features, LocalFeatures) and before.features.kernel is basis.tuned.kernel
        facts = before.facts or {}
        return fit(basis, method, Plan(bool(facts["cuts_by_target"]), facts["alpha"]) if same else None)

    def logistic(
        self, basis: Basis, method: MethodSettings, own: Network | None, before: Network | None = None
    ) -> Network | None:
        if own is None:
            assert before is not None
            own = self.refit(basis, method, 1, before)
        return fit_classes(basis, method, own, before)

    def left_out(self, basis: Basis, network: Network) -> Array:
        return np.zeros(0) if network.left_out is None else network.left_out

    def most_neurons(self, basis: Basis, method: MethodSettings) -> int:
        """One: the leaves have no nested sizes."""
        return 1

    def only_size(self, network: Network) -> str | None:
        facts = network.facts or {}
        leaves, landmarks = int(facts["leaves"]), int(facts["landmarks"])
        return f"{leaves:,} {'leaf' if leaves == 1 else 'leaves'} beside {landmarks:,} landmarks"

    def pays(self, basis: Basis) -> bool:
        """Where every row is a landmark, or has the inputs of one, the kernel variant is exact already."""
        return self.predicts(basis.data) and len(np.unique(basis.data.sample().twins)) > len(basis.landmarks.Z)


VARIANT = Local()
