"""Phase 1 in three calls, each with a frozen result that every variant shares: tune -> basis_of -> refit.

    tune:      Training -> Tuned     a kernel, and the rows as it sees them
    basis_of:  Tuned -> Basis        landmarks, sums over the rows of each side, eigenvectors U of the training rows
    refit:     Basis -> Basis        validation rows train too; no pass over the rows

A small table has every row as a landmark and is decomposed exactly; a larger one is passed over once, and its Gram
sums are kept for each side apart: the errors of validation rows and a refit to training and validation rows together
then follow from small matrices, without another pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from enrelm_cli.fold.folds import Chunk, Sums, Together
from enrelm_cli.inputs.classes.scale import Scale
from enrelm_cli.inputs.split import CountSides, Side, TrainOnValidation
from enrelm_cli.inputs.targets.rows import sums_with_target
from enrelm_cli.inputs.training import Training
from enrelm_cli.kernels import nngp
from enrelm_cli.kernels.activation import Activation
from enrelm_cli.kernels.arcsine import Kernel
from enrelm_cli.model.features import HiddenLayer, KernelFeatures
from enrelm_cli.phase_one.eigenbasis import (
    CountRows,
    EigenBasis,
    GramRows,
    Projection,
    SideSums,
    full_basis,
    landmark_basis,
    landmark_projection,
)
from enrelm_cli.phase_one.explore import following, search
from enrelm_cli.phase_one.frozen import LayerGram
from enrelm_cli.phase_one.hidden_layer import layer_of
from enrelm_cli.phase_one.landmarks import PAPER_LANDMARKS, Landmarks, check_all, choose, kernel_landmarks
from enrelm_cli.phase_one.several import eigen_of_target, with_scales
from enrelm_cli.settings import ALL_ROWS, KernelSettings, MethodSettings

if TYPE_CHECKING:
    from enrelm_cli.phase_one.tuning import Tuning

JOINED = (Side.TRAIN, Side.VALIDATION)
# Up to this many rows a refit tunes once more: it takes about a second.
TUNED_AGAIN = 1000


class Start(Enum):
    """The phase 1 that a variant builds on."""

    PAPER = "the kernel that the user fixed, else the paper's; U as it is"
    TUNED = "the kernel tuned on the training rows; U centred"
    LEAVES = "the kernel tuned on the training rows, and landmarks: nothing is decomposed"

    @property
    def centred(self) -> bool:
        return self is not Start.PAPER


# --- tune ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tuned:
    """A kernel, and the rows as it sees them."""

    start: Start
    data: Training
    kernel: Kernel
    most_landmarks: int  # that `--landmarks auto` takes of a large table
    tuning: Tuning | None = None  # how the kernel was found; None where it was fixed


def tune(
    data: Training,
    method: MethodSettings,
    start: Start,
    found: Tuning | None = None,
    before: Tuned | None = None,
    near: Tuned | None = None,
) -> Tuned:
    """The kernel of one start. `found`: what tuning gave before, on some of these rows, is taken over; `before`: only
    the spread of its prior, and which parts of a time are inputs. `near`: what other rows of the table gave, most of
    them the same: the search goes on from there.
    """
    settings = method.kernel
    nngp.require(settings.activation, settings.backend)
    many = kernel_landmarks(data.T)
    if not settings.tune:
        # The starts have one kernel, and share what is computed for it.
        return Tuned(start, data, fixed_kernel(settings), many)
    if start is Start.PAPER:
        return Tuned(start, data, fixed_kernel(settings), PAPER_LANDMARKS)
    if found is None and data.rows.also:
        known = near or before
        data = with_scales(data, method, None if known is None else known.data)
    if near is not None and near.tuning is not None:
        transform = near.data.view.target_scale.transform
        method, before = replace(method, inputs=replace(method.inputs, transform=transform)), near
        data, found = following(data, method, near.tuning, near.data.view.input_map) or (data, None)
    if found is None:
        spread = None if before is None or before.tuning is None else before.tuning.spread
        data, found = search(data, method, spread, None if before is None else before.data.view.input_map)
    tuning = found
    v, b, depth = tuning.kernel.weight_variance, tuning.kernel.bias_variance, tuning.kernel.depth
    # Tuned for erf: its variances serve the other activations too (tanh on friedman: 0.30, not tuned 0.52).
    kernel = nngp.kernel_of(settings.activation, settings.backend, v, b, depth)
    return Tuned(start, data, kernel, many, tuning)


def tune_again(before: Tuned, data: Training, method: MethodSettings) -> Tuned:
    """The kernel of more rows. A table that is small enough is tuned again with all of them (la_ozone: 0.475 against
    0.495 as the mean of eight splits); a larger one keeps what its training rows gave.
    """
    view = before.data.view
    transform = view.target_scale.transform
    if before.tuning is None or data.T <= TUNED_AGAIN:
        inputs = replace(method.inputs, transform=transform)
        return tune(data, replace(method, inputs=inputs), before.start, before=before)
    # What was tuned knows the inputs that the training rows gave, and no other.
    seen = replace(data, view=view.trained_on(data.view.split))
    return tune(seen, method, before.start, before.tuning)


def fixed_kernel(settings: KernelSettings) -> Kernel:
    """What the user fixed, else the paper's v = 1, b = 0, depth 1."""
    v, b, depth = settings.weight_variance, settings.bias_variance, settings.depth
    v, b = 1.0 if v is None else v, 0.0 if b is None else b
    return nngp.kernel_of(settings.activation, settings.backend, v, b, depth or 1)


