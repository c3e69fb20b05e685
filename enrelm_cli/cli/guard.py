"""Errors become a line, a hint and an exit code; signals become exceptions that clean up on their way out."""

from __future__ import annotations

import errno
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from enrelm_cli import __version__
from enrelm_cli.errors import Exit, UsageError, UserError
from enrelm_cli.files import FULL, FULL_HINT, to_nowhere
from enrelm_cli.redaction import redacted
from enrelm_cli.show.screen import Screen, error, error_line, log_line

EXIT_CODES = (
    ("0", "ok"),
    ("1", "a bug in enrelm"),
    ("2", "usage: invalid or conflicting options"),
    ("3", "data: a table that cannot be read or fitted"),
    ("4", "model file: missing, damaged, foreign or too new"),
    ("5", "a gate: --fail-above, update --fail-drift or check --strict failed"),
    ("6", "drift: predict --fail-drift failed; the predictions were written"),
    ("130", "interrupted"),
    ("143", "terminated; nothing half-written is left"),
)


# A signal may arrive where a library swallows exceptions (pyarrow does, while it looks for pandas); the next pass over
# rows then raises it again.
_received: list[int] = []


class Terminated(SystemExit):
    """SIGTERM, as an exception: temporary files are removed on its way out."""


def _on_signal(number: int, frame: object) -> None:
    _received.append(number)
    raise_received_signal()


def raise_received_signal() -> None:
    if _received:
        raise KeyboardInterrupt if _received[0] == signal.SIGINT else Terminated(128 + _received[0])


@contextmanager
def _signals_as_exceptions() -> Iterator[None]:
    _received.clear()
    before = {number: signal.signal(number, _on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _warnings_as_lines(screen: Screen) -> Iterator[None]:
    """What a library warns of, as a batch job's log has it."""
    before = warnings.showwarning
    if screen.json:
        warnings.showwarning = lambda message, *_, **__: log_line(screen, "warning", str(message))
    try:
        yield
    finally:
        warnings.showwarning = before


@contextmanager
def guard(screen: Screen, debug: bool) -> Iterator[None]:
    """Runs a command: whatever goes wrong in it is said on the screen, and the exit code fits."""
    try:
        with _signals_as_exceptions(), _warnings_as_lines(screen):
            yield
            sys.stdout.flush()
    except UserError as problem:
        if debug:
            _trace(screen, problem)
        error(screen, problem)
        raise typer.Exit(int(problem.exit_code)) from None
    except BrokenPipeError:
        # The reader (`| head`) has seen enough. What is left in the buffer must not fail again at exit.
        to_nowhere(sys.stdout)
        raise typer.Exit(int(Exit.OK)) from None
    except KeyboardInterrupt:
        raise _ended(screen, int(Exit.INTERRUPTED)) from None
    except Terminated as signalled:
        raise _ended(screen, int(signalled.code or 0)) from None
    except OSError as problem:
        if not is_of_stdout(problem):
            raise _bug(screen, problem, debug) from None
        tell_of_stdout(problem, screen)
        raise typer.Exit(int(Exit.USAGE)) from None
    except MemoryError:
        error(screen, UsageError("out of memory", "try --memory 1G or --landmarks 500"))
        raise typer.Exit(int(Exit.USAGE)) from None
    except (typer.Exit, SystemExit):
        raise
    except Exception as bug:
        if _received:  # a library has wrapped what the signal raised
            raise _ended(screen, 128 + _received[0]) from None
        raise _bug(screen, bug, debug) from None


def is_of_stdout(problem: OSError) -> bool:
    """Whether stdout cannot be written to: its disk is full, or it was closed before we started."""
    return problem.errno in (*FULL, errno.EBADF)


def tell_of_stdout(problem: OSError, screen: Screen) -> None:
    to_nowhere(sys.stdout)
    closed = problem.errno == errno.EBADF
    reason, hint = ("it is closed", None) if closed else (problem.strerror, FULL_HINT)
    error(screen, UsageError(f"stdout cannot be written to ({reason})", hint))


def _ended(screen: Screen, code: int) -> typer.Exit:
    """By a signal. A batch job's log says which; whoever typed Ctrl-C sees that it worked."""
    screen.line.clear(screen.err)
    interrupted = code == Exit.INTERRUPTED
    if screen.json:
        error_line(screen, "interrupted" if interrupted else "terminated", None, code)
    elif interrupted and not screen.quiet:
        _say(screen, "interrupted")
    return typer.Exit(code)


def _bug(screen: Screen, bug: Exception, debug: bool) -> typer.Exit:
    """Says so, and how to report it."""
    if debug:
        _trace(screen, bug)
    problem = f"a bug in enrelm {__version__}: {type(bug).__name__}: {bug}"
    hint = "report this" if debug else "run it again with --debug and report the output"
    if screen.json:
        error_line(screen, problem, hint, int(Exit.BUG))
    else:
        _say(screen, f"error: {problem}")
        _say(screen, f"hint: {hint}")
    return typer.Exit(int(Exit.BUG))


def _trace(screen: Screen, problem: Exception) -> None:
    for line in "".join(traceback.format_exception(problem)).splitlines():
        _say(screen, line)


def _say(screen: Screen, line: str) -> None:
    """Without rich, which may be what fails; what stands in a cell cannot move the cursor here either."""
    if screen.json:
        log_line(screen, "log", line)
    else:
        screen.err.write(screen.err.spell(redacted(line)) + "\n")
