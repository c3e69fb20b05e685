"""What a person sees: through a pseudo-terminal, beside what a pipe gets."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIT = ("fit", "sample_data/friedman.csv", "-t", "y", "--variant", "approximate")
CURVE = ("curve", "sample_data/linear.csv", "-t", "y", "--variant", "approximate")


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
    return {**kept, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONIOENCODING": "utf-8", **changes}


def command(words: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "enrelm_cli", *words]


def on_terminal(*words: str, columns: int = 80, patience: float | None = None, **changes: str) -> tuple[int, str]:
    """Exit code and everything that the terminal was told. `patience`: how long a pass runs before it shows a bar."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    line = command(words)
    if patience is not None:
        code = (
            "from enrelm_cli.show.screen import ProgressBar as P; from enrelm_cli.cli.app import main; "
            f"P.patience, P.interval = {patience}, 0.0; main()"
        )
        line = [sys.executable, "-c", code, *words]
    with subprocess.Popen(
        line, stdin=follower, stdout=follower, stderr=follower, env=environment(**changes), cwd=ROOT
    ) as process:
        os.close(follower)
        told = b""
        while True:
            try:
                part = os.read(leader, 1 << 16)
            except OSError:  # Linux: every writer is gone
                break
            if not part:
                break
            told += part
        os.close(leader)
    return process.returncode, told.decode().replace("\r\n", "\n")


def piped(*words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(words), env=environment(**changes), cwd=ROOT, capture_output=True, text=True)


@pytest.fixture(scope="module")
def shown() -> str:
    code, text = on_terminal(*FIT, patience=0.0)
    assert code == 0
    return text


def test_a_terminal_sees_colours_and_a_progress_bar_that_goes_away(shown: str) -> None:
    assert "\x1b[1m" in shown
    assert re.search(r"\rpass \d+ · [\w ]+ ━", shown)
    # The last thing written over every bar is blanks.
    assert re.search(r"\r +\r(?!pass)", shown)
    assert "validation error" in shown


def test_a_pipe_sees_neither() -> None:
    done = piped(*FIT)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr
    assert done.stderr == ""
    assert not set("─│━█") & set(done.stdout)


def test_no_color_keeps_the_bar_and_drops_the_colours() -> None:
    _, text = on_terminal(*FIT, patience=0.0, NO_COLOR="1")
    assert "\x1b" not in text
    assert "\rpass" in text


def test_a_dumb_terminal_gets_plain_ascii_lines() -> None:
    _, text = on_terminal(*CURVE, patience=0.0, TERM="dumb")
    assert "\x1b" not in text
    assert "\r" not in text
    assert text.isascii()
    assert "neurons" in text


@pytest.mark.parametrize(("columns", "changes"), [(60, {}), (200, {"COLUMNS": "60"})])
def test_nothing_is_wider_than_the_terminal_or_than_COLUMNS(columns: int, changes: dict[str, str]) -> None:
    _, text = on_terminal(*CURVE, columns=columns, NO_COLOR="1", **changes)
    widths = [len(line) for line in text.splitlines()]
    assert max(widths) <= 60
    assert max(widths) >= 58  # it does use the room: the plot is as wide as the terminal


def test_the_curve_is_drawn_on_a_terminal_only() -> None:
    _, text = on_terminal(*CURVE, NO_COLOR="1")
    assert re.search("[⠁-⣿]", text)
    assert "best" in text
    assert not re.search("[⠁-⣿]", piped(*CURVE).stdout)


def test_quiet_leaves_the_result_and_verbose_logs_each_pass() -> None:
    _, quiet = on_terminal(*FIT, "-q", patience=0.0)
    assert "pass" not in quiet
    assert "validation error" in quiet
    verbose = piped(*FIT, "-v")
    assert re.search(r"^pass 1, [\w ]+: 600 rows", verbose.stderr, re.MULTILINE)
    assert verbose.stdout.startswith("approximate, ")


def test_an_error_is_red_on_a_terminal_and_plain_in_a_pipe() -> None:
    words = ("fit", "sample_data/friedman.csv", "-t", "z")
    code, text = on_terminal(*words)
    assert code == 3
    assert "\x1b[1;31merror: " in text
    done = piped(*words)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "hint: " in done.stderr
    assert "Traceback" not in done.stderr


def test_debug_shows_a_traceback_and_keeps_the_exit_code() -> None:
    done = piped("fit", "sample_data/friedman.csv", "-t", "z", "--debug")
    assert done.returncode == 3
    assert "Traceback" in done.stderr
    assert "error: " in done.stderr


def test_help_fits_the_terminal_and_keeps_its_examples_on_their_lines() -> None:
    _, text = on_terminal("compare", "--help")
    text = re.sub("\x1b\\[[0-9;]*m", "", text)
    lines = [line.rstrip() for line in text.splitlines()]
    assert max(map(len, lines)) <= 80
    assert " enrelm compare sample_data/friedman.csv --target y" in lines
    panels = re.findall(r"^╭─ (\w+) ", text, re.MULTILINE)
    assert panels == ["Arguments", "Data", "Method", "Kernel", "Running", "Output"]
