"""Several targets share phase 1: one kernel, one pass over the rows, one eigenproblem; then each has its own basis.

The kernel maximises the sum of the targets' evidences, each standardised on its own scale. A target gets another scale
by the rule for a single one (`candidates.py`), with the kernel that the targets on their own scales found together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from enrelm_cli.fold.threads import threads_of
from enrelm_cli.inputs.target_scale import TargetScale, Transform
from enrelm_cli.inputs.targets.scale import SeveralScale
from enrelm_cli.inputs.training import Training
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.phase_one.candidates import Candidate, candidates, preferred, scales_of
from enrelm_cli.phase_one.eigenbasis import EigenBasis
from enrelm_cli.phase_one.left_out import distinct_rows
from enrelm_cli.phase_one.tuning import TuneSettings, explore
from enrelm_cli.settings import InputSettings, KernelSettings, MethodSettings

# --- scales ----------------------------------------------------------------------------------------------------------


def with_scales(data: Training, method: MethodSettings, before: Training | None) -> Training:
    """The rows with every target on the scale that predicts left-out rows best; `before`: has the scales to take."""
    own = data.view.target_scale
    if not isinstance(own, SeveralScale):
        return data
    each = [data.of_target(k) for k in range(len(own.scales))]
    known = None if before is None else before.view.target_scale
    if isinstance(known, SeveralScale):
        kept = [_scales(one, method.inputs, was.transform)[0] for one, was in zip(each, known.scales, strict=True)]
        return _on(data, kept)
    offered = [scales_of(one, method.inputs) for one in each]
    plain = _on(data, [scales[0] for scales in offered])
    if all(len(scales) == 1 for scales in offered):
        return plain
    seen, *_ = candidates(plain, method.inputs)
    kernel = _explored(seen, method.kernel)
    return _on(data, [_best(seen.of_target(k), scales, kernel) for k, scales in enumerate(offered)])


def _scales(data: Training, settings: InputSettings, transform: Transform) -> tuple[TargetScale, ...]:
    """The one of this transform, or the plain one where these rows do not allow it."""
    found = scales_of(data, replace(settings, transform=transform))
    return found or scales_of(data, replace(settings, transform="none"))


def _on(data: Training, scales: list[TargetScale]) -> Training:
    return replace(data, view=replace(data.view, target_scale=SeveralScale(tuple(scales))))


def _explored(data: Training, settings: KernelSettings) -> ArcsineKernel:
    """The kernel of all targets together, from some hundred rows."""
    rows = distinct_rows(data.sample())
    asked = TuneSettings(
        min(len(rows.y), settings.tune_rows),
        settings.tune_steps,
        settings.weight_variance,
        settings.bias_variance,
        settings.depth,
        None,
        threads_of(data.rows.engine),
    )
    return explore(rows.first(asked.rows), data.view.input_map.groups, asked, lambda _: None).kernel


def _best(data: Training, scales: tuple[TargetScale, ...], kernel: ArcsineKernel) -> TargetScale:
    """As for a target alone, of the kernel that the targets on their own scales found together."""
    tried = [data.through(data.view.input_map, scale) for scale in scales]
    judged = [Candidate(one, distinct_rows(one.sample())).left_out(kernel) for one in tried]
    return scales[preferred(judged)]


# --- bases -----------------------------------------------------------------------------------------------------------


def eigen_of_target(eigen: EigenBasis, place: int) -> EigenBasis:
    """U, lambda and phi are shared; c = U'(y - y_mean) is the target's own."""
    y_mean = eigen.y_mean if np.ndim(eigen.y_mean) == 0 else np.asarray(eigen.y_mean)[place]
    c = eigen.c if eigen.c.ndim == 1 else np.ascontiguousarray(eigen.c[:, place])
    return replace(eigen, c=c, y_mean=float(y_mean))
