"""What the cells of a column are, and the Arrow type that holds them."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class Kind(str, Enum):
    """What the cells of a column are."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    ZONED = "date with time zone"
    TEXT = "text"
    VERBATIM = "verbatim"  # an identifier that is handed through: no null, no number, just its text
    OTHER = "other"  # lists, structs, bytes and their like in a Parquet file: never read


ARROW = {
    Kind.NUMBER: pa.float64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.timestamp("us"),
    Kind.ZONED: pa.timestamp("us", "UTC"),
    Kind.TEXT: pa.dictionary(pa.int32(), pa.string()),
    Kind.VERBATIM: pa.string(),
}


def kind_of_type(kind: Any) -> Kind | None:
    """The kind for an Arrow type; None for the type of nothing but nulls."""
    if pa.types.is_null(kind):
        return None
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Kind.NUMBER
    if pa.types.is_boolean(kind):
        return Kind.BOOLEAN
    if pa.types.is_timestamp(kind):
        return Kind.ZONED if kind.tz else Kind.DATE
    if pa.types.is_date(kind):
        return Kind.DATE
    return Kind.TEXT


def join(first: Kind | None, second: Kind | None) -> Kind | None:
    """The kind that holds the cells of both."""
    if first is None or second is None:
        return second if first is None else first
    return first if first is second else Kind.TEXT


def numbers(array: Any) -> NDArray[np.float64]:
    """A number, boolean or date column as float64 (dates: microseconds since 1970), NaN where missing."""
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    if not pa.types.is_float64(array.type):
        # Not safe: microseconds of dates far from 1970 are beyond 2^53 and are rounded.
        array = array.cast(pa.float64(), safe=False)
    values: NDArray[np.float64] = array.to_numpy(zero_copy_only=False)
    return values
