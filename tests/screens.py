"""Screens for the tests of output: streams that pretend to be terminals, pipes or poor encodings."""

from __future__ import annotations

import io
import os
from pathlib import Path

from enrelm_cli.show.screen import Screen

SNAPSHOTS = Path(__file__).parent / "snapshots"


class Stream(io.TextIOWrapper):
    """Text that is kept, from a terminal or a pipe."""

    def __init__(self, terminal: bool, encoding: str) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="\n")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    @property
    def text(self) -> str:
        self.flush()
        content = self.buffer
        assert isinstance(content, io.BytesIO)
        return content.getvalue().decode(self.encoding)


def screen(
    terminal: bool = False,
    encoding: str = "utf-8",
    quiet: bool = False,
    verbose: bool = False,
    **environment: str,
) -> tuple[Screen, Stream, Stream]:
    """A screen and what its stdout and stderr were told."""
    out, err = Stream(terminal, encoding), Stream(terminal, encoding)
    return Screen.of(out, err, quiet, verbose, environment), out, err


def matches_snapshot(name: str, text: str) -> bool:
    """Equal to the kept file. ENRELM_SNAPSHOTS=write keeps the new text instead: look at the difference before."""
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("ENRELM_SNAPSHOTS") == "write":
        SNAPSHOTS.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8") == text
