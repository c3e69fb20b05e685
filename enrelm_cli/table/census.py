"""In which notation a column of texts is written: decided over all of its cells.

A census counts, for every notation that a column may be written in, the cells that it cannot read. Censuses of the
blocks of a table merge, and nothing in them depends on where the blocks were cut: a notation is given up when more
than `MOST_ODD` different texts do not fit it, which more cells can only confirm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from enrelm_cli.quoting import quoted
from enrelm_cli.table.notation import (
    DateNotation,
    DurationNotation,
    MeasureNotation,
    Notation,
    NumberNotation,
    PowerNotation,
    notation_from_document,
)
from enrelm_cli.table.notation.texts import plain_texts

MOST_ODD = 20  # different texts that are neither numbers nor words for nothing; also: more numbers than this are many
ODD_SHARE = 0.05  # of the cells
# One or two texts that stand for themselves ("Varies with device") may take up more: missing cells are told apart, too.
_FEW_ODD, _FEW_ODD_SHARE = 2, 0.5
# The first of several that fit is taken: the date 20141013T000000 is no measure in T000000.
_FAMILIES = (NumberNotation, PowerNotation, DurationNotation, DateNotation, MeasureNotation)
_FIRST_LOOK = 100

# Words for a cell without a value, in lower case. In a column of numbers or dates any share of the cells may be these.
_WORDS = """
    na n/a n.a. n.a nan nil none null void unknown unk missing blank empty undefined unspecified tbd tba
    not_available not_applicable not_known not_reported #n/a #na #null! #div/0! #value! #ref! #name? #num!
    . .. ... - -- --- – — ? ?? ??? * <na> <null> (null) (none) (blank) (unknown) [null]
