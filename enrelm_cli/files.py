"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from enrelm_cli.errors import UsageError

_HINT = "give the name of a file, in a folder that exists and that you may write to"


def check_writable(path: str) -> None:
    """Refuses a name under which nothing could be written: no folder, no permission, or a folder itself."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder", _HINT)
    if not target.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {target.parent}", "create it first")
    if not os.access(target if target.exists() and not target.is_file() else target.parent, os.W_OK):
        raise UsageError(f"cannot write {path}: permission denied", _HINT)


def write_whole(path: Path, content: bytes) -> None:
    """Written under a temporary name in the same folder, then renamed: nothing half-written has the final name."""
    target = Path(os.path.realpath(path))  # a link goes on pointing where it points
    if target.exists() and not target.is_file():
        # Renaming over /dev/null would replace the device itself.
        raise UsageError(f"cannot write {path}: it is not a file", _HINT)
    temporary = target.with_name(f".{target.name}.enrelm-{os.urandom(6).hex()}.tmp")
    try:
        try:
            temporary.write_bytes(content)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as reason:
        raise UsageError(f"cannot write {path}: {reason.strerror or reason}", _HINT) from None
