"""Readings of a server that several turns wait for at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any


class SharedReadings:
    """Runs each reading in a task of its own: a turn whose time is over does not throw away what the next one needs.

    A task belongs to an event loop, so each loop has its own.
    """

    def __init__(self) -> None:
        self._running: dict[tuple[asyncio.AbstractEventLoop, Hashable], asyncio.Task[Any]] = {}

    async def once(self, key: Hashable, read: Callable[[], Awaitable[Any]]) -> Any:
        """What `read` gives; the one that runs under `key` already is waited for."""
        own = (asyncio.get_running_loop(), key)
        task = self._running.get(own)
        if task is None or task.done():
            task = self._running[own] = asyncio.ensure_future(_awaited(read))
            task.add_done_callback(lambda done: self._done(own, done))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """End what is being read on this event loop."""
        here = asyncio.get_running_loop()
        own = [task for (loop, _), task in self._running.items() if loop is here]
        for task in own:
            task.cancel()
        await asyncio.gather(*own, return_exceptions=True)

    def _done(self, own: tuple[asyncio.AbstractEventLoop, Hashable], task: asyncio.Task[Any]) -> None:
        if self._running.get(own) is task:
            del self._running[own]
        if not task.cancelled():
            # Taken note of, so that asyncio does not report it when nobody waits any more.
            task.exception()


async def _awaited(read: Callable[[], Awaitable[Any]]) -> Any:
    return await read()
