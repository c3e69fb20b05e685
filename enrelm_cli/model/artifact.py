"""Model files: how a model is saved, and how it is loaded without running anything that the file says.

A model file is a joblib file (uncompressed, pickle protocol 4, little-endian arrays) of plain data:

    {"format": "enrelm-model", "format_version": 1,
     "checksums": {"document": sha256, "arrays": {"/path/to/array": sha256, ...}},
     "document": {...}}          # dicts, lists, str, int, float, bool, None; arrays of float64, int64, uint64, bool

`joblib.load` reads it too, but runs whatever a hostile file asks for. joblib 1.6 has no restricted loader of its own:
its unpickler can be subclassed, but reads arrays of whatever size a file declares, and files that the file names.
`load` therefore reads the stream with a small machine of its own (`_Reader`). It knows the opcodes that `save` makes
joblib write, and no others; a class is only a *name* to it, compared with the three names that our files hold, never
looked up or imported. What it builds is a tree: containers cannot be shared, so nothing can be made to grow
exponentially. Compressed files are refused before they are inflated.

The checksums find accidents (a bad copy, a flipped bit). They are no signature: who can write the file can write them.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.errors import ModelFileError, UsageError

FORMAT = "enrelm-model"
FORMAT_VERSION = 1
LIMIT_VARIABLE = "ENRELM_MODEL_LIMIT"
DEFAULT_LIMIT = 4 * 1024**3

_PROTOCOL = 4  # fixed: Python's own default changes with its version, and the bytes with it
_DTYPES = {"f8": np.dtype("<f8"), "i8": np.dtype("<i8"), "u8": np.dtype("<u8"), "b1": np.dtype("?")}
_MAX_DEPTH = 64  # of nested containers: far above any model, far below Python's recursion limit
_MAX_DIMENSIONS = 16
_MAX_INTEGER_BITS = 2000  # what one short integer opcode can hold
_OBJECT_COST = 64  # bytes of memory that one opcode can cause, near enough

_AGAIN = "copy the file again from where it was made, or fit the model again with `enrelm fit ... -o MODEL`"
_GIVE_MODEL = "give a model that `enrelm fit ... -o MODEL` wrote"

Array = NDArray[Any]


class _Problem(Exception):
    """Why a file cannot be loaded: the predicate of a sentence whose subject is the file, and a hint."""

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


def _damaged(what: str) -> _Problem:
    return _Problem(f"is damaged: {what}", _AGAIN)


# ---------------------------------------------------------------------------------------------------------------------
# Saving


def save(document: dict[str, Any], path: str) -> None:
    """Write a model file: whole and readable under its final name, or not at all.

    Equal documents give equal bytes: keys are sorted, arrays stored in C order, equal strings stored once.
    Tuples come back as lists, numpy scalars as Python's.
    """
    import joblib  # here, because loading does without either

    from enrelm_cli.files import atomic_writer

    strings: dict[str, str] = {}
    plain = _canonical(document, strings, "", 0)
    # In this order, not sorted: the format's name and number stay in front, where any version finds them.
    whole = {
        _fresh("format", strings): _fresh(FORMAT, strings),
        _fresh("format_version", strings): FORMAT_VERSION,
        _fresh("checksums", strings): _canonical(_checksums(plain), strings, "", 0),
        _fresh("document", strings): plain,
    }
    content = io.BytesIO()
    joblib.dump(whole, content, compress=0, protocol=_PROTOCOL)
    _read_back(content, path)
    try:
        with atomic_writer(path) as stream:
            stream.write(content.getbuffer())
    except OSError as error:
        raise UsageError(f"{_shown(path)}: cannot be written ({_reason(error)})", _remedy(error)) from error


def _read_back(content: io.BytesIO, path: str) -> None:
    """Load what joblib wrote before it replaces an older model: another joblib may lay out its arrays differently."""
    content.seek(0)
    try:
        _read_document(content, content.getbuffer().nbytes, limit=None)
    except _Problem as problem:
        raise ModelFileError(
            f"{_shown(path)} was not written: what joblib made of the model {problem.problem}",
            "install the joblib that this enrelm was tested with: pip install 'joblib==1.6.*'",
        ) from problem


def _remedy(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "free some space, or write to another disk with -o"
    return "check that the folder may be written to, or choose another with -o"


def _canonical(value: Any, strings: dict[str, str], path: str, depth: int) -> Any:
    """A fresh copy in which only the values of the document, never the identity of its objects, decide the bytes."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"a model document nests at most {_MAX_DEPTH} levels: {path[:200]}")
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return _fresh(str(value), strings)
    if isinstance(value, (int, np.integer)):
        if int(value).bit_length() > _MAX_INTEGER_BITS:
            raise ValueError(f"a model document cannot hold an integer of more than {_MAX_INTEGER_BITS} bits: {path}")
        return int(value)
    if isinstance(value, (float, np.float64)):
        return float(value)
    if type(value) in (np.ndarray, np.memmap):
        return _canonical_array(value, path)
    if isinstance(value, (list, tuple)):
        return [_canonical(item, strings, f"{path}/{i}", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"a model document's keys are strings: {path or '/'}")
        return {
            _fresh(key, strings): _canonical(value[key], strings, _join(path, key), depth + 1) for key in sorted(value)
        }
    raise TypeError(f"a model document cannot hold {type(value).__name__}: {path or '/'}")


def _fresh(text: str, strings: dict[str, str]) -> str:
    """One new object for each distinct string: pickle writes an object it has met as a reference, and which strings
    are the same object (with each other, or with joblib's own) is an accident of how the document was made."""
    if text not in strings:
        strings[text] = text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")
    return strings[text]


def _canonical_array(array: Array, path: str) -> Array:
    dtype = _DTYPES.get(f"{array.dtype.kind}{array.dtype.itemsize}")
    if dtype is None or array.ndim > _MAX_DIMENSIONS:
        raise TypeError(f"a model document cannot hold an array of {array.dtype}, {array.ndim} dimensions: {path}")
    # The view drops a dtype's metadata, which a cast keeps and pickle would write.
    return np.asarray(array, dtype=dtype, order="C").view(dtype)


def _join(path: str, key: str) -> str:
    """A JSON pointer (RFC 6901), so that a key with a slash cannot pass for two."""
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"


# ---------------------------------------------------------------------------------------------------------------------
# Checksums


def _checksums(document: Any) -> dict[str, Any]:
    """sha256 of each array (type, shape, bytes) by its path, and of everything else as a tagged, prefix-free stream."""
    arrays: dict[str, str] = {}
    rest = hashlib.sha256()

    def feed(value: Any, path: str, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise _damaged(f"it nests deeper than {_MAX_DEPTH} levels")
        if value is None:
            rest.update(b"n")
        elif value is True or value is False:
            rest.update(b"t" if value else b"f")
        elif type(value) is int:
            rest.update(b"i%d;" % value)
        elif type(value) is float:
            rest.update(b"d" + struct.pack("<d", value))
        elif type(value) is str:
            text = value.encode("utf-8", "surrogatepass")
            rest.update(b"s%d:" % len(text))
            rest.update(text)
        elif type(value) is np.ndarray:
            rest.update(b"a")
            arrays[path] = _array_checksum(value)
        elif type(value) is list:
            rest.update(b"[")
            for i, item in enumerate(value):
                feed(item, f"{path}/{i}", depth + 1)
            rest.update(b"]")
        elif type(value) is dict:
            rest.update(b"{")
            for key in sorted(value):
                feed(key, path, depth + 1)
                feed(value[key], _join(path, key), depth + 1)
            rest.update(b"}")
        else:
            raise _damaged("it holds something else than plain data and arrays")

    feed(document, "", 0)
    return {"document": rest.hexdigest(), "arrays": arrays}


def _array_checksum(array: Array) -> str:
    little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    digest = hashlib.sha256(f"{little.dtype.kind}{little.dtype.itemsize}{little.shape}".encode())
    digest.update(little.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _is(value: Any, text: str) -> bool:
    """Whether a value of unknown type is this text: an array there would answer == with another array."""
    return type(value) is str and value == text


def _compare(stored: Any, found: dict[str, Any]) -> None:
    if type(stored) is not dict or type(stored.get("arrays")) is not dict:
        raise _damaged("it has no checksums")
    if not _is(stored.get("document"), found["document"]):
        raise _damaged("its contents do not match their checksum")
    for path in sorted(found["arrays"].keys() | stored["arrays"].keys()):
        if not _is(stored["arrays"].get(path), found["arrays"].get(path, "")):
            raise _damaged(f"the array {_shown(path)} does not match its checksum")


# ---------------------------------------------------------------------------------------------------------------------
# Loading


def load(path: str, limit: int | None = None) -> dict[str, Any]:
    """The document of a model file. Runs nothing that the file says; whatever is wrong with it is a ModelFileError.

    `limit` bounds the memory, in bytes, that the file may claim: by default ENRELM_MODEL_LIMIT, or 4 GiB.
    """
    limit = _limit_from_environment() if limit is None else limit
    try:
        with _open_regular(path) as file:
            return _read_document(file, os.fstat(file.fileno()).st_size, limit)
    except _Problem as problem:
        raise ModelFileError(f"{_shown(path)} {problem.problem}", problem.hint) from problem


def _limit_from_environment() -> int:
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    if not text:
        return DEFAULT_LIMIT
    number = text.lower().removesuffix("b").removesuffix("i")
    power = "kmgt".find(number[-1:]) + 1 if number else 0
    digits = number[:-1] if power else number
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise UsageError(f"{LIMIT_VARIABLE}={_shown(text)} is not a size", f"write it like {LIMIT_VARIABLE}=8GiB")
    return int(digits) << (10 * power)


def _open_regular(path: str) -> BinaryIO:
    """Open a file, but no pipe or device, which could block or never end."""
    try:
        file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - the caller closes it
    except FileNotFoundError:
        raise _Problem("does not exist", f"check the name, or {_GIVE_MODEL}") from None
    except IsADirectoryError:
        raise _Problem("is a directory, not an enrelm model", _GIVE_MODEL) from None
    except ValueError:
        raise _Problem("is not a file name", _GIVE_MODEL) from None
    except OSError as error:
        raise _Problem(f"cannot be read: {_reason(error)}", "check its permissions and its path") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise _Problem("is a pipe or a device, not a file", "save the model to a file first, then name that file")
    return file


def _without_waiting(path: str, flags: int) -> int:
    """A pipe without a writer must not hold us up before we have seen that it is one."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _read_document(file: BinaryIO, size: int, limit: int | None) -> dict[str, Any]:
    reader = _Reader(file, size, limit)
    try:
        reader.begin()
        whole = reader.run()
        return _checked(whole)
    except _Problem as problem:
        raise _newer(reader) or problem from None
    except OSError as error:
        raise _Problem(f"cannot be read: {_reason(error)}", _AGAIN) from None
    except (MemoryError, RecursionError):
        raise _Problem(
            "needs more memory than there is", "use a machine with more memory, or a smaller model"
        ) from None
    except (ValueError, TypeError, LookupError, OverflowError, struct.error):
        # A stack that runs empty, a reference to nothing, bytes that are no text: damage in the machine's own terms.
        raise _newer(reader) or _damaged("it is not what enrelm writes") from None


def _checked(whole: Any) -> dict[str, Any]:
    if type(whole) is not dict or not _is(whole.get("format"), FORMAT):
        raise _Problem("was not written by enrelm", _GIVE_MODEL)
    version = whole.get("format_version")
    if type(version) is not int or version != FORMAT_VERSION:
        raise _damaged(f"format version {_shown(version)} was never written")
    document = whole.get("document")
    if whole.keys() != {"format", "format_version", "checksums", "document"} or type(document) is not dict:
        raise _damaged("it is not laid out as an enrelm model")
    _compare(whole["checksums"], _checksums(document))
    return document


def _newer(reader: _Reader) -> _Problem | None:
    """A newer format may hold what this reader must refuse: then its number is the better explanation."""
    head = reader.outermost[:4]
    if len(head) < 4 or not (_is(head[0], "format") and _is(head[1], FORMAT) and _is(head[2], "format_version")):
        return None
    if type(head[3]) is not int or head[3] <= FORMAT_VERSION:
        return None
    return _Problem(
        f"was written by a newer enrelm (model format {_shown(head[3])}; this one reads up to {FORMAT_VERSION})",
        "upgrade with `pip install --upgrade enrelm`",
    )


@dataclass(frozen=True)
class _Name:
    """A class that the file names. It stays a pair of strings."""

    module: str
    name: str


@dataclass(frozen=True)
class _ElementType:
    code: str  # a key of _DTYPES


@dataclass(frozen=True)
class _ArrayToCome:
    """joblib's NumpyArrayWrapper before its state: the array's bytes follow the state in the file."""


_WRAPPER = _Name("joblib.numpy_pickle", "NumpyArrayWrapper")
_NDARRAY = _Name("numpy", "ndarray")
_DTYPE = _Name("numpy", "dtype")
_WRAPPER_STATE = {"subclass", "shape", "order", "dtype", "allow_mmap", "numpy_array_alignment_bytes"}


class _Reader:
    """The stack machine of pickle, cut down to what `save` writes."""

    def __init__(self, file: BinaryIO, size: int, limit: int | None) -> None:
        self.file = file
        self.remaining = size
        self.limit = limit
        self.spent = 0
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # the stacks under each open mark
        self.memo: list[Any] = []
        self.outermost: list[Any] = []  # what follows the first mark: the outer dictionary's keys and values

    def begin(self) -> None:
        start = self.file.read(64)
        if not start:
            raise _Problem("is empty", _AGAIN)
        if not start.startswith(b"\x80\x04\x95"):
            if b"\x80\x04\x95".startswith(start):
                raise _damaged("it ends too early")
            raise _foreign(start)
        self.file.seek(2)
        self.remaining -= 2

    def run(self) -> Any:
        steps = self._steps
        while True:
            opcode = self._read(1)[0]
            if opcode == 0x2E:  # STOP
                break
            step = steps.get(opcode)
            if step is None:
                raise _Problem(
                    f"holds something else than plain data (pickle opcode 0x{opcode:02x}); nothing in it was run",
                    _GIVE_MODEL,
                )
            self._spend(_OBJECT_COST)
            step(self)
        if self.remaining or self.below or len(self.stack) != 1:
            raise _damaged("it goes on after its end")
        return self.stack[0]

    # -- bytes and memory

    def _read(self, count: int) -> bytes:
        if count > self.remaining:
            raise _damaged("it ends too early")
        data = self.file.read(count)
        if len(data) != count:
            raise _damaged("it became shorter while it was read")
        self.remaining -= count
        return data

    def _spend(self, count: int) -> None:
        self.spent += count
        if self.limit is not None and self.spent > self.limit:
            raise self._too_large(self.spent)

    def _too_large(self, needed: int) -> _Problem:
        return _Problem(
            f"needs more memory than the limit for models ({self.limit:,} bytes)",
            f"if you trust the file, raise the limit: {LIMIT_VARIABLE}={-(-needed // 2**29)}GiB enrelm ...",
        )

    # -- plain values

    def _frame(self) -> None:
        (length,) = struct.unpack("<Q", self._read(8))
        if length > self.remaining:
            raise _damaged("it ends too early")

    def _text(self, count: int) -> None:
        if count > self.remaining:  # first: a cut file must not be taken for one that needs a higher limit
            raise _damaged("it ends too early")
        self._spend(4 * count)  # the widest that Python stores a character
        self.stack.append(self._read(count).decode("utf-8", "surrogatepass"))

    def _short_text(self) -> None:
        self._text(self._read(1)[0])

    def _long_text(self) -> None:
        self._text(struct.unpack("<I", self._read(4))[0])

    def _unpack(self, layout: str, count: int) -> None:
        self.stack.append(struct.unpack(layout, self._read(count))[0])

    def _big_integer(self) -> None:
        value = int.from_bytes(self._read(self._read(1)[0]), "little", signed=True)
        if value.bit_length() > _MAX_INTEGER_BITS:
            raise _damaged("an integer is too long")
        self.stack.append(value)

    # -- memo: only strings, names and element types come back, so the result is a tree

    def _recall(self, index: int) -> None:
        value = self.memo[index]
        if not isinstance(value, (str, _Name, _ElementType)):
            raise _Problem("refers to one part of itself twice, which enrelm never writes", _GIVE_MODEL)
        if isinstance(value, str):
            self._spend(len(value))  # a short reference to a long text is work again for whoever reads it
        self.stack.append(value)

    # -- containers

    def _mark(self) -> None:
        self.below.append(self.stack)
        self.stack = []
        if len(self.below) == 1 and not self.outermost:
            self.outermost = self.stack

    def _to_mark(self) -> list[Any]:
        items = self.stack
        self.stack = self.below.pop()
        return items

    def _tuple(self) -> None:
        items = tuple(self._to_mark())
        self.stack.append(items)

    def _extend_list(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list:
            raise _damaged("items without a list")
        target.extend(items)

    def _extend_dict(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict or len(items) % 2:
            raise _damaged("keys and values without a dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) is not str or key in target:
                raise _damaged("a key is repeated or is no text")
            target[key] = value

    def _last(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise _damaged("a value is missing")
        items = self.stack[-count:]
        del self.stack[-count:]
        return items

    # -- arrays, the only objects

    def _name(self) -> None:
        module, name = self._last(2)
        if type(module) is not str or type(name) is not str:
            raise _damaged("a name is no text")
        found = _Name(module, name)
        if found not in (_WRAPPER, _NDARRAY, _DTYPE):
            raise _Problem(
                f"asks for {_shown(f'{module}.{name}')}, which an enrelm model never does; nothing in it was run",
                f"{_GIVE_MODEL}, and be wary of where this one came from",
            )
        self.stack.append(found)

    def _new(self) -> None:
        name, arguments = self._last(2)
        if not (type(name) is _Name and name == _WRAPPER and type(arguments) is tuple and not arguments):
            raise _unusual()
        self.stack.append(_ArrayToCome())

    def _element_type(self) -> None:
        name, arguments = self._last(2)
        if not (type(name) is _Name and name == _DTYPE and type(arguments) is tuple and len(arguments) == 3):
            raise _unusual()
        code, align, copy = arguments
        if type(code) is not str or code not in _DTYPES or align is not False or copy is not True:
            raise _Problem("holds an array of a type that enrelm never writes; nothing in it was run", _GIVE_MODEL)
        self.stack.append(_ElementType(code))

    def _build(self) -> None:
        target, state = self._last(2)
        if isinstance(target, _ElementType):
            order = "|" if target.code == "b1" else "<"
            usual = (3, order, None, None, None, -1, -1, 0)
            if type(state) is not tuple or len(state) != len(usual):
                raise _unusual()
            if any(type(found) is not type(value) or found != value for found, value in zip(state, usual, strict=True)):
                raise _unusual()
            self.stack.append(target)
        elif isinstance(target, _ArrayToCome):
            self.stack.append(self._array(state))
        else:
            raise _unusual()

    def _array(self, state: Any) -> Array:
        if type(state) is not dict or state.keys() != _WRAPPER_STATE:
            raise _unusual()
        element, shape, subclass, alignment = (
            state[key] for key in ("dtype", "shape", "subclass", "numpy_array_alignment_bytes")
        )
        if not (type(element) is _ElementType and type(subclass) is _Name and subclass == _NDARRAY):
            raise _unusual()
        if not (
            _is(state["order"], "C") and state["allow_mmap"] is True and type(alignment) is int and alignment == 16
        ):
            raise _unusual()
        if type(shape) is not tuple:
            raise _unusual()
        if len(shape) > _MAX_DIMENSIONS or any(type(n) is not int or not 0 <= n < 2**48 for n in shape):
            raise _damaged("an array's shape is impossible")
        padding = self._read(self._read(1)[0])
        if len(padding) > 16 or padding.strip(b"\xff"):
            raise _damaged("the space before an array is not empty")
        return self._elements(_DTYPES[element.code], shape)

    def _elements(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        count = 1
        for n in shape:
            count *= n
        if count * dtype.itemsize > self.remaining:  # before allocating: a file cannot claim what it does not hold
            raise _damaged("an array is cut short")
        self._spend(count * dtype.itemsize)
        flat = np.empty(count, dtype=dtype)
        buffer = flat.view(np.uint8).data
        got = 0
        while got < len(buffer):
            step = self.file.readinto(buffer[got:])  # type: ignore[attr-defined]
            if not step:
                raise _damaged("it became shorter while it was read")
            got += step
        self.remaining -= got
        if dtype == np.bool_ and count and flat.view(np.uint8).max() > 1:
            raise _damaged("a truth value is neither true nor false")
        return flat.astype(dtype.newbyteorder("="), copy=False).reshape(shape)

    _steps: ClassVar[dict[int, Callable[[_Reader], None]]] = {
        0x95: _frame,  # FRAME
        0x7D: lambda self: self.stack.append({}),  # EMPTY_DICT
        0x5D: lambda self: self.stack.append([]),  # EMPTY_LIST
        0x29: lambda self: self.stack.append(()),  # EMPTY_TUPLE
        0x28: _mark,  # MARK
        0x94: lambda self: self.memo.append(self.stack[-1]),  # MEMOIZE
        0x68: lambda self: self._recall(self._read(1)[0]),  # BINGET
        0x6A: lambda self: self._recall(struct.unpack("<I", self._read(4))[0]),  # LONG_BINGET
        0x8C: _short_text,  # SHORT_BINUNICODE
        0x58: _long_text,  # BINUNICODE
        0x4B: lambda self: self.stack.append(self._read(1)[0]),  # BININT1
        0x4D: lambda self: self._unpack("<H", 2),  # BININT2
        0x4A: lambda self: self._unpack("<i", 4),  # BININT
        0x8A: _big_integer,  # LONG1
        0x47: lambda self: self._unpack(">d", 8),  # BINFLOAT
        0x4E: lambda self: self.stack.append(None),  # NONE
        0x88: lambda self: self.stack.append(True),  # NEWTRUE
        0x89: lambda self: self.stack.append(False),  # NEWFALSE
        0x85: lambda self: self.stack.append(tuple(self._last(1))),  # TUPLE1
        0x86: lambda self: self.stack.append(tuple(self._last(2))),  # TUPLE2
        0x87: lambda self: self.stack.append(tuple(self._last(3))),  # TUPLE3
        0x74: _tuple,  # TUPLE
        0x61: lambda self: self._extend_list(self._last(1)),  # APPEND
        0x65: lambda self: self._extend_list(self._to_mark()),  # APPENDS
        0x73: lambda self: self._extend_dict(self._last(2)),  # SETITEM
        0x75: lambda self: self._extend_dict(self._to_mark()),  # SETITEMS
        0x93: _name,  # STACK_GLOBAL
        0x81: _new,  # NEWOBJ
        0x52: _element_type,  # REDUCE
        0x62: _build,  # BUILD
    }


def _unusual() -> _Problem:
    return _Problem("holds an object that enrelm never writes; nothing in it was run", _GIVE_MODEL)


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
    (b"ZF", "a joblib file of before 2016"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"\x93NUMPY", "a numpy array file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x80", "a pickle of some other program"),
)


def _foreign(start: bytes) -> _Problem:
    """Name the commonest strangers by their first bytes."""
    for magic, kind in _MAGIC:
        if start.startswith(magic):
            hint = "decompress it first; enrelm writes its models uncompressed" if "compressed" in kind else _GIVE_MODEL
            return _Problem(f"is {kind}, not an enrelm model", hint)
    text = start.decode("utf-8", "ignore")
    if text and all(character.isprintable() or character in "\t\r\n\ufeff" for character in text):
        return _Problem("is a text file, not an enrelm model", f"{_GIVE_MODEL}; the model comes before the data")
    return _Problem("is not an enrelm model", _GIVE_MODEL)


def _shown(value: object) -> str:
    """Text from a file or a path, safe on a terminal: one line, no control characters, not too long."""
    text = str(value)
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return text if len(text) <= 200 else f"{text[:120]}...{text[-60:]}"


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else _shown(error)
