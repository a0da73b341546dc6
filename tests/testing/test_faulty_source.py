"""FaultySource: each fault is the one it says."""

from __future__ import annotations

import asyncio
import inspect
import time

import pytest

from groundgraph.core.errors import SourceUnavailable
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.resilience.bounds import within
from groundgraph.sources.contract import ask
from groundgraph.testing import FaultySource, InMemorySource

INTENT = RetrievalIntent(["refund"])


def inner(**options):
    return InMemorySource(["refund within 30 days"], name="shop", **options)


async def answered(source):
    return [result.content for result in await ask(source, INTENT, top_k=5, score_threshold=0.0)]


async def test_it_is_its_inner_source_otherwise():
    schema = SourceSchema("shop", {"year": {"type": "integer"}})
    source = FaultySource(inner(schema=schema))
    assert (source.name, source.source_type, source.get_schema()) == ("shop", "memory", schema)
    assert await source.metadata_fields() == set()
    assert await answered(source) == ["refund within 30 days"]
    await source.close()
    assert (source.calls, source.closed) == (1, 1)


@pytest.mark.parametrize("blocking", [False, True])
async def test_it_fails_as_often_as_told(blocking):
    source = FaultySource(inner(), error=SourceUnavailable("gone"), fail_times=2, blocking=blocking)
    for _ in range(2):
        with pytest.raises(SourceUnavailable, match="gone"):
            await answered(source)
    assert await answered(source) == ["refund within 30 days"]
    assert source.calls == 3
    always = FaultySource(inner(), error=TimeoutError, blocking=blocking)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await answered(always)


async def test_it_is_late_and_can_be_cancelled():
    source = FaultySource(inner(), delay=0.1)
    started = time.monotonic()
    assert await answered(source)
    assert time.monotonic() - started >= 0.1
    slow = FaultySource(inner(), delay=60)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(answered(slow), 0.05)
    assert slow.cancellations == 1


async def test_it_swallows_cancellation_until_it_is_released():
    source = FaultySource(inner(), delay=60, swallow_cancellation=True)
    task = asyncio.create_task(answered(source))
    await asyncio.sleep(0.05)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0.03)
    assert not task.done()
    assert source.cancellations == 3
    source.release()
    assert await task == ["refund within 30 days"]


async def test_within_leaves_behind_what_swallows_cancellation():
    source = FaultySource(inner(), delay=60, swallow_cancellation=True)
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        await within(0.1, answered(source))
    assert time.monotonic() - started < 0.4
    source.release()
    await asyncio.sleep(0.05)


async def test_a_blocking_query_is_plain_and_works_from_the_loop_thread_too():
    source = FaultySource(inner(), blocking=True)
    assert not inspect.iscoroutinefunction(source.query)
    assert [result.content for result in source.query(INTENT)] == ["refund within 30 days"]
