"""The command line: options -> settings -> command -> show. The only folder that knows Typer.

`enrelm --help` must stay quick, so numpy, scipy, pyarrow and rich are imported inside the commands that need them.
To add an option see fields.py; to add a command, add a function to commands.py.
"""

from __future__ import annotations

import sys

from enrelm_cli.cli import check, commands, explain, glossary, predict, sample, startup, update
from enrelm_cli.cli.config import writing
from enrelm_cli.cli.guard import EXIT_CODES
from enrelm_cli.cli.program import COMMANDS, announce, app, register
from enrelm_cli.fields import PANELS

__all__ = [
    "EXIT_CODES",
    "PANELS",
    "app",
    "check",
    "commands",
    "explain",
    "glossary",
    "main",
    "predict",
    "sample",
    "update",
    "writing",
]

# As `enrelm --help` lists them; a command that is not here comes last.
_USUAL = ("fit", "predict", "curve", "compare", "explain", "update", "merge", "check", "info", "export", "sample")
_ORDER = (*_USUAL, "config", "glossary")


# Options take time to build: where the process is one command, those of the typed one are enough, and the list of
# commands needs none.
_own = startup.is_own_process()
_typed = [name for name in sys.argv[1:2] if name in COMMANDS and _own]
_listed = _own and sys.argv[1:] in (["--help"], ["-h"], ["--version"])
for _name in _typed or sorted(COMMANDS, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER)):
    (announce if _listed else register)(_name)


def main() -> None:
    """Both the console script and `python -m enrelm_cli` are called enrelm."""
    app(prog_name="enrelm")
