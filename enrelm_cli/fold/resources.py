"""What this machine has: free memory and cores, and sizes written for people."""

from __future__ import annotations

import os
import re
from pathlib import Path

from enrelm_cli.errors import UsageError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def available_memory() -> int:
    """Bytes that can be used without swapping: the kernel's estimate, bounded by a container's limit."""
    free = _meminfo()
    limit = _cgroup_free()
    return min(free, limit) if limit is not None else free


def _meminfo() -> int:
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        # Not Linux: half of the physical memory is a cautious guess.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else 2**31


def _cgroup_free() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
    except OSError:
        return None
    return max(int(limit) - int(used), 0) if limit.isdigit() and used.isdigit() else None


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parse_bytes(text: str) -> int:
    """'2G' -> 2,000,000,000."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", text, re.IGNORECASE)
    if not match:
        raise UsageError(f"--memory '{text}' is not a size", "write it as 500M, 2G or 16G")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def human_bytes(count: float) -> str:
    """1234567 -> '1.2 MB'."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
