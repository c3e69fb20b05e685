"""fit, curve and compare, each readable on one page: read this first.

files - table - encoding - split -> rows -> phase 1 -> variant -> curve -> choice of n -> refit -> Model -> artifact
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from enrelm_cli import __version__
from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.dataset import Dataset, DataSettings, Encoded, encode, encode_everything, open_dataset, reencode
from enrelm_cli.inputs.encoding import Encoding
from enrelm_cli.inputs.split import CountSides, Everything, JudgeOnValidation, Side
from enrelm_cli.inputs.training import Training, training
from enrelm_cli.judge import baselines, peers
from enrelm_cli.judge.baselines import RandomElm
from enrelm_cli.judge.curve import Choice, choices
from enrelm_cli.judge.relevance import shares
from enrelm_cli.kernels import activation
from enrelm_cli.model import artifact
from enrelm_cli.model.model import Model, order_statistics
from enrelm_cli.model.network import CurveRows, ErrorRows, Network, relative_errors
from enrelm_cli.phase_one.phase_one import PhaseOne, Timer
from enrelm_cli.report.reports import (
    Candidate,
    CompareReport,
    CompareRow,
    Curve,
    CurveReport,
    DataFacts,
    ElmBand,
    FitReport,
)
from enrelm_cli.settings import VARIANTS, ElmSettings, EngineSettings, MethodSettings, SplitSettings
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.types import Array
from enrelm_cli.variants import approximate, incremental
from enrelm_cli.variants import kernel as kernel_variant

if TYPE_CHECKING:
    from enrelm_cli.phase_one.tuning import Tuning

# Up to this many rows a refit tunes once more: it takes about a second.
TUNED_AGAIN = 1000
OWN_METHODS = (*VARIANTS, "elm", "linear")
METHODS = (*OWN_METHODS, *peers.PEERS)


def default_methods() -> tuple[str, ...]:
    """Every method that can run here."""
    return METHODS if peers.installed() else OWN_METHODS


# ---------------------------------------------------------------------------------------------------------------- fit


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


def fit(
    data: DataSettings,
    split: SplitSettings,
    method: MethodSettings,
    where: EngineSettings,
    variant: str,
    engine: Engine,
) -> tuple[FitReport, Model]:
    """Choose n on the validation rows, then refit on all rows at that n (unless told not to)."""
    timer = Stopwatch()
    with timer("reading"):
        dataset = open_dataset(data, where, engine)
        encoded = encode(dataset, split)
        split_data = training(encoded.rows, encoded.split)
    phase_one = PhaseOne(split_data, method, timer)
    names = VARIANTS if variant == "auto" else (variant,)
    fitted = [fit_variant(name, phase_one, method, timer) for name in names]
    winner = min(fitted, key=lambda one: one.chosen.error)
    linear_error = baselines.linear_error(split_data, Side.VALIDATION)
    n = winner.chosen.neurons
    if method.refit:
        with timer("refit"):
            encoding, final = _refit(phase_one, dataset, encoded)
            network = train(winner.variant, final, method, at_most=_refit_size(winner))
            n = network.size
    else:
        encoding, network, final = encoded.encoding, winner.network.first(n), phase_one
    is_kernel = winner.variant == "kernel"
    tuning = final.tuning if is_kernel else None
    left_out = _left_out(final, network) if is_kernel else np.zeros(0)
    facts = {**(network.facts or {}), **_kernel_facts(final, winner.variant, tuning)}
    if is_kernel:
        facts["leave_one_out_error"] = float(np.sqrt(np.mean(left_out**2)))
    notes = (
        *_constant_note(encoding.inputs, final.data),
        *_cap_note(method, winner),
        *_tuning_note(tuning),
        *_activation_note(method, tuning),
    )
    report = FitReport(
        data=data_facts(dataset, encoded, split_data),
        variant=winner.variant,
        neurons=n,
        chosen_neurons=winner.chosen.neurons,
        selection=winner.selection,
        choices=winner.curve.choices,
        train_error=winner.train_error,
        validation_error=winner.chosen.error,
        linear_error=linear_error,
        training_rows=split_data.T,
        validation_rows=encoded.rows.total - split_data.T,
        refit=method.refit,
        candidates=tuple(
            Candidate(one.variant, one.chosen.neurons, one.train_error, one.chosen.error, one.seconds) for one in fitted
        ),
        stop=winner.network.stop,
        facts=facts,
        relevance=_relevance(network, final.data, encoding),
        timings={},
        model=None,
        settings=settings_facts(data, split, method, where),
        notes=notes,
    )
    standard = final.data.view.standard
    model = Model(encoding, standard, network, about(report), order_statistics(left_out) * standard.y_scale)
    return replace(report, timings=timer.report()), model


def save(report: FitReport, model: Model, path: str) -> FitReport:
    """Write the model's file; the report says where it went."""
    timer = Stopwatch()
    artifact.save(model.to_document(), path)
    timings = {**report.timings, "saving": timer.total, "total": report.timings["total"] + timer.total}
    return replace(report, model=path, timings=timings)


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
    _check_rows(int(sums["rows"]), side)
    return relative_errors(sums["squares"], float(sums["total"]))


