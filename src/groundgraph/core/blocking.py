"""Running a blocking call in a worker thread, beside the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def run_blocking(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """The result of `function(*args, **kwargs)`, called in a thread of its own.

    The thread is a daemon: a call that hangs for ever neither uses up a pool that others need (as with
    `asyncio.to_thread`) nor keeps the process from ending.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(set_outcome: Callable[[Any], None], outcome: Any) -> None:
        if not future.done():
            set_outcome(outcome)

    def work() -> None:
        try:
            outcome: Any = context.run(function, *args, **kwargs)
            setter: Callable[[Any], None] = future.set_result
        except StopIteration as error:
            # A future refuses it, and the caller would wait for ever.
            outcome, setter = RuntimeError(f"the call raised {error!r}"), future.set_exception
        except BaseException as error:
            outcome, setter = error, future.set_exception
        # Nobody waits any more when the loop is closed, which it may be between a look and the call.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, setter, outcome)

    threading.Thread(target=work, name="groundgraph-blocking", daemon=True).start()
    return await future
