"""What is tuned: the kernel's hyperparameters, where they may lie, and weak priors on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.types import Array

# Weak priors on what all inputs share: (centre, standard deviation) of a natural logarithm. A few hundred rows of
# noisy data otherwise choose kernels that bend without need or extrapolate wildly; a few thousand overrule them.
PRIOR_VD = (-3.0, 1.5)  # log(v d): an almost straight erf
PRIOR_B = (float(np.log(0.3)), 2.0)  # log b
PRIOR_ALPHA = (float(np.log(1e-2)), 3.0)  # log alpha

BOUND_V = (1e-6, 1e4)
BOUND_B = (1e-3, 1e4)
BOUND_ALPHA = (1e-5, 1e3)  # an alpha below lets leave-one-out choose kernels that extrapolate wildly (machine_cpu)


@dataclass(frozen=True)
class TuneSettings:
    """How much to spend, and what is not to be tuned (None: tuned)."""

    rows: int = 4000  # most rows that the caller should hand in
    steps: int = 800  # most evaluations
    weight_variance: float | None = None
    bias_variance: float | None = None
    depth: int | None = None
    spread: float | None = None  # of the prior on single inputs' variances; 0 where they share one
    threads: int = 1  # the result does not depend on them


@dataclass(frozen=True)
class Hyper:
    """Hyperparameters of the kernel and the ridge: v is () or (d,)."""

    v: Array
    b: float
    alpha: float
    depth: int

    @property
    def kernel(self) -> ArcsineKernel:
        return ArcsineKernel(float(self.v) if self.v.ndim == 0 else self.v, self.b, self.depth)

    def scaled(self, factor: float) -> Hyper:
        """The same with every weight variance multiplied."""
        return Hyper(self.v * factor, self.b, self.alpha, self.depth)


def log_prior(value: Array | float, prior: tuple[float, float]) -> Array | float:
    """Negative log density of a Gaussian, up to a constant."""
    return ((value - prior[0]) / prior[1]) ** 2 / 2.0
