"""A folder as a new user has it: sample_data, examples, and `enrelm` on the PATH."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


class Shell:
    """Runs commands in a folder of its own."""

    def __init__(self, folder: Path, rows: int | None = None) -> None:
        """`rows` cuts the sample tables: what is shown is that a command runs, not how well it fits."""
        self.folder = folder
        shutil.copytree(ROOT / "sample_data", folder / "sample_data")
        shutil.copytree(ROOT / "examples", folder / "examples")
        if rows is not None:
            for table in (folder / "sample_data").glob("*.csv"):
                lines = table.read_bytes().splitlines(keepends=True)
                table.write_bytes(b"".join(lines[: rows + 1]))
        script = folder / "bin" / "enrelm"
        script.parent.mkdir()
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m enrelm_cli "$@"\n')
        script.chmod(0o755)
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "TERM")},
            "PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(folder),
        }

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        words = ["bash", "-c", f"set -o pipefail; {command}"]
        return subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=900)

    def succeed(self, command: str) -> str:
        done = self.run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout


_FENCE = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^(\w+=('[^']*'|\S*) +)*(enrelm|examples/\S+|make -f \S+)( |$)")


def commands(markdown: str) -> list[str]:
    """What the shell blocks of a page tell to type; a backslash at the end of a line joins it with the next."""
    blocks = [body for language, body in _FENCE.findall(markdown) if language in ("sh", "bash", "shell", "console")]
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in (line.strip().removeprefix("$ ") for line in lines) if _COMMAND.match(line)]


def script(markdown: str) -> str:
    """The shell blocks of a page as one script, as they are printed."""
    return "\n".join(body for language, body in _FENCE.findall(markdown) if language == "sh")


def needs(command: str) -> str | None:
    """What a command says it needs beyond a plain installation: `enrelm ... # needs dask`."""
    found = re.search(r"#\s*needs (.+)$", command)
    return found[1].strip() if found else None
