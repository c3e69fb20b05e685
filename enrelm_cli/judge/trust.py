"""Whether a validation error can be trusted: rows in the order of time, and near-copies on both sides of the split."""

from __future__ import annotations

from collections.abc import Sequence

from enrelm_cli.inputs.inspection.alone import ALIKE, alike_in_time
from enrelm_cli.inputs.training import Rows
from enrelm_cli.judge.fitting import FittedVariant
from enrelm_cli.quoting import quoted

_FEW_ROWS = 50


def time_warning(rows: Rows) -> tuple[str, ...]:
    """The date along which neighbours are most alike, unless rows are held out by time, by group or by the user."""
    sample = rows.sample
    said = sample.time is not None or sample.group is not None or sample.held is not None
    if said or sample.rows < _FEW_ROWS or rows.classes is not None:
        return ()
    dates = [k for k, column in enumerate(rows.columns) if column.is_date and column.levels is None]
    found = {rows.columns[k].name: alike_in_time(sample.X[:, k], sample.y) for k in dates}
    name = max(found, key=lambda one: found[one], default=None)
    if name is None or found[name] < ALIKE:
        return ()
    return (f"rows look time-ordered: --time {quoted(name)} gives the error of later rows; this one may be too low",)


def copies_warning(fitted: Sequence[FittedVariant]) -> tuple[str, ...]:
    """Where rows with near-copies are predicted well only because of them."""
    for one in fitted:
        found = one.variant.near_copies(one.basis, one.network)
        if found is not None and found.misleads:
            return (
                f"{100 * found.share:.0f} % of the rows have near-copies on both sides of the split: without them "
                f"the left-out error is {found.together:.2f}, not {found.alone:.2f}; "
                "--group COL keeps rows of one origin together",
            )
    return ()
