"""How long the current turn may still take, and how far it may run ahead of its reader.

The deadline lives in a context variable and never in the state: a turn that is resumed after a crash gets a deadline
of its own instead of being born late.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

# How far a streaming answer may run ahead of whoever reads it.

MAX_AHEAD = 1024


class Backpressure:
    """Counts the pieces that were emitted while the reader was busy.

    The reader calls `waiting` before it asks for the next piece and `busy` when it has got one. While it waits,
    everything emitted so far was read: LangGraph hands out what is queued without giving control back.
    """

    def __init__(self, limit: int = MAX_AHEAD) -> None:
        self._limit = limit
        self._ahead = 0
        self._reader_waits = asyncio.Event()

    def waiting(self) -> None:
        """The reader asks for the next piece."""
        self._reader_waits.set()

    def busy(self) -> None:
        """The reader has got a piece."""
        self._reader_waits.clear()

    async def ready(self) -> None:
        """Returns when another piece may be emitted."""
        if self._reader_waits.is_set():
            self._ahead = 0
        self._ahead += 1
        if self._ahead > self._limit:
            await self._reader_waits.wait()
            self._ahead = 0


current_backpressure: ContextVar[Backpressure | None] = ContextVar("groundgraph_backpressure", default=None)


async def ready_to_emit() -> None:
    """Waits until the reader of the current run, if there is one, has caught up."""
    backpressure = current_backpressure.get()
    if backpressure is not None:
        await backpressure.ready()


# The steps that wait for a source or a model, so that none of them outlives its turn.
#
# LangGraph cancels the steps of a graph that ends early, and waits for them. When it is cancelled a second time
# meanwhile, as it does with a graph inside a larger one of which another branch fails, it leaves them running.


class TurnWork:
    """The steps of one turn that wait."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Task[Any]] = set()

    @contextmanager
    def waiting(self, step: asyncio.Task[Any] | None) -> Iterator[None]:
        """The task `step` waits in this block."""
        if step is None:
            yield
            return
        self._waiting.add(step)
        try:
            yield
        finally:
            self._waiting.discard(step)

    def end(self) -> None:
        """The turn is over: cancel the steps that still wait."""
        for step in list(self._waiting):
            step.cancel()


current: ContextVar[TurnWork | None] = ContextVar("groundgraph_turn_work", default=None)


T = TypeVar("T")

turn_ends_at: ContextVar[float | None] = ContextVar("groundgraph_turn_ends_at", default=None)

# Tasks that did not end when they were cancelled. Held here, so that they are not collected while they still run.
left_behind: set[asyncio.Future[Any]] = set()


def remaining(limit: float) -> float:
    """The smaller of `limit` and what is left of the turn, in seconds, never below 0."""
    ends_at = turn_ends_at.get()
    return limit if ends_at is None else max(0.0, min(limit, ends_at - time.monotonic()))


class DeadlinePassed(TimeoutError):
    """Work did not end within its limit or the turn's deadline; work that times out by itself raises something else."""


class WorkCancelled(Exception):
    """Work ended in a cancellation that nobody asked for."""


async def within(limit: float, work: Awaitable[T]) -> T:
    """The result of `work`.

    Work that swallows its cancellation is left behind instead of being waited for; `asyncio.timeout` would wait.
    When the caller itself is cancelled, the work is cancelled too.

    Raises:
        DeadlinePassed: after `limit` seconds or at the turn's deadline, whichever comes first.
        WorkCancelled: the work raised `CancelledError` by itself.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=remaining(limit))
    except asyncio.CancelledError:
        _abandon(task)
        raise
    if not done:
        _abandon(task)
        raise DeadlinePassed
    if task.cancelled():
        raise WorkCancelled("it was cancelled from inside")
    return task.result()


async def within_turn(limit: float, work: Awaitable[T]) -> T:
    """As `within`, for a step's own call of a source or a model: when the turn ends before the step does, the call ends
    too."""
    turn = current.get()
    if turn is None:
        return await within(limit, work)
    with turn.waiting(asyncio.current_task()):
        return await within(limit, work)


def _abandon(task: asyncio.Future[Any]) -> None:
    task.cancel()
    left_behind.add(task)
    task.add_done_callback(_forget)


def _forget(task: asyncio.Future[Any]) -> None:
    left_behind.discard(task)
    retrieve(task)


def retrieve(task: asyncio.Future[Any]) -> None:
    """Take note of the error of `task`, which is done, so that asyncio does not report it as never retrieved."""
    if not task.cancelled():
        task.exception()
