"""What stands before the server's own routes: `http.app` in `langgraph.json`.

The server passes filters by metadata to its database as a client sent them, and its handlers for authorization do not
see those of a thread's history. What it is told of an edit that cannot be made, it does not pass on.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundgraph.core.errors import FilterInvalid, InputInvalid
from groundgraph.core.thread_id import check_metadata_keys
from groundgraph.graph.server import settings

_FILTERED = re.compile(r"/(threads|assistants|runs/crons)/(search|count)/?$|/threads/[^/]+/history/?$")
_COPY = re.compile(r"/threads/[^/]+/copy/?$")
# These begin to answer, or answer with an error in a 200, before they look whose thread it is.
_EARLY = re.compile(r"^(.*/threads/[^/]+)/(stream|stream/events|commands|runs/[^/]+/stream)/?$")
# `langgraph dev` shows any thread there to anybody.
_DEVELOPMENT = re.compile(r"^/(internal|deploy)(/|$)")
# Before it is accepted, which a client sees as 403.
_CLOSED: list[Message] = [{"type": "websocket.close", "code": 1008, "reason": ""}]
# A filter is short; whoever sends more wants something else.
_FILTER_BYTES = 1_000_000


class Gate:
    """Refuses filters by unknown names with 422, and keeps what belongs to others out of sight.

    A thread of somebody else is 404 on every route: the server says 409 when it is copied, and 200 with an error inside
    when it is streamed. The development server has routes that ask nobody who they are; they are closed where users
    sign in.

    Args:
        app: what comes next.
        own: see `check_metadata_keys`.
        signed_in: whether users sign in.
    """

    def __init__(self, app: ASGIApp, own: tuple[str, ...] = (), *, signed_in: bool = False) -> None:
        self._app = app
        self._own = own
        self._signed_in = signed_in

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As every ASGI application."""
        refusal = await self._refusal(scope) if self._signed_in and scope["type"] in ("http", "websocket") else []
        for message in refusal:
            await send(message)
        if not refusal:
            await self._next(scope)(scope, receive, send)

    def _next(self, scope: Scope) -> ASGIApp:
        path = scope.get("path", "")
        if scope["type"] != "http":
            return self._app
        if self._signed_in and _DEVELOPMENT.search(path):
            return JSONResponse({"detail": "Not Found"}, 404)
        if scope["method"] == "POST" and _COPY.search(path):
            return self._copied
        if scope["method"] == "POST" and _FILTERED.search(path):
            return self._checked
        return self._app

    async def _copied(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, _not_found(send))

    async def _checked(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _body(receive)
        if body is None:
            await JSONResponse({"detail": "This is no filter: it is too long."}, 413)(scope, receive, send)
            return
        try:
            check_metadata_keys(_metadata(body), self._own)
        except FilterInvalid as error:
            await JSONResponse({"detail": str(error)}, 422)(scope, receive, send)
            return
        await self._app(scope, _again(body, receive), send)

    async def _refusal(self, scope: Scope) -> list[Message]:
        """What the server answers when the user may not read the thread of this path; nothing when they may."""
        streamed = _EARLY.match(scope.get("path", ""))
        if streamed is None:
            return []
        thread = streamed[1]
        asked = {**scope, "type": "http", "method": "GET", "path": thread, "raw_path": thread.encode()}
        told: list[Message] = []

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def noted(message: Message) -> None:
            told.append(message)

        await self._app({**asked, "query_string": b""}, nothing, noted)
        if told[0]["status"] == 200:
            return []
        return told if scope["type"] == "http" else _CLOSED


def _not_found(send: Send) -> Send:
    async def told(message: Message) -> None:
        conflict = message["type"] == "http.response.start" and message["status"] == 409
        await send({**message, "status": 404} if conflict else message)

    return told


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; None when it is too long."""
    read, more = b"", True
    while more and len(read) <= _FILTER_BYTES:
        message = await receive()
        read += message.get("body", b"")
        more = message.get("more_body", False)
    return read if len(read) <= _FILTER_BYTES else None


def _metadata(body: bytes) -> dict[str, Any] | None:
    """The filter in a body. What is none is the server's to refuse.

    Raises:
        FilterInvalid: nobody could look into it.
    """
    try:
        found = json.loads(body or b"{}")
    except RecursionError as error:
        # The server's own reader goes deeper: passed on, the filter would reach it unseen.
        raise FilterInvalid("This is no filter: it is nested too deeply.") from error
    except ValueError:
        return None
    metadata = found.get("metadata") if isinstance(found, dict) else None
    return metadata if isinstance(metadata, dict) else None


def _again(body: bytes, receive: Receive) -> Receive:
    """A stream that gives `body` once more, and then what follows it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def given() -> Message:
        return messages.pop() if messages else await receive()

    return given


async def told(_request: Request, error: Exception) -> JSONResponse:
    """What was wrong with an edit that no state can hold; the server would say that it broke, and no more."""
    return JSONResponse({"detail": str(error)}, 422)


# The server takes middleware and handlers of errors over from here.
app = Starlette(
    exception_handlers={InputInvalid: told},
    middleware=[
        Middleware(Gate, own=tuple(settings.server.metadata_keys), signed_in=bool(os.environ.get("LANGGRAPH_AUTH")))
    ],
)
