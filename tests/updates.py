"""What the tests of update, merge and fit --like share: tables in parts, their sums, files with nonsense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enrelm_cli.commands.updating.finish import finish
from enrelm_cli.commands.updating.sums import Added, sums_of_table
from enrelm_cli.errors import ModelFileError
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.model import artifact
from enrelm_cli.model.model import Model
from enrelm_cli.model.targets.models import TargetModels
from enrelm_cli.model.updating import kept
from enrelm_cli.settings import ReadOptions
from enrelm_cli.types import Array
from enrelm_cli.variants import VARIANTS, named

NUMBERS = [name for name in VARIANTS if named(name).numbers]


def write(path: Path, head: str, rows: Sequence[str]) -> Path:
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def write_parts(folder: Path, head: str, parts: Sequence[list[str]]) -> Path:
    """0.csv, 1.csv and so on, and the rows of all of them in all.csv."""
    for k, part in enumerate(parts):
        write(folder / f"{k}.csv", head, part)
    write(folder / "all.csv", head, [row for part in parts for row in part])
    return folder


def rows_of(path: Path) -> list[str]:
    return path.read_text().splitlines()[1:]


def sums_of_parts(model: Model | TargetModels, folder: Path, count: int) -> list[Added]:
    assert model.kept is not None
    tables = [(str(folder / f"{k}.csv"),) for k in range(count)]
    return [sums_of_table(model, model.kept, one, ReadOptions(), LocalEngine(1))[0] for one in tables]


def finished(model: Model | TargetModels, sums: kept.KeptSums) -> list[Model]:
    """The model of the sums, or that of each target."""
    assert model.kept is not None
    models = model.models if isinstance(model, TargetModels) else (model,)
    return [one.model for one in finish(models, model.kept.with_sums(sums), LocalEngine(1))]


def check_sequences(
    model: Model | TargetModels, folder: Path, count: int, told: Callable[[list[Model]], Array], examples: int
) -> None:
    """Parts that are added in any order, or merged, some of them removed: the model of the parts that are left."""
    assert model.kept is not None
    first, parts = model.kept.sums, [one.sums for one in sums_of_parts(model, folder, count)]
    ends: dict[frozenset[int], Array] = {}

    def end(left: frozenset[int]) -> Array:
        if left not in ends:
            ends[left] = told(finished(model, kept.merged([parts[k] for k in sorted(left)])))
        return ends[left]

    @given(
        st.permutations(range(1, count)),
        st.lists(st.integers(1, count - 1), max_size=count - 1, unique=True),
        st.booleans(),
    )
    @settings(max_examples=examples, deadline=None)
    def check(order: list[int], removed: list[int], shards: bool) -> None:
        # Shards: each table in a place of its own, then put together.
        sums = kept.merged([parts[order[0]], first, *(parts[k] for k in order[1:])]) if shards else first
        for k in order:
            sums = sums if shards else sums.merge(parts[k])
            if k in removed:
                sums, strangers = sums.without(parts[k])
                assert strangers == 0
        left = frozenset(range(count)) - set(removed)
        np.testing.assert_allclose(told(finished(model, sums)), end(left), rtol=1e-8, atol=1e-10)

    check()


def refuse(path: Path, place: Sequence[Any], nonsense: object, kind: type[Model | TargetModels] = Model) -> None:
    """A file with nonsense at a place of its document is no model."""
    document = artifact.load(str(path))
    inner: Any = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = nonsense
    with pytest.raises(ModelFileError):
        kind.from_document(document)
