"""X and y as scikit-learn hands them over -> one table in memory, and what is refused in scikit-learn's own words."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from enrelm._errors import as_python
from enrelm_cli.table.memory import ArrowSource, array_columns, arrow_columns, arrow_source, is_frame, levels_of

_FEWEST = 4  # rows of a table that can be split


@dataclass(frozen=True)
class Columns:
    """X as columns, and what they are called."""

    table: Any  # pa.Table
    names: tuple[str, ...]
    named: bool  # X brought the names

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    def called(self, names: Sequence[str]) -> Columns:
        """The same columns under other names."""
        return Columns(self.table.rename_columns(list(names)), tuple(names), self.named)


def columns_of(X: Any, names: Sequence[str] | None = None) -> Columns:
    """X of any kind; `names` of a fit are those of an array's columns, where they are as many."""
    if is_frame(X):
        table = arrow_columns(X)
        with as_python():
            arrow_source("X", table)
        if _has_names(X):
            return Columns(table, tuple(table.column_names), True)
        own = _by_place(table.num_columns, names)
        return Columns(table.rename_columns(list(own)), own, False)
    values = array_of(X)
    own = _by_place(values.shape[1], names)
    return Columns(array_columns(values, own), own, False)


def _has_names(frame: Any) -> bool:
    """pandas also has frames whose columns are numbered."""
    pandas = type(frame).__module__.split(".")[0] == "pandas"
    return not pandas or all(isinstance(name, str) for name in frame.columns)


