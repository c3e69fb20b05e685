"""Record boundaries against a literal state machine, and blocks of any size."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enrelm_cli.errors import DataError
from enrelm_cli.table import csv_pieces
from enrelm_cli.table.csv_pieces import cells, cut_blocks, last_cut, lines_before, records
from enrelm_cli.table.storage.streams import PACKINGS, Skipped, Transcoded, Unpacked, read_fully

awkward = st.lists(st.sampled_from(["a", '"', '""', ",", "\n", "\r\n", "\r", '"b,\n"', "ü", " "]), max_size=40).map(
    lambda parts: "".join(parts).encode()
)


def slow_records(text: bytes) -> tuple[list[tuple[int, int, int]], bool]:
    """(start, stop, cells) of every record, byte by byte: the rules of pyarrow's parser; whether a quote stays open."""
    found: list[tuple[int, int, int]] = []
    i, start, count, field_start, quoted = 0, 0, 1, True, False

    def finish(stop: int, following: int) -> None:
        nonlocal start, count, field_start
        if stop > start:
            found.append((start, stop, count))
        start, count, field_start = following, 1, True

    while i < len(text):
        byte = text[i : i + 1]
        if quoted:
            if byte == b'"':
                if text[i + 1 : i + 2] == b'"':
                    i += 1
                else:
                    quoted = False
        elif byte == b'"' and field_start:
            quoted, field_start = True, False
        elif byte == b",":
            count, field_start = count + 1, True
        elif byte == b"\n":
            finish(i, i + 1)
        elif byte == b"\r":
            following = i + 2 if text[i + 1 : i + 2] == b"\n" else i + 1
            finish(i, following)
            i = following - 1
        else:
            field_start = False
        i += 1
    finish(len(text), len(text))
    return found, quoted


@settings(max_examples=300)
@given(awkward)
def test_records_and_cells_equal_those_of_the_literal_state_machine(text: bytes) -> None:
    rows = records(text, ",")
    counts = cells(text, ",", rows)
    assert list(zip(rows.start.tolist(), rows.stop.tolist(), counts.tolist(), strict=True)) == slow_records(text)[0]


@settings(max_examples=300)
@given(awkward)
def test_records_are_those_that_pyarrow_reads_and_it_refuses_the_ragged_ones(text: bytes) -> None:
    counts = cells(text, ",", records(text, ",")).tolist()
    if not counts:
        return
    names = [str(i) for i in range(counts[0])]
    try:
        rows = pa_csv.read_csv(
            pa.BufferReader(text),
            pa_csv.ReadOptions(column_names=names, use_threads=False),
            pa_csv.ParseOptions(newlines_in_values=True),
            pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        ).num_rows
    except pa.ArrowInvalid:
        rows = -1
    assert rows == (len(counts) if len(set(counts)) == 1 else -1)


@settings(max_examples=300)
@given(awkward, st.integers(1, 30))
def test_blocks_of_any_size_hold_the_same_records_on_the_same_lines(text: bytes, size: int) -> None:
    expected, unclosed = slow_records(text)
    if unclosed:
        with pytest.raises(DataError, match="never closed"):
            list(cut_blocks(io.BytesIO(text), size, ",", "t"))
        return
    blocks = list(cut_blocks(io.BytesIO(text), size, ",", "t"))
    assert b"".join(block.data for block in blocks) == text
    found, lines = [], []
    for block in blocks:
        rows = records(block.data, ",")
        for start, stop in zip(rows.start.tolist(), rows.stop.tolist(), strict=True):
            found.append((block.start + start, block.start + stop))
            lines.append(block.line + lines_before(block.data, start))
    assert found == [(start, stop) for start, stop, _ in expected]
    assert lines == [
        1 + text[:start].replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") for start, _, _ in expected
    ]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        (b"a,b\nc", 4),
        (b"a,b", 0),
        (b'1,"x\ny"\n2,"z\n', 8),
        (b'1,12" pipe\n2,"z\n', 11),
        (b"1\r2\r", 2),  # the last CR may be half of a CR LF
        (b'"\n\n\n', 0),
    ],
)
def test_a_block_is_cut_after_its_last_whole_record(text: bytes, cut: int) -> None:
    assert last_cut(text, ",") == cut


def test_a_quote_that_is_never_closed_does_not_swallow_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_pieces, "LONGEST_RECORD", 1000)
    text = b'1,2\n"3,4\n' + b"5,6\n" * 10_000
    with pytest.raises(DataError, match="line 2: a record of more than") as error:
        list(cut_blocks(io.BytesIO(text), 16, ",", "t.csv"))
    assert "never closed" in str(error.value.hint)


class Dribble:
    """A pipe that hands over a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self._stream = io.BytesIO(data)

    def read(self, size: int = -1, /) -> bytes:
        return self._stream.read(3 if size < 0 else min(size, 3))


def test_a_pipe_that_hands_over_little_gives_full_blocks() -> None:
    text = b"1,2\n" * 100
    assert [len(block.data) for block in cut_blocks(Dribble(text), 100, ",", "t")] == [100] * 4
    assert read_fully(Dribble(text), 50) == text[:50]
    again = Skipped(Dribble(text[10:]), text[:10])
    assert read_fully(again, 400) == text


def test_other_encodings_are_read_as_utf8_however_they_are_cut() -> None:
    text = "näme,y\nZürich,1\n" * 50
    for encoding in ("latin-1", "utf-16", "cp1252"):
        assert read_fully(Transcoded(Dribble(text.encode(encoding)), encoding, "t"), 10_000) == text.encode()


def test_bytes_that_are_not_of_the_encoding_name_their_line() -> None:
    stream = Transcoded(io.BytesIO(b"a,y\n1,2\n\xff\xfe,3\n"), "ascii", "t.csv")
    with pytest.raises(DataError, match=r"t.csv, line 3: not ascii text"):
        read_fully(stream, 100)


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_gzip_file_is_a_data_error(damage: str) -> None:
    packed = bytearray(gzip.compress(np.random.default_rng(0).bytes(10_000)))
    if damage == "cut":
        packed = packed[:5_000]
    else:
        packed[-6] ^= 1
    with pytest.raises(DataError, match="gzip"):
        read_fully(Unpacked(io.BytesIO(bytes(packed)), "t.csv.gz", PACKINGS[0]), 20_000)
