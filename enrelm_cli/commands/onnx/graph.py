"""An ONNX graph in the making: nodes, constants, and the few operations that float64 needs in more than one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from enrelm_cli.types import Array


class Graph:
    """Nodes in the making. Operands are names of values, or numbers and arrays that become constants."""

    def __init__(self, onnx: Any, taken: set[str]) -> None:
        self.onnx = onnx
        self._taken = taken
        self.nodes: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self.initializers: list[Any] = []

    def unused(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def type_of(self, dtype: str) -> int:
        names = {"float64": "DOUBLE", "float32": "FLOAT", "string": "STRING", "int64": "INT64"}
        return int(getattr(self.onnx.TensorProto, names[dtype]))

    def op(self, kind: str, *operands: Any, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Add a node; the name of its value."""
        names = [operand if isinstance(operand, str) else self.constant(operand) for operand in operands]
        result = output or self.unused(f"{kind}_{len(self.nodes)}")
        self.nodes.append(self.onnx.helper.make_node(kind, names, [result], domain=domain, **attributes))
        return result

    def constant(self, value: Any) -> str:
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(np.float64)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            name = self.unused(f"constant_{len(self._constants)}")
            self._constants[key] = name
            self.initializers.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return self._constants[key]

    def texts(self, values: Sequence[str]) -> str:
        """(n,) a constant of texts."""
        name = self.unused("texts")
        encoded = [value.encode() for value in values]
        kind = self.type_of("string")
        self.initializers.append(self.onnx.helper.make_tensor(name, kind, [len(encoded)], encoded))
        return name

    def to_double(self, value: str) -> str:
        return self.op("Cast", value, to=self.type_of("float64"))

    def polynomial(self, x: str, low: float, high: float, coefficients: tuple[float, ...]) -> str:
        """sum_k c_k s^k by Horner's rule, s = x mapped from [low, high] to [-1, 1]."""
        half = (high - low) / 2.0
        s = self.op("Sub", self.op("Mul", x, 1.0 / half), (low + high) / 2.0 / half)
        *others, last = coefficients
        value: Any = last
        for coefficient in reversed(others):
            value = self.op("Add", self.op("Mul", s, value), coefficient)
        return str(value)

    def interpolated(self, x: str, knots: Array, values: Array) -> str:
        """np.interp for x (rows, 1), which may be NaN: linear between knots (k,), constant outside."""
        inside = self.op("Clip", x, knots[0], knots[-1])
        table = np.column_stack([knots[:-1], values[:-1], np.diff(values) / np.diff(knots)])  # (k - 1, 3)
        if len(knots) == 2:
            left, value, slope = table[0]
        else:
            passed = self.op("Cast", self.op("GreaterOrEqual", inside, knots[None, 1:-1]), to=self.type_of("int64"))
            at = self.op("ReduceSum", passed, np.array([1], dtype=np.int64), keepdims=1)
            left, value, slope = (self.op("Gather", np.ascontiguousarray(column), at, axis=0) for column in table.T)
        return self.op("Add", self.op("Mul", self.op("Sub", inside, left), slope), value)

    def where_missing(self, x: str, fill: float | Array, value: str) -> str:
        """`fill` where x is NaN, else the value."""
        return self.op("Where", self.op("IsNaN", x), fill, value)
