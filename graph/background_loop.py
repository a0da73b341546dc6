"""An event loop in a thread of its own, for callers that are not asynchronous."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="groundgraph-loop", daemon=True).start()
    return loop


def run_in_background(work: Coroutine[Any, Any, T], home: asyncio.AbstractEventLoop | None = None) -> T:
    """The result of `work`, run on `home` or the background loop. Cancels it when the caller is interrupted."""
    future = asyncio.run_coroutine_threadsafe(work, home or _loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


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
