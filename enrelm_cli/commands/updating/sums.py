"""From rows to the sums that an updatable model keeps: the rows of a fit, and those of a table that comes later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from enrelm_cli.columns import plain
from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Chunk, Engine, Sums, Tree
from enrelm_cli.fold.hashing import combine, hash_numbers, with_weights
from enrelm_cli.inputs.classes.scale import ClassScale, Scale
from enrelm_cli.inputs.encoding import UNSEEN, Encoding, Unseen, known_rows
from enrelm_cli.inputs.marks import NO_MARKS, Marks
from enrelm_cli.inputs.predicting import open_for_predict
from enrelm_cli.inputs.split import Side, Sides, Split
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.survey.contents import ContentSums, content_sums
from enrelm_cli.model.model import Model
from enrelm_cli.model.targets.models import AnyModel, TargetModels
from enrelm_cli.model.updating.frozen import Frozen
from enrelm_cli.model.updating.kept import SIDES, Kept, KeptRows, KeptSums
from enrelm_cli.phase_one.eigenbasis import SideSums
from enrelm_cli.phase_one.frozen import rows_of
from enrelm_cli.table.cells import LARGEST_WEIGHT, NO_WEIGHT, WEIGHT_HINT
from enrelm_cli.table.memory import ArrowSource
from enrelm_cli.table.table import Batch, ReadOptions
from enrelm_cli.types import Array


@dataclass(frozen=True)
class Later:
    """The split of the rows that made a map, for rows that made none: none of them trained."""

    def sides(self, chunk: Chunk) -> Sides:
        return np.full(chunk.rows, Side.VALIDATION, np.uint8)


@dataclass(frozen=True)
class KeepRows:
    """Partial: what is kept of a chunk's rows."""

    view: View
    summed: Callable[[Chunk], SideSums]
    every_row: bool

    def __call__(self, chunk: Chunk) -> KeptSums:
        gram, scale = self.summed(chunk), self.view.target_scale
        seen = {side: self.view(chunk, side) for side in gram.sides}
        own = {side: chunk.where(self.view.split.sides(chunk) == side) for side in seen}
        sides = {
            side: Sums({**sums.values, **_linear(seen[side]), **_counts(own[side], scale)})
            for side, sums in gram.sides.items()
        }
        u = chunk.y if isinstance(scale, ClassScale) else scale.standard(chunk.y)
        ends = plain(u.min(axis=0, initial=np.inf)), plain(u.max(axis=0, initial=-np.inf))
        nothing = np.zeros((0, self.view.input_map.d))
        group = None if chunk.group is None else chunk.group[:0]
        none = np.zeros(0, np.uint64)
        sample = KeptRows(nothing, chunk.y[:0], chunk.X[:0], none, group=group, every=self.every_row)
        for side in seen:
            sample = sample.merge(self._kept(seen[side], own[side]))
        return KeptSums(sides, sample, *ends)

    def _kept(self, seen: Chunk, own: Chunk) -> KeptRows:
        """By the hash of the raw inputs: maps may tell apart rows of different folds."""
        return KeptRows(seen.X, own.y, own.X, own.twins, seen.weight, own.group, every=self.every_row).thinned()


def _linear(rows: Chunk) -> dict[str, Array]:
    """The sums of linear regression with an intercept, on the model's own inputs."""
    X = np.column_stack([rows.X, np.ones(rows.rows)])
    root = rows.rooted(X)
    return {"XX": root.T @ root, "Xy": X.T @ rows.weighted(rows.y)}


def _counts(own: Chunk, scale: Scale) -> dict[str, Array]:
    """Rows of each class."""
    if not isinstance(scale, ClassScale):
        return {}
    return {"counts": np.bincount(own.y.astype(np.int64), minlength=scale.classes).astype(float)}


def keeper(view: View, frozen: Frozen) -> KeepRows:
    return KeepRows(view, rows_of(frozen, view, SIDES), frozen.every_row)


# --- rows that come later --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Added:
    """What a table brings."""

    sums: KeptSums
    content: ContentSums
    unseen: Unseen
    without: int  # rows without a target or of weight 0
    loss: Array  # (q,) squares of the old model's errors on these rows, in units of u; log-losses of classes
    total: Array  # (q,) squares of their distance from its mean; weights
    strange: Counter[str]  # classes that the model does not have, and how many rows of each
    classes: bool

    def merge(self, other: Added) -> Added:
        return Added(
            self.sums.merge(other.sums),
            self.content.merge(other.content),
            self.unseen.merge(other.unseen),
            self.without + other.without,
            self.loss + other.loss,
            self.total + other.total,
            self.strange + other.strange,
            self.classes,
        )

    @property
    def errors(self) -> list[float]:
        """Of the old model on these rows, for each target: relative, or of classes the log-loss."""
        shares = [a / b if b > 0.0 else float("nan") for a, b in zip(self.loss, self.total, strict=True)]
        return [float(share if self.classes else np.sqrt(share)) for share in shares]