"""
_PHRASES = ("not available", "not applicable", "not known", "not reported", "no data", "no value")
MISSING_WORDS = frozenset(_WORDS.split()) | {*_PHRASES}


@dataclass(frozen=True)
class Format:
    """How the texts of one column are read."""

    notation: Notation
    missing: tuple[str, ...] = ()  # texts that were found among the numbers or dates, and mean a missing cell

    def to_document(self) -> dict[str, Any]:
        return {**self.notation.to_document(), "missing": list(self.missing)}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Format:
        return Format(notation_from_document(document), tuple(str(text) for text in document["missing"]))

    def means_missing(self, text: str) -> bool:
        return text in self.missing or text.lower() in MISSING_WORDS


@dataclass(frozen=True)
class Tally:
    """What a notation makes of the cells of a column."""

    odd: Mapping[str, int]  # texts that it cannot read, and how many cells have them
    read: frozenset[str]  # texts that it can read, up to MOST_ODD + 1 of them
    example: str  # of these the longest, the last of several
    units: frozenset[str] = frozenset()  # that stand in them, up to two

    @property
    def hopeless(self) -> bool:
        return len(self.odd) > MOST_ODD

    def merge(self, other: Tally) -> Tally:
        odd = dict(self.odd)
        for text, count in other.odd.items():
            odd[text] = odd.get(text, 0) + count
        read = frozenset(sorted(self.read | other.read)[: MOST_ODD + 1])
        example = max(self.example, other.example, key=_length_first)
        return Tally(odd, read, example, _two(self.units | other.units))


def _two(units: frozenset[str]) -> frozenset[str]:
    """More than one is too many, however many there are."""
    return frozenset(sorted(units)[:2])


def _length_first(text: str) -> tuple[int, str]:
    return len(text), text


@dataclass(frozen=True)
class Census:
    """What every notation makes of a column; one that is not listed cannot be that of the column."""

    cells: int  # that are not missing
    tallies: Mapping[Notation, Tally]

    def merge(self, other: Census) -> Census:
        both = {
            notation: mine.merge(other.tallies[notation])
            for notation, mine in self.tallies.items()
            if notation in other.tallies
        }
        hopeful = {notation: tally for notation, tally in both.items() if not tally.hopeless}
        return Census(self.cells + other.cells, hopeful)


def take_census(array: Any, notations: Sequence[Notation], nulls: tuple[str, ...]) -> Census:
    """Of a column of dictionary-encoded texts."""
    used = np.bincount(array.indices.drop_null().to_numpy(), minlength=len(array.dictionary))
    trimmed = pc.utf8_trim_whitespace(array.dictionary).dictionary_encode()
    counts = np.bincount(trimmed.indices.to_numpy(), weights=used, minlength=len(trimmed.dictionary)).astype(np.int64)
    missing = pc.is_in(trimmed.dictionary, value_set=pa.array(nulls, pa.string())).to_numpy(zero_copy_only=False)
    present = (counts > 0) & ~missing
    texts, counts = trimmed.dictionary.filter(pa.array(present)), counts[present]
    tallies: dict[Notation, Tally] = {}
    for family in _FAMILIES:
        tallies.update(_tallies([one for one in notations if isinstance(one, family)], texts, counts))
    return Census(int(counts.sum()), {notation: tally for notation, tally in tallies.items() if not tally.hopeless})


def _tallies(notations: Sequence[Notation], texts: Any, counts: Any) -> dict[Notation, Tally]:
    """What notations of one family make of the texts; those that are sure to be hopeless are left out."""
    if not notations:
        return {}
    # Most columns of texts are neither numbers nor dates, and a glance at a hundred of their texts says so.
    few = texts.slice(0, _FIRST_LOOK)
    like = pc.sum(pc.match_substring_regex(plain_texts(few), notations[0].like)).as_py() or 0
    if len(few) - like > MOST_ODD:
        return {}
    tallies: dict[Notation, Tally] = {}
    first = few.to_pylist()
    nothing = Tally(dict(zip(first, counts.tolist(), strict=False)), frozenset(), "")
    for notation in notations:
        matches = sum(map(notation.looks, first)) if like else 0
        if not matches and len(few) == len(texts):
            tallies[notation] = nothing
        elif len(few) - matches <= MOST_ODD:
            tallies[notation] = _tally(notation, texts, counts)
    return tallies


def _tally(notation: Notation, texts: Any, counts: Any) -> Tally:
    odd = notation.read(texts).is_null().to_numpy(zero_copy_only=False)
    odd_texts = texts.filter(pa.array(odd)).slice(0, MOST_ODD + 1).to_pylist()
    unread = dict(zip(odd_texts, counts[odd].tolist(), strict=False))
    read = texts.filter(pa.array(~odd))
    lengths = pc.utf8_length(read).to_numpy()
    longest = read.filter(pa.array(lengths == lengths.max())).to_pylist() if len(read) else [""]
    first = read.take(pc.array_sort_indices(read)[: MOST_ODD + 1]).to_pylist()
    return Tally(unread, frozenset(first), max(longest), _two(notation.units(read)))


# ------------------------------------------------------------------------------------------------ the decision


@dataclass(frozen=True)
class Decision:
    """The notation of a column, and what the user should know about it."""

    name: str
    format: Format
    reading: str  # what it is read as
    rival: str | None  # the option for another reading that fits as well
    odd: str | None  # the cells that are not in the notation and count as missing

    @property
    def strange(self) -> bool:
        """Some of those cells are not words for nothing."""
        return any(text.lower() not in MISSING_WORDS for text in self.format.missing)

    @property
    def note(self) -> str:
        guess = "" if self.rival is None else f", which is a guess: for the other reading type {self.rival}"
        odd = "" if self.odd is None else f"; {self.odd}"
        return f"column {self.name!r}: {self.reading}{guess}{odd}; --categorical {quoted(self.name)} keeps texts"


def decide(name: str, census: Census, only_words: bool) -> Decision | None:
    """The notation that leaves the fewest cells unread, the first of several; None: these are texts.

    What it leaves are words for a missing cell, or, unless `only_words`, a few texts among many numbers.
    """
    fits = [
        notation
        for notation, tally in census.tallies.items()
        if _fits(tally, census.cells, only_words)
        and not (only_words and _few_measures(notation, tally))
        and not _hides_units(notation, census)
    ]
    if not fits:
        return None
    unread = {notation: sum(census.tallies[notation].odd.values()) for notation in fits}
    rivals = [notation for notation in fits if unread[notation] == min(unread.values())]
    best = rivals[0]
    if isinstance(best, DurationNotation):
        # One unit in all cells is no span of time that has to be added up: `5 m` may be metres.
        best = next((one for one in rivals if isinstance(one, MeasureNotation)), best)
    tally = census.tallies[best]
    rival = _rival(name, best, tally, rivals)
    found = Format(best.settled(tally.units), tuple(sorted(tally.odd)))
    return Decision(name, found, _reading(best, tally), rival, _odd(tally))


def _fits(tally: Tally, cells: int, only_words: bool) -> bool:
    strange = [count for text, count in tally.odd.items() if text.lower() not in MISSING_WORDS]
    if not tally.read or len(tally.units) > 1 or (strange and only_words):
        return False
    share = _FEW_ODD_SHARE if len(strange) <= _FEW_ODD else ODD_SHARE
    return not strange or (sum(strange) <= share * cells and len(tally.read) > MOST_ODD)


def _hides_units(notation: Notation, census: Census) -> bool:
    """Whether the other decimal mark reads more cells, in several units: `1.5MB` among `20KB` is no missing cell."""
    if isinstance(notation, DateNotation | DurationNotation):
        return False
    other = census.tallies.get(replace(notation, decimal=".,"[notation.decimal == "."]))
    own = census.tallies[notation]
    return other is not None and len(other.units) > 1 and sum(other.odd.values()) < sum(own.odd.values())


def _few_measures(notation: Notation, tally: Tally) -> bool:
    """`4 stars`, `5 stars`: as a target these may well be classes."""
    return isinstance(notation, MeasureNotation) and len(tally.read) <= MOST_ODD


def _rival(name: str, best: Notation, tally: Tally, rivals: Sequence[Notation]) -> str | None:
    """The option for another notation that reads every cell as well, but as something else."""
    if isinstance(best, DateNotation):
        other = best.swapped()
        if other is None or other not in rivals:
            return None
        return f"--date-format {quoted(f'{name}={other.pattern}')}"
    if isinstance(best, DurationNotation) or best.decimal == ",":
        return None
    differs = replace(best, decimal=",") in rivals and re.search(r"\d[.,]\d", tally.example)
    return "--decimal ," if differs else None


def _reading(notation: Notation, tally: Tally) -> str:
    if isinstance(notation, DateNotation):
        return f"read as dates like {notation.pattern}"
    if isinstance(notation, DurationNotation):
        return f"read as seconds from times like {tally.example!r}"
    return f"read as numbers like {tally.example!r}"


def _odd(tally: Tally) -> str | None:
    if not tally.odd:
        return None
    odd = sorted(tally.odd.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = ", ".join(f"{text!r} {count:,}" for text, count in odd[:3]) + (", …" if len(odd) > 3 else "")
    many = sum(tally.odd.values())
    return f"{many:,} other {'cell counts' if many == 1 else 'cells count'} as missing ({shown})"
