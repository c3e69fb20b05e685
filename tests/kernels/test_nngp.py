"""Our kernels against neural-tangents, and those of the other activations against integrals (`make test-nngp`)."""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enrelm_cli.errors import UsageError
from enrelm_cli.kernels import activation, nngp
from enrelm_cli.kernels.arcsine import ArcsineKernel, Kernel
from enrelm_cli.kernels.nngp import NeuralTangentsKernel
from enrelm_cli.model import artifact
from enrelm_cli.model.features import KernelFeatures
from enrelm_cli.types import Array

HERE = importlib.util.find_spec("neural_tangents") is not None
needs_the_extra = [
    pytest.mark.nngp,
    pytest.mark.skipif(not HERE, reason="neural-tangents is not installed: make test-nngp"),
]
OTHERS = ("tanh", "arctan", "algebraic")
rng = np.random.default_rng(5)
X, C = rng.standard_normal((37, 6)), rng.standard_normal((300, 6))
EACH = rng.uniform(0.05, 3.0, 6)


def extra(test: Any) -> Any:
    for mark in needs_the_extra:
        test = mark(test)
    return test


# -------------------------------------------------------------------------------------------- without neural-tangents


@pytest.mark.skipif(HERE, reason="neural-tangents is installed")
def test_without_the_extra_the_error_says_what_to_install() -> None:
    with pytest.raises(UsageError, match="neural-tangents") as caught:
        nngp.require("tanh", "closed-form")
    assert "pip install 'neural-tangents==" in str(caught.value.hint)
    with pytest.raises(UsageError):
        NeuralTangentsKernel("tanh").gram(X, C)


def test_erf_asks_for_nothing_unless_neural_tangents_is_asked_for() -> None:
    nngp.require("erf", "closed-form")
    assert isinstance(nngp.kernel_of("erf", "closed-form", 1.0, 0.0, 1), ArcsineKernel)
    assert isinstance(nngp.kernel_of("erf", "neural-tangents", 1.0, 0.0, 1), NeuralTangentsKernel)
    assert isinstance(nngp.kernel_of("tanh", "closed-form", 1.0, 0.0, 1), NeuralTangentsKernel)
    with pytest.raises(ValueError, match="relu"):
        nngp.kernel_of("relu", "closed-form", 1.0, 0.0, 1)


@pytest.mark.parametrize("kernel", [ArcsineKernel(EACH, 0.3, 2), NeuralTangentsKernel("tanh", EACH, 0.3, 2)])
def test_a_model_file_keeps_the_kernel_and_reads_without_the_extra(kernel: Kernel, tmp_path: Path) -> None:
    features = KernelFeatures(kernel, C[:5], rng.standard_normal((5, 2)), np.zeros(2))
    artifact.save(features.to_document(), str(tmp_path / "k.joblib"))
    again = KernelFeatures.from_document(artifact.load(str(tmp_path / "k.joblib"))).kernel
    assert type(again) is type(kernel)
    assert (again.activation, again.backend, again.depth) == (kernel.activation, kernel.backend, 2)
    assert again.bias_variance == 0.3
    np.testing.assert_array_equal(again.weight_variance, EACH)


