"""Stage 3 of tuning: how far the inputs' variances may part is chosen on rows that they have not seen.

Folds of a small sample, the later rows of a large one; an equal error goes to the smaller spread. Leave-one-out cannot
do this: after d free variances it flatters them (diabetes, prostate), where held-out rows do not. The evidence has
more than one minimum, so every choice compares several starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.phase_one.tuning.budget import Budget, Spent
from enrelm_cli.phase_one.tuning.evidence import Fit, Posterior, fit_relevance
from enrelm_cli.phase_one.tuning.hyper import Hyper, TuneSettings, average
from enrelm_cli.phase_one.tuning.ridge import held_out_errors, held_out_errors_at_alpha
from enrelm_cli.types import Array

SMALL = 600  # up to here the guard is a cross-validation, above it a part held out
_FOLDS = ((300, 5), (SMALL, 4))  # (at most so many rows, folds)
FEW_ROWS = 20  # fewer cannot say anything about single inputs
_SPREADS_SMALL = (0.5, 1.0, 2.0, 5.0)
_NARROW, _WIDE = 1.0, 5.0
_MOST_ROWS = 2000
_STAGE_ROWS = (300, 800, 1400)  # of a large sample: each stage starts where the one before stopped
_STEPS = (40, 30, 10, 6)  # most evaluations of a fit to at most so many rows, and to more
_MOVING = 0.005  # a stage that lowers the held-out error by less is the last
_JUDGE_ROWS = 1000  # of the ridge regression that judges
_LOO_ROWS = 500  # below so many its alpha comes from leave-one-out, as in the variant itself
_ENOUGH = 1000  # rows from which the judges are not needed for a last fit
_GUARD_STEPS = 25
_LAST_STEPS = 60
_UNDECIDED = 0.5  # standard errors within which both spreads go on
_CAUTION = 0.25  # standard errors by which a wider spread has to win
_SCALES = (1.0, 0.125, 8.0)  # of the shared variance: starts from which the evidence may lead elsewhere


class Relevance(Enum):
    """Why the inputs got one variance each, or did not; the text is what the user reads."""

    KEPT = "one weight variance for each input: it predicts held-out rows better than a shared one"
    NO_GAIN = "one weight variance for all inputs: one for each did not predict held-out rows better"
    TOGETHER = "one weight variance for each input, those of a column held together"
    FIXED = "the weight variance was given"
    ONE_INPUT = "there is only one input"
    FEW_ROWS = "too few rows to tell the inputs apart"
    CONSTANT = "the target or all the inputs are constant: there is nothing to tune"
    STEPS = "the tuning steps ran out before one variance for each input could be checked"


@dataclass(frozen=True)
class Guarded:
    """The hyperparameters that predict unseen rows best, and their spread (0: one variance is shared)."""

    found: Hyper
    spread: float
    reason: Relevance


@dataclass(frozen=True)
class Sample:
    """The tuning rows, in an order of which any prefix is an even sample; y has mean 0 and variance 1."""

    X: Array  # (n, d)
    y: Array  # (n,)
    shared: Hyper
    fixed_b: bool

    @property
    def rows(self) -> int:
        return len(self.y)

    @property
    def start(self) -> Fit:
        return Fit(np.inf, self.shared, self.rows)

    def fit(self, rows: NDArray[np.bool_] | slice, spread: float, start: Fit, steps: int, budget: Budget) -> Fit:
        """One variance for each input on some of the rows."""
        posterior = Posterior(self.X[rows], self.y[rows], self.shared, spread, self.fixed_b)
        return fit_relevance(posterior, start, steps, budget)


def guarded(X: Array, y: Array, shared: Hyper, settings: TuneSettings, budget: Budget) -> Guarded:
    """One variance for each input where that predicts unseen rows better, else the shared kernel."""
    if settings.weight_variance is not None:
        return Guarded(shared, 0.0, Relevance.FIXED)
    if X.shape[1] == 1:
        return Guarded(shared, 0.0, Relevance.ONE_INPUT)
    if len(y) < FEW_ROWS:
        return Guarded(shared, 0.0, Relevance.FEW_ROWS)
    sample = Sample(X, y, shared, settings.bias_variance is not None)
    try:
        return (_by_folds if len(y) <= SMALL else _by_part)(sample, budget)
    except Spent:
        return Guarded(shared, 0.0, Relevance.STEPS)


# --- a small sample: cross-validation ---------------------------------------------------------------------------------


def _by_folds(sample: Sample, budget: Budget) -> Guarded:
    """The spread with the least cross-validated error, then a fit to all rows from several starts."""
    with budget.reserving(budget.left // 3):
        many = next(folds for rows, folds in _FOLDS if sample.rows <= rows)
        folds = budget.share([partial(_fold, sample, np.arange(sample.rows) % many == fold) for fold in range(many)])
    errors = np.concatenate([fold.errors for fold in folds], axis=1)
    chosen = _cautious_best(errors)
    if chosen == 0:
        return Guarded(sample.shared, 0.0, Relevance.NO_GAIN)
    spread, found = _SPREADS_SMALL[chosen - 1], [fold.found[chosen - 1] for fold in folds]
    starts = [average(found), *(sample.shared.scaled(by) for by in _SCALES)]
    return Guarded(_best_of(sample, starts, spread, budget), spread, Relevance.KEPT)


@dataclass(frozen=True)
class _Fold:
    """What one fold's rows say of each spread."""

    errors: Array  # (1 + spreads, rows held out): shared first
    found: list[Hyper]  # of each spread


