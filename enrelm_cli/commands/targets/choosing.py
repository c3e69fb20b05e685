"""What fit and curve choose for several targets: a size for each, and one variant for all.

Phase 1 is that of all targets together; from there on each is fitted as if it were alone. The variant is the one with
the smallest mean of the targets' errors over the rows that validate, with the same rule for ties as one target's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from enrelm_cli.commands.choosing import (
    Selected,
    begun,
    fitted_variants,
    taken,
    validation_sums,
)
from enrelm_cli.commands.steps import Opened, PhaseOne, Timed, refit_everything
from enrelm_cli.inputs.dataset import Dataset
from enrelm_cli.judge.baselines import linear_network
from enrelm_cli.judge.losses import POWERS
from enrelm_cli.judge.metrics import within_a_standard_error
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import Basis
from enrelm_cli.settings import MethodSettings, SplitSettings
from enrelm_cli.stopwatch import Stopwatch


@dataclass(frozen=True)
class SelectedTargets:
    """What the validation rows chose: the same variant for each target."""

    each: tuple[Selected, ...]
    opened: Opened  # the first fold, or the one split, with all targets
    basis: Basis  # its phase 1 of the chosen variant, with all targets

    def refitted(self, method: MethodSettings) -> list[Basis] | None:
        """Phase 1 of every row, for each target; None where there is no refit."""
        if not method.refit:
            return None
        joint = refit_everything(self.basis, method, self.opened)
        return [joint.of_target(k) for k in range(len(self.each))]


def dataset_of(dataset: Dataset, place: int) -> Dataset:
    """As a fit of one of several targets has it."""
    name = dataset.rows.targets[place]
    return replace(dataset, encoding=dataset.encoding.of_target(name), rows=dataset.rows.of_target(place))


def select_targets(
    dataset: Dataset, split: SplitSettings, method: MethodSettings, variants: Sequence[str], timer: Stopwatch
) -> SelectedTargets:
    """Sizes and variant. `variants`: their names, or none: those that pay on these rows."""
    folds, phases, wanted = begun(dataset, split, method, variants, timer)
    places = range(len(dataset.rows.targets))
    datasets = [dataset_of(dataset, k) for k in places]
    own_folds = [[Opened(datasets[k], one.split, one.data.of_target(k)) for one in folds] for k in places]
    own_phases = [[_of_target(phase, k, len(places)) for phase in phases] for k in places]
    fitted = [fitted_variants(wanted, own_phases[k], method, timer) for k in places]
    with timer("error curves"):
        linear = [linear_network(one.data, phase.linear) for one, phase in zip(folds, phases, strict=True)]
        found = [validation_sums(fitted[k], own_folds[k], [_column(one, k) for one in linear]) for k in places]
    power = POWERS[method.metric]
    _, as_good = within_a_standard_error([one.ours for one in found], power)
    each = []
    for k, sums in enumerate(found):
        chosen, linear_error, linear_metrics = sums.judged(as_good, power)
        each.append(Selected(tuple(own_folds[k]), chosen, taken(chosen), linear_error, linear_metrics))
    start = each[0].winner.fitted.variant.start
    return SelectedTargets(tuple(each), folds[0], phases[0].starts[start].basis)


def _of_target(phase: PhaseOne, place: int, targets: int) -> PhaseOne:
    """Each target has its share of the seconds; linear regression is solved for all together."""
    starts = {start: Timed(one.basis.of_target(place), one.seconds / targets) for start, one in phase.starts.items()}
    return PhaseOne(starts, None)


def _column(linear: Network, place: int) -> Network:
    return replace(linear, beta=linear.beta[:, place])
