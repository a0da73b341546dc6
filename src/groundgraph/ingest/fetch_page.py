"""Fetches one web page: every redirect by hand, every host checked, everything bounded, and only where the
robots.txt of its site lets it, as RFC 9309 says."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections import defaultdict
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import httpcore
import httpx

from groundgraph.core.errors import PageFault, PageNotLoaded
from groundgraph.ingest.guarded_network import GuardedNetwork, Resolve, resolve_host
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.knowledge_base import WebSettings

if TYPE_CHECKING:
    from types import TracebackType

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


# Fetching.

# Reads the body of an answer without ever holding more than was agreed on.

# A body that grows more than this when it is decompressed is taken for a bomb; web pages grow five to twenty times.
MAX_RATIO = 100
# Before this many bytes the ratio says nothing: a short page of one repeated line exceeds it, too.
_RATIO_FROM = 64 * 1024
_PIECE = 64 * 1024


class BodyRefused(Exception):
    """A body is too large, grows too much, or is damaged; the text says which. `reason` is one word for it."""

    def __init__(self, reason: PageFault, message: str) -> None:
        self.reason: PageFault = reason
        super().__init__(message)


async def bounded_body(chunks: AsyncIterable[bytes], *, encoding: str = "", max_bytes: int, cut: bool = False) -> bytes:
    """The body in `chunks`, decompressed piece by piece.

    Args:
        chunks: the bytes as they come from the network.
        encoding: their content encoding: none or gzip.
        max_bytes: the most that the body may have, as it comes and decompressed.
        cut: end the body at `max_bytes` and do not refuse it.

    Raises:
        BodyRefused: it has more, grows more than `MAX_RATIO` times, or is no gzip that ends.
    """
    decoder = _decoder(encoding)
    body = bytearray()
    received = 0
    async for chunk in chunks:
        received += len(chunk)
        for piece in decoder.pieces(chunk):
            body += piece
            if len(body) > max(_RATIO_FROM, MAX_RATIO * received):
                raise BodyRefused("too_large", f"decompressed it is more than {MAX_RATIO} times as large: a bomb")
            if len(body) > max_bytes:
                break
        if max(len(body), received) > max_bytes:
            if cut:
                return bytes(body[:max_bytes])
            raise BodyRefused("too_large", f"it has more than {max_bytes} bytes (web.max_bytes)")
    return bytes(body + decoder.end())


class _Plain:
    def pieces(self, data: bytes) -> Iterator[bytes]:
        yield data

    def end(self) -> bytes:
        return b""


class _Gzip:
    def __init__(self) -> None:
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What `data` decompresses to, at most `_PIECE` bytes at a time."""
        while data:
            if self._member.eof:
                if not data.startswith(b"\x1f"):
                    return  # padding behind the last member
                self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                yield self._member.decompress(data, _PIECE)
            except zlib.error as error:
                raise BodyRefused("content", f"it is damaged gzip ({error})") from error
            data = self._member.unconsumed_tail or self._member.unused_data

    def end(self) -> bytes:
        # What a full piece left inside zlib: a few hundred bytes at most.
        rest = self._member.flush()
        if not self._member.eof:
            raise BodyRefused("content", "its gzip ends too early")
        return rest


def _decoder(encoding: str) -> _Plain | _Gzip:
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return _Plain()
    if name in ("gzip", "x-gzip"):
        return _Gzip()
    raise BodyRefused("content", f"it is encoded as '{name}', which was not asked for")


_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ACCEPT = "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/pdf;q=0.8, */*;q=0.1"
_NO_ANSWER = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException)

# Gives the pause after a request, or refuses the address.
_Permit = Callable[[httpx.URL, PageTime], Awaitable[float]]


@dataclass(frozen=True)
class FetchedPage:
    """What a server answered in the end.

    Attributes:
        url: where it came from, after all redirects.
        status: its HTTP status.
        content_type: the header of that name, or an empty string.
        body: the bytes, decompressed; empty unless the status is 200.
        location: where a redirect points to, else an empty string.
    """

    url: str
    status: int
    content_type: str
    body: bytes
    location: str = ""


def page_url(url: str) -> httpx.URL:
    """`url` in its plain form: ASCII, lower-case host, no default port, no fragment.

    Raises:
        PageNotLoaded: it is no http or https address, names no host, or carries a user name or password.
    """
    shown = re.sub(r"^((?>.*?//)).*@", r"\1***@", url, flags=re.MULTILINE)
    try:
        found = httpx.URL(url.strip())
    except (httpx.InvalidURL, UnicodeError) as error:
        raise PageNotLoaded("url", "it is no valid web address", url=shown) from error
    if found.scheme not in ("http", "https"):
        raise PageNotLoaded("url", f"only http and https are fetched, not '{found.scheme}'", url=shown)
    if not found.host or "%" in found.host or not _is_port(found.port):
        raise PageNotLoaded("url", "it names no host, or an impossible one", url=shown)
    if found.userinfo:
        detail = "it carries a user name or password, which would end up in the knowledge base"
        raise PageNotLoaded("url", detail, url=shown)
    return found.copy_with(fragment=None, path=found.path or "/")


