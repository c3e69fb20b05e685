"""The steps that fit, curve and compare share: rows of a split, one variant on them, its size, the refit."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from enrelm_cli.errors import DataError
from enrelm_cli.inputs.dataset import Encoded
from enrelm_cli.inputs.split import Everything, JudgeOnValidation, Side
from enrelm_cli.inputs.training import Training, training
from enrelm_cli.judge import baselines
from enrelm_cli.judge.baselines import RandomElm
from enrelm_cli.judge.curve import Choice, choices
from enrelm_cli.kernels import activation
from enrelm_cli.model.network import CurveRows, Network, relative_errors
from enrelm_cli.phase_one.phase_one import PhaseOne, Timer
from enrelm_cli.report.reports import Curve, ElmBand
from enrelm_cli.settings import ElmSettings, MethodSettings
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.types import Array
from enrelm_cli.variants import approximate, incremental
from enrelm_cli.variants import kernel as kernel_variant

if TYPE_CHECKING:
    from enrelm_cli.phase_one.tuning import Tuning

# Up to this many rows a refit tunes once more: it takes about a second.
TUNED_AGAIN = 1000


@dataclass(frozen=True)
class Fitted:
    """One variant on the training rows, judged on the validation rows."""

    variant: str
    network: Network
    curve: Curve
    chosen: Choice
    selection: str
    tuning: Tuning | None
    seconds: float

    @property
    def train_error(self) -> float:
        return float(self.curve.train[self.chosen.neurons - 1])


def fit_variant(variant: str, phase_one: PhaseOne, method: MethodSettings, timer: Stopwatch) -> Fitted:
    """Train one variant and choose its n on the validation rows."""
    start = timer.total
    network = train(variant, phase_one, method, timer)
    with timer("error curves"):
        train_curve, valid_curve = (curve_of(phase_one, network, side) for side in (Side.TRAIN, Side.VALIDATION))
    if not np.isfinite(valid_curve).any():
        raise DataError(
            f"the target '{phase_one.data.rows.target}' of every validation row is the mean of the training rows: "
            "there is nothing to relate an error to",
            "choose other validation rows with --seed, or more with --validation-size",
        )
    limit = most_neurons(variant, phase_one, method)
    converged = variant == "incremental" and network.stop == incremental.Stop.TOLERANCE.value
    curve = Curve(variant, train_curve, valid_curve, choices(valid_curve), network.stop, converged, limit)
    chosen, selection = _choose(curve, method, phase_one.data)
    tuning = phase_one.tuning if variant == "kernel" else None
    return Fitted(variant, network, curve, chosen, selection, tuning, timer.total - start)


def train(
    variant: str,
    phase_one: PhaseOne,
    method: MethodSettings,
    timer: Stopwatch | None = None,
    at_most: int | None = None,
) -> Network:
    """Phase 2 of one variant: the network of all sizes up to the limit, or its first `at_most` neurons."""
    data, sigma = phase_one.data, activation.named(method.kernel.activation)
    limit = most_neurons(variant, phase_one, method)
    n = min(limit, at_most or limit)
    basis = phase_one.basis_of(variant)
    with timer("output weights") if timer else nullcontext():
        if variant == "approximate":
            return approximate.fit(data, basis, sigma, n)
        if variant == "incremental":
            steps = incremental.StagewiseSettings(method.epsilon, method.tolerance, method.max_steps)
            # The weights of the first n neurons go on moving while later ones come in, so the path is walked to its
            # end.
            network = incremental.fit(data, basis, sigma, limit, steps)
            n = min(n, network.size)
            return network if at_most is None else network.first(_sound_size(phase_one, network, n))
        return kernel_variant.fit(data, basis, n)


def _sound_size(phase_one: PhaseOne, network: Network, n: int) -> int:
    """n, or the next size that is better than the mean on the rows it was fitted to.

    The weights of neurons that resemble each other may cancel: with ten rows, the first of them alone can be ten times
    worse than the mean, in a refit whose order no validation row has seen.
    """
    sound = curve_of(phase_one, network, Side.TRAIN)[n - 1 :] <= 1.0
    return n + int(np.argmax(sound)) if sound.any() else network.size


def most_neurons(variant: str, phase_one: PhaseOne, method: MethodSettings) -> int:
    """min(50 d, T/2) as in the paper; the kernel variant may use its whole basis: the ridge holds it back."""
    rank = len(phase_one.basis_of(variant).values)
    if method.max_neurons is not None:
        return max(1, min(method.max_neurons, rank))
    if variant == "kernel":
        return rank
    return max(1, min(paper_limit(phase_one.data), rank))


def paper_limit(data: Training) -> int:
    return max(1, min(50 * data.d, data.T // 2))


def curve_of(phase_one: PhaseOne, network: Network, side: Side) -> Array:
    """Err(1..n) over one side's rows."""
    if network.order is not None:
        errors = phase_one.kernel_errors(network.order, network.beta, network.intercept, side)
        if errors is not None:
            return errors
    data = phase_one.data
    sums = data.fold(CurveRows(data.view, network, side), "error curve")
    check_rows(int(sums["rows"]), side)
    return relative_errors(sums["squares"], float(sums["total"]))


