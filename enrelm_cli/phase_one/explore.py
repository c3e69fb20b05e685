"""The inputs and the target scale that predict left-out rows best, and the kernel tuned on them."""

from __future__ import annotations

from collections.abc import Callable

from enrelm_cli.fold.threads import threads_of
from enrelm_cli.inputs.maps.input_map import InputMap
from enrelm_cli.inputs.training import Training
from enrelm_cli.phase_one.candidates import Candidate, LeftOutErrors, candidates, preferred
from enrelm_cli.phase_one.left_out import distinct_rows
from enrelm_cli.phase_one.tuning import Explored, TuneSettings, Tuning, explore, finish, follow
from enrelm_cli.settings import KernelSettings, MethodSettings

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
    """The candidate to go on with."""
    own, *others = each
    first = own, _explored(own, settings, spread, advance)
    if not others:
        return first
    if first[1].held_out is not None:
        spread = first[1].found.spread
    else:
        others = [one for one in others if _promising(one, own)]
    found = [first, *((one, _explored(one, settings, spread, advance)) for one in others)]
    return found[preferred([_judged(*one) for one in found])]


def _promising(one: Candidate, own: Candidate) -> bool:
    """Worth a search of its own: better in some way than the first, with one variance for all inputs."""
    return one.shared_error() < own.shared_error() or one.shared_surprise() < own.shared_surprise()


def _judged(candidate: Candidate, explored: Explored) -> LeftOutErrors:
    """By folds that took no part in the tuning where rows are few, else by left-out errors of more rows than tuned."""
    errors = explored.held_out
    return candidate.left_out(explored.kernel) if errors is None else candidate.judged(explored.rows, errors)


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
        threads_of(one.data.rows.engine),
    )
