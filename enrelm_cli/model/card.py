"""What a model file says of itself: a type of its own, so that a new key of a report changes no byte of a model."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from enrelm_cli.inputs.checks import must


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

    def to_document(self) -> dict[str, Any]:
        document = {field.name: getattr(self, field.name) for field in fields(self)}
        document["relevance"] = [{"input": name, "share": share} for name, share in self.relevance]
        document["notes"] = list(self.notes)
        if self.classes is None:
            del document["classes"]
        return document

    @staticmethod
    def from_document(document: Any) -> ModelCard:
        """ValueError or KeyError unless it could have been written here; keys of a later version are passed over."""
        _check(document)
        # Only models of classes have them.
        document = {"classes": None, **document}
        values = {field.name: document[field.name] for field in fields(ModelCard)}
        values["relevance"] = tuple((entry["input"], entry["share"]) for entry in document["relevance"])
        values["notes"] = tuple(document["notes"])
        return ModelCard(**values)


def _check(document: Any) -> None:
    must(type(document) is dict, "'about' is no dictionary")
    must(type(document["variant"]) is str, "'variant' is no text")
    for name in ("train_error", "validation_error", "linear_error"):
        must(document[name] is None or type(document[name]) in (int, float), f"'{name}' is no number")
    for name in ("settings", "versions", "data", "facts"):
        must(type(document[name]) is dict, f"'{name}' is no dictionary")
    must(all(type(value) in (int, float) for value in document["facts"].values()), "'facts' are no numbers")
    must(document.get("classes") is None or type(document["classes"]) is dict, "'classes' is no dictionary")
    must(document["stop"] is None or type(document["stop"]) is str, "'stop' is no text")
    notes, relevance = document["notes"], document["relevance"]
    must(type(notes) is list and all(type(note) is str for note in notes), "'notes' are no texts")
    must(type(relevance) is list, "'relevance' is no list")
    for entry in relevance:
        must(type(entry["input"]) is str and type(entry["share"]) in (int, float), "'relevance' is no list of shares")
