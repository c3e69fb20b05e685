"""Makes the pictures of docs/figures and README's table of results: `make figures`.

Beside the pictures lies shown.json: for each what it shows (the text of a screen, the numbers of a curve) and the
hash of the picture. `stale` compares both with what the program shows today; tests/test_figures.py uses it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from docs import pictures, results  # noqa: E402

FIGURES = HERE / "figures"
SHOWN = FIGURES / "shown.json"
COLUMNS, LINES = 80, 24
# Numbers that another processor rounds otherwise are the same number.
TOLERANCE = 0.02
TIMES = re.compile(r"\d+ min \d+ s\b|\d[\d.,]*\s(?:ms|s|min)\b")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


@dataclass(frozen=True)
class Figure:
    """A picture: `shown` computes what it shows, `draw` writes it and says what it shows."""

    name: str
    shown: Callable[[], Any]
    draw: Callable[[Path], Any]
    slow: bool = False


# ------------------------------------------------------------------------------------------------ screens of a terminal


def _folder() -> Path:
    """Where the commands of the pages are typed: with sample_data, and nothing else."""
    folder = Path(tempfile.mkdtemp(prefix="enrelm-figures-"))
    shutil.copytree(ROOT / "sample_data", folder / "sample_data")
    return folder


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    return {**kept, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}


def _words(command: str) -> list[str]:
    return [sys.executable, "-m", "enrelm_cli", *command.split()[1:]]


def record(command: str) -> str:
    """What a terminal of 80 x 24 is sent by a command: colours, and the progress that was drawn over."""
    import fcntl
    import pty
    import struct
    import termios

    folder = _folder()
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    try:
        process = subprocess.Popen(
            _words(command), cwd=folder, env=_environment(), stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        sent = bytearray()
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux: the other end is closed
                part = b""
            if not part:
                break
            sent += part
        code = process.wait()
    finally:
        os.close(ours)
        shutil.rmtree(folder)
    text = sent.decode().replace("\r\n", "\n")
    if code != 0:
        raise RuntimeError(f"{command} ended with {code}:\n{text}")
    return "\n".join(line.rsplit("\r", 1)[-1] for line in text.split("\n"))


def plain(screen: str) -> str:
    """The words and numbers of a screen, without colours, bars, times and the way it was wrapped."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", screen)
    text = re.sub(r"[━─█▉▊▋▌▍▎▏]+", "", text)
    text = TIMES.sub("TIME", text)
    lines = [re.sub(r"\s\d+\.\d{3}$", " TIME", line) for line in text.splitlines()]  # the column `time (s)`
    return " ".join(" ".join(lines).split())


# rich's template without window, title and fonts from the web: it is shown the same where there is no network.
_SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px;
line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
<rect fill="#1c2128" width="{width}" height="{height}" rx="8"/>
<g transform="translate(9, 26)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


# Black, red, green, yellow, blue, magenta, cyan, white.
_DIM = ((84, 93, 104), (244, 112, 103), (87, 171, 90), (198, 144, 38))
_DIM += ((83, 155, 245), (176, 131, 240), (57, 197, 207), (144, 157, 171))
_BRIGHT = ((99, 110, 123), (255, 147, 138), (107, 196, 109), (218, 170, 63))
_BRIGHT += ((108, 182, 255), (220, 189, 251), (86, 212, 221), (205, 217, 229))


def _draw_screen(name: str, command: str, path: Path) -> str:
    import io

    from rich.console import Console
    from rich.terminal_theme import TerminalTheme
    from rich.text import Text

    screen = record(command)
    theme = TerminalTheme((28, 33, 40), (205, 217, 229), list(_DIM), list(_BRIGHT))
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, highlight=False, _environ={})
    console.print(Text.assemble(("$ ", "green"), (command, "bold")), soft_wrap=True)
    for line in screen.splitlines():
        console.print(Text.from_ansi(line), no_wrap=True, overflow="ignore", crop=False)
    path.write_text(
        console.export_svg(title="", theme=theme, code_format=_SVG, unique_id=f"screen-{name}"), encoding="utf-8"
    )
    return plain(screen)


def _screen(name: str, command: str, slow: bool = False) -> Figure:
    return Figure(
        f"{name}.svg",
        lambda: {"command": command, "text": plain(record(command))},
        lambda path: {"command": command, "text": _draw_screen(name, command, path)},
        slow,
    )


