"""Column names for the shell's completion, from the data files that stand on the line already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enrelm_cli.errors import UserError


def columns(files: Sequence[str], incomplete: str) -> list[str]:
    """Names that begin with what was typed; none where no file can be read: completion is no place for errors."""
    return sorted({name for file in files if file != "-" for name in _names(file) if name.startswith(incomplete)})


def _names(file: str) -> Iterator[str]:
    from enrelm_cli.table import ReadOptions, Roles, open_table

    try:
        yield from open_table([file], ReadOptions(), Roles()).names
    except UserError:
        return
