"""What this machine has: free memory and cores, and sizes written for people."""

from __future__ import annotations

import os
import re
from pathlib import Path

from enrelm_cli.errors import UsageError


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


def parse_bytes(text: str, given: str = "--memory ") -> int:
    """'2G' -> 2,000,000,000 and '2GiB' -> 2,147,483,648, in options and in variables alike."""
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*([kmgt]?)(i?)b?\s*", text, re.IGNORECASE | re.ASCII)
    if not match or (match[3] and not match[2]):
        raise UsageError(f"{given}{text[:40]!r} is not a size", f"write it like {given}500M, {given}2G or {given}16GiB")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** " kmgt".index(match[2].lower() or " "))


def human_bytes(count: float) -> str:
    """1234567 -> '1.2 MB'."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
