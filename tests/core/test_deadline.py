"""Waiting with a limit, without waiting for what swallows its cancellation (T9)."""

from __future__ import annotations

import asyncio
import gc
import time

import pytest
from virtual_time import in_virtual_time

from groundgraph.resilience.bounds import left_behind, remaining, turn_ends_at, within


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


async def too_late(work):
    """Seconds until `work` is too late."""
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        await work
    return time.monotonic() - started


async def test_a_result_and_an_exception_pass():
    assert await within(60, asyncio.sleep(0, "done")) == "done"

    async def failing():
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        await within(60, failing())


def test_late_work_is_a_timeout_and_cancelled():
    ended = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def use():
        took = await too_late(within(0.05, work()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert ended == [True]
        assert not left_behind
        return took

    assert in_virtual_time(use())[0] == pytest.approx(0.05)


def test_work_that_swallows_cancellation_is_left_behind():
    seen = []

    async def use():
        took = await too_late(within(0.1, swallowing(1.0, seen)))
        await asyncio.sleep(0.05)
        assert seen == ["cancelled"]
        assert len(left_behind) == 1
        await asyncio.gather(*left_behind)
        await asyncio.sleep(0)
        assert not left_behind
        return took

    assert in_virtual_time(use())[0] == pytest.approx(0.1)


def test_an_error_of_work_left_behind_is_not_reported_as_never_retrieved():
    reported = []

    async def failing_late():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise RuntimeError("while cancelled") from None

    async def use():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))
        await too_late(within(0.01, failing_late()))
        await asyncio.sleep(1)
        gc.collect()

    in_virtual_time(use())
    assert reported == []
    assert not left_behind


async def test_cancelling_the_caller_cancels_the_work():
    seen, begun = [], asyncio.Event()

    async def work():
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    caller = asyncio.create_task(within(60, work()))
    await begun.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert seen == ["cancelled"]


def test_cancelling_the_caller_does_not_wait_for_work_that_swallows_it():
    seen = []

    async def use():
        caller = asyncio.create_task(within(60, swallowing(0.5, seen)))
        await asyncio.sleep(0.01)
        caller.cancel()
        started = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await caller
        took = time.monotonic() - started
        await asyncio.gather(*left_behind)
        return took

    assert in_virtual_time(use())[0] == 0


@pytest.mark.covers("T9")
def test_the_turns_deadline_comes_first_when_it_is_nearer(turn_of):
    async def use():
        turn_of(0.05)
        return await too_late(within(60, asyncio.sleep(60)))

    assert in_virtual_time(use())[0] == pytest.approx(0.05)


@pytest.mark.covers("T9")
async def test_a_turn_that_is_over_leaves_no_time(turn_of):
    turn_of(-1)
    assert remaining(10) == 0.0
    with pytest.raises(TimeoutError):
        await within(60, asyncio.sleep(60))


@pytest.mark.covers("T9")
def test_remaining_is_the_smaller_of_both(turn_of):
    assert remaining(10) == 10
    began = time.monotonic()
    turn_of(500)
    left = remaining(1000)
    assert 500 - (time.monotonic() - began) <= left <= 500
    assert remaining(1) == 1
