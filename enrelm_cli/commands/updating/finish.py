"""From kept sums to a model: ridge, size, errors and intervals again; landmarks, inputs and kernel as they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enrelm_cli.commands.classes.telling import ToldApart, class_facts, tell_classes, with_misses
from enrelm_cli.commands.explanation.learning import kept as learnt
from enrelm_cli.commands.facts import network_facts, own_errors, versions
from enrelm_cli.errors import DataError, ModelFileError, UserError
from enrelm_cli.fields import options
from enrelm_cli.fold.folds import Chunk, Engine, LocalEngine, Sums
from enrelm_cli.inputs.classes.scale import ModelScale
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.inputs.targets.scale import SeveralScale
from enrelm_cli.inputs.training import Rows, Training, cut, even_sample, piece_rows
from enrelm_cli.judge.classes.fitting import refit_classes
from enrelm_cli.judge.errors import relative_errors
from enrelm_cli.judge.fitting import FittedVariant, fit_variant, refit_variant, with_errors
from enrelm_cli.judge.intervals import intervals_of
from enrelm_cli.judge.relevance import shares
from enrelm_cli.model.explanation.contributions import reference_of
from enrelm_cli.model.model import Model
from enrelm_cli.model.network import Network
from enrelm_cli.model.updating.frozen import Frozen, FrozenLandmarks, FrozenLayer
from enrelm_cli.model.updating.kept import Kept, KeptRows, KeptSums
from enrelm_cli.phase_one.eigenbasis import Projection, SideSums
from enrelm_cli.phase_one.frozen import LayerGram
from enrelm_cli.phase_one.landmarks import Landmarks
from enrelm_cli.phase_one.least_squares import pseudo_solve
from enrelm_cli.phase_one.phase_one import Basis, Gram, Tuned, Unsummed, basis_from, refit
from enrelm_cli.report.class_reports import ClassFacts
from enrelm_cli.report.reports import FitReport
from enrelm_cli.settings import KernelSettings, MethodSettings
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.types import Array
from enrelm_cli.variants import named
from enrelm_cli.variants._variant import Variant

_OF_THE_KERNEL = ("weight_variance", "bias_variance", "depth", "tuning_evaluations", "landmarks")


@dataclass(frozen=True)
class Standardised(View):
    """Rows whose inputs have been through the map already."""

    def __call__(self, chunk: Chunk, side: Side) -> Chunk:
        chunk = chunk.where(self.split.sides(chunk) == side)
        return replace(chunk, y=self.target_scale.forward(chunk.y))


def basis_of_sums(models: Sequence[Model], kept: Kept, variant: Variant, engine: Engine) -> Basis:
    """The basis of the training rows, whose sums are known and of which a sample is at hand: of all targets."""
    sums, frozen, model, several = kept.sums, kept.frozen, models[0], len(models) > 1
    if any(sums.rows(side) < 2 for side in (Side.TRAIN, Side.VALIDATION)):
        raise DataError("too few rows are left on a side of the split to fit anything", "add rows first")
    ends = list(zip(np.atleast_1d(sums.low).tolist(), np.atleast_1d(sums.high).tolist(), strict=True))
    scales = [_ranged(one.target_scale, *own) for one, own in zip(models, ends, strict=True)]
    scale = SeveralScale(tuple(one for one in scales if isinstance(one, TargetScale))) if several else scales[0]
    chunk = _chunk(sums.sample)
    rows = Rows(
        pieces=cut(chunk, piece_rows(chunk.rows)),
        sample=even_sample(chunk),
        whole=False,
        total=sums.rows(),
        columns=model.encoding.columns,
        target=model.encoding.target,
        # What is left to do is in memory, wherever the new rows were summed.
        engine=LocalEngine(getattr(engine, "threads", 0), engine.progress),
        classes=model.classes,
        also=tuple((one.encoding.target, -np.inf) for one in models[1:]),
    )
    view = Standardised(kept.split, model.input_map, scale)
    weight = float(sums.sides[Side.TRAIN]["n"])
    data = Training(rows, view, sums.rows(Side.TRAIN), ends[0], weight, tuple(ends[1:]))
    tuned = Tuned(variant.start, data, frozen.kernel, len(frozen.Z))
    return basis_from(tuned, _sums_of(frozen, sums))


def _ranged(scale: ModelScale, low: float, high: float) -> ModelScale:
    """The scale, whose ends are those of all rows."""
    if not isinstance(scale, TargetScale) or scale.low is None or scale.high is None:
        return scale
    return scale.ranged(min(scale.low, low), max(scale.high, high))


def _sums_of(frozen: Frozen, sums: KeptSums) -> Gram | LayerGram | Unsummed:
    landmarks = Landmarks(frozen.Z, np.arange(len(frozen.Z), dtype=np.uint64), complete=False)
    sides = SideSums(sums.sides)
    if isinstance(frozen, FrozenLandmarks):
        return Gram(frozen.kernel, landmarks, Projection(frozen.R, frozen.triangular), sides)
    if isinstance(frozen, FrozenLayer):
        return LayerGram(frozen.kernel, landmarks, frozen.layer, sides)
    known = [sums.sides.get(side) for side in Side]
    counts = {
        "sides": np.array([0 if one is None else one["rows"] for one in known]),
        "weights": np.array([0.0 if one is None else one["n"] for one in known]),
    }
    return Unsummed(frozen.kernel, landmarks, Sums(counts))


def _chunk(rows: KeptRows) -> Chunk:
    return Chunk(rows.X, rows.y, rows.key, rows.key, -1, weight=rows.weight, group=rows.group)


@dataclass(frozen=True)
class Finished:
    """A model from sums, and how its size was chosen."""

    model: Model
    fitted: FittedVariant
    intervals: dict[str, Any]  # what is known of them
    classes: ClassFacts | None

    def reported(self, report: FitReport) -> FitReport:
        """The report of a fit whose model was then made from sums."""
        card = self.model.card
        return replace(
            report,
            neurons=card.neurons,
            chosen_neurons=card.chosen_neurons,
            selection=card.selection,
            choices=self.fitted.curve.choices,
            curve=self.fitted.curve,
            train_error=card.train_error,
            validation_error=card.validation_error,
            linear_error=card.linear_error,
            stop=card.stop,
            facts=card.facts,
            relevance=card.relevance,
            intervals=self.intervals,
            classes=self.classes,
        )


def finish(models: Sequence[Model], kept: Kept, engine: Engine) -> list[Finished]:
    """The model of each target; phase 1 is that of all together.

    `models`: earlier ones, whose settings, columns and notes are taken over.
    """
    card = models[0].card
    method, variant = _method(card.settings), named(card.variant)
    basis = basis_of_sums(models, kept, variant, engine)
    final = (refit(basis) if method.refit else None) or basis
    if len(models) == 1:
        return [_finished(models[0], kept, basis, final, method)]
    return [
        _finished(model, kept.of_target(k), basis.of_target(k), final.of_target(k), method)
        for k, model in enumerate(models)
    ]


def _finished(model: Model, kept: Kept, basis: Basis, final: Basis, method: MethodSettings) -> Finished:
    """`basis`, `final`: phase 1 of the training rows, and of those that the weights are of."""
    variant = named(model.card.variant)
    fitted = fit_variant(variant, basis, method)
    told = tell_classes([fitted], method, Stopwatch())
    if told is None:
        network = refit_variant(fitted, final, method)
        made, facts, intervals, classes = _of_numbers(model, fitted, with_errors(variant, final, network), network)
    else:
        made, facts, intervals, classes = _of_classes(model, fitted, told, final, method, kept)
    sample, names = final.data.sample(), [column.name for column in model.encoding.columns]
    kept_facts = {name: value for name, value in model.card.facts.items() if name in _OF_THE_KERNEL}
    card = replace(
        model.card,
        neurons=made.network.size,
        chosen_neurons=fitted.chosen.neurons,
        train_error=fitted.train_error,
        validation_error=fitted.chosen.error,
        linear_error=linear_error(kept),
        selection=fitted.selection,
        choices=fitted.curve.choices.to_json(),
        training_rows=kept.sums.rows(Side.TRAIN),
        validation_rows=kept.sums.rows(Side.VALIDATION),
        stop=fitted.network.stop,
        facts={**facts, **kept_facts},
        relevance=shares(made.network, sample.X, model.input_map.groups, names, sample.weight),
        data={**model.card.data, "rows": kept.sums.rows()},
        classes=None if classes is None else classes.to_json(),
        metrics=None,
        linear_metrics=None,
        folds=1,
        versions=versions(),
    )
    made = replace(made, card=card, kept=None)
    raw = kept.sums.sample.raw
    made = replace(made, reference=reference_of(made, raw), learnt=learnt(made, raw, fitted.curve))
    return Finished(made.profiled(raw), fitted, intervals, classes)


Outcome = tuple[Model, dict[str, float], dict[str, Any], ClassFacts | None]


def _of_numbers(model: Model, fitted: FittedVariant, final: Basis, network: Network) -> Outcome:
    """With intervals."""
    scale = final.data.view.target_scale
    assert isinstance(scale, TargetScale)
    errors = fitted.variant.left_out(final, network)
    own, weight = own_errors(final.data, errors)
    found = intervals_of(fitted, final, network, errors)
    made = replace(model, target_scale=scale, network=network, intervals=found.intervals)
    return made, network_facts(network, final, own, weight), found.facts(), None


def _of_classes(
    model: Model, fitted: FittedVariant, told: ToldApart, final: Basis, method: MethodSettings, kept: Kept
) -> Outcome:
    """With probabilities, calibrated on left-out rows of the sample."""
    chosen = refit_classes(fitted, told.fits[0], final, method)
    made = replace(model, network=chosen.network, calibration=with_misses(chosen, model.encoding))
    counts = sum(one["counts"] for one in kept.sums.sides.values())
    facts = replace(class_facts(final.data.rows, told, chosen), counts=tuple(int(one) for one in counts))
    return made, network_facts(chosen.network, final, np.zeros(0)), {}, facts


def linear_error(kept: Kept) -> float:
    """On the validation rows, of linear regression on the model's own inputs, fitted to the training rows."""
    train, held = kept.sums.sides[Side.TRAIN], kept.sums.sides[Side.VALIDATION]
    beta: Array = pseudo_solve(train["XX"].copy(), train["Xy"])
    total = float(np.sum(held["yy"]))
    squares = total - 2.0 * float(np.sum(beta * held["Xy"])) + float(np.sum(beta * (held["XX"] @ beta)))
    return float(relative_errors(np.array([squares]), total)[0])


def _method(settings: dict[str, Any]) -> MethodSettings:
    """What the first fit was asked for."""
    try:
        asked = settings["method"]
        known = {name: asked[name] for name in options(MethodSettings) if name in asked}
        kernel = KernelSettings(activation=settings["kernel"]["activation"], backend=settings["kernel"]["backend"])
        return MethodSettings(**known, kernel=kernel)
    except (KeyError, TypeError, UserError) as problem:
        raise ModelFileError("the model file does not say how it was fitted", "fit the model again") from problem
