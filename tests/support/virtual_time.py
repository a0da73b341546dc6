"""Time that costs nothing: a coroutine on a clock that jumps to the next timer when there is nothing else left to do.

How long something waits is exact there, and the same on a busy machine. While a thread works for the loop, the clock
stands still.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
# How long a look at the threads may really take, in seconds.
_LOOK = 0.01


def in_virtual_time(work: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """The result of `work`, and how many seconds passed on its clock. For tests that are not coroutines themselves."""
    loop = _Loop()
    with pytest.MonkeyPatch.context() as patch:
        for clock in ("monotonic", "perf_counter"):
            patch.setattr(time, clock, loop.time)
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            began = loop.time()
            result = runner.run(work)
            return result, loop.time() - began


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._now = time.monotonic()
        self._in_executors = 0
        self._others = set(threading.enumerate())
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        self._now += seconds

    def run_in_executor(self, *arguments: Any) -> Any:
        future = super().run_in_executor(*arguments)
        self._in_executors += 1
        future.add_done_callback(self._came_back)
        return future

    @property
    def is_waited_for(self) -> bool:
        """Whether a thread may have something for the loop soon."""
        ours = set(threading.enumerate()) - self._others
        return bool(self._in_executors) or any(thread.name == "groundgraph-blocking" for thread in ours)

    def _came_back(self, _: Any) -> None:
        self._in_executors -= 1


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: _Loop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if timeout is None or self._loop.is_waited_for:
            return super().select(_LOOK)
        self._loop.jump(timeout)
        return []
