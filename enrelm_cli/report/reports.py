"""The facts of a run, as values. Renderers come after: tables, JSON, CSV, Markdown, plots, HTML.

`to_json` of each report is what `--format json` prints. Keys are only ever added.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from enrelm_cli.fold.folds import Chunk
from enrelm_cli.inputs.inspection.columns import ColumnCheck
from enrelm_cli.inputs.inspection.findings import Finding
from enrelm_cli.inputs.outcomes import Outcome
from enrelm_cli.judge.curve import Choices, Curve, ElmBand
from enrelm_cli.judge.metrics import Metrics
from enrelm_cli.report.class_reports import ClassFacts

if TYPE_CHECKING:  # predict reads reports, and does without scipy
    from enrelm_cli.judge.classes.sizes import ClassCurve


Json = dict[str, Any]


def metrics_json(metrics: Metrics | None) -> Json | None:
    return None if metrics is None else metrics.to_json()


@dataclass(frozen=True)
class DataFacts:
    """What was read."""

    name: str
    rows: int  # with a known target
    columns: int  # input columns in the file that were used
    inputs: tuple[str, ...]  # after encoding, constants left out
    target: str
    hash: str  # of the contents, whatever the order of the rows
    notes: tuple[str, ...] = ()

    def to_json(self) -> Json:
        return {
            "name": self.name,
            "rows": self.rows,
            "columns": self.columns,
            "inputs": list(self.inputs),
            "target": self.target,
            "hash": self.hash,
        }


@dataclass(frozen=True)
class Candidate:
    """One variant beside the others (`fit --variant auto`)."""

    variant: str
    neurons: int
    train_error: float
    validation_error: float
    seconds: float
    only_size: str | None = None  # what it consists of, where it has no sizes to choose from
    accuracy: float | None = None  # of classes, on the validation rows
    log_loss: float | None = None
    metrics: Metrics | None = None
    as_good: bool = False  # within a standard error of the best, or the best
    selection: str | None = None  # how the size was chosen

    def to_json(self) -> Json:
        return {**vars(self), "metrics": metrics_json(self.metrics)}


@dataclass(frozen=True)
class FitReport:
    data: DataFacts
    variant: str
    neurons: int  # of the model
    chosen_neurons: int  # of the network whose errors are reported; a refit to all rows may find more, or fewer
    selection: str  # best, knee, smallest, all, or given
    choices: Choices
    train_error: float
    validation_error: float
    linear_error: float  # of linear regression on the same validation rows
    training_rows: int
    validation_rows: int
    refit: bool
    candidates: tuple[Candidate, ...]
    stop: str | None
    facts: dict[str, float]  # alpha, steps, leave-one-out error, landmarks, kernel parameters
    relevance: tuple[tuple[str, float], ...]  # share of each column, largest first
    timings: dict[str, float]  # seconds of each phase
    model: str | None
    settings: Json
    notes: tuple[str, ...] = ()
    columns: tuple[Outcome, ...] = ()
    curve: Curve | None = None  # of the chosen variant; too long for the JSON
    classes: ClassFacts | None = None  # None where the target is a number
    metrics: Metrics | None = None  # of the validation rows
    linear_metrics: Metrics | None = None  # of linear regression on the same rows
    folds: int = 1  # that chose; 1: one validation split
    not_saved: str = "not saved: add -o model.joblib to keep it"
    sample: Chunk | None = field(default=None, compare=False, repr=False)  # raw rows, for the page
    intervals: Json = field(default_factory=dict)  # what prediction intervals follow, and how well they do
    warnings: tuple[str, ...] = ()  # why the validation error may not hold

    @property
    def target(self) -> str:
        return self.data.target

    def gated(self, metric: str) -> float:
        """What `--fail-above` bounds: in the metric's own unit."""
        relative = metric == "normalised-rmse" or self.metrics is None
        return self.validation_error if relative or self.metrics is None else self.metrics.value(metric)

    def gate_name(self, metric: str) -> str:
        return "validation error" if metric == "normalised-rmse" else f"validation {metric.upper()}"

    def to_json(self) -> Json:
        return {
            "variant": self.variant,
            "neurons": self.neurons,
            "chosen_neurons": self.chosen_neurons,
            "task": "regression" if self.classes is None else "classification",
            "classes": None if self.classes is None else self.classes.to_json(),
            "train_error": self.train_error,
            "validation_error": self.validation_error,
            "linear_error": self.linear_error,
            "selection": self.selection,
            "choices": self.choices.to_json(),
            "inputs": list(self.data.inputs),
            "columns": [column.to_json() for column in self.columns],
            "rows": self.data.rows,
            "training_rows": self.training_rows,
            "validation_rows": self.validation_rows,
            "refit": self.refit,
            "candidates": [candidate.to_json() for candidate in self.candidates],
            "stop": self.stop,
            "facts": self.facts,
            "relevance": [{"input": name, "share": share} for name, share in self.relevance],
            "timings": self.timings,
            "model": self.model,
            "data": self.data.to_json(),
            "settings": self.settings,
            "notes": [*self.data.notes, *self.notes],
            "intervals": self.intervals,
            "metrics": metrics_json(self.metrics),
            "linear_metrics": metrics_json(self.linear_metrics),
            "folds": self.folds,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class CurveReport:
    data: DataFacts
    curves: tuple[Curve, ...]
    elm: ElmBand | None
    linear_error: float
    training_rows: int
    validation_rows: int
    timings: dict[str, float]
    settings: Json
    notes: tuple[str, ...] = ()
    fit_command: str | None = None  # to type next, where the caller knows how the table was named
    chosen: str | None = None  # the variant that a fit takes of these
    metrics: Mapping[str, Metrics] = field(default_factory=dict)  # of each variant's chosen size, by its name
    linear_metrics: Metrics | None = None
    folds: int = 1
    warnings: tuple[str, ...] = ()
    classes: Mapping[str, ClassCurve] = field(default_factory=dict)  # of each variant, where the target has classes

    @property
    def target(self) -> str:
        return self.data.target

    @property
    def validation_error(self) -> float:
        return self.winner.taken.error

    @property
    def winner(self) -> Curve:
        """The curve of the variant that a fit takes."""
        best = min(self.curves, key=lambda curve: curve.choices.best.error)
        return next((curve for curve in self.curves if curve.variant == self.chosen), best)

    def to_json(self) -> Json:
        first = self.curves[0]
        return {
            **first.to_json(),
            "curves": [
                {
                    **curve.to_json(),
                    "metrics": metrics_json(self.metrics.get(curve.variant)),
                    "classes": None if curve.variant not in self.classes else self.classes[curve.variant].to_json(),
                }
                for curve in self.curves
            ],
            "task": "classification" if self.classes else "regression",
            "chosen_variant": self.winner.variant,
            "warnings": list(self.warnings),
            "metrics": metrics_json(self.metrics.get(self.winner.variant)),
            "linear_metrics": metrics_json(self.linear_metrics),
            "folds": self.folds,
            "elm": None if self.elm is None else self.elm.to_json(),
            "linear_error": self.linear_error,
            "rows": self.data.rows,
            "training_rows": self.training_rows,
            "validation_rows": self.validation_rows,
            "timings": self.timings,
            "data": self.data.to_json(),
            "settings": self.settings
            if self.fit_command is None
            else {**self.settings, "fit_command": self.fit_command},
            "fit_command": self.fit_command,
            "notes": [*self.data.notes, *self.notes],
        }


@dataclass(frozen=True)
class CompareRow:
    """One method over all splits."""

    method: str
    neurons: float | None  # mean over the splits; None where the method has no neurons
    error: float
    error_std: float | None  # over the splits, or over the ELM's realisations with one split; None with nothing to vary
    fit_seconds: float
    predict_seconds: float
    errors: tuple[float, ...] = ()  # one for each split
    classes: dict[str, float] | None = None  # figures of classes, whose error is the log-loss
    metrics: Metrics | None = None  # means over the splits
    as_good: bool = False  # within a standard error of the best, paired over the splits; or the best

    def to_json(self) -> Json:
        return {**vars(self), "errors": list(self.errors), "metrics": metrics_json(self.metrics)}


@dataclass(frozen=True)
class CompareReport:
    data: DataFacts
    protocol: str  # "test" or "paper"
    rows: tuple[CompareRow, ...]  # by error, smallest first
    repeats: int
    seeds: tuple[int, ...]
    curves: tuple[Curve, ...]  # of the first split, for plots
    elm: ElmBand | None
    sizes: dict[str, int]  # training, validation and test rows of the first split
    timings: dict[str, float]
    settings: Json
    notes: tuple[str, ...] = ()
    threads: int | None = None  # that shared the work; None on a cluster
    task: str = "regression"  # of classification the errors are log-losses
    ours: str | None = None  # what `fit_command` fits
    fit_command: str | None = None  # to type next, where the caller knows how the table was named
    time: str | None = None  # the column along which the splits are cuts
    recommended: str | None = None  # the simplest of the methods that are as good as the best
    warnings: tuple[str, ...] = ()

    @property
    def ties(self) -> tuple[str, ...]:
        """Methods within a standard error of the best, the best first."""
        return tuple(row.method for row in self.rows if row.as_good)

    def own(self, names: Collection[str]) -> str | None:
        """The method of these that is recommended: itself, the simplest that ties, or the best of them."""
        if self.recommended in names:
            return self.recommended
        tied = [row.method for row in self.rows if row.as_good and row.method in names]
        return next(iter(tied), next((row.method for row in self.rows if row.method in names), None))

    def to_json(self) -> Json:
        best = self.rows[0].error
        return {
            "protocol": self.protocol,
            "task": self.task,
            "rows": [{**row.to_json(), "ratio": row.error / best if best else None} for row in self.rows],
            "repeats": self.repeats,
            "seeds": list(self.seeds),
            "ties": list(self.ties),
            "recommended": self.recommended,
            "warnings": list(self.warnings),
            "sizes": self.sizes,
            "timings": self.timings,
            "data": self.data.to_json(),
            "settings": {**self.settings, "threads": self.threads},
            "threads": self.threads,
            "fit_command": self.fit_command,
            "notes": [*self.data.notes, *self.notes],
        }


@dataclass(frozen=True)
class InfoReport:
    """What a saved model is."""

    path: str
    variant: str
    neurons: int
    target: str
    inputs: tuple[str, ...]
    columns: tuple[Outcome, ...]
    train_error: float
    validation_error: float
    linear_error: float
    facts: dict[str, float]
    relevance: tuple[tuple[str, float], ...]
    settings: Json
    versions: dict[str, str]
    data: Json  # rows, hash; name only of models of version 0.1
    written: str  # when
    bytes: int
    stop: str | None = None
    notes: tuple[str, ...] = field(default=())
    intervals: Json = field(default_factory=dict)
    classes: Json | None = None  # as a fit reports them; None where the target is a number
    chosen_neurons: int | None = None  # of the network whose errors are given
    selection: str | None = None  # how the size was chosen
    metrics: Metrics | None = None  # of the rows that chose
    linear_metrics: Metrics | None = None
    folds: int = 1
    warnings: tuple[str, ...] = ()
    kept_bytes: int | None = None  # of the sums that new rows can be added to; None: it keeps none
    history: tuple[Json, ...] = ()  # what was done to its rows

    def to_json(self) -> Json:
        document = dict(vars(self))
        document["task"] = "regression" if self.classes is None else "classification"
        document["metrics"], document["linear_metrics"] = map(metrics_json, (self.metrics, self.linear_metrics))
        document["warnings"] = list(self.warnings)
        document["history"] = list(self.history)
        document["inputs"] = list(self.inputs)
        document["columns"] = [column.to_json() for column in self.columns]
        document["relevance"] = [{"input": name, "share": share} for name, share in self.relevance]
        document["notes"] = list(self.notes)
        return document


@dataclass(frozen=True)
class CheckReport:
    """What a table is like, before any fit."""

    name: str
    rows: int | None  # with a known target; None where nothing can be read
    target: str | None
    columns: tuple[ColumnCheck, ...]  # the target first
    findings: tuple[Finding, ...]  # errors first
    hash: str
    settings: Json
    next_command: str | None = None  # to type next, where the caller knows how the table was named
    targets: tuple[str, ...] = ()  # where there are several

    @property
    def fits(self) -> bool:
        """A fit would not stop at the table."""
        return not self.of_level("error")

    def of_level(self, level: str) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.level == level)

    def to_json(self) -> Json:
        return {
            "name": self.name,
            "rows": self.rows,
            "target": self.target,
            "targets": list(self.targets) or ([] if self.target is None else [self.target]),
            "fits": self.fits,
            "findings": [finding.to_json() for finding in self.findings],
            "columns": [column.to_json() for column in self.columns],
            "hash": self.hash,
            "settings": self.settings,
            "next_command": self.next_command,
        }
