"""A small coverage-guided fuzzer: an input that reaches lines of the readers for the first time joins the corpus.

    ENRELM_FUZZ_SECONDS   how long each run of the slow suite takes (60)
    ENRELM_FUZZ_SEED      where it starts (fixed by default)
    ENRELM_FUZZ_KEEP      1: inputs that reach new lines are written to tests/corpus/, which later runs start from

Lines are seen by sys.settrace, so it runs wherever Python does, and needs nothing but the seeds.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

SECONDS = float(os.environ.get("ENRELM_FUZZ_SECONDS", "60"))
SEED = int(os.environ.get("ENRELM_FUZZ_SEED", "8"))
CORPUS = Path(__file__).parent / "corpus"
PACKAGE = str(Path(__file__).parents[1] / "enrelm_cli") + os.sep

TOKENS = (
    b",", b"\n", b"\r\n", b"\r", b'"', b'""', b";", b"\t", b"\0", b"\xef\xbb\xbf", b"\xff", b"\xc3", b"NA", b"nan",
    b"inf", b"-", b"1e999", b"1e-999", b"0x1p3", b"99999999999999999999", b"-0", b"2024-02-30", b"true", b" ", b"y",
    b"\xe2\x80\xa8", b"1_000", b"1,5", b"\x1f\x8b", b"PAR1", b"=1+1", b"'", b"#", b"\\", b"\x80\x04\x95", b"a",
)  # fmt: skip


def mutated(data: bytes, random_: random.Random, corpus: list[bytes]) -> bytes:
    """One to eight small changes."""
    found = bytearray(data)
    for _ in range(random_.choice((1, 1, 1, 2, 3, 8))):
        at = random_.randrange(len(found) + 1)
        kind = random_.randrange(8)
        if kind == 0 and found:
            found[at % len(found)] ^= 1 << random_.randrange(8)
        elif kind == 1:
            del found[at : at + random_.choice((1, 2, 10, 1000))]
        elif kind == 2:
            found[at:at] = random_.choice(TOKENS)
        elif kind == 3:
            found[at : at + 1] = random_.choice(TOKENS)
        elif kind == 4:
            part = found[at : at + random_.choice((1, 5, 50))]
            found[at:at] = part * random_.choice((1, 2, 20))
        elif kind == 5:
            other = random_.choice(corpus)
            start = random_.randrange(len(other) + 1)
            found[at:at] = other[start : start + 40]
        elif kind == 6:
            del found[at:]
        else:
            found[at : at + 4] = random_.randbytes(random_.choice((1, 2, 4, 8)))
    return bytes(found)


class Coverage:
    """The lines of the package that were reached, in any thread."""

    def __init__(self) -> None:
        self.lines: set[tuple[str, int]] = set()

    def reaches_more(self, work: Callable[[], Any]) -> tuple[Any, bool]:
        """What the work returns, and whether it reached a line that nothing before it had."""
        before, tracer = len(self.lines), sys.gettrace()
        threading.settrace(self._enter)
        sys.settrace(self._enter)
        try:
            return work(), len(self.lines) > before
        finally:
            sys.settrace(tracer)
            threading.settrace(None)  # type: ignore[arg-type]

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(PACKAGE) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


def kept(name: str) -> list[bytes]:
    """What earlier runs found worth keeping."""
    return [path.read_bytes() for path in sorted((CORPUS / name).glob("*.bin"))]


def fuzz(
    corpus: list[bytes], check: Callable[[bytes], str], seconds: float, least: int = 0, keep: str = ""
) -> dict[str, int]:
    """Mutate until the time is up and `least` inputs are through, however busy the machine; how often each outcome
    came."""
    random_, coverage, outcomes = random.Random(SEED), Coverage(), dict[str, int]()
    for data in corpus:
        coverage.reaches_more(lambda data=data: _checked(check, data))
    grown, end, count = list(corpus), time.monotonic() + seconds, 0
    while count < least or time.monotonic() < end:
        data = mutated(random_.choice(grown), random_, grown)
        outcome, more = coverage.reaches_more(lambda data=data: _checked(check, data))
        if more:
            grown.append(data)
            _keep(data, keep)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        count += 1
    print(f"{count} inputs reached {len(coverage.lines)} lines; {len(grown) - len(corpus)} joined the corpus")
    return outcomes


def _checked(check: Callable[[bytes], str], data: bytes) -> str:
    try:
        return check(data)
    except Exception as bug:
        path = Path(tempfile.mkdtemp(prefix="enrelm-fuzz-")) / "input"
        path.write_bytes(data)
        raise AssertionError(f"{type(bug).__name__}: {bug}; the input is {path}") from bug


def _keep(data: bytes, name: str) -> None:
    if name and os.environ.get("ENRELM_FUZZ_KEEP") == "1" and len(data) < 4096:
        folder = CORPUS / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{hashlib.sha256(data).hexdigest()[:16]}.bin").write_bytes(data)
