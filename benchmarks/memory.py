"""What this process holds in memory."""

from __future__ import annotations

from pathlib import Path


def anonymous_mb() -> float:
    """Megabytes that are no mapped file."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1000
