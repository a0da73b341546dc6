"""The page and the endpoint for chat clients on a LangGraph Server: `http.app` in `langgraph.json`.

They stand below `/page`, behind the gate of `groundgraph.graph.server_app`. Whoever signs in to the server signs in
there, and what the page asks for it asks as its user: the server's rules about threads and its store are its own.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import httpx
from langgraph_api.asgi_transport import ASGITransport
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import StreamMode, StreamPart
from starlette.authentication import AuthenticationError
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route

from groundgraph.core.errors import ConfigurationError, InputInvalid
from groundgraph.graph.server import settings
from groundgraph.graph.server_app import app
from groundgraph.serve.app import page_app
from groundgraph.serve.conversations import NotFound, User
from groundgraph.serve.gate import Gate, Rate
from groundgraph.serve.openai_api import openai_routes
from groundgraph.serve.page_api import page_routes
from groundgraph.serve.server_conversations import ServerConversations, run_failed, told_as_ours
from groundgraph.serve.uploads import Ingest, Uploads
from groundgraph.settings.settings import settings_hash

_GRAPH = "ingest"
_MODES: list[StreamMode] = ["custom", "values"]


def server_ingest(connect: Callable[[User], LangGraphClient]) -> Ingest:
    """See `Ingest`; `connect` gives the client of a user, signed in as they are."""

    async def ingest(user: User, path: str) -> AsyncGenerator[tuple[str, Any]]:
        async with aclosing(_parts(connect(user), path)) as parts:
            async for part in parts:
                if part.event == "error":
                    raise run_failed(part.data)
                if part.event in _MODES:
                    yield part.event, part.data

    return ingest


async def _parts(client: LangGraphClient, path: str) -> AsyncGenerator[StreamPart]:
    """
    Raises:
        ConfigurationError: the server has no graph that takes documents in.
    """
    given: Any = {"paths": [path]}
    try:
        with told_as_ours():
            parts = client.runs.stream(None, _GRAPH, input=given, stream_mode=_MODES, on_disconnect="cancel")
            async with aclosing(parts) as items:  # type: ignore[type-var]
                async for item in items:
                    yield item
    except (NotFound, InputInvalid) as error:
        told = f"The server has no graph '{_GRAPH}', so it takes no documents in: name it in langgraph.json."
        raise ConfigurationError(told) from error


PATH = "/page"
# What belongs to one connection, or to the body of a request, and not to whoever sends it.
_OF_A_REQUEST = {
    "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "cookie", "expect",
    "host", "keep-alive", "origin", "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip


class ServerUsers:
    """See `KnowsUsers`: those of the server."""

    @property
    def sign_in(self) -> bool:
        """See `KnowsUsers`."""
        from langgraph_api.config import LANGGRAPH_AUTH, LANGGRAPH_AUTH_TYPE

        return bool(LANGGRAPH_AUTH) or LANGGRAPH_AUTH_TYPE != "noop"

    async def of_request(self, request: HTTPConnection) -> User | None:
        """See `KnowsUsers`."""
        proof = {name: value for name, value in request.headers.items() if name not in _OF_A_REQUEST}
        if not self.sign_in:
            return User(proof=proof)
        from langgraph_api.auth.middleware import auth_middleware

        backend: Any = auth_middleware.kwargs["backend"]
        try:
            found = await backend.authenticate(request)
        except (AuthenticationError, HTTPException):
            return None
        name = str(found[1].identity) if found else ""
        return User(name, proof=proof) if name else None


def _client(user: User) -> LangGraphClient:
    """The server's client in its own process. `get_client()` would be let in as nobody, past the server's rules."""
    from langgraph_api.config import MOUNT_PREFIX
    from langgraph_api.server import app as server

    transport = ASGITransport(server)
    address = f"http://server{MOUNT_PREFIX or ''}"
    return LangGraphClient(httpx.AsyncClient(base_url=address, transport=transport, headers=user.proof, timeout=None))


def _page() -> Gate:
    conversations = ServerConversations(_client, settings_hash(settings))
    users = ServerUsers()
    folder = settings.server.page_uploads
    uploads = Uploads(settings, settings.at(folder), server_ingest(_client)) if folder else None
    routes = [*page_routes(conversations, settings, users, uploads), *openai_routes(conversations)]
    return Gate(page_app(routes), users, rate=Rate(settings.server.page_rate))


async def _whole(request: Request) -> RedirectResponse:  # noqa: ARG001 - of the contract
    # The page asks for everything by paths that are relative to its own. So is this one: below which path a proxy
    # serves it is not known here.
    return RedirectResponse(f"{PATH[1:]}/")


app.router.routes += [Route(PATH, _whole, include_in_schema=False), Mount(PATH, app=_page())]
