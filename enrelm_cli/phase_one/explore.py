"""The inputs and the target scale that predict left-out rows best, and the kernel tuned on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from enrelm_cli.fold.resources import cores
from enrelm_cli.fold.weights import mean
from enrelm_cli.inputs.maps.input_map import InputMap
from enrelm_cli.inputs.training import Training
from enrelm_cli.phase_one.candidates import Candidate, candidates
from enrelm_cli.phase_one.left_out import distinct_rows
from enrelm_cli.phase_one.tuning import Explored, TuneSettings, Tuning, explore, finish, follow
from enrelm_cli.phase_one.tuning.ridge import clearly_better
from enrelm_cli.settings import KernelSettings, MethodSettings
from enrelm_cli.types import Array

Found = tuple[Candidate, Explored]


def search(
    data: Training, method: MethodSettings, spread: float | None = None, like: InputMap | None = None
) -> tuple[Training, Tuning]:
    """The rows through the map and the target scale that predict left-out rows best, and the kernel tuned on them.

    `spread`: of the prior on single inputs' variances, where it is known. `like`: has the parts of a time to be used.
    """
    each = [Candidate(one, distinct_rows(one.sample())) for one in candidates(data, method.inputs, like)]
    progress = data.rows.engine.progress
    progress.start("tuning, in evaluations", method.kernel.tune_steps * len(each))
    try:
        best, found = _best(each, method.kernel, spread, progress.advance)
        return best.data, finish(found)
    finally:
        progress.finish()


def _best(
    each: list[Candidate], settings: KernelSettings, spread: float | None, advance: Callable[[int], None]
) -> Found:
    """The candidate that predicts left-out rows best, the first unless another does so clearly."""
    own, *others = each
    first = own, _explored(own, settings, spread, advance)
    if not others:
        return first
    if first[1].held_out is not None:
        return _by_folds(first, [(one, _explored(one, settings, first[1].found.spread, advance)) for one in others])
    least = own.shared_error()
    tried = [one for one in others if one.shared_error() < least]
    found = [first, *((one, _explored(one, settings, spread, advance)) for one in tried)]
    return min(found, key=lambda one: one[0].error(one[1].kernel)) if tried else first


def _by_folds(first: Found, others: list[Found]) -> Found:
    """Few rows: the errors of folds that took no part in the tuning decide."""
    best = min(others, key=_mean_square)
    better = clearly_better(_gaps(best), _gaps(first), first[1].rows.weight)
    return best if better else first


def _mean_square(found: Found) -> float:
    gaps, weight = _gaps(found), found[1].rows.weight
    known = ~np.isnan(gaps)
    return float(mean(gaps[known] ** 2, None if weight is None else weight[known]))


def _gaps(found: Found) -> Array:
    """(t,) errors of the folds in the target's own units."""
    candidate, explored = found
    errors = explored.held_out
    return np.full(len(explored.rows.y), np.inf) if errors is None else candidate.gaps(explored.rows, errors)


def following(data: Training, method: MethodSettings, near: Tuning, like: InputMap) -> tuple[Training, Tuning] | None:
    """The same for other rows of the table, down from where most of them led; None where it has to begin anew."""
    own, *_ = candidates(data, method.inputs, like)
    one = Candidate(own, distinct_rows(own.sample()))
    tuning = follow(near, one.rows, own.view.input_map.groups, _settings(one, method.kernel, near.spread))
    return None if tuning is None else (own, tuning)


def _explored(
    one: Candidate, settings: KernelSettings, spread: float | None, advance: Callable[[int], None]
) -> Explored:
    asked = _settings(one, settings, spread)
    return explore(one.rows.first(asked.rows), one.data.view.input_map.groups, asked, advance)


def _settings(one: Candidate, settings: KernelSettings, spread: float | None) -> TuneSettings:
    return TuneSettings(
        min(len(one.rows.y), settings.tune_rows),
        settings.tune_steps,
        settings.weight_variance,
        settings.bias_variance,
        settings.depth,
        spread or None,
        getattr(one.data.rows.engine, "threads", 0) or cores(),
    )
