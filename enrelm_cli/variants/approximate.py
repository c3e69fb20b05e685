"""A-ENR-ELM (algorithm 2): U stands for the hidden outputs, so beta = U'y, the largest |beta| first.

Prediction: ybar + sum_j beta_j sigma(w_j . x); nothing is centred on the hidden side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.columns import lengths
from enrelm_cli.inputs.training import Training
from enrelm_cli.kernels import activation
from enrelm_cli.kernels.activation import Activation
from enrelm_cli.model.features import HiddenLayer, KernelFeatures
from enrelm_cli.model.network import Network
from enrelm_cli.model.updating.frozen import Frozen, FrozenLayer
from enrelm_cli.phase_one.eigenbasis import EigenBasis
from enrelm_cli.phase_one.hidden_layer import layer_of
from enrelm_cli.phase_one.phase_one import Basis, Start
from enrelm_cli.settings import MethodSettings
from enrelm_cli.variants._variant import Variant


def order(basis: EigenBasis, n: int) -> NDArray[np.int64]:
    """The n columns of U with the largest |<y, U_j>|, largest first; equals keep the larger eigenvalue first.

    With several targets Y, |U_j'Y| is the length of a row.
    """
    return np.argsort(-lengths(basis.c), kind="stable")[:n]


def fit(data: Training, basis: EigenBasis, sigma: Activation, n: int, hidden: HiddenLayer | None = None) -> Network:
    """Algorithm 2: only the n chosen columns of U need hidden weights. `hidden`: those of all columns, if known."""
    columns = order(basis, n)
    chosen = basis.take(columns)
    layer = layer_of(data, chosen, sigma) if hidden is None else hidden.take(columns)
    return Network(layer, chosen.c, basis.y_mean)


def fit_frozen(basis: EigenBasis, layer: HiddenLayer, n: int) -> Network:
    """The same with hidden weights that stay as they are: c_j = <y - ybar, phi_j> / <phi_j, phi_j> of later rows."""
    chosen = order(basis, n)
    return Network(layer.take(chosen), basis.c[chosen], basis.y_mean, order=chosen)


class Approximate(Variant):
    name = "approximate"
    start = Start.PAPER
    complexity = 10
    from_sums = True
    hidden = True

    def fit(self, basis: Basis, method: MethodSettings, n: int) -> Network:
        if basis.layer is not None:
            return fit_frozen(basis.eigen, basis.layer.layer, n)
        return fit(basis.data, basis.eigen, activation.named(method.kernel.activation), n, basis.hidden)

    def freeze(self, basis: Basis, method: MethodSettings) -> Frozen:
        """The hidden weights of every eigenvector, and the functions phi that they stand for."""
        sigma, features = activation.named(method.kernel.activation), basis.eigen.features
        assert isinstance(features, KernelFeatures)
        layer = basis.hidden or layer_of(basis.data, basis.eigen, sigma)
        return FrozenLayer(features.kernel, layer, features.Z, features.P)


VARIANT = Approximate()
