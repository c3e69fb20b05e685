"""What this machine has: free memory and cores."""

from __future__ import annotations

import os
import re
from pathlib import Path


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
