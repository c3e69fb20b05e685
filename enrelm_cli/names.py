"""Names of columns: lists and patterns of them in options, and what to say of one that is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

_MAGIC = "*?["


def in_full(text: str, names: Sequence[str]) -> list[str]:
    """What a text means among the names: one of them, or parts between commas, of which one that is a name is whole.

    "a" -> a; "a,b" -> a and b; with a column called "a,b" that one, also as a part of "a,b,c".
    """
    if text in names:
        return [text]
    parts = text.split(",")
    found, start = [], 0
    while start < len(parts):
        ends = (stop for stop in range(len(parts), start, -1) if _joined(parts[start:stop], names) is not None)
        stop = next(ends, start + 1)
        found.append(_joined(parts[start:stop], names) or parts[start].strip())
        start = stop
    return [name for name in found if name] or [text]


def _joined(parts: Sequence[str], names: Sequence[str]) -> str | None:
    text = ",".join(parts)
    return next((one for one in (text, text.strip()) if one in names), None)


def is_pattern(text: str, names: Sequence[str]) -> bool:
    """Whether it stands for other names; a column that is called so is none."""
    return text not in names and any(letter in text for letter in _MAGIC)


def matching(texts: Sequence[str], names: Sequence[str], apart: Sequence[str] = ()) -> Iterator[str]:
    """The names that are meant, patterns filled in but for the names `apart`; a pattern without a match as it is."""
    for text in texts:
        if not is_pattern(text, names):
            yield text
            continue
        found = [name for name in names if fnmatchcase(name, text)]
        yield from [name for name in found if name not in apart] if found else [text]


def meant(texts: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The names that lists and patterns stand for, each once; what stands for none as it is."""
    full = [one for text in texts for one in in_full(text, names)]
    return tuple(dict.fromkeys(matching(full, names)))


def close_names(name: str, names: Sequence[str], called: str = "columns") -> str:
    """A hint for a name that is not among the names, which are `called` so."""
    lower = {other.lower(): other for other in names}
    close = [] if is_pattern(name, names) else [lower[match] for match in get_close_matches(name.lower(), lower, n=3)]
    if close:
        return "did you mean " + " or ".join(repr(other) for other in close) + "?"
    return f"its {called} are {listed(names)}"


def listed(names: Sequence[str], most: int = 20) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
