"""What the notations share: compiled patterns, spaces and signs made plain, digits as integers."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Ints = NDArray[np.int64]

CURRENCIES = "$€£¥₹"
_SPACES = "\u00a0\u2007\u2009\u202f"  # that do not break a line, as between thousands
_PLAIN = str.maketrans({**dict.fromkeys(_SPACES, " "), "\u2212": "-"})


class Written(Protocol):
    """What has a pattern that a text must match as a whole."""

    @property
    def regex(self) -> str: ...


@cache
def compiled(notation: Written) -> re.Pattern[str]:
    """Once for each notation: to put its regex together takes longer than to match a text."""
    return re.compile(notation.regex, re.ASCII)


def plain_text(text: str) -> str:
    """With ordinary spaces and minus signs."""
    return text.translate(_PLAIN)


def plain_texts(texts: Any) -> Any:
    """The same of (t,) texts, without space around them."""
    texts = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), f"[{_SPACES}]", " ")
    return pc.replace_substring(texts, "\u2212", "-")


def digits(decimal: str) -> str:
    """The pattern of a number without a sign: its decimal mark, and perhaps separators between thousands, or between
    lakhs and crores. Nobody separates thousands after a leading zero: `0,125` has a decimal comma.
    """
    mark = re.escape(decimal)
    separators = (re.escape(separator) for separator in (".,"[decimal == "."], " ", "'"))
    groups = [rf"[1-9]\d{{0,2}}(?:{separator}\d{{3}})+" for separator in separators]
    lakhs = [r"[1-9]\d?(?:,\d{2})+,\d{3}"] if decimal == "." else []
    whole = "|".join([*groups, *lakhs, r"\d+"])
    return rf"(?:(?:{whole})(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?"


def floats(texts: Any, decimal: str) -> Any:
    """Signed digits with separators and other marks among them as float64; nulls stay."""
    bare = pc.replace_substring_regex(texts, rf"[^0-9a-zA-Z+\-{decimal}]", "")
    return pc.replace_substring(bare, decimal, ".").cast(pa.float64())


def ints(texts: Any) -> Ints:
    """Digits as integers, 0 where there are none."""
    filled = pc.if_else(pc.equal(texts, ""), "0", texts).fill_null("0")
    values: Ints = filled.cast(pa.int64()).to_numpy()
    return values
