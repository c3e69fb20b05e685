"""Numbers and names as people read them, the same in tables, plots and pages."""

from __future__ import annotations

import math
from collections.abc import Iterable

from enrelm_cli.quoting import quoted
from enrelm_cli.redaction import redacted

ABSENT = "–"

# What a terminal or file that knows only ASCII gets instead.
_ASCII = {
    ABSENT: "-",
    "±": "+-",
    "×": "x",
    "÷": "/",
    "·": "|",
    "…": "...",
    "∞": "inf",
    "★": "*",
    "●": "B",
    "◆": "K",
    "▲": "S",
    "■": "A",
    "─": "-",
    "│": "|",
    "█": "#",
    "━": "=",
}
_ASCII_TABLE = str.maketrans(_ASCII)


def error(value: float) -> str:
    """A relative error, to four decimals as the paper prints them."""
    if math.isnan(value):
        return ABSENT
    if math.isinf(value):
        return "∞"
    return f"{value:.4f}" if abs(value) < 1e4 else f"{value:.3g}"


def rounded(value: float, standard_error: float | None) -> str:
    """To the digits that the data know: 1,234.6 with a standard error of 52 is 1,230 ± 50.

    One digit of the standard error, two where the first is a 1.
    """
    if not math.isfinite(value):
        return error(value)
    if standard_error is None or not math.isfinite(standard_error) or standard_error <= 0.0:
        return fact(value)
    first = math.floor(math.log10(standard_error))
    digits = 1 - first if standard_error < 2.0 * 10.0**first else -first
    if digits > 12:
        return fact(value)
    known, uncertain = (round(one, digits) for one in (value, standard_error))
    shown = [f"{one:,.{max(digits, 0)}f}" if abs(one) < 1e12 else f"{one:.3g}" for one in (known, uncertain)]
    return " ± ".join(shown)


def count(value: float) -> str:
    """1234567 -> 1,234,567; means of counts keep one decimal."""
    if not math.isfinite(value):
        return ABSENT
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.1f}"


def counted(value: int, noun: str) -> str:
    """1 row, 2 rows."""
    return f"{count(value)} {plural(noun, value)}"


def plural(noun: str, value: int) -> str:
    return noun if value == 1 else f"{noun}s"


def seconds(value: float) -> str:
    """A duration in the unit that suits it."""
    if not math.isfinite(value):
        return ABSENT
    if value < 0.0995:
        return f"{value * 1e3:.1f} ms"
    if value < 0.9995:
        return f"{value * 1e3:.0f} ms"
    if value < 9.995:
        return f"{value:.2f} s"
    if value < 59.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def duration_column(values: Iterable[float]) -> tuple[str, list[str]]:
    """One unit for a whole column, so that its cells can be compared by eye: ("s", ["0.012", "3.400"])."""
    known = list(values)
    if max((v for v in known if math.isfinite(v)), default=0.0) < 1.0:
        return "ms", [_fixed(v * 1e3, 1) for v in known]
    return "s", [_fixed(v, 3) for v in known]


def _fixed(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return ABSENT
    least = 10.0**-digits
    return f"{value:,.{digits}f}" if value == 0.0 or value >= least / 2 else f"<{least:.{digits}f}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %" if math.isfinite(share) else ABSENT


def ratio(value: float) -> str:
    return f"{value:.2f}×" if math.isfinite(value) else ABSENT


def fact(value: float) -> str:
    """A number of unknown kind: whole ones as counts, others to four digits."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if math.isfinite(value) and float(value).is_integer() and abs(value) < 1e12:
        return count(value)
    if 1e3 <= abs(value) < 1e12:
        return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:,.1f}"
    return f"{value:.4g}"


def size(amount: int) -> str:
    """1234567 -> 1.2 MB."""
    if amount < 1000:
        return f"{amount} bytes"
    for unit, of in (("kB", 1e3), ("MB", 1e6)):
        if amount < 999.95 * of:
            return f"{amount / of:.1f} {unit}"
    return f"{amount / 1e9:.1f} GB"


_EXACT = 1e-9  # relative errors below this are rounding


def against_linear(validation_error: float, linear_error: float) -> str:
    """By how much linear regression was beaten, or not."""
    if not (math.isfinite(validation_error) and math.isfinite(linear_error)) or linear_error <= 0.0:
        return ""
    gain = 1.0 - validation_error / linear_error
    if abs(gain) < 0.0005:
        return "the same as linear regression"
    if linear_error < _EXACT:
        return "where linear regression is exact"
    if gain < -1.0:
        return f"{validation_error / linear_error:,.1f} times that of linear regression"
    return f"{100 * abs(gain):.1f} % {'better' if gain > 0 else 'worse'} than linear regression"


def label(key: str) -> str:
    """A key of a dictionary as a phrase."""
    return key.replace("_", " ").replace("leave one out", "leave-one-out")


def shell(words: Iterable[str]) -> str:
    """A command line that can be pasted into bash, but for the secrets of addresses, which are shown nowhere."""
    return " ".join(quoted(redacted(word)) for word in words)


def visible(text: str) -> str:
    """Control characters of names and values as escapes: a column name cannot move the cursor or hide text."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def ascii_only(text: str) -> str:
    return text.translate(_ASCII_TABLE).encode("ascii", "backslashreplace").decode()
