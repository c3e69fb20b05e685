"""update, merge and fit --like: rows added to, taken from and put together in the sums of a model.

new rows -> the model's own encoding, inputs and landmarks -> sums by side, beside those it keeps -> ridge, errors anew
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np

from enrelm_cli.commands.saved import load_model
from enrelm_cli.commands.updating.finish import Finished, finish
from enrelm_cli.commands.updating.sums import Added, keeper, sums_of_table
from enrelm_cli.errors import DataError, GateError, UsageError
from enrelm_cli.fold.folds import Engine
from enrelm_cli.inputs.classes.rare import KeptClasses
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.inputs.dataset import Dataset
from enrelm_cli.inputs.split import HashSplit
from enrelm_cli.inputs.survey.cells import InputColumn
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.inputs.targets.scale import SeveralScale
from enrelm_cli.judge.fitting import FittedVariant
from enrelm_cli.model import artifact
from enrelm_cli.model.document import canonical, checksums
from enrelm_cli.model.model import Model
from enrelm_cli.model.updating.frozen import frozen_document
from enrelm_cli.model.updating.kept import Kept, KeptSums, merged
from enrelm_cli.report.updating.update_report import Change, UpdateReport
from enrelm_cli.settings import MethodSettings, ReadOptions, Roles, SplitSettings
from enrelm_cli.stopwatch import Stopwatch
from enrelm_cli.table.memory import ArrowSource
from enrelm_cli.variants import VARIANTS, named

# --- fit --updatable -------------------------------------------------------------------------------------------------


def for_updates(names: Sequence[str], split: SplitSettings, dataset: Dataset) -> tuple[tuple[str, ...], SplitSettings]:
    """The variants that `auto` tries, and one split that later rows fall on, too; refused before anything is fitted."""
    sample = dataset.rows.sample
    marks = (sample.group, sample.time, sample.held)
    if split.kind != "hash" or any(mark is not None for mark in marks):
        raise UsageError(
            "--updatable needs rows that fall on a side by the hash of their inputs",
            "leave out --split shuffle, --group, --time and --validation",
        )
    if split.folds not in (None, 1):
        raise UsageError("--updatable keeps the sums of one validation split", "leave out --folds")
    if sample.unit is not sample.twins:
        raise UsageError(
            "--updatable: nearly every row repeats the inputs of another, so that rows are split one by one",
            "later rows could not be split the same way: fit again when there are more",
        )
    return tuple(names) or tuple(name for name in VARIANTS if named(name).from_sums), replace(split, folds=1)


def kept_of(model: Model, winner: FittedVariant, method: MethodSettings, hashed: str, engine: Engine) -> Finished:
    """A fitted model with what it keeps of its rows: one more pass. Its weights are then those of the sums."""
    data, scale = winner.basis.data, winner.basis.data.view.target_scale
    assert not isinstance(scale, SeveralScale)
    split = data.view.split
    rare = split.kept if isinstance(split, KeptClasses) else ()
    split = split.split if isinstance(split, KeptClasses) else split
    assert isinstance(split, HashSplit)
    frozen = winner.variant.freeze(winner.basis, method)
    sums: KeptSums = data.fold(keeper(data.view, frozen), "sums to keep")
    targets = scale.targets if isinstance(scale, ClassScale) else ()
    kept = Kept(split, frozen, sums, rare, targets, len(model.classes or ()))
    made = finish(replace(model, input_map=data.view.input_map, target_scale=scale), kept, engine)
    change = Change("fit", sums.rows(), hashed, made.model.card.validation_error)
    return replace(made, model=replace(made.model, history=(change.to_json(),)))


# --- fit --like ------------------------------------------------------------------------------------------------------


_ONE = "sums are kept of one"


def like(
    path: str, sources: Sequence[str], roles: Roles, read: ReadOptions, engine: Engine
) -> tuple[UpdateReport, Model]:
    """Settings, kernel, landmarks and encoding of another model for the rows of another table: no search."""
    timer = Stopwatch()
    parent = load_model(path, _ONE)
    kept = required(parent, path)
    said = {"target": roles.target, "weight": roles.weight}
    if replace(roles, target=None, weight=None) != Roles() or any(
        name not in (None, getattr(parent.encoding, role)) for role, name in said.items()
    ):
        raise UsageError(
            f"--like: columns have the roles that they have in {path} (target {parent.encoding.target!r})",
            "leave out the options that name columns",
        )
    added, _ = sums_of_table(parent, kept, tuple(sources), read, engine)
    hashed = _digest(parent, added)
    made = finish(parent, kept.with_sums(added.sums), engine).model
    made = _told(made, (), Change("fit --like", added.sums.rows(), hashed, made.card.validation_error))
    return _report(made, added, parent, timer), made


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


def update(wanted: Wanted, read: ReadOptions, engine: Engine) -> UpdateReport:
    """The sums of the tables are made first; then the file is locked, read again, changed and replaced as a whole."""
    timer = Stopwatch()
    before = load_model(wanted.path, _ONE)
    added, removed = _tables(before, wanted, read, engine)
    own = wanted.output is None or wanted.output == wanted.path
    with artifact.locked(wanted.path if own else None):
        model = load_model(wanted.path, _ONE)
        if family(model) != family(before):
            raise DataError(f"{wanted.path}: another model was written there meanwhile", "run the command again")
        made = _changed(model, wanted, added, removed, engine)
        artifact.save(made.to_document(), wanted.output or wanted.path)
    return replace(_changes(made, added, removed, model, timer), model=wanted.output or wanted.path)


def updated(model: Model, wanted: Wanted, read: ReadOptions, engine: Engine) -> tuple[UpdateReport, Model]:
    """The same of a model in memory, whose path is only a name."""
    timer = Stopwatch()
    added, removed = _tables(model, wanted, read, engine)
    made = _changed(model, wanted, added, removed, engine)
    return _changes(made, added, removed, model, timer), made


def _tables(before: Model, wanted: Wanted, read: ReadOptions, engine: Engine) -> tuple[Added | None, Added | None]:
    """The sums of new rows and of those to be removed; the gate of drift closes before anything is changed."""
    kept = required(before, wanted.path)
    added, removed = (
        None if not names else sums_of_table(before, kept, names, read, engine)[0]
        for names in (wanted.new, wanted.remove)
    )
    if added is not None and wanted.fail_drift is not None and not _drift(added, before) <= wanted.fail_drift:
        raise GateError(
            f"not updated: the model's {_unit(before)} on the new rows is {added.error:.4f}, "
            f"{_drift(added, before):.2f} times that of its validation rows (--fail-drift {wanted.fail_drift:g})",
            "look at the new rows with `enrelm check`; a fresh fit may be due",
        )
    return added, removed


def _changes(made: Model, added: Added | None, removed: Added | None, before: Model, timer: Stopwatch) -> UpdateReport:
    report = _report(made, added, before, timer)
    if removed is None or made.kept is None:
        return report
    return replace(report, notes=(*report.notes, *_landmark_note(made.kept, removed)))


def _landmark_note(kept: Kept, removed: Added) -> tuple[str, ...]:
    """Landmarks stay: their inputs are the model's own coordinates, whatever becomes of the rows they were."""
    landmarks = {row.tobytes() for row in kept.frozen.Z}
    stay = sum(row.tobytes() in landmarks for row in removed.sums.sample.X)
    if not stay:
        return ()
    return (f"{stay:,} of the removed rows are landmarks: their inputs, not their targets, stay until a fresh fit",)


