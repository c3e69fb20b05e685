"""update, merge and fit --like: rows added to, taken from and put together in the sums of a model.

new rows -> the model's own encoding, inputs and landmarks -> sums by side, beside those it keeps -> ridge, errors anew
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np

from enrelm_cli.commands.saved import load_models
from enrelm_cli.commands.updating.finish import Finished, finish
from enrelm_cli.commands.updating.sums import Added, keeper, sums_of_table
from enrelm_cli.commands.updating.telling import (
    AnyReport,
    digest,
    drifts,
    kept_rows,
    report_of,
    told,
    unit_of,
    validation_error_of,
    whose,
)
from enrelm_cli.errors import DataError, GateError, UsageError
from enrelm_cli.files import check_writable
from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.classes.rare import KeptClasses
from enrelm_cli.inputs.classes.scale import ClassScale, ModelScale
from enrelm_cli.inputs.dataset import Dataset
from enrelm_cli.inputs.split import HashSplit
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.inputs.targets.scale import SeveralScale
from enrelm_cli.model import artifact
from enrelm_cli.model.document import canonical, checksums
from enrelm_cli.model.model import Model
from enrelm_cli.model.targets.models import AnyModel, TargetModels, each_of
from enrelm_cli.model.updating.frozen import frozen_document
from enrelm_cli.model.updating.kept import Kept, KeptSums, merged
from enrelm_cli.names import meant
from enrelm_cli.phase_one.phase_one import Basis
from enrelm_cli.redaction import redacted
from enrelm_cli.remote import is_remote
from enrelm_cli.report import words
from enrelm_cli.report.updating.update_report import Change
from enrelm_cli.settings import MethodSettings, ReadOptions, Roles, SplitSettings
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.table.memory import ArrowSource
from enrelm_cli.variants import VARIANTS, named
from enrelm_cli.variants._variant import Variant

# --- fit --updatable -------------------------------------------------------------------------------------------------


def check_updatable(roles: Roles, held: Sequence[object], split: SplitSettings) -> None:
    """Refuse a split that later rows cannot fall on, before anything is read.

    A row's side must follow from the row: its inputs, or its group.
    """
    why = None
    if roles.time is not None:
        why = "--time holds out the latest rows: later ones would move the cut, and summed rows cannot change sides"
    elif held:
        why = "--validation names the files whose rows validate, and no later row is in them"
    elif split.kind != "hash":
        why = "--split shuffle deals rows by their place in the table, and later rows have none there"
    elif split.folds not in (None, 1):
        why = "--folds sums the rows of each fold with another kernel, and one set of sums is kept"
    if why is not None:
        raise UsageError(f"--updatable: {why}", "leave it out: rows are split by a hash of their inputs, or by --group")


def for_updates(names: Sequence[str], split: SplitSettings, dataset: Dataset) -> tuple[tuple[str, ...], SplitSettings]:
    """The variants that `auto` tries, and one split that later rows fall on, too; refused before anything is fitted."""
    sample, roles = dataset.rows.sample, dataset.roles
    if sample.unit is not sample.twins:
        raise UsageError(
            "--updatable: nearly every row repeats the inputs of another, so that rows are split one by one",
            "later rows could not be split the same way: fit again when there are more",
        )
    both = sorted({*roles.group} & {column.name for column in dataset.encoding.columns})
    if both:
        raise UsageError(
            f"--updatable: {both[0]!r} is both an input and a --group column, which an update cannot read",
            "leave it out of --inputs, or copy the column",
        )
    return tuple(names) or tuple(name for name in VARIANTS if named(name).from_sums), replace(split, folds=1)


def kept_of(
    models: Sequence[Model], variant: Variant, basis: Basis, method: MethodSettings, dataset: Dataset, engine: Engine
) -> tuple[list[Finished], AnyModel]:
    """A fitted model with what it keeps of its rows: one more pass. Its weights are then those of the sums.

    `models`: of each target. `basis`: phase 1 of the training rows, with all targets.
    """
    data, scale, groups = basis.data, basis.data.view.target_scale, dataset.groups
    split = data.view.split
    rare = split.kept if isinstance(split, KeptClasses) else ()
    split = split.split if isinstance(split, KeptClasses) else split
    assert isinstance(split, HashSplit)
    frozen = variant.freeze(basis, method)
    sums: KeptSums = data.fold(keeper(data.view, frozen), "sums to keep")
    scales = scale.scales if isinstance(scale, SeveralScale) else (scale,)
    targets = scale.targets if isinstance(scale, ClassScale) else () if len(scales) == 1 else (len(scales),)
    kept = Kept(split, frozen, sums, rare, targets, len(models[0].classes or ()), groups)
    seen = [
        replace(model, input_map=data.view.input_map, target_scale=own)
        for model, own in zip(models, scales, strict=True)
    ]
    made = finish(seen, kept, engine)
    whole = _together(made, kept)
    change = Change("fit", sums.rows(), dataset.content_hash, validation_error_of(whole))
    return made, replace(whole, history=(change.to_json(),))


def _together(made: Sequence[Finished], kept: Kept) -> AnyModel:
    """The models of all targets, and their sums, as one."""
    models = [one.model for one in made]
    return replace(TargetModels.sharing(models) if len(models) > 1 else models[0], kept=kept)


def _made(model: AnyModel, kept: Kept, engine: Engine) -> AnyModel:
    return _together(finish(each_of(model), kept, engine), kept)


# --- fit --like ------------------------------------------------------------------------------------------------------


def like(
    path: str, sources: Sequence[str], roles: Roles, read: ReadOptions, engine: Engine
) -> tuple[AnyReport, AnyModel]:
    """Settings, kernel, landmarks and encoding of another model for the rows of another table: no search."""
    timer = Stopwatch()
    parent = load_models(path, read.anonymous)
    kept = required(parent, path)
    targets, weight = parent.encoding.targets, parent.encoding.weight
    said = meant(roles.targets, targets)
    others = replace(roles, target=None, weight=None, also=()) != Roles()
    if others or (said and set(said) != set(targets)) or roles.weight not in (None, weight):
        named = f"target {targets[0]!r}" if len(targets) == 1 else f"targets {', '.join(map(repr, targets))}"
        raise UsageError(
            f"--like: columns have the roles that they have in {path} ({named})",
            "leave out the options that name columns",
        )
    added, _ = sums_of_table(parent, kept, tuple(sources), read, engine)
    hashed = digest(parent, added)
    made = _made(parent, kept.with_sums(added.sums), engine)
    made = told(made, (), Change("fit --like", added.sums.rows(), hashed, validation_error_of(made)))
    return report_of(made, added, parent, timer), made


# --- update ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wanted:
    """What becomes of a model."""

    path: str
    new: tuple[str | ArrowSource, ...] = ()
    remove: tuple[str | ArrowSource, ...] = ()
    forget: float | None = None  # what rows that are there already count for
    output: str | None = None  # None: the model's own file
    fail_above: float | None = None  # validation error
    fail_drift: float | None = None  # error of the old model on the new rows, over its validation error

    def __post_init__(self) -> None:
        if not self.new and not self.remove and self.forget is None:
            raise UsageError("nothing to do: no new rows, no --remove and no --forget", "enrelm update MODEL NEW.csv")


def update(wanted: Wanted, read: ReadOptions, engine: Engine) -> AnyReport:
    """The sums of the tables are made first; then the file is locked, read again, changed and replaced as a whole."""
    timer = Stopwatch()
    own = wanted.output is None or wanted.output == wanted.path
    if own and is_remote(wanted.path):
        check_writable(wanted.path)
    before = load_models(wanted.path, read.anonymous)
    added, removed = _tables(before, wanted, read, engine)
    with artifact.locked(wanted.path if own else None):
        model = load_models(wanted.path, read.anonymous)
        if family(model) != family(before):
            raise DataError(f"{wanted.path}: another model was written there meanwhile", "run the command again")
        made = _changed(model, wanted, added, removed, engine)
        artifact.save(made.to_document(), wanted.output or wanted.path)
    return replace(_changes(made, added, removed, model, timer), model=redacted(wanted.output or wanted.path))


def updated(model: AnyModel, wanted: Wanted, read: ReadOptions, engine: Engine) -> tuple[AnyReport, AnyModel]:
    """The same of a model in memory, whose path is only a name."""
    timer = Stopwatch()
    added, removed = _tables(model, wanted, read, engine)
    made = _changed(model, wanted, added, removed, engine)
    return _changes(made, added, removed, model, timer), made


def _tables(before: AnyModel, wanted: Wanted, read: ReadOptions, engine: Engine) -> tuple[Added | None, Added | None]:
    """The sums of new rows and of those to be removed; the gate of drift closes before anything is changed."""
    kept = required(before, wanted.path)
    added, removed = (
        None if not names else sums_of_table(before, kept, names, read, engine)[0]
        for names in (wanted.new, wanted.remove)
    )
    if added is not None and wanted.fail_drift is not None:
        _check_drift(added, before, wanted.fail_drift)
    return added, removed


def _check_drift(added: Added, before: AnyModel, most: float) -> None:
    """Of every target."""
    for model, error, drift in zip(each_of(before), added.errors, drifts(added, before), strict=True):
        if not drift <= most:
            raise GateError(
                f"not updated: the model's {unit_of(model)}{whose(model, before)} on the new rows is {error:.4f}, "
                f"{drift:.2f} times that of its validation rows (--fail-drift {most:g})",
                "look at the new rows with `enrelm check`; a fresh fit may be due",
            )


def _changes(
    made: AnyModel, added: Added | None, removed: Added | None, before: AnyModel, timer: Stopwatch
) -> AnyReport:
    report = report_of(made, added, before, timer)
    if removed is None or made.kept is None:
        return report
    return report.noted(_landmark_note(made.kept, removed))


def _landmark_note(kept: Kept, removed: Added) -> tuple[str, ...]:
    """Landmarks stay: their inputs are the model's own coordinates, whatever becomes of the rows they were."""
    landmarks = {row.tobytes() for row in kept.frozen.Z}
    stay = sum(row.tobytes() in landmarks for row in removed.sums.sample.X)
    if not stay:
        return ()
    return (f"{stay:,} of the removed rows are landmarks: their inputs, not their targets, stay until a fresh fit",)


