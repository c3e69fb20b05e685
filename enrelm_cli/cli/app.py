"""The command line: options -> settings -> command -> show. The only folder that knows Typer.

`enrelm --help` must stay quick, so numpy, scipy, pyarrow and rich are imported inside the commands that need them.
To add an option see fields.py; to add a command, add a function to commands.py.
"""

from __future__ import annotations

import sys

from enrelm_cli.cli import check, commands
from enrelm_cli.cli.guard import EXIT_CODES
from enrelm_cli.cli.program import app
from enrelm_cli.fields import PANELS

__all__ = ["EXIT_CODES", "PANELS", "app", "check", "commands", "main"]


def main() -> None:
    """Both the console script and `python -m enrelm_cli` are called enrelm."""
    # Typer builds every option of every registered command; the one that is typed is enough.
    typed = [command for command in app.registered_commands if [command.name] == sys.argv[1:2]]
    app.registered_commands = typed or app.registered_commands
    app(prog_name="enrelm")
