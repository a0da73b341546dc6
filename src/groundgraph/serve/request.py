"""What a request tells, its path and the language of its reader, and how it is told what went wrong, in the form that
the client of the path understands."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from yaml import safe_load

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


def own_path(scope: Mapping[str, Any]) -> str:
    """The path of a request as the router has it."""
    return str(scope["path"]).removeprefix(scope.get("root_path", ""))


_PREFIX = re.compile(r"(?:/[\w.~%-]+)+/?", re.ASCII)


def own_address(request: HTTPConnection) -> str:
    """The address of the page, with a slash at its end; below the path that a proxy says it took off."""
    # From whomever it comes: it stands in the links of their own answer only, which lead to the same host.
    given = request.headers.get("x-forwarded-prefix", "")
    prefix = given.rstrip("/") if _PREFIX.fullmatch(given) else ""
    return f"{request.url.scheme}://{request.url.netloc}{prefix}{request.scope.get('root_path', '')}/"


def is_json(request: HTTPConnection) -> bool:
    """Whether the body is said to be JSON: a form of another site's page can send what looks so, but not say it."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


SEND_JSON = "Send JSON, with the content type application/json."
_LANGUAGE = "en"
# What the server tells a reader stands among the words under names that begin so, in English as the server says it.
TOLD = "server_"


@cache
def _files() -> dict[str, Traversable]:
    """The files of words by their language."""
    folder = files("groundgraph.serve") / "words"
    return {entry.name.removesuffix(".yaml"): entry for entry in folder.iterdir() if entry.name.endswith(".yaml")}


@cache
def _words_in(known: str) -> dict[str, Any]:
    read = [safe_load(_files()[name].read_text("utf-8")) for name in (_LANGUAGE, known)]
    return {**read[0], **read[1], "language": known, "languages": sorted(_files())}


def words(language: str) -> dict[str, Any]:
    """The page's words in a language that has a file, English in place of what it lacks."""
    # What a request calls a language is anything: only those that are known are kept.
    return _words_in(language if language in _files() else _LANGUAGE)


def language_of(scope: Mapping[str, Any]) -> str:
    """The language that a request asks for, or the first that its browser prefers."""
    request = HTTPConnection(dict(scope))
    preferred = request.headers.get("accept-language", "").partition(",")[0].partition(";")[0].partition("-")[0]
    return str(words(request.query_params.get("language") or preferred.lower())["language"])


def told_in(language: str, message: str) -> str:
    """What the server tells, in a language whose words have it; else as it is, in English."""
    english = words(_LANGUAGE).items()
    name = next((name for name, text in english if text == message and name.startswith(TOLD)), "")
    return str(words(language)[name]) if name else message


# What went wrong, in the form that the client of a path understands.

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
