"""What the kernel is tuned on: the form of the inputs and the scale of the target that predict left-out rows best.

A transform is taken where left-out errors in the target's own units are not clearly larger than those of another
scale, and the targets are likelier (`preferred`). Where rows are few, the errors are of folds that took no part in
the tuning: those of a tuned kernel's own rows prefer the target's own scale wrongly (hitters, mean of five splits:
0.652, by folds 0.598).

Frequent values of a number are marked unless one shared variance then predicts clearly worse: that has next to nothing
to tune, so it is not flattered by more inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import Chunk, Sums, one_blas_thread
from enrelm_cli.fold.weights import Weights, mean, times
from enrelm_cli.inputs.classes.scale import ClassScale, Scale
from enrelm_cli.inputs.maps.codes import Codes, codes_in, codes_of
from enrelm_cli.inputs.maps.column_map import ColumnMap, folds_of
from enrelm_cli.inputs.maps.dates import DAY_OF_YEAR, DAYS, MONTH, PARTS, VALUE
from enrelm_cli.inputs.maps.input_map import Expansion, InputMap
from enrelm_cli.inputs.maps.levels import LevelSums
from enrelm_cli.inputs.maps.numbers import Form, Scores, Spikes, Squashed, ValueIndicators
from enrelm_cli.inputs.maps.robust import robust_maps, scaled
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.target_scale import TRANSFORMS, TargetScale
from enrelm_cli.inputs.training import Training
from enrelm_cli.inputs.transforms import transformed
from enrelm_cli.kernels.arcsine import ArcsineKernel, Kernel
from enrelm_cli.phase_one.left_out import LeftOutRows, distinct_rows
from enrelm_cli.phase_one.tuning.ridge import clearly_better, excess, leave_one_out, standard_error
from enrelm_cli.settings import InputSettings
from enrelm_cli.types import Array

_SHARED_ROWS = 400
_TUNED_ROWS = 1000
_VARIANCES = (2.0**-6, 2.0**-4, 2.0**-2, 1.0, 4.0)  # times 1/d
_BIAS = 0.5
# Parts of a time that may be left out: how late it is and the season, how late it is, and none.
_WITHOUT: tuple[tuple[str, ...], ...] = ((VALUE, DAYS, MONTH, DAY_OF_YEAR), (VALUE, DAYS), ())
# Parts that would have to be foreseen are used only where the latest rows are predicted so much better with them.
_CLEARLY = 0.9
# Standard errors by which the means of a number's values must predict better: several columns are tried.
_BEYOND_CHANCE = 2.0


def candidates(data: Training, settings: InputSettings, like: InputMap | None = None) -> tuple[Training, ...]:
    """The same rows through each map and scale that may be chosen, the target's own scale first.

    `like`: a map of some of the rows, whose parts of the time (--time) these have, too.
    """
    scales = _scales(data, settings)
    if settings.map == "plain":
        return tuple(data.through(data.view.input_map, scale) for scale in scales)
    codes = _codes(data, scales[0]) if like is None else _codes_of(like)
    sums = _level_sums(data, scales, codes)
    without = _unforeseen(data, settings, scales[0], sums[0]) if like is None else _left_out_of(like, data)
    form = _marked(data, settings, scales[0], sums[0], without) if like is None else _form_of(like)
    if like is None:
        codes = _told_apart(data, settings, scales[0], sums[0], without, form, codes)
    maps = [_robust(data, settings, of_scale, without, form, codes) for of_scale in sums]
    return tuple(data.through(one, scale) for one, scale in zip(maps, scales, strict=True))


def _marked(
    data: Training, settings: InputSettings, scale: Scale, sums: dict[int, Array], without: tuple[str, ...]
) -> Form:
    """Whether frequent values are marked."""
    maps = [_robust(data, settings, sums, without, form) for form in (Form.ROBUST, Form.MARKED)]
    if not isinstance(scale, TargetScale) or maps[0].expansion.width == maps[1].expansion.width:
        return Form.ROBUST
    rows = [data.through(one, scale) for one in maps]
    robust, marked = (Candidate(one, distinct_rows(one.sample())).shared() for one in rows)
    return Form.ROBUST if clearly_better(robust.gaps, marked.gaps, marked.weight) else Form.MARKED


def _form_of(one: InputMap) -> Form:
    marked = any(isinstance(each, Spikes) for each in one.expansion.maps)
    return Form.MARKED if marked else Form.ROBUST


def _codes(data: Training, scale: Scale) -> dict[int, Codes]:
    """Columns of numbers that may be names."""
    if not isinstance(scale, TargetScale):
        return {}
    raw = data.rows.sample.where(data.view.split.sides(data.rows.sample) == Side.TRAIN).X
    plain = [k for k, one in enumerate(data.rows.columns) if one.levels is None and not one.is_date]
    found = {k: codes_in(raw[:, k]) for k in plain if data.rows.columns[k].name != data.rows.time}
    return {k: codes for k, codes in found.items() if codes is not None}


def _codes_of(like: InputMap) -> dict[int, Codes]:
    found = {one.column: codes_of(one) for one in like.expansion.maps}
    return {k: codes for k, codes in found.items() if codes is not None}


def _told_apart(
    data: Training,
    settings: InputSettings,
    scale: Scale,
    sums: dict[int, Array],
    without: tuple[str, ...],
    form: Form,
    codes: dict[int, Codes],
) -> dict[int, Codes]:
    """Of these columns, one after the other, those whose values are names: one shared variance predicts left-out rows
    better where each value is told apart, by more than chance explains.
    """
    taken: dict[int, Codes] = {}

    def judged(coded: dict[int, Codes]) -> LeftOutErrors:
        one = data.through(_robust(data, settings, sums, without, form, coded), scale)
        return Candidate(one, distinct_rows(one.sample())).shared()

    best = judged(taken) if codes else None
    for k, of_column in codes.items():
        found = judged({**taken, k: of_column})
        if best is not None and excess(best.gaps, found.gaps, found.weight) > _BEYOND_CHANCE:
            taken, best = {**taken, k: of_column}, found
    return taken


def _unforeseen(data: Training, settings: InputSettings, scale: Scale, sums: dict[int, Array]) -> tuple[str, ...]:
    """The parts of the time (--time) without which the latest rows are predicted as well by the others.

    Later rows lie beyond all days that were seen, and a season that was seen once is no season. (An autoregressive
    series of 800 rows whose days were kept for 1 % less validated 0.71 and had 1.49 on the next 10,000.)
    """
    if data.rows.time is None or isinstance(scale, ClassScale):
        return ()
    tried = {without: _robust(data, settings, sums, without) for without in _WITHOUT}
    rows = {without: data.through(one, scale) for without, one in tried.items()}
    errors = {without: _shared_error(one) for without, one in rows.items()}
    best = _WITHOUT[0]
    for without in _WITHOUT[1:]:
        best = without if errors[without] < _CLEARLY * errors[best] else best
    return best


def _shared_error(data: Training) -> float:
    """Of several targets the mean."""
    targets = [data.of_target(k) for k in range(len(data.rows.targets))] if data.rows.also else [data]
    return float(np.mean([Candidate(one, distinct_rows(one.sample())).shared_error() for one in targets]))


def _left_out_of(like: InputMap, data: Training) -> tuple[str, ...]:
    """The parts of the time that a map has not."""
    of_time = [one for one in like.expansion.maps if data.rows.columns[one.column].name == data.rows.time]
    return tuple(part for part in PARTS if not any(_made_of(one, (part,)) for one in of_time))


def _scales(data: Training, settings: InputSettings) -> tuple[Scale, ...]:
    plain = data.view.target_scale
    # Classes have one scale; those of several targets are chosen before (`several.py`).
    return scales_of(data, settings) if isinstance(plain, TargetScale) else (plain,)


def scales_of(data: Training, settings: InputSettings) -> tuple[TargetScale, ...]:
    """Of one target that is a number, its own first."""
    plain = data.view.target_scale
    assert isinstance(plain, TargetScale)
    sample = data.sample()
    low, high = plain.standard(np.array(data.target_range))
    wanted = [one for one in TRANSFORMS if settings.transform in ("auto", one)]
    positive = data.rows.lowest_target > 0.0
    if settings.transform == "log" and not positive:
        raise UsageError(
            f"--transform log: the target '{data.rows.target}' is {data.rows.lowest_target:g} in some row",
            "a logarithm needs numbers above 0; --transform yeo-johnson takes any",
        )
    found = [transformed(plain, transform, sample.y, positive, sample.weight) for transform in wanted]
    scales = [scale for scale in found if scale is not None] or [plain]
    return tuple(scale.ranged(float(low), float(high)).bounded(settings.lower, settings.upper) for scale in scales)


@dataclass(frozen=True)
class _AllSums:
    """Partial: the sums by level and fold of several target scales."""

    each: tuple[LevelSums, ...]

    def __call__(self, chunk: Chunk) -> Sums:
        return Sums({f"{i} {k}": value for i, one in enumerate(self.each) for k, value in one(chunk).values.items()})


def _level_sums(data: Training, scales: Sequence[Scale], codes: dict[int, Codes]) -> list[dict[int, Array]]:
    """For each scale: column -> counts and sums of z by level and fold. One pass, where there are levels or codes."""
    levels = {k: len(column.levels) for k, column in enumerate(data.rows.columns) if column.levels is not None}
    if not levels and not codes:
        return [{} for _ in scales]
    values = {k: of_column.values for k, of_column in codes.items()}
    each = tuple(LevelSums(data.view.split, scale, levels, values) for scale in scales)
    sums = data.fold(_AllSums(each), "levels")
    return [{k: sums[f"{i} {k}"] for k in (*levels, *codes)} for i in range(len(scales))]


def _robust(
    data: Training,
    settings: InputSettings,
    sums: dict[int, Array],
    without: tuple[str, ...] = (),
    form: Form = Form.ROBUST,
    codes: Mapping[int, Codes] = MappingProxyType({}),
) -> InputMap:
    """`without`: parts of the column of time that are left out. `codes`: numbers whose values are names."""
    columns = data.rows.columns
    rows = data.rows.sample.where(data.view.split.sides(data.rows.sample) == Side.TRAIN)
    maps = robust_maps(columns, rows.X, sums, settings.calendar, rows.weight, form, codes)
    kept = [one for one in maps if columns[one.column].name != data.rows.time or not _made_of(one, without)]
    expansion = Expansion(tuple(kept or maps))
    return scaled(expansion, rows.X, folds_of(rows.together), rows.weight) or data.view.input_map


def _made_of(one: ColumnMap, parts: tuple[str, ...]) -> bool:
    return isinstance(one, Squashed | Scores | ValueIndicators) and one.part in parts


# ---------------------------------------------------------------------------------------------------- left-out errors


@dataclass(frozen=True)
class LeftOutErrors:
    """Of the rows that are left out."""

    gaps: Array  # (t,) errors in the target's own units
    units: Array  # (t,) the targets
    surprise: Array  # (t,) -log density of the targets
    weight: Weights

    @property
    def error(self) -> float:
        """Relative to the spread of the targets."""
        w, spread = self.weight, self.units - mean(self.units, self.weight)
        squares = max(float(spread @ times(w, spread)), np.finfo(float).tiny)
        return float(np.sqrt((self.gaps @ times(w, self.gaps)) / squares))

    @property
    def mean_surprise(self) -> float:
        return float(mean(self.surprise, self.weight))


@dataclass(frozen=True)
class Candidate:
    """Rows through one map and scale, and the distinct ones that judge it."""

    data: Training
    rows: LeftOutRows

    def shared_error(self) -> float:
        """Relative left-out error, in the target's own units, of one variance for all inputs at its best."""
        return self.shared().error

    def shared(self) -> LeftOutErrors:
        """The left-out errors behind it."""
        return min(self._shared, key=lambda one: one.error)

    def shared_surprise(self) -> float:
        """Mean -log density of the targets, likewise at its best."""
        return min(one.mean_surprise for one in self._shared)

    @cached_property
    def _shared(self) -> list[LeftOutErrors]:
        few = Candidate(self.data, self.rows.first(_SHARED_ROWS))
        return [few.left_out(ArcsineKernel(v / self.rows.X.shape[1], _BIAS)) for v in _VARIANCES]

    @one_blas_thread
    def left_out(self, kernel: Kernel) -> LeftOutErrors:
        """By a given kernel, at its best ridge."""
        few = self.rows.first(_TUNED_ROWS)
        ridge = leave_one_out(kernel.gram(few.X, few.X), few.y, weight=few.weight, block=few.block)
        return self.judged(few, ridge.left_out)

    def judged(self, rows: LeftOutRows, errors: Array) -> LeftOutErrors:
        """From errors (t,) of the rows' z, NaN where a row stays.

        Targets have normal errors of z around left-out predictions: with s² = mean e² the surprise of a row is
        e²/(2 s²) + log s - log dz/du.
        """
        known = ~np.isnan(errors)
        e, z, weight = errors[known], rows.y[known], None if rows.weight is None else rows.weight[known]
        scale = self.data.view.target_scale
        assert isinstance(scale, TargetScale)  # classes have one scale, and nothing to compare
        # Those of the latest rows alone need not be 0 in the mean.
        shift = 0.0 if known.all() else mean(e, weight)
        smeared = scale.smeared(e - shift, weight)
        u = scale.units(z)
        variance = max(float(mean(e**2, weight)), float(np.finfo(float).tiny))
        surprise = 0.5 * (e**2 / variance + np.log(variance)) - scale.log_slope(u)
        return LeftOutErrors(u - smeared.predicted(z - e), u, surprise, weight)


def preferred(judged: Sequence[LeftOutErrors]) -> int:
    """Of the candidates whose left-out errors, in the target's own units, are as small as the best one's up to chance,
    the one under which the targets are least surprising; the first unless another is clearly better.

    Squared errors of a skewed target are those of its few largest rows, and say little of scales that a likelihood
    tells apart at once; but where they do say something, they are what the user asked for.
    """
    best = min(judged, key=lambda one: one.error)
    as_good = [k for k, one in enumerate(judged) if not clearly_better(best.gaps, one.gaps, one.weight)]
    likeliest = min(as_good, key=lambda k: judged[k].mean_surprise)
    return 0 if 0 in as_good and not _clearly_likelier(judged[likeliest], judged[0]) else likeliest


def _clearly_likelier(one: LeftOutErrors, other: LeftOutErrors) -> bool:
    """By more than a standard error, paired."""
    more = other.surprise - one.surprise
    return bool(mean(more, one.weight) > standard_error(more, one.weight))
