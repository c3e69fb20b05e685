"""Why an error is not to be trusted: too few rows, an input that is nearly the target, a fit that is too good."""

from __future__ import annotations

import numpy as np

from enrelm_cli.inputs.inspection.alone import explained
from enrelm_cli.inputs.inspection.rows import FEW_ROWS
from enrelm_cli.inputs.training import Rows
from enrelm_cli.judge.metrics import Metrics
from enrelm_cli.quoting import quoted

# R² of left-out rows from one column alone, from which it is nearly the target, and rows that can tell.
_NEARLY = 0.999
_TELLING, _LOOKED_AT = 30, 5000
_TOO_GOOD = 0.9999


def warnings_of(rows: Rows, metrics: Metrics | None) -> tuple[str, ...]:
    """One sentence each, with what to do about it."""
    said = []
    if rows.total < FEW_ROWS:
        said.append(f"only {rows.total:,} rows: errors of so few are unreliable")
    same = nearly_the_target(rows)
    if same:
        names, drop = ", ".join(map(repr, same)), " ".join(f"--drop {quoted(name)}" for name in same)
        said.append(f"{names} alone predicts the target {rows.target!r}: if it is known only afterwards, {drop}")
    if metrics is not None and metrics.r2 > _TOO_GOOD and not same:
        said.append(
            f"an R² of {metrics.r2:.6f} is rarely real: is the target among the inputs in another form? "
            "`enrelm check` looks at every column"
        )
    return tuple(said)


def nearly_the_target(rows: Rows) -> list[str]:
    """Columns from which alone left-out rows can be told; the only column of a table is what it is about."""
    # Twins would vouch for each other.
    sample = rows.sample.take(np.sort(np.unique(rows.sample.twins, return_index=True)[1])[:_LOOKED_AT])
    if rows.classes is not None or len(rows.columns) < 2 or sample.rows < _TELLING:
        return []
    looked = [(k, column) for k, column in enumerate(rows.columns) if not column.is_date]
    return [one.name for k, one in looked if explained(sample.X[:, k], sample.y, one.levels is None) > _NEARLY]
