"""ask: a plain `query` runs beside the event loop (R1)."""

from __future__ import annotations

import asyncio
import time

from groundgraph.core.intent import RetrievalIntent
from groundgraph.sources.ask import ask
from groundgraph.testing import FaultySource, InMemorySource


async def longest_lag(stop):
    """The longest time that the event loop did not run, in seconds, until `stop` is set."""
    longest, last = 0.0, time.monotonic()
    while not stop.is_set():
        await asyncio.sleep(0.005)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    return longest


async def test_fault_77_a_blocking_plain_query_keeps_the_loop_lag_below_100_ms():
    sources = [FaultySource(InMemorySource(["refund"]), delay=0.4, blocking=True) for _ in range(5)]
    stop = asyncio.Event()
    lag = asyncio.create_task(longest_lag(stop))
    started = time.monotonic()
    intent = RetrievalIntent(["refund"])
    answers = await asyncio.gather(*(ask(source, intent, top_k=5, score_threshold=0.0) for source in sources))
    took = time.monotonic() - started
    stop.set()
    assert await lag < 0.1
    assert 0.4 <= took < 1.2  # all five at once
    assert all(len(answer) == 1 for answer in answers)


async def test_what_is_asked_for_reaches_the_source():
    source = InMemorySource(["refund policy", "refund"])
    intent = RetrievalIntent(["refund policy"])
    assert len(await ask(source, intent, top_k=1, score_threshold=0.0)) == 1
    assert len(await ask(source, intent, top_k=5, score_threshold=0.9)) == 1