# --------------------------------------------------------------------------------------------------- plots of a command


def _reported(command: str) -> Any:
    folder = _folder()
    try:
        words = [*_words(command), "--format", "json", "-q"]
        done = subprocess.run(words, cwd=folder, env=_environment(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stderr}")
        for drawn in folder.glob("*.png"):
            shutil.copyfile(drawn, FIGURES / drawn.name)
        return json.loads(done.stdout)
    finally:
        shutil.rmtree(folder)


def _curve_numbers(report: Any) -> Any:
    """Of each curve: the choices, and the errors of a few sizes."""
    numbers = {}
    for one in report["curves"]:
        points = one["curve"]
        some = sorted({0, 4, len(points) // 4, len(points) // 2, len(points) - 1})
        numbers[one["variant"]] = {
            "sizes": len(points),
            "train": [round(points[k]["train_error"], 4) for k in some],
            "validation": [round(points[k]["validation_error"], 4) for k in some],
        }
    return numbers


def _compare_numbers(report: Any) -> Any:
    report = report[0] if isinstance(report, list) else report
    rows = [row for row in report["rows"] if row.get("error") is not None]
    return {row["method"]: round(row["error"], 4) for row in sorted(rows, key=lambda row: row["method"])}


def _plot(name: str, command: str, numbers: Callable[[Any], Any], slow: bool = False) -> Figure:
    return Figure(
        name,
        lambda: {"command": command, "numbers": numbers(_reported(command))},
        lambda path: {"command": command, "numbers": numbers(_reported(f"{command} --plot {path.name}"))},
        slow,
    )


FIT = "enrelm fit sample_data/friedman.csv --target y -o model.joblib"
CHECK = "enrelm check houses.csv --target price".replace("houses.csv", "sample_data/houses.csv")
CURVE = "enrelm curve sample_data/friedman.csv --target y"
COMPARE = "enrelm compare sample_data/friedman.csv --target y --repeats 3"
ALL = (
    _screen("fit", FIT),
    _screen("check", CHECK),
    _plot("curve.png", CURVE, _curve_numbers, slow=True),
    _plot("compare.png", COMPARE, _compare_numbers, slow=True),
    *(Figure(name, picture.shown, picture.draw) for name, picture in pictures.ALL.items()),
)


# ------------------------------------------------------------------------------------------------------------ staleness


def same(then: Any, now: Any) -> bool:
    """Equal words, and numbers within TOLERANCE."""
    if isinstance(then, dict) and isinstance(now, dict):
        return then.keys() == now.keys() and all(same(then[key], now[key]) for key in then)
    if isinstance(then, list) and isinstance(now, list):
        return len(then) == len(now) and all(map(same, then, now))
    if isinstance(then, str) and isinstance(now, str):
        numbers = [[float(one.replace(",", "")) for one in NUMBER.findall(text)] for text in (then, now)]
        return NUMBER.sub("#", then) == NUMBER.sub("#", now) and same(*numbers)
    if isinstance(then, (int, float)) and isinstance(now, (int, float)):
        return math.isclose(then, now, rel_tol=TOLERANCE, abs_tol=1e-3)
    return bool(then == now)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(SHOWN.read_text(encoding="utf-8")) if SHOWN.exists() else {}
    return found


def stale(figure: Figure) -> str | None:
    """Why a picture must be made again; None where it shows what the program shows."""
    known = kept().get(figure.name)
    if known is None or not (FIGURES / figure.name).exists():
        return "it was never made"
    if known["picture"] != digest(FIGURES / figure.name):
        return "the file is not the one that shown.json describes"
    now = figure.shown()
    if not same(known["shown"], now):
        return f"it shows\n{known['shown']}\nand the program\n{now}"
    return None


def main(wanted: list[str]) -> None:
    FIGURES.mkdir(exist_ok=True)
    facts = kept()
    for figure in ALL:
        if not wanted or figure.name in wanted:
            print(f"docs/figures/{figure.name}", flush=True)
            shown = figure.draw(FIGURES / figure.name)
            facts[figure.name] = {"picture": digest(FIGURES / figure.name), "shown": shown}
    names = [figure.name for figure in ALL]
    facts = {name: facts[name] for name in names if name in facts}
    SHOWN.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    results.main()


if __name__ == "__main__":
    main(sys.argv[1:])