def _changed(model: AnyModel, wanted: Wanted, added: Added | None, removed: Added | None, engine: Engine) -> AnyModel:
    kept = required(model, wanted.path)
    sums, changes = kept.sums, list[tuple[str, Added | None]]()
    if removed is not None:
        sums = _without(model, sums, removed, wanted)
        changes.append(("remove", removed))
    if wanted.forget is not None:
        sums = sums.scaled(wanted.forget)
        changes.append((f"forget {wanted.forget:g}", None))
    if added is not None:
        sums = sums.merge(added.sums)
        changes.append(("update", added))
    made = _made(model, kept.with_sums(sums), engine)
    error = validation_error_of(made)
    changed = [
        Change(name, 0, "", error) if one is None else Change(name, one.sums.rows(), digest(model, one), error)
        for name, one in changes
    ]
    for one in each_of(made):
        if wanted.fail_above is not None and not one.card.validation_error <= wanted.fail_above:
            raise GateError(
                f"not updated: validation error{whose(one, made)} {one.card.validation_error:.4f} is above "
                f"--fail-above {wanted.fail_above:g}",
                "look at the new rows with `enrelm check`, or raise the limit",
            )
    return told(made, model.history, *changed)


def _without(model: AnyModel, sums: KeptSums, removed: Added, wanted: Wanted) -> KeptSums:
    if any(str(entry["change"]).startswith("forget") for entry in model.history):
        raise UsageError(
            "rows cannot be removed after --forget: the weight each still has is unknown",
            "fit again without them",
        )
    if model.input_map.by_fold:
        raise UsageError(
            "rows cannot be removed from this model: inputs that are mean targets knew each row's own fold",
            "fit again without them, or drop its texts of many levels",
        )
    left, strangers = sums.without(removed.sums)
    if strangers or any(left.rows(side) < 0 for side in left.sides):
        names = ", ".join(map(_label, wanted.remove))
        raise DataError(
            f"{names}: {max(strangers, 1):,} rows or more are not among the rows of this model",
            "give the rows as they were when they were added: the same inputs, target and weight",
        )
    return left


