"""How far an answer runs ahead of its reader (fault 74)."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.resilience.bounds import MAX_AHEAD, Backpressure, current_backpressure, ready_to_emit


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.covers("fault 74")
async def test_without_a_reader_the_producer_stops_at_the_limit():
    backpressure, emitted = Backpressure(limit=3), []

    async def produce():
        while True:
            await backpressure.ready()
            emitted.append(1)

    producer = asyncio.create_task(produce())
    await settle()
    assert len(emitted) == 3
    producer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await producer


@given(st.integers(1, 9), st.lists(st.booleans(), max_size=60))
async def test_no_more_than_the_limit_passes_while_the_reader_is_busy(limit, reads):
    backpressure, passed = Backpressure(limit), 0
    for waits in reads:
        (backpressure.waiting if waits else backpressure.busy)()
        try:
            async with asyncio.timeout(0):
                await backpressure.ready()
        except TimeoutError:
            assert not waits
            break
        passed = 0 if waits else passed + 1
        assert passed <= limit


async def test_without_a_reader_of_this_run_nothing_waits():
    assert current_backpressure.get() is None
    for _ in range(2 * MAX_AHEAD):
        await ready_to_emit()
