"""The pictures of docs/method.md and docs/activations.md, computed from the pages' own formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from enrelm_cli.kernels.activation import named
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.types import Array

Lines = dict[str, Array]
BLUE, RED, GREEN, VIOLET, GREY = "#1b6ca8", "#c2571a", "#2e8540", "#8e3b8e", "#888888"
COLOURS = (BLUE, RED, GREEN, VIOLET, "#b8860b")
_GRID = np.linspace(-3.0, 3.0, 241)


@dataclass(frozen=True)
class Picture:
    """Panels of lines, computed once to be drawn and once to be compared."""

    compute: Callable[[], dict[str, Lines]]
    paint: Callable[[Any, dict[str, Lines]], None]
    height: float = 2.7

    def shown(self) -> Any:
        """A few points of every line; the sign of an eigenvector is arbitrary, so they are absolute."""
        return {
            panel: {
                name: [round(abs(float(value)), 3) + 0.0 for value in line[:: max(1, len(line) // 6)]]
                for name, line in lines.items()
            }
            for panel, lines in self.compute().items()
        }

    def draw(self, path: Path) -> Any:
        import matplotlib

        matplotlib.use("svg")
        from matplotlib import pyplot

        settings = {"svg.hashsalt": "enrelm", "font.size": 8, "axes.spines.top": False, "axes.spines.right": False}
        panels = self.compute()
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(settings)
            figure, axes = pyplot.subplots(
                1, len(panels), figsize=(3.6 * len(panels), self.height), layout="constrained"
            )
            self.paint(np.atleast_1d(axes), panels)
            for axis, title in zip(np.atleast_1d(axes), panels, strict=True):
                axis.set_title(title, fontsize=9, loc="left")
            figure.savefig(path, metadata={"Date": None})
            pyplot.close(figure)
        return self.shown()


def _table(rows: int = 60) -> tuple[Array, Array]:
    """x uniform on [-3, 3] and standardised, y = sin 2x + x/3 and a little noise."""
    rng = np.random.default_rng(7)
    x = np.sort(rng.uniform(-3.0, 3.0, rows))
    return x[:, None], np.sin(2.0 * x) + x / 3.0 + 0.15 * rng.standard_normal(rows)


# ----------------------------------------------------------------------- what a neuron is, in the paper and in `kernel`

_KERNEL = ArcsineKernel(1.0, 1.0, 1)


def _eigen(X: Array, kernel: ArcsineKernel) -> tuple[Array, Array]:
    values, U = np.linalg.eigh(kernel.gram(X, X))
    keep = values > 1e-12 * values[-1]
    values, U = values[keep][::-1], U[:, keep][:, ::-1]
    return values, U * np.sign(U[-1])  # signs by the last row


def _neurons() -> dict[str, Lines]:
    X, _ = _table()
    erf = named("erf")
    grid = _GRID[:, None]
    # Algorithm 1 without bias, as in the paper: W = sigma^-1(U') X (X'X)^-1.
    _, U = _eigen(X, ArcsineKernel(1.0, 0.0, 1))
    W = erf.inverse(U.T) @ X @ np.linalg.pinv(X.T @ X)
    values, basis = _eigen(X, _KERNEL)
    phi = _KERNEL.gram(grid, X) @ basis / values  # the Nyström extension of U
    return {
        "neurons of the paper: σ(ŵ·x)": {f"{j + 1}": erf(grid @ W[j]) for j in range(4)},
        "neurons of `kernel`: φ(x)": {f"{j + 1}": phi[:, j] for j in range(4)},
    }


def _paint_neurons(axes: Any, panels: dict[str, Lines]) -> None:
    for axis, lines in zip(axes, panels.values(), strict=True):
        for (name, line), colour in zip(lines.items(), COLOURS, strict=False):
            axis.plot(_GRID, line, color=colour, label=name)
        axis.axhline(0.0, color=GREY, linewidth=0.5)
        axis.set_xlabel("x")
        axis.legend(title="neuron", fontsize=7, ncols=2)


# ------------------------------------------------------------------------------------------------- one fit, every size


def _sizes() -> dict[str, Lines]:
    X, y = _table()
    centre = y.mean()
    values, U = _eigen(X, _KERNEL)
    alpha = min(np.logspace(-6, 1, 60), key=lambda a: _left_out(U, values, y - centre, a))
    beta = U.T @ (y - centre) * values / (values + alpha)
    order = np.argsort(-np.abs(beta))
    phi = _KERNEL.gram(_GRID[:, None], X) @ U / values
    lines = {f"{n}": centre + phi[:, order[:n]] @ beta[order[:n]] for n in (1, 3, 6, 12)}
    train = np.cumsum(U[:, order] * beta[order], axis=1)
    errors = np.linalg.norm(y[:, None] - centre - train, axis=0) / np.linalg.norm(y - centre)
    return {"the first n neurons of one fit": lines, "error of every size": {"training": errors}}


def _left_out(U: Array, values: Array, y: Array, alpha: float) -> float:
    """Exact leave-one-out error: residual over 1 - h, h_i = sum_j U_ij^2 lambda_j / (lambda_j + alpha)."""
    shrunk = values / (values + alpha)
    h = (U * U) @ shrunk
    return float(np.sum(((y - U @ (shrunk * (U.T @ y))) / (1.0 - h)) ** 2))


def _paint_sizes(axes: Any, panels: dict[str, Lines]) -> None:
    X, y = _table()
    fits, errors = panels.values()
    axes[0].plot(X[:, 0], y, ".", color=GREY, markersize=4)
    for (name, line), colour in zip(fits.items(), COLOURS, strict=False):
        axes[0].plot(_GRID, line, color=colour, label=name)
    axes[0].legend(title="neurons", fontsize=7, ncols=2)
    axes[0].set(xlabel="x", ylabel="y")
    curve = errors["training"]
    axes[1].plot(np.arange(1, len(curve) + 1), curve, color=BLUE)
    axes[1].set(xlabel="neurons", ylabel="relative error", ylim=(0.0, 1.0))


# ---------------------------------------------------------------------------------------- landmarks, and the local part


def _rough(x: Array) -> Array:
    return np.sin(3.0 * x) + np.where(x > 0.0, 0.6 * np.sin(14.0 * x), 0.0)


def _local() -> dict[str, Lines]:
    """Both with 10 landmarks, `local` with an exact kernel inside four leaves besides (PIC)."""
    rng = np.random.default_rng(3)
    X = np.sort(rng.uniform(-3.0, 3.0, 240))[:, None]
    y = _rough(X[:, 0]) + 0.1 * rng.standard_normal(240)
    kernel, alpha = ArcsineKernel(300.0, 300.0, 1), 0.004
    Z = np.linspace(-2.9, 2.9, 10)[:, None]
    L = np.linalg.cholesky(kernel.gram(Z, Z) + 1e-9 * np.eye(10))

    def features(A: Array) -> Array:
        return np.linalg.solve(L, kernel.gram(Z, A)).T

    F, G = features(X), features(_GRID[:, None])
    leaf = np.digitize(X[:, 0], [-1.5, 0.0, 1.5])
    at = np.digitize(_GRID, [-1.5, 0.0, 1.5])
    exact = kernel.gram(X, X) - F @ F.T
    near = kernel.gram(_GRID[:, None], X) - G @ F.T
    nystrom = G @ np.linalg.solve(F.T @ F + alpha * np.eye(10), F.T @ y)
    S = F @ F.T + exact * (leaf[:, None] == leaf[None, :]) + alpha * np.eye(len(y))
    local = (G @ F.T + near * (at[:, None] == leaf[None, :])) @ np.linalg.solve(S, y)
    truth = _rough(_GRID)
    return {
        "10 landmarks: kernel": {"kernel": nystrom, "truth": truth},
        "and exact inside 4 leaves: local": {"local": local, "truth": truth},
    }


def _paint_local(axes: Any, panels: dict[str, Lines]) -> None:
    for axis, lines, colour in zip(axes, panels.values(), (BLUE, VIOLET), strict=True):
        ours, truth = lines.values()
        axis.plot(_GRID, truth, color=GREY, linewidth=0.9, label="truth")
        axis.plot(_GRID, ours, color=colour, label=next(iter(lines)))
        axis.set(xlabel="x")
        axis.legend(fontsize=7)
    for cut in (-1.5, 0.0, 1.5):
        axes[1].axvline(cut, color=GREY, linewidth=0.5, linestyle=":")


# ---------------------------------------------------------------------------------------------------------- activations

ACTIVATIONS = ("erf", "algebraic", "tanh", "arctan")


def expected_product(activation: str, q: float, rho: Array) -> Array:
    """K = E[σ(u) σ(w)], u and w normal with variance q and correlation rho, by the trapezoidal rule."""
    sigma = named(activation)
    z = np.linspace(-8.0, 8.0, 201)
    weight = np.exp(-0.5 * z * z)
    weight = weight / weight.sum()
    u = np.sqrt(q) * z[:, None]
    values = [sigma(np.sqrt(q) * (r * z[:, None] + np.sqrt(1.0 - r * r) * z[None, :])) for r in rho]
    return np.array([float(weight @ (sigma(u) * w) @ weight) for w in values])


def _activations() -> dict[str, Lines]:
    rho = np.linspace(-1.0, 1.0, 41)
    return {
        "activation σ(z)": {name: named(name)(_GRID) for name in ACTIVATIONS},
        "its kernel, of two rows with q = 10": {name: expected_product(name, 10.0, rho) for name in ACTIVATIONS},
    }


def _paint_activations(axes: Any, panels: dict[str, Lines]) -> None:
    places = (_GRID, np.linspace(-1.0, 1.0, 41))
    for axis, lines, x, label in zip(axes, panels.values(), places, ("z", "correlation of the rows"), strict=True):
        for (name, line), colour in zip(lines.items(), COLOURS, strict=False):
            axis.plot(x, line, color=colour, label=name)
        axis.set_xlabel(label)
        axis.locator_params(axis="x", nbins=7)
        axis.legend(fontsize=7)


ALL = {
    "neurons.svg": Picture(_neurons, _paint_neurons),
    "sizes.svg": Picture(_sizes, _paint_sizes),
    "local.svg": Picture(_local, _paint_local),
    "activations.svg": Picture(_activations, _paint_activations),
}
