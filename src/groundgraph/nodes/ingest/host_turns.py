"""One request at a time to each host, and the time that a page has."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class HostTurns:
    """Lets one request after the other go to a host, with the pause that the host asks for between them."""

    def __init__(self) -> None:
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._free_at: dict[str, float] = {}

    @asynccontextmanager
    async def turn(self, host: str, pause: float = 0.0) -> AsyncIterator[None]:
        """Wait for one's turn at `host`; the next one begins `pause` seconds after the end of this, or later."""
        clock = asyncio.get_running_loop().time
        async with self._locks[host]:
            await asyncio.sleep(max(0.0, self._free_at.get(host, 0.0) - clock()))
            try:
                yield
            finally:
                self._free_at[host] = clock() + pause


class PageTime:
    """What is left of the time for one page, over all its redirects; waiting for one's turn at a host is free.

    Attributes:
        seconds: the whole time.
        left: what is left of it.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.left = seconds

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Time passes inside.

        Raises:
            TimeoutError: nothing is left.
        """
        clock = asyncio.get_running_loop().time
        start = clock()
        try:
            async with asyncio.timeout(max(0.0, self.left)):
                yield
        finally:
            self.left -= clock() - start
