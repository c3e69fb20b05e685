"""Contributions as columns of a file of predictions: `average`, then every effect or the largest of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.model.explanation.contributions import contributions, used_columns
from enrelm_cli.model.explanation.reference import Reference
from enrelm_cli.model.model import Model
from enrelm_cli.types import Array


@dataclass(frozen=True)
class ExplainedRows:
    """Predictions and their parts; `top` limits each row to its largest."""

    model: Model
    reference: Reference
    top: int | None = None

    @staticmethod
    def of(model: Model, top: int | None = None) -> ExplainedRows:
        if model.classes is not None:
            raise UsageError(
                f"--explain is for numbers so far; this model predicts classes of {model.encoding.target!r}",
                "leave it out; `enrelm info` has the shares of the columns",
            )
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
