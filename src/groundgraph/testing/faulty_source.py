"""A source that misbehaves on purpose."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.sources.contract import DelegatingSource, GroundedSource, ask

# How often a source that swallows cancellation looks whether it was released, in seconds.
_TICK = 0.02


class FaultySource(DelegatingSource):
    """`inner` with faults: late, raising, deaf to cancellation, or blocking its thread.

    Args:
        inner: the source that answers once the fault is over.
        delay: seconds before each answer or error.
        error: what to raise (an exception or its class) after the delay.
        fail_times: raise on so many calls only, the first ones; every time when it is None.
        swallow_cancellation: go on waiting out the delay when cancelled, until `release` is called.
        blocking: give the source a plain `query`, which sleeps in the calling thread.

    Attributes:
        calls: how often `query` was called.
        cancellations: how often a waiting `query` was cancelled.
        closed: how often `close` was called.
    """

    def __init__(
        self,
        inner: GroundedSource,
        *,
        delay: float = 0.0,
        error: BaseException | type[BaseException] | None = None,
        fail_times: int | None = None,
        swallow_cancellation: bool = False,
        blocking: bool = False,
    ) -> None:
        super().__init__(inner)
        self.delay = delay
        self.error = error
        self.fail_times = fail_times
        self.swallow_cancellation = swallow_cancellation
        self.calls = 0
        self.cancellations = 0
        self.closed = 0
        self._released = False
        if blocking:
            # A plain function on the instance hides the coroutine function of the class.
            self.__dict__["query"] = self._blocking_query

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """What the inner source answers, after the delay and unless `error` is due."""
        self.calls += 1
        number = self.calls
        await self._wait()
        self._raise_when_due(number)
        return await super().query(intent, top_k=top_k, score_threshold=score_threshold)

    def _blocking_query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        self.calls += 1
        number = self.calls
        time.sleep(self.delay)
        self._raise_when_due(number)
        answer = ask(self.inner, intent, top_k=top_k, score_threshold=score_threshold)
        # In a thread of its own: the caller's thread may be the one that runs an event loop.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, answer).result()

    def release(self) -> None:
        """End every wait that swallows cancellation."""
        self._released = True

    async def close(self) -> None:
        """Close the inner source."""
        self.closed += 1
        await super().close()

    def _raise_when_due(self, number: int) -> None:
        if self.error is not None and (self.fail_times is None or number <= self.fail_times):
            raise self.error

    async def _wait(self) -> None:
        ends_at = time.monotonic() + self.delay
        while not self._released and (left := ends_at - time.monotonic()) > 0:
            try:
                await asyncio.sleep(min(_TICK, left) if self.swallow_cancellation else left)
            except asyncio.CancelledError:
                self.cancellations += 1
                if not self.swallow_cancellation:
                    raise
