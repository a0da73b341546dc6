"""A bound on how far a streaming answer may run ahead of whoever reads it."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

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


current: ContextVar[Backpressure | None] = ContextVar("groundgraph_backpressure", default=None)


async def ready_to_emit() -> None:
    """Waits until the reader of the current run, if there is one, has caught up."""
    backpressure = current.get()
    if backpressure is not None:
        await backpressure.ready()
