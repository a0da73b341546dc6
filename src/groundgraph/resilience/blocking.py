"""Work beside the event loop: blocking calls in a worker thread, a chain that may be plain, a loop if there is none."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from functools import cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

# An event loop in a thread of its own, for callers that are not asynchronous.

S = TypeVar("S")
P = ParamSpec("P")


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


async def end_task(task: asyncio.Task[Any] | None) -> None:
    """Cancel a task of this loop, as often as it takes: Python 3.11 loses a cancellation in `asyncio.wait_for` when
    that ends in the same moment."""
    while task is not None and not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=1)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that the caller stands on, if any."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def plain(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]], name: str = ""
) -> Callable[Concatenate[S, P], T]:
    """The plain twin of an asynchronous method, as `add = plain(aadd)`: it waits for the background loop.

    Args:
        method: of the same class or of one above. A class below that overrides it need not override the twin.
        name: of the twin; that of the method without its `a` unless given.
    """
    awaited = method.__name__

    @wraps(method)
    def waiting(self: S, /, *positional: P.args, **named: P.kwargs) -> T:
        work: Coroutine[Any, Any, T] = getattr(self, awaited)(*positional, **named)
        return run_in_background(work)

    waiting.__name__ = name or awaited.removeprefix("a")
    waiting.__qualname__ = f"{method.__qualname__.removesuffix(awaited)}{waiting.__name__}"
    return waiting


def plain_function(
    function: Callable[Concatenate[S, P], Coroutine[Any, Any, T]], name: str
) -> Callable[Concatenate[S, P], T]:
    """The plain twin `name` of an asynchronous function whose first argument may be a graph: it waits for the loop that
    the graph's checkpointer or store belongs to, else for the background loop."""

    @wraps(function)
    def waiting(first: S, /, *positional: P.args, **named: P.kwargs) -> T:
        home = getattr(first, "home", None)
        return run_in_background(function(first, *positional, **named), home() if home else None)

    waiting.__name__ = waiting.__qualname__ = name
    waiting.__doc__ = f"As `{function.__name__}`, for callers that are not asynchronous; arguments and errors as there."
    return waiting


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


# Calling a chain that may be plain or asynchronous.


async def call_chain(chain: Callable[..., Any], *arguments: Any) -> Any:
    """What `chain` returns for `arguments`; a plain one runs in a worker thread. Raises whatever it raises."""
    call = chain if inspect.isroutine(chain) else type(chain).__call__
    if inspect.iscoroutinefunction(call):
        return await chain(*arguments)
    answer = await run_blocking(chain, *arguments)
    return await answer if isinstance(answer, Awaitable) else answer
