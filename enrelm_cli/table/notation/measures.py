"""Numbers with words: a unit (`19.7 kmpl`), a power of ten (`€1.2M`), a span of time (`2h 50m`, `1:02:33`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from enrelm_cli.table.kinds import Kind
from enrelm_cli.table.notation.texts import CURRENCIES, compiled, digits, floats, plain_text, plain_texts

_LETTER = "A-Za-zµμ°Ω"
_WORD = rf"(?:[{_LETTER}\"'+][{_LETTER}\"'/²³.0-9-]{{0,11}}(?: [A-Za-z]{{1,11}})?)"
_SIGN = "[+-]?"
MAX_UNIT = 24  # letters, as in _WORD


def _stem(unit: str) -> str:
    """A unit as it is compared: `Days` and `day` are one."""
    unit = unit.lower()
    return unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit


@dataclass(frozen=True)
class MeasureNotation:
    """A number and a unit, the same in every cell; before that is known, `unit` is empty and stands for any."""

    decimal: str = "."
    unit: str = ""
    kind: ClassVar[Kind] = Kind.NUMBER
    like: ClassVar[str] = rf"^[+\-\x{{2212}}]?[.,]?\d[\d.,' ]*[{_LETTER}\"'+]"

    @property
    def regex(self) -> str:
        word = rf"(?i:{re.escape(self.unit)}s?)" if self.unit else _WORD
        return rf"^(?P<number>{_SIGN}{digits(self.decimal)}) ?(?P<unit>{word})$"

    def looks(self, text: str) -> bool:
        return compiled(self).fullmatch(plain_text(text)) is not None

    def read(self, texts: Any) -> Any:
        """(t,) texts as float64; null where a text is not written like this."""
        return floats(
            pc.struct_field(pc.extract_regex(plain_texts(texts), compiled(self).pattern), "number"), self.decimal
        )

    def units(self, texts: Any) -> frozenset[str]:
        """That stand in texts which it can read: kilograms beside pounds are not comparable."""
        found = pc.unique(pc.struct_field(self._parts(texts), "unit"))
        return frozenset(_stem(unit) for unit in found.to_pylist())

    def _parts(self, texts: Any) -> Any:
        return pc.extract_regex(plain_texts(texts), compiled(self).pattern)

    def settled(self, units: frozenset[str]) -> MeasureNotation:
        """With the unit that all cells have."""
        (unit,) = units
        return MeasureNotation(self.decimal, unit)

    def to_document(self) -> dict[str, str]:
        return {"decimal": self.decimal, "unit": self.unit}


_POWERS = {"k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9, "t": 1e12}


@dataclass(frozen=True)
class PowerNotation:
    """Numbers with a letter for thousands, millions or billions, where they are so large: `850`, `1.2K`, `$3.4M`."""

    decimal: str = "."
    kind: ClassVar[Kind] = Kind.NUMBER
    like: ClassVar[str] = rf"^[+\-\x{{2212}}{CURRENCIES} ]*[.,]?\d[\d.,' eE+\-]*(?:[kKMBT]|[mb]n)?$"

    @property
    def regex(self) -> str:
        money = rf"(?:[{CURRENCIES}] ?)?"
        return rf"^(?P<sign>{_SIGN}){money}(?P<number>{digits(self.decimal)}) ?(?P<power>[kKMBT]|[mb]n)?$"

    def looks(self, text: str) -> bool:
        return compiled(self).fullmatch(plain_text(text)) is not None

    def read(self, texts: Any) -> Any:
        """(t,) texts as float64; null where a text is not written like this."""
        found = pc.extract_regex(plain_texts(texts), compiled(self).pattern)
        sign, number, power = (pc.struct_field(found, name) for name in ("sign", "number", "power"))
        names = pa.array(_POWERS)
        at = pc.index_in(pc.utf8_lower(power), value_set=names)
        factor = pc.take(pa.array(list(_POWERS.values())), at).fill_null(1.0)
        return pc.multiply(floats(pc.binary_join_element_wise(sign, number, ""), self.decimal), factor)

    def units(self, texts: Any) -> frozenset[str]:
        return frozenset("".join(texts.to_pylist())) & frozenset(CURRENCIES)

    def settled(self, units: frozenset[str]) -> PowerNotation:
        return self

    def to_document(self) -> dict[str, str]:
        return {"power": self.decimal}


_TWO_PARTS, _THREE_PARTS = r"^\d+:\d+$", r"^\d+:\d+:"
_BEYOND_A_DAY = r"^(?:2[4-9]|[3-9]\d|\d{3,4}):\d+$"
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_PARTS = {"d": "d(?:ays?)?", "h": "h(?:(?:ou)?rs?)?", "m": "m(?:in(?:ute)?s?)?", "s": "s(?:ec(?:ond)?s?)?"}


@dataclass(frozen=True)
class DurationNotation:
    """Spans of time, or times of the day, in seconds: `1:02:33`, `14:30`, `2h 50m`, `3 days 4 hours`."""

    minutes: bool = False  # `59:30` are minutes and seconds, else hours and minutes
    kind: ClassVar[Kind] = Kind.NUMBER
    like: ClassVar[str] = r"^\d{1,6}(?:\.\d+)?(?::\d\d| ?[dhmsDHMS])"

    @property
    def regex(self) -> str:
        clock = r"(?P<H>\d{1,4}):(?P<M>[0-5]\d)(?::(?P<S>[0-5]\d(?:\.\d+)?))?"
        spans = "".join(rf"(?:(?P<{one}>\d{{1,6}}(?:\.\d+)?) ?{name}(?:,? |$))?" for one, name in _PARTS.items())
        return rf"^(?i:{clock}|{spans})$"

    def looks(self, text: str) -> bool:
        return text != "" and compiled(self).fullmatch(plain_text(text)) is not None

    def read(self, texts: Any) -> Any:
        """(t,) texts as seconds; null where a text is not written like this."""
        found = pc.extract_regex(plain_texts(texts), compiled(self).pattern)
        seconds = np.zeros(len(texts))
        said = np.zeros(len(texts), dtype=bool)
        for name, length in [(part, _SECONDS[part.lower()]) for part in "HMSdhms"]:
            part = pc.struct_field(found, name).fill_null("")
            said |= pc.not_equal(part, "").to_numpy(zero_copy_only=False)
            seconds += length * pc.if_else(pc.equal(part, ""), "0", part).cast(pa.float64()).to_numpy()
        if self.minutes:
            seconds[pc.match_substring_regex(plain_texts(texts), _TWO_PARTS).fill_null(False).to_numpy(False)] /= 60.0
        return pa.array(seconds, mask=~said)

    def units(self, texts: Any) -> frozenset[str]:
        """`59:30` is no time of the day: beside `1:02:33` it is not 59 hours, and not comparable if read so."""
        if self.minutes:
            return frozenset()
        found = {"h:m:s": _THREE_PARTS, "m:s": _BEYOND_A_DAY}
        return frozenset(
            unit
            for unit, pattern in found.items()
            if pc.any(pc.match_substring_regex(plain_texts(texts), pattern)).as_py()
        )

    def settled(self, units: frozenset[str]) -> DurationNotation:
        return self

    def to_document(self) -> dict[str, str]:
        return {"duration": "seconds", **({"clock": "m:s"} if self.minutes else {})}
