"""What a file is, by its first bytes: of another program, a web page, in another encoding; and what to type then."""

from __future__ import annotations

import os
import re

from enrelm_cli.errors import DataError
from enrelm_cli.quoting import quoted
from enrelm_cli.remote import is_remote
from enrelm_cli.table.storage.streams import Packing, packing_of, without_packing

# So many first bytes tell one format from another, and one kind of zip file.
LONGEST_MARK = 64
PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
CUT_SHORT = "it may be cut short: copy or write it again"

_FILE = "{}"
_EXCEL = (
    "pipe the first sheet (pip install openpyxl):\n    python3 -c 'import csv, sys, openpyxl; csv.writer(sys.stdout)"
    ".writerows(openpyxl.load_workbook(sys.argv[1], data_only=True).worksheets[0].values)' {} | enrelm ... -"
)
_CONVERT = "convert it, then name the CSV file:\n    libreoffice --headless --convert-to csv {}"
_REWRITE = "write it as CSV, Parquet, Arrow or JSON lines"
_PAGE = "a login page, or a page about the file, came in its place: use the link to the file itself"
# How it begins, what it is, and what makes a table of it: a line to paste stands on its own.
_OTHERS = [
    (re.compile(begins, re.DOTALL), kind, remedy)
    for begins, kind, remedy in (
        (
            rb"SQLite format 3\0",
            "a SQLite database",
            "pipe its rows:\n    sqlite3 -header -csv {} 'select * from TABLE' | enrelm ... -",
        ),
        (rb".{8}DUCK.\0", "a DuckDB database", "pipe its rows:\n    duckdb {} -csv -c 'from TABLE' | enrelm ... -"),
        (rb"PK\x03\x04.{26}(\[Content_Types\]|_rels/|docProps/|xl/)", "an Excel file", _EXCEL),
        (rb"PK\x03\x04.{26}mimetype", "an OpenDocument file", _CONVERT),
        (rb"PK\x03\x04", "a zip file", "pipe the file in it:\n    unzip -p {} | enrelm ... -"),
        (rb"\xd0\xcf\x11\xe0", "an old Excel file", _CONVERT),
        (rb"\xfd7zXZ\0", "a file compressed with xz", "pipe it:\n    xz -dc {} | enrelm ... -"),
        (rb"FEA1\0", "a Feather file of version 1", "write it again with today's pandas or pyarrow: as version 2"),
        (rb"\x89HDF\r\n", "an HDF5 file", _REWRITE),
        (rb"\x93NUMPY", "a numpy file", _REWRITE),
        (rb"Obj\x01", "an Avro file", _REWRITE),
        (rb"(\xef\xbb\xbf)?\s*<(?i:!doctype html|html)", "a web page", _PAGE),
        (rb"(\xef\xbb\xbf)?\s*<\?xml", "an XML file", _REWRITE),
    )
]
# Tables in themselves, but not within a compressed file.
_ALONE = ((PARQUET, "a Parquet file"), (ARROW_FILE, "an Arrow file"), (ARROW_STREAM, "an Arrow stream"))
_UNPACKERS = {"gzip": "gunzip -c", "bzip2": "bunzip2 -c", "zstd": "zstd -dc"}
_TYPED_NAMES = (
    ((".parquet", ".pq"), (PARQUET,), "Parquet"),
    ((".arrow", ".arrows", ".feather"), (ARROW_FILE, ARROW_STREAM), "Arrow"),
)


# ------------------------------------------------------------------------------------------------ other files


def refuse_others(label: str, head: bytes, packing: Packing | None = None) -> None:
    """A file that is no table, with the line that makes one of it; `packing`: what its first bytes came out of."""
    found = next(((kind, remedy) for begins, kind, remedy in _OTHERS if begins.match(head)), None)
    if packing is None:
        if found is not None:
            raise DataError(f"{label}: this is {found[0]}, not a table", _remedy(label, found[1]))
        return
    kind = found[0] if found is not None else _alone(head)
    if kind is not None:
        out = quoted(_unpacked_name(label))
        remedy = f"unpack it and name what comes out:\n    {_UNPACKERS[packing.name]} {_FILE} > {out}"
        raise DataError(f"{label}: {kind} within a {packing.name} file is not read", _remedy(label, remedy))


def _alone(head: bytes) -> str | None:
    packed = packing_of(head)
    if packed is not None:
        return f"a {packed.name} file"
    return next((kind for mark, kind in _ALONE if head.startswith(mark)), None)


def _unpacked_name(label: str) -> str:
    name = os.path.basename(label) if is_remote(label) else label
    return without_packing(name) if without_packing(name) != name else f"{name}.unpacked"


def _remedy(label: str, remedy: str) -> str:
    """What to type, for a file that has to be one of this machine first."""
    if _FILE not in remedy:
        return remedy
    before = "save it to a file first, then " if label == "stdin" else ""
    before = "download it first, then " if is_remote(label) else before
    return before + remedy.replace(_FILE, typed_file(label), 1)


def typed_file(label: str) -> str:
    """A file as other programs take it on a shell's line."""
    if label == "stdin":
        return "FILE"
    name = os.path.basename(label) if is_remote(label) else label
    return quoted(f"./{name}" if name.startswith("-") else name)


def check_name(label: str, name: str, head: bytes) -> None:
    """A file whose name says what its first bytes do not."""
    for endings, marks, kind in _TYPED_NAMES:
        if not name.lower().endswith(endings) or head.startswith(marks):
            continue
        if any(mark.startswith(head) for mark in marks):
            raise DataError(f"{label}: not a whole {kind} file", CUT_SHORT)
        if kind == "Parquet":
            problem = f"{label}: not a Parquet file, whatever its name says: it begins with {_shown(head)}"
            raise DataError(problem, "give it the name of what it is, such as .csv, .csv.gz, .jsonl or .arrow")


def _shown(head: bytes) -> str:
    kind = _alone(head)
    if kind is not None:
        return f"the bytes of {kind}"
    line = head.decode("utf-8", "replace").split("\n")[0].rstrip("\r")
    return repr(shorten(line)) if line.isprintable() else f"the bytes {head[:8].hex(' ')}"


# ------------------------------------------------------------------------------------------------ encodings


def utf8_text(label: str, line: int, value: bytes) -> str:
    """A line as text, or what encoding it may be in."""
    if b"\0" in value or value[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise _zero_bytes(label, line, value)
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise not_utf8(label, line, value) from None


def _zero_bytes(label: str, line: int, value: bytes) -> DataError:
    problem = f"{label}, line {line}: not UTF-8 text (it has zero bytes)"
    if value[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return DataError(problem, "try --encoding utf-16")
    # Of the two bytes of a letter the one that is zero is always the second, or always the first.
    places = {place % 2 for place, byte in enumerate(value) if not byte}
    encoding = "utf-16-le" if places == {1} else "utf-16-be"
    text = value.decode(encoding, "ignore").replace("\t", " ").strip()
    if len(places) > 1 or not text.isprintable():
        return DataError(f"{label}: neither text nor a table of a kind that is read", _REWRITE)
    return DataError(problem, f"try --encoding {encoding}")


def not_utf8(label: str, line: int, value: bytes) -> DataError:
    """The error for bytes that are not UTF-8; the value is shown as Latin-1, its most likely reading."""
    shown = value.decode("latin-1")
    return DataError(
        f"{label}, line {line}: not UTF-8 text: {shorten(shown)!r}",
        "name the file's encoding, most likely --encoding latin-1 or --encoding cp1252",
    )


def shorten(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
