"""Dates and times of a calendar, in the directives of strptime: `13/10/2014 9:30`, `Oct 13, 2014`, `20141013T0930`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from enrelm_cli.errors import UsageError
from enrelm_cli.table.kinds import ARROW, Kind
from enrelm_cli.table.notation.texts import Ints, compiled, ints

_DIRECTIVES = {
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d{2})",
    "m": r"(?P<m>\d{1,2})",
    "d": r"(?P<d>\d{1,2})",
    "b": r"(?P<b>[A-Za-z]{3,9})\.?",
    "H": r"(?P<H>\d{1,2})",
    "I": r"(?P<H>\d{1,2})",
    "M": r"(?P<M>\d{2})",
    "S": r"(?P<S>\d{2})",
    "f": r"(?P<f>\d{1,9})",
    "p": r"(?P<p>[AaPp])\.?[Mm]\.?",
    "z": r"(?P<z>Z|z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)",
    "%": "%",
}
_SHORT = {"%B": "%b", "%e": "%d", "%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%R": "%H:%M", "%D": "%m/%d/%y"}
_TIME = (
    rf"(?:(?:T|,? +){_DIRECTIVES['H']}:?{_DIRECTIVES['M']}(?::?{_DIRECTIVES['S']}(?:[.,]{_DIRECTIVES['f']})?)?"
    rf"(?: ?{_DIRECTIVES['p']})?)?"
)
_MONTHS = pa.array(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
_PIVOT = 69  # two digits below this are of this century, as in POSIX


@dataclass(frozen=True)
class DateNotation:
    """Dates in the directives of strptime; where it has none for the time of day, that may follow in any usual way."""

    pattern: str
    zoned: bool = False  # a time zone follows the time: Z, +02:00
    like: ClassVar[str] = (
        r"^(?:\d{4}[-/.](?:\d{1,2}|[A-Za-z]{3})|\d{8}(?:[T ]|$)|[A-Za-z]{3,9}\.? \d"
        r"|\d{1,2}[-/. ]+(?:\d{1,2}|[A-Za-z]{3,9})[-/.,]? *\d{2})"
    )

    @property
    def kind(self) -> Kind:
        return Kind.ZONED if self.zoned else Kind.DATE

    @property
    def regex(self) -> str:
        body = _date_regex(self.pattern)
        if "(?P<H>" not in body:
            body += _TIME
        if self.zoned and "(?P<z>" not in body:
            body += f" ?{_DIRECTIVES['z']}"
        return f"^{body}$"

    def looks(self, text: str) -> bool:
        """Whether a text is written like this; it need not be a date of the calendar."""
        return compiled(self).fullmatch(text) is not None

    def read(self, texts: Any) -> Any:
        """(t,) texts as timestamps; null where a text is not a date written like this."""
        found = pc.extract_regex(pc.utf8_trim_whitespace(texts), compiled(self).pattern)
        parts = {found.type.field(i).name: found.field(i) for i in range(found.type.num_fields)}
        microseconds, sound = _moments(parts, len(texts))
        missing = ~(sound & found.is_valid().to_numpy(zero_copy_only=False))
        return pa.array(microseconds, type=pa.int64(), mask=missing).cast(ARROW[self.kind])

    def units(self, texts: Any) -> frozenset[str]:
        return frozenset()

    def settled(self, units: frozenset[str]) -> DateNotation:
        return self

    def swapped(self) -> DateNotation | None:
        """The notation with day and month the other way round, where both are digits."""
        if not {"%d", "%m"} <= {*re.findall("%.", self.pattern)} or self.pattern.startswith("%Y"):
            return None
        other = self.pattern.replace("%d", "\0").replace("%m", "%d").replace("\0", "%m")
        return DateNotation(other, self.zoned)

    def to_document(self) -> dict[str, Any]:
        return {"date": self.pattern, "zoned": self.zoned}


def given_date(pattern: str) -> DateNotation:
    """The notation that a user typed."""
    pattern = re.sub("%.", lambda found: _SHORT.get(found[0], found[0]), pattern)
    named = re.findall("%(.)", pattern)
    unknown = [f"%{letter}" for letter in named if letter not in _DIRECTIVES]
    whole = {"Y", "y"} & {*named} and {"m", "b"} & {*named}
    repeated = len({*named}) < len(named) or {"H", "I"} <= {*named} or {"Y", "y"} <= {*named} or {"m", "b"} <= {*named}
    if unknown or not whole or repeated or pattern.endswith("%"):
        raise UsageError(
            f"--date-format {pattern!r} is not the format of a date" + (f" ({unknown[0]})" if unknown else ""),
            "for example --date-format when=%d/%m/%Y, or =%Y-%m-%d %H:%M; each of %Y %m %d %b %H %M %S %p %z once",
        )
    return DateNotation(pattern, "z" in named)


def _date_regex(pattern: str) -> str:
    """Directives as groups. Digits that stand side by side, as in %Y%m%d, have their full width."""
    parts = re.split("(%.)", pattern)
    body = ""
    for before, part, after in zip(["", *parts], parts, [*parts[1:], "."], strict=False):
        if not part.startswith("%") or len(part) < 2:
            body += re.escape(part) if part.strip() else part.replace(" ", " +")
            continue
        group = _DIRECTIVES[part[1]]
        tight = (before == "" and body != "") or (after == "" and pattern.count("%") > 1)
        body += group.replace("{1,2}", "{2}") if tight else group
    return body


def _moments(parts: Mapping[str, Any], rows: int) -> tuple[Ints, NDArray[np.bool_]]:
    """(microseconds since 1970, which are dates of the calendar) of the parts of texts; empty parts are 0."""
    part = {name: ints(texts) for name, texts in parts.items() if name not in "bpzf"}
    zeros = np.zeros(rows, dtype=np.int64)
    year = part["Y"] if "Y" in part else part["y"] + np.where(part["y"] < _PIVOT, 2000, 1900)
    month = part["m"] if "m" in part else _month(parts["b"])
    day = part.get("d", zeros + 1)
    hour, minute, second = (part.get(name, zeros) for name in "HMS")
    sound = (year >= 1) & (month >= 1) & (month <= 12) & (minute < 60) & (second < 60)
    if "p" in parts:
        hour, in_range = _on_24_hours(hour, parts["p"])
        sound &= in_range
    sound &= hour < 24
    months = np.where(sound, (year - 1970) * 12 + month - 1, 0).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    sound &= (day >= 1) & (days.astype("M8[M]") == months)
    moments = ((days.astype(np.int64) * 24 + hour) * 60 + minute) * 60 + second
    micro = moments * 1_000_000 + (_fraction(parts["f"]) if "f" in parts else 0)
    if "z" in parts:
        offset = _offset(parts["z"])
        micro -= offset * 60_000_000
        sound &= np.abs(offset) < 24 * 60
    return micro, sound


def _month(names: Any) -> Ints:
    first = pc.utf8_slice_codeunits(pc.utf8_lower(names), 0, 3)
    values: Ints = pc.index_in(first, value_set=_MONTHS).fill_null(-1).to_numpy().astype(np.int64) + 1
    return values


def _on_24_hours(hour: Ints, halves: Any) -> tuple[Ints, NDArray[np.bool_]]:
    half = pc.utf8_lower(halves).fill_null("").to_numpy(zero_copy_only=False)
    said = half != ""
    afternoon = np.where(half == "p", 12, 0)
    return np.where(said, hour % 12 + afternoon, hour), ~said | ((hour >= 1) & (hour <= 12))


def _fraction(digits: Any) -> Ints:
    """Microseconds; further digits are cut off."""
    return ints(pc.utf8_slice_codeunits(pc.utf8_rpad(digits, 6, "0"), 0, 6))


def _offset(zones: Any) -> Ints:
    """Minutes east of Greenwich."""
    digits = pc.utf8_rpad(pc.replace_substring_regex(zones, "[^0-9]", ""), 4, "0")
    minutes = ints(pc.utf8_slice_codeunits(digits, 0, 2)) * 60 + ints(pc.utf8_slice_codeunits(digits, 2, 4))
    west = pc.starts_with(zones, "-").fill_null(False).to_numpy(zero_copy_only=False)
    return np.where(west, -minutes, minutes)


# In the order of preference where a column can be read in several: the day before the month, as in most countries.
_PATTERNS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%Y-%m"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%m-%y", "%m-%d-%y"),
    *("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%b %d %Y", "%b %Y"),
)
DATES = tuple(DateNotation(pattern, zoned) for zoned in (False, True) for pattern in _PATTERNS)
