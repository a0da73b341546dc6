"""A stream whose items are produced by a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing


async def produced(items: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    """`items`, at most one ahead of whoever reads; closed when the reading ends, with the error that this raises.

    When an event loop ends, it first cancels its tasks and then closes all generators at once, in any order, so that of
    generators within each other none can close what it reads from. A task ends in good order.
    """
    # The room is for items; the mark of the end always has a place.
    queue: asyncio.Queue[str | None] = asyncio.Queue()
    room = asyncio.Semaphore(1)

    async def produce() -> None:
        try:
            async with aclosing(items):
                async for item in items:
                    await room.acquire()
                    queue.put_nowait(item)
        finally:
            queue.put_nowait(None)

    task = asyncio.create_task(produce())
    try:
        while (item := await queue.get()) is not None:
            room.release()
            yield item
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()
