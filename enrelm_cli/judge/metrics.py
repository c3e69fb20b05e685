"""Metrics that people know, of rows that chose nothing but the size: RMSE, MAE, R² and the normalised error.

    normalised RMSE = sqrt( sum e² / sum (y - ybar)² ),  RMSE = sqrt( sum e² / n ),  MAE = sum |e| / n,
    R² = 1 - sum e² / sum (y - mean y)²

ybar is the mean of the training rows, mean y that of the judged rows themselves. Sums are kept for twenty blocks of
rows, by the hash of their units or groups: leaving out a block at a time gives every metric a standard error (the
delete-a-block jackknife), and the difference of two methods one of its own, because both are judged on the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.fold.hashing import rehash
from enrelm_cli.inputs.classes.scale import Scale
from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.judge.losses import relative_losses, unit_of
from enrelm_cli.types import Array

if TYPE_CHECKING:
    # `predict` reads metrics of a model file, and starts without what fits.
    from enrelm_cli.judge.errors import Predictor

BLOCKS = 20
_SALT = 0xB10C
NAMES = ("normalised_rmse", "rmse", "mae", "r2")


@dataclass(frozen=True)
class Metrics:
    """Of some rows; `standard_errors` where there are rows enough for two blocks."""

    rows: int
    normalised_rmse: float
    rmse: float  # in the target's unit
    mae: float  # in the target's unit
    r2: float
    standard_errors: dict[str, float] = field(default_factory=dict)  # by name

    def value(self, metric: str) -> float:
        """`metric` as `--metric` names it."""
        return float(getattr(self, metric.replace("-", "_")))

    def spread(self, metric: str) -> float | None:
        """The standard error."""
        return self.standard_errors.get(metric.replace("-", "_"))

    def to_json(self) -> dict[str, object]:
        values = {name: _finite(getattr(self, name)) for name in NAMES}
        spreads = {name: _finite(value) for name, value in self.standard_errors.items()}
        return {**values, "rows": self.rows, "standard_errors": spreads}

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> Metrics:
        """Of a model file, checked when it was read."""
        values = {name: _number(document[name]) for name in NAMES}
        spreads = {name: _number(value) for name, value in document["standard_errors"].items()}
        return Metrics(document["rows"], **values, standard_errors=spreads)


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


@dataclass(frozen=True)
class Judged:
    """A network, and the rows as it sees them. `unit`: the scale whose spread is the unit of the sums."""

    view: View
    network: Predictor
    unit: Scale
    clipped: bool = False  # predictions as the saved model makes them; the curves' are not clipped


@dataclass(frozen=True)
class MetricRows:
    """Partial: the sums of each network over one side's rows, a column for each block: (networks, blocks)."""

    judged: tuple[Judged, ...]
    side: Side

    def __call__(self, chunk: Chunk) -> Sums:
        each = [self._sums(one, one.view(chunk, self.side)) for one in self.judged]
        return Sums({name: np.array([sums[name] for sums in each]) for name in each[0]})

    def _sums(self, one: Judged, chunk: Chunk) -> dict[str, Array]:
        scale, ratio = one.view.target_scale, unit_of(one.view.target_scale) / unit_of(one.unit)
        z, u = one.network.predict(chunk.X), scale.units(chunk.y)
        gap = z - chunk.y if scale.transform == "none" and not one.clipped else scale.predicted(z) - u
        gap, base = gap * ratio, u * ratio
        y = base + _shift(scale, one.unit)
        values = {"n": np.ones(chunk.rows), "squares": _squares(gap), "sizes": _sizes(gap), "y": _sums(y)}
        values |= {"yy": _squares(y), "base": _squares(base), "base_sizes": _sizes(base)}
        block = (rehash(chunk.together, _SALT) % np.uint64(BLOCKS)).astype(np.int64)
        sums = {name: by_block(block, chunk.weighted(of)) for name, of in values.items()}
        return {**sums, "rows": by_block(block, np.ones(chunk.rows))}


def by_block(block: NDArray[np.int64], values: Array) -> Array:
    """Sums of values (t,) by block: (BLOCKS,)."""
    return np.asarray(np.bincount(block, values, BLOCKS), dtype=np.float64)


def _shift(scale: Scale, unit: Scale) -> float:
    """From the mean of one fold's training rows to that of the first's."""
    if not isinstance(scale, TargetScale) or not isinstance(unit, TargetScale):
        return 0.0
    return float(unit.standard(np.array(scale.mean)))


def _sizes(A: Array) -> Array:
    """(t, ...) -> (t,): |a|, summed over the targets."""
    return _sums(np.abs(A))


def _squares(A: Array) -> Array:
    return _sums(A**2)


def _sums(A: Array) -> Array:
    return A if A.ndim == 1 else np.asarray(A.sum(axis=1))


def judge_rows(folded: Callable[[MetricRows], Sums], judged: Sequence[Judged], side: Side) -> Sums:
    """The sums of each network over one side's rows. No rows have no error; nought would pass for a perfect one."""
    sums = folded(MetricRows(tuple(judged), side))
    if not sums["rows"].any():
        raise DataError(
            f"the split left no {side.name.lower()} rows",
            "choose another split with --seed, or more rows with --validation-size",
        )
    return sums


