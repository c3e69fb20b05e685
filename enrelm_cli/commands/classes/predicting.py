"""predict, of a model that tells classes apart: labels, probabilities, and sets that hold a class as often as asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import Engine, Sums
from enrelm_cli.inputs.encoding import Unseen
from enrelm_cli.inputs.predicting import open_for_predict
from enrelm_cli.judge.classes.metrics import Metrics, class_sums, metrics
from enrelm_cli.model.classes import labels, sets
from enrelm_cli.model.explanation.columns import ExplainedClasses
from enrelm_cli.model.model import Model
from enrelm_cli.report.beside import PredictReport
from enrelm_cli.table.memory import ArrowSource
from enrelm_cli.table.output.writer import Added, Writer
from enrelm_cli.table.table import Batch, ReadOptions
from enrelm_cli.types import Array

# Between the classes of a set.
SEPARATOR = "|"


@dataclass(frozen=True)
class ClassesWanted:
    """What is to be written of classes."""

    probabilities: bool = False
    threshold: float | None = None  # of two classes
    set_level: float | None = None

    def width(self, model: Model) -> float | None:
        """Of sets, where some are wanted."""
        return None if self.set_level is None or model.calibration is None else model.calibration.width(self.set_level)

    @property
    def anything(self) -> bool:
        return self != ClassesWanted()


def refuse_other_task(model: Model, bands: bool, wanted: ClassesWanted) -> None:
    """Options of classes need a model of classes, and an interval one of numbers."""
    classes, target = model.classes, model.encoding.target
    if classes is None and wanted.anything:
        raise UsageError(
            f"--probabilities, --threshold and --set are for classes, and this model predicts the number '{target}'",
            "leave them out; --interval 0.9 gives bounds of a number",
        )
    if classes is not None and bands:
        raise UsageError(f"--interval and --quantile are for numbers, and '{target}' has classes", "use --set 0.9")
    if classes is not None and wanted.threshold is not None and len(classes) != 2:
        raise UsageError(
            f"--threshold is for two classes, and '{target}' has {len(classes):,}", "use --probabilities instead"
        )


def class_columns(model: Model, wanted: ClassesWanted, explained: ExplainedClasses | None = None) -> tuple[Added, ...]:
    added = [Added("prediction", is_text=True)]
    if wanted.set_level is not None:
        added.append(Added("set", is_text=True))
    if wanted.probabilities:
        added += [Added(f"p_{name}") for name in model.classes or ()]
    if explained is not None:
        added += [Added(name, is_text) for name, is_text in zip(explained.names, explained.are_texts, strict=True)]
    return tuple(added)


@dataclass(frozen=True)
class BatchProbabilities:
    """Of a batch, as they are."""

    model: Model

    def __call__(self, batch: Batch) -> Array:
        return self.model.probabilities(self.model.encoding.for_predict(batch)[0])


def table_probabilities(model: Model, table: ArrowSource, engine: Engine) -> Array:
    """(t, C) of a table in memory, read as the model's was."""
    model.network.require()
    opened = open_for_predict((table,), ReadOptions(), model.encoding)
    parts = list(engine.map(opened, BatchProbabilities(model), "predicting"))
    return np.concatenate(parts) if parts else np.zeros((0, len(model.classes or ())))


@dataclass(frozen=True)
class PredictClasses:
    """The written rows of a batch, and what they add to the report."""

    model: Model
    writer: Writer
    wanted: ClassesWanted
    width: float | None  # of a set: the probability that a class may be short of 1
    limit: int  # bytes of a block of rows
    explained: ExplainedClasses | None = None

    def __call__(self, batch: Batch) -> tuple[Any, Sums, Unseen]:
        X, y, unseen = self.model.encoding.for_predict(batch)
        p = self.model.probabilities(X, self.limit)
        inside = None if self.width is None else sets(p, self.width)
        own = self.model.encoding.weights(batch)
        weight = self.model.encoding.weighed(y, own)
        known = np.isfinite(y) if weight is None else np.isfinite(y) & (weight > 0.0) & np.isfinite(weight)
        codes = np.where(known, y, -1.0).astype(np.int64)
        w = np.ones(len(y)) if weight is None else weight
        covered = np.zeros(len(y), bool) if inside is None else inside[np.arange(len(p)), codes] & (codes >= 0)
        sums = class_sums(p[known], codes[known], w[known], self.wanted.threshold)
        counted = {
            "rows": len(y),
            "known": int(known.sum()),
            "unknown": int(np.count_nonzero(codes[known] < 0)),
            # Sets promise something of rows as they come, whatever their classes count for.
            "inside": float((np.ones(len(y)) if own is None else own)[known] @ covered[known]),
            "weight": float(known.sum() if own is None else own[known].sum()),
        }
        names = {f"judged {name}": value for name, value in sums.values.items()}
        parts = [] if self.explained is None else self.explained(X, labels(p, self.wanted.threshold))
        return self.writer.part([*self._values(p, inside), *parts], batch), Sums({**counted, **names}), unseen

    def _values(self, p: Any, inside: Any) -> list[Any]:
        """The values of each column of `class_columns`, in the same order."""
        names = np.array(self.model.classes, dtype=object)
        values: list[Any] = [names[labels(p, self.wanted.threshold)]]
        if inside is not None:
            values.append(np.array([SEPARATOR.join(names[row]) for row in inside], dtype=object))
        return [*values, *p.T] if self.wanted.probabilities else values


def class_report(
    model: Model, wanted: ClassesWanted, rows: int, sums: Sums | None, notes: tuple[str, ...], timings: dict[str, float]
) -> PredictReport:
    """What is said of the predictions."""
    judged = None if sums is None else _errors(sums)
    covered = None
    if sums is not None and judged is not None and wanted.set_level is not None:
        covered = float(sums["inside"] / sums["weight"])
    return PredictReport(
        rows=rows,
        errors=None,
        notes=(*notes, *([] if sums is None else _unknown_note(sums))),
        timings=timings,
        sets=wanted.set_level,
        covered=covered,
        metrics=judged,
        classes=model.classes,
    )


def _errors(sums: Sums) -> Metrics | None:
    """Of the rows whose class is in the table; None where there are none."""
    own = {name.removeprefix("judged "): value for name, value in sums.values.items() if name.startswith("judged ")}
    return metrics(Sums(own))


def _unknown_note(sums: Sums) -> tuple[str, ...]:
    unknown = int(sums.values.get("unknown", 0))
    if not unknown:
        return ()
    return (
        f"{unknown:,} {'row has a class' if unknown == 1 else 'rows have classes'} unseen at fit: counted as wrong",
    )
