"""The log format that is asked for, whatever else is wrong: the strict reading of options may be what has failed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from enrelm_cli.cli.config.reading import PREFIX

_FORMATS = ("text", "json")
# Lines of a run file that may not be TOML: the head of a table, and the key, perhaps with its table before it.
_TABLE = re.compile(r"\s*\[\s*([\w-]+)\s*\]")
_KEY = re.compile(r"""\s*(?:([\w-]+)\s*\.\s*)?["']?log[_-]format["']?\s*=\s*["'](text|json)["']""")


def wanted_format(words: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """text or json, in the usual order: the line, the variable, the command's table of the run file, its top."""
    variables = os.environ if environment is None else environment
    of_file = _of_file(on_line(words, "--config") or variables.get(f"{PREFIX}CONFIG"))
    command = next((word for word in words if word != "help"), "")
    said = (
        on_line(words, "--log-format"),
        variables.get(f"{PREFIX}LOG_FORMAT"),
        of_file.get(command),
        of_file.get(""),
    )
    return next((one for one in said if one in _FORMATS), "text")


def on_line(words: Sequence[str], flag: str) -> str | None:
    """What follows the flag, the last time that it is there."""
    found = None
    for place, word in enumerate(words, 1):
        if word == flag:
            found = "".join(words[place : place + 1])
        elif word.startswith(f"{flag}="):
            found = word.removeprefix(f"{flag}=")
    return found


def _of_file(path: str | None) -> dict[str, str]:
    """What each table of a run file says, and under "" its top. A pipe has been read already: it says nothing."""
    if not path or not os.path.isfile(path):
        return {}
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except OSError:  # the strict reading says so
        return {}
    found, table = {}, ""
    for line in lines:
        if head := _TABLE.match(line):
            table = head[1]
        elif key := _KEY.match(line):
            found[key[1] or table] = key[2]
    return found
