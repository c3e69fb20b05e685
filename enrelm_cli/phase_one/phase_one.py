"""Phase 1 as a value of its own: kernel, landmarks and eigenbasis of some training rows, shared by every variant.

A small table has every row as a landmark and is decomposed exactly; a larger one is passed over once, and its Gram
sums are kept for each side apart: the errors of validation rows and a refit to training and validation rows together
then follow from small matrices, without another pass.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.fold.folds import Chunk, Sums
from enrelm_cli.inputs.split import JudgeOnValidation, Side
from enrelm_cli.inputs.training import Training
from enrelm_cli.kernels import nngp
from enrelm_cli.kernels.arcsine import Kernel
from enrelm_cli.model.network import relative_errors
from enrelm_cli.phase_one.eigenbasis import (
    CountRows,
    EigenBasis,
    GramRows,
    Projection,
    SideSums,
    full_basis,
    landmark_basis,
    landmark_projection,
    nested_squares,
)
from enrelm_cli.phase_one.landmarks import PAPER_LANDMARKS, Landmarks, check_all, choose, kernel_landmarks
from enrelm_cli.settings import ALL_ROWS, KernelSettings, MethodSettings
from enrelm_cli.types import Array

if TYPE_CHECKING:
    from enrelm_cli.phase_one.tuning import Tuning

Timer = Callable[[str], AbstractContextManager[None]]

# Below this relative error the differences of sums that give it have lost too many digits: the rows are read instead.
_RESOLVED = 1e-4


@dataclass(frozen=True)
class Gram:
    """One kernel's sums over the rows of each side."""

    kernel: Kernel
    landmarks: Landmarks
    projection: Projection
    sums: SideSums

    def basis(self, sides: tuple[Side, ...], centred: bool) -> EigenBasis:
        return landmark_basis(self.kernel, self.landmarks, self.projection.R, self.of(sides), centred)

    def of(self, sides: tuple[Side, ...]) -> Sums:
        """The sums of these sides together."""
        return self.sums.total(sides)


def gram_of(data: Training, kernel: Kernel, landmarks: Landmarks, sides: tuple[Side, ...] = (Side.TRAIN,)) -> Gram:
    """One pass over the rows."""
    projection = landmark_projection(kernel, landmarks)
    partial = GramRows(data.view, kernel.prepare(landmarks.Z), projection, sides)
    return Gram(kernel, landmarks, projection, data.fold(partial, "Gram matrix"))


def eigenbasis_of(data: Training, kernel: Kernel, landmarks: Landmarks, centred: bool) -> EigenBasis:
    """Kernel and eigenvectors of the training rows."""
    if not landmarks.complete:
        return gram_of(data, kernel, landmarks).basis((Side.TRAIN,), centred)
    counts = data.fold(CountRows(data.view, np.sort(landmarks.key)), "counting rows")
    return full_basis(kernel, landmarks, counts, centred)