def _fold(sample: Sample, out: NDArray[np.bool_], budget: Budget) -> _Fold:
    """Every spread without this fold's rows, from tight to wide: each is the next one's start."""
    fits = [sample.start]
    for spread in _SPREADS_SMALL:
        fits.append(sample.fit(~out, spread, fits[-1], _GUARD_STEPS, budget))
    budget.take(len(fits))
    A, a, B, b = sample.X[~out], sample.y[~out], sample.X[out], sample.y[out]
    errors = np.array([held_out_errors(fit.found, A, a, B, b) for fit in fits])
    return _Fold(errors, [fit.found for fit in fits[1:]])


def _best_of(sample: Sample, starts: list[Hyper], spread: float, budget: Budget) -> Hyper:
    """The fit to all rows with the most evidence; the first start itself where no evaluation is left."""
    if budget.left < len(starts):
        return starts[0]
    fits = [Fit(np.inf, start, sample.rows) for start in starts]
    tasks = [partial(sample.fit, slice(None), spread, fit, _LAST_STEPS) for fit in fits]
    return min(budget.share(tasks), key=lambda fit: fit.value).found


# --- a large sample: later rows judge ---------------------------------------------------------------------------------


def _by_part(sample: Sample, budget: Budget) -> Guarded:
    """Several starts on few rows, the best on more and more; the later half of the rows judges."""
    half = min(sample.rows // 2, _MOST_ROWS)
    first, *later = _stages(half)
    with budget.reserving(budget.left // 4):
        trials = _first_trials(sample, half, first, budget)
        best = min(trials, key=lambda trial: trial.error)
        for rows in later:
            tasks = [partial(_trial, sample, half, rows, trial.spread, trial.fit) for trial in trials]
            before, trials = best, _undecided(budget.share(tasks))
            best = min(trials, key=lambda trial: trial.error)
            if rows >= _ENOUGH and best.error > (1.0 - _MOVING) * before.error:
                break
        shared = _judged(sample, half, 0.0, sample.start, budget)
    if shared.error <= best.error:
        return Guarded(sample.shared, 0.0, Relevance.NO_GAIN)
    return Guarded(_with_judges(sample, half, best, budget), best.spread, Relevance.KEPT)


def _stages(half: int) -> list[int]:
    """How many rows each fit sees."""
    return [*(rows for rows in _STAGE_ROWS if rows <= 0.75 * half), half]


def _first_trials(sample: Sample, half: int, rows: int, budget: Budget) -> list[_Trial]:
    """A narrow and a wide spread, the wide one from several starts."""
    starts = [(_NARROW, sample.start)]
    starts += [(_WIDE, replace(sample.start, found=sample.shared.scaled(by))) for by in _SCALES]
    narrow, *wide = budget.share([partial(_trial, sample, half, rows, *start) for start in starts])
    return [narrow, min(wide, key=lambda trial: trial.fit.value)]


def _undecided(trials: list[_Trial]) -> list[_Trial]:
    """Those that are not clearly worse than the best."""
    best = min(trials, key=lambda trial: trial.error)
    return [trial for trial in trials if excess(trial.errors, best.errors) <= _UNDECIDED]


@dataclass(frozen=True)
class _Trial:
    """A fit on the way, and its errors on the judging rows."""

    spread: float
    fit: Fit
    errors: Array  # (t,)

    @property
    def error(self) -> float:
        return float(np.sqrt(np.mean(self.errors**2)))


def _trial(sample: Sample, half: int, rows: int, spread: float, start: Fit, budget: Budget) -> _Trial:
    """A fit to the first rows, judged."""
    steps = _STEPS[int(np.searchsorted(_STAGE_ROWS, rows))]
    return _judged(sample, half, spread, sample.fit(slice(rows), spread, start, steps, budget), budget)


def _judged(sample: Sample, half: int, spread: float, fit: Fit, budget: Budget) -> _Trial:
    budget.take()
    X, y, few = sample.X, sample.y, min(half, _JUDGE_ROWS)
    errors = held_out_errors if few < _LOO_ROWS else held_out_errors_at_alpha
    return _Trial(spread, fit, errors(fit.found, X[:few], y[:few], X[half:], y[half:]))


def _with_judges(sample: Sample, half: int, at: _Trial, budget: Budget) -> Hyper:
    """The judges are free now; where rows are few they are worth more as tuning rows."""
    if half >= _ENOUGH or not budget.left:
        return at.fit.found
    return sample.fit(slice(_ENOUGH), at.spread, at.fit, _LAST_STEPS, budget).found


def _cautious_best(errors: Array) -> int:
    """Index of the first candidate (smallest spread) that is not clearly worse than the best: (c, t) -> c."""
    best = int(np.argmin(np.mean(errors * errors, axis=1)))
    return next(i for i in range(len(errors)) if i == best or excess(errors[i], errors[best]) <= _CAUTION)


def excess(errors: Array, best: Array) -> float:
    """By how many standard errors the mean square of `errors` is above that of `best`: (t,), (t,)."""
    more = errors**2 - best**2
    noise = float(more.std()) / np.sqrt(len(more))
    return float(more.mean()) / noise if noise > 0.0 else 0.0
