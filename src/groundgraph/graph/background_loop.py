"""An event loop in a thread of its own, for callers that are not asynchronous."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=_run, args=(loop,), name="groundgraph-loop", daemon=True).start()
    return loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    while True:
        # An exit of one call ends the loop after it was handed to whoever waits for it; the others go on.
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()


def run_in_background(work: Coroutine[Any, Any, T], home: asyncio.AbstractEventLoop | None = None) -> T:
    """The result of `work`, run on `home` or the background loop. Cancels it when the caller is interrupted.

    Raises:
        RuntimeError: the caller stands on that loop, so the work could never begin.
    """
    loop = home or _loop()
    if loop is running_loop():
        work.close()
        raise RuntimeError("This would wait for itself: a coroutine that runs inside a turn has to use the async form.")
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that the caller stands on, if any."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def iterate_in_background(items: AsyncIterator[T], home: asyncio.AbstractEventLoop | None = None) -> Iterator[T]:
    """The items one by one, each produced on the loop `home` or the background loop when it is asked for."""
    end: Any = object()

    async def following() -> Any:
        return await anext(items, end)

    try:
        while (item := run_in_background(following(), home)) is not end:
            yield item
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            run_in_background(close(), home)
