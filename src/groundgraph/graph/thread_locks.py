"""One turn at a time on one thread, whichever event loop it runs on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import Future, InvalidStateError
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import Any
from weakref import WeakKeyDictionary

from groundgraph.core.errors import ThreadBusy

_guard = threading.Lock()
_queues: WeakKeyDictionary[Any, dict[str, deque[Future[None]]]] = WeakKeyDictionary()


@asynccontextmanager
async def thread_lock(saver: Any, thread_id: str, wait: float) -> AsyncIterator[None]:
    """Holds the thread `thread_id` of `saver`; first come, first served.

    Raises:
        ThreadBusy: another turn held the thread for all of `wait` seconds.
    """
    ticket = _enter(saver, thread_id)
    try:
        await asyncio.wait_for(asyncio.wrap_future(ticket), wait)
    except TimeoutError:
        _leave(saver, thread_id, ticket)
        raise ThreadBusy(
            f"The thread '{thread_id}' was busy with another turn for {wait:g} seconds. "
            "Nothing of this turn was written; ask again, or use another thread."
        ) from None
    except BaseException:
        _leave(saver, thread_id, ticket)
        raise
    try:
        yield
    finally:
        _leave(saver, thread_id, ticket)


@asynccontextmanager
async def held_thread(saver: Any, thread_id: str, wait: float) -> AsyncIterator[None]:
    """Holds the thread against other turns of this process and, where `saver` can claim it, of other processes.

    Args:
        saver: of the graph; None holds nothing.
        thread_id: the thread.
        wait: seconds, for both together.

    Raises:
        ThreadBusy: another turn held the thread for all of `wait` seconds.
    """
    if not saver:
        yield
        return
    until = time.monotonic() + wait
    # Several savers may share a connection; whoever shares it shares the thread.
    async with thread_lock(getattr(saver, "conn", saver), thread_id, wait):
        claims = getattr(saver, "claims", None)
        async with claims.hold(thread_id, max(0.0, until - time.monotonic())) if claims else nullcontext():
            yield


async def turns_ended(saver: Any, wait: float) -> None:
    """Returns when every turn that is under way on `saver` now has ended.

    Raises:
        ThreadBusy: one of them did not within `wait` seconds.
    """
    with _guard:
        threads = list(_queues.get(saver, ()))
    for thread in threads:
        async with thread_lock(saver, thread, wait):
            pass


def _enter(saver: Any, thread_id: str) -> Future[None]:
    ticket: Future[None] = Future()
    with _guard:
        queue = _queues.setdefault(saver, {}).setdefault(thread_id, deque())
        queue.append(ticket)
        first = queue[0] is ticket
    if first:
        ticket.set_result(None)
    return ticket


def _leave(saver: Any, thread_id: str, ticket: Future[None]) -> None:
    with _guard:
        threads = _queues.get(saver, {})
        queue = threads.get(thread_id)
        if queue is None or ticket not in queue:
            return
        was_first = queue[0] is ticket
        queue.remove(ticket)
        following = queue[0] if queue and was_first else None
        if not queue:
            del threads[thread_id]
    if following is not None:
        # It may have been given up in another thread meanwhile; then its own `_leave` lets the next one in.
        with suppress(InvalidStateError):
            following.set_result(None)
