"""Whether a table to predict still looks like the one that was fitted: counts beside predictions, and what they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enrelm_cli.errors import UsageError
from enrelm_cli.fold.folds import Sums
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.model.features import block_rows
from enrelm_cli.model.model import Model
from enrelm_cli.model.profile import FAR, Profile, nearest
from enrelm_cli.report.beside import ColumnDrift, DriftFacts
from enrelm_cli.types import Array

# The usual reading of a population stability index: above 0.1 look at it, above 0.2 act.
USUAL = 0.2
# Standard errors of the share of far rows that chance hardly exceeds.
_SURE = 4.0


@dataclass(frozen=True)
class DriftRows:
    """Partial: bins of raw rows (t, columns), cells out of the range at fit, rows far from every landmark."""

    model: Model
    profile: Profile

    def __call__(self, X: Array) -> Sums:
        columns = self.model.encoding.columns
        with np.errstate(invalid="ignore"):
            beyond = [np.count_nonzero((x < one.lowest) | (x > one.highest)) for one, x in _numbers(columns, X)]
        return Sums({"bins": self.profile.of(X), "beyond": np.array(beyond, np.int64), "far": self._far(X)})

    def _far(self, X: Array) -> int:
        landmarks = self.model.landmarks
        if landmarks is None or self.profile.near is None:
            return 0
        kernel, Z = landmarks
        rows = block_rows(max(len(Z), self.model.input_map.expansion.width))
        blocks = (self.model.input_map.inputs(X[start : start + rows]) for start in range(0, len(X), rows))
        return sum(int(np.count_nonzero(nearest(kernel, Z, block) < self.profile.near)) for block in blocks)


def _numbers(columns: tuple[Column, ...], X: Array) -> list[tuple[Column, Array]]:
    return [(one, X[:, k]) for k, one in enumerate(columns) if one.levels is None]


def drift_rows(model: Model, required: bool) -> DriftRows | None:
    """None where the model does not know what its table looked like, unless that is required."""
    if model.profile is not None:
        return DriftRows(model, model.profile)
    if required:
        raise UsageError(
            "this model does not know what its table looked like: it was fitted before that was kept",
            "fit it again, or leave out --fail-drift",
        )
    return None


def drift_facts(rows: DriftRows, sums: Sums, count: int, threshold: float | None) -> DriftFacts:
    """`threshold`: of `--fail-drift`; what is called drift without it is above the usual one."""
    profile, columns = rows.profile, rows.model.encoding.columns
    beyond = iter(sums["beyond"].tolist())
    limit = USUAL if threshold is None else threshold
    found = []
    for k, column in enumerate(columns):
        counts, old = sums["bins"][profile.first[k] : profile.first[k + 1]], profile.columns[k].counts
        stability = profile.stability(k, counts)
        is_drift = stability is not None and stability.psi > limit and stability.raw > stability.noise
        found.append(
            ColumnDrift(
                column=column.name,
                psi=None if stability is None else stability.psi,
                noise=None if stability is None else stability.noise,
                drifted=is_drift,
                is_date=column.is_date,
                missing=_share(counts[-1], count),
                missing_at_fit=_share(old[-1], int(old.sum())),
                out_of_range=next(beyond) if column.levels is None else 0,
                unseen=int(counts[-2]),
            )
        )
    far = None if profile.near is None or not count else int(sums["far"]) / count
    chance = FAR + _SURE * (FAR * (1.0 - FAR) / max(count, 1)) ** 0.5
    ordered = sorted(found, key=lambda one: (-(one.psi or 0.0), one.column))
    return DriftFacts(limit, tuple(ordered), far, FAR, far is not None and far > max(limit, chance))


def _share(count: int, total: int) -> float:
    return int(count) / total if total else 0.0
