"""Which intervals a fitted model gets: of one width, wider off the data, or following the noise, as left-out rows say.

The interval score of Gneiting and Raftery (2007), width + 2/(1 - level) times how far a target is outside, is judged
on rows that were left out of the network and of the spread, in the target's own units. A spread that varies has to be
better than one width by more than the standard error of the difference; so has an interval whose sides differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enrelm_cli.fold.folds import Chunk
from enrelm_cli.fold.threads import threads_of
from enrelm_cli.inputs.maps.column_map import folds_of
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.judge.fitting import FittedVariant
from enrelm_cli.judge.spread import Errors, grounds, landmarks_for, noise_of, off_of, standard_error, tilt_of
from enrelm_cli.model.intervals import Intervals, Spread, order_statistics
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import Basis
from enrelm_cli.types import Array

# The level that choices are made at.
LEVEL = 0.9
# Rows below which nothing but one width is tried, and below which both sides are alike.
_FEW, _FEW_SIDES = 60, 200
# Folds of the spread: more would leave out fewer rows at a time, at their cost; and the share of rows in one at most.
_FOLDS, _LARGEST_FOLD = 5, 0.6
# Rows of a table above which the hyperparameters cannot have learnt enough of single rows to matter.
_OPTIMISM_ROWS = 4000
# What is known of the optimism before validation rows are looked at: `_expected`, give or take this, or this over
# sqrt(T) where that is less.
_PRIOR, _PRIOR_ROWS = 0.05, 0.8
# Inputs of a column beyond the first count for so much of a hyperparameter: tuning holds those of a column together.
_HELD = 0.125


@dataclass(frozen=True)
class LeftOutRows:
    """Rows with errors of a network that had not seen them."""

    errors: Errors
    z: Array  # (n,) targets on the scale of the network
    scale: TargetScale

    @property
    def weight(self) -> Array:
        return self.errors.weight

    def scored(self, intervals: Intervals, spread: Array) -> Array:
        """The interval score of each row, in units of the target's spread: (n,)."""
        low, high = intervals.ends(LEVEL)
        f, scale = self.errors.f, self.scale
        centre = scale.predicted(f) if intervals.own_units else f
        ends = centre + spread * np.array([[low], [high]])
        lower, upper = _bounded(ends if intervals.own_units else scale.end_units(ends), scale)
        u = scale.units(self.z)
        outside = np.maximum(lower - u, 0.0) + np.maximum(u - upper, 0.0)
        score: Array = upper - lower + 2.0 / (1.0 - LEVEL) * outside
        return score

    def scores(self, signed: Array, wide: Array) -> Array:
        """Of errors (n,) and spreads (n,), sorted."""
        alike = bool(np.all(self.weight == self.weight[:1]))
        return order_statistics(signed / wide, None if alike else self.weight)


def _bounded(u: Array, scale: TargetScale) -> Array:
    """u within the bounds of y that the user knows."""
    if scale.lower is None and scale.upper is None:
        return u
    with np.errstate(over="ignore"):
        return scale.standard(scale.within(scale.mean + scale.scale * u))


@dataclass(frozen=True)
class Found:
    """Intervals, and how much better they are than those of one width."""

    intervals: Intervals
    ratio: float | None  # left-out interval score, relative to that of one width
    optimism: float  # what errors of left-out rows were multiplied with

    def facts(self) -> dict[str, Any]:
        return {**self.intervals.facts(), "score_ratio": self.ratio, "optimism": self.optimism}


