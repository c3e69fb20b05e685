"""Contributions as columns of a file of predictions: the average, then every effect or the largest of each row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.inputs.classes.scale import Codes
from enrelm_cli.model.explanation.contributions import contributions, used_columns
from enrelm_cli.model.explanation.reference import Reference
from enrelm_cli.model.explanation.scores import MOST, places, score_model
from enrelm_cli.model.model import Model
from enrelm_cli.types import Array


@dataclass(frozen=True)
class ExplainedRows:
    """Predictions of a number and their parts; `top` limits each row to its largest."""

    model: Model
    reference: Reference
    top: int | None = None

    @staticmethod
    def of(model: Model, top: int | None = None) -> ExplainedRows:
        if model.reference is None:
            raise UsageError(
                "this model was fitted by a version that could not explain predictions", "fit it again, then --explain"
            )
        return ExplainedRows(model, model.reference, top if top is None else min(top, len(used_columns(model))))

    @property
    def names(self) -> tuple[str, ...]:
        if self.top is None:
            return ("average", *(f"effect_{self.model.encoding.columns[k].name}" for k in used_columns(self.model)))
        pairs = (name for place in range(1, self.top + 1) for name in (f"column_{place}", f"effect_{place}"))
        return ("average", *pairs, "effect_rest")

    @property
    def are_texts(self) -> tuple[bool, ...]:
        """Which of them are names of columns."""
        return tuple(self.top is not None and name.startswith("column_") for name in self.names)

    def __call__(self, X: Array) -> tuple[Array, list[Any]]:
        """(t, columns) raw rows -> predictions (t,) and the columns that `names` names, (t,) each."""
        y, effects, whole = contributions(self.model, X, self.reference)
        used = used_columns(self.model)
        effects, average = effects[:, used], np.full(len(y), whole)
        if self.top is None:
            return y, [average, *effects.T]
        # Stable: of equal effects the first column's comes first.
        order = np.argsort(-np.abs(effects), axis=1, kind="stable")
        names = np.array([self.model.encoding.columns[k].name for k in used], dtype=object)
        sorted_effects = np.take_along_axis(effects, order, axis=1)
        columns: list[Any] = [average]
        for place in range(self.top):
            columns += [names[order[:, place]], sorted_effects[:, place]]
        return y, [*columns, sorted_effects[:, self.top :].sum(axis=1)]


@dataclass(frozen=True)
class ExplainedClasses:
    """Scores of classes and their parts: the log-odds of two, the score of each of more.

    With `top` and more than two classes: the score of the class that is predicted, and its largest parts.
    """

    model: Model
    top: int | None = None

    @staticmethod
    def of(model: Model, top: int | None = None) -> ExplainedClasses:
        if len(model.classes or ()) > MOST:
            raise UsageError(
                f"--explain is for up to {MOST} classes; {model.encoding.target!r} has {len(model.classes or ()):,}",
                "leave it out, or see one class with `enrelm explain MODEL DATA --of-class NAME`",
            )
        parts = ExplainedRows.of(model, top)  # refuses a model without a reference
        return ExplainedClasses(model, parts.top)

    @cached_property
    def parts(self) -> tuple[ExplainedRows, ...]:
        """Of each score."""
        return tuple(ExplainedRows.of(score_model(self.model, place), self.top) for place in places(self.model))

    def __getstate__(self) -> dict[str, Any]:
        """The parts share their landmarks with the model: sent once, not for each class."""
        return {"model": self.model, "top": self.top}

    @property
    def one_by_one(self) -> bool:
        """Columns for each class."""
        return len(self.parts) > 1 and self.top is None

    @property
    def names(self) -> tuple[str, ...]:
        if not self.one_by_one:
            return ("log_odds" if len(self.parts) == 1 else "score", *self.parts[0].names)
        used = [self.model.encoding.columns[k].name for k in used_columns(self.model)]
        return tuple(
            name
            for one in self.model.classes or ()
            for name in (f"score_{one}", f"average_{one}", *(f"effect_{one}_{column}" for column in used))
        )

    @property
    def are_texts(self) -> tuple[bool, ...]:
        if self.one_by_one:
            return (False,) * len(self.names)
        return (False, *self.parts[0].are_texts)

    def __call__(self, X: Array, labels: Codes) -> list[Any]:
        """(t, columns) raw rows and their predicted classes -> the columns that `names` names, (t,) each."""
        if len(self.parts) == 1:
            score, columns = self.parts[0](X)
            return [score, *columns]
        if self.one_by_one:
            return [column for part in self.parts for score, columns in [part(X)] for column in (score, *columns)]
        return self._of_predicted(X, labels)

    def _of_predicted(self, X: Array, labels: Codes) -> list[Any]:
        found: list[Any] = [np.empty(len(X), dtype=object if is_text else float) for is_text in self.are_texts]
        for place, part in enumerate(self.parts):
            rows = np.flatnonzero(labels == place)
            if not len(rows):
                continue
            score, columns = part(X[rows])
            for whole, values in zip(found, (score, *columns), strict=True):
                whole[rows] = values
        return found
