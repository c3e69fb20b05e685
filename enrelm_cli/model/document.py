"""What a model file holds: plain data and arrays in one canonical form, and the checksums that find accidents.

    {...}          # dicts, lists, str, int, float, bool, None; arrays of float64, int64, uint64, bool

The checksums find a bad copy or a flipped bit. They are no signature: who can write the file can write them.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import numpy as np

from enrelm_cli.model.problems import damaged, shown
from enrelm_cli.types import Array

DTYPES = {"f8": np.dtype("<f8"), "i8": np.dtype("<i8"), "u8": np.dtype("<u8"), "b1": np.dtype("?")}
MAX_DEPTH = 64  # of nested containers: far above any model, far below Python's recursion limit
MAX_DIMENSIONS = 16
MAX_INTEGER_BITS = 2000  # what one short integer opcode can hold


def canonical(value: Any, strings: dict[str, str], trail: tuple[str, ...] = ()) -> Any:
    """A fresh copy in which only the values of the document, never the identity of its objects, decide the bytes."""
    if len(trail) > MAX_DEPTH:
        raise ValueError(f"a model document nests at most {MAX_DEPTH} levels: {shown(pointer(trail))}")
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return fresh(str(value), strings)
    if isinstance(value, (int, np.integer)):
        if int(value).bit_length() > MAX_INTEGER_BITS:
            raise ValueError(f"a model document's integers have at most {MAX_INTEGER_BITS} bits: {pointer(trail)}")
        return int(value)
    if isinstance(value, (float, np.float64)):
        return float(value)
    if type(value) in (np.ndarray, np.memmap):
        return _canonical_array(value, trail)
    if isinstance(value, (list, tuple)):
        return [canonical(item, strings, (*trail, str(i))) for i, item in enumerate(value)]
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"a model document's keys are strings: {pointer(trail) or '/'}")
        return {fresh(key, strings): canonical(value[key], strings, (*trail, key)) for key in sorted(value)}
    raise TypeError(f"a model document cannot hold {type(value).__name__}: {pointer(trail) or '/'}")


def fresh(text: str, strings: dict[str, str]) -> str:
    """One new object for each distinct string: pickle writes an object it has met as a reference, and which strings
    are the same object (with each other, or with joblib's own) is an accident of how the document was made."""
    if text not in strings:
        strings[text] = text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")
    return strings[text]


def _canonical_array(array: Array, trail: tuple[str, ...]) -> Array:
    dtype = DTYPES.get(f"{array.dtype.kind}{array.dtype.itemsize}")
    if dtype is None or array.ndim > MAX_DIMENSIONS:
        held = f"an array of {array.dtype}, {array.ndim} dimensions"
        raise TypeError(f"a model document cannot hold {held}: {pointer(trail)}")
    # The view drops a dtype's metadata, which a cast keeps and pickle would write.
    return np.asarray(array, dtype=dtype, order="C").view(dtype)


def pointer(trail: tuple[str, ...]) -> str:
    """A JSON pointer (RFC 6901), so that a key with a slash cannot pass for two."""
    return "".join(f"/{key.replace('~', '~0').replace('/', '~1')}" for key in trail)


def checksums(document: Any) -> dict[str, Any]:
    """sha256 of each array (type, shape, bytes) by its path, and of everything else as a tagged, prefix-free stream."""
    return _Checksums().of(document)


def verify(document: Any, stored: Any) -> None:
    """The document is the one that the stored checksums are of."""
    if type(stored) is not dict or type(stored.get("arrays")) is not dict:
        raise damaged("it has no checksums")
    # A sound file spells out the path of every array, so making them takes no more than the file holds.
    found = _Checksums(longest=sum(len(path) for path in stored["arrays"])).of(document)
    if not is_text(stored.get("document"), found["document"]):
        raise damaged("its contents do not match their checksum")
    for path in sorted(found["arrays"].keys() | stored["arrays"].keys()):
        if not is_text(stored["arrays"].get(path), found["arrays"].get(path, "")):
            raise damaged(f"the array {shown(path)} does not match its checksum")


def is_text(value: Any, text: str) -> bool:
    """Whether a value of unknown type is this text: an array there would answer == with another array."""
    return type(value) is str and value == text


class _Checksums:
    """A walk over a document."""

    def __init__(self, longest: int | None = None) -> None:
        self._longest = longest  # characters of all paths of arrays
        self._arrays: dict[str, str] = {}
        self._rest = hashlib.sha256()

    def of(self, document: Any) -> dict[str, Any]:
        self._feed(document, ())
        return {"document": self._rest.hexdigest(), "arrays": self._arrays}

    def _feed(self, value: Any, trail: tuple[str, ...]) -> None:
        if len(trail) > MAX_DEPTH:
            raise damaged(f"it nests deeper than {MAX_DEPTH} levels")
        if type(value) is np.ndarray:
            self._rest.update(b"a")
            self._arrays[self._path(trail)] = _array_checksum(value)
        elif type(value) is list:
            self._rest.update(b"[")
            for i, item in enumerate(value):
                self._feed(item, (*trail, str(i)))
            self._rest.update(b"]")
        elif type(value) is dict:
            self._rest.update(b"{")
            for key in sorted(value):
                self._rest.update(_scalar(key))
                self._feed(value[key], (*trail, key))
            self._rest.update(b"}")
        else:
            self._rest.update(_scalar(value))

    def _path(self, trail: tuple[str, ...]) -> str:
        if self._longest is not None:
            self._longest -= sum(len(key) + 1 for key in trail)
            if self._longest < 0:
                raise damaged("it has arrays without a checksum")
        return pointer(trail)


def _scalar(value: Any) -> bytes:
    if value is None:
        return b"n"
    if value is True or value is False:
        return b"t" if value else b"f"
    if type(value) is int:
        return b"i%d;" % value
    if type(value) is float:
        return b"d" + struct.pack("<d", value)
    if type(value) is str:
        text = value.encode("utf-8", "surrogatepass")
        return b"s%d:%b" % (len(text), text)
    raise damaged("it holds something other than plain data and arrays")


def _array_checksum(array: Array) -> str:
    little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    digest = hashlib.sha256(f"{little.dtype.kind}{little.dtype.itemsize}{little.shape}".encode())
    digest.update(little.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
