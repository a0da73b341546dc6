"""The page and the endpoint for chat clients on a LangGraph Server: `http.app` in `langgraph.json`.

They stand below `/page`, behind the gate of `groundgraph.graph.server_app`. Whoever signs in to the server signs in
there, and what the page asks for it asks as its user: the server's rules about threads and its store are its own.
"""

from __future__ import annotations

from typing import Any

import httpx
from langgraph_api.asgi_transport import ASGITransport
from langgraph_sdk.client import LangGraphClient
from starlette.authentication import AuthenticationError
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route

from groundgraph.graph.server import settings
from groundgraph.graph.server_app import app
from groundgraph.serve.app import page_app
from groundgraph.serve.conversations import User
from groundgraph.serve.gate import Gate, Rate
from groundgraph.serve.openai_api import openai_routes
from groundgraph.serve.page_api import page_routes
from groundgraph.serve.server_conversations import ServerConversations
from groundgraph.serve.server_ingest import server_ingest
from groundgraph.serve.uploads import Uploads
from groundgraph.settings.settings_hash import settings_hash

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


async def _whole(request: Request) -> RedirectResponse:
    # The page asks for everything by paths that are relative to its own.
    return RedirectResponse(f"{request.url.path}/")


app.router.routes += [Route(PATH, _whole, include_in_schema=False), Mount(PATH, app=_page())]
