"""Scores of classes as models of numbers: what explains a number then explains a class.

    two classes:    log p_1 - log p_0, the log-odds of the second
    more:           log p_c - mean over classes of log p, the score of class c

Both are linear in the network's z (model/classes.py), so contributions to them add up, and they say the probabilities:
p_1 = 1 / (1 + exp(-log-odds)), p = softmax(scores).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.model.intervals import Intervals
from enrelm_cli.model.model import Model
from enrelm_cli.types import Array

# More classes than this have no contributions of their own: a file of predictions would have thousands of columns.
MOST = 20


def places(model: Model) -> tuple[int, ...]:
    """The classes that have a score: of two the second, else each."""
    count = len(model.classes or ())
    return (1,) if count == 2 else tuple(range(count))


def score_name(model: Model, place: int) -> str:
    """As people call it."""
    classes = model.classes or ()
    return f"{'log-odds' if len(classes) == 2 else 'score'} of {classes[place]}"


def score_model(model: Model, place: int) -> Model:
    """The model of one class's score."""
    scale, calibration, classes = model.target_scale, model.calibration, len(model.classes or ())
    assert isinstance(scale, ClassScale)
    assert calibration is not None
    two = classes == 2
    others = scale.log_shares[1 - place : 2 - place] if two else scale.log_shares
    turned = scale.V[place] - scale.V[1 - place] if two else scale.V[place]
    size = float(np.linalg.norm(turned))
    prior = calibration.prior * float(scale.log_shares[place] - others.mean())
    network = replace(model.network.along(turned / size), facts=_facts(model, scale, place))
    own = TargetScale(prior, calibration.slope * scale.spread * size)
    reference = None if model.reference is None or place not in places(model) else model.reference
    reference = reference if two or reference is None else reference.of(place)
    encoding = replace(model.encoding, classes=None)
    return replace(
        model,
        encoding=encoding,
        target_scale=own,
        network=network,
        calibration=None,
        reference=reference,
        intervals=Intervals(),
    )


def scores(model: Model, X: Array) -> Array:
    """(t, columns) raw rows -> (t, k), those of `places`."""
    return np.column_stack([score_model(model, place).predict(X) for place in places(model)])


def _facts(model: Model, scale: ClassScale, place: int) -> dict[str, float] | None:
    """With the left-out error of this class alone: the same share of its variance as of all classes together."""
    facts = model.network.facts
    if facts is None or "leave_one_out_error" not in facts or model.network.logits:
        return None
    share, C = float(scale.shares[place]), scale.classes
    part = np.sqrt(share * (1.0 - share) / (1.0 - 1.0 / C)) / scale.spread
    return {**facts, "leave_one_out_error": facts["leave_one_out_error"] * float(part)}
