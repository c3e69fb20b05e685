"""Ways to write numbers and dates that a plain parser does not take: `$1,234`, `12 %`, `1 234,5`, `13/10/2014 9:30`.

A notation reads the distinct texts of a column at once. Which one a column is written in is decided over all of its
cells (census.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from enrelm_cli.errors import UsageError
from enrelm_cli.table.kinds import ARROW, Kind

Ints = NDArray[np.int64]

_UNIT = "%$€£¥₹"
UNITS = frozenset(_UNIT)
_SPACES = "\u00a0\u2007\u2009\u202f"  # that do not break a line, as between thousands
_PLAIN = str.maketrans({**dict.fromkeys(_SPACES, " "), "\u2212": "-"})


@cache
def _compiled(notation: Notation) -> re.Pattern[str]:
    """Once for each notation: to put its regex together takes longer than to match a text."""
    return re.compile(notation.regex, re.ASCII)


# ------------------------------------------------------------------------------------------------ numbers


@dataclass(frozen=True)
class NumberNotation:
    """Numbers with a decimal mark, perhaps thousands separators, and perhaps a unit before or after."""

    decimal: str = "."
    kind: ClassVar[Kind] = Kind.NUMBER
    # What every number looks like at least, whatever its marks: a quick test.
    like: ClassVar[str] = rf"^[ (+\-\x{{2212}}{_UNIT}]*(?:[.,]?\d[^A-DF-Za-df-z/:]*$|[iI][nN][fF])"

    @property
    def regex(self) -> str:
        mark = re.escape(self.decimal)
        separators = (re.escape(separator) for separator in (".,"[self.decimal == "."], " ", "'"))
        whole = "|".join([rf"\d{{1,3}}(?:{separator}\d{{3}})+" for separator in separators] + [r"\d+"])
        digits = rf"(?:(?:{whole})(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?"
        before, after = rf"(?:[{_UNIT}] ?)?", rf"(?: ?[{_UNIT}])?"
        signed = rf"(?:[+-]? ?{before}|[{_UNIT}] ?[+-]){digits}{after}"
        return rf"^(?:{signed}|\({before}{digits}{after}\)|[+-]?[iI][nN][fF](?:inity)?)$"

    def looks(self, text: str) -> bool:
        """Whether a text, without space around it, is written like this: quick, for a few."""
        return _compiled(self).fullmatch(text.translate(_PLAIN)) is not None

    def read(self, texts: Any) -> Any:
        """(t,) texts as float64; null where a text is not written like this."""
        texts = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), f"[{_SPACES}]", " ")
        texts = pc.replace_substring(texts, "\u2212", "-")
        fits = pc.match_substring_regex(texts, _compiled(self).pattern)
        plain = pc.if_else(fits, texts, pa.scalar(None, pa.string()))
        # An amount in parentheses is negative, as accountants write it.
        plain = pc.replace_substring_regex(plain, r"^\(", "-")
        plain = pc.replace_substring_regex(plain, rf"[^0-9a-zA-Z+\-{self.decimal}]", "")
        return pc.replace_substring(plain, self.decimal, ".").cast(pa.float64())

    def to_document(self) -> dict[str, str]:
        return {"decimal": self.decimal}


# ------------------------------------------------------------------------------------------------ dates

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
        return _compiled(self).fullmatch(text) is not None

    def read(self, texts: Any) -> Any:
        """(t,) texts as timestamps; null where a text is not a date written like this."""
        found = pc.extract_regex(pc.utf8_trim_whitespace(texts), _compiled(self).pattern)
        parts = {found.type.field(i).name: found.field(i) for i in range(found.type.num_fields)}
        microseconds, sound = _moments(parts, len(texts))
        missing = ~(sound & found.is_valid().to_numpy(zero_copy_only=False))
        return pa.array(microseconds, type=pa.int64(), mask=missing).cast(ARROW[self.kind])

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
    part = {name: _ints(texts) for name, texts in parts.items() if name not in "bpzf"}
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


def _ints(texts: Any) -> Ints:
    digits = pc.if_else(pc.equal(texts, ""), "0", texts).fill_null("0")
    values: Ints = digits.cast(pa.int64()).to_numpy()
    return values


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
    return _ints(pc.utf8_slice_codeunits(pc.utf8_rpad(digits, 6, "0"), 0, 6))


def _offset(zones: Any) -> Ints:
    """Minutes east of Greenwich."""
    digits = pc.utf8_rpad(pc.replace_substring_regex(zones, "[^0-9]", ""), 4, "0")
    minutes = _ints(pc.utf8_slice_codeunits(digits, 0, 2)) * 60 + _ints(pc.utf8_slice_codeunits(digits, 2, 4))
    west = pc.starts_with(zones, "-").fill_null(False).to_numpy(zero_copy_only=False)
    return np.where(west, -minutes, minutes)


# ------------------------------------------------------------------------------------------------ all of them

Notation = NumberNotation | DateNotation

# In the order of preference where a column can be read in several: the day before the month, as in most countries.
_PATTERNS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%Y-%m"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%m-%y", "%m-%d-%y"),
    *("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%b %d %Y", "%b %Y"),
)
DATES = tuple(DateNotation(pattern, zoned) for zoned in (False, True) for pattern in _PATTERNS)


def number_notations(decimal: str) -> tuple[NumberNotation, ...]:
    """Of a file whose decimal mark is said to be this. A point is the default, so it may yet turn out to be a comma."""
    return tuple(NumberNotation(mark) for mark in ((".", ",") if decimal == "." else (",",)))


def notation_from_document(document: Mapping[str, Any]) -> Notation:
    if "date" in document:
        return DateNotation(given_date(str(document["date"])).pattern, bool(document["zoned"]))
    if document["decimal"] not in (".", ","):
        raise ValueError(f"no way to write numbers: {document!r}")
    return NumberNotation(str(document["decimal"]))
