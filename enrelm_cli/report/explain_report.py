"""The facts of `enrelm explain`, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from enrelm_cli.judge.classes.metrics import Metrics
from enrelm_cli.judge.curve import Curve
from enrelm_cli.report.beside import Errors
from enrelm_cli.report.reports import DataFacts, FitReport, InfoReport, Json
from enrelm_cli.report.targets.reports import TargetsInfo, TargetsReport


@dataclass(frozen=True)
class EffectPoint:
    """The effect of one value of a column."""

    value: float | str | None  # a number, a date as text, a level; None: missing
    at: float  # where it stands on the axis: the number, microseconds since 1970, or the place of the level
    effect: float
    low: float
    high: float
    rows: int  # of the sample, with this level or nearest to this value


@dataclass(frozen=True)
class ColumnEffect:
    """How a column acts on the prediction."""

    name: str
    kind: str  # number, date or levels
    share: float | None  # of the prediction's variance that it moves
    points: tuple[EffectPoint, ...]  # numbers and dates in their order, levels by their effect
    missing: int  # rows of the sample without a value
    of: str | None = None  # the class whose score it moves; None: the target is a number
    on: str = ""  # what it moves: the target, or a class's log-odds or score

    @property
    def lowest(self) -> EffectPoint:
        return min(self.points, key=lambda point: point.effect)

    @property
    def highest(self) -> EffectPoint:
        return max(self.points, key=lambda point: point.effect)

    @property
    def span(self) -> float:
        """From the lowest effect to the highest."""
        return self.highest.effect - self.lowest.effect


@dataclass(frozen=True)
class PairEffect:
    """Two columns that act together."""

    first: str
    second: str
    strength: float
    share: float


@dataclass(frozen=True)
class ResidualRange:
    """Residuals of the rows between two values, or of one level."""

    low: float | str
    high: float | str
    at: float  # the middle, on the axis
    rows: int
    mean: float
    spread: float


@dataclass(frozen=True)
class Residuals:
    """Along one column, or along the prediction (column None)."""

    column: str | None
    kind: str
    ranges: tuple[ResidualRange, ...]


@dataclass(frozen=True)
class WorstRow:
    file: str
    row: int  # from 1
    line: int | None
    target: float | str
    prediction: float | str
    values: tuple[tuple[str, float | str | None], ...]  # of each column
    probability: float | None = None  # of its class, where it has one

    @property
    def residual(self) -> float | None:
        """None of classes."""
        if isinstance(self.target, str) or isinstance(self.prediction, str):
            return None
        return self.target - self.prediction

    @property
    def place(self) -> str:
        return f"row {self.row:,}" if self.line is None else f"line {self.line:,}"


@dataclass(frozen=True)
class Coverage:
    """Of prediction intervals: what they promise, and how many targets are inside."""

    level: float
    inside: float


@dataclass(frozen=True)
class ColumnSummary:
    """A column as the model knows it."""

    name: str
    kind: str
    inputs: int
    details: str  # what the inputs are, or why there are none
    missing: float | None  # share of the fitted rows; None where the model does not know
    values: str  # range, or how many levels
    bars: tuple[float, ...]  # shares of the fitted rows: along the range, or of the most frequent levels


@dataclass(frozen=True)
class ExplainReport:
    model: str
    name: str  # of the data
    variant: str
    target: str
    rows: int
    sample_rows: int  # that the effects are averages over
    average: float  # prediction of the sample
    way: str  # accumulated local effects, or partial dependence
    band: str  # what the band is
    effects: tuple[ColumnEffect, ...]
    relevance: tuple[tuple[str, float], ...]  # share of every column, largest first
    pairs: tuple[PairEffect, ...]  # strongest first
    errors: Errors | None  # where the target is there, of all rows
    residuals: tuple[Residuals, ...]  # along the prediction first
    worst: tuple[WorstRow, ...]
    calibration: tuple[Coverage, ...]
    points: tuple[tuple[float, float], ...]  # (prediction, residual) of some rows, for plots
    timings: dict[str, float]
    notes: tuple[str, ...] = ()
    columns: tuple[ColumnSummary, ...] = ()
    fitted: DataFacts | None = None  # what the model was fitted to
    settings: Json = field(default_factory=dict)  # of the fit
    averages: tuple[tuple[str, float], ...] = ()  # what is explained, and its average over the sample
    classes: tuple[str, ...] = ()  # whose scores are explained
    metrics: Metrics | None = None  # where classes are there, of all rows

    def to_json(self) -> Json:
        document: Json = {
            name: getattr(self, name)
            for name in ("model", "name", "variant", "target", "rows", "sample_rows", "average", "way", "band")
        }
        document["effects"] = [_effect(one) for one in self.effects]
        document["relevance"] = [{"input": name, "share": share} for name, share in self.relevance]
        document["pairs"] = [dict(vars(one)) for one in self.pairs]
        document["errors"] = None if self.errors is None else self.errors.to_json()
        document["residuals"] = [
            {"column": one.column, "kind": one.kind, "ranges": [dict(vars(part)) for part in one.ranges]}
            for one in self.residuals
        ]
        document["worst"] = [_worst(one) for one in self.worst]
        document["calibration"] = [dict(vars(one)) for one in self.calibration]
        document["columns"] = [dict(vars(one)) for one in self.columns]
        document["averages"] = dict(self.averages)
        document["classes"] = list(self.classes) or None
        document["metrics"] = None if self.metrics is None else self.metrics.to_json()
        document["fitted"] = None if self.fitted is None else self.fitted.to_json()
        return {**document, "settings": self.settings, "timings": self.timings, "notes": list(self.notes)}


@dataclass(frozen=True)
class ModelPage:
    """What the page of a fit or of a saved model shows beside its report."""

    report: FitReport | InfoReport
    columns: tuple[ColumnSummary, ...]
    explained: ExplainReport | None  # where the rows are there
    widths: tuple[tuple[float, float], ...]  # (level, mean width of intervals), where the rows are there
    fitted: DataFacts
    curve: Curve | None = None  # the errors of every size, where it is known


@dataclass(frozen=True)
class TargetPages:
    """The page of several targets: what they have in common, and a part for each."""

    report: TargetsReport | TargetsInfo
    pages: tuple[ModelPage, ...]


def _effect(one: ColumnEffect) -> Json:
    return {
        "column": one.name,
        "kind": one.kind,
        "share": one.share,
        "missing": one.missing,
        "class": one.of,
        "on": one.on,
        "points": [dict(vars(point)) for point in one.points],
    }


def _worst(one: WorstRow) -> Json:
    values: dict[str, Any] = dict(one.values)
    kept = {
        name: getattr(one, name) for name in ("file", "row", "line", "target", "prediction", "residual", "probability")
    }
    return {**kept, "values": values}


def csv_rows(report: ExplainReport) -> list[Json]:
    """A row for each point of each effect."""
    rows = [
        {
            "column": effect.name,
            "kind": effect.kind,
            "share": effect.share,
            "value": point.value,
            "effect": point.effect,
            "low": point.low,
            "high": point.high,
            "rows": point.rows,
            "class": effect.of,
        }
        for effect in report.effects
        for point in effect.points
    ]
    names = ("column", "kind", "share", "value", "effect", "low", "high", "rows", "class")
    return rows or [dict.fromkeys(names)]
