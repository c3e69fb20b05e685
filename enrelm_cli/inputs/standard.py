"""One side's rows as the method sees them: inputs through an input map, the target on its scale."""

from __future__ import annotations

from dataclasses import dataclass, replace

from enrelm_cli.fold.folds import Chunk
from enrelm_cli.inputs.maps.column_map import folds_of
from enrelm_cli.inputs.maps.input_map import InputMap
from enrelm_cli.inputs.split import Side, Split
from enrelm_cli.inputs.target_scale import TargetScale


@dataclass(frozen=True)
class View:
    """Standardised rows. Training rows see what was learnt from the target only from folds that they are not in."""

    split: Split
    input_map: InputMap
    target_scale: TargetScale

    def __call__(self, chunk: Chunk, side: Side) -> Chunk:
        chunk = chunk.where(self.split.sides(chunk) == side)
        fold = folds_of(chunk.key) if side is Side.TRAIN else None
        return replace(chunk, X=self.input_map.inputs(chunk.X, fold), y=self.target_scale.forward(chunk.y))
