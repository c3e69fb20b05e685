"""Dates as numbers: days since the earliest, and the parts of the calendar that a table's dates can tell apart."""

from __future__ import annotations

import numpy as np

from enrelm_cli.types import Array

DAY = 86_400e6  # microseconds
_HOUR = 3_600e6

VALUE = "value"
DAYS, WEEKDAY, MONTH, DAY_OF_YEAR, HOUR = "days", "weekday", "month", "day of year", "hour"
PARTS = (VALUE, DAYS, WEEKDAY, MONTH, DAY_OF_YEAR, HOUR)

# Days that a table must span for a part to be more than a copy of the days.
_SPANS = {WEEKDAY: 14.0, MONTH: 62.0, DAY_OF_YEAR: 300.0}


def part_of(raw: Array, part: str) -> Array:
    """(t,) microseconds since 1970, NaN where missing -> (t,) numbers; `value` is the raw number itself."""
    if part == VALUE:
        return raw
    if part == DAYS:
        return raw / DAY
    missing = np.isnan(raw)
    moment = np.where(missing, 0.0, raw)
    day = np.floor(moment / DAY)
    found = np.where(missing, np.nan, _of_day(moment, day, part))
    return found


def _of_day(moment: Array, day: Array, part: str) -> Array:
    """The part of moments (t,) in days (t,) since 1970: weekday 0 is a Monday, month and day of year begin with 1."""
    if part == WEEKDAY:
        weekday: Array = np.mod(day + 3.0, 7.0)
        return weekday
    if part == HOUR:
        hour: Array = np.floor((moment - day * DAY) / _HOUR)
        return hour
    date = day.astype(np.int64).astype("datetime64[D]")
    year = date.astype("datetime64[Y]")
    since = date.astype("datetime64[M]") - year if part == MONTH else date - year
    number: Array = since.astype(float) + 1.0
    return number


def parts_for(raw: Array, calendar: bool) -> tuple[str, ...]:
    """The parts that these dates (t,) can tell apart."""
    present = raw[~np.isnan(raw)]
    if not calendar or not len(present):
        return (DAYS,)
    span = float(np.max(present) - np.min(present)) / DAY
    parts = [DAYS, *(part for part, least in _SPANS.items() if span >= least)]
    # Dates without a time are all at one hour, or at a few where clocks change.
    if len(np.unique(part_of(present, HOUR))) > 2:
        parts.append(HOUR)
    return tuple(parts)
