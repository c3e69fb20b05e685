"""The first milliseconds of the process: signals and closed streams, before anything is imported that takes time.

Not even typing: a signal that arrives before `take_over` is Python's, and ends in its traceback.
"""

from __future__ import annotations

import os
import signal
import sys

# Whether this process is the command and nothing else (not a test, not a notebook).
_own_process = False


def take_over() -> None:
    """Called once, by the console script."""
    global _own_process
    _own_process = True
    exit_on_signals()
    _open_closed_streams()


def is_own_process() -> bool:
    return _own_process


def exit_on_signals() -> None:
    """Before and after a command there is nothing to clean up, and a traceback would help nobody."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _exit_now)


def _exit_now(number: int, frame: object) -> None:
    os._exit(128 + number)


def _open_closed_streams() -> None:
    """Numbers 0, 1 and 2 are taken: a file that the command opens must not become its stdout.

    A closed stdin is empty, a closed stderr swallows; writing to a closed stdout still fails, and says so.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)


class _NoPandas:
    """A finder that says there is none."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def import_pyarrow() -> None:
    """Without an installed pandas, which pyarrow would import with its first scalar: 0.15 s, for nothing we use."""
    if not _own_process:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow

        pyarrow.scalar(0)
    finally:
        sys.meta_path.remove(finder)
