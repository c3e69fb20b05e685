"""How often a fit reads its table: every pass over a file larger than memory costs minutes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from enrelm_cli.commands.fit import fit
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.settings import (
    DataSettings,
    EngineSettings,
    InputSettings,
    KernelSettings,
    MethodSettings,
    ReadOptions,
    Roles,
    SplitSettings,
)

# Over the sample, or over the leaves that the pass "rows by leaf" has gathered.
ELSEWHERE = ("sample", "leaves", "weights of the leaves")


@dataclass
class Counted:
    """Progress that remembers every pass over the rows."""

    passes: list[str] = field(default_factory=list)

    def start(self, label: str, total: int | None) -> None:
        self.passes.append(label)

    def advance(self, rows: int) -> None: ...

    def finish(self) -> None: ...


def passes_of(path: Path, variant: str, transform: str = "auto", memory: int = 100_000) -> list[str]:
    counted = Counted()
    kernel = KernelSettings(tune_rows=100, tune_steps=20)
    method = MethodSettings(landmarks=50, kernel=kernel, inputs=InputSettings(transform=transform))
    data = DataSettings((str(path),), Roles(target="y"), ReadOptions())
    # As on a table that is too large for folds.
    fit(data, SplitSettings(folds=1), method, EngineSettings(memory=memory), variant, LocalEngine(1, counted))
    return [label for label in counted.passes if label not in ELSEWHERE and not label.startswith("tuning")]


@pytest.mark.parametrize(
    ("variant", "transform", "most"),
    # A transformed target has no sums in its own units: its curve takes a pass. The local variant gathers its rows once
    # to train and once to refit; auto without it makes 8. The last pass is of the metrics, which sums do not tell.
    [
        ("auto", "auto", 10),
        ("local", "none", 8),
        ("kernel", "none", 5),
        ("kernel", "auto", 6),
        ("incremental", "auto", 11),
    ],
)
def test_a_stream_is_read_no_more_often_than_it_must(
    variant: str, transform: str, most: int, sample_data: Path
) -> None:
    passes = passes_of(sample_data / "friedman.csv", variant, transform)
    assert len(passes) <= most, passes
