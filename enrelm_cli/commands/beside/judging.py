"""Predictions beside known targets: the sums over rows, and the errors that they give."""

from __future__ import annotations

import numpy as np

from enrelm_cli.commands.beside.bands import Bands
from enrelm_cli.fold.folds import Sums
from enrelm_cli.fold.weights import Weights, times, total
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.report.beside import Errors
from enrelm_cli.types import Array


def judged_sums(y: Array, predicted: Array, weight: Weights, scale: TargetScale, bands: Bands) -> Sums:
    """Of targets (t,), NaN where unknown, and predictions with their bands (t, 1 + k).

    Rows whose weight is missing or negative count as nothing, as those of weight 0 do.
    """
    known = np.isfinite(y) if weight is None else np.isfinite(y) & (weight > 0.0) & np.isfinite(weight)
    w = None if weight is None else weight[known]
    # In units of the training spread, so that squares of large or tiny targets stay in range.
    centred = scale.standard(y[known])
    gap = centred - scale.standard(predicted[known, 0])
    beside = bands.sums(predicted[known, 1:], y[known], w, scale)
    return Sums(
        {
            "rows": len(y),
            "known": int(known.sum()),
            "weight": total(w, len(gap)),
            "squares": float(gap @ times(w, gap)),
            "absolute": float(times(w, np.abs(gap)).sum()),
            "y": float(times(w, centred).sum()),
            "yy": float(centred @ times(w, centred)),
            **beside.values,
        }
    )


def errors_of(sums: Sums, scale: float) -> Errors:
    n = sums["weight"]
    mse = sums["squares"] / n
    spread = sums["yy"] - sums["y"] ** 2 / n
    return Errors(
        rows=sums["known"],
        normalised_rmse=float(np.sqrt(sums["squares"] / sums["yy"])) if sums["yy"] > 0 else float("nan"),
        rmse=float(np.sqrt(mse)) * scale,
        mae=sums["absolute"] / n * scale,
        r2=1.0 - sums["squares"] / spread if spread > 0 else float("nan"),
    )
