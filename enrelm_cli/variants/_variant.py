"""What a variant is: where it starts from, and how it finds a network there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from enrelm_cli.inputs.training import Training
from enrelm_cli.model.network import Network
from enrelm_cli.model.updating.frozen import Frozen, FrozenInputs
from enrelm_cli.phase_one.phase_one import Basis, Start
from enrelm_cli.settings import MethodSettings
from enrelm_cli.types import Array
from enrelm_cli.variants._near_copies import NearCopies


class Variant(ABC):
    """Phase 2. A file of this folder defines one and ends with `VARIANT = ...`, an instance of it."""

    name: ClassVar[str]  # that of its file
    start: ClassVar[Start]  # the phase 1 that it builds on
    # A ridge of its own holds back what a neuron should not say: it may use its whole basis, and keeps all neurons
    # unless fewer are clearly better.
    regularised: ClassVar[bool] = False
    # What it can predict.
    numbers: ClassVar[bool] = True
    classes: ClassVar[bool] = True
    # Of variants that are as good as each other the one with the least is taken. Linear regression has 0.
    complexity: ClassVar[int] = 30
    # Sums over rows are all that it takes; else a model that is to be updated keeps every row, and `auto` passes it by.
    from_sums: ClassVar[bool] = False
    # It computes hidden weights from eigenvectors: those of all of them are made once where several variants do.
    hidden: ClassVar[bool] = False

    @abstractmethod
    def fit(self, basis: Basis, method: MethodSettings, n: int) -> Network:
        """The nested networks of sizes up to n; or up to more, where the first n weights depend on those after them."""

    def freeze(self, basis: Basis, method: MethodSettings) -> Frozen:
        """What stays as it is when rows are added to a model, or taken away: what sums over its rows are of.

        Kernel and landmarks, and every row is kept, where sums are not enough.
        """
        return FrozenInputs(basis.tuned.kernel, basis.landmarks.Z)

    def refit(self, basis: Basis, method: MethodSettings, n: int, before: Network) -> Network:
        """The same with more rows. `before`: what fewer gave, where something that it chose can be kept."""
        return self.fit(basis, method, n)

    def logistic(
        self, basis: Basis, method: MethodSettings, own: Network | None, before: Network | None = None
    ) -> Network | None:
        """Logistic regression of classes on the variant's own features, where it has some.

        `own` is its network of least squares on this basis, if there is one; `before` had other rows, and its ridge is
        kept.
        """
        return None

    def left_out(self, basis: Basis, network: Network) -> Array:
        """Standardised errors of the sample's training rows when each is left out with its twins, its group, or the
        latest rows of all (NaN for the others then): (q,), or none where they are unknown.
        """
        return np.zeros(0)

    def near_copies(self, basis: Basis, network: Network) -> NearCopies | None:
        """What near-copies among the training rows do to left-out errors; None where that is unknown."""
        return None

    def only_size(self, network: Network) -> str | None:
        """What the network consists of, where it is not one of many nested sizes."""
        return None

    def pays(self, basis: Basis) -> bool:
        """Whether `auto` tries it on these rows."""
        return self.predicts(basis.data)

    def predicts(self, data: Training) -> bool:
        """Whether it is for targets like these."""
        return self.numbers if data.rows.classes is None else self.classes

    def most_neurons(self, basis: Basis, method: MethodSettings) -> int:
        """min(50 d, T/2) as in the paper, unless a ridge allows more."""
        rank = len(basis.eigen.values)
        limit = rank if self.regularised else paper_limit(basis.data.d, basis.data.weight)
        return max(1, min(method.max_neurons or limit, rank))


def paper_limit(d: int, T: float) -> int:
    """min(50 d, T/2)."""
    return max(1, min(50 * d, int(T // 2)))
