"""One variant on the training rows: its curve, the size that the validation rows choose, and its refit to more rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from enrelm_cli.errors import DataError
from enrelm_cli.fold.weights import mean
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.training import Training
from enrelm_cli.judge.curve import Choice, Curve, choices
from enrelm_cli.judge.errors import curve_of, losses_of
from enrelm_cli.judge.losses import POWERS, Losses, pooled, unit_of
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import Basis
from enrelm_cli.settings import MethodSettings
from enrelm_cli.variants._variant import Variant


@dataclass(frozen=True)
class FittedVariant:
    """One variant on the training rows, judged on the validation rows."""

    variant: Variant
    basis: Basis
    network: Network
    curve: Curve
    chosen: Choice
    selection: str  # how it was chosen: best, knee, smallest, all, or given
    folds: tuple[tuple[Basis, Network], ...] = ()  # what chose, fold by fold; basis and network are the first's

    @property
    def train_error(self) -> float:
        return float(self.curve.train[self.chosen.neurons - 1])

    @property
    def keeps_all(self) -> bool:
        """All neurons of a regularised variant are all that another basis has."""
        return self.variant.regularised and self.chosen.neurons >= len(self.curve.validation)

    @property
    def judged(self) -> list[tuple[Basis, Network]]:
        """The network of the chosen size of every fold."""
        n = self.chosen.neurons
        return [(basis, one.first(n) if n < one.size else one) for basis, one in self.folds]


@dataclass(frozen=True)
class TrainedVariant:
    """One variant on the training rows, before anything is chosen."""

    variant: Variant
    basis: Basis
    network: Network
    limit: int  # the largest size that was allowed


def train_variant(variant: Variant, basis: Basis, method: MethodSettings) -> TrainedVariant:
    limit = variant.most_neurons(basis, method)
    return TrainedVariant(variant, basis, variant.fit(basis, method, limit), limit)


def choose_sizes(trained: Sequence[TrainedVariant], method: MethodSettings) -> list[FittedVariant]:
    """Their curves, in one pass over the rows, and the n that the validation rows choose for each."""
    return choose_over_folds([trained], method)


def choose_over_folds(folds: Sequence[Sequence[TrainedVariant]], method: MethodSettings) -> list[FittedVariant]:
    """The n of each variant that the validation rows of all folds choose together; folds[k] has the same variants."""
    smeared = [[(with_errors(one.variant, one.basis, one.network), one.network) for one in fold] for fold in folds]
    sides, power = (Side.TRAIN, Side.VALIDATION), POWERS[method.metric]
    losses = [losses_of(fold, sides, power) for fold in smeared]
    return [
        _fitted([fold[v] for fold in folds], [fold[v] for fold in smeared], [fold[v] for fold in losses], method)
        for v in range(len(folds[0]))
    ]


def fit_variant(variant: Variant, basis: Basis, method: MethodSettings) -> FittedVariant:
    """Train one variant and choose its n on the validation rows."""
    return choose_sizes([train_variant(variant, basis, method)], method)[0]


def _fitted(
    trained: Sequence[TrainedVariant],
    judged: Sequence[tuple[Basis, Network]],
    losses: Sequence[dict[Side, Losses]],
    method: MethodSettings,
) -> FittedVariant:
    """One variant in every fold."""
    first = trained[0]
    variant, basis, network = first.variant, first.basis, first.network
    scales = [unit_of(one.basis.data.view.target_scale) for one in trained]
    sums = {side: pooled([fold[side] for fold in losses], scales) for side in losses[0]}
    errors = {side: one.relative(side) for side, one in sums.items()}
    validation = errors[Side.VALIDATION]
    if not np.isfinite(validation).any():
        raise DataError(
            f"the target '{basis.data.rows.target}' of every validation row is the mean of the training rows: "
            "a relative error is undefined",
            "choose other validation rows with --seed, or more with --validation-size",
        )
    curve = Curve(
        variant=variant.name,
        train=errors[Side.TRAIN],
        validation=validation,
        choices=choices(validation),
        stop=network.stop,
        converged=all(one.network.converged for one in trained),
        limit=max(one.limit for one in trained),
        only_size=variant.only_size(network),
    )
    held_out = held_out_rows(basis.data) if len(trained) == 1 else sums[Side.VALIDATION].rows
    chosen, selection = choose_size(curve, method, variant.regularised, held_out)
    curve = replace(curve, chosen=chosen, selection=selection)
    return FittedVariant(variant, basis, network, curve, chosen, selection, tuple(judged))


def held_out_rows(data: Training) -> float:
    """How many rows validate, about."""
    return float(np.mean(data.view.split.sides(data.rows.sample) == Side.VALIDATION)) * data.rows.total


def with_errors(variant: Variant, basis: Basis, network: Network) -> Basis:
    """The basis whose target scale knows the left-out errors of the network: a mean over them brings z back to y."""
    scale = basis.data.view.target_scale
    if scale.transform == "none":
        return basis
    errors, weight = variant.left_out(basis, network), basis.data.sample_weights()
    known = ~np.isnan(errors)
    if not known.all():
        # What the latest rows have in common is where the series went, not how the target scatters.
        errors, weight = errors[known], None if weight is None else weight[known]
        errors = errors - mean(errors, weight)
    return basis.on(scale.smeared(errors, weight))


def choose(curve: Curve, method: MethodSettings, regularised: bool, data: Training) -> tuple[Choice, str]:
    """A size of the curve of one split's validation rows, and how it was chosen."""
    return choose_size(curve, method, regularised, held_out_rows(data))


def choose_size(curve: Curve, method: MethodSettings, regularised: bool, held_out: float) -> tuple[Choice, str]:
    """A size of the curve, and how it was chosen.

    Unless told otherwise: the best. But a ridge already holds back what a neuron should not say, so a regularised
    variant keeps all neurons, unless fewer are better by more than a standard error (that of n rows is about
    1/sqrt(2n) of it). Measured for the kernel variant, mean of eight splits: the minimum of its flat curve gives servo
    0.298, prostate 0.645; all neurons 0.227 and 0.639.
    """
    if method.neurons is not None:
        n = min(method.neurons, len(curve.validation))
        return Choice(n, float(curve.validation[n - 1])), "given"
    last, best = float(curve.validation[-1]), curve.choices.best
    if method.select is None and regularised and last <= best.error * (1.0 + (2.0 * held_out) ** -0.5):
        return Choice(len(curve.validation), last), "all"
    chosen: Choice | None = getattr(curve.choices, method.select or "best")
    if chosen is None:
        return curve.choices.smallest, "smallest (no clear knee)"
    return chosen, method.select or "best"


def refit_variant(fitted: FittedVariant, basis: Basis, method: MethodSettings) -> Network:
    """The network of the chosen size on the rows of another basis."""
    variant, n = fitted.variant, fitted.chosen.neurons
    if basis is fitted.basis:
        return fitted.network.first(n)
    limit = variant.most_neurons(basis, method)
    n = limit if fitted.keeps_all else min(n, limit)
    network = variant.refit(basis, method, n, fitted.network)
    return network if network.size <= n else network.first(_sound_size(basis, network, n))


def _sound_size(basis: Basis, network: Network, n: int) -> int:
    """n, or the next size that is better than the mean on the rows it was fitted to.

    The weights of neurons that resemble each other may cancel: with ten rows, the first of them alone can be ten times
    worse than the mean, in a refit whose order no validation row has seen.
    """
    sound = curve_of(basis, network, Side.TRAIN)[n - 1 :] <= 1.0
    return n + int(np.argmax(sound)) if sound.any() else network.size