def metrics_of(sums: Sums, which: int, unit: Scale) -> Metrics:
    """Of one network."""
    of = {name: value[which] for name, value in sums.values.items()}
    computed: dict[str, Callable[[dict[str, Array]], float]] = {
        "normalised_rmse": lambda s: _relative(s, 2),
        "rmse": lambda s: float(np.sqrt(s["squares"].sum() / s["n"].sum())) * unit_of(unit),
        "mae": lambda s: float(s["sizes"].sum() / s["n"].sum()) * unit_of(unit),
        "r2": _r2,
    }
    with np.errstate(all="ignore"):
        values = {name: f(of) for name, f in computed.items()}
        left = _without_each(of)
        spreads = {name: jackknife(np.array([f(one) for one in left])) for name, f in computed.items()}
    found = {name: spread for name, spread in spreads.items() if spread is not None}
    return Metrics(int(of["rows"].sum()), **values, standard_errors=found)


def relative_error_of(sums: Sums, which: int, power: int) -> float:
    """Err of one network: what the curves show."""
    return _relative({name: value[which] for name, value in sums.values.items()}, power)


def _relative(sums: dict[str, Array], power: int) -> float:
    names = ("squares", "base") if power == 2 else ("sizes", "base_sizes")
    total, base = (float(sums[name].sum()) for name in names)
    return float(relative_losses(np.array([total]), base, power)[0])


def _r2(sums: dict[str, Array]) -> float:
    spread = float(sums["yy"].sum() - sums["y"].sum() ** 2 / sums["n"].sum())
    return 1.0 - float(sums["squares"].sum()) / spread if spread > 0.0 else float("nan")


def _without_each(sums: dict[str, Array]) -> list[dict[str, Array]]:
    """The sums without one block, for every block that has rows."""
    return [{name: np.delete(value, b) for name, value in sums.items()} for b in np.flatnonzero(sums["rows"])]


def jackknife(left: Array) -> float | None:
    """The standard error of a statistic from its values (B,) without one block each."""
    B = len(left)
    if B < 2 or not np.isfinite(left).all():
        return None
    return float(np.sqrt((B - 1) / B * np.sum((left - left.mean()) ** 2)))


def within_a_standard_error(targets: Sequence[Sums], power: int) -> tuple[int, tuple[bool, ...]]:
    """The network with the smallest error, and for each whether it is as good: paired, on the same rows.

    Err - Err_best <= its own standard error; of several targets Err is the mean of theirs.
    """
    with np.errstate(all="ignore"):
        both = [_errors_and_left_out(sums, power) for sums in targets]
        errors = np.mean([errors for errors, _ in both], axis=0)
        left = np.mean([left for _, left in both], axis=0)
    best = int(np.argmin(np.where(np.isnan(errors), np.inf, errors)))
    spreads = [jackknife(of - left[best]) for of in left]
    return best, tuple(k == best or as_good(errors[k] - errors[best], spread) for k, spread in enumerate(spreads))


def _errors_and_left_out(sums: Sums, power: int) -> tuple[Array, Array]:
    """Err of each network (k,), and without one block each (k, B)."""
    each = [{name: value[k] for name, value in sums.values.items()} for k in range(len(sums["rows"]))]
    errors = np.array([_relative(one, power) for one in each])
    return errors, np.array([[_relative(one, power) for one in _without_each(of)] for of in each])


def mean_of(metrics: Sequence[Metrics]) -> Metrics:
    """Over several splits or realisations. The standard error is that of their mean by the spread over them, or by
    their own standard errors where those are larger: two splits may agree by chance.
    """
    values = {name: np.array([getattr(one, name) for one in metrics]) for name in NAMES}
    means = {name: float(of.mean()) for name, of in values.items()}
    own = {name: [one.standard_errors[name] for one in metrics if name in one.standard_errors] for name in NAMES}
    spreads = {name: _of_mean(of, own[name]) for name, of in values.items() if len(metrics) > 1 or own[name]}
    return Metrics(metrics[0].rows, **means, standard_errors=spreads)


def _of_mean(values: Array, own: Sequence[float]) -> float:
    over = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    inside = float(np.sqrt(np.mean(np.square(own)))) if own else 0.0
    return max(over, inside) / float(np.sqrt(len(values)))


def as_good(difference: float, standard_error: float | None) -> bool:
    """Within a standard error of the best; without one, only where there is no difference."""
    return bool(difference <= (standard_error or 0.0))


def paired(errors: Sequence[float], best: Sequence[float]) -> tuple[float, float | None]:
    """The mean difference of two methods over the same splits, and its standard error (None with one split)."""
    more = np.asarray(errors) - np.asarray(best)
    spread = float(more.std(ddof=1) / np.sqrt(len(more))) if len(more) > 1 else None
    return float(more.mean()), spread