class PhaseOne:
    """Each part is computed when it is first asked for."""

    def __init__(self, data: Training, method: MethodSettings, timer: Timer, tuning: Tuning | None = None) -> None:
        nngp.require(method.kernel.activation, method.kernel.backend)
        self.data = data
        self.method = method
        self._timer = timer
        self._given = tuning
        self._sides: tuple[Side, ...] = (Side.TRAIN,)

    @cached_property
    def kernel_landmarks(self) -> Landmarks:
        return self._landmarks(kernel_landmarks(self.data.T))

    @cached_property
    def paper_landmarks(self) -> Landmarks:
        # Without tuning the variants have one kernel, and share what is computed for it.
        return self._landmarks(PAPER_LANDMARKS) if self.method.kernel.tune else self.kernel_landmarks

    def _landmarks(self, many: int) -> Landmarks:
        wanted = self.method.landmarks
        if wanted == ALL_ROWS:
            wanted = check_all(self.data.T, self.data.rows.whole)
        return choose(self.data.sample(), self.data.T, wanted, many)

    @cached_property
    def paper_kernel(self) -> Kernel:
        """The kernel of the paper's variants: what the user fixed, else the paper's v = 1, b = 0, depth 1."""
        return fixed_kernel(self.method.kernel)

    @cached_property
    def tuning(self) -> Tuning | None:
        """What tuning found on the training rows; None where it was not asked for."""
        settings = self.method.kernel
        if self._given is not None or not settings.tune:
            return self._given
        from enrelm_cli.phase_one.tuning import TuneSettings, tune

        with self._timer("tuning"):
            X, y = distinct_inputs(self.data.sample())
            rows = min(len(y), settings.tune_rows)
            groups = self.data.view.input_map.groups
            asked = TuneSettings(
                rows, settings.tune_steps, settings.weight_variance, settings.bias_variance, settings.depth
            )
            progress = self.data.rows.engine.progress
            progress.start("tuning, in evaluations", settings.tune_steps)
            try:
                return tune(X[:rows], y[:rows], groups, asked, progress.advance)
            finally:
                progress.finish()

    @cached_property
    def tuned_kernel(self) -> Kernel:
        """Tuned for erf: its variances serve the other activations too (tanh on friedman: 0.30, not tuned 0.52)."""
        if self.tuning is None:
            return self.paper_kernel
        settings, tuned = self.method.kernel, self.tuning.kernel
        return nngp.kernel_of(
            settings.activation, settings.backend, tuned.weight_variance, tuned.bias_variance, tuned.depth
        )

    @cached_property
    def _paper_gram(self) -> Gram:
        return gram_of(self.data, self.paper_kernel, self.paper_landmarks, (Side.TRAIN, Side.VALIDATION))

    @cached_property
    def _kernel_gram(self) -> Gram:
        if not self.method.kernel.tune:
            return self._paper_gram
        return gram_of(self.data, self.tuned_kernel, self.kernel_landmarks, (Side.TRAIN, Side.VALIDATION))

    @cached_property
    def paper_basis(self) -> EigenBasis:
        """Of the paper's variants."""
        with self._timer("kernel and eigenvectors"):
            if self.paper_landmarks.complete:
                return eigenbasis_of(self.data, self.paper_kernel, self.paper_landmarks, centred=False)
            return self._paper_gram.basis(self._sides, centred=False)

    @cached_property
    def kernel_basis(self) -> EigenBasis:
        """Of the kernel variant: tuned and centred."""
        kernel, landmarks = self.tuned_kernel, self.kernel_landmarks
        with self._timer("kernel and eigenvectors"):
            if landmarks.complete:
                return eigenbasis_of(self.data, kernel, landmarks, centred=True)
            return self._kernel_gram.basis(self._sides, centred=True)

    def landmarks_of(self, variant: str) -> Landmarks:
        return self.kernel_landmarks if variant == "kernel" else self.paper_landmarks

    def basis_of(self, variant: str) -> EigenBasis:
        return self.kernel_basis if variant == "kernel" else self.paper_basis

    def kernel_errors(self, order: NDArray[np.int64], beta: Array, intercept: float, side: Side) -> Array | None:
        """Err of every nested size of the kernel variant without a pass; None where only the rows can tell."""
        basis = self.kernel_basis
        if basis.space is None or side not in self._kernel_gram.sums.sides:
            return None
        gram = self._kernel_gram.of((side,))
        squares = nested_squares(gram, basis.space[:, order], basis.features.offset[order], beta, intercept)
        errors = relative_errors(squares, float(gram["yy"]))
        return errors if errors.min() > _RESOLVED else None

    def refit(self) -> PhaseOne | None:
        """The same landmarks, standardisation and kernel for training and validation rows together: no pass.

        None where every training row is a landmark: the validation rows must then become landmarks too.
        """
        if self.kernel_landmarks.complete or self.paper_landmarks.complete:
            return None
        known = [gram for name in ("_paper_gram", "_kernel_gram") if (gram := self.__dict__.get(name)) is not None]
        view = replace(self.data.view, split=JudgeOnValidation(self.data.view.split))
        sides = (Side.TRAIN, Side.VALIDATION)
        T = int(known[0].sums.total(sides)["n"])
        # Not self.tuning: the paper's variants never asked for it, and it takes longer than all the rest.
        tuning = self.__dict__.get("tuning", self._given)
        joined = PhaseOne(replace(self.data, view=view, T=T), self.method, lambda _: nullcontext(), tuning)
        joined._sides = sides
        for name in ("_paper_gram", "_kernel_gram", "paper_landmarks", "kernel_landmarks"):
            if name in self.__dict__:
                joined.__dict__[name] = self.__dict__[name]
        return joined


def distinct_inputs(sample: Chunk) -> tuple[Array, Array]:
    """Every input once, with the mean target of its rows: held out from tuning, a row must not be told by its twin."""
    _, first, place = np.unique(sample.key, return_index=True, return_inverse=True)
    mean = np.bincount(place, sample.y) / np.bincount(place)
    first_seen = np.argsort(first)
    return sample.X[first[first_seen]], mean[first_seen]


def fixed_kernel(settings: KernelSettings) -> Kernel:
    """What the user fixed, else the paper's."""
    v, b, depth = settings.weight_variance, settings.bias_variance, settings.depth
    v, b = 1.0 if v is None else v, 0.0 if b is None else b
    return nngp.kernel_of(settings.activation, settings.backend, v, b, depth or 1)
