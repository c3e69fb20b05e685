"""A table looked at without fitting: its columns, the inputs that a fit would make of them, and all findings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.inspection.columns import ColumnCheck, Raw, column_checks, planned
from enrelm_cli.inputs.inspection.findings import Finding, unfit
from enrelm_cli.inputs.inspection.rows import about_rows
from enrelm_cli.inputs.inspection.suspects import Looked, suspects
from enrelm_cli.inputs.inspection.walk import walk
from enrelm_cli.inputs.screening import encoding_of, problems_of
from enrelm_cli.inputs.survey.contents import SampledSurvey, sampled_survey
from enrelm_cli.settings import Roles
from enrelm_cli.table.table import Kind, Table

_ORDER = ("error", "warning", "note")


@dataclass(frozen=True)
class Inspection:
    """What was found."""

    rows: int  # with a target
    columns: tuple[ColumnCheck, ...]  # the target first
    findings: tuple[Finding, ...]  # errors first
    hash: str  # of the contents


def inspect(table: Table, roles: Roles, missing: str, engine: Engine) -> Inspection:
    """One survey and one walk over a loaded table, whose roles it can fill."""
    known = sampled_survey(table, roles, engine)
    errors = [unfit("unfit", problem) for problem in problems_of(known, roles, missing)]
    if not known.rows:  # no target in any row: the columns are worth a look all the same
        roles = replace(roles, target=None, drop=(*roles.drop, str(roles.target)))
        errors, known = errors[:1], sampled_survey(table, roles, engine)
    encoding = encoding_of(known, roles, missing)
    raw = Raw.of(known, encoding)
    looked = Looked(known, walk(table, _walked(known), engine), encoding, raw)
    findings = sorted((*errors, *suspects(looked), *about_rows(looked)), key=lambda one: _ORDER.index(one.level))
    plan = {one.name: one for one in planned(encoding, raw)}
    for finding in findings:
        if finding.kind in ("constant", "copy") and finding.column is not None:
            plan[finding.column] = replace(plan[finding.column], inputs=0, details=f"left out: {finding.why}")
    return Inspection(known.rows, column_checks(known, looked.walked, plan), tuple(findings), known.content_hash)


def _walked(known: SampledSurvey) -> tuple[str, ...]:
    names = [column.name for column, _ in known.columns if column.kind is not Kind.TEXT]
    target = known.roles.target
    return tuple(names if target is None or known.table.kinds[target] is Kind.TEXT else [*names, target])


def inspect_targets(table: Table, roles: Roles, missing: str, engine: Engine) -> Inspection:
    """Several targets: what a look at each alone finds, and the rows that have all of them."""
    known = sampled_survey(table, roles, engine)
    each = []
    for name in roles.targets:
        others = tuple(other for other in roles.targets if other != name)
        each.append(inspect(table, replace(roles, target=name, also=(), drop=(*roles.drop, *others)), missing, engine))
    found = [unfit("unfit", problem) for problem in problems_of(known, roles, missing)]
    found = list(dict.fromkeys([*found, *(finding for one in each for finding in one.findings)]))
    targets = [column for one in each for column in one.columns if column.role == "target"]
    columns = (*targets, *(column for column in each[0].columns if column.role != "target"))
    return Inspection(known.rows, columns, tuple(sorted(found, key=_by_level)), known.content_hash)


def _by_level(finding: Finding) -> int:
    return _ORDER.index(finding.level)
