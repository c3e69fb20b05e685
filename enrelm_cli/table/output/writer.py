"""What predict adds to a table, and what a writer of predictions offers, whatever the format of its file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from enrelm_cli.table.pieces import Batch


@dataclass(frozen=True)
class Added:
    """A column that stands beside the rows of a table. Its values are (t,) floats, or (t,) texts with None for none."""

    name: str
    is_text: bool = False


class Writer(Protocol):
    """Parts are made on any thread or machine, and written in their order by one."""

    def part(self, values: Sequence[Any], batch: Batch) -> Any:
        """The rows of a batch with what is added to them: for each `Added` its values, in the same order."""

    def write(self, stream: BinaryIO, parts: Iterable[Any]) -> None:
        """A whole file of the parts. Nothing is written before the first of them is there."""