def _changed(model: Model, wanted: Wanted, added: Added | None, removed: Added | None, engine: Engine) -> Model:
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
    made = finish(model, kept.with_sums(sums), engine).model
    error = made.card.validation_error
    told = [
        Change(name, 0, "", error) if one is None else Change(name, one.sums.rows(), _digest(model, one), error)
        for name, one in changes
    ]
    if wanted.fail_above is not None and not error <= wanted.fail_above:
        raise GateError(
            f"not updated: validation error {error:.4f} is above --fail-above {wanted.fail_above:g}",
            "look at the new rows with `enrelm check`, or raise the limit",
        )
    return _told(made, model.history, *told)


def _without(model: Model, sums: KeptSums, removed: Added, wanted: Wanted) -> KeptSums:
    if any(str(entry["change"]).startswith("forget") for entry in model.history):
        raise UsageError(
            "rows cannot be removed after --forget: the weight that each still has is not known",
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


def merge(paths: Sequence[str], engine: Engine) -> tuple[UpdateReport, Model]:
    """One model of the rows of several, which have one parent: their sums added up."""
    timer = Stopwatch()
    if len(paths) < 2:
        raise UsageError("merge takes two models or more", "enrelm merge a.joblib b.joblib -o all.joblib")
    models = [load_model(path, _ONE) for path in paths]
    kept = [required(model, path) for model, path in zip(models, paths, strict=True)]
    first = models[0]
    for model, path in zip(models[1:], paths[1:], strict=True):
        if family(model) != family(first):
            raise DataError(
                f"{path} and {paths[0]} have other landmarks, inputs or kernels: their sums are not of the same things",
                "fit both with `enrelm fit --like PARENT`",
            )
    _check_apart(models, paths)
    made = finish(first, kept[0].with_sums(merged([one.sums for one in kept])), engine).model
    earlier = tuple(entry for model in models for entry in model.history)
    change = Change("merge", kept_rows(made), "", made.card.validation_error)
    made = _told(made, earlier, change)
    return _report(made, None, first, timer), made


def _check_apart(models: Sequence[Model], paths: Sequence[str]) -> None:
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


def required(model: Model, path: str) -> Kept:
    if model.kept is None:
        raise UsageError(f"{path} keeps no sums of its rows", "fit it with --updatable")
    return model.kept


def kept_rows(model: Model) -> int:
    return 0 if model.kept is None else model.kept.sums.rows()


def family(model: Model) -> str:
    """Equal for models whose sums are of the same things."""
    kept = model.kept
    assert kept is not None
    scale = model.target_scale
    if isinstance(scale, TargetScale):
        scale = replace(scale, low=None, high=None, errors=np.zeros(0))
    document = {
        "encoding": {**model.encoding.to_document(), "notes": []},
        "input_map": model.input_map.to_document(),
        "scale": scale.to_document(),
        "of": frozen_document(kept.frozen),
        "variant": model.card.variant,
        "split": [kept.hashed.seed, kept.hashed.validation_below, *kept.rare],
    }
    return blake2b(repr(checksums(canonical(document, {}))).encode(), digest_size=16).hexdigest()


def _digest(model: Model, added: Added) -> str:
    columns = tuple(InputColumn(one.name, one.kind, one.categorical) for one in model.encoding.columns)
    return added.content.digest(columns, model.encoding.target)


def _drift(added: Added, model: Model) -> float:
    before = _error_before(model)
    return added.error / before if before > 0.0 else float("inf")


def _error_before(model: Model) -> float:
    """On validation rows, in the units that new rows are judged in."""
    told = model.card.classes
    return model.card.validation_error if told is None else float(told["validation"]["log_loss"])


def _unit(model: Model) -> str:
    return "error" if model.classes is None else "log-loss"


def _told(made: Model, earlier: tuple[dict[str, object], ...], *changes: Change) -> Model:
    history = (*earlier, *(change.to_json() for change in changes))
    hashes = sorted(f"{entry['change']} {entry['hash']}" for entry in history)
    data = {**made.card.data, "hash": blake2b(repr(hashes).encode(), digest_size=16).hexdigest()}
    return replace(made, history=history, card=replace(made.card, data=data))


def _report(made: Model, added: Added | None, before: Model, timer: Stopwatch) -> UpdateReport:
    card = made.card
    notes = [] if added is None else [*added.unseen.notes()]
    if added is not None and _digest(before, added) in {str(entry["hash"]) for entry in before.history}:
        notes.append(
            "a table with these very rows is in the history already: they count twice, unless they were removed"
        )
    if added is not None and added.without:
        notes.append(f"{added.without:,} rows without a target, or of weight 0, left out")
    return UpdateReport(
        neurons=card.neurons,
        rows=kept_rows(made),
        added=0 if added is None else added.sums.rows(),
        training_rows=card.training_rows,
        validation_rows=card.validation_rows,
        train_error=card.train_error,
        validation_error=card.validation_error,
        linear_error=card.linear_error,
        validation_error_before=_error_before(before),
        new_rows_error=None if added is None else added.error,
        drift=None if added is None else _drift(added, before),
        target=made.encoding.target,
        history=made.history,
        notes=tuple(notes),
        timings=timer.report(),
        kind=card.variant,
        classes=card.classes,
    )
