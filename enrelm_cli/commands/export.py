"""A model as an ONNX graph: raw columns in, prediction out, so that it runs where there is no Python.

One input (rows, 1) for each column. Numbers and booleans are numbers, NaN where missing; texts are strings, "" where
missing; dates are microseconds since 1970-01-01 (UTC where they have a zone), NaN where missing; numbers that the
model takes for categories are numbers. A target with classes gives the label, and a probability of each class in
the order of the property `classes`; several targets give one output each, `prediction_a`, `prediction_b`.
`encoded`: instead one input (rows, d) of numbers, as the input map's columns make them, for runtimes that lack strings.

Inside everything is float64, whatever `dtype` says of the inputs and the output: the kernel's weights nearly cancel,
and float32 would leave two digits of a prediction. onnxruntime has no Erf, Asin or Atan for float64, so they are
polynomials here, exact to a few units of rounding.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.chebyshev import cheb2poly
from scipy import special

from enrelm_cli import __version__
from enrelm_cli.columns import wide
from enrelm_cli.commands.onnx.columns import Port, columns
from enrelm_cli.commands.onnx.graph import Graph
from enrelm_cli.errors import UsageError
from enrelm_cli.extras import install_command
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.inputs.maps.column_map import FAR
from enrelm_cli.inputs.maps.input_map import InputMap
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.model.features import HiddenLayer, KernelFeatures
from enrelm_cli.model.linear_features import LinearFeatures
from enrelm_cli.model.local_features import LocalFeatures
from enrelm_cli.model.model import Model
from enrelm_cli.model.network import Network
from enrelm_cli.model.targets.models import AnyModel, TargetModels, each_of
from enrelm_cli.types import Array

DTYPES = ("float64", "float32")
# Old enough for every runtime of the last years; nothing newer is needed.
_OPSETS = {"": 17, "ai.onnx.ml": 3}
_IR_VERSION = 8
_ENCODED = "inputs"


@dataclass(frozen=True)
class Exported:
    """An ONNX file and how to call it."""

    content: bytes
    inputs: tuple[Port, ...]
    output: str
    outputs: tuple[Port, ...] = ()  # all of them, the first is `output`


def export(model: AnyModel, dtype: str = "float64", encoded: bool = False) -> Exported:
    """The whole model as the bytes of an ONNX file."""
    if dtype not in DTYPES:
        raise UsageError(f"--dtype '{dtype}' is not one of {', '.join(DTYPES)}", "the default is --dtype float64")
    models = each_of(model)
    first = models[0]
    graph = Graph(_onnx(), taken={column.name for column in model.encoding.columns} | {_ENCODED})
    ports, X = _encoded_input(graph, dtype) if encoded else columns(graph, first, dtype)
    scale = first.target_scale
    if isinstance(scale, ClassScale):
        z = _network(graph, _standardised(graph, X, first.input_map), first.network)
        outputs = _classes(graph, z, scale, first, dtype)
    else:
        names = [f"prediction_{name}" for name in model.targets] if isinstance(model, TargetModels) else ["prediction"]
        outputs = tuple(
            _number(graph, z, one, name, dtype)
            for one, z, name in zip(models, _scores(graph, X, model), names, strict=True)
        )
    return Exported(_finished(graph, models, ports, outputs), ports, outputs[0].name, outputs)


def _scores(graph: Graph, X: str, model: AnyModel) -> list[str]:
    """What the network of each target says: (rows, 1) each; the kernel of a row once where all have the same."""
    joint = model.joint if isinstance(model, TargetModels) else None
    if joint is None:
        return [_network(graph, _standardised(graph, X, one.input_map), one.network) for one in each_of(model)]
    z = _network(graph, _standardised(graph, X, model.input_map), joint)
    return [graph.op("Gather", z, np.array([place], dtype=np.int64), axis=1) for place in range(len(each_of(model)))]


def _number(graph: Graph, z: str, model: Model, name: str, dtype: str) -> Port:
    """The output of one target that is a number."""
    scale = model.target_scale
    assert isinstance(scale, TargetScale)
    output = graph.unused(name)
    graph.op("Cast", _own_units(graph, z, scale), to=graph.type_of(dtype), output=output)
    return Port(output, dtype, "")


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise UsageError("the export to ONNX needs the extra 'onnx'", install_command("onnx")) from None
    return onnx


def _finished(graph: Graph, models: Sequence[Model], ports: tuple[Port, ...], given: tuple[Port, ...]) -> bytes:
    model = models[0]
    helper = graph.onnx.helper
    shape = ["rows", model.input_map.expansion.width if ports[0].name == _ENCODED and len(ports) == 1 else 1]
    inputs = [helper.make_tensor_value_info(p.name, graph.type_of(p.type), shape, p.meaning) for p in ports]
    # The label and a probability for each class, or the number of each target.
    widths = (1,) * len(models) if model.classes is None else (1, len(model.classes))
    outputs = [
        helper.make_tensor_value_info(p.name, graph.type_of(p.type), ["rows", width])
        for p, width in zip(given, widths, strict=True)
    ]
    body = helper.make_graph(graph.nodes, "enrelm", inputs, outputs, graph.initializers)
    opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
    whole = helper.make_model(
        body,
        opset_imports=opsets,
        ir_version=_IR_VERSION,
        producer_name="enrelm",
        producer_version=__version__,
    )
    names = model.input_map.expansion.names(model.encoding.columns)
    facts = {
        "target": model.encoding.target,
        "variant": model.card.variant,
        "neurons": str(model.network.size),
        "encoded_inputs": json.dumps(list(names), ensure_ascii=False),
    }
    if len(models) > 1:
        facts["targets"] = json.dumps([one.encoding.target for one in models], ensure_ascii=False)
    if model.classes is not None:
        facts["classes"] = json.dumps(list(model.classes), ensure_ascii=False)
    helper.set_model_props(whole, facts)
    graph.onnx.checker.check_model(whole)
    return bytes(whole.SerializeToString(deterministic=True))


def _encoded_input(graph: Graph, dtype: str) -> tuple[tuple[Port, ...], str]:
    port = Port(_ENCODED, dtype, "the encoded inputs, in the order of the property 'encoded_inputs'; none is missing")
    return (port,), graph.to_double(_ENCODED)


# ------------------------------------------------------------------------------------------------ standard and network


def _standardised(graph: Graph, X: str, inputs: InputMap) -> str:
    Z = graph.op("Gather", X, inputs.keep.astype(np.int64), axis=1)
    if inputs.exponent.any():
        # Two factors: 2^-e itself may be beyond the largest number.
        half = inputs.exponent // 2
        for exponent in (half, inputs.exponent - half):
            Z = graph.op("Mul", Z, np.ldexp(1.0, -exponent))
    Z = graph.op("Div", graph.op("Sub", Z, inputs.mean), inputs.scale)
    return graph.op("Clip", Z, -FAR, FAR)


def _own_units(graph: Graph, z: str, scale: TargetScale) -> str:
    """`TargetScale.back`: (rows, 1) -> (rows, 1)."""
    if scale.transform != "none":
        u = graph.interpolated(z, *scale.table)
    else:
        u = z if scale.low is None else graph.op("Clip", z, *scale.range)
    # A product with a matrix of one cell: onnxruntime would fuse a scalar into the product before it, as a float32.
    y = graph.op("Add", graph.op("MatMul", u, np.array([[scale.scale]])), scale.mean)
    for kind, bound in (("Max", scale.lower), ("Min", scale.upper)):
        y = y if bound is None else graph.op(kind, y, bound)
    return y


def _classes(graph: Graph, z: str, scale: ClassScale, model: Model, dtype: str) -> tuple[Port, ...]:
    """`Calibration.probabilities` and the most probable class: (rows, C - 1) -> (rows, 1) texts and (rows, C)."""
    calibration = model.calibration
    assert calibration is not None
    # The slope is inside the matrix: onnxruntime would fuse a scalar into the product, as a float32.
    scores = graph.op("MatMul", z, np.ascontiguousarray(calibration.slope * scale.spread * scale.V.T))
    p = graph.op("Softmax", graph.op("Add", scores, calibration.prior * scale.log_shares[None, :]), axis=1)
    label, probabilities = graph.unused("prediction"), graph.unused("probabilities")
    place = graph.op("ArgMax", p, axis=1, keepdims=1)
    graph.op("Gather", graph.texts(model.classes or ()), place, axis=0, output=label)
    graph.op("Cast", p, to=graph.type_of(dtype), output=probabilities)
    return Port(label, "string", ""), Port(probabilities, dtype, "")


def _network(graph: Graph, Z: str, network: Network) -> str:
    """intercept + s(Z) beta: (rows, 1), or (rows, C - 1) of classes, (rows, q) of several targets."""
    features = network.features
    if isinstance(features, HiddenLayer):
        S = _ACTIVATIONS[features.sigma.name](graph, graph.op("MatMul", Z, np.ascontiguousarray(features.W.T)))
        weights = network.beta
    elif isinstance(features, KernelFeatures) and isinstance(features.kernel, ArcsineKernel):
        S = _kernel(graph, Z, features.kernel, features.Z)
        weights = features.P @ network.beta
    elif isinstance(features, LinearFeatures):
        B = wide(features.B) * wide(network.beta)
        return graph.op("Add", graph.op("MatMul", Z, np.ascontiguousarray(B)), network.intercept)
    elif isinstance(features, LocalFeatures):
        raise UsageError(
            f"a local model cannot be exported: a prediction needs the rows of its leaf, and the graph would carry all "
            f"{len(features.X):,} of them through every row",
            "fit again with --variant kernel",
        )
    else:
        raise UsageError(
            "a kernel of neural-tangents cannot be exported", "fit again with --activation erf, or another --variant"
        )
    constant = network.intercept - features.offset @ network.beta
    return graph.op("Add", graph.op("MatMul", S, np.ascontiguousarray(wide(weights))), constant)


def _kernel(graph: Graph, X: str, kernel: ArcsineKernel, Z: Array) -> str:
    """K(X, Z): (rows, m), as `ArcsineKernel.against` computes it."""
    prepared, b = kernel.prepare(Z), kernel.bias_variance
    root = np.sqrt(2.0 * np.broadcast_to(np.asarray(kernel.weight_variance), Z.shape[1:]))
    scaled = graph.op("Clip", graph.op("Mul", X, root), -FAR, FAR)
    more = graph.op("ReduceSumSquare", scaled, axes=[1], keepdims=1)
    more = graph.op("Add", more, 2.0 * b)  # 2 q(x, x)
    p = graph.op("Add", more, 1.0)
    root_p = graph.op("Sqrt", p)
    # [sqrt(2 v) x, sqrt(2 b)] / sqrt(p) times the landmarks' rows.
    inner = graph.op("MatMul", graph.op("Div", scaled, root_p), np.ascontiguousarray(prepared.rows[:, :-1].T))
    bias = graph.op("MatMul", graph.op("Div", np.sqrt(2.0 * b), root_p), prepared.rows[:, -1:].T)
    K = _arcsine(graph, graph.op("Add", inner, bias))
    own = _arcsine(graph, graph.op("Div", more, p))
    for theirs in prepared.diagonals[:-1]:
        mine = graph.op("Add", graph.op("Mul", graph.op("Add", own, b), 2.0), 1.0)
        K = graph.op("Mul", graph.op("Add", K, b), 2.0 / np.sqrt(1.0 + 2.0 * (theirs + b))[None, :])
        K = _arcsine(graph, graph.op("Div", K, graph.op("Sqrt", mine)))
        own = _arcsine(graph, graph.op("Div", graph.op("Mul", graph.op("Add", own, b), 2.0), mine))
    return K


# --------------------------------------------------------------------------------------------------------- functions


def _economised(taylor: list[Fraction], high: Fraction, degree: int) -> tuple[float, ...]:
    """A Taylor polynomial on [0, high] in s in [-1, 1], its terms above `degree` taken off with Chebyshev's T_k.

    Exact until the last step: coefficients that carry rounding errors of their own would cost a digit.
    """
    p = [Fraction(0)]
    for a in reversed(taylor):
        # p <- p t + a with t = high (1 + s) / 2
        shifted = [x + y for x, y in zip([*p, Fraction(0)], [Fraction(0), *p], strict=True)]
        p = [x * high / 2 for x in shifted]
        p[0] += a
    T = [[Fraction(1)], [Fraction(0), Fraction(1)]]
    while len(T) < len(p):
        twice = [Fraction(0), *(2 * x for x in T[-1])]
        T.append([x - y for x, y in zip(twice, [*T[-2], Fraction(0), Fraction(0)], strict=True)])
    for k in range(len(p) - 1, degree, -1):
        share = p[k] / T[k][k]
        p = [x - share * y for x, y in zip(p[:k], T[k][:k], strict=True)]
    return tuple(float(x) for x in p)


def _asin_ratio() -> tuple[float, ...]:
    """2/pi arcsin(sqrt t) / sqrt t = 2/pi sum_k (2k)! / (4^k k!^2 (2k + 1)) t^k on [0, 1/4]."""
    taylor = [Fraction(comb(2 * k, k), 4**k * (2 * k + 1)) for k in range(36)]
    return tuple(2.0 / np.pi * c for c in _economised(taylor, Fraction(1, 4), 13))


def _erf_ratio() -> tuple[float, ...]:
    """erf(sqrt u) / sqrt u = 2 / sqrt(pi) sum_k (-u)^k / (k! (2k + 1)) on [0, 4]."""
    taylor = [Fraction((-1) ** k, factorial(k) * (2 * k + 1)) for k in range(44)]
    return tuple(2.0 / np.sqrt(np.pi) * c for c in _economised(taylor, Fraction(4), 20))


def _erfc_tail() -> tuple[float, ...]:
    """exp(z^2) (1 - erf z) on [2, 6], where it is smooth and what it is multiplied with is small."""
    series = Chebyshev.interpolate(special.erfcx, 24, domain=[2.0, 6.0])
    return tuple(cheb2poly(series.coef).tolist())


def _arcsine(graph: Graph, r: str) -> str:
    """2/pi arcsin r: z q(z^2) for z = |r| <= 1/2, and 1 - 2 sqrt(t) q(t) with t = (1 - z)/2 above.

    Rounding may leave r an ulp outside [-1, 1]. 2/pi is in q, not a factor of the result, which would become a float32
    (see `export`).
    """
    r = graph.op("Clip", r, -1.0, 1.0)
    z = graph.op("Abs", r)
    large = graph.op("Greater", z, 0.5)
    t = graph.op("Where", large, graph.op("Mul", graph.op("Sub", 1.0, z), 0.5), graph.op("Mul", z, z))
    root = graph.op("Where", large, graph.op("Sqrt", t), z)
    small = graph.op("Mul", root, graph.polynomial(t, 0.0, 0.25, _asin_ratio()))
    folded = graph.op("Sub", 1.0, graph.op("Mul", small, 2.0))
    return graph.op("Mul", graph.op("Sign", r), graph.op("Where", large, folded, small))


def _erf(graph: Graph, z: str) -> str:
    """z q(z^2) for |z| <= 2, and 1 - exp(-z^2) erfcx(z) up to 6, where erf is 1 to the last digit."""
    a = graph.op("Clip", graph.op("Abs", z), 0.0, 6.0)
    square = graph.op("Mul", a, a)
    near = graph.op("Mul", a, graph.polynomial(graph.op("Clip", square, 0.0, 4.0), 0.0, 4.0, _erf_ratio()))
    tail = graph.polynomial(graph.op("Clip", a, 2.0, 6.0), 2.0, 6.0, _erfc_tail())
    far = graph.op("Sub", 1.0, graph.op("Mul", graph.op("Exp", graph.op("Neg", square)), tail))
    return graph.op("Mul", graph.op("Sign", z), graph.op("Where", graph.op("Greater", a, 2.0), far, near))


def _arctan(graph: Graph, z: str) -> str:
    """2/pi arctan z, with arctan z = arcsin(z / sqrt(1 + z^2)) for z <= 1 and pi/2 - arctan(1 / z) above."""
    a = graph.op("Abs", z)
    large = graph.op("Greater", a, 1.0)
    r = graph.op("Where", large, graph.op("Reciprocal", graph.op("Max", a, 1.0)), a)
    small = _arcsine(graph, _algebraic(graph, r))
    return graph.op("Mul", graph.op("Sign", z), graph.op("Where", large, graph.op("Sub", 1.0, small), small))


def _algebraic(graph: Graph, z: str) -> str:
    """z / sqrt(1 + z^2); beyond 1e10 the one is below the last digit, and the square stays in range."""
    z = graph.op("Clip", z, -1e10, 1e10)
    return graph.op("Div", z, graph.op("Sqrt", graph.op("Add", graph.op("Mul", z, z), 1.0)))


def _tanh(graph: Graph, z: str) -> str:
    return graph.op("Tanh", z)


_ACTIVATIONS: dict[str, Callable[[Graph, str], str]] = {
    "erf": _erf,
    "tanh": _tanh,
    "arctan": _arctan,
    "algebraic": _algebraic,
}
