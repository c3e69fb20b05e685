"""A reader of joblib files that runs nothing: the stack machine of pickle, cut down to what `artifact.save` writes.

joblib 1.6 has no restricted loader of its own: its unpickler can be subclassed, but reads arrays of whatever size a
file declares, and files that the file names. This machine knows the opcodes that `save` makes joblib write, and no
others; a class is only a *name* to it, compared with the three names that our files hold, never looked up or imported.
What it builds is a tree: containers cannot be shared, so nothing can be made to grow exponentially. Memory is counted
before it is taken, and a text that comes back by reference counts as the work that it causes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import numpy as np

from enrelm_cli.model.document import DTYPES, MAX_DIMENSIONS, MAX_INTEGER_BITS, is_text
from enrelm_cli.model.problems import AGAIN, GIVE_MODEL, Problem, damaged, foreign, shown, unusual
from enrelm_cli.types import Array

LIMIT_VARIABLE = "ENRELM_MODEL_LIMIT"
_OBJECT_COST = 64  # bytes of memory that one opcode can cause, near enough
# Text that comes back by reference: so many bytes, and so many times the file. A model names its columns a few times.
_REPEATED, _REPEATED_TIMES = 2**26, 16


@dataclass(frozen=True)
class _Name:
    """A class that the file names. It stays a pair of strings."""

    module: str
    name: str


@dataclass(frozen=True)
class _ElementType:
    code: str  # a key of DTYPES


@dataclass(frozen=True)
class _ArrayToCome:
    """joblib's NumpyArrayWrapper before its state: the array's bytes follow the state in the file."""


_WRAPPER = _Name("joblib.numpy_pickle", "NumpyArrayWrapper")
_NDARRAY = _Name("numpy", "ndarray")
_DTYPE = _Name("numpy", "dtype")
_WRAPPER_STATE = {"subclass", "shape", "order", "dtype", "allow_mmap", "numpy_array_alignment_bytes"}


class Reader:
    """The stack machine of pickle, cut down to what `save` writes."""

    def __init__(self, file: BinaryIO, size: int, limit: int | None) -> None:
        self.file = file
        self.remaining = size
        self.limit = limit
        self.spent = 0
        self.repeats = _REPEATED + _REPEATED_TIMES * size  # bytes of text that may still come back
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # the stacks under each open mark
        self.memo: list[Any] = []
        self.outermost: list[Any] = []  # what follows the first mark: the outer dictionary's keys and values

    def begin(self) -> None:
        start = self.file.read(64)
        if not start:
            raise Problem("is empty", AGAIN)
        if not start.startswith(b"\x80\x04\x95"):
            if b"\x80\x04\x95".startswith(start):
                raise damaged("it ends too early")
            raise foreign(start)
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
                raise Problem(
                    f"holds something other than plain data (pickle opcode 0x{opcode:02x}); nothing in it was run",
                    GIVE_MODEL,
                )
            self._spend(_OBJECT_COST)
            step(self)
        if self.remaining or self.below or len(self.stack) != 1:
            raise damaged("it continues after its end")
        return self.stack[0]

    # -- bytes and memory

    def _read(self, count: int) -> bytes:
        if count > self.remaining:
            raise damaged("it ends too early")
        data = self.file.read(count)
        if len(data) != count:
            raise damaged("it became shorter while it was read")
        self.remaining -= count
        return data

    def _spend(self, count: int) -> None:
        self.spent += count
        if self.limit is not None and self.spent > self.limit:
            raise self._too_large(self.spent)

    def _repeat(self, count: int) -> None:
        self.repeats -= count
        if self.repeats < 0:
            raise Problem("repeats its texts more often than enrelm ever does", GIVE_MODEL)

    def _too_large(self, needed: int) -> Problem:
        return Problem(
            f"needs more memory than the limit for models ({self.limit:,} bytes)",
            f"if you trust the file, raise the limit: {LIMIT_VARIABLE}={-(-needed // 2**29)}GiB enrelm ...",
        )

    # -- plain values

    def _frame(self) -> None:
        (length,) = struct.unpack("<Q", self._read(8))
        if length > self.remaining:
            raise damaged("it ends too early")

    def _text(self, count: int) -> None:
        if count > self.remaining:  # first: a cut file must not be taken for one that needs a higher limit
            raise damaged("it ends too early")
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
        if value.bit_length() > MAX_INTEGER_BITS:
            raise damaged("an integer is too long")
        self.stack.append(value)

    # -- memo: only strings, names and element types come back, so the result is a tree

    def _recall(self, index: int) -> None:
        value = self.memo[index]
        if not isinstance(value, (str, _Name, _ElementType)):
            raise Problem("refers to one part of itself twice, which enrelm never writes", GIVE_MODEL)
        if isinstance(value, str):
            self._repeat(len(value))  # a short reference to a long text is work again for whoever reads it
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
            raise damaged("items without a list")
        target.extend(items)

    def _extend_dict(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict or len(items) % 2:
            raise damaged("keys and values without a dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) is not str or key in target:
                raise damaged("a key is repeated or is not text")
            target[key] = value

    def _last(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise damaged("a value is missing")
        items = self.stack[-count:]
        del self.stack[-count:]
        return items

    # -- arrays, the only objects

    def _name(self) -> None:
        module, name = self._last(2)
        if type(module) is not str or type(name) is not str:
            raise damaged("a name is not text")
        found = _Name(module, name)
        if found not in (_WRAPPER, _NDARRAY, _DTYPE):
            raise Problem(
                f"asks for {shown(f'{module}.{name}')}, which an enrelm model never does; nothing in it was run",
                f"{GIVE_MODEL}, and be wary of where this one came from",
            )
        self.stack.append(found)

    def _new(self) -> None:
        name, arguments = self._last(2)
        if not (type(name) is _Name and name == _WRAPPER and type(arguments) is tuple and not arguments):
            raise unusual()
        self.stack.append(_ArrayToCome())

    def _element_type(self) -> None:
        name, arguments = self._last(2)
        if not (type(name) is _Name and name == _DTYPE and type(arguments) is tuple and len(arguments) == 3):
            raise unusual()
        code, align, copy = arguments
        if type(code) is not str or code not in DTYPES or align is not False or copy is not True:
            raise Problem("holds an array of a type that enrelm never writes; nothing in it was run", GIVE_MODEL)
        self.stack.append(_ElementType(code))

    def _build(self) -> None:
        target, state = self._last(2)
        if isinstance(target, _ElementType):
            order = "|" if target.code == "b1" else "<"
            usual = (3, order, None, None, None, -1, -1, 0)
            if type(state) is not tuple or len(state) != len(usual):
                raise unusual()
            if any(type(found) is not type(value) or found != value for found, value in zip(state, usual, strict=True)):
                raise unusual()
            self.stack.append(target)
        elif isinstance(target, _ArrayToCome):
            self.stack.append(self._array(state))
        else:
            raise unusual()

    def _array(self, state: Any) -> Array:
        if type(state) is not dict or state.keys() != _WRAPPER_STATE:
            raise unusual()
        element, shape, subclass, alignment = (
            state[key] for key in ("dtype", "shape", "subclass", "numpy_array_alignment_bytes")
        )
        if not (type(element) is _ElementType and type(subclass) is _Name and subclass == _NDARRAY):
            raise unusual()
        if not (
            is_text(state["order"], "C") and state["allow_mmap"] is True and type(alignment) is int and alignment == 16
        ):
            raise unusual()
        if type(shape) is not tuple:
            raise unusual()
        if len(shape) > MAX_DIMENSIONS or any(type(n) is not int or not 0 <= n < 2**48 for n in shape):
            raise damaged("an array's shape is impossible")
        padding = self._read(self._read(1)[0])
        if len(padding) > 16 or padding.strip(b"\xff"):
            raise damaged("the space before an array is not empty")
        return self._elements(DTYPES[element.code], shape)

    def _elements(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        count = 1
        for n in shape:
            count *= n
        if count * dtype.itemsize > self.remaining:  # before allocating: a file cannot claim what it does not hold
            raise damaged("an array is cut short")
        self._spend(count * dtype.itemsize)
        flat = np.empty(count, dtype=dtype)
        buffer = flat.view(np.uint8).data
        got = 0
        while got < len(buffer):
            step = self.file.readinto(buffer[got:])  # type: ignore[attr-defined]
            if not step:
                raise damaged("it became shorter while it was read")
            got += step
        self.remaining -= got
        if dtype == np.bool_ and count and np.max(flat.view(np.uint8)) > 1:
            raise damaged("a truth value is neither true nor false")
        return flat.astype(dtype.newbyteorder("="), copy=False).reshape(shape)

    _steps: ClassVar[dict[int, Callable[[Reader], None]]] = {
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
