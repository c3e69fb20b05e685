"""The registry of variants: every module of this folder is one, named like its file, with a `VARIANT`.

Adding a variant is adding a file (how: `_variant.py`). Names come from the file names, so that the command line
knows them without importing numpy.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from enrelm_cli.variants._variant import Variant


def names_in(folders: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(module.name for module in pkgutil.iter_modules(folders) if module.name[0] != "_"))


VARIANTS = names_in(__path__)


def named(name: str) -> Variant:
    variant: Variant = import_module(f"{__name__}.{name}").VARIANT
    return variant
