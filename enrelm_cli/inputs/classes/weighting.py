"""Weights of classes (`--class-weight`): how much a row of each counts, on top of its own weight.

    balanced: w_c = T / (C T_c),   CLASS=W: w_c = W, 1 for the others;   both scaled so that sum_c T_c w_c = T.

T_c rows of the table have class c. Only ratios matter: all rows together count for as many as there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.inputs.survey.cells import level_of
from enrelm_cli.names import close_names
from enrelm_cli.types import Array

BALANCED = "balanced"
_FLAG = "--class-weight"


def class_weights(said: Sequence[str], classes: Column | None, counts: Mapping[str, int]) -> tuple[float, ...] | None:
    """(C,) in the order of the levels; None where nothing was said."""
    if not said:
        return None
    if classes is None:
        raise UsageError(
            f"{_FLAG} is for classes, and the target is a number",
            "leave it out, or add --task classification where its numbers stand for classes",
        )
    levels = classes.levels or ()
    rows = np.array([counts[level] for level in levels], dtype=float)
    if BALANCED in said:
        if len(said) > 1:
            raise UsageError(
                f"{_FLAG} {BALANCED} weighs all classes", f"type {_FLAG} {BALANCED} alone, or CLASS=WEIGHT"
            )
        weights = 1.0 / rows
    else:
        weights = _named(said, classes)
    return tuple(float(one) for one in weights * (rows.sum() / (rows @ weights)))


def _named(said: Sequence[str], classes: Column) -> Array:
    """(C,) as typed: CLASS=WEIGHT for each, 1 for those that are not named."""
    levels = classes.levels or ()
    weights, seen = np.ones(len(levels)), set()
    for text in said:
        name, sign, number = text.rpartition("=")
        level = level_of(name, classes.kind)
        if not sign:
            raise UsageError(f"{_FLAG} {text!r} is not CLASS=WEIGHT", f"type {_FLAG} {BALANCED} or CLASS=3")
        if level not in levels:
            problem = f"{_FLAG} {text!r}: the target has no class {name!r}"
            raise DataError(problem, close_names(name, levels, "classes"))
        if level in seen:
            raise UsageError(f"{_FLAG} weighs the class {name!r} twice", "type it once")
        seen.add(level)
        weights[levels.index(level)] = _weight(text, number)
    return weights


def _weight(text: str, number: str) -> float:
    try:
        weight = float(number)
    except ValueError:
        weight = np.nan
    if not (np.isfinite(weight) and weight > 0.0):
        raise UsageError(
            f"{_FLAG} {text!r}: a class weight must be above 0", "to ignore a class, leave its rows out of the table"
        )
    return weight


def weights_note(weights: Sequence[float], classes: Sequence[str]) -> str:
    """What a row of each class counts for."""
    each = [f"{name!r} {weight:.4g}" for name, weight in zip(classes, weights, strict=True)]
    shown = ", ".join(each[:5]) + (f" and {len(each) - 5:,} more" if len(each) > 5 else "")
    return f"a row counts by its class: {shown}"
