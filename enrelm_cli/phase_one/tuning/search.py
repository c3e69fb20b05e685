"""The search: one weight variance for each input, those of a column held together, on more and more rows.

1. One variance for all inputs (`shared`) on a few hundred rows: the centre of the prior.
2. One for each input, from several starts on few rows, the best of them on some more. Where rows are left to judge,
   with a narrow and a wide prior: the wide one is taken where it predicts left-out rows clearly better, which smooth
   functions of a few inputs want (cal_housing) and wide tables of text (ames).
3. The same on up to 2,000 rows, a few steps each from where the last stage stopped and with its curvature; kept where
   it predicts left-out rows better. Few rows find kernels that are too smooth for many
   (cal_housing 0.460 with 1,000 rows, 0.430 with 2,000; bike_hour 0.256 and 0.245).

Inputs of one column keep a variance each, with a prior that holds them near each other: sharing one measured worse
(servo 0.30 against 0.22, mean of ten splits), and so did independent ones (2.5 % over 22 tables, most on wide ones).
One hidden layer, unless told otherwise: two changed the error of 22 tables by 0.6 %, for the worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.weights import Weights, first, mean
from enrelm_cli.phase_one.left_out import STAYS, Block, LeftOutRows
from enrelm_cli.phase_one.tuning.budget import Budget
from enrelm_cli.phase_one.tuning.evidence import Fit, Posterior, fit_relevance
from enrelm_cli.phase_one.tuning.hyper import PRIOR_B, Hyper, TuneSettings
from enrelm_cli.phase_one.tuning.ridge import excess, landmark_left_out
from enrelm_cli.phase_one.tuning.shared import fit_shared
from enrelm_cli.types import Array

NARROW, WIDE = 2.0**0.5, 5.0  # spreads of log v; narrower ones measured worse, and so did wide ones on most tables
_FEW_ROWS = 20  # fewer cannot say anything about single inputs
_SHARED_ROWS = 500
_FIRST_ROWS, _FIRST_STEPS = 300, 25
_SOME_ROWS, _SOME_STEPS = 600, 25
_STAGES = ((1000, 12), (2000, 8))  # (rows, steps)
# Starts from which the evidence may lead elsewhere: multiples of the shared variance, and log(v d) with little noise.
# Where a few of many columns act only together, one variance for all explains nothing, and there the slope is flat.
_SCALES = (1.0, 8.0)
_QUIET_STARTS, _QUIET_ALPHA = (0.0, 2.0), 0.03
# The evidence takes rows for independent, which rows of one group are not: from so many groups on, one row of each.
_ENOUGH_GROUPS = 100
_JUDGED_FROM = 600  # rows from which half of them can judge the other half's kernels
_CLEARLY = 0.5  # standard errors
_JUDGES = 1000  # rows that are left to judge a stage, at least


class Relevance(Enum):
    """Why the inputs got one variance each, or did not; the text is what the user reads."""

    KEPT = "one weight variance for each input, those of a column held together"
    FIXED = "the weight variance was given"
    ONE_INPUT = "there is only one input"
    FEW_ROWS = "too few rows to tell the inputs apart"
    CONSTANT = "the target or all the inputs are constant: there is nothing to tune"
    STEPS = "the tuning steps ran out before one variance for each input could be found"


@dataclass(frozen=True)
class Found:
    """Hyperparameters on the way, and the spread of their prior (0: one variance is shared)."""

    fit: Fit
    spread: float
    reason: Relevance


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
        groups = int(self.block.max()) + 1
        return groups if groups >= _ENOUGH_GROUPS else self.rows

    @property
    def constant(self) -> bool:
        """There is nothing to tune."""
        return self.rows < 3 or not np.any(self.y) or not np.any(self.X)


@dataclass(frozen=True)
class _Centred:
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
        one, fixed_b = self.sample, self.sample.settings.bias_variance is not None
        weight = first(one.weight, rows)
        posterior = Posterior(one.X[:rows], one.y[:rows], one.groups, self.shared, spread, fixed_b, weight)
        return fit_relevance(posterior, start, steps, budget)


def explore(sample: Sample, budget: Budget) -> tuple[Hyper, Found]:
    """The shared kernel, and what some hundred rows say of each input."""
    settings, d = sample.settings, sample.X.shape[1]
    few = min(_SHARED_ROWS, sample.apart)
    shared = fit_shared(sample.X[:few], sample.y[:few], settings, budget, first(sample.weight, few))
    reason = _not_each(settings, sample.rows, d, budget)
    if reason is not None:
        return shared, Found(Fit(np.inf, shared, sample.rows), 0.0, reason)
    spread, fit = (_judged if sample.rows >= _JUDGED_FROM else _narrow)(_Centred(sample, shared), budget)
    return shared, Found(fit, spread, Relevance.KEPT)


def _not_each(settings: TuneSettings, rows: int, d: int, budget: Budget) -> Relevance | None:
    """Why the inputs cannot have one variance each; None where they can."""
    if settings.weight_variance is not None:
        return Relevance.FIXED
    if d == 1:
        return Relevance.ONE_INPUT
    if rows < _FEW_ROWS:
        return Relevance.FEW_ROWS
    return None if budget.left >= 4 * len(_SCALES + _QUIET_STARTS) else Relevance.STEPS


def _first(centred: _Centred, spreads: Sequence[float], budget: Budget) -> list[Fit]:
    """For each spread, the best of several starts on few rows."""
    few = min(centred.sample.apart, _FIRST_ROWS)
    starts = [Fit(np.inf, start, few) for start in centred.starts]
    tasks = [partial(centred.fit, few, spread, start, _FIRST_STEPS) for spread in spreads for start in starts]
    fits = budget.share(tasks)
    return [min(fits[at : at + len(starts)], key=lambda one: one.value) for at in range(0, len(fits), len(starts))]


def _narrow(centred: _Centred, budget: Budget) -> tuple[float, Fit]:
    """What the prior says where rows are too few to judge."""
    return NARROW, centred.fit(centred.sample.apart, NARROW, _first(centred, (NARROW,), budget)[0], _SOME_STEPS, budget)


def _judged(centred: _Centred, budget: Budget) -> tuple[float, Fit]:
    """The spread that the later rows ask for, and the fit of the earlier ones with it."""
    sample = centred.sample
    # Groups are left out whole: their rows judge, whichever of them was tuned on.
    rows = min(sample.rows // 2, _SOME_ROWS, sample.apart)
    spreads = (NARROW, WIDE)
    starts = zip(spreads, _first(centred, spreads, budget), strict=True)
    narrow, wide = budget.share([partial(centred.fit, rows, spread, fit, _SOME_STEPS) for spread, fit in starts])
    before, after = (_left_out(sample, fit.found, rows)[rows:] for fit in (narrow, wide))
    known = ~np.isnan(before)
    later = None if sample.weight is None else sample.weight[rows:][known]
    return (WIDE, wide) if excess(before[known], after[known], later) > _CLEARLY else (NARROW, narrow)


def finish(sample: Sample, shared: Hyper, found: Found, budget: Budget) -> Found:
    """More rows, while they predict left-out ones better."""
    if found.reason is not Relevance.KEPT:
        return found
    centred, fit = _Centred(sample, shared), found.fit
    grouped = sample.apart < sample.rows
    last = 0 if grouped else _STAGES[-1][0]
    judged = grouped or sample.rows >= last + _JUDGES
    for rows, steps in _stages(sample.rows, fit.rows):
        fit = centred.fit(rows, found.spread, fit, steps, budget)
    if judged and _error(sample, fit.found, last) >= _error(sample, found.fit.found, last):
        return found
    return Found(fit, found.spread, found.reason)


def _stages(rows: int, done: int) -> list[tuple[int, int]]:
    """(rows, steps) of each: the last has all rows, or as many as the last stage."""
    sizes = [(min(rows, most), steps) for most, steps in _STAGES]
    return [one for i, one in enumerate(sizes) if one[0] > done and (i == 0 or one[0] > sizes[i - 1][0])]


def _left_out(sample: Sample, found: Hyper, rows: int) -> Array:
    """Of every tuning row, with as many landmarks as a fit to some of the rows has seen; NaN where a row stays."""
    return landmark_left_out(found.kernel, sample.X, sample.y, min(rows, _SOME_ROWS), sample.weight, sample.block)


def _error(sample: Sample, found: Hyper, since: int) -> float:
    """Root mean square of the left-out errors of rows that no stage sees."""
    errors = _left_out(sample, found, since or _SOME_ROWS)[since:]
    known = ~np.isnan(errors)
    weight = None if sample.weight is None else sample.weight[since:][known]
    return float(np.sqrt(mean(errors[known] ** 2, weight)))