def intervals_of(winner: FittedVariant, final: Basis, network: Network, errors: Array) -> Found:
    """Of the network that is saved, and its left-out errors (n,), if any; `winner` chose its size, on fewer rows."""
    exact = len(errors) > 0
    sample, factor = final.data.sample(), 1.0
    if exact:
        factor = optimism(winner)
    elif final.data.view.split is winner.basis.data.view.split:
        sample = winner.basis.data.view(winner.basis.data.rows.sample, Side.VALIDATION)
        errors = sample.y - network.predict(sample.X)
    else:
        # No shortcut leaves rows out of a refit: its errors of its own rows, and how much more unseen ones had before.
        errors, factor = sample.y - network.predict(sample.X), overfitting(winner)
    scale = final.data.view.target_scale
    assert isinstance(scale, TargetScale)
    known = ~np.isnan(errors)
    sample, errors = sample.where(known), errors[known]
    f = scale.kept(sample.y - errors)
    weight = np.ones(len(f)) if sample.weight is None else sample.weight / sample.weight.mean()
    fold = folds_of(sample.together) % _FOLDS
    rows = LeftOutRows(Errors(sample.X, f, np.abs(sample.y - f), weight, fold), sample.y, scale)
    threads = threads_of(final.data.rows.engine)
    tried = _network_spreads(rows, final, network, threads) if exact else _spreads(rows, threads)
    found = _chosen(rows, tried)
    scores = found.intervals.scores * factor
    return replace(found, intervals=replace(found.intervals, scores=scores), optimism=factor)


Tried = list[tuple[Spread, Array]]  # a spread, and that of each row when it is left out (n,)


def _chosen(rows: LeftOutRows, tried: Tried) -> Found:
    signed, one = rows.z - rows.errors.f, np.ones(len(rows.z))
    best, spread = Intervals(rows.scores(signed, one)), one
    if not np.isfinite(signed).all() or np.ceil(LEVEL * (len(best.scores) + 1)) > len(best.scores):
        return Found(best, None, 1.0)
    constant = score = rows.scored(best, one)
    if rows.scale.transform != "none":
        # One width in the target's own units may be as good as one on the scale that the network is fitted on.
        errors = rows.scale.units(rows.z) - rows.scale.predicted(rows.errors.f)
        own = Intervals(rows.scores(errors, one), own_units=True)
        constant = rows.scored(own, one)
        if not _better(score, constant, rows.weight):
            best, score = own, constant
    for candidate, wide in tried:
        varying = Intervals(rows.scores(signed, wide), spread=candidate)
        judged = rows.scored(varying, wide)
        if _better(judged, score, rows.weight, errors=0.0 if candidate.noise is None else 1.0):
            best, score, spread = varying, judged, wide
    if len(best.scores) >= _FEW_SIDES:
        sides = replace(best, symmetric=False)
        judged = rows.scored(sides, spread)
        if _better(judged, score, rows.weight):
            best, score = sides, judged
    return Found(best, float(rows.weight @ score / (rows.weight @ constant)), 1.0)


def _spreads(rows: LeftOutRows, threads: int = 1) -> Tried:
    """By the prediction alone: what a network without landmarks can tell."""
    if not _enough(rows.errors):
        return []
    centre, unit = _standard(rows.errors)
    standard = (rows.errors.f - centre) / unit
    noise = noise_of(rows.errors, standard, grounds(standard, None), threads)
    return [] if noise is None else [_tilted(rows.errors, Spread(centre, unit, noise.features, None), noise.g)]


def _network_spreads(rows: LeftOutRows, final: Basis, network: Network, threads: int = 1) -> Tried:
    """Off the data, and beside that the noise by inputs and prediction."""
    errors, kernel = rows.errors, final.tuned.kernel
    if not _enough(errors):
        return []
    centre, unit = _standard(errors)
    standard, Z = (errors.f - centre) / unit, final.landmarks.Z[: landmarks_for(len(errors.f))]
    off = off_of(kernel, Z, errors, (network.facts or {})["alpha"], float(final.data.weight), threads)
    wide = np.sqrt(1.0 + off.h)
    beside = Z, (network.predict(Z) - centre) / unit, np.asarray(kernel.weight_variance)
    noise = noise_of(replace(errors, size=errors.size / wide), standard, grounds(standard, beside), threads)
    made = [(Spread(centre, unit, None, off.features), wide)]
    if noise is not None:
        made.append(_tilted(errors, Spread(centre, unit, noise.features, off.features), np.log(wide) + noise.g))
    return made


