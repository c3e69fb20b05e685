"""The facts of a run that are of classes, beside those of every run (reports.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from enrelm_cli.judge.classes.metrics import Metrics, confusion_of


@dataclass(frozen=True)
class ClassFacts:
    """The classes of a target, and how well a model tells them apart."""

    classes: tuple[str, ...]
    counts: tuple[int, ...]  # rows of each
    probabilities: str  # how they are made: temperature, or logistic
    left_out_log_loss: float  # of the rows that chose how
    validation: Metrics

    def to_json(self) -> dict[str, Any]:
        return {
            "classes": list(self.classes),
            "counts": list(self.counts),
            "probabilities": self.probabilities,
            "left_out_log_loss": self.left_out_log_loss,
            "validation": self.validation.to_json(),
        }


def class_facts_of(document: Mapping[str, Any]) -> ClassFacts:
    """What `to_json` gave, as a model file holds it."""
    judged = dict(document["validation"])
    judged["confusion"] = confusion_of(judged, len(document["classes"]))
    judged.pop("confusion_cells", None)  # models of before have none
    judged["reliability"] = tuple((one["probability"], one["share"], one["weight"]) for one in judged["reliability"])
    # Models of before have none.
    judged["roc"] = tuple((one["false"], one["true"]) for one in judged.get("roc", ()))
    kept = {**document, "classes": tuple(document["classes"]), "counts": tuple(document["counts"])}
    return ClassFacts(**{**kept, "validation": Metrics(**judged)})
