"""What went wrong, in the form that the client of a path understands."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from groundgraph.core.errors import (
    ConfigurationError,
    FilterInvalid,
    GroundGraphError,
    InputInvalid,
    ScopeMissing,
    ThreadBusy,
    ThreadConflict,
)
from groundgraph.core.secret_mask import mask
from groundgraph.serve.conversations import NotFound
from groundgraph.serve.request import language_of, own_path, told_in

_LOG = logging.getLogger(__name__)
# In the order in which they are looked at.
_STATUS: Mapping[type[GroundGraphError], int] = {
    NotFound: 404,
    InputInvalid: 400,
    FilterInvalid: 400,
    ConfigurationError: 400,
    ScopeMissing: 403,
    ThreadBusy: 409,
    ThreadConflict: 409,
}
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 404: "not_found", 413: "request_too_large", 429: "rate_limit_exceeded"}
OPENAI = "/v1/"
MCP = "/mcp"
# Of JSON-RPC: the request cannot be taken, and the server failed.
_RPC_REQUEST, _RPC_SERVER = -32600, -32603


def status_of(error: Exception) -> int:
    """The HTTP status that says what kind of error it is."""
    if not isinstance(error, GroundGraphError):
        return 500
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 503)


def message_of(error: Exception) -> str:
    """What a reader may be told: errors of our own are written for them, any other is for the log."""
    if isinstance(error, GroundGraphError):
        return mask(str(error))
    _LOG.error("A request failed", exc_info=error)
    return "The server failed. Its log says why."


def refused(scope: Mapping[str, Any], status: int, message: str, **more: Any) -> JSONResponse:
    """A refusal in the form of the protocol that a request of `scope` speaks; `more` are `param` and `code` of
    OpenAI's. On the page it stands in its reader's language, where the words have it."""
    headers = {"retry-after": "5"} if status == 429 else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if own_path(scope).rstrip("/") == MCP:
        told = {"code": _RPC_REQUEST if status < 500 else _RPC_SERVER, "message": message}
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": told}, status, headers)
    if own_path(scope).startswith(OPENAI):
        return JSONResponse({"error": openai_error(status, message, **more)}, status, headers)
    return JSONResponse({"error": told_in(language_of(scope), message)}, status, headers)


def openai_error(status: int, message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """An error as OpenAI's clients read it."""
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"message": message, "type": kind, "param": param, "code": code or _CODES.get(status)}
