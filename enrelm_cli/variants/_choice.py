"""What some rows choose for the leaves of all, by exact left-out errors: what the cuts part, and the ridge.

Cuts that part the inputs, as the kernel scales them, make leaves of rows that are near each other; cuts that part the
target make leaves where it changes. Neither is better on every table: left-out errors by inputs and by target are 0.383
and 0.396 on cal_housing, 0.2243 and 0.2215 on bike_hour. 6,000 rows were right about both on every table measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enrelm_cli.fold.folds import Chunk, LocalEngine, one_blas_thread
from enrelm_cli.kernels.arcsine import Kernel
from enrelm_cli.phase_one.landmarks import Landmarks
from enrelm_cli.phase_one.left_out import distinct_rows
from enrelm_cli.phase_one.phase_one import Basis
from enrelm_cli.phase_one.tuning.ridge import best_alpha
from enrelm_cli.types import Array
from enrelm_cli.variants._leaf_blocks import block_keys
from enrelm_cli.variants._leaves import grow, leaf_rows
from enrelm_cli.variants._passes import fit_factors, shared_by
from enrelm_cli.variants._pic import FactorResidual, Global, Residual
from enrelm_cli.variants.kernel import MIN_RIDGE

# Rows that choose, the leaves that they are cut into, and the landmarks beside them: a small model of the large one.
_ROWS, _LEAVES, _LANDMARKS = 6000, 8, 500
# Ridges that are tried, around that of the exact kernel on so many rows.
_AROUND, _EXACT = np.array([1 / 3, 1.0, 3.0]), 700


@dataclass(frozen=True)
class Plan:
    """How rows are cut into leaves, and their ridge."""

    by_target: bool  # cuts part the target; else the inputs
    alpha: float

    def parted(self, sample: Chunk, kernel: Kernel) -> Array:
        """What the cuts part, of each row: (t, q)."""
        return (
            sample.y.reshape(sample.rows, -1)
            if self.by_target
            else sample.X * np.sqrt(np.asarray(kernel.weight_variance))
        )


def choose_plan(basis: Basis, landmarks: Landmarks, sample: Chunk, most: int) -> Plan:
    """Cuts at the middle ridge first, then the ridge of the better ones: here, wherever the other rows are."""
    alphas = np.maximum(_AROUND * _exact_ridge(basis), MIN_RIDGE)
    Z, key = landmarks.Z[:_LANDMARKS], landmarks.key[:_LANDMARKS]
    trial = _Trial(basis, shared_by(basis.tuned.kernel, Landmarks(Z, key, complete=False)), sample, most)
    tried = [trial.residuals(by_target) for by_target in (False, True)]
    middle = [trial.squares(one, float(alphas[1])) for one in tried]
    by_target = middle[1] < middle[0]
    low, high = (trial.squares(tried[by_target], float(alpha)) for alpha in alphas[[0, 2]])
    squares = np.array([low, middle[by_target], high])
    return Plan(by_target, max(best_alpha(alphas, squares), MIN_RIDGE))


@dataclass(frozen=True)
class _Trial:
    """Some rows in leaves of their own."""

    basis: Basis
    shared: Global
    sample: Chunk
    most: int  # rows of a leaf

    @property
    def engine(self) -> LocalEngine:
        return LocalEngine(getattr(self.basis.data.rows.engine, "threads", 0))

    def residuals(self, by_target: bool) -> list[list[Residual]]:
        """A piece for each leaf."""
        rows = self.sample.between(0, _ROWS)
        rows = block_keys(rows, rows.rows, most=_ROWS).marked(rows)
        parted = Plan(by_target, 0.0).parted(rows, self.shared.kernel)
        leaves = grow(rows, rows.rows, min(self.most, max(rows.rows // _LEAVES, 2)), parted)
        pieces = [[leaf_rows([rows.take(places)])] for _, places in leaves.groups(rows.X)]
        return [[one] for one in self.engine.map(pieces, self.shared.residual, "choice of leaves")]

    def squares(self, residuals: list[list[Residual]], alpha: float) -> float:
        """The sum of squared left-out errors."""
        factored = self.engine.map(residuals, FactorResidual(alpha), "choice of leaves")
        fitted = fit_factors(self.engine, self.shared, factored, alpha, None)
        return sum(leaf.squares for leaf in fitted.leaves)


@one_blas_thread
def _exact_ridge(basis: Basis) -> float:
    """The ridge of exact kernel ridge regression on some rows: tuning has it, if there was any."""
    from enrelm_cli.phase_one.tuning.ridge import leave_one_out

    if basis.tuned.tuning is not None:
        return basis.tuned.tuning.alpha
    few = distinct_rows(basis.data.sample()).first(_EXACT)
    return leave_one_out(basis.tuned.kernel.gram(few.X, few.X), few.y, weight=few.weight, block=few.block).alpha
