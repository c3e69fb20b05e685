"""Where output goes: what stdout and stderr can show, messages for people, and the progress bar.

stdout carries the result; everything here but `Screen.write` goes to stderr. Nothing here needs numpy: an error of the
command line itself is printed before anything heavy is imported.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from textwrap import TextWrapper
from typing import TYPE_CHECKING, TextIO

from enrelm_cli.errors import UserError
from enrelm_cli.redaction import redacted
from enrelm_cli.report import words

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# Every kind of character that tables and plots draw with.
_DRAWN = "⣿█▌━─│±×★●◆▲■–…·"
# A blank at which rich does not wrap (it does at no-break spaces). Private use: `visible` keeps it out of names.
GLUE = "\ue000"
# How a label says what it counts, where that is not rows.
_IN = ", in "
# Cells beside a bar and of the shortest one.
_LEAST_BAR = 9
# Piped text has no width of its own; rich wants a number.
_UNLIMITED = 100_000


@dataclass(frozen=True)
class Face:
    """One stream: what it can show."""

    stream: TextIO
    terminal: bool  # a person looks at it
    cursor: bool  # a line can be drawn over
    width: int | None  # None: as wide as needed
    unicode: bool
    colour: bool

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str]) -> Face:
        dumb = environment.get("TERM", "") == "dumb"
        terminal = stream.isatty()
        return cls(
            stream=stream,
            terminal=terminal,
            cursor=terminal and not dumb,
            width=_width(stream, terminal, environment),
            unicode=_can_show(stream, _DRAWN) and not (terminal and dumb),
            colour=terminal and not dumb and not environment.get("NO_COLOR"),
        )

    def spell(self, text: str) -> str:
        """The text as this stream can show it, on one line and without control characters."""
        text = words.visible(text)
        return text if self.unicode else words.ascii_only(text)

    def write(self, text: str) -> None:
        if not _can_show(self.stream, text):
            encoding = self.stream.encoding or "ascii"
            text = text.encode(encoding, "backslashreplace").decode(encoding)
        self.stream.write(text)
        self.stream.flush()

    def console(self, file: TextIO) -> Console:
        from rich.console import Console

        return Console(
            file=file,
            width=self.width or _UNLIMITED,
            force_terminal=self.colour,
            color_system="standard" if self.colour else None,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
            _environ={},
        )

    def print(self, *parts: RenderableType) -> None:
        """Draws, without the blanks that rich leaves at the end of lines."""
        drawn = io.StringIO()
        console = self.console(drawn)
        for part in parts:
            # Joining its arguments, rich forgets that a text must not be wrapped.
            keep = bool(getattr(part, "no_wrap", False))
            console.print(part, no_wrap=keep, crop=not keep, overflow="ignore" if keep else None)
        self.write("".join(f"{line.rstrip()}\n" for line in drawn.getvalue().replace(GLUE, " ").splitlines()))


def _width(stream: TextIO, terminal: bool, environment: Mapping[str, str]) -> int | None:
    told = environment.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    if not terminal:
        return None
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return columns or shutil.get_terminal_size().columns


def _can_show(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class _Line:
    """The one line at the bottom of the terminal that may be drawn over. No escapes: `\\r` and blanks do."""

    def __init__(self) -> None:
        self._drawn = 0

    def draw(self, face: Face, text: str) -> None:
        face.write("\r" + text.ljust(self._drawn))
        self._drawn = len(text)

    def clear(self, face: Face) -> None:
        if self._drawn:
            face.write("\r" + " " * self._drawn + "\r")
            self._drawn = 0


@dataclass(frozen=True)
class Screen:
    """stdout and stderr as they are in this run."""

    out: Face
    err: Face
    quiet: bool = False
    verbose: bool = False
    json: bool = False  # messages are JSON lines
    line: _Line = field(default_factory=_Line, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        stdout: TextIO,
        stderr: TextIO,
        quiet: bool = False,
        verbose: bool = False,
        environment: Mapping[str, str] | None = None,
        json: bool = False,
    ) -> Screen:
        known = os.environ if environment is None else environment
        return cls(Face.of(stdout, known), Face.of(stderr, known), quiet, verbose, json)

    def on_stderr(self) -> Screen:
        """For a command whose stdout carries rows: its report goes to stderr."""
        return replace(self, out=self.err)


def note(screen: Screen, text: str) -> None:
    """Something worth knowing; silent with -q."""
    if not screen.quiet:
        _message(screen, "note", "cyan", text)


def log(screen: Screen, text: str) -> None:
    """What is being done; only with -v."""
    if screen.verbose and not screen.quiet:
        _message(screen, "log", "dim", text)


def warn(screen: Screen, text: str) -> None:
    """Something that may be wrong; silent with -q."""
    if not screen.quiet:
        _message(screen, "warning", "yellow", text)


def error(screen: Screen, problem: UserError) -> None:
    """What is wrong, and what to type next."""
    if screen.json:
        error_line(screen, problem.problem, problem.hint, int(problem.exit_code))
        return
    _message(screen, "error", "bold red", problem.problem)
    if problem.hint:
        _message(screen, "hint", "green", problem.hint)


def error_line(screen: Screen, message: str, hint: str | None, exit_code: int) -> None:
    """Why a batch job ends, as a JSON line."""
    log_line(screen, "error", message, hint=hint, exit_code=exit_code)


def log_line(screen: Screen, level: str, message: str, **facts: object) -> None:
    """A JSON line for batch jobs: the time, the level, what is to be said, and its parts for programs; no secrets."""
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    told = {"time": now, "level": level, "message": message, **facts}
    clean = {name: redacted(fact) if isinstance(fact, str) else fact for name, fact in told.items()}
    screen.err.write(json.dumps(clean, default=str) + "\n")


def _message(screen: Screen, kind: str, style: str, text: str) -> None:
    if screen.json:
        log_line(screen, kind, text)
        return
    from rich.text import Text

    screen.line.clear(screen.err)
    face = screen.err
    lead = f"{kind}: "
    lines = _between_words([face.spell(line) for line in redacted(text).splitlines()] or [""], len(lead), face)
    shown = Text(lead, style=style, end="")
    shown.append("\n".join(lines), style="default")
    drawn = io.StringIO()
    face.console(drawn).print(shown, soft_wrap=True)
    face.write(drawn.getvalue().rstrip("\n") + "\n")


def _between_words(lines: list[str], lead: int, face: Face) -> list[str]:
    """Lines as a terminal shows them without cutting a word in two; a pipe or a file gets them as they are.

    A line that is set in is one to paste, and stays whole.
    """
    if not face.terminal or face.width is None:
        return lines
    wrap = TextWrapper(face.width - 1, initial_indent=" " * lead, break_long_words=False, break_on_hyphens=False)
    first = wrap.wrap(lines[0]) or [" " * lead]
    wrap.initial_indent = ""
    return [
        first[0][lead:],
        *first[1:],
        *(part for line in lines[1:] for part in ([line] if line.startswith("    ") else wrap.wrap(line))),
    ]


class ProgressBar:
    """folds.Progress on stderr: a bar where it is a terminal, a line for each pass with -v, else nothing.

    A pass may be told about from several threads. Passes shorter than `patience` never flash a bar.
    """

    patience = 0.3
    interval = 0.1

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._bar = screen.err.cursor and not screen.quiet and not screen.json
        self._lock = threading.Lock()
        self._passes = 0
        self._open: list[_Pass] = []  # a pass may start while another is under way: the innermost is drawn
        self._next = 0.0
        self.parts: list[str] = []  # of the run that passes are of: a split, a method

    def start(self, label: str, total: int | None) -> None:
        with self._lock:
            self._passes += 1
            now = time.monotonic()
            self._open.append(_Pass(self._passes, label, total, now))
            self._next = now + self.patience

    def advance(self, rows: int) -> None:
        with self._lock:
            if not self._open:
                return
            current = self._open[-1]
            current.rows += rows
            now = time.monotonic()
            if self._bar and now >= self._next:
                self._next = now + self.interval
                self._screen.line.draw(self._screen.err, current.bar(self._screen.err, now, self.parts))

    def finish(self) -> None:
        with self._lock:
            if not self._open:
                return
            done = self._open.pop()
            if self._bar:
                self._screen.line.clear(self._screen.err)
            if self._screen.verbose and not self._screen.quiet:
                self._log(done, time.monotonic())

    def _log(self, done: _Pass, now: float) -> None:
        if self._screen.json:
            facts = {"pass": done.label, "rows": done.rows, "seconds": round(now - done.started, 6)}
            log_line(self._screen, "log", done.log(now), number=done.number, **facts)
            return
        self._screen.err.write(self._screen.err.spell(done.log(now)) + "\n")


@dataclass
class _Pass:
    number: int
    label: str
    total: int | None
    started: float
    rows: int = 0

    @property
    def name(self) -> str:
        return self.label.partition(_IN)[0]

    @property
    def unit(self) -> str:
        """What is counted: rows, unless the label says otherwise ("tuning, in evaluations")."""
        return self.label.partition(_IN)[2] or "rows"

    def rate(self, now: float) -> str:
        elapsed = now - self.started
        return f"{words.count(round(self.rows / elapsed))} {self.unit}/s" if elapsed > 0 else "all at once"

    def left(self, now: float) -> str:
        """How long it will take at this rate."""
        if not self.total or not 0 < self.rows < self.total:
            return ""
        return f" · {words.seconds(round((now - self.started) * (self.total - self.rows) / self.rows))} left"

    def log(self, now: float) -> str:
        if not self.rows:
            return f"pass {self.number}, {self.name}: {words.seconds(now - self.started)}"
        return f"pass {self.number}, {self.name}: {words.counted(self.rows, self.unit[:-1])}, {self.rate(now)}"

    def bar(self, face: Face, now: float, parts: Sequence[str] = ()) -> str:
        """split 2 of 5 · kernel · Gram matrix ━━━━━━────  620,000 of 1,000,000 rows · 520,000 rows/s · 1.2 s left"""
        room = (face.width or 80) - 1
        name = " · ".join([*(parts or (f"pass {self.number}",)), self.name])
        done = f"{words.count(self.rows)} {self.unit}"
        share = None
        if self.total:
            share = min(1.0, self.rows / self.total)
            done = f"{words.count(self.rows)} of {words.count(self.total)} {self.unit}"
        left = self.left(now)
        fast = f"{done} · {self.rate(now)}{left}"
        if room - len(name) - len(fast) < _LEAST_BAR:  # what is left says more than the rate
            fast = f"{done}{left}" if left else fast
        free = room - len(name) - len(fast) - 3
        if share is not None and free >= _LEAST_BAR - 3:
            cells = min(30, free)
            full = round(share * cells)
            return face.spell(f"{name} {'━' * full}{'─' * (cells - full)}  {fast}")
        for text in (f"{name}  {fast}", f"{name}  {done}{left}", f"{name}  {done}", name):
            if len(text) <= room:
                return face.spell(text)
        return face.spell(name)[:room]