def _by_place(width: int, names: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(names) if names is not None and len(names) == width else array_names(width)


def array_names(width: int) -> tuple[str, ...]:
    """What the columns of an array are called: names that sort as the columns stand."""
    digits = len(str(max(width - 1, 0)))
    return tuple(f"x{place:0{digits}d}" for place in range(width))


def array_of(X: Any) -> NDArray[Any]:
    """A dense array of two dimensions."""
    if hasattr(X, "toarray"):
        raise TypeError("Sparse data was passed for X, but dense data is required. Use '.toarray()' to convert it.")
    values = np.asarray(X)
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{values}\n")
    if values.ndim != 2:
        wanted = f"Expected 2D array, got {'scalar' if values.ndim == 0 else f'{values.ndim}D'} array instead"
        raise ValueError(f"{wanted}:\narray={values}.\nReshape your data: X has a row for each sample.")
    return values


# ------------------------------------------------------------------------------------------------ fit


@dataclass(frozen=True)
class TrainingTable:
    """X, y and what else belongs to the rows, in one table."""

    source: ArrowSource
    roles: dict[str, Any]  # parameters that name the columns beside X
    inputs: Columns


def training_table(X: Any, y: Any, whose: str, labels: bool = False, **beside: Any) -> TrainingTable:
    """`beside`: a role (weight, group) and a value for each row; None where there is none. `labels`: y has classes."""
    if y is None:
        raise ValueError(f"{whose} requires y to be passed, but the target y is None.")
    inputs = columns_of(X)
    _check_shape(inputs, whose)
    table = inputs.table
    roles: dict[str, Any] = {}
    if not labels and _width(y) > 1:
        names, values = targets_of(y, inputs.rows)
        roles["target"] = [_free_name(name, inputs.names) for name in names]
        for name, column in zip(roles["target"], values.T, strict=True):
            table = table.append_column(name, pa.array(np.ascontiguousarray(column)))
    else:
        roles["target"] = _free_name(_name_of(y) or "y", inputs.names)
        target = label_column(y, inputs.rows) if labels else pa.array(target_of(y, inputs.rows))
        table = table.append_column(roles["target"], target)
    for role, values in beside.items():
        if values is not None:
            roles[role] = _free_name(_name_of(values) or role, table.column_names)
            table = table.append_column(roles[role], _beside(values, role, inputs.rows))
    return TrainingTable(ArrowSource("X", table), roles, inputs)


def label_column(y: Any, rows: int) -> Any:
    """Texts as levels, which nobody reads as numbers: "01" and "1" are two classes."""
    labels = labels_of(y, rows)
    texts = pa.array([str(label) for label in labels])
    return texts.dictionary_encode() if all(isinstance(label, str) for label in labels) else texts


def later_table(
    inputs: Columns, y: Any, targets: Sequence[str], beside: Mapping[str, tuple[Any, str]], labels: bool
) -> ArrowSource:
    """Rows for a model that is there, whose names are taken. `beside`: column -> values and what they are called."""
    table = inputs.table
    for name, values in zip(targets, _target_columns(y, inputs.rows, len(targets), labels), strict=True):
        table = table.append_column(name, values)
    for name, (numbers, role) in beside.items():
        table = table.append_column(name, _beside(numbers, role, inputs.rows))
    return ArrowSource("X", table)


def _target_columns(y: Any, rows: int, width: int, labels: bool) -> list[Any]:
    """As many as the model has targets."""
    if width == 1:
        return [label_column(y, rows) if labels else pa.array(target_of(y, rows))]
    if _width(y) != width:
        raise ValueError(f"y has {_width(y)} column(s), and this model has {width} targets")
    return [pa.array(np.ascontiguousarray(column)) for column in targets_of(y, rows)[1].T]


def _check_shape(inputs: Columns, whose: str) -> None:
    rows, columns = inputs.rows, len(inputs.names)
    if not columns:
        raise ValueError(f"0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required by {whose}.")
    if rows < _FEWEST:
        raise ValueError(f"{whose} needs at least {_FEWEST} rows: n_samples={rows}")


def labels_of(y: Any, rows: int) -> NDArray[Any]:
    """(t,) classes: texts, integers, booleans; numbers that are not whole are none."""
    values = _flat(y)
    _check_rows(len(values), rows, "y")
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise ValueError("Input y contains NaN or infinity.")
        if (values != np.round(values)).any():
            raise ValueError("Unknown label type: continuous. Classes are texts, integers or booleans.")
    if values.dtype.kind == "O" and any(value is None or value != value for value in values):
        raise ValueError("Input y contains NaN.")
    return values


def _width(y: Any) -> int:
    values = np.asarray(y)
    return int(values.shape[1]) if values.ndim == 2 else 1


def targets_of(y: Any, rows: int) -> tuple[list[str], NDArray[np.float64]]:
    """Names, and (t, q) finite numbers."""
    columns = [str(name) for name in getattr(y, "columns", ())]
    if len(set(columns)) != _width(y):
        columns = [f"y{place}" for place in range(_width(y))]
    return columns, _finite(np.asarray(y), rows)


def target_of(y: Any, rows: int) -> NDArray[np.float64]:
    """(t,) finite numbers."""
    return _finite(_flat(y), rows)


def _finite(values: NDArray[Any], rows: int) -> NDArray[np.float64]:
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{values}\n")
    try:
        numbers: NDArray[np.float64] = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise type(problem)(f"{problem}: y should be numbers; EnrelmClassifier takes classes") from None
    _check_rows(len(numbers), rows, "y")
    if not np.isfinite(numbers).all():
        what = "NaN" if np.isnan(numbers).any() else "infinity or a value too large for dtype('float64')"
        raise ValueError(f"Input y contains {what}.")
    return numbers


def _flat(y: Any) -> NDArray[Any]:
    """(t,)."""
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel().",
            conversion_warning(),
            stacklevel=5,
        )
        values = values.ravel()
    if values.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {values.shape} instead.")
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{values}\n")
    return values


def _check_rows(found: int, rows: int, name: str) -> None:
    if found != rows:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: X has {rows}, {name} {found}.")


def conversion_warning() -> type[Warning]:
    """scikit-learn's own where it is installed."""
    try:
        from sklearn.exceptions import DataConversionWarning
    except ImportError:
        return UserWarning
    found: type[Warning] = DataConversionWarning
    return found


def _name_of(values: Any) -> str | None:
    name = getattr(values, "name", None)
    return name if isinstance(name, str) and name else None


def _free_name(name: str, taken: Sequence[str]) -> str:
    return next(one for one in chain([name], (f"{name}_{i}" for i in count(2))) if one not in taken)


def _beside(values: Any, role: str, rows: int) -> Any:
    column = np.asarray(values)
    if column.ndim != 1:
        raise ValueError(f"{role} must be 1D array or scalar, got an array of shape {column.shape}")
    _check_rows(len(column), rows, role)
    return array_columns(column[:, None], [role]).column(0)


def level_roles(table: Any, categorical: Any) -> tuple[str, ...]:
    """The columns that are categories: as the user said, and as their type says."""
    said = (categorical,) if isinstance(categorical, str) else tuple(categorical or ())
    return tuple(dict.fromkeys((*said, *levels_of(table))))
