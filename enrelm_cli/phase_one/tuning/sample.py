"""The rows that tune, and one weight variance for each of their inputs around a kernel that shares one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.weights import Weights, first
from enrelm_cli.phase_one.left_out import STAYS, Block, LeftOutRows
from enrelm_cli.phase_one.tuning.budget import Budget
from enrelm_cli.phase_one.tuning.evidence import Fit, Posterior, fit_relevance
from enrelm_cli.phase_one.tuning.hyper import PRIOR_B, Hyper, TuneSettings
from enrelm_cli.types import Array

# Starts from which the evidence may lead elsewhere: multiples of the shared variance, and log(v d) with little noise.
# Where a few of many columns act only together, one variance for all explains nothing, and there the slope is flat.
_SCALES = (1.0, 8.0)
_QUIET_STARTS, _QUIET_ALPHA = (0.0, 2.0), 0.03
# The evidence takes rows for independent, which rows of one group are not: from so many groups on, one row of each.
_ENOUGH_GROUPS = 100
STARTS = len(_SCALES) + len(_QUIET_STARTS)


@dataclass(frozen=True)
class Sample:
    """The tuning rows, any prefix of which is an even sample; y has mean 0 and variance 1."""

    X: Array  # (n, d)
    y: Array  # (n,), or (n, q) of q targets
    groups: NDArray[np.int64]  # (d,) the column of each input, from 0 on
    settings: TuneSettings
    weight: Weights = None  # (n,) of mean 1
    block: Block | None = None  # (n,) rows that are left out together; those that judge come last if others never do

    def some(self, rows: int) -> LeftOutRows:
        """The first rows; or rows from all over, where only the last ones judge."""
        every = LeftOutRows(self.X, self.y, self.weight, self.block)
        if self.block is None or not (self.block == STAYS).any() or self.rows <= rows:
            return every.first(rows)
        return every.take(np.linspace(0, self.rows - 1, rows).astype(np.int64))

    @property
    def rows(self) -> int:
        return len(self.y)

    @property
    def apart(self) -> int:
        """How many rows, from the first on, are of a group each; all of them where groups are too few to tune on."""
        if self.block is None or (self.block == STAYS).any():
            return self.rows
        groups = int(np.max(self.block)) + 1
        return groups if groups >= _ENOUGH_GROUPS else self.rows

    @property
    def constant(self) -> bool:
        """There is nothing to tune."""
        return self.rows < 3 or not np.any(self.y) or not np.any(self.X)

    def where(self, mask: NDArray[np.bool_]) -> Sample:
        """The rows that the mask keeps. Those of a group stay together; of the latest rows none is left."""
        weight = None if self.weight is None else self.weight[mask]
        tied = self.block is not None and not (self.block == STAYS).any()
        block = np.unique(self.block[mask], return_inverse=True)[1] if tied and self.block is not None else None
        return replace(self, X=self.X[mask], y=self.y[mask], weight=weight, block=block)


@dataclass(frozen=True)
class Centred:
    """A sample and the kernel with one variance for all inputs, around which they part."""

    sample: Sample
    shared: Hyper

    @property
    def starts(self) -> list[Hyper]:
        given, d = self.sample.settings.bias_variance, self.sample.X.shape[1]
        b = float(np.exp(PRIOR_B[0])) if given is None else given
        quiet = [Hyper(np.exp(at) / d * np.ones(()), b, _QUIET_ALPHA, self.shared.depth) for at in _QUIET_STARTS]
        return [*(self.shared.scaled(by) for by in _SCALES), *quiet]

    def fit(self, rows: int, spread: float, start: Fit, steps: int, budget: Budget) -> Fit:
        """One variance for each input on the first rows."""
        one, settings = self.sample, self.sample.settings
        X, y, weight = one.X[:rows], one.y[:rows], first(one.weight, rows)
        fixed_b = settings.bias_variance is not None
        posterior = Posterior(X, y, one.groups, self.shared, spread, fixed_b, weight, settings.threads)
        return fit_relevance(posterior, start, steps, budget)