def _refit_size(fitted: Fitted) -> int | None:
    """How many neurons a refit takes; None for all that it finds."""
    n = fitted.chosen.neurons
    return None if fitted.variant == "kernel" and n == fitted.network.size else n


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


def _refit(phase_one: PhaseOne, dataset: Dataset, encoded: Encoded) -> tuple[Encoding, PhaseOne]:
    """Every row trains. With landmarks the features stay as they are; a small table starts afresh with all rows."""
    joined = phase_one.refit()
    if joined is not None:
        return encoded.encoding, joined
    encoding = encode_everything(dataset)
    rows = encoded.rows if encoding == encoded.encoding else reencode(dataset, encoding)
    return encoding, afresh(phase_one, training(rows, Everything()), _untimed)


def afresh(phase_one: PhaseOne, data: Training, timer: Timer) -> PhaseOne:
    """Phase 1 of more rows. A table that is small enough is tuned again with all of them (la_ozone: 0.475 against 0.495
    as the mean of eight splits); a larger one keeps what its training rows gave.
    """
    # A level that only validation rows had is a new input: what was tuned does not know it.
    same_inputs = np.array_equal(phase_one.data.view.standard.keep, data.view.standard.keep)
    tuned = phase_one.__dict__.get("tuning") if data.T > TUNED_AGAIN and same_inputs else None
    return PhaseOne(data, phase_one.method, timer, tuned)


def _untimed(phase: str) -> AbstractContextManager[None]:
    return nullcontext()


def _left_out(phase_one: PhaseOne, network: Network) -> Array:
    """Standardised errors of training rows when each is left out, with its twins."""
    alpha = (network.facts or {})["alpha"]
    return kernel_variant.left_out_errors(phase_one.data, phase_one.kernel_basis, alpha, network.size)


# -------------------------------------------------------------------------------------------------------------- curve


def curve(
    data: DataSettings,
    split: SplitSettings,
    method: MethodSettings,
    where: EngineSettings,
    variants: Iterable[str],
    elm: ElmSettings | None,
    engine: Engine,
) -> CurveReport:
    """The errors of every size, and the three choices that they offer."""
    timer = Stopwatch()
    with timer("reading"):
        dataset = open_dataset(data, where, engine)
        encoded = encode(dataset, split)
        split_data = training(encoded.rows, encoded.split)
    phase_one = PhaseOne(split_data, method, timer)
    curves = tuple(fit_variant(name, phase_one, method, timer).curve for name in variants)
    band = None
    if elm is not None:
        with timer("random ELM"):
            band = elm_band(split_data, elm, method.max_neurons or paper_limit(split_data))
    return CurveReport(
        data=data_facts(dataset, encoded, split_data),
        curves=curves,
        elm=band,
        linear_error=baselines.linear_error(split_data, Side.VALIDATION),
        training_rows=split_data.T,
        validation_rows=encoded.rows.total - split_data.T,
        timings=timer.report(),
        settings=settings_facts(data, split, method, where),
        notes=_constant_note(encoded.encoding.inputs, split_data),
    )


