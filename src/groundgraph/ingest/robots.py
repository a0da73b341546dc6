"""Whether a site's robots.txt lets a page be fetched, as RFC 9309 says."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundgraph.core.errors import PageFault, PageNotLoaded
from groundgraph.resilience.blocking import run_blocking

if TYPE_CHECKING:
    from protego import Protego


# One request at a time to each host, and the time that a page has.


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


NEEDS_EXTRA = 'robots.txt needs the package protego: pip install "groundgraph[web]"'
# A reader must take in at least this much of the file (RFC 9309, 2.5).
MAX_ROBOTS_BYTES = 500 * 1024
# The longest pause between two requests that a site can ask for, in seconds.
MAX_PAUSE = 10.0
_OVERRIDE = "web.obey_robots: false fetches without asking"

# Fetches a robots.txt within the time of a page and gives its status and its body, no longer than MAX_ROBOTS_BYTES.
FetchRobots = Callable[[str, PageTime], Awaitable[tuple[int, bytes]]]


@dataclass(frozen=True)
class _Rules:
    """What the robots.txt of one origin says: why nothing may be fetched, or its rules, none when anything may be."""

    parsed: Protego | None = None
    fault: str = ""
    reason: PageFault = "robots"


class Robots:
    """The robots.txt files of one run, each fetched once.

    A file that is not there (4xx) forbids nothing; one that cannot be had (5xx, too many requests, no answer) forbids
    everything.

    Args:
        fetch: fetches a robots.txt.
        user_agent: the name to look for in them.
    """

    def __init__(self, fetch: FetchRobots, user_agent: str) -> None:
        self._fetch = fetch
        product = re.match(r"[A-Za-z_-]+", user_agent)
        self._agent = product.group() if product else user_agent
        self._rules: dict[str, _Rules] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def pause(self, origin: str, url: str, time: PageTime) -> float:
        """The seconds between two requests to `origin`, of which `url` may be fetched.

        Raises:
            PageNotLoaded: its robots.txt does not let `url` be fetched, or cannot be had.
        """
        try:
            rules = await self._of(origin, time)
        except PageNotLoaded as error:
            # A host that must not be asked: that of the page itself, or where its robots.txt redirects to.
            led = "" if error.url == f"{origin}/robots.txt" else f"{origin}/robots.txt redirects to {error.url}: "
            raise PageNotLoaded(error.reason, led + error.detail, url=url) from error.__cause__
        if rules.fault:
            raise PageNotLoaded(rules.reason, rules.fault, url=url)
        if rules.parsed is None:
            return 0.0
        if not rules.parsed.can_fetch(url, self._agent):
            detail = f"{origin}/robots.txt does not allow '{self._agent}' to fetch it; {_OVERRIDE}"
            raise PageNotLoaded("robots", detail, url=url)
        delay = rules.parsed.crawl_delay(self._agent)
        return min(delay, MAX_PAUSE) if delay and delay > 0 else 0.0

    async def _of(self, origin: str, time: PageTime) -> _Rules:
        async with self._locks[origin]:
            rules = self._rules.get(origin)
            if rules is None:
                # What fails in the little time that slow redirects left says nothing about this origin.
                lasting = time.left >= time.seconds / 2
                rules = await self._read(f"{origin}/robots.txt", time)
                if lasting or not rules.fault:
                    self._rules[origin] = rules
            return rules

    async def _read(self, url: str, time: PageTime) -> _Rules:
        try:
            from protego import Protego
        except ImportError as error:
            raise PageNotLoaded("robots", f"{NEEDS_EXTRA} ({error}), or {_OVERRIDE}", url=url) from error
        try:
            status, body = await self._fetch(url, time)
        except PageNotLoaded as error:
            if error.reason == "address":
                raise
            if error.reason == "connection":
                # The site is not there at all; its rules are not what is in the way.
                return _Rules(fault=error.detail, reason=error.reason)
            return _Rules(fault=_missing(url, error.detail))
        if status >= 500 or status == 429:
            return _Rules(fault=_missing(url, f"status {status}"))
        if status != 200:
            return _Rules()
        return _Rules(await run_blocking(Protego.parse, body.decode("utf-8-sig", errors="replace")))


def _missing(url: str, why: str) -> str:
    return f"{url} cannot be had ({why}), which forbids everything; {_OVERRIDE}"