# --- basis -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gram:
    """One kernel's sums over the rows of each side."""

    kernel: Kernel
    landmarks: Landmarks
    projection: Projection
    sums: SideSums

    def rows(self, sides: tuple[Side, ...]) -> int:
        return int(self.sums.total(sides)["rows"])

    def weight(self, sides: tuple[Side, ...]) -> float:
        """Of the rows of these sides."""
        return float(self.sums.total(sides)["n"])

    def eigenbasis(self, centred: bool, sides: tuple[Side, ...] = (Side.TRAIN,)) -> EigenBasis:
        return landmark_basis(self.kernel, self.landmarks, self.projection.R, self.sums.total(sides), centred)

    def of_target(self, place: int) -> Gram:
        """The same for one of several targets."""
        return replace(self, sums=self.sums.of_target(place))


@dataclass(frozen=True)
class Counts:
    """Every distinct training row is a landmark: how many rows each stands for, and the sum of their targets."""

    kernel: Kernel
    landmarks: Landmarks
    sums: Sums

    def eigenbasis(self, centred: bool) -> EigenBasis:
        return full_basis(self.kernel, self.landmarks, self.sums, centred)

    def of_target(self, place: int) -> Counts:
        return replace(self, sums=sums_with_target(self.sums, place))


@dataclass(frozen=True)
class Unsummed:
    """Landmarks alone, and how many rows each side has: who starts here sums over the rows himself."""

    kernel: Kernel
    landmarks: Landmarks
    sides: Sums

    def rows(self, sides: tuple[Side, ...]) -> int:
        return int(self.sides["sides"][list(sides)].sum())

    def weight(self, sides: tuple[Side, ...]) -> float:
        return float(self.sides["weights"][list(sides)].sum())

    def eigenbasis(self, centred: bool, sides: tuple[Side, ...] = (Side.TRAIN,)) -> EigenBasis:
        """Of rank 0."""
        Z = self.landmarks.Z
        features = KernelFeatures(self.kernel, Z, np.zeros((len(Z), 0)), np.zeros(0))
        return EigenBasis(np.zeros(0), features, np.zeros(0), self.weight(sides))

    def of_target(self, place: int) -> Unsummed:
        return self


@dataclass(frozen=True)
class Summing:
    """What a kernel takes of a pass over the rows, and what becomes of it."""

    partial: Callable[[Chunk], Any]
    label: str
    made: Callable[[Any], Gram | Counts | Unsummed]


def summing(data: Training, kernel: Kernel, landmarks: Landmarks) -> Summing:
    if landmarks.complete:
        rows = CountRows(data.view, np.sort(landmarks.key))
        return Summing(rows, "counting rows", lambda counts: Counts(kernel, landmarks, counts))
    projection = landmark_projection(kernel, landmarks)
    gram = GramRows(data.view, kernel.prepare(landmarks.Z), projection, JOINED)
    return Summing(gram, "Gram matrix", lambda sums: Gram(kernel, landmarks, projection, sums))


def counting(data: Training, kernel: Kernel, landmarks: Landmarks) -> Summing:
    """For who sums over the rows himself."""
    rows = CountSides(data.view.split)
    return Summing(rows, "counting rows", lambda sides: Unsummed(kernel, landmarks, sides))


def sums_of(data: Training, kernel: Kernel, landmarks: Landmarks) -> Gram | Counts | Unsummed:
    """One pass over the rows."""
    one = summing(data, kernel, landmarks)
    return one.made(data.fold(one.partial, one.label))


