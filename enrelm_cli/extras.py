"""What to type where an extra is missing: the packages themselves, as enrelm is on no public index."""

from __future__ import annotations

import re


def install_command(extra: str) -> str:
    """pip install with the requirements of an extra, as this installation's own metadata states them."""
    from importlib import metadata  # 10 ms

    try:
        stated = metadata.requires("enrelm") or []
    except metadata.PackageNotFoundError:  # a checkout that was never installed
        stated = []
    wanted = [one.partition(";") for one in stated]
    packages = [name.strip() for name, _, when in wanted if re.search(rf"extra\s*==\s*['\"]{extra}['\"]", when)]
    if not packages:
        return f"pip install '.[{extra}]' (in the folder of enrelm's sources)"
    return "pip install " + " ".join(f"'{name}'" for name in packages)
