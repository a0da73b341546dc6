"""The whole server: the page, the endpoints for chat clients and editors, health, behind one gate."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.serve.gate import Gate, Rate
from groundgraph.serve.graph_conversations import GraphConversations
from groundgraph.serve.openai_api import openai_routes
from groundgraph.serve.page_api import page_routes
from groundgraph.serve.request import message_of, refused
from groundgraph.serve.uploads import Uploads
from groundgraph.serve.users import KnowsUsers, Users


@dataclass(frozen=True)
class Served:
    """How a server is reached.

    Attributes:
        users: who may ask.
        hosts: the names under which it is reached; any when there are none.
        each_minute: how many requests that change or ask something each user may send in a minute.
        uploads: the folder into which readers may drop documents; none where they may not.
    """

    users: KnowsUsers = field(default_factory=lambda: Users({}))
    hosts: tuple[str, ...] = ()
    each_minute: int = 60
    uploads: Path | None = None


def serve_app(graph: TurnRunner, served: Served) -> Gate:
    """The server over an open `graph`.

    Raises:
        ConfigurationError: the graph keeps no records, or nothing can be taken in from the folder.
    """
    conversations = GraphConversations(graph)
    settings = graph.resources.settings
    uploads = Uploads(settings, served.uploads) if served.uploads else None
    routes: list[BaseRoute] = [
        *page_routes(conversations, settings, served.users, uploads),
        *openai_routes(conversations),
        Route("/health", _health),
        Route("/ready", _ready(graph)),
    ]
    lifespan = _with_mcp(conversations, routes) if find_spec("mcp") else None
    return Gate(page_app(routes, lifespan), served.users, served.hosts, rate=Rate(served.each_minute))


def page_app(routes: Sequence[BaseRoute], lifespan: Callable[[Starlette], Any] | None = None) -> Starlette:
    """The routes as an application that tells each client its errors in the client's own form."""
    handlers = {HTTPException: _no_route, ClientDisconnect: _left, Exception: _failed}
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)


def _with_mcp(conversations: GraphConversations, routes: list[BaseRoute]) -> Callable[[Starlette], Any]:
    """Adds `/mcp` to the routes; what runs as long as the server does."""
    from groundgraph.serve.mcp_server import GroundedServer

    server = GroundedServer(conversations)
    routes += server.streamable_http_app().routes

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001 - of the contract
        async with server.session_manager.run():
            yield

    return running


async def _health(request: Request) -> Response:  # noqa: ARG001 - of the contract
    return JSONResponse({"ok": True})


def _ready(graph: TurnRunner) -> Callable[[Request], Awaitable[Response]]:
    async def ready(request: Request) -> Response:
        """Whether what keeps conversations answers."""
        try:
            assert graph.store is not None
            await graph.store.aget(("groundgraph", "ready"), "-")
        except Exception as error:  # whatever it is, no turn could be kept
            return refused(request.scope, 503, message_of(error))
        return JSONResponse({"ok": True})

    return ready


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return refused(request.scope, error.status_code, str(error.detail))


async def _left(request: Request, error: Exception) -> Response:  # noqa: ARG001 - of the contract
    """Whoever asks went away in the middle of what they sent: nobody reads the answer, and nothing failed."""
    return Response(status_code=400)


async def _failed(request: Request, error: Exception) -> Response:
    return refused(request.scope, 500, message_of(error))