class PageFetcher:
    """Fetches pages through one pool of guarded connections; use it as a context manager, again and again if need be.

    What is known of the hosts, their rules and when each may be asked again, outlasts the connections. Environment
    variables that name proxies, and cookies, play no part.

    Args:
        settings: the limits.
        resolve: looks a host up.
        dial: makes the connection to an address that was checked.
    """

    def __init__(
        self,
        settings: WebSettings,
        *,
        resolve: Resolve = resolve_host,
        dial: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._settings = settings
        self._turns = HostTurns()
        self._robots = Robots(self._fetch_robots, settings.user_agent)
        self._network = GuardedNetwork(
            allow_private=settings.allow_private, seconds=settings.timeout, resolve=resolve, dial=dial
        )
        self._pool = self._new_pool()

    def _new_pool(self) -> httpcore.AsyncConnectionPool:
        return httpcore.AsyncConnectionPool(
            network_backend=self._network, max_connections=None, max_keepalive_connections=20, keepalive_expiry=15.0
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # A pool takes no connections any more once it was closed.
        closed, self._pool = self._pool, self._new_pool()
        await closed.aclose()

    async def fetch(self, url: str) -> FetchedPage:
        """The page at `url`, or where it redirects to.

        Raises:
            PageNotLoaded: with the reason, and the redirect at which it failed.
        """
        start = page_url(url)
        time = PageTime(self._settings.timeout)
        try:
            page = await self._follow(start, time, self._permit, self._settings.max_bytes)
            if page.status != 200:
                raise PageNotLoaded("status", f"the server answered with status {page.status}", url=page.url)
        except PageNotLoaded as error:
            # So far it knows only the address at which it failed.
            raise PageNotLoaded(error.reason, error.detail, url=str(start), hop=error.hop) from error.__cause__
        return page

    async def _permit(self, url: httpx.URL, time: PageTime) -> float:
        if not self._settings.obey_robots:
            return 0.0
        return await self._robots.pause(f"{url.scheme}://{url.netloc.decode('ascii')}", str(url), time)

    async def _fetch_robots(self, url: str, time: PageTime) -> tuple[int, bytes]:
        page = await self._follow(page_url(url), time, None, MAX_ROBOTS_BYTES, cut=True)
        return page.status, page.body

    async def _follow(
        self, url: httpx.URL, time: PageTime, permit: _Permit | None, max_bytes: int, *, cut: bool = False
    ) -> FetchedPage:
        seen: list[httpx.URL] = []
        while True:
            pause = await permit(url, time) if permit else 0.0
            page = await self._get(url, time, pause, max_bytes, cut)
            if not page.location:
                return page
            seen.append(url)
            target = _target(url, page.location)
            if target in seen:
                raise PageNotLoaded("redirects", "the redirects go in a circle", url=str(target))
            if len(seen) > self._settings.max_redirects:
                detail = f"more than {self._settings.max_redirects} redirects (web.max_redirects)"
                raise PageNotLoaded("redirects", detail, url=str(target))
            url = target

    async def _get(self, url: httpx.URL, time: PageTime, pause: float, max_bytes: int, cut: bool) -> FetchedPage:
        async with self._turns.turn(url.host, pause):
            try:
                async with time.running():
                    return await self._answer(url, max_bytes, cut)
            except TimeoutError as error:
                detail = f"it did not come within {time.seconds:g} s (web.timeout)"
                raise PageNotLoaded("timeout", detail, url=str(url)) from error
            except PageNotLoaded as error:
                raise PageNotLoaded(error.reason, error.detail, url=str(url)) from error.__cause__
            except BodyRefused as error:
                raise PageNotLoaded(error.reason, str(error), url=str(url)) from error
            except _NO_ANSWER as error:
                detail = f"the server gave no answer ({type(error).__name__}: {error})"
                raise PageNotLoaded("connection", detail, url=str(url)) from error

    async def _answer(self, url: httpx.URL, max_bytes: int, cut: bool) -> FetchedPage:
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        headers: dict[str | bytes, str | bytes] = {
            "Host": url.netloc,
            "User-Agent": self._settings.user_agent.encode("latin-1", "replace"),
            "Accept": _ACCEPT,
            "Accept-Encoding": "gzip",
        }
        async with self._pool.stream("GET", target, headers=headers) as answer:
            found = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in answer.headers}
            location = found.get("location", "") if answer.status in _REDIRECTS else ""
            body = b""
            if answer.status == 200:
                _check_length(found, max_bytes, cut)
                body = await bounded_body(
                    answer.aiter_stream(), encoding=found.get("content-encoding", ""), max_bytes=max_bytes, cut=cut
                )
            return FetchedPage(str(url), answer.status, found.get("content-type", ""), body, location)


def _is_port(port: int | None) -> bool:
    # None stands for the port of the scheme.
    return port is None or 0 < port < 65536


def _target(url: httpx.URL, location: str) -> httpx.URL:
    try:
        joined = str(url.join(location))
    except (httpx.InvalidURL, UnicodeError) as error:
        raise PageNotLoaded("url", f"its redirect leads to no web address ({error})", url=str(url)) from error
    return page_url(joined)


def _check_length(headers: dict[str, str], max_bytes: int, cut: bool) -> None:
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > max_bytes and not cut:
        raise BodyRefused("too_large", f"it has {length} bytes, more than {max_bytes} (web.max_bytes)")
