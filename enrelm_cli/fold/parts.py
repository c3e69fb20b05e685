"""What the passes of a run are part of, a split or a method: progress that shows it has a list of names, `parts`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from enrelm_cli.fold.folds import Progress


@contextmanager
def part_of_run(progress: Progress, name: str) -> Iterator[None]:
    """Passes that start inside are of this part."""
    parts: list[str] = getattr(progress, "parts", [])
    parts.append(name)
    try:
        yield
    finally:
        parts.pop()