def test_importing_the_package_does_not_import_jax() -> None:
    code = (
        "import sys, enrelm_cli.commands.fit, enrelm_cli.kernels.nngp; "
        "print('jax' in sys.modules or 'tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# ----------------------------------------------------------------------------------------------- with neural-tangents


def of_neural_tangents(b: float, depth: int) -> Any:
    """The erf network in neural-tangents' own words; its first layer divides by the number of inputs."""
    stax = nngp.load().stax
    dense = stax.Dense(512, W_std=1.0, b_std=np.sqrt(b) if b else None)
    return stax.serial(*[dense, stax.Erf()] * depth)[2]


@extra
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("b", [0.0, 0.7])
@pytest.mark.parametrize("v", [0.01, 1.0, 40.0, EACH], ids=["0.01", "1", "40", "each"])
def test_the_closed_form_is_neural_tangents_kernel(v: float | Array, b: float, depth: int) -> None:
    libraries = nngp.load()
    scale = np.sqrt(X.shape[1] * np.asarray(v))
    with libraries.enable_x64():
        theirs = np.asarray(of_neural_tangents(b, depth)(X * scale, C * scale, "nngp"))
    assert theirs.dtype == np.float64
    np.testing.assert_allclose(ArcsineKernel(v, b, depth).gram(X, C), theirs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(NeuralTangentsKernel("erf", v, b, depth).gram(X, C), theirs, rtol=0, atol=1e-12)


@extra
@pytest.mark.parametrize("depth", [1, 3])
def test_the_diagonal_is_that_of_the_closed_form(depth: int) -> None:
    ours, theirs = ArcsineKernel(EACH, 0.2, depth), NeuralTangentsKernel("erf", EACH, 0.2, depth)
    np.testing.assert_allclose(ours.diagonal(C), theirs.diagonal(C), rtol=0, atol=1e-12)


def integral(name: str, q: float, q_aa: float, q_cc: float) -> float:
    """E[sigma(u) sigma(v)] by the trapezoidal rule in two independent normal variables: it converges exponentially."""
    sigma = activation.named(name)
    h = 0.02
    z = np.arange(-8.5, 8.5, h)
    weight = h * np.exp(-(z**2) / 2.0) / np.sqrt(2.0 * np.pi)
    slope = q / np.sqrt(q_aa)
    rest = np.sqrt(max(q_cc - slope**2, 0.0))
    inner = sigma(slope * z[:, None] + rest * z[None, :]) @ weight
    return float((weight * sigma(np.sqrt(q_aa) * z)) @ inner)


def pairs(size: float) -> tuple[Array, Array]:
    """Rows whose q = size, to meet rows equal, nearly equal, at right angles, opposite and three times as large."""
    a = np.array([[np.sqrt(size), 0.0]])
    angles = np.array([0.0, 1e-3, 0.4, np.pi / 2, 2.0, np.pi])
    c = np.sqrt(size) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return a, np.concatenate([c, np.sqrt(3.0) * c])


@extra
@pytest.mark.parametrize(
    ("name", "size", "error"),
    [
        *[("tanh", size, 2e-10) for size in (0.01, 1.0, 10.0, 50.0)],
        *[(name, size, 1e-9) for name in ("arctan", "algebraic") for size in (0.01, 1.0)],
        *[(name, 10.0, 1e-8) for name in ("arctan", "algebraic")],
        *[(name, 50.0, 3e-7) for name in ("arctan", "algebraic")],
    ],
)
def test_the_kernel_of_another_activation_is_the_integral_that_defines_it(name: str, size: float, error: float) -> None:
    a, c = pairs(size)
    exact = [integral(name, float(a[0] @ row), size, float(row @ row)) for row in c]
    np.testing.assert_allclose(NeuralTangentsKernel(name).gram(a, c)[0], exact, rtol=0, atol=error)


@extra
@pytest.mark.parametrize("name", OTHERS)
def test_the_kernel_of_another_activation_is_that_of_neural_tangents_own_quadrature_where_it_converges(
    name: str,
) -> None:
    libraries = nngp.load()
    functions = {
        "tanh": libraries.jnp.tanh,
        "arctan": lambda z: 2.0 / np.pi * libraries.jnp.arctan(z),
        "algebraic": lambda z: z / libraries.jnp.sqrt(1.0 + z * z),
    }
    stax = libraries.stax
    v, b = 0.1, 0.2
    with libraries.enable_x64(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense = stax.Dense(1, W_std=1.0, b_std=np.sqrt(b))
        layer = stax.ElementwiseNumerical(functions[name], deg=150)
        network = stax.serial(dense, layer, dense, layer)[2]
        scale = np.sqrt(X.shape[1] * v)
        theirs = np.asarray(network(X[:4] * scale, C[:4] * scale, "nngp"))
    np.testing.assert_allclose(NeuralTangentsKernel(name, v, b, 2).gram(X[:4], C[:4]), theirs, rtol=0, atol=1e-8)


@extra
@pytest.mark.parametrize("name", OTHERS)
def test_a_gram_matrix_is_symmetric_positive_and_has_the_diagonal(name: str) -> None:
    kernel = NeuralTangentsKernel(name, 5.0)
    rows = np.concatenate([C[:150], C[:3] + 1e-9, -C[:3]])
    K = kernel.gram(rows, rows)
    np.testing.assert_allclose(K, K.T, rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.diag(K), kernel.diagonal(rows), rtol=0, atol=1e-14)
    values = np.linalg.eigvalsh(K)
    assert values[0] > -1e-14 * values[-1]


@extra
def test_neither_tiles_nor_pickles_change_a_value() -> None:
    kernel: NeuralTangentsKernel = pickle.loads(pickle.dumps(NeuralTangentsKernel("tanh", EACH, 0.1)))
    prepared = pickle.loads(pickle.dumps(kernel.prepare(C)))
    whole = prepared.against(C)
    assert whole.shape == (300, 300)
    np.testing.assert_array_equal(whole[137:139], prepared.against(C[137:139]))
    np.testing.assert_array_equal(whole[:, 290:], kernel.gram(C, C[290:]))
    assert prepared.against(C[:0]).shape == (0, 300)


@extra
@pytest.mark.parametrize("name", ["erf", *OTHERS])
def test_zero_and_enormous_rows_have_finite_kernels(name: str) -> None:
    rows = np.array([[0.0, 0.0], [1e-200, 0.0], [1e300, 1e300], [-1e300, 1.0], [1.0, 2.0]])
    K = NeuralTangentsKernel(name).gram(rows, rows)
    assert np.all(np.isfinite(K))
    assert np.all(np.abs(K) <= 1.0 + 1e-12)
    np.testing.assert_array_equal(K[0], 0.0)
    assert K[2, 2] > 0.999


@extra
def test_another_user_of_jax_keeps_its_precision_and_stderr_stays_empty() -> None:
    code = (
        "import numpy as np\n"
        "from enrelm_cli.kernels.nngp import NeuralTangentsKernel\n"
        "NeuralTangentsKernel('tanh').gram(np.ones((2, 2)), np.ones((3, 2)))\n"
        "import sys, jax.numpy as jnp\n"
        "print(jnp.ones(1).dtype, 'tensorflow' in sys.modules)\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "JAX_"))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["float32", "False"]
    assert done.stderr == ""


@extra
@pytest.mark.parametrize("activation", ["algebraic", "tanh", "arctan"])
def test_the_kernels_that_the_pages_draw_are_those_of_neural_tangents(activation: str) -> None:
    from docs.pictures import expected_product

    rho = np.linspace(-0.9, 0.9, 7)
    one, others = np.array([[1.0, 0.0]]), np.column_stack([rho, np.sqrt(1.0 - rho * rho)])
    theirs = NeuralTangentsKernel(activation, 10.0, 0.0, 1).gram(one, others)[0]
    np.testing.assert_allclose(expected_product(activation, 10.0, rho), theirs, rtol=0, atol=1e-6)
