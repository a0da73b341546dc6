"""A source that blocks its thread until the event loop has been seen to run meanwhile."""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from collections.abc import Sequence
from typing import Any

from groundgraph import InMemorySource
from groundgraph.testing import FaultySource

_LONGEST = 60


class _Held(InMemorySource):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.begun, self.released = threading.Event(), threading.Event()

    async def query(self, *arguments: Any, **options: Any) -> Any:
        self.begun.set()
        # This coroutine runs in the thread of a plain `query`.
        assert self.released.wait(_LONGEST), "the event loop stood still"
        return await super().query(*arguments, **options)


def held_source(*arguments: Any, **options: Any) -> FaultySource:
    """A source in memory with a plain `query`, which blocks until `lag_while_blocked` lets it go on."""
    return FaultySource(_Held(*arguments, **options), blocking=True)


async def lag_while_blocked(sources: Sequence[FaultySource], ticks: int = 20) -> float:
    """Lets `sources` go on after all of them block at once and the loop has run so many times meanwhile.

    A source that blocks the loop itself keeps this from running, and fails.

    Returns:
        The seconds by which the loop is late in the middle one of its runs; a single one may meet a machine that is
        busy with something else.
    """
    held = [source.inner for source in sources]
    while not all(one.begun.is_set() for one in held):
        await asyncio.sleep(0.001)
    lags = []
    for _ in range(ticks):
        started = time.perf_counter()
        await asyncio.sleep(0.005)
        lags.append(time.perf_counter() - started - 0.005)
    for one in held:
        one.released.set()
    return statistics.median(lags)