def elm_band(data: Training, elm: ElmSettings, n: int) -> ElmBand:
    """The random ELM's curves over its realisations."""
    curves = baselines.elm_curves(data, RandomElm(n, elm.realizations, elm.seed, elm.weight_std))
    train_, valid = curves.train, curves.validation
    return ElmBand(valid.mean, valid.std, valid.min, valid.max, train_.mean, train_.min, train_.max, elm.realizations)


# ------------------------------------------------------------------------------------------------------------ compare


@dataclass(frozen=True)
class ComparePlan:
    """What is compared, and how it is judged."""

    methods: tuple[str, ...] = OWN_METHODS
    protocol: str = "test"
    repeats: int = 5
    test_size: float = 0.25

    def __post_init__(self) -> None:
        for name in self.methods:
            if name not in METHODS:
                raise UsageError(f"there is no method '{name}'", f"the methods are {', '.join(METHODS)}")
        if not 0.0 < self.test_size < 1.0 and self.protocol == "test":
            raise UsageError(
                f"--test-size {self.test_size} must lie between 0 and 1", "the default is --test-size 0.25"
            )


@dataclass(frozen=True)
class Judged:
    """One method on one split."""

    method: str
    neurons: float | None
    error: float
    spread: float | None  # over the ELM's realisations
    fit_seconds: float
    predict_seconds: float
    curve: Curve | None = None
    band: ElmBand | None = None


def compare(
    data: DataSettings,
    split: SplitSettings,
    method: MethodSettings,
    where: EngineSettings,
    elm: ElmSettings,
    plan: ComparePlan,
    engine: Engine,
) -> CompareReport:
    """Every method on the same splits.

    `test`: n is chosen on validation rows inside the training part, and the error is of test rows that chose nothing.
    `paper`: n is the minimum of the held-out curve, and that minimum is the error, as the paper reports it.
    """
    timer = Stopwatch()
    with timer("reading"):
        dataset = open_dataset(data, where, engine)
    if plan.protocol == "paper":
        split, plan = replace(split, kind="shuffle"), replace(plan, repeats=1, test_size=0.0)
    seeds = tuple(split.seed + repeat for repeat in range(plan.repeats))
    rounds: list[list[Judged]] = []
    first: tuple[Encoded, Training] | None = None
    for seed in seeds:
        encoded = encode(dataset, replace(split, seed=seed), plan.test_size)
        split_data = training(encoded.rows, encoded.split)
        first = first or (encoded, split_data)
        judge = _judge_paper if plan.protocol == "paper" else _judge_test
        rounds.append([judge(name, split_data, method, replace(elm, seed=seed)) for name in plan.methods])
    assert first is not None
    encoded, split_data = first
    rows = sorted((_row(list(of_one)) for of_one in zip(*rounds, strict=True)), key=lambda row: row.error)
    return CompareReport(
        data=data_facts(dataset, encoded, split_data),
        protocol=plan.protocol,
        rows=tuple(rows),
        repeats=plan.repeats,
        seeds=seeds,
        curves=tuple(one.curve for one in rounds[0] if one.curve is not None),
        elm=next((one.band for one in rounds[0] if one.band is not None), None),
        sizes=_sizes(split_data),
        timings=timer.report(),
        settings=settings_facts(data, split, method, where),
        notes=_constant_note(encoded.encoding.inputs, split_data),
    )