def _tilted(errors: Errors, spread: Spread, log: Array) -> tuple[Spread, Array]:
    """With log s of left-out rows (n,)."""
    found = tilt_of(errors, log)
    return (spread, np.exp(log)) if found is None else (replace(spread, tilt=found.tilt), np.exp(found.log))


def _standard(errors: Errors) -> tuple[float, float]:
    return float(np.mean(errors.f)), float(np.std(errors.f))


def _enough(errors: Errors) -> bool:
    """Rows, in folds that leave others to learn from, and something to learn."""
    if len(errors.f) < _FEW or not np.isfinite(errors.size).all():
        return False
    largest = np.max(np.bincount(errors.fold)) / len(errors.f)
    spread = np.quantile(errors.size, 0.75)
    return bool(largest <= _LARGEST_FOLD and np.std(errors.f) > 0.0 and spread > 0.0)


def _better(score: Array, than: Array, weight: Array, errors: float = 1.0) -> bool:
    """Lower on average, by more than so many standard errors of the difference."""
    gain = than - score
    return bool(weight @ gain / weight.sum() > errors * standard_error(gain, weight))


def overfitting(winner: FittedVariant) -> float:
    """How much larger errors of validation rows are than those of training rows, on average."""
    view, rows = winner.basis.data.view, winner.basis.data.rows.sample
    network = winner.network.first(winner.chosen.neurons)
    own, unseen = (view(rows, side) for side in (Side.TRAIN, Side.VALIDATION))
    inside, outside = (
        float(np.average(np.abs(one.y - network.predict(one.X)), weights=one.weight)) for one in (own, unseen)
    )
    return max(outside / inside, 1.0) if inside > 0.0 and np.isfinite(outside / inside) else 1.0


def optimism(winner: FittedVariant) -> float:
    """How much larger errors of new rows are than those of rows left out, which have tuned the kernel with the others.

    `_expected`, unless many validation rows, which tuned nothing, say otherwise.
    """
    basis = winner.basis
    T = basis.data.T
    if T > _OPTIMISM_ROWS:
        return 1.0
    network = winner.network.first(winner.chosen.neurons)
    inside = np.abs(winner.variant.left_out(basis, network))
    known = ~np.isnan(inside)
    own = basis.data.sample_weights()
    held_out = basis.data.view(basis.data.rows.sample, Side.VALIDATION)
    outside = np.abs(held_out.y - network.predict(held_out.X))
    expected = _expected(basis)
    inside, weights = inside[known], (None if own is None else own[known], held_out.weight)
    means = [float(np.average(one, weights=weight)) for one, weight in zip((inside, outside), weights, strict=True)]
    if not all(np.isfinite(mean) and mean > 0.0 for mean in means):
        return float(np.exp(expected))
    measured = float(np.log(means[1] / means[0]))
    counts = _apart(basis.data.sample().where(known)), _apart(held_out)
    variance = sum(
        float(np.var(one)) / (count * mean**2)
        for one, mean, count in zip((inside, outside), means, counts, strict=True)
    )
    prior = min(_PRIOR, _PRIOR_ROWS / T**0.5) ** 2
    weight = prior / (prior + variance)
    combined = max(0.0, expected + weight * (measured - expected))
    return float(np.exp(combined))


def _apart(rows: Chunk) -> int:
    """How many rows there are; where they are in groups, whose rows err alike, how many groups."""
    return rows.rows if rows.group is None else len(np.unique(rows.group))


def _expected(basis: Basis) -> float:
    """log(true / left-out error) that tuning costs: about one row's worth for each hyperparameter.

    Measured on nine kinds of tables of 75 to 300 training rows (Friedman's, linear, houses): what 90 % intervals of
    left-out errors lacked of it is 0.3 to 1.5 times this, 0.97 times on average.
    """
    if basis.tuned.tuning is None:
        return 0.0
    d, columns = basis.data.d, len(set(basis.data.view.input_map.groups))
    return min((columns + _HELD * (d - columns) + 1.0) / basis.data.T, 0.25)
