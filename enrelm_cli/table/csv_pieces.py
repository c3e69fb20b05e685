"""CSV text as blocks of whole records: where a record ends, where a block may be cut, which line a row is on.

The rules are those of pyarrow's parser, which reads the blocks afterwards: a quote opens a quoted field only at the
start of a field, inside it two quotes are one, and a line end inside it is data. A record ends with LF, CR LF or CR.

In a file that keeps to RFC 4180 a byte is inside quotes when an odd number of quotes stands before it, which numpy
answers for a whole block at once. Where a stray quote (`12" pipe`) breaks that rule, the quotes of that block are
walked one by one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.errors import DataError
from enrelm_cli.table.storage.streams import Readable, read_fully

Positions = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_QUOTE, _LF, _CR = 34, 10, 13
# A record longer than this is a quote that was opened and never closed.
LONGEST_RECORD = 64 << 20


@dataclass(frozen=True)
class Block:
    """Whole records of a CSV file, without the header."""

    data: bytes
    start: int  # offset of the first byte in the decoded file
    line: int  # physical line of the first record, from 1
    whole: bool  # these are all the records of the file
    lines: int = 0  # how many lines it has, where they were counted: about its rows

    @property
    def stop(self) -> int:
        return self.start + len(self.data)


@dataclass(frozen=True)
class Records:
    """Where each record of a block lies: without its line end, blank lines left out."""

    start: Positions  # (t,)
    stop: Positions  # (t,)


def as_bytes(data: Any) -> Bytes:
    return np.frombuffer(data, dtype=np.uint8)


def _find(text: Bytes, byte: int) -> Positions:
    return np.flatnonzero(text == byte)


@dataclass(frozen=True)
class Quoting:
    """The quoted stretches of a text that starts outside quotes: open[i] <= byte < close[i] is inside."""

    open: Positions
    close: Positions

    def outside(self, positions: Positions) -> Positions:
        """Those positions that are not inside quotes."""
        if not len(self.open):
            return positions
        stretch = np.searchsorted(self.open, positions, side="right") - 1
        inside = (stretch >= 0) & (positions < self.close[stretch])
        return positions[~inside]


def quoting(text: Bytes, delimiter: str) -> Quoting:
    """The quoted stretches of a text that begins at the start of a record."""
    quotes = _find(text, _QUOTE)
    if not len(quotes):
        return Quoting(quotes, quotes)
    end = np.int64(len(text))
    before = text[np.maximum(quotes - 1, 0)]
    starts_field = (quotes == 0) | (before == _LF) | (before == _CR)
    for byte in delimiter.encode():
        starts_field |= before == byte
    opening, closing = quotes[0::2], quotes[1::2]
    # A doubled quote reads as "closed and opened again", which hides no line end.
    doubled = np.zeros(len(opening), dtype=bool)
    doubled[1:] = opening[1:] == closing[: len(opening) - 1] + 1
    if not (starts_field[0::2] | doubled).all():
        return _walked(text, quotes, starts_field)
    return Quoting(opening, np.append(closing, end) if len(quotes) % 2 else closing)


def _walked(text: Bytes, quotes: Positions, starts_field: NDArray[np.bool_]) -> Quoting:
    """The same where quotes also stand inside plain fields: one quote after the other."""
    opened: list[int] = []
    closed: list[int] = []
    inside, skip = False, -1
    last = len(text) - 1
    for position, at_start in zip(quotes.tolist(), starts_field.tolist(), strict=True):
        if position == skip:
            continue
        if not inside:
            if at_start:
                opened.append(position)
                inside = True
        elif position < last and text[position + 1] == _QUOTE:
            skip = position + 1
        else:
            closed.append(position)
            inside = False
    if inside:
        closed.append(len(text))
    return Quoting(np.array(opened, dtype=np.int64), np.array(closed, dtype=np.int64))


def line_ends(text: Bytes, marks: Quoting) -> Positions:
    """The last byte of every line end that is not inside quotes."""
    feeds = marks.outside(_find(text, _LF))
    returns = _find(text, _CR)
    if len(returns):
        followed = text[np.minimum(returns + 1, len(text) - 1)] == _LF
        alone = marks.outside(returns[~followed])
        if len(alone):
            return np.sort(np.concatenate([feeds, alone]))
    return feeds


def records(data: Any, delimiter: str, one_column: bool = False) -> Records:
    """Every record of a block; in a table of one column a blank line is one, too."""
    text = as_bytes(data)
    ends = line_ends(text, quoting(text, delimiter))
    start = np.concatenate([[0], ends + 1])
    stop = np.append(ends, len(text))
    full = start < stop
    if one_column:
        full[:-1] = True  # the last is what follows the last line end
    start, stop = start[full], stop[full]
    # CR LF: the line end begins a byte earlier.
    stop = stop - ((text[stop - 1] == _CR) & (stop < len(text)) & (text[np.minimum(stop, len(text) - 1)] == _LF))
    full = (start < stop) | one_column
    return Records(start[full], stop[full])


def cells(data: Any, delimiter: str, rows: Records) -> Positions:
    """How many cells each record has."""
    text = as_bytes(data)
    marks = quoting(text, delimiter)
    between = marks.outside(_find(text, delimiter.encode()[0]))
    return np.searchsorted(between, rows.stop) - np.searchsorted(between, rows.start) + 1


def lines_before(data: bytes, position: int) -> int:
    """Physical lines that end before a byte, also those inside quotes."""
    feeds = data.count(b"\n", 0, position)
    if data.find(b"\r", 0, position) < 0:
        return feeds
    text = as_bytes(data)[:position]
    returns = _find(text, _CR)
    alone = text[np.minimum(returns + 1, len(text) - 1)] != _LF
    return feeds + int(np.count_nonzero(alone))


def last_cut(data: bytes, delimiter: str) -> int:
    """The end of the last whole record (0: none ends here)."""
    if b'"' not in data and (feed := data.rfind(b"\n")) >= 0:
        return feed + 1  # the common case, without a look at every byte
    text = as_bytes(data)
    marks = quoting(text, delimiter)
    feed = len(text)
    while (feed := data.rfind(b"\n", 0, feed)) >= 0:
        stretch = int(np.searchsorted(marks.open, feed, side="right")) - 1
        if stretch < 0 or feed >= marks.close[stretch]:
            return feed + 1
        feed = int(marks.open[stretch])
    # Lone CRs; one in the last byte may be half of a CR LF.
    ends = line_ends(text[:-1], marks) if len(text) else np.array([], dtype=np.int64)
    return int(ends[-1]) + 1 if len(ends) else 0


def split_cells(record: str, delimiter: str) -> list[str]:
    """The cells of one record, unquoted."""
    csv.field_size_limit(LONGEST_RECORD)
    rows = list(csv.reader(io.StringIO(record, newline=""), delimiter=delimiter))
    return rows[0] if rows else []


# ------------------------------------------------------------------------------------------------ blocks


def cut_blocks(
    stream: Readable, size: int, delimiter: str, label: str, start: int = 0, line: int = 1, one_column: bool = False
) -> Iterator[Block]:
    """Blocks of whole records of about `size` bytes, in order; only one is held at a time.

    Of one column: blank lines are rows, but those at the end of a file are not, so no block ends with one.
    """
    tail, first, want = b"", True, size
    while True:
        fresh = read_fully(stream, want)
        ended = len(fresh) < want
        data = tail + fresh if tail else fresh
        if ended:
            data = data[: _before_blanks(data)] if one_column else data
            if data:
                _check_closed(data, delimiter, label, line)
                yield Block(data, start, line, first, lines_before(data, len(data)))
            return
        cut = last_cut(data, delimiter)
        if one_column:
            cut = min(cut, _before_blanks(data[:cut]))
        if not cut:
            # Not one whole record yet: read on, in doubling steps so that the work stays linear.
            if len(data) > LONGEST_RECORD:
                raise _endless(label, line, data)
            tail, want = data, len(data)
            continue
        block = data[:cut] if cut < len(data) else data
        lines = lines_before(block, cut)
        yield Block(block, start, line, False, lines)
        tail, want, first = data[cut:], size, False
        start += cut
        line += lines


def _before_blanks(data: bytes) -> int:
    """The end of the last line that is not blank, with its line end."""
    end = len(data.rstrip(b"\r\n"))
    rest = data[end : end + 2]
    return end + (2 if rest == b"\r\n" else len(rest[:1])) if end else 0


def _check_closed(data: bytes, delimiter: str, label: str, line: int) -> None:
    """The end of a file is not inside quotes."""
    marks = quoting(as_bytes(data), delimiter)
    if len(marks.close) and marks.close[-1] == len(data):
        start = int(records(data, delimiter).start[-1])
        shown = data[start : start + 40].decode("utf-8", "replace")
        raise DataError(
            f"{label}, line {line + lines_before(data, start)}: a double quote is opened and never closed: {shown!r}",
            'a double quote at the start of a cell has to be closed; inside such a cell write "" for "',
        )


def _endless(label: str, line: int, data: bytes) -> DataError:
    shown = data[:40].decode("utf-8", "replace")
    return DataError(
        f"{label}, line {line}: a record of more than {LONGEST_RECORD >> 20} MB, which begins {shown!r}",
        'a quote that is opened and never closed reads like this: look for a single " at the start of a cell',
    )
