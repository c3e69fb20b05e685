"""What a model file says of itself: a type of its own, so that a new key of a report changes no byte of a model."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any

from enrelm_cli.inputs.checks import must

_METRICS = ("normalised_rmse", "rmse", "mae", "r2", "rows", "standard_errors")


@dataclass(frozen=True)
class ModelCard:
    """What `info` shows and `predict` quotes. No clock and no timing: the same command gives the same bytes."""

    variant: str
    neurons: int
    chosen_neurons: int  # of the network whose errors are given
    train_error: float
    validation_error: float
    linear_error: float  # of linear regression on the same validation rows
    selection: str  # how the size was chosen
    choices: dict[str, Any]  # what the curve offered
    training_rows: int
    validation_rows: int
    refit: bool
    stop: str | None
    facts: dict[str, float]
    relevance: tuple[tuple[str, float], ...]  # share of each column, largest first
    data: dict[str, Any]  # rows, columns, inputs, target, hash: what the table holds, not where it lay
    settings: dict[str, Any]
    notes: tuple[str, ...]
    versions: dict[str, str]
    classes: dict[str, Any] | None = None  # names, rows and figures of classes; None: the target is a number
    metrics: dict[str, Any] | None = None  # of the rows that chose (judge/metrics.py); None in files of version 0.1
    linear_metrics: dict[str, Any] | None = None  # of linear regression on the same rows
    folds: int = 1  # that chose; 1: one validation split
    warnings: tuple[str, ...] = ()  # why the errors are not to be trusted

    def to_document(self) -> dict[str, Any]:
        document = {field.name: getattr(self, field.name) for field in fields(self)}
        document["relevance"] = [{"input": name, "share": share} for name, share in self.relevance]
        document["notes"] = list(self.notes)
        document["warnings"] = list(self.warnings)
        if self.classes is None:
            del document["classes"]
        return document

    @staticmethod
    def from_document(document: Any) -> ModelCard:
        """ValueError or KeyError unless it could have been written here; keys of a later version are passed over."""
        _check(document)
        # Only models of classes have those, and files of version 0.1 lack all that has a default.
        kept = [one for one in fields(ModelCard) if one.default is MISSING or one.name in document]
        values = {one.name: document[one.name] for one in kept}
        values["relevance"] = tuple((entry["input"], entry["share"]) for entry in document["relevance"])
        values["notes"] = tuple(document["notes"])
        values["warnings"] = tuple(document.get("warnings", ()))
        return ModelCard(**values)


def _are_metrics(document: Any) -> bool:
    """Numbers by name, and their standard errors; what could not be computed is None."""
    if type(document) is not dict or not set(_METRICS) <= set(document):
        return False
    spreads = document["standard_errors"]
    if type(spreads) is not dict or type(document["rows"]) is not int:
        return False
    numbers = [*(document[name] for name in _METRICS if name != "standard_errors"), *spreads.values()]
    return all(value is None or type(value) in (int, float) for value in numbers)


def _check(document: Any) -> None:
    must(type(document) is dict, "'about' is not a dictionary")
    must(type(document["variant"]) is str, "'variant' is not text")
    for name in ("train_error", "validation_error", "linear_error"):
        must(document[name] is None or type(document[name]) in (int, float), f"'{name}' is not a number")
    for name in ("settings", "versions", "data", "facts"):
        must(type(document[name]) is dict, f"'{name}' is not a dictionary")
    must(all(type(value) in (int, float) for value in document["facts"].values()), "'facts' are not numbers")
    must(document.get("classes") is None or type(document["classes"]) is dict, "'classes' is not a dictionary")
    must(document["stop"] is None or type(document["stop"]) is str, "'stop' is not text")
    for name in ("metrics", "linear_metrics"):
        must(document.get(name) is None or _are_metrics(document[name]), f"'{name}' are not metrics")
    must(type(document.get("folds", 1)) is int and document.get("folds", 1) >= 1, "'folds' is not a count")
    relevance = document["relevance"]
    for name in ("notes", "warnings"):
        texts = document.get(name, [])
        must(type(texts) is list and all(type(text) is str for text in texts), f"'{name}' are not texts")
    must(type(relevance) is list, "'relevance' is not a list")
    for entry in relevance:
        must(type(entry["input"]) is str and type(entry["share"]) in (int, float), "'relevance' lists no shares")
