"""One side's rows as the method sees them: inputs through an input map, the target on its scale."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from enrelm_cli.fold.folds import Chunk
from enrelm_cli.fold.hashing import combine
from enrelm_cli.inputs.classes.scale import Scale
from enrelm_cli.inputs.maps.column_map import EVERY_ROW, Folds, folds_of
from enrelm_cli.inputs.maps.input_map import InputMap
from enrelm_cli.inputs.split import Side, Split


@dataclass(frozen=True)
class View:
    """Standardised rows. Training rows see what was learnt from the target only from folds that they are not in.

    Twins are rows with equal inputs X: where a map goes by folds, those of one fold.
    """

    split: Split
    input_map: InputMap
    target_scale: Scale
    fitted: Split | None = None  # whose training rows gave the map, where it is not `split`

    def __call__(self, chunk: Chunk, side: Side) -> Chunk:
        chunk = chunk.where(self.split.sides(chunk) == side)
        fold = self._fold(chunk) if side is Side.TRAIN else None
        X, y = self.input_map.inputs(chunk.X, fold), self.target_scale.forward(chunk.y)
        if fold is None or not self.input_map.by_fold:
            return replace(chunk, X=X, y=y)
        return replace(chunk, X=X, y=y, twins=combine([chunk.twins, fold.view(np.uint64)]))

    def _fold(self, chunk: Chunk) -> Folds:
        """Of training rows: the fold of those that gave the map, EVERY_ROW for those that came later."""
        fold = folds_of(chunk.together)
        return fold if self.fitted is None else np.where(self.fitted.sides(chunk) == Side.TRAIN, fold, EVERY_ROW)

    def trained_on(self, split: Split) -> View:
        """The same map for another split's training rows."""
        return replace(self, split=split, fitted=self.fitted or self.split)