def _judge_paper(name: str, data: Training, method: MethodSettings, elm: ElmSettings) -> Judged:
    timer = Stopwatch()
    if name in VARIANTS:
        fitted = fit_variant(name, PhaseOne(data, method, timer), method, timer)
        best, seconds = fitted.curve.choices.best, timer.total
        with timer("predicting"):
            data.fold(ErrorRows(data.view, (fitted.network.first(best.neurons),), Side.VALIDATION), "predicting")
        return Judged(name, best.neurons, best.error, None, seconds, timer.phases["predicting"], fitted.curve)
    if name == "elm":
        band = elm_band(data, elm, method.max_neurons or paper_limit(data))
        n = int(np.argmin(band.mean))
        error, spread = float(band.mean[n]), float(band.std[n])
        return Judged("elm", n + 1, error, spread, timer.total, 0.0, band=band)
    if name in peers.PEERS:
        return _judge_peer(name, data, elm.seed, Side.VALIDATION, timer)
    return _judge_linear(data, Side.VALIDATION, timer)


def _judge_test(name: str, data: Training, method: MethodSettings, elm: ElmSettings) -> Judged:
    timer = Stopwatch()
    if name in VARIANTS:
        phase_one = PhaseOne(data, method, timer)
        fitted = fit_variant(name, phase_one, method, timer)
        n = fitted.chosen.neurons
        final_phase = phase_one.refit() or afresh(phase_one, _with_validation(data), timer)
        network = train(name, final_phase, method, at_most=_refit_size(fitted))
        seconds = timer.total
        error, predicting = _test_errors(final_phase.data, (network,), Side.TEST)
        return Judged(name, n, float(error[0]), None, seconds, predicting, fitted.curve)
    if name == "elm":
        band = elm_band(data, elm, method.max_neurons or paper_limit(data))
        n = int(np.argmin(band.mean)) + 1
        final = _with_validation(data)
        networks = baselines.elm_networks(final, RandomElm(n, elm.realizations, elm.seed, elm.weight_std))
        seconds = timer.total
        errors, predicting = _test_errors(final, networks, Side.TEST)
        each = predicting / len(networks)
        return Judged("elm", n, float(errors.mean()), float(errors.std()), seconds, each, band=band)
    if name in peers.PEERS:
        return _judge_peer(name, _with_validation(data), elm.seed, Side.TEST, timer)
    return _judge_linear(_with_validation(data), Side.TEST, timer)


def _with_validation(data: Training) -> Training:
    """Training and validation rows together."""
    return training(data.rows, JudgeOnValidation(data.view.split))


def _judge_linear(data: Training, side: Side, timer: Stopwatch) -> Judged:
    network = baselines.linear_network(data)
    seconds = timer.total
    errors, predicting = _test_errors(data, (network,), side)
    return Judged("linear", None, float(errors[0]), None, seconds, predicting)


def _judge_peer(name: str, data: Training, seed: int, side: Side, timer: Stopwatch) -> Judged:
    predict = peers.fit_peer(name, data, seed)
    seconds = timer.total
    rows = data.fold(peers.SideRows(data.view, side), "gathering rows")
    X, y = rows.X, rows.y
    with timer("predicting"):
        gap = predict(X) - y
    error = relative_errors(np.array([gap @ gap]), float(y @ y))
    return Judged(name, None, float(error[0]), None, seconds, timer.phases["predicting"])


def _test_errors(data: Training, networks: tuple[Network, ...], side: Side) -> tuple[Array, float]:
    start = time.perf_counter()
    sums = data.fold(ErrorRows(data.view, networks, side), "predicting")
    seconds = time.perf_counter() - start
    _check_rows(int(sums["rows"]), side)
    return relative_errors(sums["squares"], float(sums["total"])), seconds


def _check_rows(rows: int, side: Side) -> None:
    """No rows have no error; nought would pass for a perfect one."""
    if not rows:
        raise DataError(
            f"the split left no {side.name.lower()} rows",
            "choose another split with --seed, or more rows with --validation-size",
        )


def _row(judged: list[Judged]) -> CompareRow:
    errors = tuple(one.error for one in judged)
    spread = float(np.std(errors)) if len(errors) > 1 else judged[0].spread
    sizes = [one.neurons for one in judged if one.neurons is not None]
    return CompareRow(
        method=judged[0].method,
        neurons=float(np.mean(sizes)) if sizes else None,
        error=float(np.mean(errors)),
        error_std=spread,
        fit_seconds=float(np.median([one.fit_seconds for one in judged])),
        predict_seconds=float(np.median([one.predict_seconds for one in judged])),
        errors=errors,
    )


