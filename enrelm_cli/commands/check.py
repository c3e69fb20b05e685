"""check: what a table is like and what a fit would make of it, without fitting; every problem at once."""

from __future__ import annotations

from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.dataset import placed
from enrelm_cli.inputs.inspection.findings import Finding, unfit
from enrelm_cli.inputs.inspection.inspect import inspect, inspect_targets
from enrelm_cli.inputs.inspection.trial import try_table
from enrelm_cli.redaction import redacted
from enrelm_cli.report.reports import CheckReport
from enrelm_cli.settings import DataSettings, EngineSettings
from enrelm_cli.table.pieces import check_files


def check(data: DataSettings, where: EngineSettings, engine: Engine) -> CheckReport:
    """Read as far as it can be read, surveyed and looked through."""
    if engine.elsewhere:
        check_files(data.sources)
    trial = try_table(data.sources, data.read, data.roles, engine, lambda table: placed(table, where)[0])
    unread = tuple(unfit("unreadable", problem) for problem in trial.problems)
    settings = {"missing": data.missing}
    if trial.table is None:
        return CheckReport(_name(data), None, data.roles.target, (), unread, "", settings)
    found = (inspect_targets if trial.roles.also else inspect)(trial.table, trial.roles, data.missing, engine)
    findings: tuple[Finding, ...] = (*unread, *found.findings)
    name = _name(data) if unread else trial.table.label
    targets = trial.roles.targets if trial.roles.also else ()
    target = trial.roles.target if targets else data.roles.target
    return CheckReport(name, found.rows, target, found.columns, findings, found.hash, settings, targets=targets)


def _name(data: DataSettings) -> str:
    first, *rest = map(redacted, data.sources)
    return f"{first} and {len(rest):,} more" if rest else first