def _label(source: str | ArrowSource) -> str:
    return source if isinstance(source, str) else source.label


# --- merge -----------------------------------------------------------------------------------------------------------


def merge(paths: Sequence[str], engine: Engine) -> tuple[AnyReport, AnyModel]:
    """One model of the rows of several, which have one parent: their sums added up."""
    timer = Stopwatch()
    if len(paths) < 2:
        raise UsageError("merge takes two models or more", "enrelm merge a.joblib b.joblib -o all.joblib")
    models = [load_models(path) for path in paths]
    kept = [required(model, path) for model, path in zip(models, paths, strict=True)]
    first = models[0]
    for model, path in zip(models[1:], paths[1:], strict=True):
        if family(model) != family(first):
            raise DataError(
                f"{path} and {paths[0]} have different landmarks, inputs or kernels: their sums cannot be added",
                "fit both with `enrelm fit --like PARENT`",
            )
    _check_apart(models, paths)
    made = _made(first, kept[0].with_sums(merged([one.sums for one in kept])), engine)
    earlier = tuple(entry for model in models for entry in model.history)
    change = Change("merge", kept_rows(made), "", validation_error_of(made))
    made = told(made, earlier, change)
    return report_of(made, None, first, timer), made


def _check_apart(models: Sequence[AnyModel], paths: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for model, path in zip(models, paths, strict=True):
        for hashed in {str(entry["hash"]) for entry in model.history if entry["hash"]}:
            if hashed in seen:
                raise DataError(
                    f"{seen[hashed]} and {path} hold rows of the same table ({hashed}): they would count twice",
                    "merge models of different rows",
                )
            seen[hashed] = path


# --- shared ----------------------------------------------------------------------------------------------------------


def required(model: AnyModel, path: str) -> Kept:
    if model.kept is None:
        targets = [word for one in each_of(model) for word in ("--target", one.encoding.target)]
        line = words.shell(["enrelm", "fit", "DATA", *targets, "--updatable", "-o", path])
        raise UsageError(f"{path} keeps no sums of its rows", f"fit it with --updatable: {line}")
    return model.kept


def family(model: AnyModel) -> str:
    """Equal for models whose sums are of the same things."""
    kept = model.kept
    assert kept is not None
    models = each_of(model)
    document = {
        "encoding": {**model.encoding.to_document(), "notes": []},
        "targets": list(model.encoding.targets),
        "input_map": model.input_map.to_document(),
        "scales": [_of_family(one.target_scale).to_document() for one in models],
        "of": frozen_document(kept.frozen),
        "variant": models[0].card.variant,
        "split": [kept.hashed.seed, kept.hashed.validation_below, *kept.rare],
        "groups": [[one.name, one.kind.value, one.categorical] for one in kept.groups],
    }
    return blake2b(repr(checksums(canonical(document, {}))).encode(), digest_size=16).hexdigest()


def _of_family(scale: ModelScale) -> ModelScale:
    """Without what every change of rows changes."""
    return replace(scale, low=None, high=None, errors=np.zeros(0)) if isinstance(scale, TargetScale) else scale
