"""The sample tables that come with enrelm, by name: the folder `sample_data` of a checkout and of the wheel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import enrelm_cli
from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.quoting import quoted

# setup.py puts the folder into the wheel; in a checkout it lies beside the package.
_FOLDERS = (Path(enrelm_cli.__file__).parent / "sample_data", Path(enrelm_cli.__file__).parents[1] / "sample_data")

TABLES = {
    "friedman": "600 rows of Friedman's function, target y",
    "friedman_new": "40 more rows, without the target",
    "houses": "520 invented houses: text, dates, missing cells, target price",
    "houses_new": "24 more houses, without the price",
    "linear": "the paper's dataset 4, target y",
    "network": "the paper's dataset 10, target y",
}


def table(name: str, rows: int | None = None) -> Iterator[bytes]:
    """The lines of a table: its header and the first `rows` rows, or all."""
    path = _path(name)
    with path.open("rb") as stream:
        kept = list(islice(stream, None if rows is None else rows + 1))
    if rows is not None and len(kept) <= rows:
        raise UsageError(f"the table {name} has {len(kept) - 1} rows, not {rows}", "leave out --rows for all of them")
    return iter(kept)


def sample_hint(path: str) -> str | None:
    """How to get a missing file that is called like a table of ours: examples are written for a checkout, which has it.

    Nothing that is there is written over.
    """
    folder, file = os.path.split(path)
    name = file.removesuffix(".csv")
    if name not in TABLES or name == file:
        return None
    where = path if os.path.isdir(folder or ".") else file
    if os.path.exists(where):
        return f"did you mean {where}?"
    return f"`enrelm sample {name} -o {quoted(where)}` writes the sample table of this name; then name {where}"


def _path(name: str) -> Path:
    for folder in _FOLDERS:
        if (folder / f"{name}.csv").is_file():
            return folder / f"{name}.csv"
    raise DataError(f"this installation lacks the sample table {name}", "install enrelm again, from its wheel or sdist")
