"""The methods that `compare` sets side by side: our variants, the random ELM, linear regression, other libraries'.

Each chooses its size on the validation rows, if it has one, and then trains what is judged. Which rows that is trained
on, and which judge it, is the task's business: one path for every protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from enrelm_cli.inputs.split import Side
from enrelm_cli.inputs.training import Training
from enrelm_cli.judge import baselines, peers
from enrelm_cli.judge.baselines import RandomElm
from enrelm_cli.judge.curve import Curve, ElmBand
from enrelm_cli.judge.errors import Classifier, Predictor
from enrelm_cli.judge.fitting import fit_variant, refit_variant, with_errors
from enrelm_cli.phase_one.phase_one import Basis, Start
from enrelm_cli.settings import ElmSettings, MethodSettings
from enrelm_cli.variants import VARIANTS, named
from enrelm_cli.variants._variant import Variant


@dataclass(frozen=True)
class Task:
    """One split, and the phase 1 that its methods share."""

    data: Training  # training rows, and validation rows that choose
    bases: Mapping[Start, Basis]
    final: Training  # the rows that the judged model is trained on: the same, or the validation rows too
    final_bases: Mapping[Start, Basis]
    judged: Side  # whose error counts
    method: MethodSettings
    elm: ElmSettings


@dataclass(frozen=True)
class Trained:
    """Predictors of standardised rows; several where the method draws at random."""

    data: Training
    predictors: tuple[Predictor, ...]
    classifiers: tuple[Classifier, ...] = ()  # in their place, where the target has classes


@dataclass(frozen=True)
class Chosen:
    """What a method chose on the validation rows, and how to train it."""

    train: Callable[[], Trained]
    neurons: int | None = None
    curve: Curve | None = None
    band: ElmBand | None = None


@dataclass(frozen=True)
class Method:
    name: str
    choose: Callable[[Task], Chosen]
    start: Start | None = None  # the phase 1 that it needs
    package: str | None = None  # where it comes from, if not from here
    complexity: int = 0  # of methods that are as good as each other the one with the least is recommended

    @property
    def installed(self) -> bool:
        return self.package is None or peers.installed(self.package)


def methods() -> dict[str, Method]:
    """Every method by name, in the order in which they are run."""
    own = [_own(named(name)) for name in VARIANTS if named(name).numbers]
    baseline = [Method("elm", _choose_elm, complexity=25), Method("linear", _choose_linear)]
    others = [_peer(peer) for peer in peers.PEERS]
    return {method.name: method for method in (*own, *baseline, *others)}


def _own(variant: Variant) -> Method:
    return Method(variant.name, partial(_choose_variant, variant.name), variant.start, complexity=variant.complexity)


def _peer(peer: peers.Peer) -> Method:
    return Method(peer.name, partial(_choose_peer, peer), package=peer.package, complexity=peer.complexity)


def _choose_variant(name: str, task: Task) -> Chosen:
    variant = named(name)
    fitted = fit_variant(variant, task.bases[variant.start], task.method)

    def train() -> Trained:
        basis = task.final_bases[variant.start]
        network = refit_variant(fitted, basis, task.method)
        return Trained(with_errors(variant, basis, network).data, (network,))

    neurons = fitted.chosen.neurons if fitted.curve.only_size is None else None
    return Chosen(train, neurons, curve=fitted.curve)


def _choose_elm(task: Task) -> Chosen:
    band = baselines.elm_band(task.data, task.elm, task.method.max_neurons)
    n = int(np.argmin(band.mean)) + 1
    elm = RandomElm(n, task.elm.realizations, task.elm.seed, task.elm.weight_std)
    return Chosen(lambda: Trained(task.final, baselines.elm_networks(task.final, elm)), n, band=band)


def _choose_linear(task: Task) -> Chosen:
    return Chosen(lambda: Trained(task.final, (baselines.linear_network(task.final),)))


def _choose_peer(peer: peers.Peer, task: Task) -> Chosen:
    return Chosen(lambda: Trained(task.final, (peers.fit_peer(peer, task.final, task.elm.seed),)))
