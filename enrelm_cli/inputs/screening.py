"""Which columns of a surveyed table become inputs, what cannot be fitted at all, and what the user should know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enrelm_cli.errors import DataError
from enrelm_cli.inputs.classes.weighting import class_weights, weights_note
from enrelm_cli.inputs.encoding import (
    MOST_CLASSES,
    Column,
    Encoding,
    LeftOut,
    Missing,
    cells_missing,
    missing_way,
    moment_text,
)
from enrelm_cli.inputs.survey.cells import MOST_LEVELS, ColumnFacts, InputColumn
from enrelm_cli.inputs.survey.facts import Survey, target_column
from enrelm_cli.quoting import quoted
from enrelm_cli.table import cells
from enrelm_cli.table.load import not_numbers
from enrelm_cli.table.table import Kind, Roles, find_cells, listed

_FEW_LEVELS = 10  # so few are never an identifier, however short the table


def build_encoding(survey: Survey, roles: Roles, missing: str) -> Encoding:
    """The encoding of a surveyed table."""
    for problem in problems_of(survey, roles, missing):
        raise problem
    return encoding_of(survey, roles, missing)


def problems_of(survey: Survey, roles: Roles, missing: str) -> Iterator[DataError]:
    """Why the table cannot be fitted."""
    if roles.weight is not None:
        yield from _weight_problems(survey, roles.weight)
    if roles.target is not None:
        yield from _target_problems(survey, roles)
    for column, facts in survey.columns:
        if facts.infinite:
            yield _infinite(survey, column.name)
    for column, facts in survey.columns:
        if column.categorical and facts.too_many:
            yield DataError(
                f"{survey.table.label}: column {column.name!r} has more than {MOST_LEVELS:,} levels",
                f"leave it out: --drop {quoted(column.name)}",
            )
    apart = _apart(survey)
    if len(apart) == len(survey.columns):
        beside = "" if roles.target is None else f" beside the target {listed([repr(one) for one in roles.targets])}"
        yield DataError(
            f"{survey.table.label}: no input column is left{beside}",
            "; ".join(f"{name!r}: {why}" for name, why in list(apart.items())[:3])
            or "check --inputs and --drop, and that the file has other columns with values",
        )
    if missing_way(missing) == "error":
        yield from _missing_problems(survey)


def encoding_of(survey: Survey, roles: Roles, missing: str) -> Encoding:
    """The encoding of the columns that can be inputs."""
    way, apart = missing_way(missing), _apart(survey)
    specs = tuple(_column(column, facts) for column, facts in survey.columns if column.name not in apart)
    kinds = {column.name: column.kind for column, _ in survey.columns}
    unreadable = sorted(survey.table.unreadable.items())
    other = [LeftOut(name, Kind.OTHER, f"{kind} values cannot be inputs") for name, kind in unreadable]
    left_out = (*(LeftOut(name, kinds[name], why) for name, why in apart.items()), *other)
    notes = _notes(survey, specs, left_out, way)
    unit = survey.weights.unit if roles.weight is not None else 1.0
    target, facts = target_column(survey.table, roles), survey.target
    classes = _column(target, facts) if target is not None and target.has_levels else None
    weighed = class_weights(roles.class_weight, classes, facts.levels or {})
    if weighed is not None and classes is not None:
        notes = (*notes, weights_note(weighed, classes.levels or ()))
    first, read = roles.target or "", survey.table.options
    return Encoding(specs, first, way, notes, read, left_out, roles.weight, unit, classes, weighed, roles.also)


def _apart(survey: Survey) -> dict[str, str]:
    """The columns that are left out, and why."""
    return {column.name: why for column, facts in survey.columns if (why := _left_out(survey, column, facts))}


def _column(column: InputColumn, facts: ColumnFacts) -> Column:
    levels = tuple(sorted(facts.levels or ())) if column.has_levels else None
    lowest, highest = (0.0, 0.0) if column.has_levels else (facts.lowest, facts.highest)
    return Column(column.name, column.kind, levels, lowest, facts.missing > 0, column.categorical, highest)


def _left_out(survey: Survey, column: InputColumn, facts: ColumnFacts) -> str | None:
    """Why a column cannot be an input; None where it can."""
    if facts.missing == survey.rows:
        return "no value"
    if not column.has_levels or (column.categorical and not facts.too_many):
        return None
    count, present = len(facts.levels or ()), survey.rows - facts.missing
    if facts.too_many or (count > _FEW_LEVELS and 2 * count > present):
        return _identifier(column, facts, count, present)
    return None


def _target_problems(survey: Survey, roles: Roles) -> Iterator[DataError]:
    label = survey.table.label
    if not survey.rows and survey.weights.zero:
        return
    if not survey.rows:
        named = listed([repr(one) for one in roles.targets])
        missing = (
            f"no row has all of the targets {named}" if roles.also else f"the target {named} is missing in every row"
        )
        yield DataError(f"{label}: {missing}", "name another with --target")
    elif (column := target_column(survey.table, roles)) is not None and column.has_levels:
        yield from _class_problems(survey, column)
    else:
        for name, facts in zip(roles.targets, survey.targets, strict=True):
            yield from _number_problems(survey, name, facts)


def _number_problems(survey: Survey, name: str, facts: ColumnFacts) -> Iterator[DataError]:
    """Of a target that is a number."""
    if facts.infinite:
        yield _infinite(survey, name)
    elif facts.lowest == facts.highest:
        yield DataError(
            f"{survey.table.label}: the target {name!r} is {cells.number_text(facts.lowest)} in every row: "
            "there is nothing to learn",
            "name another with --target",
        )


def _weight_problems(survey: Survey, name: str) -> Iterator[DataError]:
    label, weights = survey.table.label, survey.weights
    if weights.wrong:
        missing = find_cells(survey.table, name, lambda _: cells.never, missing=True)
        found = find_cells(survey.table, name, lambda _: cells.is_no_weight).merge(missing)
        problem = f"{label}: weight {name!r} {cells.NO_WEIGHT} in {_rows(weights.wrong)}"
        yield DataError(f"{problem}\n{found.lines(label)}", cells.WEIGHT_HINT)
    elif weights.zero and not weights.rows:
        hint = "a row of weight 0 is left out: name another column with --weight, or none"
        yield DataError(f"{label}: weight {name!r} is zero in every row with a target", hint)


def _weight_note(survey: Survey, name: str) -> str:
    total, unit = survey.weights.total, survey.weights.unit
    counts = f"{_rows(survey.weights.rows)} weighted by {name!r} count for {total / unit:,.6g}"
    return (
        counts if unit == 1.0 else f"{counts}: weights are divided by {unit:g}, so that a row counts for at least one"
    )


def _class_problems(survey: Survey, column: InputColumn) -> Iterator[DataError]:
    """Why texts cannot be classes: one only, too many, or numbers with a few odd cells among them."""
    label, name, levels = survey.table.label, column.name, survey.target.levels
    numeric = sum(count for level, count in (levels or {}).items() if cells.is_number(level))
    if survey.roles.task == "auto" and column.kind is Kind.TEXT and 2 * numeric > survey.rows:
        yield not_numbers(survey.table, name)
    elif levels is None or len(levels) > MOST_CLASSES or (len(levels) > _FEW_LEVELS and 2 * len(levels) > survey.rows):
        many = f"more than {MOST_LEVELS:,}" if levels is None else f"{len(levels):,}"
        yield DataError(
            f"{label}: the target {name!r} has {many} different values in {survey.rows:,} rows: too many for classes",
            f"at most {MOST_CLASSES:,} can be told apart, each with some rows; name another column with --target",
        )
    elif len(levels) < 2:
        yield DataError(
            f"{label}: the target {name!r} has one class, {next(iter(levels), '')!r}: there is nothing to learn",
            "name another with --target",
        )


def _identifier(column: InputColumn, facts: ColumnFacts, count: int, present: int) -> str:
    many = f"more than {MOST_LEVELS:,}" if facts.too_many else f"{count:,}"
    hint = f"--categorical {quoted(column.name)} uses it anyway"
    return f"{many} different texts in {present:,} rows look like identifiers or free text; {hint}"


def _infinite(survey: Survey, name: str) -> DataError:
    found = find_cells(survey.table, name, lambda _: cells.is_infinite)
    return cells.infinite_error(survey.table.label, name, found)


def _missing_problems(survey: Survey) -> Iterator[DataError]:
    counts = {column.name: facts.missing for column, facts in survey.columns if facts.missing}
    if not counts:
        return
    name = next(iter(counts))
    found = find_cells(survey.table, name, lambda _: cells.never, missing=True)
    columns = ", ".join(f"{name!r} {count:,}" for name, count in counts.items())
    yield DataError(
        f"{survey.table.label}: missing cells in {columns} (--missing error)\n{found.lines(survey.table.label)}",
        "--missing fill fills them, --missing drop leaves their rows out",
    )


def _notes(survey: Survey, columns: Sequence[Column], left_out: Sequence[LeftOut], missing: Missing) -> tuple[str, ...]:
    notes = []
    if survey.without_target:
        lacking = "without all of the targets" if survey.also else "without a target"
        notes.append(f"{_rows(survey.without_target)} {lacking} left out")
    if survey.weights.zero:
        notes.append(f"{_rows(survey.weights.zero)} of weight 0 left out")
    if survey.roles.weight is not None:
        notes.append(_weight_note(survey, survey.roles.weight))
    facts = {column.name: fact for column, fact in survey.columns}
    notes += [f"column {one.name!r} left out: {one.why}" for one in left_out]
    holes = {spec.name: facts[spec.name].missing for spec in columns if facts[spec.name].missing}
    if missing == "drop" and survey.incomplete:
        notes.append(f"{_rows(survey.incomplete)} with missing inputs left out")
    if missing == "fill" and holes:
        counts = listed([f"{name} {count:,}" for name, count in holes.items()], 5)
        notes.append(
            f"{cells_missing(sum(holes.values()))} filled ({counts}), each column with an indicator of missing cells"
        )
    for spec in columns:
        if spec.is_date and spec.levels is None:
            notes.append(f"{spec.name}: dates are days since {moment_text(spec.lowest)}")
    return tuple(notes)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
