"""From rows to the sums that an updatable model keeps: the rows of a fit, and those of a table that comes later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enrelm_cli.errors import DataError
from enrelm_cli.fold.folds import Chunk, Engine, Sums, Tree
from enrelm_cli.fold.hashing import combine, hash_numbers, with_weights
from enrelm_cli.inputs.encoding import Unseen, known_rows
from enrelm_cli.inputs.marks import NO_MARKS
from enrelm_cli.inputs.predicting import open_for_predict
from enrelm_cli.inputs.split import HashSplit, Side, Sides
from enrelm_cli.inputs.standard import View
from enrelm_cli.inputs.survey.contents import ContentSums, content_sums
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.kernels.arcsine import Kernel, Prepared
from enrelm_cli.model.model import Model
from enrelm_cli.model.network import Network
from enrelm_cli.model.updating.kept import SIDES, Kept, KeptRows, KeptSums
from enrelm_cli.phase_one.eigenbasis import GramRows, Projection
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
    prepared: Prepared
    projection: Projection

    def __call__(self, chunk: Chunk) -> KeptSums:
        gram = GramRows(self.view, self.prepared, self.projection, SIDES)(chunk)
        seen = {side: self.view(chunk, side) for side in gram.sides}
        sides = {side: Sums({**sums.values, **_linear(seen[side])}) for side, sums in gram.sides.items()}
        own = {side: chunk.where(self.view.split.sides(chunk) == side) for side in seen}
        samples = [_kept(seen[side], own[side]) for side in seen]
        scale = self.view.target_scale
        assert isinstance(scale, TargetScale)
        u = scale.standard(chunk.y)
        ends = (float(u.min()), float(u.max())) if len(u) else (np.inf, -np.inf)
        none = np.zeros(0)
        sample = KeptRows(np.zeros((0, self.view.input_map.d)), none, none, chunk.X[:0], np.zeros(0, np.uint64))
        for one in samples:
            sample = sample.merge(one)
        return KeptSums(sides, sample, *ends)


def _linear(rows: Chunk) -> dict[str, Array]:
    """The sums of linear regression with an intercept, on the model's own inputs."""
    X = np.column_stack([rows.X, np.ones(rows.rows)])
    root = rows.rooted(X)
    return {"XX": root.T @ root, "Xy": X.T @ rows.weighted(rows.y)}


def _kept(seen: Chunk, own: Chunk) -> KeptRows:
    """By the hash of the raw inputs: maps may tell apart rows of different folds."""
    return KeptRows(seen.X, seen.y, own.y, own.X, own.twins, seen.weight).thinned()


def keeper(view: View, kernel: Kernel, Z: Array, projection: Projection) -> KeepRows:
    return KeepRows(view, kernel.prepare(Z), projection)


# --- rows that come later --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Added:
    """What a table brings."""

    sums: KeptSums
    content: ContentSums
    unseen: Unseen
    without: int  # rows without a target or of weight 0
    squares: float  # of the old model's errors on these rows, and of their distance from its mean: in units of u
    total: float

    def merge(self, other: Added) -> Added:
        return Added(
            self.sums.merge(other.sums),
            self.content.merge(other.content),
            self.unseen.merge(other.unseen),
            self.without + other.without,
            self.squares + other.squares,
            self.total + other.total,
        )

    @property
    def error(self) -> float:
        """Of the old model on these rows."""
        return float(np.sqrt(self.squares / self.total)) if self.total > 0.0 else float("nan")


@dataclass(frozen=True)
class NewRows:
    """From a batch of a later table to what it adds."""

    model: Model
    keep: KeepRows

    def __call__(self, batch: Batch) -> Added:
        encoding, scale = self.model.encoding, scale_of(self.model)
        _check_weights(self.model, batch)
        rows = encoding.hashed(batch)
        _, _, unseen = encoding.for_predict(batch)
        twins, present = combine(rows.hashes, batch.rows), known_rows(rows.y, rows.weight)
        weight = None if rows.weight is None else hash_numbers(rows.weight * encoding.weight_unit)
        target = with_weights(hash_numbers(rows.y), weight)
        chunk = encoding.to_fit(rows, twins, batch, NO_MARKS)
        u = scale.standard(chunk.y)
        gap = u - scale.standard(self.model.predict(chunk.X)) if chunk.rows else u
        return Added(
            self.keep(chunk),
            content_sums(twins[present], target[present]),
            unseen,
            batch.rows - chunk.rows,
            float(gap @ chunk.weighted(gap)),
            float(u @ chunk.weighted(u)),
        )


def _check_weights(model: Model, batch: Batch) -> None:
    weight = model.encoding.weights(batch)
    if model.encoding.weight is None:
        return
    if weight is None:
        raise DataError(
            f"there is no column {model.encoding.weight!r}, which weighs this model's rows",
            "add it: 1 where a row counts once",
        )
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if len(wrong):
        place = f"row {batch.row + int(wrong[0]) + 1:,}" if batch.row >= 0 else "some row"
        raise DataError(
            f"{batch.origin}, {place}: weight {model.encoding.weight!r} is missing, negative or infinite",
            "a weight is a number, 0 or more: 0 leaves a row out",
        )


def sums_of_table(
    model: Model, kept: Kept, kernel: Kernel, sources: tuple[str | ArrowSource, ...], read: ReadOptions, engine: Engine
) -> tuple[Added, str]:
    """One pass over a table that has the model's columns, and its label."""
    opened = open_for_predict(sources, read, model.encoding, with_target=True)
    for source in opened.sources:
        if model.encoding.target not in source.names:
            raise DataError(
                f"{source.label}: there is no column {model.encoding.target!r}, the target of this model",
                "rows without their targets have nothing to add",
            )
    work = NewRows(model, keeper(later_view(model, kept.split), kernel, kept.Z, Projection(kept.R, kept.triangular)))
    tree = Tree()
    for added in engine.map(opened, work, "sums of new rows"):
        tree.add(added)
    if tree.empty:
        raise DataError(f"{opened.label}: there are no rows", "give a table with at least one row")
    found: Added = tree.result()
    if not found.sums.rows():
        raise DataError(f"{opened.label}: no row has a target", "rows without their targets have nothing to add")
    return found, opened.label


def later_view(model: Model, split: HashSplit) -> View:
    """What rows that made nothing of the model go through."""
    return View(split, model.input_map, model.target_scale, fitted=Later())


def scale_of(model: Model) -> TargetScale:
    """An updatable model predicts numbers."""
    assert isinstance(model.target_scale, TargetScale)
    return model.target_scale


def network_kernel(network: Network) -> Kernel:
    from enrelm_cli.model.features import KernelFeatures

    assert isinstance(network.features, KernelFeatures)
    return network.features.kernel
