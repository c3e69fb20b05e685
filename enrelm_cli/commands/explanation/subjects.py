"""What is explained: the target, or the scores of some of its classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.model.explanation.scores import score_model, score_name
from enrelm_cli.model.model import Model
from enrelm_cli.names import close_names

# Of more classes, the most frequent ones are explained unless some are named.
MOST_CLASSES = 6


@dataclass(frozen=True)
class Subject:
    """One number that a model says of a row."""

    place: int  # of the class; 0 where the target is a number
    of: str | None  # the class
    name: str  # what effects are on
    model: Model  # that predicts it


def subjects_of(model: Model, named: Sequence[str] = ()) -> tuple[Subject, ...]:
    """The target; of two classes the second; of more each, or the most frequent; or the classes that are named."""
    if model.classes is None:
        if named:
            raise UsageError(
                f"--of-class is for classes, and this model predicts the number {model.encoding.target!r}",
                "leave it out",
            )
        return (subject(model, 0),)
    for name in named:
        if name not in model.classes:
            problem = f"{model.encoding.target!r} has no class {name!r} (--of-class)"
            raise UsageError(problem, close_names(name, model.classes, "classes"))
    if named:
        return tuple(subject(model, model.classes.index(name)) for name in dict.fromkeys(named))
    if len(model.classes) == 2:
        return (subject(model, 1),)
    scale = model.target_scale
    assert isinstance(scale, ClassScale)
    frequent = np.argsort(-scale.counts, kind="stable")[:MOST_CLASSES]
    return tuple(subject(model, int(place)) for place in np.sort(frequent))


def subject(model: Model, place: int) -> Subject:
    if model.classes is None:
        return Subject(0, None, model.encoding.target, model)
    return Subject(place, model.classes[place], score_name(model, place), score_model(model, place))
