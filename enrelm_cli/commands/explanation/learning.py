"""What a model has learnt, from an even sample of rows: effects of columns and the pairs that act together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enrelm_cli.commands.explanation.subjects import Subject, subjects_of
from enrelm_cli.fold.folds import one_blas_thread
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.judge.curve import Curve
from enrelm_cli.judge.explanation.effects import Moved, Posterior, effect_of
from enrelm_cli.judge.explanation.gather import interval_ends
from enrelm_cli.judge.explanation.pairs import pairs
from enrelm_cli.model.explanation.learnt import Learnt, LearntEffect, thinned
from enrelm_cli.model.model import Model
from enrelm_cli.types import Array

# Columns below this share of the prediction's variance are not drawn unless they are asked for.
_MATTERS = 0.005
TOP = 12  # columns at most
ROWS = 1000
_PAIRED = 8  # columns whose pairs are looked at
_SHOWN_PAIRS = 10
_PAIR = 0.001  # share of the prediction's variance below which a pair says nothing
# Multiplications that a fit may spend on what its page shows, and rows that it then looks at.
_WORK, _KEPT_ROWS = 2e10, (100, ROWS)


@one_blas_thread
def learn(
    model: Model, X: Array, subjects: Sequence[Subject], columns: Sequence[int], partial_dependence: bool = False
) -> Learnt:
    """Of raw rows (t, columns) in the order of a hash."""
    moved = [Moved(one.model, Posterior.of(one.model, X)) for one in subjects]
    effects = []
    for column in columns:
        for one, moving in zip(subjects, moved, strict=True):
            found = effect_of(moving, X, column, partial_dependence)
            if found is not None:
                points = np.column_stack([found.values, found.effect, found.band, found.rows.astype(float)])
                effects.append(LearntEffect(column, one.place, points, found.missing))

    def predicted(rows: Array) -> Array:
        return np.column_stack([one.model.predict(rows) for one in subjects])

    strong = [one for one in pairs(predicted, X, columns[:_PAIRED]) if one.share >= _PAIR][:_SHOWN_PAIRS]
    return Learnt(
        rows=len(X),
        scores=tuple(one.place for one in subjects),
        averages=predicted(X).mean(axis=0),
        posterior=moved[0].posterior is not None,
        effects=tuple(effects),
        pairs=np.array([(one.first, one.second, one.strength, one.share) for one in strong]).reshape(-1, 4),
    )


_LARGEST = 1e140  # of a target whose effects are computed: sums of squares of many


def columns_that_matter(model: Model, named: Sequence[str] = (), top: int = TOP) -> list[int]:
    """Places of the columns to look at, the most relevant first."""
    places = {column.name: k for k, column in enumerate(model.encoding.columns)}
    if named:
        return [places[name] for name in dict.fromkeys(named)]
    ranked = [(name, share) for name, share in model.card.relevance if name in places]
    matters = [name for name, share in ranked if share >= _MATTERS] or [name for name, _ in ranked[:1]]
    return [places[name] for name in matters[:top]]


def kept(model: Model, X: Array, curve: Curve | None) -> Learnt | None:
    """What a model file keeps: the same of as many rows as the work allows, the curve, and widths of intervals.

    None where the squares of targets are beyond the largest number.
    """
    scale = model.target_scale
    if isinstance(scale, TargetScale) and max(abs(scale.mean), scale.scale) > _LARGEST:
        return None
    subjects, columns = subjects_of(model), columns_that_matter(model)
    width = max(model.network.kernel_values, model.network.size, 1) * max(model.input_map.d, 1)
    moves = sum(_moves(model, column) for column in columns) + len(columns) ** 2 / 2.0
    rows = int(np.clip(_WORK / (2.0 * width * max(moves, 1.0) * len(subjects)), *_KEPT_ROWS))
    found = learn(model, X[:rows], subjects, columns)
    whole = curve is not None and curve.only_size is None
    errors = thinned(curve.train, curve.validation) if curve is not None and whole else found.curve
    return Learnt(**{**vars(found), "curve": errors, "widths": _widths(model, X[:rows])})


def _moves(model: Model, column: int) -> float:
    """How often each row is predicted for the effect of a column."""
    levels = model.encoding.columns[column].levels
    return 2.0 if levels is None else float(min(len(levels), 20))


def _widths(model: Model, X: Array) -> Array:
    ends = interval_ends(model)
    if not ends:
        return np.zeros((0, 2))
    places = model.predict_with(X, np.array(list(ends.values())).ravel())
    return np.column_stack([list(ends), (places[:, 2::2] - places[:, 1::2]).mean(axis=0)])
