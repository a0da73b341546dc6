"""Waiting with a limit, without waiting for what swallows its cancellation (T9)."""

from __future__ import annotations

import asyncio
import time

import pytest

from groundgraph.core.deadline import left_behind, remaining, turn_ends_at, within


@pytest.fixture
def turn_of():
    """Sets how many seconds the turn has left; undone afterwards."""
    tokens = []
    yield lambda seconds: tokens.append(turn_ends_at.set(time.monotonic() + seconds))
    turn_ends_at.set(None)


async def swallowing(seconds, seen):
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            seen.append("cancelled")


async def test_a_result_and_an_exception_pass():
    assert await within(1, asyncio.sleep(0, "done")) == "done"

    async def failing():
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        await within(1, failing())


async def test_late_work_is_a_timeout_and_cancelled():
    ended = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    started = time.monotonic()
    with pytest.raises(TimeoutError):
        await within(0.05, work())
    assert time.monotonic() - started < 0.35
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert ended == [True]
    assert not left_behind


async def test_work_that_swallows_cancellation_is_left_behind():
    seen = []
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        await within(0.1, swallowing(1.0, seen))
    assert time.monotonic() - started < 0.4
    await asyncio.sleep(0.05)
    assert seen == ["cancelled"]
    assert len(left_behind) == 1
    await asyncio.gather(*left_behind)
    await asyncio.sleep(0)
    assert not left_behind


async def test_an_error_of_work_left_behind_is_not_reported_as_never_retrieved():
    reported = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))

    async def failing_late():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise RuntimeError("while cancelled") from None

    with pytest.raises(TimeoutError):
        await within(0.01, failing_late())
    await asyncio.sleep(0.02)
    import gc

    gc.collect()
    assert reported == []
    assert not left_behind


async def test_cancelling_the_caller_cancels_the_work():
    seen = []

    async def work():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    caller = asyncio.create_task(within(60, work()))
    await asyncio.sleep(0.01)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert seen == ["cancelled"]


async def test_cancelling_the_caller_does_not_wait_for_work_that_swallows_it():
    seen = []
    caller = asyncio.create_task(within(60, swallowing(0.5, seen)))
    await asyncio.sleep(0.01)
    caller.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert time.monotonic() - started < 0.3
    await asyncio.gather(*left_behind)


async def test_t9_the_turns_deadline_comes_first_when_it_is_nearer(turn_of):
    turn_of(0.05)
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        await within(60, asyncio.sleep(60))
    assert time.monotonic() - started < 0.35


async def test_t9_a_turn_that_is_over_leaves_no_time(turn_of):
    turn_of(-1)
    ran = []

    async def work():
        ran.append(True)

    assert remaining(10) == 0.0
    with pytest.raises(TimeoutError):
        await within(60, asyncio.sleep(60))


def test_t9_remaining_is_the_smaller_of_both(turn_of):
    assert remaining(10) == 10
    turn_of(5)
    assert 4.9 < remaining(10) <= 5
    assert remaining(1) == 1
