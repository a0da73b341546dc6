"""Time on the clock."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def timed(work: Awaitable[T]) -> tuple[T, float]:
    """What `work` gives, and how many milliseconds it took."""
    started = time.perf_counter()
    result = await work
    return result, (time.perf_counter() - started) * 1000
