"""How the text of a table is to be understood."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from enrelm_cli.errors import UsageError
from enrelm_cli.settings import ReadOptions
from enrelm_cli.table.census import Format
from enrelm_cli.table.kinds import Kind
from enrelm_cli.table.notation import given_date

# Missing in a column of numbers, dates or booleans. In a column of texts NA and none may well mean "none of it", and a
# level of its own says everything that a missing cell would.
DEFAULT_NULLS = (
    *("NA", "N/A", "n/a", "na", "NaN", "nan", "null", "NULL", "Null", "None", "none", "NONE"),
    *("?", "-", "--", ".", "#N/A", "#NA"),
)


@dataclass(frozen=True)
class ReadAs:
    """How the text of a table is understood. It travels with a model: a table to predict is read as the fit's was."""

    delimiter: str | None = None  # None: by extension, else by header line
    decimal: str = "."
    encoding: str = "utf-8"
    nulls: tuple[str, ...] = ("",)  # missing in every column
    number_nulls: tuple[str, ...] = DEFAULT_NULLS  # missing in a column that is not one of texts
    formats: tuple[tuple[str, Format], ...] = ()  # of the columns that are not written plainly, sorted by name
    anonymous: bool = field(default=False, compare=False, repr=False)  # no credentials for s3:// and gs://
    block_bytes: int = field(default=16 << 20, compare=False, repr=False)  # about this much text is parsed at once
    batch_rows: int = field(default=16_384, compare=False, repr=False)  # most rows of a batch

    @property
    def is_utf8(self) -> bool:
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig", "ascii")

    def nulls_of(self, kind: Kind) -> tuple[str, ...]:
        """The texts that mean a missing cell in a column of this kind."""
        return self.nulls if kind is Kind.TEXT else (*self.nulls, *self.number_nulls)

    def to_document(self) -> dict[str, Any]:
        """Plain values only, for the model file: what a table to predict is read with."""
        return {
            "delimiter": self.delimiter,
            "decimal": self.decimal,
            "encoding": self.encoding,
            "nulls": list(self.nulls),
            "number_nulls": list(self.number_nulls),
            "formats": {name: found.to_document() for name, found in self.formats},
        }

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> ReadAs:
        delimiter, decimal, encoding = document["delimiter"], str(document["decimal"]), str(document["encoding"])
        try:
            ReadOptions(delimiter, decimal, encoding)
            formats = {str(name): Format.from_document(found) for name, found in dict(document["formats"]).items()}
        except UsageError as error:
            # Not what the user typed: the model file is at fault.
            raise ValueError(error.problem) from error
        nulls, number_nulls = (tuple(str(text) for text in document[key]) for key in ("nulls", "number_nulls"))
        return ReadAs(delimiter, decimal, encoding, nulls, number_nulls, _by_name(formats))


def read_as(said: ReadOptions, base: ReadAs | None = None) -> ReadAs:
    """What the user said, over how the model's table was read."""
    base = base or ReadAs()
    nulls = tuple(dict.fromkeys((*base.nulls, *said.nulls)))
    if said.only_nulls:
        nulls = tuple(dict.fromkeys(("", *said.only_nulls)))
    found = ReadAs(
        delimiter=said.delimiter or base.delimiter,
        decimal=said.decimal or base.decimal,
        encoding=said.encoding or base.encoding,
        nulls=nulls,
        number_nulls=() if said.only_nulls else base.number_nulls,
        formats=_by_name({**dict(base.formats), **dict(_date_format(text) for text in said.date_formats)}),
        anonymous=said.anonymous,
        block_bytes=said.block_bytes,
        batch_rows=said.batch_rows,
    )
    if found.delimiter == found.decimal:
        raise UsageError(
            f"{found.delimiter!r} cannot be both delimiter and decimal mark", "type --delimiter ';' or --decimal ."
        )
    return found


def _by_name(formats: Mapping[str, Format]) -> tuple[tuple[str, Format], ...]:
    return tuple((name, formats[name]) for name in sorted(formats))


def _date_format(text: str) -> tuple[str, Format]:
    name, mark, pattern = text.rpartition("=")
    if not mark or not name:
        raise UsageError(f"--date-format {text!r} names no column", "for example --date-format when=%d/%m/%Y")
    return name, Format(given_date(pattern))
