"""Numbers as people write them, with separators and signs of money or per cent: `$1,234`, `1 234,5`, `12 %`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from enrelm_cli.table.kinds import Kind
from enrelm_cli.table.notation.texts import CURRENCIES, compiled, digits, floats, plain_text, plain_texts

_UNIT = "%" + CURRENCIES


@dataclass(frozen=True)
class NumberNotation:
    """Numbers with a decimal mark, perhaps thousands separators, and perhaps a unit before or after."""

    decimal: str = "."
    kind: ClassVar[Kind] = Kind.NUMBER
    # What every number looks like at least, whatever its marks: a quick test.
    like: ClassVar[str] = rf"^[ (+\-\x{{2212}}{_UNIT}]*(?:[.,]?\d[^A-DF-Za-df-z/:]*$|[iI][nN][fF])"

    @property
    def regex(self) -> str:
        number = digits(self.decimal)
        before, after = rf"(?:[{_UNIT}] ?)?", rf"(?: ?[{_UNIT}])?"
        signed = rf"(?:[+-]? ?{before}|[{_UNIT}] ?[+-]){number}{after}"
        return rf"^(?:{signed}|\({before}{number}{after}\)|[+-]?[iI][nN][fF](?:inity)?)$"

    def looks(self, text: str) -> bool:
        """Whether a text, without space around it, is written like this: quick, for a few."""
        return compiled(self).fullmatch(plain_text(text)) is not None

    def read(self, texts: Any) -> Any:
        """(t,) texts as float64; null where a text is not written like this."""
        texts = plain_texts(texts)
        fits = pc.match_substring_regex(texts, compiled(self).pattern)
        plain = pc.if_else(fits, texts, pa.scalar(None, pa.string()))
        # An amount in parentheses is negative, as accountants write it.
        return floats(pc.replace_substring_regex(plain, r"^\(", "-"), self.decimal)

    def units(self, texts: Any) -> frozenset[str]:
        """That stand in texts which it can read: numbers of several are not comparable."""
        return frozenset("".join(texts.to_pylist())) & frozenset(_UNIT)

    def settled(self, units: frozenset[str]) -> NumberNotation:
        return self

    def to_document(self) -> dict[str, str]:
        return {"decimal": self.decimal}
