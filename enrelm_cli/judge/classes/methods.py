"""The methods that `compare` sets side by side where the target has classes.

What has no row left out of its fit is calibrated on the validation rows before these train, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from enrelm_cli.inputs.training import Training
from enrelm_cli.judge import baselines
from enrelm_cli.judge.baselines import RandomElm
from enrelm_cli.judge.classes.calibration import calibrated
from enrelm_cli.judge.classes.fitting import Calibrated, class_scale, fit_classes, held_out, refit_classes
from enrelm_cli.judge.classes.peers import CLASSIFIERS, fit_classifier
from enrelm_cli.judge.errors import Predictor
from enrelm_cli.judge.fitting import fit_variant
from enrelm_cli.judge.methods import Chosen, Method, Task, Trained
from enrelm_cli.judge.peers import Peer
from enrelm_cli.variants import VARIANTS, named
from enrelm_cli.variants._variant import Variant


def class_methods() -> dict[str, Method]:
    """Every method by name, in the order in which they are run."""
    own = [_own(named(name)) for name in VARIANTS if named(name).classes]
    baseline = [Method("elm", _choose_elm, complexity=25), Method("linear", _choose_linear)]
    others = [_peer(peer) for peer in CLASSIFIERS]
    return {method.name: method for method in (*own, *baseline, *others)}


def _own(variant: Variant) -> Method:
    return Method(variant.name, partial(_choose_variant, variant.name), variant.start, complexity=variant.complexity)


def _peer(peer: Peer) -> Method:
    return Method(peer.name, partial(_choose_peer, peer), package=peer.package, complexity=peer.complexity)


def _choose_variant(name: str, task: Task) -> Chosen:
    variant = named(name)
    fitted = fit_variant(variant, task.bases[variant.start], task.method)
    chosen = fit_classes(fitted, task.method)

    def train() -> Trained:
        basis = task.final_bases[variant.start]
        one = refit_classes(fitted, chosen, basis, task.method)
        return Trained(basis.data, (), (Calibrated(one.network, one.calibration, class_scale(basis.data)),))

    neurons = fitted.chosen.neurons if fitted.curve.only_size is None else None
    return Chosen(train, neurons, curve=fitted.curve)


def _choose_elm(task: Task) -> Chosen:
    band = baselines.elm_band(task.data, task.elm, task.method.max_neurons)
    n = int(np.argmin(band.mean)) + 1
    elm = RandomElm(n, task.elm.realizations, task.elm.seed, task.elm.weight_std)
    return Chosen(lambda: _trained(task, lambda data: baselines.elm_networks(data, elm)), n, band=band)


def _choose_linear(task: Task) -> Chosen:
    return Chosen(lambda: _trained(task, lambda data: (baselines.linear_network(data),)))


def _trained(task: Task, networks: Callable[[Training], tuple[Predictor, ...]]) -> Trained:
    """Networks of all rows, with the temperatures that those of fewer have on the validation rows."""
    scale = class_scale(task.final)
    told = []
    for before, after in zip(networks(task.data), networks(task.final), strict=True):
        scores = held_out(task.data, before)
        told.append(Calibrated(after, calibrated("temperature", scores), scale))
    return Trained(task.final, (), tuple(told))


def _choose_peer(peer: Peer, task: Task) -> Chosen:
    return Chosen(lambda: Trained(task.final, (), (fit_classifier(peer, task.final, task.elm.seed),)))