def _sizes(data: Training) -> dict[str, int]:
    counts = data.fold(CountSides(data.view.split), "counting rows")
    return {side.name.lower(): int(counts["sides"][side]) for side in Side}


# -------------------------------------------------------------------------------------------------------------- facts


def data_facts(dataset: Dataset, encoded: Encoded, data: Training) -> DataFacts:
    inputs = tuple(encoded.encoding.inputs[k] for k in data.view.standard.keep)
    return DataFacts(
        name=dataset.table.label,
        rows=encoded.rows.total,
        columns=len(encoded.encoding.columns),
        inputs=inputs,
        target=encoded.encoding.target or "",
        hash=dataset.survey.content_hash,
        notes=encoded.notes,
    )


def settings_facts(
    data: DataSettings, split: SplitSettings, method: MethodSettings, where: EngineSettings
) -> dict[str, Any]:
    """What was asked for, for the report and the model file."""
    kernel = vars(method.kernel)
    chosen = {key: value for key, value in vars(method).items() if key != "kernel"}
    return {
        "split": dict(vars(split)),
        "method": chosen,
        "kernel": dict(kernel),
        "missing": data.missing,
        "predict_options": _predict_options(data),
    }


def _predict_options(data: DataSettings) -> list[str]:
    """What `predict` must be told about files like these."""
    given = {"--decimal": data.read.decimal, "--encoding": data.read.encoding}
    usual = {"--decimal": ".", "--encoding": "utf-8"}
    return [word for option, value in given.items() if value != usual[option] for word in (option, value)]


def versions() -> dict[str, str]:
    return {
        "enrelm": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def about(report: FitReport) -> dict[str, Any]:
    """What a model file says about itself. No clock and no timing: the same command gives the same bytes."""
    left_out = ("inputs", "rows", "candidates", "timings", "model")
    kept = {key: value for key, value in report.to_json().items() if key not in left_out}
    return {**kept, "versions": versions()}


def _kernel_facts(phase_one: PhaseOne, variant: str, tuning: Tuning | None) -> dict[str, float]:
    """Of the model that is saved, not of the one that chose its size."""
    facts: dict[str, float] = {"landmarks": len(phase_one.landmarks_of(variant).Z)}
    if tuning is not None:
        kernel = tuning.kernel
        facts["weight_variance"] = float(np.mean(kernel.weight_variance))
        facts["bias_variance"] = float(kernel.bias_variance)
        facts["depth"] = kernel.depth
        facts["tuning_evaluations"] = tuning.evaluations
    return facts


def _relevance(network: Network, data: Training, encoding: Encoding) -> tuple[tuple[str, float], ...]:
    columns = [data.rows.groups[k] for k in data.view.standard.keep]
    return shares(network, data.sample().X, columns, [column.name for column in encoding.columns])


def _constant_note(names: tuple[str, ...], data: Training) -> tuple[str, ...]:
    left_out = sorted(set(range(len(names))) - set(data.view.standard.keep.tolist()))
    if not left_out:
        return ()
    shown = ", ".join(names[k] for k in left_out[:5]) + (f" and {len(left_out) - 5} more" if len(left_out) > 5 else "")
    return (f"constant on the training rows, left out: {shown}",)


def _tuning_note(tuning: Tuning | None) -> tuple[str, ...]:
    return () if tuning is None else (f"tuning: {tuning.reason.value}",)


def _activation_note(method: MethodSettings, tuning: Tuning | None) -> tuple[str, ...]:
    name = method.kernel.activation
    if tuning is None or name == "erf":
        return ()
    return (f"the kernel was tuned for erf; its variances and depth are used for {name}",)


def _cap_note(method: MethodSettings, fitted: Fitted) -> tuple[str, ...]:
    if method.neurons is None or method.neurons <= fitted.chosen.neurons:
        return ()
    return (f"--neurons {method.neurons}: only {fitted.chosen.neurons} neurons were found",)
