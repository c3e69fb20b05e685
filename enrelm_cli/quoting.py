"""Words quoted for a shell, so that a line with any column name in it can be pasted, and a line taken apart again."""

from __future__ import annotations

import re
import shlex

_WORD = re.compile(r"""(?:\$'(?:\\.|[^'\\])*'|'[^']*'|"[^"]*"|\S)+""")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quoted(word: str) -> str:
    """One word for a shell; with control characters, which a terminal would not show, as bash's $'new\\nline'."""
    return shlex.quote(word) if word.isprintable() else f"$'{''.join(map(_escaped, word))}'"


def _escaped(character: str) -> str:
    if character in _ESCAPES or character.isprintable():
        return _ESCAPES.get(character, character)
    # Byte by byte: what \u means to bash depends on the locale. A byte that is no text stands for itself.
    unknown = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", unknown))


def split(line: str) -> list[str]:
    """The words of a line, each still quoted."""
    return _WORD.findall(line)
