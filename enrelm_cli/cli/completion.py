"""Column names for the shell's completion, from the data files that stand on the line already."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from enrelm_cli.errors import UserError

# zsh evaluates what it is offered. Whoever wrote the header of a table must not thereby run commands.
_ACTIVE = set("\\$`\"'")


def data_files(params: Mapping[str, Any], positional: Sequence[str]) -> list[str]:
    """The DATA words of a line that ends in the middle of an option.

    Its parser gives up at that option: arguments are then among the positional words, not yet under their names, and
    `predict` has its model before them.
    """
    known = [str(word) for word in params.get("data") or ()]
    if known:
        return known
    return list(positional[1:] if "model" in params else positional)


def columns(files: Sequence[str], incomplete: str) -> list[str]:
    """Names that begin with what was typed; none where no file can be read: completion is no place for errors."""
    names = {name for file in files if file != "-" for name in _names(file) if name.startswith(incomplete)}
    return [_for_shell(name) for name in sorted(names) if name.isprintable() and not _ACTIVE & set(name)]


def _names(file: str) -> Iterator[str]:
    from enrelm_cli.table.table import ReadOptions, Roles, open_table

    try:
        yield from open_table([file], ReadOptions(), Roles()).names
    except UserError:
        return


def _for_shell(name: str) -> str:
    """bash puts the text on the line as it is; zsh and fish quote it themselves."""
    if os.environ.get("_ENRELM_COMPLETE") == "complete_bash":
        return re.sub(r"([^\w@%+=:,./-])", r"\\\1", name)
    return name