@dataclass(frozen=True)
class NewRows:
    """From a batch of a later table to what it adds."""

    model: AnyModel
    keep: KeepRows
    marks: Marks = NO_MARKS

    def __call__(self, batch: Batch) -> Added:
        encoding = self.model.encoding
        _check_weights(self.model, batch)
        rows = encoding.hashed(batch)
        _, _, unseen = encoding.for_predict(batch)
        twins, present = combine(rows.hashes, batch.rows), known_rows(rows.y, rows.weight)
        weight = None if rows.weight is None else hash_numbers(rows.weight * encoding.weight_unit)
        target = with_weights(encoding.target_hashes(rows.y), weight)
        chunk = encoding.to_fit(rows, twins, batch, self.marks)
        strange = _strange(encoding, rows.y, batch)
        chunk = chunk.where(chunk.y != UNSEEN) if strange else chunk
        loss, total = _losses(self.model, chunk)
        return Added(
            self.keep(chunk),
            content_sums(twins[present], target[present]),
            unseen,
            batch.rows - chunk.rows,
            loss,
            total,
            strange,
            encoding.classes is not None,
        )


def _losses(model: AnyModel, chunk: Chunk) -> tuple[Array, Array]:
    """Of rows that the model has not seen: squared errors and squares of u; or log-losses and weights."""
    scale = model.target_scale
    if not chunk.rows:
        return np.zeros(len(model.encoding.targets)), np.zeros(len(model.encoding.targets))
    if isinstance(scale, ClassScale):
        assert isinstance(model, Model)
        p = model.probabilities(chunk.X)[np.arange(chunk.rows), chunk.y.astype(np.int64)]
        losses = chunk.weighted(np.log(np.maximum(p, np.finfo(float).tiny)))
        return -np.sum(losses, keepdims=True), np.array([chunk.total])
    u = scale.standard(chunk.y)
    gap = u - scale.standard(model.predict(chunk.X))
    loss, total = (np.atleast_1d(np.sum(one * chunk.weighted(one), axis=0)) for one in (gap, u))
    return loss, total


def _strange(encoding: Encoding, y: Array, batch: Batch) -> Counter[str]:
    """Rows of each class that the model does not have."""
    if encoding.classes is None or not (y == UNSEEN).any():
        return Counter()
    cells = batch.columns.column(encoding.target).filter(y == UNSEEN)
    return Counter(str(cell) for cell in cells.to_pylist())


def _check_classes(found: Added, label: str, target: str) -> None:
    if not found.strange:
        return
    names = [f"{name!r} ({count:,} row{'' if count == 1 else 's'})" for name, count in sorted(found.strange.items())]
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
    raise DataError(
        f"{label}: classes of {target!r} that this model does not have: {shown}",
        "fit again with all rows, or leave these out: an update adds rows to the classes of the first fit",
    )


def _check_weights(model: AnyModel, batch: Batch) -> None:
    weight = model.encoding.weights(batch)
    if model.encoding.weight is None:
        return
    if weight is None:
        raise DataError(
            f"there is no column {model.encoding.weight!r}, which weighs this model's rows",
            "add it: 1 where a row counts once",
        )
    wrong = np.flatnonzero(~((weight >= 0.0) & (weight <= LARGEST_WEIGHT)))
    if len(wrong):
        place = f"row {batch.row + int(wrong[0]) + 1:,}" if batch.row >= 0 else "some row"
        raise DataError(f"{batch.origin}, {place}: weight {model.encoding.weight!r} {NO_WEIGHT}", WEIGHT_HINT)


def sums_of_table(
    model: AnyModel, kept: Kept, sources: tuple[str | ArrowSource, ...], read: ReadOptions, engine: Engine
) -> tuple[Added, str]:
    """One pass over a table that has the model's columns, and its label."""
    also = {column.name: column.kind for column in kept.groups}
    opened = open_for_predict(sources, read, model.encoding, with_target=True, also=also).to_add()
    for source in opened.sources:
        for target in model.encoding.targets:
            if target not in source.names:
                what = "a target" if isinstance(model, TargetModels) else "the target"
                raise DataError(
                    f"{source.label}: there is no column {target!r}, {what} of this model",
                    "rows without their targets have nothing to add",
                )
    work = NewRows(model, keeper(later_view(model, kept.split), kept.frozen), Marks(kept.groups))
    tree = Tree()
    for added in engine.map(opened, work, "sums of new rows"):
        tree.add(added)
    if tree.empty:
        raise DataError(f"{opened.label}: there are no rows", "give a table with at least one row")
    found: Added = tree.result()
    _check_classes(found, opened.label, model.encoding.target)
    if not found.sums.rows():
        known = "every target" if isinstance(model, TargetModels) else "a target"
        raise DataError(f"{opened.label}: no row has {known}", "rows without their targets have nothing to add")
    return found, opened.label


def later_view(model: AnyModel, split: Split) -> View:
    """What rows that made nothing of the model go through."""
    return View(split, model.input_map, model.target_scale, fitted=Later())
