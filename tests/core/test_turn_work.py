"""A step that waits for a source or a model ends with its turn, also when nobody else ends it."""

from __future__ import annotations

import asyncio

import pytest

from groundgraph.resilience.bounds import TurnWork, current, within_turn

pytestmark = pytest.mark.covers("fault 69")


async def test_the_end_of_a_turn_cancels_the_steps_that_wait_and_their_work() -> None:
    turn, ended = TurnWork(), []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("work")

    async def step() -> None:
        current.set(turn)
        try:
            await within_turn(30, work())
        finally:
            ended.append("step")

    waiting = asyncio.create_task(step())
    await asyncio.sleep(0.01)
    turn.end()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.sleep(0)
    assert sorted(ended) == ["step", "work"]


async def test_what_is_not_waited_for_any_more_is_left_alone() -> None:
    turn = TurnWork()

    async def work() -> str:
        return "done"

    async def step() -> str:
        current.set(turn)
        found = await within_turn(30, work())
        turn.end()
        await asyncio.sleep(0)
        return found

    assert await asyncio.create_task(step()) == "done"
    assert await within_turn(30, work()) == "done", "without a turn"
