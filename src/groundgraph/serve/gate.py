"""What stands before every route: names of the host, size, rate, who asks, and headers that keep a page to itself."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundgraph.serve.request import message_of, own_path, refused
from groundgraph.serve.uploads import MOST_BYTES
from groundgraph.serve.users import KnowsUsers, with_cookie

# Pages, and what shows nothing of anybody.
_OPEN = ("/", "/sign-in", "/api/page", "/health", "/ready")
_STATIC = "/static/"
_DOCUMENTS = "/api/documents/"
# Of the body of any other request.
_MOST_BYTES = 1_000_000
# What a link of any other site may do: it changes and asks nothing.
_READING = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass
class Rate:
    """So many requests in a minute for each name, in even measure; `clock` gives seconds.

    Attributes:
        each_minute: how many; as many may come at once.
    """

    each_minute: int
    clock: Callable[[], float] = time.monotonic
    _used: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _MOST: ClassVar[int] = 10_000

    def allows(self, name: str) -> bool:
        """Whether one more may come; it is counted when it may."""
        now = self.clock()
        used, at = self._used.pop(name, (0.0, now))
        used = max(0.0, used - (now - at) * self.each_minute / 60)
        allowed = used + 1 <= self.each_minute
        self._used[name] = (used + allowed, now)
        # The one that was quiet longest has its full measure again soon.
        while len(self._used) > self._MOST:
            self._used.popitem(last=False)
        return allowed


class Gate:
    """Refuses what may not pass; `scope["user"]` of what passes is whoever asks.

    Args:
        app: what comes next.
        users: who may ask.
        hosts: the names under which the server is reached; any when there are none. A page elsewhere that gives its own
            name our address would else speak with us in the name of its reader.
        rate: of whoever changes or asks something.
    """

    def __init__(self, app: ASGIApp, users: KnowsUsers, hosts: tuple[str, ...] = (), *, rate: Rate) -> None:
        self.app = app
        self._users = users
        self._hosts = hosts
        self._rate = rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As every ASGI application."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        try:
            refusal = await self._refusal(scope)
        except Exception as error:  # whatever knows the users failed
            refusal = 500, message_of(error)
        if refusal:
            await refused(scope, *refusal)(scope, receive, _with_headers(send))
            return
        await self.app(scope, _Bounded(receive, _most_of(own_path(scope))), _with_headers(send))

    def _refusal_of_headers(self, method: str, headers: Headers, most: int) -> tuple[int, str] | None:
        if self._hosts and _host(headers) not in self._hosts:
            return 421, "The server is not reached under this name. Name it with --host."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            return 413, _too_large(most)
        if _is_elsewhere(method, headers):
            return 403, "A page of another site may not ask here."
        return None

    async def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        request, path = with_cookie(HTTPConnection(scope)), own_path(scope)
        if refusal := self._refusal_of_headers(scope["method"], request.headers, _most_of(path)):
            return refusal
        user = None if path.startswith(_STATIC) else await self._users.of_request(request)
        if user is None and path not in _OPEN and not path.startswith(_STATIC):
            return 401, "Sign in with your token: Authorization: Bearer TOKEN."
        scope["user"] = user
        name = user.identity if user else ""
        if scope["method"] not in _READING and not self._rate.allows(name or _address(scope)):
            return 429, "Too many requests. Wait a little."
        return None


def _most_of(path: str) -> int:
    """Of how many bytes the body of a request may be: a document that is dropped on the page may have more."""
    return MOST_BYTES if path.startswith(_DOCUMENTS) else _MOST_BYTES


class _Bounded:
    """A body of which no more than `most` bytes are read."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = self._left = most

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise HTTPException(413, _too_large(self._most))
        return message


def _too_large(most: int) -> str:
    return f"The request is too large: the most is {most} bytes."


def _host(headers: Headers) -> str:
    host = headers.get("host", "")
    return host.rpartition(":")[0].strip("[]") if host.rpartition(":")[2].isdecimal() else host.strip("[]")


def _is_elsewhere(method: str, headers: Headers) -> bool:
    """Whether a browser says that a page of another origin sent the request, by more than a link to follow."""
    origin = headers.get("origin")
    if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        return method not in _READING or headers.get("sec-fetch-mode") != "navigate"
    return origin is not None and origin.partition("://")[2] != headers.get("host")


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sent
