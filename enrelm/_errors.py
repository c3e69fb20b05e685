"""Problems that a user can solve, as Python's own kind of error, and with parameters where the shell has flags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from enrelm_cli.errors import UserError


class EnrelmError(ValueError):
    """Data, parameters or a model file that cannot be used: what is wrong, and what to do about it."""


@contextmanager
def as_python() -> Iterator[None]:
    """The command line's errors as EnrelmError."""
    try:
        yield
    except UserError as error:
        raise EnrelmError(said(error)) from error


def said(error: UserError) -> str:
    hint = f"\n{error.hint}" if error.hint else ""
    return re.sub(r"--([a-z]+(?:-[a-z]+)*)", lambda flag: flag[1].replace("-", "_"), error.problem + hint)
