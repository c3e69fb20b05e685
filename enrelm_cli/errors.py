"""Errors that a user can act on: what is wrong, what to type next, and the exit code a script sees."""

from __future__ import annotations

from enum import IntEnum

from enrelm_cli.redaction import redacted


class Exit(IntEnum):
    """The documented exit codes (`enrelm --help` lists them)."""

    OK = 0
    BUG = 1
    USAGE = 2
    DATA = 3
    MODEL = 4
    GATE = 5
    DRIFT = 6
    INTERRUPTED = 130


class UserError(Exception):
    """A problem that the user can solve: `problem` says what, `hint` says what to type next. Neither holds a secret."""

    exit_code: Exit = Exit.USAGE

    def __init__(self, problem: str, hint: str | None = None) -> None:
        self.problem = redacted(problem)
        self.hint = None if hint is None else redacted(hint)
        super().__init__(self.problem)

    def __reduce__(self) -> tuple[type[UserError], tuple[str, str | None]]:
        # Workers of a Dask cluster raise these too: a plain Exception would lose the hint on the way back.
        return (type(self), (self.problem, self.hint))


class UsageError(UserError):
    """Options that do not fit together, or a value out of range."""

    exit_code = Exit.USAGE


class DataError(UserError):
    """A table that cannot be read or cannot be fitted: file, line, column, value, remedy."""

    exit_code = Exit.DATA


class ModelFileError(UserError):
    """A model file that is absent, damaged, foreign, hostile or too new."""

    exit_code = Exit.MODEL


class GateError(UserError):
    """`--fail-above`: the fit worked but its error is above the bar that the user set."""

    exit_code = Exit.GATE


class DriftError(UserError):
    """`--fail-drift`: predictions were made, but of a table that differs from the one that was fitted."""

    exit_code = Exit.DRIFT