def check_rows(rows: int, side: Side) -> None:
    """No rows have no error; nought would pass for a perfect one."""
    if not rows:
        raise DataError(
            f"the split left no {side.name.lower()} rows",
            "choose another split with --seed, or more rows with --validation-size",
        )


def _choose(curve: Curve, method: MethodSettings, data: Training) -> tuple[Choice, str]:
    """A size of the curve, and how it was chosen.

    Unless told otherwise: the best. But the ridge of the kernel variant already holds back what a neuron should not
    say, so it keeps all of them, unless fewer are better by more than a standard error (that of n rows is about
    1/sqrt(2n) of it). Measured, mean of eight splits: the minimum of its flat curve gives servo 0.298, prostate
    0.645; all neurons 0.227 and 0.639.
    """
    if method.neurons is not None:
        n = min(method.neurons, len(curve.validation))
        return Choice(n, float(curve.validation[n - 1])), "given"
    last, best = float(curve.validation[-1]), curve.choices.best
    if method.select is None and curve.variant == "kernel":
        held_out = np.mean(data.view.split.sides(data.rows.sample) == Side.VALIDATION) * data.rows.total
        if last <= best.error * (1.0 + (2.0 * held_out) ** -0.5):
            return Choice(len(curve.validation), last), "all"
    chosen: Choice | None = getattr(curve.choices, method.select or "best")
    if chosen is None:
        return curve.choices.smallest, "smallest (no clear knee)"
    return chosen, method.select or "best"


def refit_size(fitted: Fitted) -> int | None:
    """How many neurons a refit takes; None for all that it finds."""
    n = fitted.chosen.neurons
    return None if fitted.variant == "kernel" and n == fitted.network.size else n


def refit(phase_one: PhaseOne, encoded: Encoded) -> PhaseOne:
    """Every row trains. With landmarks the features stay as they are; a small table starts afresh with all rows."""
    return phase_one.refit() or afresh(phase_one, training(encoded.rows, Everything()), untimed)


def afresh(phase_one: PhaseOne, data: Training, timer: Timer) -> PhaseOne:
    """Phase 1 of more rows. A table that is small enough is tuned again with all of them (la_ozone: 0.475 against 0.495
    as the mean of eight splits); a larger one keeps what its training rows gave.
    """
    # A level that only validation rows had is a new input: what was tuned does not know it.
    same_inputs = np.array_equal(phase_one.data.view.input_map.keep, data.view.input_map.keep)
    tuned = phase_one.__dict__.get("tuning") if data.T > TUNED_AGAIN and same_inputs else None
    return PhaseOne(data, phase_one.method, timer, tuned)


def with_validation(data: Training) -> Training:
    """Training and validation rows together."""
    return training(data.rows, JudgeOnValidation(data.view.split))


def untimed(phase: str) -> AbstractContextManager[None]:
    return nullcontext()


def elm_band(data: Training, elm: ElmSettings, n: int) -> ElmBand:
    """The random ELM's curves over its realisations."""
    curves = baselines.elm_curves(data, RandomElm(n, elm.realizations, elm.seed, elm.weight_std))
    train_, valid = curves.train, curves.validation
    return ElmBand(valid.mean, valid.std, valid.min, valid.max, train_.mean, train_.min, train_.max, elm.realizations)
