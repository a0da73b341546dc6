"""The steps that wait for a source or a model, so that none of them outlives its turn.

LangGraph cancels the steps of a graph that ends early, and waits for them. When it is cancelled a second time
meanwhile, as it does with a graph inside a larger one of which another branch fails, it leaves them running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


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