def eigenbasis_of(data: Training, kernel: Kernel, landmarks: Landmarks, centred: bool) -> EigenBasis:
    """Kernel and eigenvectors of the training rows."""
    return sums_of(data, kernel, landmarks).eigenbasis(centred)


@dataclass(frozen=True)
class Basis:
    """Phase 1 of some training rows: what a variant starts from."""

    tuned: Tuned
    sums: Gram | Counts | Unsummed | LayerGram
    eigen: EigenBasis
    sides: tuple[Side, ...] = (Side.TRAIN,)  # of the sums, whose rows train
    hidden: HiddenLayer | None = None  # of every eigenvector, where several need it (`with_layer`)

    @property
    def data(self) -> Training:
        """The rows as this kernel sees them."""
        return self.tuned.data

    @property
    def landmarks(self) -> Landmarks:
        return self.sums.landmarks

    def of_target(self, place: int) -> Basis:
        """The same for one of several targets."""
        tuned = replace(self.tuned, data=self.data.of_target(place))
        eigen = eigen_of_target(self.eigen, place)
        return replace(self, tuned=tuned, sums=self.sums.of_target(place), eigen=eigen)

    def on(self, scale: Scale) -> Basis:
        """The same basis, whose predictions come back through another scale of the same transform."""
        view = replace(self.data.view, target_scale=scale)
        return replace(self, tuned=replace(self.tuned, data=replace(self.data, view=view)))

    @property
    def gram(self) -> Gram | LayerGram | None:
        """The sums by side, where some rows stand for all."""
        return self.sums if isinstance(self.sums, (Gram, LayerGram)) else None

    @property
    def layer(self) -> LayerGram | None:
        """The sums of a hidden layer that is not computed again."""
        return self.sums if isinstance(self.sums, LayerGram) else None


def basis_of(tuned: Tuned, method: MethodSettings) -> Basis:
    """One pass over the rows."""
    return bases_of([tuned], method)[0][0]


def bases_of(
    each: Sequence[Tuned], method: MethodSettings, beside: Sequence[Callable[[Chunk], Any]] = ()
) -> tuple[list[Basis], tuple[Any, ...]]:
    """The bases of several kernels, and what other partials make of the same pass: one for all of them."""
    sums = [_summing(one, method) for one in each]
    partials = (*(one.partial for one in sums), *beside)
    found = each[0].data.fold(Together(partials), " and ".join(dict.fromkeys(one.label for one in sums))).values
    made = [basis_from(one, of.made(part)) for one, of, part in zip(each, sums, found, strict=False)]
    return made, found[len(sums) :]


def _summing(tuned: Tuned, method: MethodSettings) -> Summing:
    landmarks = choose_landmarks(tuned.data, method.landmarks, tuned.most_landmarks)
    return (counting if tuned.start is Start.LEAVES else summing)(tuned.data, tuned.kernel, landmarks)


def with_layer(basis: Basis, sigma: Activation) -> Basis:
    """The hidden weights of every eigenvector, for all variants and targets that need some: one pass over the rows."""
    return replace(basis, hidden=layer_of(basis.data, basis.eigen, sigma))


def restarted(basis: Basis, start: Start) -> Basis:
    """The basis of another start that has the same kernel: no pass."""
    return basis_from(replace(basis.tuned, start=start), basis.sums)


def basis_from(tuned: Tuned, sums: Gram | Counts | Unsummed | LayerGram) -> Basis:
    """The basis that sums over the rows give."""
    return Basis(tuned, sums, sums.eigenbasis(tuned.start.centred))


def choose_landmarks(data: Training, wanted: int | None, many: int) -> Landmarks:
    if wanted == ALL_ROWS:
        wanted = check_all(data.T, data.rows.whole)
    return choose(data.sample(), data.T, wanted, many)


# --- refit -----------------------------------------------------------------------------------------------------------


def refit(basis: Basis) -> Basis | None:
    """The same landmarks, standardisation and kernel for training and validation rows together: no pass.

    None where every training row is a landmark: the validation rows must then become landmarks too.
    """
    sums = basis.sums
    if isinstance(sums, Counts) or sums.landmarks.complete:
        return None
    T, weight = sums.rows(JOINED), sums.weight(JOINED)
    view = basis.data.view.trained_on(TrainOnValidation(basis.data.view.split))
    eigen = sums.eigenbasis(basis.tuned.start.centred, JOINED)
    data = replace(basis.data, view=view, T=T, total_weight=weight)
    return Basis(replace(basis.tuned, data=data), sums, eigen, JOINED)
