"""ask: a plain `query` runs beside the event loop (R1)."""

from __future__ import annotations

import asyncio

import pytest
from held_source import held_source, lag_while_blocked

from groundgraph.core.intent import RetrievalIntent
from groundgraph.sources.contract import ask
from groundgraph.testing import InMemorySource


@pytest.mark.covers("fault 77")
async def test_a_blocking_plain_query_keeps_the_loop_lag_below_100_ms():
    sources = [held_source(["refund"]) for _ in range(5)]
    lag = asyncio.create_task(lag_while_blocked(sources))
    intent = RetrievalIntent(["refund"])
    # None of the five goes on before all five block at once.
    answers = await asyncio.gather(*(ask(source, intent, top_k=5, score_threshold=0.0) for source in sources))
    assert await lag < 0.1
    assert all(len(answer) == 1 for answer in answers)


async def test_what_is_asked_for_reaches_the_source():
    source = InMemorySource(["refund policy", "refund"])
    intent = RetrievalIntent(["refund policy"])
    assert len(await ask(source, intent, top_k=1, score_threshold=0.0)) == 1
    assert len(await ask(source, intent, top_k=5, score_threshold=0.9)) == 1
