"""Sizes in bytes, as people write them: one parser for every option and environment variable."""

from __future__ import annotations

import re

_SIZE = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]{1,9})?)\s*(?:([kmgt])(i?))?b?\s*", re.IGNORECASE)
EXAMPLES = "500M, 2G or 2GiB"


def parse_size(text: str) -> int:
    """'2G' -> 2,000,000,000 and '2GiB' -> 2,147,483,648. ValueError with the rest of a sentence for anything else."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"is not a size such as {EXAMPLES}")
    number, unit, binary = match.groups()
    base = 1024 if binary else 1000
    return int(float(number) * base ** (" kmgt".index(unit.lower()) if unit else 0))


def human_bytes(count: float) -> str:
    """1234567 -> '1.2 MB'."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
