"""Why a model file cannot be loaded, in words for people: damaged, hostile, of a newer version, or another file."""

from __future__ import annotations

import os

from enrelm_cli.redaction import redacted

AGAIN = "copy the file again from where it was made, or fit the model again with `enrelm fit ... -o MODEL`"
GIVE_MODEL = "give a model that `enrelm fit ... -o MODEL` wrote"


class Problem(Exception):
    """Why a file cannot be loaded: the predicate of a sentence whose subject is the file, and a hint."""

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


def damaged(what: str) -> Problem:
    return Problem(f"is damaged: {what}", AGAIN)


def unusual() -> Problem:
    return Problem("holds an object that enrelm never writes; nothing in it was run", GIVE_MODEL)


_MAGIC = (
    (b"PK", "a zip archive (or a workbook)"),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"BZh", "compressed with bzip2"),
    (b"\xfd7zXZ\x00", "compressed with xz"),
    (b"\x5d\x00\x00", "compressed with lzma"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
    (b"\x04\x22\x4d\x18", "compressed with lz4"),
    (b"x\x01", "compressed with zlib"),
    (b"x^", "compressed with zlib"),
    (b"x\x9c", "compressed with zlib"),
    (b"x\xda", "compressed with zlib"),
    (b"ZF", "a joblib file from before 2016"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"\x93NUMPY", "a numpy array file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x80", "a pickle of another program"),
)


def foreign(start: bytes) -> Problem:
    """Name the commonest strangers by their first bytes."""
    for magic, kind in _MAGIC:
        if start.startswith(magic):
            hint = "decompress it first; enrelm writes its models uncompressed" if "compressed" in kind else GIVE_MODEL
            return Problem(f"is {kind}, not an enrelm model", hint)
    text = start.decode("utf-8", "ignore")
    if text and all(character.isprintable() or character in "\t\r\n\ufeff" for character in text):
        return Problem("is a text file, not an enrelm model", f"{GIVE_MODEL}; the model comes before the data")
    return Problem("is not an enrelm model", GIVE_MODEL)


def shown(value: object) -> str:
    """Text from a file or a path, safe on a terminal: one line, no control characters, no secret, not too long."""
    text = redacted(str(value))  # before it is cut: the rest of an address is none
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return text if len(text) <= 200 else f"{text[:120]}...{text[-60:]}"


def reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else shown(error)
