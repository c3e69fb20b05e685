"""Run a command in this process, as a shell would."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from typer.testing import CliRunner

from enrelm_cli.cli.app import app


@dataclass(frozen=True)
class Outcome:
    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


def run(*words: object, stdin: bytes | str | None = None) -> Outcome:
    """`enrelm WORDS...`; an exception that is not an exit is the test's."""
    result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)


def succeed(*words: object, stdin: bytes | str | None = None) -> Outcome:
    outcome = run(*words, stdin=stdin)
    assert outcome.code == 0, outcome.stderr
    return outcome
