"""What X looked like at fit, and the short way from plain numbers to predictions."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm._tables import Columns, array_names
from enrelm_cli.inputs.encoding import Encoding
from enrelm_cli.table.kinds import Kind
from enrelm_cli.types import Array

# Larger ones are cut into batches that threads share.
_FEW_ROWS = 4096
_SHOWN = 5


@dataclass(frozen=True)
class Inputs:
    """The columns of X at fit."""

    names: tuple[str, ...]  # in the order of X; sorted where a file was loaded
    named: bool  # X brought the names
    any_order: bool  # a model file knows columns by their names, not by their places
    places: NDArray[np.int64] | None  # (columns,) where a numeric model's columns stand in X; None: it has others
    in_order: bool  # the places are 0, 1, 2 ...
    holes: bool  # cells may be missing

    def plain_rows(self, X: Any) -> Array | None:
        """The raw rows of X where it is an array, or a pandas frame, of numbers alone: no table need be made."""
        if self.places is None:
            return None
        if type(X) is not np.ndarray:
            X = self._frame_values(X)
            if X is None:
                return None
        elif self.named:
            return None
        if X.ndim != 2 or X.shape[1] != len(self.names) or X.dtype.kind not in "fiu" or len(X) > _FEW_ROWS:
            return None
        rows: Array = X if self.in_order else X[:, self.places]
        if rows.dtype != np.float64:
            rows = rows.astype(np.float64)
        # A sum is finite only if every number is.
        return rows if np.isfinite(rows.sum()) or self._sound(rows) else None

    def _sound(self, rows: Array) -> bool:
        return not np.isinf(rows).any() and (self.holes or not np.isnan(rows).any())

    def _frame_values(self, X: Any) -> Any:
        pandas = sys.modules.get("pandas")
        if pandas is None or type(X) is not pandas.DataFrame or tuple(X.columns) != self.names:
            return None
        return X.to_numpy()

    def checked(self, columns: Columns, whose: str) -> Columns:
        """The columns by the names of the fit; ValueError in scikit-learn's words unless they are those of the fit."""
        if self.any_order:
            if not columns.named:
                shown = ", ".join(map(repr, self.names))
                raise ValueError(f"this model finds its columns by name: pass a data frame with the columns {shown}")
            return columns
        if columns.named and self.named:
            _check_names(columns.names, self.names)
        elif columns.named:
            warnings.warn(f"X has feature names, but {whose} was fitted without feature names", stacklevel=4)
        elif self.named:
            warnings.warn(
                f"X does not have valid feature names, but {whose} was fitted with feature names", stacklevel=4
            )
        if len(columns.names) != len(self.names):
            found, wanted = len(columns.names), len(self.names)
            raise ValueError(f"X has {found} features, but {whose} is expecting {wanted} features as input.")
        return columns.called(self.names)


def _check_names(found: Sequence[str], wanted: Sequence[str]) -> None:
    if tuple(found) == tuple(wanted):
        return
    parts = ["The feature names should match those that were passed during fit.\n"]
    unseen, missing = sorted({*found} - {*wanted}), sorted({*wanted} - {*found})
    if unseen:
        parts += ["Feature names unseen at fit time:\n", *_listed(unseen)]
    if missing:
        parts += ["Feature names seen at fit time, yet now missing:\n", *_listed(missing)]
    if not unseen and not missing:
        parts.append("Feature names must be in the same order as they were in fit.\n")
    raise ValueError("".join(parts))


def _listed(names: list[str]) -> list[str]:
    return [f"- {name}\n" for name in names[:_SHOWN]] + (["- ...\n"] if len(names) > _SHOWN else [])


def inputs_of_fit(columns: Columns, encoding: Encoding) -> Inputs:
    return _inputs(columns.names, columns.named, False, encoding)


def inputs_of_file(encoding: Encoding) -> Inputs:
    names = sorted([*(column.name for column in encoding.columns), *(one.name for one in encoding.left_out)])
    of_array = names == list(array_names(len(names)))
    return _inputs(tuple(names), not of_array, not of_array, encoding)


def _inputs(names: tuple[str, ...], named: bool, any_order: bool, encoding: Encoding) -> Inputs:
    plain = all(column.levels is None and column.kind is Kind.NUMBER for column in encoding.columns)
    places = np.array([names.index(column.name) for column in encoding.columns]) if plain else None
    in_order = places is not None and np.array_equal(places, np.arange(len(names)))
    return Inputs(names, named, any_order, places, in_order, encoding.missing == "fill")


# ------------------------------------------------------------------------------------------------ predictions


def as_tuple(levels: float | Sequence[float] | None) -> tuple[float, ...]:
    """One level, several, or none."""
    if levels is None:
        return ()
    return tuple(float(level) for level in np.atleast_1d(np.asarray(levels, dtype=float)))


def frame_like(X: Any, values: Array, names: Sequence[str]) -> Any:
    """Columns (t, k) as a data frame of the library that X is of; else as they are."""
    library = type(X).__module__.split(".")[0]
    if library == "pandas":
        return sys.modules["pandas"].DataFrame(values, index=X.index, columns=list(names))
    if library == "polars":
        return sys.modules["polars"].DataFrame({name: values[:, k] for k, name in enumerate(names)})
    if library == "pyarrow":
        return sys.modules["pyarrow"].table({name: values[:, k] for k, name in enumerate(names)})
    return values
