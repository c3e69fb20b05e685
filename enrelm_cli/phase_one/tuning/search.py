"""The search: one weight variance for each input, those of a column held together, on more and more rows.

1. One variance for all inputs (`shared`) on a few hundred rows: the centre of the prior.
2. One for each input, from several starts on few rows, the best of them on some more. Where rows are left to judge,
   with a narrow and a wide prior: the wide one is taken where it predicts left-out rows clearly better, which smooth
   functions of a few inputs want (cal_housing) and wide tables of text (ames). Where rows are few, with a tight and a
   narrow prior, judged by folds that are left out of the tuning (`few_rows`).
3. The same on up to 2,000 rows, a few steps each from where the last stage stopped and with its curvature; kept where
   it predicts left-out rows better. Few rows find kernels that are too smooth for many
   (cal_housing 0.460 with 1,000 rows, 0.430 with 2,000; bike_hour 0.256 and 0.245).

Inputs of one column keep a variance each, with a prior that holds them near each other: sharing one measured worse
(servo 0.30 against 0.22, mean of ten splits), and so did independent ones (2.5 % over 22 tables, most on wide ones).
One hidden layer, unless told otherwise: two changed the error of 22 tables by 0.6 %, for the worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial

import numpy as np

from enrelm_cli.fold.threads import side_by_side
from enrelm_cli.fold.weights import first, mean
from enrelm_cli.phase_one.tuning import few_rows
from enrelm_cli.phase_one.tuning.budget import Budget
from enrelm_cli.phase_one.tuning.evidence import Fit
from enrelm_cli.phase_one.tuning.hyper import Hyper, TuneSettings
from enrelm_cli.phase_one.tuning.ridge import clearly_better, landmark_left_out
from enrelm_cli.phase_one.tuning.sample import STARTS, Centred, Sample
from enrelm_cli.phase_one.tuning.shared import fit_shared
from enrelm_cli.types import Array

# Spreads of log v. With many rows narrower ones measured worse, and so did wide ones on most tables. With few rows a
# tight one often predicts better (hitters 0.650 to 0.598 with its target scale, auto_mpg 0.320 to 0.309; not servo).
TIGHT, NARROW, WIDE = 0.5, 2.0**0.5, 5.0
_FEW_ROWS = 20  # fewer cannot say anything about single inputs
_SHARED_ROWS = 500
_FIRST_ROWS, _FIRST_STEPS = 300, 25
_SOME_ROWS, _SOME_STEPS = 600, 25
_STAGES = ((1000, 12), (2000, 8))  # (rows, steps)
# From a fold of the same rows: the errors of its left-out rows are then those of a search from the start (friedman
# 0.2201 and 0.2196, houses 0.1625 and 0.1626); without a step they would be too low (hitters 0.563, honestly 0.600).
_FOLLOWING_STEPS = 12
JUDGED_FROM = 600  # rows from which half of them can judge the other half's kernels
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
    held_out: Array | None = None  # (n, ...) errors of y by kernels tuned without the row, where rows are few


def explore(sample: Sample, budget: Budget) -> tuple[Hyper, Found]:
    """The shared kernel, and what some hundred rows say of each input."""
    settings, d = sample.settings, sample.X.shape[1]
    few = min(_SHARED_ROWS, sample.apart)
    shared = fit_shared(sample.X[:few], sample.y[:few], settings, budget, first(sample.weight, few))
    reason = _not_each(settings, sample.rows, d, budget)
    if reason is not None:
        return shared, Found(Fit(np.inf, shared, sample.rows), 0.0, reason)
    centred = Centred(sample, shared)
    return shared, (_judged if sample.rows >= JUDGED_FROM else _by_folds)(centred, budget)


def _not_each(settings: TuneSettings, rows: int, d: int, budget: Budget) -> Relevance | None:
    """Why the inputs cannot have one variance each; None where they can."""
    if settings.weight_variance is not None:
        return Relevance.FIXED
    if d == 1:
        return Relevance.ONE_INPUT
    if rows < _FEW_ROWS:
        return Relevance.FEW_ROWS
    return None if budget.left >= 4 * STARTS else Relevance.STEPS


def _first(centred: Centred, spreads: Sequence[float], budget: Budget) -> list[list[Fit]]:
    """For each spread, every start on few rows."""
    few = min(centred.sample.apart, _FIRST_ROWS)
    starts = [Fit(np.inf, start, few) for start in centred.starts]
    tasks = [partial(centred.fit, few, spread, start, _FIRST_STEPS) for spread in spreads for start in starts]
    fits = budget.share(tasks)
    return [fits[at : at + len(starts)] for at in range(0, len(fits), len(starts))]


def _by_folds(centred: Centred, budget: Budget) -> Found:
    """The spread that predicts folds best which took no part in the tuning, and all rows' fit with it."""
    sample = centred.sample
    fits = _first(centred, (NARROW,), budget)[0]
    best = int(np.argmin([fit.value for fit in fits]))
    spread, held_out = few_rows.judged(centred, _spreads(sample, (NARROW, TIGHT)), centred.starts[best], budget)
    fit = centred.fit(sample.apart, spread, fits[best], _SOME_STEPS, budget)
    return Found(fit, spread, Relevance.KEPT, held_out)


def _judged(centred: Centred, budget: Budget) -> Found:
    """The spread that the later rows ask for, and the fit of the earlier ones with it."""
    sample = centred.sample
    # Groups are left out whole: their rows judge, whichever of them was tuned on.
    rows = min(sample.rows // 2, _SOME_ROWS, sample.apart)
    spreads = _spreads(sample, (NARROW, WIDE))
    starts = [min(fits, key=lambda one: one.value) for fits in _first(centred, spreads, budget)]
    tasks = [partial(centred.fit, rows, spread, fit, _SOME_STEPS) for spread, fit in zip(spreads, starts, strict=True)]
    fits = budget.share(tasks)
    if len(fits) == 1:
        return Found(fits[0], spreads[0], Relevance.KEPT)
    threads = sample.settings.threads
    narrow, wide = side_by_side(lambda fit: _left_out(sample, fit.found, rows)[rows:], fits, threads)
    later = None if sample.weight is None else sample.weight[rows:]
    at = int(clearly_better(wide, narrow, later))
    return Found(fits[at], spreads[at], Relevance.KEPT)


def _spreads(sample: Sample, spreads: tuple[float, ...]) -> tuple[float, ...]:
    """Those to try: the one that is known already, else these."""
    known = sample.settings.spread
    return spreads if known is None else (known,)


def finish(sample: Sample, shared: Hyper, found: Found, budget: Budget) -> Found:
    """More rows, while they predict left-out ones better."""
    if found.reason is not Relevance.KEPT:
        return found
    centred, fit = Centred(sample, shared), found.fit
    grouped = sample.apart < sample.rows
    last = 0 if grouped else _STAGES[-1][0]
    judged = grouped or sample.rows >= last + _JUDGES
    for rows, steps in _stages(sample.rows, fit.rows):
        fit = centred.fit(rows, found.spread, fit, steps, budget)
    if judged:
        tried = (fit.found, found.fit.found)
        after, before = side_by_side(lambda one: _error(sample, one, last), tried, sample.settings.threads)
        if after >= before:
            return found
    return replace(found, fit=fit)


def follow(sample: Sample, shared: Hyper, found: Found, budget: Budget) -> Found:
    """Other rows of the same table: a few steps from where most of them led, with the curvature there."""
    rows = min(sample.apart, _STAGES[-1][0])
    fit = Centred(sample, shared).fit(rows, found.spread, found.fit, _FOLLOWING_STEPS, budget)
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
